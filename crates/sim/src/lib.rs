//! The drive: from NAND media to the host interface, in simulated time.
//!
//! *The FTL decides where, the controller decides when, the NAND decides whether it worked.*
//! No Python, no files, no wall clock, no threads. Layers, each importing only from those above it:
//!
//! | layer | modules |
//! |---|---|
//! | 0 | `units` `config` |
//! | 1 | `op` `rng` |
//! | 2 | `reliability` `workload` |

pub mod config;
pub mod ftl;
pub mod geometry;
pub mod memory;
pub mod nand;
pub mod op;
pub mod rng;
pub mod units;
pub mod workload;
