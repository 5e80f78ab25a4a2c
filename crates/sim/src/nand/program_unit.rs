//! Program units: which pages must be programmed together.
//!
//! A slot of the FTL is a mapping unit. A flash page may hold several (a page larger than the
//! mapping unit, or compressed data), and a one-shot program takes a whole wordline of all planes.
//! Until a unit is complete its slots stay in the controller's memory, where reads find them. If
//! they must be on the flash earlier, the unit is padded: its other slots hold nothing.
//!
//! ```text
//! slot ─ physical page = slot * physical pages / slots ─ unit = physical page / unit pages
//! ```
//! A page of SLC flash may take several programs (`nand.partial_programs`): then the slots
//! at hand are programmed, and the rest of the page later. In a superblock the slots of a unit are
//! next to each other on one of its members.

use super::config::NandConfig;
use super::mechanisms::ProgramMode;
use crate::geometry::Geometry;
use crate::superblock::Superblocks;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct ProgramUnits {
    geometry: Geometry,
    /// Slots of a block of full density, and of one bit per cell.
    slots: [u32; 2],
    /// Physical pages of a unit, of native blocks and of those of one bit per cell.
    unit_pages: [u32; 2],
    /// Whether a slot alone never completes its unit.
    is_staged: bool,
    /// Programs of a page between two erases, at most.
    programs_per_page: u32,
    superblocks: Option<Superblocks>,
}

impl ProgramUnits {
    /// The program units of a drive.
    pub fn new(geometry: Geometry, nand: &NandConfig) -> Self {
        let wordline_pages = match nand.program {
            ProgramMode::Page(_) => 1,
            ProgramMode::OneShot(_) | ProgramMode::MultiPass(_) => nand.cell_type.bits(),
        };
        let row_pages = if geometry.units_per_page > 1 { geometry.plane_count } else { 1 };
        let native =
            if wordline_pages > 1 { wordline_pages * geometry.plane_count } else { row_pages };
        let unit_pages = [native, row_pages];
        let is_staged = native > 1 || geometry.shares_pages();
        let programs_per_page = nand.partial_programs.unwrap_or(1);
        let slc_slots = geometry.slc_pages_per_block(nand.cell_type.bits());
        let slots = [geometry.pages_per_block, slc_slots];
        Self { geometry, slots, unit_pages, is_staged, programs_per_page, superblocks: None }
    }

    /// The same, for slots of superblocks of this flash.
    #[must_use]
    pub fn in_superblocks(self, superblocks: Option<Superblocks>) -> Self {
        Self { superblocks, ..self }
    }

    /// Whether blocks of this mode program in units.
    #[inline]
    pub fn stages(&self, is_slc: bool) -> bool {
        self.is_staged && (!is_slc || self.geometry.shares_pages())
    }

    /// Programs that a page takes between two erases.
    #[inline]
    pub fn programs_per_page(&self) -> u32 {
        self.programs_per_page
    }

    /// Whether pages are programmed in parts.
    #[inline]
    pub fn programs_parts(&self) -> bool {
        self.programs_per_page > 1
    }

    #[inline]
    fn unit_of(&self, slot: u32, is_slc: bool) -> u32 {
        self.geometry.physical_index(slot) / self.unit_pages[usize::from(is_slc)]
    }

    /// Programs that fill a block of full density.
    pub fn programs_per_block(&self) -> u32 {
        self.geometry.flash_pages_per_block() / self.unit_pages[0]
    }

    /// First slot of the unit of a slot, and the slot after its last.
    pub fn span(&self, slot: u32, is_slc: bool) -> (u32, u32) {
        if let Some(superblocks) = &self.superblocks {
            return superblocks.unit(slot, is_slc);
        }
        let slot_limit = self.slots[usize::from(is_slc)];
        if self.geometry.is_even() {
            let slots = self.unit_pages[usize::from(is_slc)] * self.geometry.units_per_page;
            let first = slot - slot % slots;
            return (first, (first + slots).min(slot_limit).max(slot + 1));
        }
        let unit = self.unit_of(slot, is_slc);
        let mut first = slot;
        while first > 0 && self.unit_of(first - 1, is_slc) == unit {
            first -= 1;
        }
        let mut limit = slot + 1;
        while limit < slot_limit && self.unit_of(limit, is_slc) == unit {
            limit += 1;
        }
        (first, limit)
    }

    /// How many of `written` slots of a block are on the flash: all but those of the incomplete
    /// unit.
    pub fn programmed(&self, written: u32, is_slc: bool) -> u32 {
        if written == 0 || !self.stages(is_slc) {
            return written;
        }
        let (first, limit) = self.span(written - 1, is_slc);
        if limit > written {
            first
        } else {
            written
        }
    }
}
