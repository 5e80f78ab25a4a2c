//! A simulated drive as a disk that can be mounted: the NBD protocol.
//!
//! ```text
//!  wire       numbers of the protocol, requests and replies as bytes      pure
//!  handshake  options of a client, answered                               pure
//!  reading    options and requests as they arrive                         pure
//!  front      connections and replies, as the server has them
//! ```
//! Bytes that arrive on a socket are parsed by pure functions, which tests feed with arbitrary
//! input. A client that sends nonsense loses its connection; no other connection is affected.

mod front;
mod handshake;
mod reading;
pub mod wire;

pub use front::Nbd;
pub use handshake::{Export, Handshake, Next};
