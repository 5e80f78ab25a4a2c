//! Reads and their errors: decides *whether it worked*.
//!
//! Each page read has a stress, and the stress has an outcome: the error rate, and the results of
//! the code and the recovery ladder at that rate. Reads are counted by stress, so that mean figures
//! are exact sums; the event that needs chance, an uncorrectable page, is drawn. Nothing here knows
//! time: a read returns an [`Extra`], the operations that it costs beyond the first sense, and the
//! controller spends the time.
//!
//! | file | holds |
//! |---|---|
//! | `config` | the keys of read retry and soft reads |
//! | `code` | the `ecc` section of a device file |
//! | `step` | BCH words as data sheets state them |
//! | `recovery` | the ladder of retries and soft decisions |
//! | `decoding` | how long decoding takes on each rung |
//! | `fate` | the outcome of a read under a stress |
//! | `disturb` | reads of each block since its erase |
//! | `bit_true` | reads that encode, flip bits and decode |
//! | `cells` | reads that sense cells and decode the bits |
//! | `sensed` | host reads that are decided by the bits of a page |
//! | `image` | data bytes as codewords, and back |
//! | `remembered` | the retry step that reads of a block begin with |
//! | `spread` | blocks and layers with higher or lower error rates than the mean |
//! | `watch` | blocks whose error rate is too high |
//! | `block_read` | reads of several pages of a block, by sort of page |
//! | `kinds` | the properties that distinguish reads, and the outcomes that were computed |
//! | `chance` | the random streams of a die |
//! | `lost` | results of reads, and pages that no read corrects |
//! | `tally` | counts of reads and of their results |
//! | `figures` | means over the reads between two tallies |
//! | `memory` | the state that is kept in a checkpoint |
//! | `errors` | reads counted and drawn: what the executors call |
//! | `build` | the mechanisms that a drive adds to them |

pub mod bit_true;
mod block_read;
mod build;
pub mod cells;
mod chance;
pub mod code;
pub mod config;
pub mod decoding;
pub mod disturb;
pub mod errors;
pub mod fate;
pub mod figures;
mod image;
mod kinds;
mod lost;
mod memory;
pub mod recovery;
mod remembered;
mod sensed;
mod spread;
mod step;
pub mod tally;
mod watch;

pub use block_read::{BlockRead, PageTypes};
pub use code::{Algorithm, EccConfig, FerRow, Fidelity, ReliabilityClass};
pub use errors::ReadErrors;
pub use figures::{ErrorFigures, TypeFigures};
pub use kinds::ScarFactors;
pub use lost::{Lost, ReadResult, RestOfRow};
pub use memory::ReadMemory;
pub use recovery::{Extra, Ladder};
pub(crate) use step::split_warning;
pub use tally::{CellCounts, ReadTally};
