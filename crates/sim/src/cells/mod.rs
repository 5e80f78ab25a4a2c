//! Cells one by one: the wordlines of blocks whose reads are decided by the data stored in them.
//!
//! ```text
//!   page images of a wordline ─► Wordline: a state byte for each cell
//!   its neighbours, program order ─► CellModel::shifts: a shift byte for each cell
//!   StateModel, stress, factor ─► CellModel::mixture ─► SenseTable of a page type and levels
//!   seed, block, erases, wordline ─► CellModel::key ─► sense: the page as it is read
//!                                                  experiment: a chip in a laboratory
//! ```
//!
//! It knows no drive: who owns the bytes asks. A block is described by its number and its erase
//! count; nothing is stored for a cell, since its rank ([`opennandlab_ecc::cell::RankKey`]) is a
//! hash. Where the model of error rates has normal states that are wider by the coupling of
//! neighbours, cells have narrower states that are shifted by the neighbours that they really have;
//! the variance of both is the same. The analytic rate of cells is the mean over these neighbours
//! ([`opennandlab_ecc::cell::Mixture`]).
//!
//! Left out: pulses of programming, traps with time constants, defects.

pub mod config;
pub mod experiment;
pub mod model;
pub mod randomiser;
pub mod valley;
pub mod wordline;

pub use config::CellsConfig;
pub use model::{CellModel, Place};
pub use randomiser::Randomiser;
pub use wordline::Wordline;

#[cfg(test)]
mod tests;
