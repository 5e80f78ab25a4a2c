//! Views of the whole drive: the copies of each page on the flash, and the units that the map
//! finds.

use super::session::Session;
use crate::drive::{Checkpoint, Drive, Mounting, Remains};
use crate::ftl::Ftl;
use crate::nand::{Held, Latest, Unit};
use crate::units::{BlockId, Lpn, Ppn};

/// A view of the pages of a drive through its map.
pub(crate) struct Look<'a> {
    ftl: &'a Ftl,
    held: Held<'a>,
}

/// The outcome of a look-up of a page through the map.
pub(crate) enum Found<'a> {
    /// It has none.
    Unmapped,
    /// The place in the map holds nothing.
    Bare,
    /// The unit at the place in the map.
    Unit(&'a Unit),
}

impl Session {
    /// A view of all pages through the map, as it is now.
    pub(crate) fn look(&self) -> Look<'_> {
        let contents = self.drive.media.contents.as_ref().expect("a session has contents");
        Look { ftl: &self.drive.ftl, held: contents.held(&self.drive.geometry, |_| true) }
    }
}

/// Pages of two maps that are compared at a time.
const STRETCH: usize = 64;

impl Session {
    /// Logical pages that the mount has found at other places than a checkpoint, and those in
    /// blocks that were opened since, in no order and some of them twice: all others are unchanged.
    pub(crate) fn moved_since(&self, checkpoint: &Checkpoint) -> Vec<u32> {
        let contents = self.drive.media.contents.as_ref().expect("a session has contents");
        let (found, noted) = (&self.mounted.latest[..], &checkpoint.latest[..]);
        let mut moved: Vec<u32> = (noted.len() as u32..found.len() as u32).collect();
        let stretches = found.chunks(STRETCH).zip(noted.chunks(STRETCH));
        for (first, (found, noted)) in (0..).step_by(STRETCH).zip(stretches) {
            if found != noted {
                let pairs = (first..).zip(found.iter().zip(noted));
                moved.extend(pairs.filter(|(_, (found, noted))| found != noted).map(|it| it.0));
            }
        }
        let blocks = (0..self.drive.geometry.block_count()).map(BlockId);
        for block in blocks.filter(|&block| contents.opening(block) > checkpoint.since) {
            moved.extend(contents.units(block).map(|unit| unit.lpn));
        }
        moved
    }
}

impl Look<'_> {
    /// Looks a page up through the map.
    #[inline]
    pub(crate) fn at(&self, lpn: u32) -> Found<'_> {
        let place = self.ftl.find(Lpn(lpn));
        place.map_or(Found::Unmapped, |ppn| self.held.at(ppn).map_or(Found::Bare, Found::Unit))
    }
}

impl Remains {
    /// The newest copies of all pages, from a look at every page, or from a checkpoint and at the
    /// pages of the blocks that were opened since.
    pub fn latest(&self, logical_pages: u32, checkpoint: Option<&Checkpoint>) -> Vec<Latest> {
        let held = self.held();
        // An interrupted erase has left nothing.
        let is_gone =
            |block: BlockId| !self.half_erased.is_empty() && self.half_erased.contains(&block.0);
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
            // No page is in a block that is none.
            let block = it.place.wrapping_sub(1) >> geometry.page_bits;
            if !old.get(block as usize).is_some_and(|&is_old| is_old) {
                *it = Latest::default();
            }
        }
        held.latest(&mut latest, |block| held.opening(block) > checkpoint.since && !is_gone(block));
        latest
    }

    /// Steps of the recovery that will change the flash.
    pub fn recovery_steps(&self, mounting: &Mounting) -> u32 {
        let pages = self.config.pool_setup(self.seed).logical_pages;
        let latest = self.newest(pages, mounting);
        let erases = if self.reuses_half_erased() { 0 } else { self.half_erased.len() };
        1 + (erases + self.written_again(&latest, mounting).len()) as u32
    }

    /// The newest copies as the recovery will have them: without trimmed pages.
    pub(super) fn newest(&self, logical_pages: u32, mounting: &Mounting) -> Vec<Latest> {
        let mut latest = self.latest(logical_pages, mounting.checkpoint.as_deref());
        // A page that left the write buffer while its trim was running carries that number.
        for (it, &trimmed) in latest.iter_mut().zip(mounting.trims.iter()) {
            if trimmed >= it.version {
                *it = Latest { version: trimmed, place: 0 };
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
            let ppn = Ppn(latest[lpn.0 as usize].place.checked_sub(1)?);
            self.held().at(geometry.block_of(ppn), geometry.page_index(ppn))
        });
        let open = self.open_stripes.iter().flat_map(|&(block, first)| {
            (first..geometry.pages_per_block).filter_map(move |index| {
                let unit = self.held().at(block, index)?;
                let place = 1 + geometry.first_page(block).0 + index;
                (latest[unit.lpn as usize].place == place).then_some(unit)
            })
        });
        let bare = open.filter(|unit| !is_saved(unit.lpn));
        newer.chain(suspects).chain(bare).copied().collect()
    }
}

/// Enters the places in the map of pages that the recovery has programmed.
pub(super) fn find_again(drive: &mut Drive, latest: &mut [Latest]) {
    let contents = drive.media.contents.as_mut().expect("a drive that was cut has contents");
    for lpn in contents.programmed().into_iter().map(Lpn) {
        let place = drive.ftl.find(lpn).map_or(0, |ppn| 1 + ppn.0);
        latest[lpn.0 as usize] = Latest { version: contents.version_of(lpn), place };
    }
}
