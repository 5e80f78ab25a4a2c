//! Jobs: a drive, the stages or the cell that run on it, and the document that comes out.
//!
//! ```text
//! Simulation ─► Run, CellRun ─► Runner: feed ─► executor ─► meter, series, window ─► outcome
//! ```
//! Work advances in slices that may be cut anywhere: no result depends on where the cuts are.

mod cell;
mod energy;
mod feed;
mod fio;
mod losses;
mod meter;
mod namespaces;
mod outcome;
pub(crate) mod reclaim_units;
#[allow(clippy::module_inception)] // the main type of the room
mod run;
mod runner;
mod series;
mod set_age;
mod simulation;
mod sources;
mod steady;
mod wear;
mod window;

pub use run::Progress;
pub use simulation::Simulation;
