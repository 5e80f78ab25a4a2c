//! Views of the whole drive: the units that the map finds, the pages that a mount has found at
//! other places than a checkpoint, and the pages that a cut has marked.

use super::session::Session;
use crate::drive::Checkpoint;
use crate::ftl::Ftl;
use crate::nand::{Held, Unit};
use crate::op::Source;
use crate::reads::ReadMemory;
use crate::units::{BlockId, Lpn, Ppn};

/// Pages of two maps that are compared at a time.
const STRETCH: usize = 64;

/// A view of the pages of a drive through its map.
pub(crate) struct MapView<'a> {
    ftl: &'a Ftl,
    held: Held<'a>,
}

/// The outcome of a look-up of a page through the map.
pub(crate) enum Found<'a> {
    /// The map has no place for it.
    Unmapped,
    /// The place in the map holds no unit.
    NoUnit,
    /// The unit at the place in the map.
    Unit(&'a Unit),
}

impl Session {
    /// A view of all pages through the map, as it is now.
    pub(crate) fn map_view(&self) -> MapView<'_> {
        let contents = self.drive.media.contents.as_ref().expect("a session has contents");
        MapView { ftl: &self.drive.ftl, held: contents.held(&self.drive.geometry, |_| true) }
    }

    /// Logical pages that may have changed since a checkpoint: those that the mount has found at
    /// other places, and those in blocks that were opened since. They are in no order, and some are
    /// listed twice.
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

    /// Reads all pages that a cut has marked and that the map names; returns those that could not
    /// be corrected.
    pub fn read_marked(&mut self) -> Vec<Lpn> {
        let drive = &mut self.drive;
        let Some(scars) = drive.media.scars().cloned() else { return Vec::new() };
        let pages = drive.geometry.pages_per_block;
        let mut lost = Vec::new();
        for (block, erases) in scars.blocks() {
            if drive.media.erase_count(block) != erases {
                continue;
            }
            let is_half_erased = scars.is_half_erased(block, erases);
            let first = drive.geometry.first_page(block).0;
            let is_marked = |&it: &u32| is_half_erased || scars.is_suspect(block, it, erases);
            for index in (0..pages).filter(is_marked) {
                let ppn = Ppn(first + index);
                let lpn = Lpn(drive.media.lpn_at(ppn));
                if lpn.0 >= drive.ftl.figures().logical_pages() || drive.ftl.find(lpn) != Some(ppn)
                {
                    continue;
                }
                let before = drive.errors.lost_of_host();
                drive.errors.record_page(&drive.media, ppn, Source::Host);
                if drive.errors.lost_of_host() > before {
                    lost.push(lpn);
                }
            }
        }
        lost
    }

    /// Effects of past reads on the flash, and the random state of those to come.
    pub fn read_memory(&self) -> ReadMemory {
        self.drive.errors.save()
    }
}

impl MapView<'_> {
    /// Looks a page up through the map.
    #[inline]
    pub(crate) fn at(&self, lpn: u32) -> Found<'_> {
        let place = self.ftl.find(Lpn(lpn));
        place.map_or(Found::Unmapped, |ppn| self.held.at(ppn).map_or(Found::NoUnit, Found::Unit))
    }
}
