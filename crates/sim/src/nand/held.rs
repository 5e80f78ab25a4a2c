//! What the pages of all blocks hold, side by side: for looks at a whole drive, of which each page
//! by itself would cost more.

use super::contents::Contents;
use super::unit::Unit;
use crate::geometry::Geometry;
use crate::units::{BlockId, Ppn};

/// See the module.
pub(crate) struct Held<'a> {
    /// By block; empty where none is looked at, or nothing is written.
    blocks: Vec<&'a [Option<Unit>]>,
    page_bits: u32,
}

impl Contents {
    /// What the blocks hold that `looks` at; of the others nothing is seen.
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
    /// What lies at a page.
    #[inline]
    pub(crate) fn at(&self, ppn: Ppn) -> Option<&'a Unit> {
        let units = self.blocks[(ppn.0 >> self.page_bits) as usize];
        units.get((ppn.0 & ((1 << self.page_bits) - 1)) as usize)?.as_ref()
    }
}
