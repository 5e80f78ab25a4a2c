//! Reads cell by cell: the bytes of a page as states of cells, sensed at levels and decoded.
//!
//! ```text
//!   data of each page of a wordline ─► randomise ─► encode ─► image   ┐ one state a cell
//!   the same of the next wordline   ─►     ...     ─►  image          ┘ and its shift
//!   rung of the ladder ─► levels ─► sense ─► bits or patterns ─► decode ─► words left ─► next rung
//! ```
//! A cell keeps its rank from its erase to the next, so that the rungs of a ladder, and later
//! reads, see the same cell: its errors change as they do on a chip. Data are the bytes of a served
//! drive, else a hash of logical page, page and erase count. Pages of a wordline that were not
//! written yet, and pages of the drive's own, hold data of a hash too.
//!
//! Only the blocks that `nand.cells.blocks` picks have cells. Host reads of them are decided here;
//! all other reads are drawn as without cells, by the same random numbers. The errors of the first
//! read of each page are compared with the number that its states and shifts let expect.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use opennandlab_ecc::bits;
use opennandlab_ecc::cell::{Mixture, PageBits, RankKey, ReadLevels, SenseTable};
use opennandlab_ecc::PageCode;

use super::bit_true::{magnitude, Fate, RBER_TOLD};
use super::code::EccConfig;
use super::fate::Outcome;
use super::image::{Images, Received};
use super::recovery::{Ladder, Rung};
use super::tally::CellCounts;
use crate::cells::config::Blocks;
use crate::cells::valley::{changed, Calibrate};
use crate::cells::{self, CellModel, Wordline};
use crate::config::ConfigError;
use crate::geometry::{Geometry, UNMAPPED};
use crate::nand::Media;
use crate::reliability::Stress;
use crate::rng::Rng;
use crate::superblock::Superblocks;
use crate::units::{BlockId, Ppn};

/// Wordlines whose states are kept.
const RECENT_MAX: usize = 64;
/// Numbers between the wordlines of two columns, more than a coupling reaches.
const LINES_APART: u32 = 16;
/// Numbers of reads, for read noise: of a rung, and from where on those of a search.
const READS_OF_RUNG: usize = 8;
const FIRST_SEARCH: usize = 1 << 16;
/// Outcomes whose tables are kept.
const READINGS_MAX: usize = 1024;

/// Where a page is among the cells of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// The cells that it shares with the other pages of its wordline: a unit of a page of a plane.
    column: u32,
    row: u32,
}

/// The pages of a block by their cells.
struct Places {
    of: Vec<Place>,
    index: BTreeMap<Place, u32>,
    bits_per_cell: u32,
}

impl Places {
    fn new(geometry: &Geometry, superblocks: Option<&Superblocks>, bits_per_cell: u32) -> Self {
        let place = |index: u32| {
            let (member, index, flash) = match superblocks {
                Some(it) => {
                    let at = it.locate(index, false);
                    (at.member, at.index, it.flash())
                }
                None => (0, index, geometry),
            };
            let (row, units) = (flash.row_of(index), flash.units_per_row());
            Place { column: member * units + index % units, row }
        };
        let of: Vec<Place> = (0..geometry.pages_per_block).map(place).collect();
        let index = of.iter().copied().zip(0..).collect();
        Self { of, index, bits_per_cell }
    }

    /// The number of a wordline of a column: those of a column follow each other.
    fn line(&self, id: WordlineId) -> u32 {
        let wordlines = self.of.len() as u32 / self.bits_per_cell + LINES_APART;
        id.column * wordlines + id.wordline
    }

    /// The place by which the model knows a wordline.
    fn key_place(&self, id: WordlineId) -> cells::Place {
        cells::Place { block: id.block.0, erases: id.erases, wordline: self.line(id) }
    }

    /// The pages of a wordline, lower page first; none where the block has no such page.
    fn of_wordline(&self, column: u32, wordline: u32) -> impl Iterator<Item = Option<u32>> + '_ {
        let first = wordline * self.bits_per_cell;
        let rows = first..first + self.bits_per_cell;
        rows.map(move |row| self.index.get(&Place { column, row }).copied())
    }
}

/// A wordline of a column between two erases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WordlineId {
    block: BlockId,
    erases: u32,
    column: u32,
    wordline: u32,
}

/// What a wordline holds.
struct Written {
    id: WordlineId,
    /// Which data each page holds.
    data: Vec<Option<Data>>,
    images: Vec<Vec<u8>>,
    cells: Wordline,
}

/// How a rung is read.
struct Step {
    /// One table for each read.
    senses: Vec<SenseTable>,
    /// LLR of a 0 by the pattern of the reads, the first read in the highest bit; of hard
    /// decisions the size alone.
    llrs: Vec<i8>,
}

/// All that the fate of a page follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    outcome: u32,
    flips: u32,
    data: u64,
}

/// Which data a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Data {
    /// That of a generator with this seed.
    Hash(u64),
    /// A unit of a served drive: index, logical page, version.
    Unit(u32, u32, u32),
}

/// A page that is to be read, and its stress.
pub(super) struct Asked<'a> {
    pub(super) page_type: usize,
    pub(super) stress: Stress,
    /// Factor of the error rate of the stress.
    pub(super) factor: f64,
    pub(super) outcome: &'a Outcome,
    pub(super) number: u32,
    pub(super) ladder: &'a Ladder,
}

/// See the module.
pub struct CellReads {
    model: CellModel,
    images: Images,
    places: Places,
    is_picked: Vec<bool>,
    /// How the best levels are searched for, if they are.
    calibrate: Option<Calibrate>,
    recent: VecDeque<Arc<Written>>,
    /// The steps of the ladder by outcome.
    readings: BTreeMap<u32, Steps>,
    /// What pages have given, by page.
    fates: BTreeMap<u32, (Seen, Fate)>,
    /// Erase count of the block when a page was counted, by page.
    counted: BTreeMap<u32, u32>,
    seed: u64,
    unit_bytes: usize,
}

impl CellReads {
    /// Cells of the picked blocks of a drive.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `ecc`.
    pub fn new(
        model: CellModel,
        (config, code): (&EccConfig, &PageCode),
        (geometry, superblocks): (&Geometry, Option<&Superblocks>),
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let (bits_per_cell, block_count) = (model.code().bits() as u32, geometry.block_count());
        let count = match model.config().blocks {
            Blocks::All => block_count,
            Blocks::Count(count) => count,
        };
        Ok(Self {
            images: Images::new(config, code)?,
            places: Places::new(geometry, superblocks, bits_per_cell),
            is_picked: picked(count, block_count, seed),
            calibrate: None,
            recent: VecDeque::new(),
            readings: BTreeMap::new(),
            fates: BTreeMap::new(),
            counted: BTreeMap::new(),
            seed,
            unit_bytes: geometry.page_bytes as usize,
            model,
        })
    }

    /// Searches for the best levels so, if the ladder has a rung for it.
    #[must_use]
    pub fn with_search(mut self, calibrate: Option<Calibrate>) -> Self {
        self.calibrate = calibrate;
        self
    }

    /// Whether there is a codec for pages of this code.
    ///
    /// # Errors
    /// As [`CellReads::new`].
    pub fn check(config: &EccConfig, code: &PageCode) -> Result<(), ConfigError> {
        Images::new(config, code).map(|_| ())
    }

    /// Whether the cells of a block are there.
    pub(super) fn has(&self, block: BlockId) -> bool {
        self.is_picked[block.0 as usize]
    }

    /// Which blocks have cells.
    pub fn picked(&self) -> &[bool] {
        &self.is_picked
    }

    /// Pages that were counted, and the erase count of their block then, plus one.
    pub(super) fn counted(&self) -> Vec<(u32, u32)> {
        self.counted.iter().map(|(&page, &erases)| (page, erases)).collect()
    }

    /// Takes the result of [`CellReads::counted`].
    pub(super) fn set_counted(&mut self, counted: &[(u32, u32)]) {
        self.counted = counted.iter().copied().collect();
    }

    /// Outcomes have other numbers afterwards.
    pub(super) fn forget(&mut self) {
        self.readings.clear();
        self.fates.clear();
        self.counted.clear();
    }

    /// Reads a page up the ladder; returns its fate, and its errors if it is read for the first
    /// time. A page that nothing has written is sound.
    pub(super) fn read(
        &mut self,
        media: &Media,
        ppn: Ppn,
        asked: &Asked<'_>,
    ) -> (Fate, Option<CellCounts>) {
        let (block, index) = (media.block_of(ppn), media.geometry().page_index(ppn));
        let erases = media.erase_count(block);
        let Place { column, row } = self.places.of[index as usize];
        let wordline = row / self.places.bits_per_cell;
        let id = WordlineId { block, erases, column, wordline };
        let sound = Fate { rung: Some(asked.outcome.start), lost: 0 };
        let Some(written) = self.written(media, id) else { return (sound, None) };
        let is_first = self.counted.insert(ppn.0, erases + 1) != Some(erases + 1);
        let flips = media.contents.as_ref().map_or(0, |it| it.flips_at(block, index));
        let seen = Seen { outcome: asked.number, flips, data: self.data_around(media, &written) };
        if let Some((before, fate)) = self.fates.get(&ppn.0) {
            if *before == seen && !is_first {
                return (*fate, None);
            }
        }
        let shifts = self.shifts(media, &written);
        let (model, page) = (&self.model, self.model.code().page(asked.page_type));
        if self.readings.len() >= READINGS_MAX {
            self.readings.clear();
        }
        let steps = self.readings.entry(asked.number).or_insert_with(|| {
            let width = model.width_factor(&asked.stress, asked.factor);
            Steps::of(model.mixture(&asked.stress, width), page, &model.default_levels(), asked)
        });
        let line = Line {
            key: model.key(self.places.key_place(id)),
            states: written.cells.states(),
            shifts: &shifts,
            page,
            sent: &written.images[asked.page_type],
            held: written.cells.page(model.code(), asked.page_type),
            bits: self.images.bits(),
            flips: flips as usize,
        };
        let counts = is_first.then(|| line.count(&steps.hard[asked.outcome.start], asked.outcome));
        let fate = line.climb(steps, asked, self.calibrate.as_ref(), &mut self.images);
        // Without read noise a second read of the same cells finds the same.
        if self.model.config().read_noise == 0.0 {
            self.fates.insert(ppn.0, (seen, fate));
        }
        (fate, counts)
    }

    /// The data of a wordline and of those that move its cells, as one number.
    fn data_around(&self, media: &Media, written: &Written) -> u64 {
        let id = written.id;
        let ahead = std::iter::once(0).chain(self.model.aggressors().map(|one| one.wordline));
        let mut hasher = DefaultHasher::new();
        id.erases.hash(&mut hasher);
        for wordline in ahead.map(|ahead| id.wordline + ahead) {
            for page in self.places.of_wordline(id.column, wordline) {
                page.and_then(|index| data_of(media, id, index)).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// The states of a wordline; none if nothing of it is written.
    fn written(&mut self, media: &Media, id: WordlineId) -> Option<Arc<Written>> {
        let pages: Vec<Option<u32>> = self.places.of_wordline(id.column, id.wordline).collect();
        let data: Vec<Option<Data>> =
            pages.iter().map(|page| page.and_then(|index| data_of(media, id, index))).collect();
        if data.iter().all(Option::is_none) {
            return None;
        }
        if let Some(at) = self.recent.iter().position(|it| it.id == id && it.data == data) {
            let found = self.recent.remove(at)?;
            self.recent.push_front(Arc::clone(&found));
            return Some(found);
        }
        let image = |(page_type, (page, data)): (usize, (&Option<u32>, &Option<Data>))| {
            let fill = || Data::Hash(self.fill(id, page_type as u64));
            let mut bytes = self.bytes(media, id.block, data.unwrap_or_else(fill));
            self.model.config().randomiser.apply(page.unwrap_or(UNMAPPED), &mut bytes);
            self.images.encode(&bytes)
        };
        let images: Vec<Vec<u8>> = pages.iter().zip(&data).enumerate().map(image).collect();
        let written: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let cells = Wordline::of(&written, self.model.code());
        let cells = self.model.program(self.places.key_place(id), cells);
        let found = Arc::new(Written { id, data, images, cells });
        self.recent.truncate(RECENT_MAX - 1);
        self.recent.push_front(Arc::clone(&found));
        Some(found)
    }

    /// The classes of shift of the cells of a wordline, by the wordlines next to it.
    fn shifts(&mut self, media: &Media, written: &Written) -> Vec<u8> {
        let id = written.id;
        let ahead: Vec<u32> = self.model.aggressors().map(|one| one.wordline).collect();
        let next: Vec<Option<Arc<Written>>> = ahead
            .iter()
            .map(|ahead| self.written(media, WordlineId { wordline: id.wordline + ahead, ..id }))
            .collect();
        let neighbours: Vec<Option<&Wordline>> =
            next.iter().map(|it| it.as_ref().map(|it| &it.cells)).collect();
        let count = written.cells.states().len();
        self.model.shifts(self.places.key_place(id), count, &neighbours)
    }

    /// Seed of the data that fills a wordline which is written in part.
    fn fill(&self, id: WordlineId, page_type: u64) -> u64 {
        let cells = u64::from(id.block.0) << 32 | u64::from(id.column) << 20;
        (self.seed ^ cells ^ u64::from(id.wordline) << 2 ^ page_type)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ u64::from(id.erases)
    }

    /// The bytes of a page.
    fn bytes(&self, media: &Media, block: BlockId, data: Data) -> Vec<u8> {
        let mut bytes = vec![0; self.unit_bytes];
        match data {
            Data::Hash(seed) => {
                let mut rng = Rng::from_seed(seed);
                for eight in bytes.chunks_mut(8) {
                    eight.copy_from_slice(&rng.next_u64().to_le_bytes()[..eight.len()]);
                }
            }
            Data::Unit(index, ..) => {
                let contents = media.contents.as_ref();
                let unit = contents.and_then(|it| Some((it, it.at(block, index)?)));
                if let Some(stored) = unit.and_then(|(it, unit)| it.bytes_of(unit)) {
                    bytes.copy_from_slice(&stored[..self.unit_bytes]);
                }
            }
        }
        bytes
    }
}

/// Which data a page of a block holds; none if it is not programmed.
fn data_of(media: &Media, id: WordlineId, index: u32) -> Option<Data> {
    if let Some(unit) = media.contents.as_ref().and_then(|it| it.at(id.block, index)) {
        return Some(Data::Unit(index, unit.lpn, unit.version));
    }
    let first = media.geometry().first_page(id.block).0;
    let lpn = media.lpn_at(Ppn(first + index));
    if lpn == UNMAPPED {
        // Blocks fill in order: a page without an owner before one with an owner is written.
        let mut behind = index + 1..media.geometry().pages_per_block;
        behind.find(|page| media.lpn_at(Ppn(first + page)) != UNMAPPED)?;
    }
    // Odd constants keep the numbers apart: 2^64 over the golden ratio, and a prime of xxHash.
    let page = u64::from(lpn).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let page = page ^ u64::from(first + index).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    Some(Data::Hash(page ^ u64::from(id.erases).wrapping_mul(0x1656_67b1_9e37_79f9)))
}

/// Cells of a wordline and the page that is read from them.
struct Line<'a> {
    key: RankKey,
    states: &'a [u8],
    shifts: &'a [u8],
    page: PageBits,
    /// The image that was written, and the one that the states hold.
    sent: &'a [u8],
    held: Vec<u8>,
    bits: usize,
    /// Bits that a fault has flipped in every read, from the first one on.
    flips: usize,
}

impl Line<'_> {
    /// The bits of a read with this number.
    fn sense(&self, table: &SenseTable, read: usize) -> Vec<u8> {
        let mut out = vec![0; self.sent.len()];
        table.sense(self.key, read as u64, self.states, self.shifts, &mut out);
        bits::clear_behind(&mut out, self.bits);
        out
    }

    /// The errors of a first read, without faults.
    fn count(&self, step: &Step, outcome: &Outcome) -> CellCounts {
        let table = &step.senses[0];
        let mut errors = table.expected(&self.states[..self.bits], &self.shifts[..self.bits]);
        errors.errors = changed(&self.sense(table, 0), self.sent);
        // Cells that the chip itself has programmed to another state.
        let mut held = self.held.clone();
        bits::clear_behind(&mut held, self.bits);
        errors.expected += changed(&held, self.sent) as f64;
        CellCounts { pages: 1, errors, lost: 0, lost_expected: outcome.failure }
    }

    /// Reads and decodes the page up the ladder.
    fn climb(
        &self,
        steps: &mut Steps,
        asked: &Asked<'_>,
        search: Option<&Calibrate>,
        images: &mut Images,
    ) -> Fate {
        let mut left: Vec<usize> = (0..images.words()).collect();
        let (mut fate, mut found) = (Fate { rung: Some(asked.outcome.start), lost: 0 }, None);
        for rung in asked.outcome.tried() {
            let before = left.len();
            let (made, Rung { reads, searching, .. }) = (&mut None, asked.ladder.rungs()[rung]);
            let step = match (search, &found) {
                (Some(search), _) if searching > 0 => {
                    let levels = self.search(search, &steps.cells, &steps.default);
                    let step = Step::hard(&steps.cells, self.page, &levels);
                    found = Some(levels);
                    made.insert(step)
                }
                (_, Some(levels)) if reads > 1 => {
                    made.insert(Step::soft(&steps.cells, self.page, levels, reads))
                }
                _ if reads > 1 => {
                    let Steps { cells, best, soft, .. } = steps;
                    let make = || Step::soft(cells, self.page, best, reads);
                    &*soft.entry(reads).or_insert_with(make)
                }
                _ => &steps.hard[rung],
            };
            self.decode(step, rung, images, &mut left);
            if left.len() < before {
                fate.rung = Some(rung);
            }
            if left.is_empty() {
                return fate;
            }
        }
        Fate { rung: None, lost: left.len() as u32 }
    }

    /// The levels of the page with the fewest cells around them, each searched for while the others
    /// stay.
    fn search(&self, search: &Calibrate, cells: &Mixture, default: &ReadLevels) -> ReadLevels {
        let mut offsets = vec![0.0; default.at().len()];
        for level in self.page.levels() {
            let sense = |(read, offset): (usize, f64)| {
                let mut moved = vec![0.0; offsets.len()];
                moved[level] = offset;
                let table = SenseTable::new(cells, self.page, &default.moved(&moved));
                self.sense(&table, FIRST_SEARCH + level * search.reads() + read)
            };
            let pages: Vec<Vec<u8>> = search.offsets().into_iter().enumerate().map(sense).collect();
            offsets[level] = search.valley_of(&pages);
        }
        default.moved(&offsets)
    }

    /// Reads on a rung and decodes the words that are left.
    fn decode(&self, step: &Step, rung: usize, images: &mut Images, left: &mut Vec<usize>) {
        let first = rung * READS_OF_RUNG;
        let reads = (first..).zip(&step.senses);
        let mut reads: Vec<Vec<u8>> = reads.map(|(read, table)| self.sense(table, read)).collect();
        for read in &mut reads {
            (0..self.flips.min(self.bits)).for_each(|bit| bits::flip(read, bit));
        }
        if let [hard] = reads.as_slice() {
            return images.decode(&Received::Hard(hard, step.llrs[0]), self.sent, left);
        }
        let pattern = |bit| {
            reads.iter().fold(0, |pattern, read| pattern << 1 | usize::from(bits::bit(read, bit)))
        };
        let llrs: Vec<i8> = (0..self.bits).map(|bit| step.llrs[pattern(bit)]).collect();
        images.decode(&Received::Soft(&llrs), self.sent, left);
    }
}

/// The first read and the retry steps of pages under one stress.
struct Steps {
    cells: Mixture,
    default: ReadLevels,
    hard: Vec<Step>,
    /// The levels of fewest errors among them.
    best: ReadLevels,
    /// Soft reads around these, by their number.
    soft: BTreeMap<u32, Step>,
}

impl Steps {
    fn of(cells: Mixture, page: PageBits, default: &ReadLevels, asked: &Asked<'_>) -> Self {
        let retried = asked.ladder.offsets().map(|offsets| default.moved(offsets));
        let levels: Vec<ReadLevels> = std::iter::once(*default).chain(retried).collect();
        let rate = |levels: &&ReadLevels| cells.rber(page, levels);
        let best = levels.iter().min_by(|one, other| rate(one).total_cmp(&rate(other)));
        let best = best.copied().unwrap_or(*default);
        let hard = levels.iter().map(|levels| Step::hard(&cells, page, levels)).collect();
        Self { cells, default: *default, hard, best, soft: BTreeMap::new() }
    }
}

impl Step {
    fn hard(cells: &Mixture, page: PageBits, levels: &ReadLevels) -> Self {
        let rate = cells.rber(page, levels).clamp(RBER_TOLD.0, RBER_TOLD.1);
        let llr = magnitude(libm::log((1.0 - rate) / rate)).max(1);
        Self { senses: vec![SenseTable::new(cells, page, levels)], llrs: vec![llr] }
    }

    /// Reads at the offsets of most information, with the LLR of each pattern.
    fn soft(cells: &Mixture, page: PageBits, levels: &ReadLevels, reads: u32) -> Self {
        let table = cells.best_table(page, levels, reads as usize);
        let table = table.expect("ladders have 3 and 7 reads");
        let mut llrs = vec![0; 1 << reads];
        for bin in &table.bins {
            let pattern = bin.sensed.iter().fold(0, |all, &bit| all << 1 | usize::from(bit));
            let size = magnitude(bin.llr.abs());
            llrs[pattern] = if bin.llr < 0.0 { -size } else { size };
        }
        let at = |&offset: &f64| levels.moved(&vec![offset; levels.at().len()]);
        let senses = table.reads.iter().map(|offset| SenseTable::new(cells, page, &at(offset)));
        Self { senses: senses.collect(), llrs }
    }
}

/// The blocks with the smallest hashes of seed and number.
fn picked(count: u32, of: u32, seed: u64) -> Vec<bool> {
    let mut order: Vec<(u64, u32)> = (0..of)
        .map(|block| (RankKey::of(&[seed, u64::from(block)]).rank(0).into(), block))
        .collect();
    order.sort_unstable();
    let mut is_picked = vec![false; of as usize];
    order.iter().take(count as usize).for_each(|&(_, block)| is_picked[block as usize] = true);
    is_picked
}
