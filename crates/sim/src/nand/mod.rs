//! The NAND: all that survives a power cut, and nothing else.
//!
//! [`Media`] holds for each page the logical page number that was written into its out-of-band area
//! (the only reverse map of the drive), and for each block its erase count, whether it is bad, how
//! many bits its cells hold, and how often its data was copied without passing the decoder. A page
//! is programmed once between two erases, in order; `testing::checked` holds the FTL to that rule.
//! The bytes that pages hold are kept only in drives that are served as disks ([`Contents`]):
//! elsewhere the simulator knows which data a page holds, and that is enough.
//!
//! If blocks of the FTL are superblocks, statements here about a block hold for all blocks of its
//! [`Members`]: they are erased, worn and written together.
//!
//! Executors commit an operation when the FTL decides. If the power may fail, `rollback` puts the
//! flash back to the state that its queues have reached.

mod adopted;
mod arena;
mod arrival;
mod config;
mod contents;
mod crc16;
mod energy;
mod erases;
mod failures;
mod faults;
mod flips;
mod held;
mod history;
mod joined;
mod mechanisms;
mod page_times;
mod program_unit;
pub mod protection;
mod reach;
mod rollback;
mod scars;
mod unit;

pub use config::{CellType, NandConfig, Timing, TimingConfig, WearOut};
pub use contents::{Contents, MediaError, SavedUnit};
pub use energy::EnergyConfig;
pub use erases::EraseHistogram;
pub use failures::{Failures, FailuresConfig};
pub use faults::{DieLost, Fault, UnitFault};
pub(crate) use held::Held;
pub use mechanisms::{CacheCommands, ProgramMode, Variation, WearTiming};
pub use page_times::PageTimes;
pub use program_unit::ProgramUnits;
pub(crate) use reach::Reach;
pub use reach::{BlockRest, Running};
pub use rollback::Latest;
pub use scars::Scars;
pub use unit::Unit;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::geometry::{Geometry, UNMAPPED};
use crate::memory::{prefetch_at, Array};
use crate::rng::Rng;
use crate::striping::DieRun;
use crate::superblock::{Members, Superblocks};
use crate::units::{BlockId, Lpn, Ppn};

/// How densely a block is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum CellMode {
    /// The number of bits per cell for which the flash is made.
    #[default]
    Native,
    /// One bit per cell: faster, and fewer pages.
    Slc,
}

/// State of the blocks in the flash, apart from their pages; by block.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BlockTables {
    /// How often each was erased.
    pub erase_counts: Vec<u32>,
    /// Which must not be used; behind them, with superblocks, the same of the blocks of the flash.
    pub bad: Vec<bool>,
    /// With superblocks, which blocks of the flash they are made of: see [`Members::table`].
    pub members: Vec<u32>,
    /// How densely each is written.
    pub modes: Vec<CellMode>,
    /// See [`Media::copyback_depth`].
    pub copyback_depths: Vec<u8>,
    /// By page slot, see [`Media::disturbs`]; empty if pages are programmed once.
    pub disturbs: Vec<u8>,
}

/// The state of the flash that survives without power.
#[derive(Clone, Debug)]
pub struct Media {
    geometry: Geometry,
    /// Out-of-band LPN by page slot.
    pub(crate) oob: Array<u32>,
    pub(crate) erase_counts: Array<u32>,
    pub(crate) bad: Array<bool>,
    pub(crate) modes: Array<CellMode>,
    /// Copies in a row, at most 255, that the most travelled page of the block has made inside its
    /// die.
    pub(crate) copyback_depths: Array<u8>,
    /// Programs of its page behind each page slot; empty if pages are programmed once.
    disturbs: Array<u8>,
    /// Erase counts of the good blocks, by die.
    wear: Vec<EraseHistogram>,
    /// The block that the arrays begin with: 0 in the flash of the whole drive.
    first_block: u32,
    /// The members of superblocks, if the drive has these.
    members: Option<Arc<Members>>,
    /// Whether an erase clears the out-of-band area, so that pages which are not programmed are
    /// known: only cells need it.
    pub(crate) clears_oob: bool,
    /// Marks that power cuts have left on pages and blocks; none before the first.
    scars: Option<Arc<Scars>>,
    /// The contents of the pages, in drives that are served: see [`Contents`]. Untimed writes on
    /// several threads do not carry them.
    pub(crate) contents: Option<Box<Contents>>,
}

/// Bad blocks of each die, at places drawn from `seed`.
fn draw_bad(geometry: &Geometry, bad_per_die: &[u32], seed: u64) -> Vec<bool> {
    let mut bad = vec![false; geometry.block_count() as usize];
    let mut rng = Rng::stream(seed, "nand.factory_bad_blocks");
    for (die, &count) in bad.chunks_mut(geometry.blocks_per_die as usize).zip(bad_per_die) {
        let mut left = count;
        while left > 0 {
            let block = rng.below(die.len() as u64) as usize;
            left -= u32::from(!die[block]);
            die[block] = true;
        }
    }
    bad
}

impl Media {
    /// Fresh flash with `bad_per_die` factory bad blocks in each die, at places drawn from `seed`.
    pub fn new(geometry: Geometry, bad_per_die: &[u32], seed: u64) -> Self {
        Self::fresh(geometry, draw_bad(&geometry, bad_per_die, seed))
    }

    /// The same for superblocks, with the number of bad blocks of the flash in each die.
    pub fn of_superblocks(shape: Superblocks, bad_per_die: &[u32], seed: u64) -> Self {
        let of_flash = draw_bad(shape.flash(), bad_per_die, seed);
        let geometry = shape.geometry();
        let members = Members::new(shape, of_flash);
        let blocks = (0..geometry.block_count()).map(BlockId);
        let bad = blocks.map(|block| members.is_bad(block)).collect();
        Self { members: Some(Arc::new(members)), ..Self::fresh(geometry, bad) }
    }

    fn fresh(geometry: Geometry, bad: Vec<bool>) -> Self {
        let blocks = geometry.block_count() as usize;
        let tables = BlockTables {
            erase_counts: vec![0; blocks],
            modes: vec![CellMode::Native; blocks],
            copyback_depths: vec![0; blocks],
            disturbs: Vec::new(),
            members: Vec::new(),
            bad,
        };
        Self::restore(geometry, None, tables).expect("the tables are of this geometry")
    }

    /// The same, whose pages take several programs between two erases.
    #[must_use]
    pub fn with_disturbs(mut self) -> Self {
        self.disturbs = Array::new(self.oob.len(), 0);
        self
    }

    /// Flash with these blocks and no data; `None` when the tables are of another geometry.
    pub fn restore(
        geometry: Geometry,
        superblocks: Option<Superblocks>,
        tables: BlockTables,
    ) -> Option<Self> {
        let BlockTables { erase_counts, mut bad, modes, copyback_depths, disturbs, .. } = tables;
        let blocks = geometry.block_count() as usize;
        let members = match superblocks {
            Some(shape) if bad.len() >= blocks => {
                Some(Arc::new(Members::restore(shape, bad.split_off(blocks), tables.members)?))
            }
            Some(_) => return None,
            None => None,
        };
        let lens = [erase_counts.len(), bad.len(), modes.len(), copyback_depths.len()];
        let has_slots = disturbs.is_empty() || disturbs.len() == geometry.page_count();
        if lens != [geometry.block_count() as usize; 4] || !has_slots {
            return None;
        }
        let blocks_per_die = geometry.blocks_per_die as usize;
        let dies = erase_counts.chunks(blocks_per_die).zip(bad.chunks(blocks_per_die));
        let good = |(counts, bad): (&[u32], &[bool])| {
            let blocks = counts.iter().zip(bad);
            EraseHistogram::of(blocks.filter(|(_, &bad)| !bad).map(|(&count, _)| count))
        };
        Some(Self {
            geometry,
            wear: dies.map(good).collect(),
            oob: Array::new(geometry.page_count(), UNMAPPED),
            erase_counts: erase_counts.into(),
            bad: bad.into(),
            modes: modes.into(),
            copyback_depths: copyback_depths.into(),
            disturbs: disturbs.into(),
            first_block: 0,
            members,
            clears_oob: false,
            scars: None,
            contents: None,
        })
    }

    /// The stored state of the blocks.
    pub fn tables(&self) -> BlockTables {
        BlockTables {
            erase_counts: self.erase_counts.to_vec(),
            bad: self
                .bad
                .iter()
                .chain(self.members.iter().flat_map(|it| it.bad()))
                .copied()
                .collect(),
            members: self.members.iter().flat_map(|it| it.table()).copied().collect(),
            modes: self.modes.to_vec(),
            copyback_depths: self.copyback_depths.to_vec(),
            disturbs: self.disturbs.to_vec(),
        }
    }

    /// The most often that a good block was erased.
    pub fn erase_count_max(&self) -> u32 {
        self.wear.iter().map(EraseHistogram::highest).max().unwrap_or(0)
    }

    /// The least often that a block was erased.
    pub fn erase_count_min(&self) -> u32 {
        self.erase_counts.iter().copied().min().unwrap_or(0)
    }

    /// Erase counts of all good blocks.
    pub fn wear(&self) -> EraseHistogram {
        let mut all = EraseHistogram::default();
        self.wear.iter().for_each(|of_die| all.merge(of_die));
        all
    }

    /// The flash, of which nothing stays.
    pub(crate) fn take(&mut self) -> Self {
        Self {
            geometry: self.geometry,
            oob: std::mem::take(&mut self.oob),
            erase_counts: std::mem::take(&mut self.erase_counts),
            bad: std::mem::take(&mut self.bad),
            modes: std::mem::take(&mut self.modes),
            copyback_depths: std::mem::take(&mut self.copyback_depths),
            disturbs: std::mem::take(&mut self.disturbs),
            wear: std::mem::take(&mut self.wear),
            first_block: self.first_block,
            members: self.members.clone(),
            clears_oob: self.clears_oob,
            scars: self.scars.clone(),
            contents: self.contents.take(),
        }
    }

    /// The flash of each die.
    pub(crate) fn split(self) -> Vec<Self> {
        let (geometry, members, scars) = (self.geometry, self.members, self.scars);
        let clears_oob = self.clears_oob;
        let blocks = vec![geometry.blocks_per_die as usize; geometry.die_count as usize];
        let pages: Vec<usize> =
            blocks.iter().map(|blocks| blocks * geometry.pages_per_block as usize).collect();
        let first_blocks = (0..geometry.die_count).map(|die| die * geometry.blocks_per_die);
        let mut oob = self.oob.split(&pages).into_iter();
        let disturbed = if self.disturbs.is_empty() { vec![0; pages.len()] } else { pages };
        let mut disturbs = self.disturbs.split(&disturbed).into_iter();
        let mut erase_counts = self.erase_counts.split(&blocks).into_iter();
        let mut bad = self.bad.split(&blocks).into_iter();
        let mut modes = self.modes.split(&blocks).into_iter();
        let mut copyback_depths = self.copyback_depths.split(&blocks).into_iter();
        let mut wear = self.wear.into_iter();
        first_blocks
            .map_while(|first_block| {
                Some(Self {
                    geometry,
                    oob: oob.next()?,
                    erase_counts: erase_counts.next()?,
                    bad: bad.next()?,
                    modes: modes.next()?,
                    copyback_depths: copyback_depths.next()?,
                    disturbs: disturbs.next()?,
                    wear: vec![wear.next()?],
                    first_block,
                    members: members.clone(),
                    clears_oob,
                    scars: scars.clone(),
                    contents: None,
                })
            })
            .collect()
    }

    /// The flash that [`Media::split`] took apart.
    pub(crate) fn join(parts: Vec<Self>) -> Self {
        let (geometry, members) = (parts[0].geometry, parts[0].members.clone());
        let (scars, clears_oob) = (parts[0].scars.clone(), parts[0].clears_oob);
        let (mut oob, mut erase_counts, mut bad) = (Vec::new(), Vec::new(), Vec::new());
        let (mut modes, mut copyback_depths, mut wear) = (Vec::new(), Vec::new(), Vec::new());
        let mut disturbs = Vec::new();
        for part in parts {
            oob.push(part.oob);
            erase_counts.push(part.erase_counts);
            bad.push(part.bad);
            modes.push(part.modes);
            copyback_depths.push(part.copyback_depths);
            disturbs.push(part.disturbs);
            wear.extend(part.wear);
        }
        Self {
            geometry,
            oob: Array::join(oob),
            erase_counts: Array::join(erase_counts),
            bad: Array::join(bad),
            modes: Array::join(modes),
            copyback_depths: Array::join(copyback_depths),
            disturbs: Array::join(disturbs),
            wear,
            first_block: 0,
            members,
            clears_oob,
            scars,
            contents: None,
        }
    }

    #[inline]
    fn place(&self, block: BlockId) -> usize {
        (block.0 - self.first_block) as usize
    }

    /// Position of a page in `oob`.
    #[inline]
    fn slot(&self, ppn: Ppn) -> usize {
        self.geometry.page_slot(ppn) - self.geometry.block_slot(BlockId(self.first_block))
    }

    /// The shape of the drive.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The members of superblocks, if the drive has these.
    #[inline]
    pub fn superblocks(&self) -> Option<&Members> {
        self.members.as_deref()
    }

    /// The same, to be kept while the media change.
    pub(crate) fn shared_superblocks(&self) -> Option<Arc<Members>> {
        self.members.clone()
    }

    /// The blocks of the flash that a superblock is made of; empty without superblocks.
    pub fn members_of(&self, block: BlockId) -> &[u32] {
        self.superblocks().map_or(&[], |members| members.of(block))
    }

    /// Pages of a native superblock whose member block is bad.
    pub fn hole_pages(&self, block: BlockId) -> u32 {
        self.superblocks().map_or(0, |members| members.hole_slots(block, false))
    }

    /// Whether superblocks differ in size.
    pub fn is_uneven(&self) -> bool {
        self.superblocks().is_some_and(Members::has_holes)
    }

    /// The block of a page.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> BlockId {
        self.geometry.block_of(ppn)
    }

    /// The out-of-band areas of a block, by page index.
    #[inline]
    pub fn oob_of_block(&self, block: BlockId) -> &[u32] {
        let slot = self.slot(self.geometry.first_page(block));
        &self.oob[slot..slot + self.geometry.pages_per_block as usize]
    }

    /// Asks for what the collection of a block reads: its out-of-band areas, and how worn it is.
    #[inline]
    pub fn prefetch_block(&self, block: BlockId) {
        prefetch_at(&self.erase_counts, self.place(block));
        for line in self.oob_of_block(block).chunks(16) {
            prefetch_at(line, 0);
        }
    }

    /// The logical page number in the out-of-band area of a page.
    #[inline]
    pub fn lpn_at(&self, ppn: Ppn) -> u32 {
        self.oob[self.slot(ppn)]
    }

    /// Stores a page of `lpn`.
    #[inline]
    pub fn program(&mut self, ppn: Ppn, lpn: Lpn) {
        let slot = self.slot(ppn);
        self.oob[slot] = lpn.0;
    }

    /// Stores consecutive pages of one block: the logical pages of a run.
    #[inline]
    pub fn program_die_run(&mut self, first: Ppn, run: DieRun) {
        let slot = self.slot(first);
        run.fill(&mut self.oob[slot..slot + run.count as usize]);
    }

    /// Stores consecutive pages of one block.
    #[inline]
    pub fn program_run(&mut self, first: Ppn, lpns: &[u32]) {
        let slot = self.slot(first);
        self.oob[slot..slot + lpns.len()].copy_from_slice(lpns);
    }

    /// Erases a block and returns its erase count, this one included.
    pub fn erase(&mut self, block: BlockId) -> u32 {
        let place = self.place(block);
        self.copyback_depths[place] = 0;
        if self.clears_oob {
            let slot = self.slot(self.geometry.first_page(block));
            self.oob[slot..slot + self.geometry.pages_per_block as usize].fill(UNMAPPED);
        }
        if !self.disturbs.is_empty() {
            let slot = self.slot(self.geometry.first_page(block));
            self.disturbs[slot..slot + self.geometry.pages_per_block as usize].fill(0);
        }
        let count = self.erase_counts[place];
        self.erase_counts[place] = count + 1;
        self.wear_of(block).erased(count);
        count + 1
    }

    /// Wears a block as if it had been erased as often as this; its pages stay.
    pub(crate) fn set_erase_count(&mut self, block: BlockId, count: u32) {
        let place = self.place(block);
        let before = std::mem::replace(&mut self.erase_counts[place], count);
        let wear = self.wear_of(block);
        wear.add(count, 1);
        wear.remove(before);
    }

    /// The erase counts of the die of a block.
    fn wear_of(&mut self, block: BlockId) -> &mut EraseHistogram {
        let first_die = self.geometry.die_of_block(BlockId(self.first_block));
        let die = self.geometry.die_of_block(block).0 - first_die.0;
        &mut self.wear[die as usize]
    }

    /// How often the block was erased.
    #[inline]
    pub fn erase_count(&self, block: BlockId) -> u32 {
        self.erase_counts[self.place(block)]
    }

    /// The erase counts of `block_count` blocks.
    pub(crate) fn erase_counts_from(&self, first: BlockId, block_count: u32) -> &[u32] {
        let place = self.place(first);
        &self.erase_counts[place..place + block_count as usize]
    }

    /// How densely the block is written.
    #[inline]
    pub fn mode(&self, block: BlockId) -> CellMode {
        self.modes[self.place(block)]
    }

    /// Decides how densely an erased block will be written.
    pub fn set_mode(&mut self, block: BlockId, mode: CellMode) {
        let place = self.place(block);
        self.modes[place] = mode;
    }

    /// Copies in a row that data of the block has made inside its die, errors and all.
    #[inline]
    pub fn copyback_depth(&self, block: BlockId) -> u8 {
        self.copyback_depths[self.place(block)]
    }

    /// Notes that data of `source` was copied to `target` inside the die.
    pub fn note_copyback(&mut self, source: BlockId, target: BlockId) {
        let depth = self.copyback_depth(source).saturating_add(1);
        let place = self.place(target);
        let known = &mut self.copyback_depths[place];
        *known = depth.max(*known);
    }

    /// Marks that power cuts have left on pages and blocks, if there are any.
    #[inline]
    pub fn scars(&self) -> Option<&Scars> {
        self.scars.as_deref()
    }

    /// The program of a page, or a later pass of its wordline, was interrupted.
    pub fn mark_suspect(&mut self, block: BlockId, index: u32) {
        let erases = self.erase_count(block);
        Arc::make_mut(self.scars.get_or_insert_default()).mark_page(block, index, erases);
    }

    /// The erase of a block, which counts, was interrupted, and there will be no other one before
    /// it is written.
    pub(crate) fn mark_half_erased(&mut self, block: BlockId) {
        let erases = self.erase_count(block);
        Arc::make_mut(self.scars.get_or_insert_default()).mark_block(block, erases);
    }

    /// Programs of its page that a page slot has behind it, or will have when the page is complete:
    /// each disturbs the cells that hold data.
    #[inline]
    pub fn disturbs(&self, ppn: Ppn) -> u8 {
        self.disturbs.get(self.slot(ppn)).copied().unwrap_or(0)
    }

    /// The part of a page that holds data, its slots from `first` to `next`, is on the flash and
    /// will be disturbed by the next program of the page.
    pub fn note_part(&mut self, first: Ppn, next: Ppn) {
        let slots = self.slot(first)..self.slot(next);
        self.disturbs[slots].iter_mut().for_each(|count| *count = count.saturating_add(1));
    }

    /// Whether the block must not be used: bad from the factory, or worn out.
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.bad[self.place(block)]
    }

    /// Takes a block out of use for good. In a superblock these members have failed, and the others
    /// become spare.
    pub fn retire(&mut self, block: BlockId, failed: &[u32]) {
        let place = self.place(block);
        let count = self.erase_counts[place];
        if !std::mem::replace(&mut self.bad[place], true) {
            self.wear_of(block).remove(count);
        }
        if let Some(members) = &mut self.members {
            Arc::make_mut(members).dissolve(block, failed);
        }
    }

    /// A member of a superblock has failed: a spare block of its die takes its place, which counts
    /// as worn as the others. Returns the two, or `None` when there is no spare block.
    pub fn replace_member(&mut self, block: BlockId, member: u32) -> Option<(BlockId, BlockId)> {
        Arc::make_mut(self.members.as_mut()?).replace(block, member)
    }
}
