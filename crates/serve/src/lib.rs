//! A simulated drive behind sockets: what the servers of all protocols share.
//!
//! ```text
//!  request    what clients ask, in any protocol                           pure
//!  record     requests as lines of a file                                 pure
//!  capture    changes of the drive, with their bytes                      pure
//!  power      a drive that is cut from power and mounted again            pure
//!  places     the socket, the files                                       the file system
//!  clock      wall time and that of the model                             the wall clock
//!  keeper     who advances the drive, and when                            threads
//!  pipe       the bytes to one client, never waited for by the others     threads
//!  core       the drive, its pending requests, counts                     a clock is passed in
//!  answer     replies and failures                                       pure
//!  shared     the state that the threads share                           threads
//!  line       a connection as its protocol has it                         threads
//!  protocol   what a protocol is                                          pure
//!  server     sockets, connections, the timer                             threads, the wall clock
//! ```
//! The simulator knows neither time nor threads; this crate is the only place that has both.

pub mod answer;
pub mod capture;
pub mod clock;
mod core;
pub mod keeper;
pub mod line;
pub mod pipe;
pub mod places;
pub mod power;
pub mod protocol;
pub mod record;
pub mod request;
pub mod server;
mod shared;
