//! The controller: decides *when* flash operations happen, and whether reads worked.
//!
//! `timed` is the back end of the timed executor (dies, channels, events); `ecc` accounts for read
//! errors in both.

pub mod ecc;
pub mod timed;
