//! The controller over sockets, as one program.

mod clients;
mod host;
mod hostile;
mod namespaces;
