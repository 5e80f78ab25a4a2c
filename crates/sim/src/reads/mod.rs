//! Reads and their errors: decides *whether it worked*.
//!
//! Each page read has a stress, and the stress has an outcome: the error rate, and what the code
//! and the recovery ladder make of it. Reads are counted by stress, so that mean figures are exact
//! sums; what needs chance, an uncorrectable page, is drawn. Nothing here knows time: a read
//! returns an [`Extra`], the operations that it costs beyond the first sense, and the controller
//! spends the time.
//!
//! | file | holds |
//! |---|---|
//! | `config` | the keys of read retry and soft reads |
//! | `code` | the `ecc` section of a device file |
//! | `recovery` | the ladder of retries and soft decisions |
//! | `fate` | what a read gives under a stress |
//! | `disturb` | reads of each block since its erase |
//! | `bit_true` | reads that encode, flip bits and decode |
//! | `errors` | reads counted by stress, and the failures among them |
//! | `decoding` | host reads of a bit-true drive |
//! | `figures` | means over the reads of a span |

pub mod bit_true;
pub mod code;
pub mod config;
mod decoding;
pub mod disturb;
pub mod errors;
pub mod fate;
pub mod figures;
pub mod recovery;

pub use code::{Algorithm, EccConfig, FerRow, Fidelity, ReliabilityClass};
pub use errors::ReadErrors;
pub use figures::{ErrorFigures, ReadTally, TypeFigures};
pub use recovery::{Extra, Ladder};
