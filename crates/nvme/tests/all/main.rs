//! The controller over sockets, as one program.

mod clients;
mod copy;
mod host;
mod hostile;
mod namespaces;
mod paths;
mod placement;
mod purge;
mod supported;
mod times;
mod zone_areas;
mod zones;
