//! A simulated drive as a disk that can be mounted: a server of the NBD protocol.
//!
//! ```text
//!  wire       numbers of the protocol, requests and replies as bytes      pure
//!  handshake  options of a client, answered                               pure
//!  record     requests as lines of a file                                 pure
//!  capture    changes of the drive, with their bytes                      pure
//!  power      a drive that is cut from power and mounted again            pure
//!  core       the drive, its pending requests, counts                     a clock is passed in
//!  reading    options and requests as they arrive                         pure
//!  places     the socket, the files                                       the file system
//!  clock      wall time and that of the model                             the wall clock
//!  pipe       the bytes to one client, never waited for by the others     threads
//!  server     sockets, connections, the timer                             threads, the wall clock
//! ```
//! The simulator knows neither time nor threads; this crate is the only place that has both. Bytes
//! that arrive on a socket are parsed by pure functions, which tests feed with arbitrary input. A
//! client that sends nonsense loses its connection; no other connection is affected.

mod core;
mod handshake;
mod reading;
mod server;
pub mod wire;

pub use handshake::{Export, Handshake, Next};
pub use opennandlab_serve::clock::Timing;
pub use opennandlab_serve::power::Supply;
pub use server::{Options, Server};
