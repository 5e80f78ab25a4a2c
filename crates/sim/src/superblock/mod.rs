//! Superblocks: open blocks that span the dies of a group ([`Superblocks`]), and the blocks of the
//! flash that they are made of ([`Members`]).

mod members;
mod shape;

pub use members::Members;
pub use shape::{Place, Superblocks, HOLE};
