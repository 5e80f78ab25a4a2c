//! The bytes of a served drive: the contents of each page of the flash, and data on its way there.
//!
//! ```text
//! host ─► staged (memory of the controller) ─ program ─► units by page slot ─ move ─► other slot
//!              └────────── read ◄──────── by the map: L2P, slot, unit ──────────┘
//! ```
//! Bytes follow the map and never lead it: a read asks the map for the page of the flash and
//! returns the unit of this page, a collection moves units from slot to slot, and an erase drops
//! them. So a mistake of the FTL would return wrong data. Each unit carries information that
//! detects this (`protection`): by default its logical page, a version that counts writes of this
//! page, and a CRC-32 of all three. A read whose unit is of another page, of another version or
//! damaged is a [`MediaError`], never data. With less protection the read may return wrong data;
//! the simulator, which knows the truth, counts such reads.
//!
//! Storage is sparse: units of zeros hold no bytes, blocks without units no table. Overwritten data
//! stays until its block is erased, as on flash; a moved unit shares its bytes with the old place.
//!
//! In addition to the bytes and their protection information ([`arena`](super::arena)), which has a
//! byte for the number of holders of a unit, a page of the flash takes 12 bytes here and a logical
//! page 8.

use std::collections::BTreeMap;

use super::arena::{Arena, Slot};
use super::flips::Flips;
use super::history::History;
use super::protection::Protection;
use super::unit::{Unit, Version};
use super::Media;
use crate::units::{BlockId, Lpn, Ppn};

/// The contents of a page are not the data last written: the drive reports a medium error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("logical page {}: {what}", lpn.0)]
pub struct MediaError {
    /// The logical page that was read.
    pub lpn: Lpn,
    /// The problem.
    pub what: &'static str,
}

/// Data on its way to the flash.
#[derive(Clone, Debug)]
pub(super) struct Staged {
    pub(super) unit: Unit,
    /// Running commands that concern the page. Any of them may change or remove its place in the
    /// map, so the data stays here until the last of them has ended.
    pub(super) holds: u32,
    /// It reads as zeros since it was trimmed, so no program will come for it.
    pub(super) is_trim: bool,
}

/// A unit as images hold it.
#[derive(Clone, Copy, Debug)]
pub struct SavedUnit<'a> {
    /// The page that it was written to.
    pub lpn: u32,
    /// Which write of that page.
    pub version: u32,
    /// Its stored bytes with their protection; `None` for zeros.
    pub stored: Option<&'a [u8]>,
    /// See [`Contents::seal_of`].
    pub seal: u32,
    /// A fault has changed it.
    pub is_damaged: bool,
    /// No decoder gives it back.
    pub is_lost: bool,
}

/// See the module. Each [`Unit`] kept here is a holder of its slot.
#[derive(Clone, Debug)]
pub struct Contents {
    unit_bytes: usize,
    protection: Protection,
    pub(super) arena: Arena,
    /// By block and page index.
    pub(super) blocks: Vec<Option<Box<[Option<Unit>]>>>,
    /// Controller memory: data that no program has taken to the flash yet, by logical page.
    pub(super) staged: BTreeMap<u32, Staged>,
    /// The same where the command that brings data does not know its pages: by its tag.
    pub(super) arriving: BTreeMap<u32, Vec<u8>>,
    /// By logical page, its newest version; 0 was never written.
    pub(super) versions: Vec<u32>,
    /// By logical page, 1 + the page of the flash with its newest unit, counted without gaps; 0 is
    /// none.
    pub(super) newest: Vec<u32>,
    /// By logical page, the version up to which a purge has made all copies worthless; empty: none.
    pub(super) purged: Vec<u32>,
    recounts: u64,
    /// Logical pages programmed since [`note_programmed`](Contents::note_programmed).
    pub(super) programmed: Option<Vec<u32>>,
    /// Units removed by erases, kept if a power cut may undo these.
    pub(super) history: Option<Box<History>>,
    /// Blocks that are decoded bit by bit, in drives that have such blocks.
    decoded: Option<Box<Flips>>,
    /// Reads that ended in a [`MediaError`].
    pub media_errors: u64,
    /// The same, by the cause.
    pub errors_by_cause: BTreeMap<&'static str, u64>,
    /// Reads that returned wrong data without an error.
    pub silent_errors: u64,
}

impl Contents {
    /// A drive that holds zeros.
    pub fn new(
        unit_bytes: usize,
        protection: Protection,
        block_count: usize,
        logical_pages: usize,
    ) -> Self {
        Self {
            unit_bytes,
            arena: Arena::new(protection.stored_bytes(unit_bytes), protection.has_seals()),
            protection,
            blocks: vec![None; block_count],
            staged: BTreeMap::new(),
            arriving: BTreeMap::new(),
            versions: vec![0; logical_pages],
            newest: vec![0; logical_pages],
            purged: Vec::new(),
            recounts: 0,
            programmed: None,
            history: None,
            decoded: None,
            media_errors: 0,
            errors_by_cause: BTreeMap::new(),
            silent_errors: 0,
        }
    }

    /// Bytes of a unit.
    pub fn unit_bytes(&self) -> usize {
        self.unit_bytes
    }

    /// Bytes that are stored for a unit that is not of zeros: its data, and its protection
    /// information.
    pub fn stored_unit_bytes(&self) -> usize {
        self.protection.stored_bytes(self.unit_bytes)
    }

    /// Bytes that units take in memory, old versions included.
    pub fn stored_bytes(&self) -> u64 {
        self.arena.taken() * self.stored_unit_bytes() as u64
    }

    /// The bytes of a unit, its data first; `None` for zeros.
    pub fn bytes_of(&self, unit: &Unit) -> Option<&[u8]> {
        unit.slot().map(|slot| self.arena.bytes(slot))
    }

    /// The seal of a unit: see [`Protection`].
    pub fn seal_of(&self, unit: &Unit) -> u32 {
        let seal = unit.slot().map(|slot| self.arena.seal(slot));
        self.protection.seal_of(unit.of(), seal, self.unit_bytes)
    }

    /// A new unit of a page.
    fn make(&mut self, of: Version, data: Option<&[u8]>) -> Unit {
        let slot = data.map(|data| {
            let slot = self.arena.take();
            let stored = self.arena.bytes_mut(slot);
            stored[..data.len()].copy_from_slice(data);
            let seal = self.protection.protect(of, stored, self.unit_bytes);
            self.arena.set_seal(slot, seal);
            slot
        });
        Unit::new(of, slot)
    }

    /// One more place has a unit.
    pub(crate) fn hold(&mut self, unit: &Unit) {
        if let Some(slot) = unit.slot() {
            self.arena.hold(slot);
        }
    }

    /// A place has it no more.
    pub(crate) fn let_go(&mut self, unit: Option<Unit>) {
        if let Some(slot) = unit.and_then(|unit| unit.slot()) {
            self.arena.release(slot);
        }
    }

    /// Counts the holders of all bytes again: units of pages of the flash, staged units, units that
    /// erases removed, and `others`.
    pub(crate) fn recount(&mut self, others: &[Unit]) {
        let on_flash = self.blocks.iter().flatten().flat_map(|units| units.iter().flatten());
        let staged = self.staged.values().map(|staged| &staged.unit);
        let erased = self.history.iter().flat_map(|history| history.units());
        let all = on_flash.chain(staged).chain(erased).chain(others);
        self.arena.recount(all.filter_map(Unit::slot));
        self.recounts += 1;
    }

    /// How often the holders were counted again: who is none of those has lost its units then.
    pub(crate) fn recounts(&self) -> u64 {
        self.recounts
    }

    /// Units in memory, by logical page, and whether each is a trim.
    pub(crate) fn staged(&self) -> impl Iterator<Item = (Unit, bool)> + '_ {
        self.staged.values().map(|staged| (staged.unit, staged.is_trim))
    }

    /// A command brings new data of a page, `None` for zeros: until [`Contents::release`] it is
    /// read from here.
    ///
    /// # Panics
    /// When it is more than a unit.
    pub fn stage(&mut self, lpn: Lpn, data: Option<&[u8]>) {
        self.stage_as(lpn, data, false);
    }

    /// A command trims a page: until [`Contents::release`] it reads as zeros.
    pub fn stage_trim(&mut self, lpn: Lpn) {
        self.stage_as(lpn, None, true);
    }

    fn stage_as(&mut self, lpn: Lpn, data: Option<&[u8]>, is_trim: bool) {
        let version = &mut self.versions[lpn.0 as usize];
        *version = version.wrapping_add(1);
        let of = Version { lpn: lpn.0, version: *version };
        let unit = self.make(of, data);
        let holds = self.staged.get(&lpn.0).map_or(0, |staged| staged.holds) + 1;
        self.insert_staged(Staged { unit, holds, is_trim });
    }

    pub(super) fn insert_staged(&mut self, staged: Staged) {
        let before = self.staged.insert(staged.unit.lpn, staged);
        self.let_go(before.map(|staged| staged.unit));
    }

    pub(super) fn remove_staged(&mut self, lpn: Lpn) -> bool {
        let staged = self.staged.remove(&lpn.0);
        let was_there = staged.is_some();
        self.let_go(staged.map(|staged| staged.unit));
        was_there
    }

    /// A command that concerned a page has ended. `place` is the place of the page in the map,
    /// and `waits` is true if it waits in the write buffer.
    pub fn release(&mut self, lpn: Lpn, place: Option<(BlockId, u32)>, waits: bool) {
        let Some(staged) = self.staged.get_mut(&lpn.0) else { return };
        staged.holds = staged.holds.saturating_sub(1);
        if staged.holds > 0 || waits {
            return;
        }
        let (version, is_trim) = (staged.unit.version, staged.is_trim);
        match place {
            Some(place) if self.unit(place).is_some_and(|unit| unit.version == version) => {}
            None if is_trim => self.newest[lpn.0 as usize] = 0,
            _ => return,
        }
        self.remove_staged(lpn);
    }

    /// The write of a page was refused: its previous contents stay.
    pub fn abandon(&mut self, lpn: Lpn, page_slot: Option<(BlockId, u32)>) {
        let is_alone = self.staged.get(&lpn.0).is_some_and(|staged| staged.holds <= 1);
        if is_alone && self.remove_staged(lpn) {
            let unit = page_slot.and_then(|slot| self.unit(slot));
            self.versions[lpn.0 as usize] = unit.map_or(0, |unit| unit.version);
        }
    }

    /// Logical pages whose data is not on the flash, in order.
    pub fn staged_pages(&self) -> Vec<Lpn> {
        self.staged.keys().copied().map(Lpn).collect()
    }

    /// How many they are.
    pub fn staged_count(&self) -> usize {
        self.staged.len()
    }

    /// Whether data of a page has not reached the flash.
    pub fn is_staged(&self, lpn: Lpn) -> bool {
        self.staged.contains_key(&lpn.0)
    }

    pub(super) fn unit(&self, (block, index): (BlockId, u32)) -> Option<&Unit> {
        self.blocks[block.0 as usize].as_ref()?[index as usize].as_ref()
    }

    fn checked(&self, lpn: Lpn, unit: Option<&Unit>) -> Result<Option<Slot>, MediaError> {
        let version = self.versions[lpn.0 as usize];
        let fail = |what| Err(MediaError { lpn, what });
        match unit {
            // Written before the drive was served: its contents are unknown.
            None if version == 0 => Ok(None),
            None => fail("the flash holds nothing where the map points"),
            Some(unit) if unit.is_lost() => fail("no decoder gives the data back"),
            Some(unit) => {
                let stored = self.bytes_of(unit).zip(unit.slot().map(|it| self.arena.seal(it)));
                let expected = Version { lpn: lpn.0, version };
                match self.protection.problem(unit.of(), stored, expected, self.unit_bytes) {
                    Some(what) => fail(what),
                    None => Ok(unit.slot()),
                }
            }
        }
    }

    /// Returns the contents of a logical page, `None` for zeros; its data is the first
    /// [`Contents::unit_bytes`]. `place` is the place of the page in the map.
    ///
    /// # Errors
    /// [`MediaError`] when the protection detects that this is not the data last written; it is
    /// counted.
    pub fn read(
        &mut self,
        lpn: Lpn,
        place: Option<(BlockId, u32)>,
    ) -> Result<Option<&[u8]>, MediaError> {
        let unit = match (self.staged.get(&lpn.0), place) {
            (Some(staged), _) => Some(&staged.unit),
            (None, Some(place)) => self.unit(place),
            (None, None) => return Ok(None),
        };
        let outcome = self.checked(lpn, unit);
        let is_false = unit.is_some_and(|unit| !self.is_true(lpn, unit));
        match &outcome {
            Err(error) => {
                self.media_errors += 1;
                *self.errors_by_cause.entry(error.what).or_default() += 1;
            }
            Ok(_) => self.silent_errors += u64::from(is_false),
        }
        Ok(outcome?.map(|slot| self.arena.bytes(slot)))
    }

    /// Whether a unit holds the data last written to a page.
    fn is_true(&self, lpn: Lpn, unit: &Unit) -> bool {
        let version = self.versions[lpn.0 as usize];
        (unit.lpn, unit.version, unit.is_damaged()) == (lpn.0, version, false)
    }

    /// Whether a page holds the data last written to it, regardless of its protection.
    ///
    /// # Errors
    /// [`MediaError`], which is not counted.
    pub fn verify(&self, lpn: Lpn, place: Option<(BlockId, u32)>) -> Result<(), MediaError> {
        let unit = match (self.staged.get(&lpn.0), place) {
            (Some(staged), _) => Some(&staged.unit),
            (None, Some(place)) => self.unit(place),
            (None, None) => return Ok(()),
        };
        self.checked(lpn, unit)?;
        match unit {
            Some(unit) if !self.is_true(lpn, unit) => {
                Err(MediaError { lpn, what: "the data is not what was written" })
            }
            _ => Ok(()),
        }
    }

    /// Whether a page holds data, so that it is no hole; `place` is its place in the map.
    pub fn is_allocated(&self, lpn: Lpn, place: Option<(BlockId, u32)>) -> bool {
        let staged = self.staged.get(&lpn.0).map(|staged| &staged.unit);
        let newest = staged.or_else(|| self.unit(place?));
        newest.is_some_and(Unit::has_bytes)
    }

    /// The unit at a page of the flash.
    pub fn at(&self, block: BlockId, index: u32) -> Option<&Unit> {
        self.unit((block, index))
    }

    /// Restores the saved unit of a page, with the newest version of that page, at its place in the
    /// map.
    pub fn restore(
        &mut self,
        (lpn, newest): (Lpn, u32),
        saved: &SavedUnit<'_>,
        (block, index): (BlockId, u32),
        pages_per_block: u32,
    ) {
        let slot = saved.stored.map(|stored| {
            let slot = self.arena.take();
            self.arena.bytes_mut(slot).copy_from_slice(stored);
            self.arena.set_seal(slot, saved.seal);
            slot
        });
        let of = Version { lpn: saved.lpn, version: saved.version };
        let mut unit = Unit::new(of, slot);
        if saved.is_damaged {
            unit.set_damaged();
        }
        if saved.is_lost {
            unit.set_lost();
        }
        self.versions[lpn.0 as usize] = newest;
        self.put(unit, (block, index), pages_per_block);
    }

    fn unit_mut(&mut self, (block, index): (BlockId, u32)) -> Option<&mut Unit> {
        self.blocks[block.0 as usize].as_mut()?[index as usize].as_mut()
    }

    /// Reads of these blocks are decoded bit by bit; the code corrects this many bits at least.
    pub(crate) fn set_decoded(&mut self, is_decoded: Vec<bool>, correctable: u32) {
        self.decoded = Some(Box::new(Flips::new(is_decoded, correctable)));
    }

    pub(super) fn forget_flips(&mut self) {
        let blocks = self.blocks.len() as u32;
        let flips = self.decoded.iter_mut();
        flips.for_each(|flips| (0..blocks).for_each(|block| flips.forget(BlockId(block))));
    }

    /// Bits of a page of the flash that faults have flipped, in a block that is decoded.
    pub(crate) fn flips_at(&self, block: BlockId, index: u32) -> u32 {
        self.decoded.as_ref().map_or(0, |flips| flips.at((block, index)))
    }

    /// Flips a bit of the unit at a page of the flash, as a fault would, without any report; false
    /// if the page holds no unit. Each call in a block that is decoded flips another bit.
    pub fn corrupt(&mut self, block: BlockId, index: u32) -> bool {
        let Some(mut unit) = self.unit((block, index)).copied() else { return false };
        if self.decoded.as_mut().is_some_and(|flips| flips.add((block, index))) {
            return true;
        }
        let slot = match unit.slot() {
            // The only place that has the bytes.
            Some(slot) if !self.arena.is_shared(slot) => slot,
            Some(shared) => {
                let (bytes, seal) = (self.arena.bytes(shared).to_vec(), self.arena.seal(shared));
                let slot = self.arena.take();
                self.arena.bytes_mut(slot).copy_from_slice(&bytes);
                self.arena.set_seal(slot, seal);
                self.arena.release(shared);
                slot
            }
            None => {
                // Zeros that are stored as bytes, with their protection information.
                let zeros = vec![0; self.unit_bytes];
                let made = self.make(unit.of(), Some(&zeros));
                made.slot().expect("it was made with bytes")
            }
        };
        self.arena.bytes_mut(slot)[0] ^= 1;
        unit.set_slot(Some(slot));
        unit.set_damaged();
        if let Some(place) = self.unit_mut((block, index)) {
            *place = unit;
        }
        true
    }

    /// Copies the unit at one page of the flash over that of another, as if its write had been
    /// misdirected; false if one of the pages holds no unit.
    pub fn misdirect(&mut self, from: (BlockId, u32), to: (BlockId, u32)) -> bool {
        let Some(unit) = self.unit(from).copied() else { return false };
        let Some(place) = self.unit_mut(to) else { return false };
        let before = std::mem::replace(place, unit);
        self.hold(&unit);
        self.let_go(Some(before));
        true
    }

    fn put(&mut self, unit: Unit, (block, index): (BlockId, u32), pages_per_block: u32) {
        self.newest[unit.lpn as usize] = 1 + block.0 * pages_per_block + index;
        if let Some(programmed) = &mut self.programmed {
            programmed.push(unit.lpn);
        }
        let table = self.blocks[block.0 as usize].get_or_insert_with(|| {
            if let Some(history) = &mut self.history {
                history.note_opened(block);
            }
            vec![None; pages_per_block as usize].into()
        });
        let before = table[index as usize].replace(unit);
        self.let_go(before);
    }
}

impl Media {
    /// A page of the host was programmed: its staged unit is at this page of the flash now.
    pub(crate) fn carry_program(&mut self, ppn: Ppn, lpn: Lpn) {
        let (block, index) = (self.block_of(ppn), self.geometry.page_index(ppn));
        let pages = self.geometry.pages_per_block;
        let Some(contents) = &mut self.contents else { return };
        // Pages of the drive's own records, and fillings.
        if lpn.0 as usize >= contents.versions.len() {
            return;
        }
        let staged = contents.staged.get(&lpn.0).map(|it| (it.unit, it.holds));
        let unit = staged.map(|(unit, _)| unit).or_else(|| {
            // Of two writes of a page the first program has taken the data of both.
            let version = contents.versions[lpn.0 as usize];
            match contents.newest[lpn.0 as usize].checked_sub(1) {
                Some(page) => contents.unit((BlockId(page / pages), page % pages)).copied(),
                None => (version > 0).then(|| Unit::new(Version { lpn: lpn.0, version }, None)),
            }
        });
        let Some(unit) = unit else { return };
        contents.hold(&unit);
        contents.put(unit, (block, index), pages);
        if let Some((_, 0)) = staged {
            contents.remove_staged(lpn);
        }
    }

    /// Pages were moved: their units move with them.
    pub(crate) fn carry_move(&mut self, victim: BlockId, page_indices: &[u32], first: Ppn) {
        let (block, start) = (self.block_of(first), self.geometry.page_index(first));
        let pages = self.geometry.pages_per_block;
        let Some(contents) = &mut self.contents else { return };
        for (index, &from) in (start..).zip(page_indices) {
            if let Some(unit) = contents.unit((victim, from)).copied() {
                contents.hold(&unit);
                contents.put(unit, (block, index), pages);
                let flips = contents.decoded.as_mut();
                if flips.is_some_and(|flips| flips.lose_by_move((victim, from), (block, index))) {
                    contents.unit_mut((block, index)).iter_mut().for_each(|it| it.set_lost());
                }
            }
        }
    }

    /// A block was erased: its units are removed.
    pub(crate) fn carry_erase(&mut self, block: BlockId) {
        let mode = self.mode(block);
        let Some(contents) = &mut self.contents else { return };
        let units = contents.blocks[block.0 as usize].take();
        contents.decoded.iter_mut().for_each(|flips| flips.forget(block));
        let gone = match &mut contents.history {
            Some(history) => history.note_erased(block, units.unwrap_or_default(), mode),
            None => units.unwrap_or_default(),
        };
        gone.iter().for_each(|&unit| contents.let_go(unit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Lpn = Lpn(3);
    const PLACE: (BlockId, u32) = (BlockId(1), 2);

    fn stored() -> Contents {
        let mut contents = Contents::new(512, Protection::default(), 4, 8);
        contents.stage(PAGE, Some(&[7; 512]));
        let unit = contents.staged.remove(&PAGE.0).expect("it was staged").unit;
        contents.put(unit, PLACE, 16);
        contents
    }

    #[test]
    fn what_is_not_as_written_is_never_data() {
        let mut contents = stored();
        assert_eq!(contents.read(PAGE, Some(PLACE)), Ok(Some(&[7; 512][..])));
        assert_eq!(contents.read(Lpn(4), Some(PLACE)).map_err(|it| it.what), {
            Err("the data is of another page")
        });
        contents.versions[3] += 1;
        assert!(contents.read(PAGE, Some(PLACE)).is_err());
        contents.versions[3] -= 1;
        contents.corrupt(PLACE.0, PLACE.1);
        let error = contents.read(PAGE, Some(PLACE)).expect_err("it is damaged");
        assert_eq!(error.to_string(), "logical page 3: the checksum of the data does not fit");
        assert_eq!(contents.media_errors, 3);
    }

    /// In a block that is decoded the bytes stay, and the flips are the decoder's task.
    #[test]
    fn flips_of_decoded_blocks_leave_the_bytes() {
        let mut contents = stored();
        contents.set_decoded(vec![true; 4], 2);
        (0..3).for_each(|_| assert!(contents.corrupt(PLACE.0, PLACE.1)));
        assert_eq!(contents.flips_at(PLACE.0, PLACE.1), 3);
        assert_eq!(contents.read(PAGE, Some(PLACE)), Ok(Some(&[7; 512][..])));
    }

    #[test]
    fn trimmed_pages_are_zeros_before_the_map_knows() {
        let mut contents = stored();
        contents.stage_trim(PAGE);
        assert_eq!(contents.read(PAGE, Some(PLACE)), Ok(None));
        contents.release(PAGE, None, false);
        assert_eq!(contents.read(PAGE, None), Ok(None));
        assert!(contents.staged_pages().is_empty());
        // Data written after the trim stays while the trim is running.
        contents.stage_trim(PAGE);
        contents.stage(PAGE, Some(&[9; 512]));
        contents.release(PAGE, None, false);
        assert_eq!(contents.read(PAGE, None), Ok(Some(&[9; 512][..])));
        // Zeros that were written wait for their program, as other data does.
        contents.stage(PAGE, None);
        contents.release(PAGE, None, false);
        contents.release(PAGE, None, false);
        assert!(contents.is_staged(PAGE));
    }
}
