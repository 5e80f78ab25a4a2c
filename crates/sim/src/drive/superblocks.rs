//! Superblocks of a device: their shape, the number that bad blocks leave, and their capacity.

use super::config::DeviceConfig;
use super::drive::Drive;
use crate::config::ConfigError;
use crate::controller::full::Written;
use crate::ftl::{BadBlock, GroupDies};
use crate::geometry::Geometry;
use crate::nand::{CellMode, Media, ProgramMode};
use crate::superblock::Superblocks;
use crate::units::BlockId;

/// Slots of a superblock, at most: 64 GiB of 4 KiB units. Greedy keeps a ring for each count of
/// live slots.
const SLOTS_MAX: u64 = 1 << 24;

impl DeviceConfig {
    /// The layout of superblocks over the dies; `None` for drives without them.
    pub fn superblocks(&self) -> Option<Superblocks> {
        self.checked_superblocks().expect("resolve has checked the superblocks")
    }

    /// The flash: dies, blocks and pages as they are, whatever the FTL makes of them.
    pub fn flash_geometry(&self) -> Geometry {
        self.checked_flash().expect("resolve has checked the geometry")
    }

    /// Fresh flash with its factory bad blocks, at places drawn from `seed`.
    pub fn fresh_media(&self, seed: u64) -> Media {
        let bad = self.bad_blocks_per_die();
        match self.superblocks() {
            Some(superblocks) => Media::of_superblocks(superblocks, &bad, seed),
            None if self.nand.partial_programs.is_some() => {
                Media::new(self.geometry(), &bad, seed).with_disturbs()
            }
            None => Media::new(self.geometry(), &bad, seed),
        }
    }

    /// Factory bad blocks of each die of the flash.
    pub(super) fn bad_blocks_per_die(&self) -> Vec<u32> {
        self.flash().bad_blocks_per_die(&self.flash_geometry())
    }

    /// Superblocks of each pool that are lost to bad blocks; without superblocks, the number of bad
    /// blocks.
    pub(super) fn bad_blocks_per_pool(&self) -> Vec<u32> {
        let bad = self.bad_blocks_per_die();
        self.superblocks().map_or_else(|| bad.clone(), |it| it.bad_superblocks(&bad))
    }

    /// Blocks of the flash in a block of the FTL.
    pub(crate) fn blocks_per_superblock(&self) -> u32 {
        self.superblocks().map_or(1, |it| it.dies())
    }

    /// Checks what the blocks of superblocks allow of other keys.
    pub(super) fn check_superblocks(&self) -> Result<(), ConfigError> {
        let dies = self.blocks_per_superblock();
        let reserve = self.ftl.gc_reserve_blocks.unwrap_or_default();
        if !reserve.is_multiple_of(dies) {
            let message = format!(
                "{reserve} blocks are {} superblocks of {dies} and {} blocks left over; accepted: \
                 a multiple of {dies}",
                reserve / dies,
                reserve % dies
            );
            return Err(ConfigError::new("ftl.gc_reserve_blocks", message));
        }
        if self.nand.factory_bad_block_ratio > 0.0 {
            self.ftl.check_uneven().map_err(|error| error.under("ftl"))?;
        }
        Ok(())
    }

    /// See [`DeviceConfig::superblocks`].
    ///
    /// # Errors
    /// [`ConfigError`] when the dies, planes or blocks do not make superblocks.
    pub(super) fn checked_superblocks(&self) -> Result<Option<Superblocks>, ConfigError> {
        let Some(config) = self.ftl.allocation.superblock() else { return Ok(None) };
        let flash = self.checked_flash()?;
        let refuse = |path: &str, message| Err(ConfigError::new(path, message));
        let total = flash.die_count;
        let dies = match config.dies {
            GroupDies::All(_) => total,
            GroupDies::Count(dies) => dies,
        };
        if dies > total || !total.is_multiple_of(dies) {
            let divisors = (1..=total).filter(|&count| total.is_multiple_of(count));
            let accepted: Vec<String> = divisors.map(|count| count.to_string()).collect();
            let message = format!(
                "groups of {dies} dies in a drive of {total}: {} groups and {} dies left over; \
                 accepted: all, or one of {}",
                total / dies,
                total % dies,
                accepted.join(", ")
            );
            return refuse("ftl.allocation.dies", message);
        }
        let has_parity = self.ftl.has_die_parity();
        if has_parity && dies == 1 {
            let message = "die_stripe in superblocks of 1 die: 1 member of each row for parity \
                           leaves 0 for data; accepted: 2 or more dies in ftl.allocation.dies, or \
                           none";
            return refuse("ftl.parity", message.to_owned());
        }
        if flash.planes_per_die != flash.plane_count {
            let message = format!(
                "false with superblocks over dies of {} planes: a member of a row is a die with \
                 all its planes; accepted: true",
                flash.planes_per_die
            );
            return refuse("nand.multi_plane", message);
        }
        let per_die = u64::from(flash.pages_per_block);
        let slots = u64::from(dies) * per_die;
        let blocks = u64::from(total / dies) * u64::from(flash.blocks_per_die);
        let page_bits = slots.next_power_of_two().trailing_zeros();
        if slots > SLOTS_MAX || blocks > u64::from(u32::MAX >> page_bits) {
            let message = format!(
                "a superblock of {dies} dies x {per_die} map units in a block of {} planes x {} \
                 pages is {slots} map units, in {blocks} superblocks; accepted: at most \
                 {SLOTS_MAX} (here up to {} dies), and numbers of 32 bits",
                flash.plane_count,
                self.nand.pages_per_block,
                SLOTS_MAX / per_die
            );
            return refuse("ftl.allocation.dies", message);
        }
        let bits = self.nand.cell_type.bits();
        let passes = match self.nand.program {
            ProgramMode::Page(_) => 1,
            ProgramMode::OneShot(_) | ProgramMode::MultiPass(_) => bits,
        };
        let row = flash.units_per_row();
        let slc_slots = self.nand.pages_per_block / bits * row;
        let remaps = config.bad_block == BadBlock::Remap;
        Ok(Some(Superblocks::new(
            flash,
            dies,
            [passes * row, row],
            [flash.pages_per_block, slc_slots],
            [has_parity, remaps],
            self.ftl.metadata_share,
        )))
    }
}

impl Drive {
    /// What a block of the flash holds.
    pub(crate) fn written_state(&self, block: BlockId) -> Written {
        let of = |block, pages| {
            let part = self.ftl.programmed_part(&self.media, block);
            let is_slc = self.media.mode(block) == CellMode::Slc;
            Written { erases: self.media.erase_count(block), pages, part, is_slc }
        };
        let Some(members) = self.media.superblocks() else {
            return of(block, self.ftl.written_pages(block));
        };
        let Some((superblock, member)) = members.superblock_of(block) else {
            return Written::default();
        };
        let is_slc = self.media.mode(superblock) == CellMode::Slc;
        let written = self.ftl.written_pages(superblock);
        of(superblock, members.shape().written_of(member, written, is_slc))
    }

    /// Pages that a block takes; of a superblock, for data.
    pub(crate) fn pages_to_win(&self, block: BlockId) -> u32 {
        let pages = self.geometry.pages_per_block;
        self.media.superblocks().map_or(pages, |members| {
            let shape = members.shape();
            shape.data_slots_of(false).saturating_sub(members.hole_slots(block, false))
        })
    }
}
