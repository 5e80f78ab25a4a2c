//! Reads of the drive: counted by kind of stress, and the failures among them.
//!
//! Mean figures are exact sums over the counts, without sampling noise. What needs chance is drawn:
//! uncorrectable pages in batches (see `chance`), above a failure probability of 1 % each read by
//! itself. A bit-true drive decodes its host reads instead, see `bit_true`, and a drive with cells
//! those of the blocks that have cells, see `cells`. All chance comes from streams of the die that
//! is read; counts add up and outcomes follow from the stress, so the dies of a drive do not depend
//! on the order in which they take turns.
//!
//! ```text
//!   read ─► kind of stress ─► count      tally
//!                 └─► slot ─► chance of the die ─► failed? ─► climb the ladder ─► lost? ─► stripe
//! ```
//!
//! | word | meaning |
//! |---|---|
//! | sort | type, layers, later programs and marks of cuts of a page within its block |
//! | life | the copybacks behind the data of a page, or the programs after its own |
//! | class | how often a block was read since its erase |
//! | kind | all that distinguishes reads, as one number (`kinds`) |
//! | slot | the figures of a kind that each read needs |
//! | outcome | error rate, and results of code and ladder, of a kind |
//! | rung | a step of the ladder; the first read is on rung 0 |
//! | rank | a number from 0 to 1 that is drawn for a failed read: the lower, the more rungs fail |
//! | fate | the rung that has corrected a page which was decoded |
//!
//! `record_…` counts reads and returns their costs and losses; `note_…` only counts.

use opennandlab_ecc::PageCode;

use super::bit_true::{BitTrue, Deferred, Page};
use super::block_read::{BlockRead, PageTypes, Stressed, Undisturbed};
use super::cells::CellReads;
use super::chance::Chance;
use super::disturb::BlockReads;
use super::fate::Fates;
use super::figures::ErrorFigures;
use super::kinds::{Kinds, UNKNOWN};
use super::lost::{count_fate, lose, Lost, ReadResult, RestOfRow};
use super::recovery::{Extra, Ladder};
use super::remembered::Remembered;
use super::spread::Spread;
use super::tally::ReadTally;
use super::watch::Watch;
use crate::geometry::Geometry;
use crate::nand::{EraseHistogram, Media};
use crate::op::Source;
use crate::reliability::conditions::StressConfig;
use crate::reliability::{RberModel, Stress};
use crate::units::{BlockId, DieId, Ppn};

/// Failure probability above which reads are drawn one by one. That of a kind whose outcome is not
/// known yet is above it too, so the fast path needs no second test.
const DRAW_EACH_ABOVE: f64 = 0.01;
const _: () = assert!(UNKNOWN > DRAW_EACH_ABOVE);

/// Reads of the drive and their errors.
pub struct ReadErrors {
    pub(super) kinds: Kinds,
    pub(super) tally: ReadTally,
    /// By die.
    pub(super) chances: Vec<Chance>,
    /// Reads of blocks, if they are counted.
    pub(super) block_reads: Option<Box<BlockReads>>,
    /// The steps that blocks were last read with, if drives remember them.
    pub(super) remembered: Option<Box<Remembered>>,
    /// Whether one of the next two is there.
    pub(super) is_by_bits: bool,
    pub(super) bit_true: Option<Box<BitTrue>>,
    pub(super) cells: Option<Box<CellReads>>,
    pub(super) types: PageTypes,
    /// Blocks and layers that differ.
    pub(super) spread: Option<Box<Spread>>,
    /// Looks for blocks with too high an error rate.
    pub(super) watch: Option<Box<Watch>>,
}

impl ReadErrors {
    /// Accounting for flash of this shape with this error model and code.
    pub fn new(model: Box<dyn RberModel>, code: PageCode, geometry: &Geometry, seed: u64) -> Self {
        let (ladder, stress) = (Ladder::default(), Stress::default());
        let kinds = Kinds::new(Fates { model, code, ladder, stress, stripe: 0 });
        Self {
            types: PageTypes::new(kinds.types(), kinds.fates.model.slc_type(), geometry),
            kinds,
            tally: ReadTally::default(),
            chances: Chance::of_dies(seed, geometry.die_count),
            block_reads: None,
            remembered: None,
            is_by_bits: false,
            bit_true: None,
            cells: None,
            spread: None,
            watch: None,
        }
    }

    /// Whether blocks with too high an error rate were found: [`ReadErrors::take_found`] takes
    /// them.
    #[inline]
    pub fn has_found(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| !watch.found.is_empty())
    }

    /// Blocks that were found to have too high an error rate since the last call: each once until
    /// it is erased.
    #[inline]
    pub fn take_found(&mut self) -> Vec<BlockId> {
        self.watch.as_mut().map_or_else(Vec::new, |watch| std::mem::take(&mut watch.found))
    }

    /// Checks the error rate of a block by the first read of one of its pages.
    #[cold]
    pub(super) fn watch_block(&mut self, kind: usize, stressed: Stressed) {
        let Self { kinds, watch: Some(watch), .. } = self else { return };
        watch.look(stressed.block, stressed.erases, || {
            let outcome = kinds.know(kind);
            kinds.outcome(outcome).rber()
        });
    }

    /// Changes the stress under which reads are made afterwards. Counts of earlier reads are
    /// dropped, except those of each block if reads are still counted.
    pub fn set_stress(&mut self, stress: &StressConfig, geometry: &Geometry) {
        self.settle();
        let counters = || BlockReads::new(geometry.block_count(), geometry.flash_pages_per_block());
        let kept = self.block_reads.take().map(|reads| *reads);
        self.block_reads = stress.count_reads.then(|| Box::new(kept.unwrap_or_else(counters)));
        self.kinds.set_stress(stress.stress(), stress.count_reads);
        self.tally.reads_at.clear();
        self.cells.iter_mut().for_each(|cells| cells.forget());
    }

    /// Restarts the random streams from this seed.
    pub fn reseed(&mut self, seed: u64) {
        self.chances = Chance::of_dies(seed, self.chances.len() as u32);
    }

    /// Error model, code and ladder of the drive.
    pub fn fates(&self) -> &Fates {
        &self.kinds.fates
    }

    /// Reads of the host up to now that could not be corrected.
    #[inline]
    pub fn lost_of_host(&self) -> u64 {
        self.tally.uncorrectable[Source::Host as usize]
    }

    /// The counts up to now.
    pub fn tally(&self) -> &ReadTally {
        &self.tally
    }

    /// Figures of the reads since `earlier`.
    pub fn figures_since(&self, earlier: &ReadTally) -> ErrorFigures {
        ErrorFigures::of(&self.kinds, self.tally.since(earlier))
    }

    /// The types of the pages of a block.
    #[inline]
    pub fn page_types(&self) -> &PageTypes {
        &self.types
    }

    /// The most reads of a block between two erases, per page of it; none if not counted.
    pub fn reads_per_page_max(&self) -> Option<f64> {
        self.block_reads.as_ref().map(|reads| reads.reads_per_page_max())
    }

    /// Sum of the raw bit error rates of blocks with these erase counts, without counted reads.
    pub fn sum_of_rates(&mut self, wear: &EraseHistogram) -> f64 {
        let rates = wear.iter().filter(|&(_, blocks)| blocks > 0);
        rates.map(|(count, blocks)| self.kinds.block_rate(count) * f64::from(blocks)).sum()
    }

    /// Counts a read of a page and draws its result.
    #[inline]
    pub fn record_page(&mut self, media: &Media, ppn: Ppn, source: Source) -> ReadResult {
        if self.is_by_bits && source == Source::Host {
            if let Some(result) = self.read_bits(media, ppn) {
                return result;
            }
        }
        let stressed = Stressed::of(media, media.block_of(ppn));
        let sort = self.types.of(media, ppn);
        let kind = self.count_in(stressed, sort, 1);
        if self.watch.is_some() {
            self.watch_block(kind, stressed);
        }
        self.draw(kind, stressed, 1, source)
    }

    /// As [`ReadErrors::record_page`] if the cost is not needed, so that pages can be decoded
    /// together; [`ReadErrors::settle`] decodes and counts those that wait.
    #[inline]
    pub fn note_page(&mut self, media: &Media, ppn: Ppn, source: Source) {
        if self.bit_true.is_some() && source == Source::Host {
            self.defer_page(media, ppn);
        } else {
            self.record_page(media, ppn, source);
        }
    }

    /// Counts a read of a page on a die that is lost. If the rest of its row is readable, the
    /// caller reads it; the rest gives the page back unless one of its pages cannot be corrected.
    #[cold]
    pub fn record_lost(
        &mut self,
        media: &Media,
        ppn: Ppn,
        source: Source,
        rest: RestOfRow,
    ) -> Option<Lost> {
        let stressed = Stressed::of(media, media.block_of(ppn));
        let kind = self.count_in(stressed, self.types.of(media, ppn), 1);
        let Self { kinds, tally, chances, .. } = self;
        // The figures need the outcome of every kind that was read.
        let outcome = kinds.know(kind);
        if rest == RestOfRow::Missing {
            tally.uncorrectable[source as usize] += 1;
            return None;
        }
        lose(kinds, tally, outcome, source, &mut chances[stressed.die.0 as usize].rng)
    }

    /// Counts pages of a collection on a die that is lost. Their reads are counted elsewhere: here
    /// they are counted as rebuilt from the rest of their rows, or as uncorrectable.
    pub fn note_lost(&mut self, page_count: u32, source: Source, rest: RestOfRow) {
        let count = match rest {
            RestOfRow::Readable => &mut self.tally.rebuilt,
            RestOfRow::Missing => &mut self.tally.uncorrectable[source as usize],
        };
        *count += u64::from(page_count);
    }

    /// Counts a read of pages of a block; returns their joint costs beyond their first reads.
    #[inline]
    pub fn record_block(&mut self, read: &BlockRead) -> Extra {
        let BlockRead { stressed, counts, suspects, source } = *read;
        if !self.types.tells_pages() {
            return self.record_typed(stressed, 0, counts[0], source).extra;
        }
        let mut extra = Extra::default();
        for (sort, &count) in counts[..self.types.sorts()].iter().enumerate() {
            if count > 0 {
                extra += self.record_typed(stressed, sort, count, source).extra;
            }
        }
        if self.types.tells_suspects() {
            let sorts = self.types.sorts();
            for (sort, &count) in (sorts..).zip(&suspects[..sorts]).filter(|(_, &it)| it > 0) {
                extra += self.record_typed(stressed, sort, count.into(), source).extra;
            }
        }
        extra
    }

    /// The costs of reading the other pages of the stripe of a lost page, beyond their first reads.
    /// They are under the same stress, and climb the same ladder.
    #[cold]
    pub fn rebuild_costs(&mut self, die: DieId, lost: Lost) -> Vec<Extra> {
        let outcome = self.kinds.outcome(lost.outcome);
        let kinds = &self.kinds;
        // Each page draws a rank. If the stripe gave the page back, none of the others is lost.
        let least = if lost.is_rebuilt { outcome.failure } else { 0.0 };
        let rng = &mut self.chances[die.0 as usize].stripe;
        (1..kinds.fates.stripe)
            .map(|_| {
                let rank = least + rng.unit() * (1.0 - least);
                let is_first = rank >= outcome.first_failure();
                let rung = if is_first { Some(outcome.start) } else { outcome.climb(rank) };
                kinds.cost(lost.outcome, rung)
            })
            .collect()
    }

    #[inline]
    fn record_typed(
        &mut self,
        stressed: Stressed,
        sort: usize,
        page_count: u32,
        source: Source,
    ) -> ReadResult {
        if self.remembered.is_some() && page_count > 1 {
            return self.record_in_turn(stressed, sort, page_count, source);
        }
        self.record_at_once(stressed, sort, page_count, source).1
    }

    /// Counts and draws reads of one kind; returns the kind and the result.
    #[inline]
    fn record_at_once(
        &mut self,
        stressed: Stressed,
        sort: usize,
        page_count: u32,
        source: Source,
    ) -> (usize, ReadResult) {
        let kind = self.count_in(stressed, sort, page_count);
        if source == Source::Refresh && self.watch.is_some() {
            self.watch_block(kind, stressed);
        }
        (kind, self.draw(kind, stressed, page_count, source))
    }

    /// As [`ReadErrors::record_at_once`] if a page may change the step that the next one begins
    /// with: pages are read one by one until a first read rarely fails.
    #[cold]
    fn record_in_turn(
        &mut self,
        stressed: Stressed,
        sort: usize,
        page_count: u32,
        source: Source,
    ) -> ReadResult {
        let (mut result, mut left) = (ReadResult::default(), page_count);
        while left > 0 {
            let (kind, read) = self.record_at_once(stressed, sort, 1, source);
            result += read;
            left -= 1;
            if left > 0 && self.kinds.slot(kind).first_failure <= DRAW_EACH_ABOVE {
                result += self.record_at_once(stressed, sort, left, source).1;
                break;
            }
        }
        result
    }

    /// Counts reads of pages of one sort of a block; returns their kind.
    #[inline(always)]
    #[allow(clippy::inline_always)] // a call passes more than it computes
    pub(super) fn count_in(&mut self, stressed: Stressed, sort: usize, page_count: u32) -> usize {
        let Stressed { block, erases, copies, is_half_erased, .. } = stressed;
        let Undisturbed { sort, disturbs, is_suspect } = self.types.undisturbed(sort);
        // A drive has copybacks or programs that disturb others, not both.
        let life = (usize::from(copies) + disturbs).min(self.kinds.lives() - 1);
        let class =
            self.block_reads.as_mut().map_or(0, |reads| reads.note(block, erases, page_count));
        let (page_type, spread) = match &self.spread {
            None => (sort, 0),
            Some(spread) => {
                let (page_type, group) = self.types.parts(sort);
                (page_type, spread.class(block.0 as usize, group))
            }
        };
        let mut kind = self.kinds.kind(erases, life, page_type, spread, class);
        if is_suspect || is_half_erased {
            kind = self.kinds.marked(kind, is_suspect, is_half_erased);
        }
        if let Some(remembered) = &self.remembered {
            let step = remembered.step(block, erases);
            self.tally.remembered += if step > 0 { u64::from(page_count) } else { 0 };
            kind += step;
        }
        self.count(kind, page_count);
        kind
    }

    #[inline]
    fn count(&mut self, kind: usize, page_count: u32) {
        if kind >= self.tally.reads_at.len() {
            self.kinds.grow(kind);
            self.tally.reads_at.resize(self.kinds.count(), 0);
        }
        self.tally.reads_at[kind] += u64::from(page_count);
    }

    /// Draws the result of reads of one kind.
    #[inline]
    pub(super) fn draw(
        &mut self,
        kind: usize,
        stressed: Stressed,
        page_count: u32,
        source: Source,
    ) -> ReadResult {
        let slot = self.kinds.slot(kind);
        if slot.first_failure > DRAW_EACH_ABOVE {
            return self.draw_slowly(kind, stressed, page_count, source);
        }
        let hazard = f64::from(page_count) * slot.hazard;
        if self.chances[stressed.die.0 as usize].has_failed(hazard) {
            return self.fail(kind, stressed, source);
        }
        ReadResult { extra: self.kinds.first_cost(kind), lost: None }
    }

    #[cold]
    fn fail(&mut self, kind: usize, stressed: Stressed, source: Source) -> ReadResult {
        let mut result = ReadResult::default();
        while self.chances[stressed.die.0 as usize].next_failure() {
            result += self.recover(kind, stressed, source);
        }
        result
    }

    /// As [`ReadErrors::draw`] for a kind whose outcome is not known yet, which is computed first,
    /// or whose reads fail often, which are drawn one by one.
    fn draw_slowly(
        &mut self,
        kind: usize,
        stressed: Stressed,
        page_count: u32,
        source: Source,
    ) -> ReadResult {
        if !self.kinds.is_known(kind) {
            self.kinds.know(kind);
            return self.draw(kind, stressed, page_count, source);
        }
        let failure = self.kinds.slot(kind).first_failure;
        let rng = &mut self.chances[stressed.die.0 as usize].rng;
        let failed = (0..page_count).filter(|_| rng.unit() < failure).count();
        let mut result = ReadResult::default();
        if failed < page_count as usize {
            result.extra = self.kinds.first_cost(kind);
        }
        (0..failed).for_each(|_| result += self.recover(kind, stressed, source));
        result
    }

    /// Draws how far a page climbs the ladder whose first read has failed.
    fn recover(&mut self, kind: usize, stressed: Stressed, source: Source) -> ReadResult {
        let Self { kinds, tally, chances, .. } = self;
        let (index, rng) = (kinds.outcome_index(kind), &mut chances[stressed.die.0 as usize].rng);
        if kinds.fates.ladder.rungs().len() == 1 {
            let lost = lose(kinds, tally, index, source, rng);
            return ReadResult { extra: kinds.cost(index, None), lost };
        }
        // One rank holds for all rungs, so that a further rung never makes a page worse.
        let outcome = kinds.outcome(index);
        let rank = rng.unit() * outcome.first_failure();
        let rung = outcome.climb(rank);
        let lost = match rung {
            Some(rung) => {
                tally.recovered[rung] += 1;
                if let Some(remembered) = &mut self.remembered {
                    // Soft decisions have no separate levels.
                    if rung < kinds.fates.ladder.starts() {
                        remembered.note(stressed.block, stressed.erases, rung);
                    }
                }
                None
            }
            None => lose(kinds, tally, index, source, rng),
        };
        ReadResult { extra: kinds.cost(index, rung), lost }
    }

    /// Decodes a page.
    #[cold]
    pub(super) fn decode_page(&mut self, media: &Media, ppn: Ppn) -> ReadResult {
        let page = self.page_to_decode(media, ppn);
        self.decode(page)
    }

    /// Decodes a page at once or together with later ones.
    #[cold]
    fn defer_page(&mut self, media: &Media, ppn: Ppn) {
        let page = self.page_to_decode(media, ppn);
        let worst_rate = self.kinds.outcome(page.outcome).worst_rate;
        let Some(decoder) = self.bit_true.as_mut() else { return };
        match decoder.defer(page, worst_rate) {
            Deferred::Waits => {}
            Deferred::IsLast => self.settle(),
            Deferred::DecodeNow => {
                self.decode(page);
            }
        }
    }

    /// Decodes and counts the pages that wait.
    #[cold]
    pub fn settle(&mut self) {
        let Self { kinds, tally, bit_true: Some(decoder), .. } = self else { return };
        decoder.settle(
            |outcome| &kinds.outcome(outcome).rungs,
            |page, fate| {
                count_fate(kinds, tally, page, fate);
            },
        );
    }

    fn decode(&mut self, page: Page) -> ReadResult {
        let Self { kinds, tally, bit_true: Some(decoder), .. } = self else {
            return ReadResult::default();
        };
        let outcome = kinds.outcome(page.outcome);
        let fate = decoder.read(page, outcome.worst_rate, &outcome.rungs);
        let lost = count_fate(kinds, tally, page, fate);
        ReadResult { extra: kinds.cost(page.outcome, fate.rung), lost }
    }

    /// Counts a page that is to be decoded.
    fn page_to_decode(&mut self, media: &Media, ppn: Ppn) -> Page {
        let block = media.block_of(ppn);
        let (erases, lpn) = (media.erase_count(block), media.lpn_at(ppn));
        let stressed = Stressed::of(media, block);
        let kind = self.count_in(stressed, self.types.of(media, ppn), 1);
        if self.watch.is_some() {
            self.watch_block(kind, stressed);
        }
        // Three odd constants keep the three apart; the generator mixes them. Sources: 2^64 over
        // the golden ratio, and the second and third 64-bit prime of xxHash (Y. Collet).
        let data = u64::from(lpn).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ u64::from(ppn.0).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
            ^ u64::from(erases).wrapping_mul(0x1656_67b1_9e37_79f9);
        let noise = self.chances[stressed.die.0 as usize].noise_seed();
        Page { data, noise, outcome: self.kinds.know(kind) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reads::{EccConfig, TypeFigures};
    use crate::reliability::{WearKeys, Weibull};

    impl ReadErrors {
        /// Counts `page_count` reads of lower pages of die 0 whose data was copied back `copybacks`
        /// times. Returns the extra cost over a first read.
        pub(in crate::reads) fn record(
            &mut self,
            erase_count: u32,
            copybacks: u32,
            page_count: u32,
            source: Source,
        ) -> Extra {
            let kind = self.kinds.kind(erase_count, copybacks as usize, 0, 0, 0);
            self.count(kind, page_count);
            let block = BlockId(0);
            let stressed = Stressed {
                block,
                die: DieId(0),
                erases: erase_count,
                copies: 0,
                is_half_erased: false,
            };
            self.draw(kind, stressed, page_count, source).extra
        }
    }

    fn accounting(bch_t: u32, max_pe_cycles: f64) -> ReadErrors {
        let keys = WearKeys { rber_floor: None, rber_ceil: None, max_pe_cycles };
        let config = EccConfig { bch_t: Some(bch_t), ..EccConfig::default() };
        let code = config.page_code(4096).expect("a code");
        let geometry = Geometry::new([1, 1], [1, 16], 4096);
        ReadErrors::new(Box::new(Weibull::for_device(&keys)), code, &geometry, 1)
    }

    #[test]
    fn drawn_failures_follow_their_probability_in_both_regimes() {
        // 4 KiB pages of BCH (255, 223) at 3000 cycles fail with probability 9.7e-4, at t = 1
        // almost always.
        for (bch_t, batch, batches) in [(4, 200, 20_000), (3, 50, 20_000), (1, 50, 2000)] {
            let mut errors = accounting(bch_t, 3000.0);
            (0..batches).for_each(|_| {
                errors.record(3000, 0, batch, Source::Gc);
            });
            let figures = errors.figures_since(&ReadTally::default());
            let p = figures.uncorrectable_mean / figures.reads as f64;
            let deviation = (figures.reads as f64 * p * (1.0 - p)).sqrt();
            let gap = (figures.uncorrectable as f64 - figures.uncorrectable_mean).abs();
            assert!(gap < 4.5 * deviation + 1.0, "t={bch_t}: {gap} of {deviation}, p={p}");
        }
    }

    #[test]
    fn the_published_page_failure_is_met() {
        // A 4 KiB page of 147 codewords at RBER 9.87e-4: 9.7e-4 (analytic table).
        let mut errors = accounting(4, 3000.0);
        errors.record(3000, 0, 1, Source::Host);
        let figures = errors.figures_since(&ReadTally::default());
        assert!((figures.uncorrectable_mean / 9.7e-4 - 1.0).abs() < 0.01, "{figures:?}");
        assert!((figures.corrected_bits / (147.0 * 223.0 * 9.87e-4) - 1.14).abs() < 0.01);
    }

    #[test]
    fn the_margin_leads_to_the_limit() {
        let errors = accounting(4, 3000.0);
        let margin = |rber: f64, uber_max: f64| {
            let one = TypeFigures { reads: 10, rates: vec![rber], ..TypeFigures::default() };
            let by_type = vec![one, TypeFigures::default()];
            let figures = ErrorFigures { reads: 10, by_type, ..ErrorFigures::default() };
            figures.margin(errors.fates(), uber_max)
        };
        let found = margin(1e-4, 1e-9).expect("within reach");
        let uber = errors.fates().code.uber(1e-4 * found);
        assert!((uber / 1e-9 - 1.0).abs() < 1e-9, "{uber:e} at {found}");
        assert!(margin(1e-2, 1e-9).expect("beyond") < 1.0);
        assert_eq!((margin(0.0, 1e-9), margin(1e-4, 1.0)), (None, None));
    }
}
