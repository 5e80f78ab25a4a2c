//! A view of the units of all blocks side by side: for scans of a whole drive, in which separate
//! look-ups of each page would cost more.

use super::contents::Contents;
use super::unit::Unit;
use crate::geometry::Geometry;
use crate::units::{BlockId, Ppn};

/// See the module.
pub(crate) struct Held<'a> {
    /// By block; empty for blocks that are not looked at, or hold nothing.
    blocks: Vec<&'a [Option<Unit>]>,
    page_bits: u32,
}

impl Contents {
    /// The units of the blocks that `looks` selects; other blocks appear empty.
    pub(crate) fn held(&self, geometry: &Geometry, looks: impl Fn(BlockId) -> bool) -> Held<'_> {
        let seen = |(block, units)| -> &[Option<Unit>] {
            let units: &Option<Box<[Option<Unit>]>> = units;
            units.as_deref().filter(|_| looks(BlockId(block))).unwrap_or_default()
        };
        let blocks = (0..).zip(&self.blocks).map(seen).collect();
        Held { blocks, page_bits: geometry.page_bits }
    }
}

impl<'a> Held<'a> {
    /// The unit at a page.
    #[inline]
    pub(crate) fn at(&self, ppn: Ppn) -> Option<&'a Unit> {
        let units = self.blocks[(ppn.0 >> self.page_bits) as usize];
        units.get((ppn.0 & ((1 << self.page_bits) - 1)) as usize)?.as_ref()
    }
}
