//! Puts the flash in the state that a power cut finds, when the FTL is ahead of the queues of the
//! dies.
//!
//! ```text
//! the FTL decides ─► media changed at once          the flash is as far as its queues are
//!     erase   units of the block ─► history         not begun: they come back
//!     program unit into its slot                    not begun: the slot is erased; torn: see below
//! ```
//! Executors commit an operation to [`Media`] when it is queued. For a drive that may lose power,
//! the units that an erase removes are kept until the erase has ended, and a cut takes back the
//! operations that the back end has not reached ([`BlockRest`] of each block). So the undo record
//! of a program is its place in the queue, and a run that is never cut pays for none.
//!
//! Only the flash remains: the memory of the controller (data on its way, versions, the map) is
//! gone. [`Contents::latest`] finds the newest copy of each logical page again, by the versions in
//! the out-of-band areas of pages; it needs nothing else.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::contents::{Contents, Staged};
use super::history::History;
use super::reach::{BlockReach, BlockRest, Reach, Running};
use super::unit::Unit;
use super::{CellMode, Media};
use crate::geometry::{Geometry, UNMAPPED};
use crate::units::{BlockId, Lpn, Ppn};

/// The newest copy of a logical page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latest {
    /// Its version; 0 if there is no copy.
    pub version: u32,
    /// 1 + the number of its page; 0 if there is no copy.
    pub place: u32,
}

impl Latest {
    /// A copy at a page, or a version that has none.
    #[inline]
    pub fn at(version: u32, ppn: Option<Ppn>) -> Self {
        Self { version, place: ppn.map_or(0, |ppn| 1 + ppn.0) }
    }

    /// The page of the copy.
    #[inline]
    pub fn ppn(&self) -> Option<Ppn> {
        self.place.checked_sub(1).map(Ppn)
    }
}

impl Contents {
    /// Keeps the units that erases remove, so that a power cut can be simulated.
    pub fn expect_cuts(&mut self, geometry: &Geometry) {
        let blocks = self.blocks.len();
        self.history.get_or_insert_with(|| {
            Box::new(History {
                erased: vec![Vec::new(); blocks],
                openings: vec![0; blocks],
                opened: 0,
                ordered: 0,
                page_bits: geometry.page_bits,
                kept_pages: 0,
            })
        });
    }

    /// Puts a block back to its state on the flash. Units that `running` programs now stay. Returns
    /// the cell mode of its contents then.
    ///
    /// # Panics
    /// When more erases wait than are remembered: the caller has not [expected
    /// cuts](Contents::expect_cuts).
    fn roll_back(
        &mut self,
        block: BlockId,
        reach: BlockReach,
        mode: CellMode,
        running: &[(u32, u32)],
        in_memory: &mut Vec<Unit>,
    ) -> CellMode {
        let place = block.0 as usize;
        let mut mode = mode;
        if let Some(last) = reach.erases_waiting.checked_sub(1) {
            let history = self.history.as_mut().expect("cuts were expected");
            let erased = &mut history.erased[place];
            let then = erased
                .get_mut(last as usize)
                .map(std::mem::take)
                .expect("fewer erases of a block wait than are kept");
            history.openings[place] = then.opening;
            mode = then.mode;
            let later = self.blocks[place].take();
            in_memory.extend(later.iter().flat_map(|units| units.iter().flatten()));
            for later in history.erased[place].drain(..last as usize) {
                in_memory.extend(later.units.iter().flatten());
            }
            self.blocks[place] = (!then.units.is_empty()).then_some(then.units);
        }
        let is_running = |index: u32| running.iter().any(|&(a, b)| (a..b).contains(&index));
        if let Some(units) = &mut self.blocks[place] {
            if reach.has_all(units.len() as u32, mode) {
                return mode;
            }
            for (index, unit) in (0..).zip(units.iter_mut()).filter(|(_, unit)| unit.is_some()) {
                if reach.has(index, mode) {
                } else if is_running(index) {
                    in_memory.extend(*unit);
                } else {
                    in_memory.extend(unit.take());
                }
            }
            if !reach.is_touched() && running.is_empty() {
                self.blocks[place] = None;
            }
        }
        mode
    }

    /// The memory of the controller is lost. Others may have these units still.
    pub(crate) fn forget(&mut self, others: &[Unit]) {
        self.staged.clear();
        self.programmed = None;
        self.versions.fill(0);
        self.newest.fill(0);
        if let Some(history) = &mut self.history {
            history.clear();
        }
        self.recount(others);
    }

    /// All data is purged: nothing is in memory or on its way, and with `erases` no block holds a
    /// unit; else no mount takes the units that are there. Versions count on.
    pub(crate) fn purge(&mut self, erases: bool) {
        self.staged.clear();
        self.newest.fill(0);
        self.programmed.iter_mut().for_each(Vec::clear);
        if erases {
            self.blocks.fill_with(|| None);
            self.forget_flips();
        }
        self.purged = if erases { Vec::new() } else { self.versions.clone() };
        self.history.iter_mut().for_each(|history| history.clear());
        self.recount(&[]);
    }

    /// By logical page, the version up to which all copies are worthless; empty: none.
    pub(crate) fn purged(&self) -> &[u32] {
        &self.purged
    }

    /// Whether units kept for erases take more than an eighth of the flash, so that a check for
    /// ended erases is worth its time.
    pub(crate) fn keeps_much(&self, geometry: &Geometry) -> bool {
        self.history.as_ref().is_some_and(|it| it.kept_pages > geometry.page_count() / 8)
    }

    /// Drops the units of erases that have ended: no cut brings them back.
    pub(crate) fn forget_erased(&mut self, reach: &Reach) {
        let Some(mut history) = self.history.take() else { return };
        for block in (0..self.blocks.len() as u32).map(BlockId) {
            let over = history.note_ended(block, reach.of(block).erases_waiting);
            over.iter().flatten().for_each(|&unit| self.let_go(unit));
        }
        self.history = Some(history);
    }

    /// Units in memory that wait for the flash, oldest version of a page first; capacitors save
    /// these.
    pub fn staged_units(&self) -> Vec<Unit> {
        self.staged.values().map(|staged| staged.unit).collect()
    }

    /// Nothing gives back a unit any more; false if there was none.
    pub fn lose(&mut self, block: BlockId, index: u32) -> bool {
        let table = self.blocks[block.0 as usize].as_mut();
        let unit = table.and_then(|units| units[index as usize].as_mut());
        unit.map(Unit::set_lost).is_some()
    }

    /// A page of the flash holds nothing, after all.
    pub fn clear(&mut self, block: BlockId, index: u32) {
        if let Some(units) = self.blocks[block.0 as usize].as_mut() {
            let unit = units[index as usize].take();
            self.let_go(unit);
        }
    }

    /// Whether anything was programmed in a block since its erase.
    pub fn is_written(&self, block: BlockId) -> bool {
        self.blocks[block.0 as usize].is_some()
    }

    /// The units of the pages of a block that were programmed since its erase.
    pub(crate) fn units(&self, block: BlockId) -> impl Iterator<Item = &Unit> {
        self.blocks[block.0 as usize].iter().flat_map(|units| units.iter().flatten())
    }

    /// The number of the opening of a block since its erase: later ones are higher.
    pub fn opening(&self, block: BlockId) -> u64 {
        self.history.as_ref().map_or(0, |history| history.openings[block.0 as usize])
    }

    /// The number of the opening of a block's contents on the flash while its queues are behind;
    /// `None` if it holds nothing.
    pub(crate) fn opening_on_flash(&self, block: BlockId, reach: BlockReach) -> Option<u64> {
        let Some(last) = reach.erases_waiting.checked_sub(1) else {
            return self.is_written(block).then(|| self.opening(block));
        };
        let then = self.history.as_ref()?.erased[block.0 as usize].get(last as usize)?;
        (!then.units.is_empty()).then_some(then.opening)
    }

    /// Number of block openings.
    pub fn openings(&self) -> u64 {
        self.history.as_ref().map_or(0, |history| history.opened)
    }

    /// The newest copy of each logical page, from the out-of-band areas of the blocks that `looks`
    /// selects. Among copies of one version, that in the block that was opened first counts: a
    /// collection that was interrupted has moved nothing.
    pub fn latest(&self, latest: &mut [Latest], looks: impl Fn(BlockId) -> bool) {
        let bits = self.history.as_ref().map_or(0, |history| history.page_bits);
        for (block, units) in (0..).map(BlockId).zip(&self.blocks) {
            let Some(units) = units else { continue };
            if looks(block) {
                let opening = self.opening(block);
                note_latest(latest, block.0 << bits, (0..).zip(units), |known, _, place| {
                    if opening < self.opening(BlockId((known.place - 1) >> bits)) {
                        known.place = place;
                    }
                });
            }
        }
    }

    /// The newest copy of each logical page that is on the flash while its queues are behind, such
    /// that it stays there until a newer one, or one of the same version, is on the flash in a
    /// block that changes still. `places` are the places of pages in the map, `modes` the modes of
    /// the blocks now.
    ///
    /// Among copies of one version, this is the one that the map names. If its program waits, or
    /// that of a newer version, it is any copy whose block will not be erased: a later erase waits
    /// for that program. If all blocks are to be erased, it is the copy whose erase was ordered
    /// last: the others were dead by then.
    pub(crate) fn latest_durable(
        &self,
        latest: &mut [Latest],
        places: &[u32],
        reach: &Reach,
        modes: &[CellMode],
    ) {
        let Some(history) = &self.history else { return };
        let bits = history.page_bits;
        // The higher this is, the longer the contents of a block stay.
        let stays = |block: BlockId| {
            let waiting = reach.of(block).erases_waiting.checked_sub(1);
            let erased =
                waiting.and_then(|last| history.erased[block.0 as usize].get(last as usize));
            erased.map_or(u64::MAX, |erased| erased.order)
        };
        for (place, &mode) in modes.iter().enumerate() {
            let block = BlockId(place as u32);
            let reach = reach.of(block);
            let (units, mode) = match reach.erases_waiting.checked_sub(1) {
                None => (self.blocks[place].as_deref(), mode),
                Some(last) => match history.erased[place].get(last as usize) {
                    Some(then) => (Some(&then.units[..]), then.mode),
                    None => continue,
                },
            };
            let Some(units) = units else { continue };
            let own = stays(block);
            let is_whole = reach.has_all(units.len() as u32, mode);
            let units = (0..).zip(units).filter(|&(index, _)| is_whole || reach.has(index, mode));
            note_latest(latest, block.0 << bits, units, |known, lpn, place| {
                let named = places[lpn as usize];
                let its = stays(BlockId((known.place - 1) >> bits));
                let is_named = its == u64::MAX && known.place - 1 == named;
                let replaces = own > its || own == u64::MAX && place - 1 == named;
                if replaces && !is_named {
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
        let own = units.filter(|(.., unit)| unit.lpn == lpn && !unit.is_lost());
        own.map(|(block, index, unit)| (block, index, unit.version)).collect()
    }

    /// Restores the controller's record of its pages: newest copies, and for pages without one the
    /// version from which to count, if one was given out before.
    pub(crate) fn remember(
        &mut self,
        latest: &[Latest],
        versions_given: &[u32],
        geometry: &Geometry,
    ) {
        // How many numbers of pages each block leaves out.
        let (bits, gap) =
            (geometry.page_bits, (1 << geometry.page_bits) - geometry.pages_per_block);
        let known = self.versions.iter_mut().zip(&mut self.newest);
        for ((it, &given), (version, newest)) in latest.iter().zip(versions_given).zip(known) {
            *version = if it.place == 0 { it.version.max(given) } else { it.version };
            *newest = it.place - (it.place.saturating_sub(1) >> bits) * gap;
        }
    }

    /// By logical page, the version of its newest write or trim, and whether the flash holds it.
    pub(crate) fn known(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        self.versions.iter().zip(&self.newest).map(|(&version, &newest)| (version, newest > 0))
    }

    /// Starts a list of logical pages that are programmed.
    pub(crate) fn note_programmed(&mut self) {
        self.programmed = Some(Vec::new());
    }

    /// Returns this list and ends it.
    pub(crate) fn programmed(&mut self) -> Vec<u32> {
        self.programmed.take().unwrap_or_default()
    }

    /// Data that was saved elsewhere, or is read and written again: the next program of its page
    /// takes it to the flash.
    pub(crate) fn stage_again(&mut self, unit: Unit) {
        self.versions[unit.lpn as usize] = unit.version;
        self.hold(&unit);
        self.insert_staged(Staged { unit, holds: 0, is_trim: false });
    }

    /// The version that a page of the flash carries, and whether it can be read.
    pub fn version_of(&self, lpn: Lpn) -> u32 {
        self.versions[lpn.0 as usize]
    }
}

/// See [`Contents::latest`]; `tie` is called for a further copy of the same version, with the
/// known copy, the logical page and the place of the further one.
fn note_latest<'a>(
    latest: &mut [Latest],
    first: u32,
    units: impl Iterator<Item = (u32, &'a Option<Unit>)>,
    mut tie: impl FnMut(&mut Latest, u32, u32),
) {
    for (index, unit) in units {
        let Some(unit) = unit else { continue };
        let (place, known) = (first + index + 1, &mut latest[unit.lpn as usize]);
        match unit.version.cmp(&known.version) {
            _ if unit.is_lost() => {}
            Ordering::Greater => *known = Latest { version: unit.version, place },
            Ordering::Less => {}
            Ordering::Equal => tie(known, unit.lpn, place),
        }
    }
}

impl Media {
    /// Puts the flash in the state that a cut leaves: each block as far as the flash has got with
    /// it. `rests` are blocks of the flash, `running` operations on blocks of the FTL. Data on its
    /// way to the flash goes to `in_memory`.
    pub(crate) fn roll_back(
        &mut self,
        rests: &[BlockRest],
        running: &[Running],
        in_memory: &mut Vec<Unit>,
    ) {
        let Some(mut contents) = self.contents.take() else { return };
        let members = self.members.clone();
        let reach = Reach::new(rests, members.as_deref());
        for block in (0..self.geometry.block_count()).map(BlockId) {
            let of_block = reach.of(block);
            let waiting = of_block.erases_waiting;
            if waiting == 0 && !contents.is_written(block) {
                continue;
            }
            let now = running.iter().filter(|it| it.block == block).filter_map(|it| it.pages);
            let now: Vec<(u32, u32)> = now.collect();
            let mode = self.mode(block);
            let mode = contents.roll_back(block, of_block, mode, &now, in_memory);
            if waiting > 0 {
                self.take_back_erases(block, waiting);
                self.set_mode(block, mode);
                let first = self.slot(self.geometry.first_page(block));
                for (oob, unit) in self.oob[first..]
                    .iter_mut()
                    .zip(contents.blocks[block.0 as usize].iter().flatten())
                {
                    *oob = unit.as_ref().map_or(UNMAPPED, |unit| unit.lpn);
                }
            }
        }
        contents.forget(in_memory);
        self.contents = Some(contents);
    }

    /// Takes back the last `erases` erases of a block.
    fn take_back_erases(&mut self, block: BlockId, erases: u32) {
        let place = self.place(block);
        let count = self.erase_counts[place];
        self.erase_counts[place] = count - erases;
        if !self.is_bad(block) {
            let wear = self.wear_of(block);
            wear.add(count - erases, 1);
            wear.remove(count);
        }
    }

    /// Blocks whose erase has begun, and superblocks of which only some members are erased and
    /// nothing was programmed since. `running` is of blocks of the FTL.
    pub(crate) fn half_erased(&self, rests: &[BlockRest], running: &[Running]) -> BTreeSet<u32> {
        let begun = running.iter().filter(|it| it.pages.is_none() && it.fraction > 0.0);
        let mut half: BTreeSet<u32> = begun.map(|it| it.block.0).collect();
        if self.members.is_some() {
            let reach = Reach::new(rests, self.superblocks());
            let is_mixed = |&block: &u32| reach.of(BlockId(block)).is_mixed;
            half.extend((0..self.geometry.block_count()).filter(is_mixed));
            // Pages programmed since the erase of their member stay.
            let is_used = |&block: &u32| {
                let contents = self.contents.as_ref();
                is_mixed(&block) && contents.is_some_and(|it| it.is_written(BlockId(block)))
            };
            half.retain(|block| !is_used(block));
        }
        half
    }
}

#[cfg(test)]
mod tests {
    use super::super::protection::Protection;
    use super::super::unit::Version;
    use super::*;

    /// Blocks of 16 pages that hold copies of page 3, of version 1; by block and page index.
    fn holding(copies: &[(u32, u32)]) -> Contents {
        let mut contents = Contents::new(512, Protection::default(), 4, 8);
        let (erased, openings) = (vec![Vec::new(); 4], vec![0; 4]);
        let history =
            History { erased, openings, opened: 0, ordered: 0, page_bits: 4, kept_pages: 0 };
        contents.history = Some(Box::new(history));
        for &(block, index) in copies {
            let units =
                contents.blocks[block as usize].get_or_insert_with(|| vec![None; 16].into());
            units[index as usize] = Some(Unit::new(Version { lpn: 3, version: 1 }, None));
        }
        contents
    }

    fn erase(contents: &mut Contents, block: usize) {
        let units = contents.blocks[block].take().expect("it is written");
        let history = contents.history.as_mut().expect("it was made");
        history.note_erased(BlockId(block as u32), units, CellMode::Native);
    }

    /// The place of page 3 in a checkpoint, if the map has it at block 1, page 1, the flash has
    /// `programmed` pages of that block, and erases of the blocks in `waiting` wait.
    fn noted(contents: &Contents, programmed: u32, waiting: &[u32]) -> u32 {
        let done = BlockRest { erases_waiting: 0, programmed: 16 };
        let mut rests = [done; 4];
        rests[1].programmed = programmed;
        for &block in waiting {
            rests[block as usize].erases_waiting = 1;
        }
        let mut latest = [Latest::default(); 8];
        let reach = Reach::new(&rests, None);
        contents.latest_durable(&mut latest, &[17; 8], &reach, &[CellMode::Native; 4]);
        latest[3].place - 1
    }

    /// The open block of moved pages may be older than that of the host, so a later copy may be in
    /// a block that was opened first, while the other copy may be erased at any time.
    #[test]
    fn a_checkpoint_names_copies_that_stay() {
        let mut contents = holding(&[(1, 1), (2, 0), (3, 5)]);
        contents.history.as_mut().expect("it was made").openings = vec![0, 1, 2, 3];
        assert_eq!(noted(&contents, 16, &[]), 17, "the one that the map names");
        // Its program waits: later erases wait for it, those already ordered do not.
        erase(&mut contents, 3);
        assert_eq!(noted(&contents, 1, &[3]), 32, "the one whose block stays");
        erase(&mut contents, 2);
        assert_eq!(noted(&contents, 1, &[2, 3]), 32, "the one whose erase was ordered last");
    }
}
