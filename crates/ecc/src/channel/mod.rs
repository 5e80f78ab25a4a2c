//! Channels: what happens to a bit between encoder and decoder.
//!
//! ```text
//!   bit ──► state or symbol ──► noise ──► seen value ──► LLR  ln P(seen | 0) / P(seen | 1)
//!
//!   bsc          bit flips with the RBER                 two LLRs
//!   sensing:N    two Gaussian states, N reads            one LLR per bin (`cell`)
//!   unquantised  the same states, voltage known          2 y / sigma^2 for equal widths
//!   awgn         BPSK, Eb/N0 in dB per information bit   2 y / sigma^2
//! ```
//!
//! A [`Channel`] is one point of a curve. It is *discrete* (a table of bins) or *Gaussian*; `bsc`
//! is sensing with one read. Bit 0 is at +1, so an LLR is positive for it. [`Channel::draw`] gives
//! the LLRs of a codeword; it can also fix how many hard decisions are wrong, which is what
//! stratified sampling (`monte_carlo`) needs.
//!
//! The states and their tables are those of [`crate::cell`]. Left out: interference between cells,
//! and pages of cells with more than one bit.

mod capacity;
mod rng;
mod sample;

pub use capacity::{ebn0_db_limit, rber_limit, Sensing};
pub(crate) use rng::mix;
pub use rng::{Normal, Rng};
pub(crate) use sample::CELLS;
pub use sample::{BitErrors, Channel};

use crate::cell::CellError;

/// Why there is no such channel, table or limit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChannelError {
    /// There are no such states or reads.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// A code rate that is invalid.
    #[error("rate {rate} is refused; accepted: 1e-6 to 0.999999")]
    Rate {
        /// The refused rate.
        rate: f64,
    },
    /// An Eb/N0 that is invalid.
    #[error("Eb/N0 of {ebn0_db} dB is refused; accepted: -20 to 40")]
    Ebn0 {
        /// The refused value.
        ebn0_db: f64,
    },
}
