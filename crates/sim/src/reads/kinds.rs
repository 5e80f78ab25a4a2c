//! Kinds of stress: what tells reads apart, and what reads of each kind give.
//!
//! A read's fate depends on the stress that its page is under: the erase count of its block, the
//! copybacks behind its data or the programs that disturbed it, its page type where the model tells
//! page types apart, the class of its spread where blocks or layers differ, the class of reads of
//! its block where those are counted, the retry step that reads of its block begin with where it is
//! remembered, and what the device file says of the rest.
//!
//! ```text
//!   kind = (((erase count × lives + life) × page types + type) × spreads + spread)
//!          × classes + class [× steps + the step that reads begin with]
//!   slots[kind]     24 bytes: all that a read looks at
//!   outcomes[..]    the rest, computed when a kind is first met
//! ```
//! An outcome is a pure function of its kind: the tables here only remember.

use super::decoding::{DecodeTime, DecodeTimer};
use super::disturb;
use super::fate::{Fates, Outcome};
use super::recovery::{Extra, Ladder};
use crate::reliability::Stress;

/// What a read looks at.
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

/// Stands for a probability that was not computed yet; beyond the fast path like any large one.
const UNKNOWN: f64 = 2.0;

/// See the module.
pub(super) struct Kinds {
    pub(super) fates: Fates,
    /// Factor of the error rate by what a page has behind it since it was written: copybacks, or
    /// further programs.
    lives: Vec<f64>,
    /// Page types that the model tells apart; 1 where it does not.
    types: usize,
    /// Classes of reads per block; 1 where they are not counted.
    classes: usize,
    /// Retry steps that reads may begin with; 1 where none is remembered.
    starts: usize,
    /// Factor of the error rate of each class of spread; one of 1 where there is none.
    factors: Vec<f64>,
    /// Error rates of each rung, by kind without the class of spread; only where there is one.
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

    /// Pages take this many programs, and each raises the error rate of what they hold by this
    /// share of that of undisturbed data.
    pub(super) fn set_disturb(&mut self, programs_per_page: u32, share: f64) {
        self.lives = (0..programs_per_page).map(|behind| 1.0 + share * f64::from(behind)).collect();
    }

    /// Pages err by these factors, of mean 1, more or less than their stress says.
    pub(super) fn set_spread(&mut self, factors: &[f64]) {
        self.factors = factors.to_vec();
        self.forget();
    }

    /// Reads may begin with each step of the ladder.
    pub(super) fn set_starts(&mut self) {
        self.starts = self.fates.ladder.starts();
        self.forget();
    }

    /// Reads are made under another stress from now on: kinds mean something else.
    pub(super) fn set_stress(&mut self, stress: Stress, counts_reads: bool) {
        self.fates.stress = stress;
        self.classes = if counts_reads { disturb::CLASS_COUNT } else { 1 };
        self.forget();
        self.rates.clear();
    }

    /// Decoding takes its time from now on.
    pub(super) fn set_timer(&mut self, timer: DecodeTimer) {
        self.timer = timer;
        self.forget();
    }

    /// Forgets all outcomes.
    fn forget(&mut self) {
        self.unspread.clear();
        self.slots.clear();
        self.outcomes.clear();
        self.decoding.clear();
    }

    /// Page types that are told apart; 1 where they are not.
    #[inline]
    pub(super) fn types(&self) -> usize {
        self.types
    }

    /// What pages may have behind them, and one.
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
        let kind = erases as usize * self.lives.len() + life;
        if self.types == 1 && self.classes == 1 && self.factors.len() == 1 && self.starts == 1 {
            return kind;
        }
        let kind = (kind * self.types + page_type) * self.factors.len() + spread;
        (kind * self.classes + class) * self.starts
    }

    /// Page types times classes of spread.
    pub(super) fn mixes(&self) -> usize {
        self.types * self.factors.len()
    }

    /// The page type of a kind and its class of spread, as one number below [`Kinds::mixes`].
    pub(super) fn mix_of(&self, kind: usize) -> usize {
        kind / self.starts / self.classes % self.mixes()
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
        let limit = (kind / row + 1) * row;
        self.slots
            .resize(limit, Slot { first_failure: UNKNOWN, hazard: 0.0, outcome: 0, decode_ns: 0 });
    }

    /// Whether the outcome of a kind was computed.
    #[inline]
    pub(super) fn is_known(&self, kind: usize) -> bool {
        self.slots[kind].first_failure < UNKNOWN
    }

    /// What a read of this kind looks at; a probability above 1 if its outcome is not known yet.
    #[inline]
    pub(super) fn slot(&self, kind: usize) -> Slot {
        self.slots[kind]
    }

    /// The outcome of this number.
    pub(super) fn outcome(&self, index: u32) -> &Outcome {
        &self.outcomes[index as usize]
    }

    /// What a page of a kind costs that the first read corrects.
    #[inline]
    pub(super) fn first_cost(&self, kind: usize) -> Extra {
        let begins_at_step = self.starts > 1 && !kind.is_multiple_of(self.starts);
        Extra { begins_at_step, decode_ns: self.slots[kind].decode_ns, ..Extra::default() }
    }

    /// What a page costs that a rung corrects, or none.
    pub(super) fn cost(&self, index: u32, rung: Option<usize>) -> Extra {
        let (times, start) = (&self.decoding[index as usize], self.outcomes[index as usize].start);
        let mut extra = self.fates.ladder.cost(start, rung);
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
        let (start, rest) = (kind % self.starts, kind / self.starts);
        if start > 0 {
            let default = self.know(kind - start);
            let outcome = self.fates.beginning_at(&self.outcomes[default as usize], start);
            let times = self.decoding[default as usize].clone();
            return self.learn(kind, outcome, times);
        }
        let (class, rest) = (rest % self.classes, rest / self.classes);
        let (spread, rest) = (rest % self.factors.len(), rest / self.factors.len());
        let (page_type, rest) = (rest % self.types, rest / self.types);
        let stress = Stress {
            pe_cycles: (rest / self.lives.len()) as f64,
            reads: self.fates.stress.reads + disturb::reads_of(class),
            page_type: (self.types > 1).then_some(page_type as u8),
            ..self.fates.stress
        };
        let factor = self.lives[rest % self.lives.len()];
        let outcome = if self.factors.len() == 1 {
            self.fates.outcome(&stress, factor)
        } else {
            let place = kind / self.starts / self.classes / self.factors.len();
            let place = place * self.classes + class;
            if place >= self.unspread.len() {
                self.unspread.resize(place + 1, None);
            }
            let fates = &self.fates;
            let rates = self.unspread[place].get_or_insert_with(|| fates.rates(&stress));
            self.fates.outcome_scaled(rates, factor * self.factors[spread])
        };
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
