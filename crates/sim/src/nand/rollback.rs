//! What a cut of the power finds in the flash, when the queues of the dies are ahead of it.
//!
//! ```text
//! the FTL decides ─► media changed at once          the flash is where its queues have got to
//!     erase   units of the block ─► history         not begun: they come back
//!     program unit into its slot                    not begun: the slot is erased; torn: see below
//! ```
//! Executors commit an operation to [`Media`] when it is queued. For a drive that may lose power,
//! the units that an erase takes are kept until the block is erased again, and a cut puts back what
//! the back end has not reached ([`BlockRest`] of each block). So the undo record of a program is
//! its place in the queue, and a run that is never cut pays for none.
//!
//! What remains is the flash alone: the memory of the controller (data on its way, versions, the
//! map) is gone. [`Contents::latest`] finds the newest copy of each logical page again, by the
//! versions that pages carry out of band; nothing else is asked.

use std::cmp::Ordering;

use super::contents::{Contents, Staged};
use super::history::History;
use super::unit::Unit;
use super::Media;
use crate::units::{BlockId, Lpn, Ns};

/// How far the flash is with a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRest {
    /// Erases that were ordered and have not ended.
    pub erases_waiting: u32,
    /// Of what the block holds before those, the pages that are programmed.
    pub programmed: u32,
}

/// An operation that a cut interrupts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Running {
    /// Where.
    pub block: BlockId,
    /// Pages that are programmed, by index: first and limit. An erase has none.
    pub pages: Option<(u32, u32)>,
    /// Type of the page, from 0 for the first pass of its wordline.
    pub page_type: u8,
    /// Whether the page is moved by a collection.
    pub is_moved: bool,
    /// How much of it is done, from 0 to 1.
    pub fraction: f64,
    /// Time that it still takes.
    pub left: Ns,
}

/// The newest copy of a logical page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latest {
    /// Its version; 0 where there is none.
    pub version: u32,
    /// 1 + block * pages per block + page index of it; 0 where there is none.
    pub place: u32,
    /// The same of a further copy of this version; only checkpoints tell it.
    pub other: u32,
}

impl Contents {
    /// From now on a cut may come.
    pub fn expect_cuts(&mut self, pages_per_block: u32) {
        let blocks = self.blocks.len();
        self.history.get_or_insert_with(|| {
            Box::new(History {
                erased: vec![Vec::new(); blocks],
                openings: vec![0; blocks],
                opened: 0,
                pages_per_block,
            })
        });
    }

    /// Puts a block back to where the flash is with it. Units that `running` programs now stay.
    ///
    /// # Panics
    /// When more erases wait than are remembered: the caller has not [expected
    /// cuts](Contents::expect_cuts).
    fn roll_back(
        &mut self,
        block: BlockId,
        rest: BlockRest,
        running: Option<(u32, u32)>,
        in_memory: &mut Vec<Unit>,
    ) {
        let place = block.0 as usize;
        if rest.erases_waiting > 0 {
            let history = self.history.as_mut().expect("cuts were expected");
            let erased = &mut history.erased[place];
            let (units, opening) = erased
                .get_mut(rest.erases_waiting as usize - 1)
                .map(std::mem::take)
                .expect("a block is not erased four times before one erase ends");
            history.openings[place] = opening;
            let later = self.blocks[place].take();
            in_memory.extend(later.iter().flat_map(|units| units.iter().flatten()).cloned());
            for (units, _) in history.erased[place].drain(..rest.erases_waiting as usize - 1) {
                in_memory.extend(units.iter().flatten().cloned());
            }
            self.blocks[place] = (!units.is_empty()).then_some(units);
        }
        let keeps = |index: u32| {
            index < rest.programmed || running.is_some_and(|(a, b)| (a..b).contains(&index))
        };
        if let Some(units) = &mut self.blocks[place] {
            for (index, unit) in (0..).zip(units.iter_mut()) {
                if !keeps(index) {
                    in_memory.extend(unit.take());
                } else if index >= rest.programmed {
                    in_memory.extend(unit.clone());
                }
            }
            if units.iter().all(Option::is_none) {
                self.blocks[place] = None;
            }
        }
    }

    fn count_stored(&mut self) {
        let units = self.blocks.iter().flatten().flat_map(|units| units.iter().flatten());
        self.stored_units = units.filter(|unit| unit.bytes.is_some()).count() as u64;
    }

    /// The memory of the controller is lost.
    pub(crate) fn forget(&mut self) {
        self.staged.clear();
        self.versions.fill(0);
        self.newest.fill(0);
        if let Some(history) = &mut self.history {
            history.erased.iter_mut().for_each(Vec::clear);
        }
    }

    /// What waits in memory for the flash, oldest version of a page first: what capacitors save.
    pub fn staged_units(&self) -> Vec<Unit> {
        self.staged.values().map(|staged| staged.unit.clone()).collect()
    }

    /// Nothing gives back a unit any more; false if there was none.
    pub fn lose(&mut self, block: BlockId, index: u32) -> bool {
        let table = self.blocks[block.0 as usize].as_mut();
        let unit = table.and_then(|units| units[index as usize].as_mut());
        unit.map(|unit| unit.is_lost = true).is_some()
    }

    /// A page of the flash holds nothing, after all.
    pub fn clear(&mut self, block: BlockId, index: u32) {
        if let Some(units) = self.blocks[block.0 as usize].as_mut() {
            units[index as usize] = None;
        }
    }

    /// Whether anything was programmed in a block since its erase.
    pub fn is_written(&self, block: BlockId) -> bool {
        self.blocks[block.0 as usize].is_some()
    }

    /// The number of the opening of a block since its erase: later ones are higher.
    pub fn opening(&self, block: BlockId) -> u64 {
        self.history.as_ref().map_or(0, |history| history.openings[block.0 as usize])
    }

    /// The number of the opening of what the flash holds of a block while its queues are behind;
    /// `None` where it holds nothing.
    pub(crate) fn opening_on_flash(&self, block: BlockId, rest: BlockRest) -> Option<u64> {
        let Some(waiting) = rest.erases_waiting.checked_sub(1) else {
            return self.is_written(block).then(|| self.opening(block));
        };
        let (units, opening) =
            self.history.as_ref()?.erased[block.0 as usize].get(waiting as usize)?;
        (!units.is_empty()).then_some(*opening)
    }

    /// Blocks that were opened so far.
    pub fn openings(&self) -> u64 {
        self.history.as_ref().map_or(0, |history| history.opened)
    }

    /// The newest copy of each logical page, from what pages carry out of band in the blocks that
    /// `looks` at. Of copies of one version that in the block that was opened first counts: a
    /// collection that was interrupted has moved nothing.
    pub fn latest(&self, latest: &mut [Latest], looks: impl Fn(BlockId) -> bool) {
        for (block, units) in (0..).map(BlockId).zip(&self.blocks) {
            let Some(units) = units else { continue };
            if looks(block) {
                let opening = self.opening(block);
                let pages = units.len() as u32;
                note_latest(latest, block.0 * pages, units, |known, place| {
                    if opening < self.opening(BlockId((known.place - 1) / pages)) {
                        known.place = place;
                    }
                });
            }
        }
    }

    /// The newest copy of each logical page that is on the flash while its queues are behind; of
    /// copies of one version that in the block that was opened last.
    pub(crate) fn latest_durable(&self, latest: &mut [Latest], rests: &[BlockRest]) {
        let Some(history) = &self.history else { return };
        for (block, rest) in (0..).map(BlockId).zip(rests) {
            let place = block.0 as usize;
            let (units, opening) = match rest.erases_waiting.checked_sub(1) {
                None => (self.blocks[place].as_deref(), history.openings[place]),
                Some(waiting) => match history.erased[place].get(waiting as usize) {
                    Some((units, opening)) => (Some(&units[..]), *opening),
                    None => continue,
                },
            };
            let Some(units) = units else { continue };
            let programmed = (rest.programmed as usize).min(units.len());
            let pages = history.pages_per_block;
            let opening_at = |place: u32| history.openings[((place - 1) / pages) as usize];
            note_latest(latest, block.0 * pages, &units[..programmed], |known, place| {
                if opening > opening_at(known.place) {
                    known.place = place;
                }
            });
        }
    }

    /// All copies of a logical page that can be read: block, page index, version.
    pub fn units_of(&self, lpn: u32) -> Vec<(BlockId, u32, u32)> {
        let blocks = (0..).map(BlockId).zip(&self.blocks);
        let units = blocks.flat_map(|(block, units)| {
            let units = (0..).zip(units.iter().flat_map(|units| units.iter()));
            units.filter_map(move |(index, unit)| unit.as_ref().map(|unit| (block, index, unit)))
        });
        let own = units.filter(|(.., unit)| unit.lpn == lpn && !unit.is_lost);
        own.map(|(block, index, unit)| (block, index, unit.version)).collect()
    }

    /// Where the controller finds its pages again: newest copies, and of pages without one the
    /// version from which on to count.
    pub(crate) fn remember(&mut self, latest: &[Latest]) {
        for ((it, version), newest) in latest.iter().zip(&mut self.versions).zip(&mut self.newest) {
            (*version, *newest) = (it.version, it.place as usize);
        }
    }

    /// By logical page, the version of its newest write or trim, and whether the flash holds it.
    pub(crate) fn known(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        self.versions.iter().zip(&self.newest).map(|(&version, &newest)| (version, newest > 0))
    }

    /// Data that was saved elsewhere, or is read and written again: the next program of its page
    /// takes it to the flash.
    pub(crate) fn stage_again(&mut self, unit: Unit) {
        self.versions[unit.lpn as usize] = unit.version;
        self.staged.insert(unit.lpn, Staged { unit, holds: 0 });
    }

    /// The version that a page of the flash carries, and whether it can be read.
    pub fn version_of(&self, lpn: Lpn) -> u32 {
        self.versions[lpn.0 as usize]
    }
}

/// See [`Contents::latest`]; `tie` is asked about a further copy of the same version.
fn note_latest(
    latest: &mut [Latest],
    first: u32,
    units: &[Option<Unit>],
    mut tie: impl FnMut(&mut Latest, u32),
) {
    for (place, unit) in (first + 1..).zip(units) {
        let Some(unit) = unit else { continue };
        let known = &mut latest[unit.lpn as usize];
        match unit.version.cmp(&known.version) {
            _ if unit.is_lost => {}
            Ordering::Greater => *known = Latest { version: unit.version, place, other: 0 },
            Ordering::Less => {}
            Ordering::Equal => tie(known, place),
        }
    }
}

impl Media {
    /// The flash as a cut leaves it: each block where the flash has got to with it. Returns what
    /// was on its way there.
    pub(crate) fn roll_back(&mut self, rests: &[BlockRest], running: &[Running]) -> Vec<Unit> {
        let mut in_memory = Vec::new();
        let Some(contents) = &mut self.contents else { return in_memory };
        for (block, &rest) in (0..).map(BlockId).zip(rests) {
            let now = running.iter().find(|it| it.block == block).and_then(|it| it.pages);
            contents.roll_back(block, rest, now, &mut in_memory);
        }
        contents.count_stored();
        contents.forget();
        let mut tables = self.tables();
        for (count, rest) in tables.erase_counts.iter_mut().zip(rests) {
            *count -= rest.erases_waiting;
        }
        let contents = self.contents.take();
        let shape = self.superblocks().map(|members| *members.shape());
        if let Some(mut restored) = Self::restore(self.geometry, shape, tables) {
            restored.oob.copy_from_slice(&self.oob);
            restored.contents = contents;
            *self = restored;
        }
        in_memory
    }
}
