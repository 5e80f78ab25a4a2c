//! Channels: what happens to a bit between encoder and decoder.
//!
//! ```text
//!   bit ──► state or symbol ──► noise ──► what is seen ──► LLR  ln P(seen | 0) / P(seen | 1)
//!
//!   bsc          bit flips with the RBER                 two LLRs
//!   sensing:N    two Gaussian states, N reads            one LLR per bin (`llr`)
//!   unquantised  the same states, voltage known          2 y / sigma^2 for equal widths
//!   awgn         BPSK, Eb/N0 in dB per information bit   2 y / sigma^2
//! ```
//!
//! A [`Channel`] is one point of a curve. It is *discrete* (a table of bins) or *Gaussian*; `bsc`
//! is sensing with one read. Bit 0 is at +1, so an LLR is positive for it. [`Channel::draw`] gives
//! the LLRs of a codeword; it can also fix how many hard decisions are wrong, which is what
//! stratified sampling (`monte_carlo`) needs.
//!
//! Left out: interference between cells, and states of cells with more than one bit.

mod capacity;
mod gaussian;
mod llr;
mod rng;
mod sample;
mod sensing;

pub use capacity::{ebn0_db_limit, rber_limit, Sensing};
pub use gaussian::{log_q, q, q_inverse};
pub use llr::{llr_table, LlrTable, Thresholds, READS_MAX, READS_WITH_BEST_THRESHOLDS};
pub(crate) use rng::mix;
pub use rng::{Normal, Rng};
pub use sample::{BitErrors, Channel};
pub use sensing::{Information, States, SIGMA_RATIO_MAX};

/// Why there is no such channel, table or limit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChannelError {
    /// The raw bit error rate is no such rate.
    #[error("RBER {rber} is refused; accepted: above 0 and below 0.5")]
    Rber {
        /// The refused rate.
        rber: f64,
    },
    /// The ratio of the widths is out of range.
    #[error("sigma ratio {ratio} is refused; accepted: 0.25 to 4")]
    SigmaRatio {
        /// The refused ratio.
        ratio: f64,
    },
    /// States so unequal have no crossing at that rate.
    #[error("RBER {rber} cannot be reached with a sigma ratio of {ratio}: at most {rber_max:.4}")]
    RberOfRatio {
        /// The refused rate.
        rber: f64,
        /// The ratio of the widths.
        ratio: f64,
        /// The highest rate that has a decision point between the states.
        rber_max: f64,
    },
    /// No best thresholds are known for so many reads.
    #[error("{reads} reads have no best thresholds; accepted: 1, 3, 7, or thresholds of your own")]
    Reads {
        /// The refused number.
        reads: usize,
    },
    /// More or fewer thresholds than can be used.
    #[error("{reads} thresholds are refused; accepted: 1 to {READS_MAX}")]
    TooManyReads {
        /// The refused number.
        reads: usize,
    },
    /// A distance of thresholds that cannot be.
    #[error("threshold spacing {spacing} is refused; accepted: above 0, up to 2")]
    Spacing {
        /// The refused distance.
        spacing: f64,
    },
    /// A threshold that cannot be.
    #[error("threshold {voltage} is refused; accepted: -10 to 10, in units of half the distance")]
    Threshold {
        /// The refused voltage.
        voltage: f64,
    },
    /// Thresholds that do not ascend.
    #[error("thresholds must ascend, each above the one before")]
    Order,
    /// A code rate that cannot be.
    #[error("rate {rate} is refused; accepted: 1e-6 to 0.999999")]
    Rate {
        /// The refused rate.
        rate: f64,
    },
    /// An Eb/N0 that cannot be.
    #[error("Eb/N0 of {ebn0_db} dB is refused; accepted: -20 to 40")]
    Ebn0 {
        /// The refused value.
        ebn0_db: f64,
    },
}
