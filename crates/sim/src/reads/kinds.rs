//! Kinds of stress: the properties that distinguish reads, and the outcomes of reads of each kind.
//!
//! A read's fate depends on the stress that its page is under: the erase count of its block, the
//! copybacks behind its data or the programs that disturbed it, the marks that power cuts have left
//! on it, its page type if the model distinguishes page types, the class of its spread if blocks or
//! layers differ, the class of reads of its block if those are counted, the retry step that reads
//! of its block begin with if it is remembered, and the stress of all reads in the device file.
//!
//! ```text
//!   kind = ((((erases - first) × lives + life) × page types + type) × spreads + spread)
//!          × classes + class [× steps + the step that reads begin with]
//!          [+ places for kinds of marked pages, given out as these occur]
//!   slots[kind]     24 bytes: all that a read needs
//!   outcomes[..]    the rest, computed when a kind first occurs
//! ```
//! An outcome is a pure function of its kind: the tables here only remember.

use super::decoding::{DecodeTime, DecodeTimer};
use super::disturb;
use super::fate::{Fates, Outcome};
use super::recovery::{Extra, Ladder};
use crate::reliability::Stress;

/// The figures that a read needs.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// Probability that the first read does not correct the page; [`UNKNOWN`] until it is asked.
    pub(super) first_failure: f64,
    /// `-ln(1 - first_failure)`.
    pub(super) hazard: f64,
    /// Where the outcome is.
    outcome: u32,
    /// Time to decode a page on the first read, in nanoseconds.
    pub(super) decode_ns: u32,
}

/// Represents a failure probability that was not computed yet: above any, so that reads leave the
/// fast path as those that fail often do.
pub(super) const UNKNOWN: f64 = 2.0;

/// The most kinds of marked pages that are distinguished, times the steps that reads may begin
/// with; beyond, the last one represents others. Few pages are marked at a time.
const MARKED_MAX: usize = 1 << 10;

/// A kind of marked pages: the kind of sound ones, and their marks.
type Marked = (usize, u8);
/// The program of a page was interrupted, and the erase of its block.
const IS_SUSPECT: u8 = 1;
const IS_HALF_ERASED: u8 = 2;

/// The effect of power cuts on data in pages that they marked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScarFactors {
    /// Factor of the speed at which suspect pages lose their charge.
    pub retention: f64,
    /// Factor of the disturbance of suspect pages by reads.
    pub reads: f64,
    /// Factor of the raw bit error rate of pages of half-erased blocks.
    pub half_erased: f64,
}

/// See the module.
pub(super) struct Kinds {
    pub(super) fates: Fates,
    /// The effects of cuts; none in a drive that was never cut.
    scars: Option<ScarFactors>,
    marked: Vec<Marked>,
    /// No block has been erased less often.
    first_erases: u32,
    /// Factor of the error rate by the copybacks, or further programs, of a page since it was
    /// written.
    lives: Vec<f64>,
    /// Page types that the model distinguishes; 1 if it does not.
    types: usize,
    /// Classes of reads per block; 1 if they are not counted.
    classes: usize,
    /// Retry steps that reads may begin with; 1 if none is remembered.
    starts: usize,
    /// Factor of the error rate of each class of spread; one of 1 if there is none.
    factors: Vec<f64>,
    /// Error rates of each rung, by kind without the class of spread; only if there is one.
    unspread: Vec<Option<Box<[f64]>>>,
    /// By kind, grown as blocks wear.
    slots: Vec<Slot>,
    outcomes: Vec<Outcome>,
    /// Times to decode pages on each rung, by outcome.
    decoding: Vec<Box<[DecodeTime]>>,
    timer: DecodeTimer,
    /// Raw bit error rate by erase count, for means over blocks; not a number until it is asked.
    rates: Vec<f64>,
}

impl Kinds {
    /// Kinds of reads of uncounted blocks, without copybacks.
    pub(super) fn new(fates: Fates) -> Self {
        let types = fates.model.page_types().len().max(1);
        let (slots, outcomes, rates) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            fates,
            scars: None,
            marked: Vec::new(),
            first_erases: 0,
            lives: vec![1.0],
            types,
            classes: 1,
            starts: 1,
            factors: vec![1.0],
            unspread: Vec::new(),
            slots,
            outcomes,
            decoding: Vec::new(),
            timer: DecodeTimer::default(),
            rates,
        }
    }

    /// Pages may have this many copybacks behind them. One that was copied without correction
    /// carries the errors of each of its lives.
    pub(super) fn set_copyback_limit(&mut self, limit: u32) {
        self.lives = (0..=limit).map(|copies| f64::from(copies + 1)).collect();
    }

    /// Pages take this many programs, and each raises the error rate of the data in the page by
    /// this share of that of undisturbed data.
    pub(super) fn set_disturb(&mut self, programs_per_page: u32, share: f64) {
        self.lives = (0..programs_per_page).map(|behind| 1.0 + share * f64::from(behind)).collect();
    }

    /// Power cuts have left marks with these effects.
    pub(super) fn set_scars(&mut self, factors: ScarFactors) {
        self.scars = Some(factors);
        self.forget();
    }

    /// No block has been erased less often than this, which needs no kinds.
    pub(super) fn set_first_erases(&mut self, erases: u32) {
        self.first_erases = erases;
        self.forget();
    }

    /// The error rates of pages differ by these factors, of mean 1, from those of their stress.
    pub(super) fn set_spread(&mut self, factors: &[f64]) {
        self.factors = factors.to_vec();
        self.forget();
    }

    /// Reads may begin with each step of the ladder.
    pub(super) fn set_starts(&mut self) {
        self.starts = self.fates.ladder.starts();
        self.forget();
    }

    /// Changes the stress of reads: kinds have another meaning afterwards.
    pub(super) fn set_stress(&mut self, stress: Stress, counts_reads: bool) {
        self.fates.stress = stress;
        self.classes = if counts_reads { disturb::CLASS_COUNT } else { 1 };
        self.forget();
        self.rates.clear();
    }

    /// Decoding takes time by this timer afterwards.
    pub(super) fn set_timer(&mut self, timer: DecodeTimer) {
        self.timer = timer;
        self.forget();
    }

    /// Forgets all outcomes.
    fn forget(&mut self) {
        self.marked.clear();
        self.unspread.clear();
        self.slots.clear();
        self.outcomes.clear();
        self.decoding.clear();
    }

    /// Page types that are distinguished; 1 if they are not.
    #[inline]
    pub(super) fn types(&self) -> usize {
        self.types
    }

    /// The number of copybacks or further programs that a page may have, and one.
    #[inline]
    pub(super) fn lives(&self) -> usize {
        self.lives.len()
    }

    /// The kind of a read that begins with the default levels; other steps follow.
    #[inline]
    pub(super) fn kind(
        &self,
        erases: u32,
        life: usize,
        page_type: usize,
        spread: usize,
        class: usize,
    ) -> usize {
        let kind = (erases - self.first_erases) as usize * self.lives.len() + life;
        if self.types == 1 && self.classes == 1 && self.factors.len() == 1 && self.starts == 1 {
            return kind + self.marked_places();
        }
        let kind = (kind * self.types + page_type) * self.factors.len() + spread;
        (kind * self.classes + class) * self.starts + self.marked_places()
    }

    /// Places for kinds of marked pages.
    #[inline]
    fn marked_places(&self) -> usize {
        if self.scars.is_none() {
            0
        } else {
            MARKED_MAX * self.starts
        }
    }

    /// The kind of marked pages whose kind were this without their marks.
    #[cold]
    pub(super) fn marked(&mut self, kind: usize, is_suspect: bool, is_half_erased: bool) -> usize {
        let suspect = if is_suspect { IS_SUSPECT } else { 0 };
        let marks = suspect | if is_half_erased { IS_HALF_ERASED } else { 0 };
        let own = (kind, marks);
        let known = self.marked.iter().rposition(|&it| it == own);
        let place = known.unwrap_or_else(|| {
            if self.marked.len() < MARKED_MAX {
                self.marked.push(own);
            }
            self.marked.len() - 1
        });
        place * self.starts
    }

    /// The kind of sound pages that a kind belongs to, from 0, and the marks.
    fn unmarked(&self, kind: usize) -> (usize, u8) {
        let places = self.marked_places();
        if kind >= places {
            return (kind - places, 0);
        }
        let (sound, marks) = self.marked[kind / self.starts];
        (sound - places + kind % self.starts, marks)
    }

    /// Page types times classes of spread.
    pub(super) fn mixes(&self) -> usize {
        self.types * self.factors.len()
    }

    /// The page type of a kind and its class of spread, as one number below [`Kinds::mixes`].
    pub(super) fn mix_of(&self, kind: usize) -> usize {
        self.unmarked(kind).0 / self.starts / self.classes % self.mixes()
    }

    /// The page type of a kind.
    pub(super) fn type_of(&self, kind: usize) -> usize {
        self.mix_of(kind) / self.factors.len()
    }

    /// Kinds that have a slot.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    /// Makes slots up to a kind, by whole erase counts.
    #[cold]
    pub(super) fn grow(&mut self, kind: usize) {
        let row = self.lives.len() * self.types * self.factors.len() * self.classes * self.starts;
        let places = self.marked_places();
        let limit = (kind.max(places) - places) / row * row + row + places;
        self.slots
            .resize(limit, Slot { first_failure: UNKNOWN, hazard: 0.0, outcome: 0, decode_ns: 0 });
    }

    /// Whether the outcome of a kind was computed.
    #[inline]
    pub(super) fn is_known(&self, kind: usize) -> bool {
        self.slots[kind].first_failure < UNKNOWN
    }

    /// The figures that a read of this kind needs; a probability above 1 if its outcome is not
    /// known yet.
    #[inline]
    pub(super) fn slot(&self, kind: usize) -> Slot {
        self.slots[kind]
    }

    /// The outcome of this number.
    pub(super) fn outcome(&self, index: u32) -> &Outcome {
        &self.outcomes[index as usize]
    }

    /// The cost of a page of a kind if the first read corrects it.
    #[inline]
    pub(super) fn first_cost(&self, kind: usize) -> Extra {
        let begins_at_step = self.starts > 1 && !kind.is_multiple_of(self.starts);
        Extra { begins_at_step, decode_ns: self.slots[kind].decode_ns, ..Extra::default() }
    }

    /// The cost of a page that this rung corrects, or with `None` no rung.
    pub(super) fn cost(&self, index: u32, rung: Option<usize>) -> Extra {
        let Outcome { start, levels, .. } = self.outcomes[index as usize];
        let times = &self.decoding[index as usize];
        let mut extra = self.fates.ladder.cost(start, rung, levels);
        for tried in Ladder::tried(start, times.len(), rung) {
            extra.failed_ns = extra.failed_ns.saturating_add(extra.decode_ns);
            let is_last = Some(tried) == rung;
            extra.decode_ns = if is_last { times[tried].done_ns } else { times[tried].failed_ns };
        }
        extra
    }

    /// The number of the outcome of a kind that is known.
    pub(super) fn outcome_index(&self, kind: usize) -> u32 {
        self.slots[kind].outcome
    }

    /// Computes the outcome of a kind if it is not known; returns its number.
    #[cold]
    pub(super) fn know(&mut self, kind: usize) -> u32 {
        if self.is_known(kind) {
            return self.slots[kind].outcome;
        }
        let start = self.unmarked(kind).0 % self.starts;
        if start > 0 {
            let default = self.know(kind - start);
            let outcome = self.fates.beginning_at(&self.outcomes[default as usize], start);
            let times = self.decoding[default as usize].clone();
            return self.learn(kind, outcome, times);
        }
        let (stress, factor) = self.stress_of(kind);
        let (sound, marks) = self.unmarked(kind);
        let outcome = if self.factors.len() == 1 || marks > 0 {
            self.fates.outcome(&stress, factor)
        } else {
            let of_class = sound / self.starts;
            let place = of_class / self.classes / self.factors.len();
            let place = place * self.classes + of_class % self.classes;
            if place >= self.unspread.len() {
                self.unspread.resize(place + 1, None);
            }
            let fates = &self.fates;
            let rates = self.unspread[place].get_or_insert_with(|| fates.rates(&stress));
            self.fates.outcome_scaled(rates, factor)
        };
        self.learn_timed(kind, outcome)
    }

    /// The stress of pages of a kind, and the factor of the error rate that the model gives it.
    pub(super) fn stress_of(&self, kind: usize) -> (Stress, f64) {
        let (sound, marks) = self.unmarked(kind);
        let rest = sound / self.starts;
        let (class, rest) = (rest % self.classes, rest / self.classes);
        let (spread, rest) = (rest % self.factors.len(), rest / self.factors.len());
        let (page_type, rest) = (rest % self.types, rest / self.types);
        let mut stress = Stress {
            pe_cycles: f64::from(self.first_erases) + (rest / self.lives.len()) as f64,
            reads: self.fates.stress.reads + disturb::reads_of(class),
            page_type: (self.types > 1).then_some(page_type as u8),
            ..self.fates.stress
        };
        let mut factor = self.lives[rest % self.lives.len()];
        if let Some(scars) = self.scars.filter(|_| marks > 0) {
            if marks & IS_SUSPECT > 0 {
                stress.retention_h *= scars.retention;
                stress.reads *= scars.reads;
            }
            if marks & IS_HALF_ERASED > 0 {
                factor *= scars.half_erased;
            }
        }
        (stress, factor * self.factors[spread])
    }

    /// Keeps what reads of a kind give, with the time to decode them; returns its number.
    fn learn_timed(&mut self, kind: usize, mut outcome: Outcome) -> u32 {
        outcome.levels = self.fates.model.level_count(self.type_of(kind));
        let (timer, code) = (&mut self.timer, &self.fates.code);
        let times: Box<[DecodeTime]> =
            outcome.rungs.iter().map(|rung| timer.time(code, rung)).collect();
        self.learn(kind, outcome, times)
    }

    /// Keeps what reads of a kind give; returns its number.
    fn learn(&mut self, kind: usize, outcome: Outcome, times: Box<[DecodeTime]>) -> u32 {
        let first_failure = outcome.first_failure();
        let index = self.outcomes.len() as u32;
        let hazard = -libm::log1p(-first_failure);
        let decode_ns = times[outcome.start].done_ns;
        self.slots[kind] = Slot { first_failure, hazard, outcome: index, decode_ns };
        self.outcomes.push(outcome);
        self.decoding.push(times);
        index
    }

    /// Raw bit error rate of blocks with this erase count, without counted reads.
    pub(super) fn block_rate(&mut self, erase_count: u32) -> f64 {
        let place = erase_count as usize;
        if place >= self.rates.len() {
            self.rates.resize(place + 1, f64::NAN);
        }
        if self.rates[place].is_nan() {
            self.rates[place] = self.fates.rber(f64::from(erase_count)).min(0.5);
        }
        self.rates[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Geometry;
    use crate::nand::Media;
    use crate::op::Source;
    use crate::reads::{EccConfig, ReadErrors};
    use crate::reliability::conditions::StressConfig;
    use crate::reliability::{Kim, RberModel};
    use crate::units::{BlockId, Ppn};

    /// Of suspect pages hours and reads count three times, pages of half-erased blocks have ten
    /// times the rate, and both together do both; an erase ends it.
    #[test]
    fn marks_of_cuts_scale_hours_reads_and_rate() {
        let geometry = Geometry::new([1, 1], [4, 16], 4096);
        let mut media = Media::new(geometry, &[0], 1);
        for block in 0..4 {
            for _ in 0..1000 {
                media.erase(BlockId(block));
            }
        }
        media.mark_suspect(BlockId(1), 5);
        media.mark_half_erased(BlockId(2));
        media.mark_half_erased(BlockId(3));
        media.mark_suspect(BlockId(3), 5);
        let factors = ScarFactors { retention: 3.0, reads: 3.0, half_erased: 10.0 };
        let code = EccConfig::default().page_code(4096).expect("a code");
        let stress = StressConfig { retention_h: 90.0, reads: 300.0, ..StressConfig::default() };
        let mut errors =
            ReadErrors::new(Box::new(Kim::default()), code, &geometry, 1).with_scars(Some(factors));
        errors.set_stress(&stress, &geometry);
        let mut rate = |media: &Media, block: u32, index: u32| {
            let before = errors.tally().clone();
            let ppn = Ppn(geometry.first_page(BlockId(block)).0 + index);
            errors.record_page(media, ppn, Source::Host);
            errors.figures_since(&before).rber
        };
        let model = |cycles: f64, times: f64| {
            let base = stress.stress();
            let (hours, reads) = (base.retention_h * times, base.reads * times);
            let own = Stress { pe_cycles: cycles, retention_h: hours, reads, ..base };
            Kim::default().rber(&own)
        };
        let (sound, suspect) = (model(1000.0, 1.0), model(1000.0, 3.0));
        assert!(suspect > 1.2 * sound, "{suspect} {sound}");
        for (block, index, expected) in [
            (0, 5, sound),
            (1, 4, sound),
            (1, 5, suspect),
            (2, 5, 10.0 * sound),
            (3, 4, 10.0 * sound),
            (3, 5, 10.0 * suspect),
        ] {
            let found = rate(&media, block, index);
            assert!((found / expected - 1.0).abs() < 1e-12, "{block} {index}: {found} {expected}");
        }
        media.erase(BlockId(3));
        let (found, expected) = (rate(&media, 3, 5), model(1001.0, 1.0));
        assert!((found / expected - 1.0).abs() < 1e-12, "erased: {found} {expected}");
    }
}
