//! The copies of pages that a mount finds on the flash, and the data that it writes again.
//!
//! The newest copy of each page counts, by the versions in the out-of-band areas. A recovery
//! programs data again that would otherwise be lost or unsafe: units that the drive saved from its
//! memory, data next to interrupted programs, and data whose stripe has no parity.

use crate::drive::{Checkpoint, Drive, Mounting, Remains};
use crate::nand::{Latest, Unit};
use crate::units::{BlockId, Lpn, Ppn};

impl Remains {
    /// The newest copies of all pages, trimmed ones included. With a checkpoint only the pages of
    /// blocks that were opened since are read.
    pub fn latest(&self, logical_pages: u32, checkpoint: Option<&Checkpoint>) -> Vec<Latest> {
        let held = self.held();
        // An interrupted erase has left nothing.
        let is_gone = |block: BlockId| self.half_erased.contains(&block.0);
        let Some(checkpoint) = checkpoint else {
            let mut latest = vec![Latest::default(); logical_pages as usize];
            held.latest(&mut latest, |block| !is_gone(block));
            return latest;
        };
        // A block that was opened again has other contents. Only such blocks, and those that were
        // open at the checkpoint, can have programs that a cut interrupts.
        let geometry = self.media.geometry();
        let is_old = |block| held.is_written(block) && held.opening(block) <= checkpoint.since;
        let blocks = (0..geometry.block_count()).map(BlockId);
        let old: Vec<bool> = blocks.map(|block| is_old(block) && !is_gone(block)).collect();
        let mut latest = checkpoint.latest.to_vec();
        latest.resize(logical_pages as usize, Latest::default());
        for it in &mut latest {
            let is_kept = it.ppn().is_some_and(|ppn| {
                old.get(geometry.block_of(ppn).0 as usize).is_some_and(|&is_old| is_old)
            });
            if !is_kept {
                *it = Latest::default();
            }
        }
        held.latest(&mut latest, |block| held.opening(block) > checkpoint.since && !is_gone(block));
        latest
    }

    /// Steps of the recovery that will change the flash.
    pub fn recovery_steps(&self, mounting: &Mounting) -> u32 {
        let pages = self.config.pool_setup(self.seed).logical_pages;
        let latest = self.latest_without_trimmed(pages, mounting);
        let erases = if self.reuses_half_erased() { 0 } else { self.half_erased.len() };
        // The last step completes open program units and makes room.
        1 + (erases + self.written_again(&latest, mounting).len()) as u32
    }

    /// The newest copies as the recovery will have them: pages whose last change is a trim have
    /// none.
    pub(super) fn latest_without_trimmed(
        &self,
        logical_pages: u32,
        mounting: &Mounting,
    ) -> Vec<Latest> {
        let mut latest = self.latest(logical_pages, mounting.checkpoint.as_deref());
        // A page that left the write buffer while its trim was running has the trim's version.
        for gone in [&mounting.trims[..], self.held().purged()] {
            for (it, &trimmed) in latest.iter_mut().zip(gone) {
                if trimmed >= it.version {
                    *it = Latest::at(trimmed, None);
                }
            }
        }
        latest
    }

    /// Units that the recovery programs: saved ones that are newer than the copy on the flash,
    /// which come first because they are newer than any copy to be moved; data next to interrupted
    /// programs; and data whose stripe has no parity.
    pub(super) fn written_again(&self, latest: &[Latest], mounting: &Mounting) -> Vec<Unit> {
        let geometry = self.media.geometry();
        let newer =
            self.saved.iter().filter(|unit| unit.version > latest[unit.lpn as usize].version);
        let is_saved = |lpn: u32| self.saved.iter().any(|unit| unit.lpn == lpn);
        let suspects = mounting.suspects.iter().filter(|lpn| !is_saved(lpn.0)).filter_map(|lpn| {
            let ppn = latest[lpn.0 as usize].ppn()?;
            self.held().at(geometry.block_of(ppn), geometry.page_index(ppn))
        });
        let open = self.open_stripes.iter().flat_map(|&(block, first)| {
            (first..geometry.pages_per_block).filter_map(move |index| {
                let unit = self.held().at(block, index)?;
                let ppn = Ppn(geometry.first_page(block).0 + index);
                (latest[unit.lpn as usize].ppn() == Some(ppn)).then_some(unit)
            })
        });
        let without_parity = open.filter(|unit| !is_saved(unit.lpn));
        newer.chain(suspects).chain(without_parity).copied().collect()
    }
}

/// Enters the places of the pages that the recovery has programmed.
pub(super) fn note_recovered(drive: &mut Drive, latest: &mut [Latest]) {
    let contents = drive.media.contents.as_mut().expect("a drive that was cut has contents");
    for lpn in contents.programmed().into_iter().map(Lpn) {
        latest[lpn.0 as usize] = Latest::at(contents.version_of(lpn), drive.ftl.find(lpn));
    }
}
