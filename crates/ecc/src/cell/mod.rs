//! Cells: threshold-voltage states, and the information that reads give about the bit of a cell.
//!
//! ```text
//!   gaussian ─► states ─► page        any number of states: error rate, LLR table of a page type
//!                 └────► two_states   the cell of one bit: any thresholds, tails to 1e-300
//!                            └─ thresholds ─► table ◄─ page
//!   tails ─► mixture ─► sense ◄─ ranks          cells one by one, moved by their neighbours
//! ```
//!
//! Channels ([`crate::channel`]) draw from cells of two states; error models of flash pages take
//! the states of cells with up to four bits from wear, time, temperature and reads.

mod gaussian;
mod mixture;
mod page;
mod ranks;
mod sense;
mod states;
mod table;
mod tails;
mod thresholds;
mod two_states;

pub use gaussian::{between, log_between, log_q, q, q_inverse};
pub use mixture::{noise_steps, Mixture, Shift, NOISE_STEPS};
pub use page::{CellPage, PageBits, Voltages};
pub use ranks::RankKey;
pub use sense::{Counted, SenseTable};
pub use states::{level_between, ReadLevels, States, STATE_COUNT_MAX};
pub use table::{LlrBin, LlrTable};
pub use tails::Tail;
pub use thresholds::{llr_table, Thresholds};
pub(crate) use two_states::bin_llrs;
pub use two_states::{Information, TwoStates, SIGMA_RATIO_MAX};

/// Numbers of reads for which the best thresholds are computed.
pub const READS_WITH_BEST_THRESHOLDS: [usize; 3] = [1, 3, 7];

/// The most thresholds that may be given.
pub const READS_MAX: usize = 63;

/// Why there are no such states, or no such reads of them.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CellError {
    /// The raw bit error rate is out of range.
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
    /// No best thresholds are known for this number of reads.
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
    /// A distance of thresholds that is invalid.
    #[error("threshold spacing {spacing} is refused; accepted: above 0, up to 2")]
    Spacing {
        /// The refused distance.
        spacing: f64,
    },
    /// A threshold that is invalid.
    #[error("threshold {voltage} is refused; accepted: -10 to 10, in units of half the distance")]
    Threshold {
        /// The refused voltage.
        voltage: f64,
    },
    /// Thresholds that do not ascend.
    #[error("thresholds must ascend, each above the one before")]
    Order,
    /// Offsets of a number of reads that no table is made for.
    #[error("{reads} reads are not usable; accepted: 1, 3 or 7")]
    OffsetCount {
        /// The refused number.
        reads: usize,
    },
    /// Offsets of read levels that do not rise.
    #[error("{offsets:?} do not rise; accepted: gaps in rising order")]
    OffsetOrder {
        /// The refused offsets.
        offsets: Vec<f64>,
    },
    /// Offsets that reach from one level of a page to the next.
    #[error(
        "they reach over {reach:.3} gaps; accepted: less than the {room:.3} between levels of the \
         page"
    )]
    OffsetReach {
        /// Distance of the outer offsets.
        reach: f64,
        /// Distance of the closest levels of the page.
        room: f64,
    },
}
