//! The firmware of a drive that has lost power: everything that it knew is found again.
//!
//! What the flash tells is the newest copy of each logical page, and which blocks were written
//! since their erase. From it follow map and live pages; all orders begin anew: blocks are erased
//! by their numbers, and every written block is closed, an open one too, since nobody knows what
//! an interrupted program has done to the pages behind it.

use super::block_state::BlockState;
use super::{Ftl, FtlConfig, PoolSetup};
use crate::config::ConfigError;
use crate::ftl::{Allocation, CollectionConfig, PlacementConfig, SlcCacheConfig, WearConfig};
use crate::nand::Media;
use crate::units::{BlockId, Lpn, Ppn};

impl FtlConfig {
    /// Whether a drive with this firmware finds its data again after a cut of the power.
    ///
    /// # Errors
    /// The key that forbids it, and why.
    pub fn check_mounts(&self) -> Result<(), ConfigError> {
        let refuse = |key: &str, why: &str| {
            Err(ConfigError::new(key, format!("{why}, so it cannot be cut from power here")))
        };
        if !self.mapping.is_page() {
            return refuse("mapping", "only a map of single pages is rebuilt from the flash");
        }
        if self.allocation.is_dynamic() || matches!(self.allocation, Allocation::Superblock(_)) {
            return refuse(
                "allocation",
                "data of a block has newer versions and copies on other dies, for which its erase \
                 does not wait",
            );
        }
        if !matches!(self.slc_cache, SlcCacheConfig::None(_)) {
            return refuse("slc_cache", "the order of cached blocks is not kept in the flash");
        }
        if self.parity.is_some() {
            return refuse("parity", "stripes that a cut has left open are not rebuilt");
        }
        if !matches!(self.placement, PlacementConfig::None(_)) {
            return refuse("placement", "the handle of a block is not kept in the flash");
        }
        if matches!(self.wear_leveling, WearConfig::Static(_))
            && matches!(self.collection, CollectionConfig::Steps(_))
        {
            return refuse("wear_leveling", "a move that was interrupted is not found again");
        }
        Ok(())
    }
}

impl Ftl {
    /// The firmware that finds these pages on the media: by logical page its place, and by block
    /// whether anything was written in it since its erase.
    pub fn mount(
        config: &FtlConfig,
        setup: &PoolSetup,
        media: &Media,
        places: impl Iterator<Item = Option<Ppn>>,
        is_written: impl Fn(BlockId) -> bool,
    ) -> Self {
        let mut ftl = Self::new(config, setup, media);
        for (lpn, ppn) in (0..).map(Lpn).zip(places) {
            if let Some(ppn) = ppn {
                ftl.books.map.found(lpn, ppn);
            }
        }
        for pool in &mut ftl.pools {
            let log = &mut pool.log;
            while log.erased.pop().is_some() {}
            for block in log.blocks().map(BlockId) {
                if media.is_bad(block) {
                    continue;
                }
                if is_written(block) {
                    log.set_state(block, BlockState::Closed);
                    log.note_closed(block, None);
                    log.offer(&ftl.books, block.0);
                } else {
                    log.erased.push(block.0, media.erase_count(block));
                }
            }
        }
        ftl
    }
}
