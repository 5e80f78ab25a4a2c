//! The drive: from NAND media to the host interface, in simulated time.
//!
//! *The FTL decides where, the controller decides when, the NAND decides whether it worked.*
//! No Python, no files, no wall clock; threads only where the dies of a drive work apart
//! (`untimed/crew.rs`). Layers, each importing only from those above it:
//!
//! | layer | modules |
//! |---|---|
//! | 0 | `units` `config` `memory` |
//! | 1 | `striping` `geometry` `superblock` `rng` `op` `engine` |
//! | 2 | `reliability` `workload` |
//! | 3 | `cells` |
//! | 4 | `nand`, and `ftl` over it |
//! | 5 | `reads` |
//! | 6 | `controller` |
//! | 7 | `host` |
//! | 8 | `drive` |
//! | 9 | `untimed` · `timed` |
//! | 10 | `run` |
//! | 11 | `session` |
//! | 12 | `power_loss` `emmc` |
//! | 13 | `testing` (a feature: the oracle and the checkers) |

pub mod cells;
pub mod config;
pub mod controller;
pub mod drive;
pub mod emmc;
pub mod engine;
pub mod ftl;
pub mod geometry;
pub mod host;
pub mod memory;
pub mod nand;
pub mod op;
pub mod power_loss;
pub mod reads;
pub mod reliability;
pub mod rng;
pub mod run;
pub mod session;
pub mod striping;
pub mod superblock;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod timed;
pub mod units;
mod untimed;
pub mod workload;
