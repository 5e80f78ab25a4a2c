//! The state of a drive without power, and the inputs of its mount.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::config::DeviceConfig;
use super::counts::Counts;
use super::life::Life;
use super::power_loss::HalfErased;
use crate::nand::{Contents, Latest, Media, Unit};
use crate::units::{BlockId, Lpn};

/// The state of a drive without power.
#[derive(Clone)]
pub struct Remains {
    pub(crate) config: DeviceConfig,
    pub(crate) seed: u64,
    pub(crate) media: Media,
    /// Blocks whose erase was interrupted: nothing in them can be read.
    pub half_erased: BTreeSet<u32>,
    /// Units that were saved while the capacitors lasted.
    pub saved: Vec<Unit>,
    /// With parity, blocks that were partly written at the cut, with the first page of the stripe
    /// that lacks its parity.
    pub(crate) open_stripes: Vec<(BlockId, u32)>,
    /// Activity of the drive until the power failed.
    pub(crate) done: Counts,
    /// Its life, apart from the flash.
    pub(crate) life: Life,
}

/// Inputs of a mount.
#[derive(Clone, Debug, Default)]
pub struct Mounting {
    /// By logical page, the version of its last trim that was recorded permanently; empty: none.
    pub trims: Arc<Vec<u32>>,
    /// The checkpoint that covers the blocks opened before it: only the others are scanned page by
    /// page. `None`: all are scanned.
    pub checkpoint: Option<Arc<Checkpoint>>,
    /// By logical page, the highest version that was given out, from the sequence number in the
    /// root; empty: none.
    pub versions: Vec<u32>,
    /// Logical pages whose data is moved, since its program, or a later pass over its wordline, was
    /// interrupted.
    pub suspects: Vec<Lpn>,
    /// The power fails again at this step of the recovery, from 0.
    pub until: Option<u32>,
}

/// Where the drive had its pages, as it noted on the flash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// By logical page.
    pub(crate) latest: Arc<Vec<Latest>>,
    /// Blocks that were opened later than this, by the number of their opening, are not in it.
    pub(crate) since: u64,
}

impl Remains {
    /// The contents of the pages of the flash.
    pub fn contents(&mut self) -> &mut Contents {
        self.media.contents.as_mut().expect("a drive that was cut has contents")
    }

    /// The same, to look at.
    pub fn held(&self) -> &Contents {
        self.media.contents.as_ref().expect("a drive that was cut has contents")
    }

    /// A page whose program, or a later pass of whose wordline, was interrupted: it decays faster
    /// until its block is erased.
    pub fn mark_suspect(&mut self, block: BlockId, index: u32) {
        self.media.mark_suspect(block, index);
    }

    /// The drive.
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }

    /// Whether blocks whose erase was interrupted are taken for erased.
    pub(crate) fn reuses_half_erased(&self) -> bool {
        self.config.power.as_ref().is_some_and(|power| power.half_erased == HalfErased::Reuse)
    }

    /// Pages of a block.
    pub fn pages_per_block(&self) -> u32 {
        self.media.geometry().pages_per_block
    }

    /// Map units of a page of the flash.
    pub fn units_per_page(&self) -> u32 {
        self.media.geometry().units_per_page
    }

    /// The page of the flash that holds a page of a block, as numbers that are unique in the block:
    /// die of the group, page, row.
    pub fn flash_page(&self, block: BlockId, index: u32) -> (u32, u32, u32) {
        self.media.flash_page(block, index)
    }
}
