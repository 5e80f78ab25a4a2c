//! Figures of a span of reads: exact sums over the counts of each kind of stress.
//!
//! Everything here is a difference of two tallies, weighted with the outcomes of the kinds. Rates
//! are means over reads, and once more over those of each page type: the error rates of page types
//! differ strongly, which makes an overall mean useless.

use serde_json::{json, Map, Value};

use super::fate::{Fates, Mix, Outcome};
use super::kinds::Kinds;
use super::tally::{CellCounts, ReadTally};

/// Standard deviations up to which the errors of cells agree with the number expected: beyond, by
/// chance, about once in 150,000 page types.
const CELLS_AGREE_WITHIN: f64 = 4.5;

/// Error figures of a span of reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorFigures {
    /// Page reads.
    pub reads: u64,
    /// Mean number of bits corrected in all of them.
    pub corrected_bits: f64,
    /// Mean number of uncorrectable pages among them.
    pub uncorrectable_mean: f64,
    /// Data errors per bit read, JESD218, analytic.
    pub uber: f64,
    /// Uncorrectable pages drawn.
    pub uncorrectable: u64,
    /// Mean raw bit error rate of the reads, with the default levels.
    pub rber: f64,
    /// Reads whose failure probability is outside the measured range of the code.
    pub extrapolated_reads: u64,
    /// Reads that were corrected on each rung after the first.
    pub recovered: Vec<u64>,
    /// Reads that began with a remembered step.
    pub remembered: u64,
    /// Pages rebuilt from their stripe.
    pub rebuilt: u64,
    /// Data bits that were decoded bit by bit.
    pub decoded_bits: u64,
    /// Codewords among them that were lost permanently.
    pub lost_codewords: u64,
    /// Pages that were read cell by cell, by page type; empty in drives without cells.
    pub cells: Vec<CellCounts>,
    /// The same by page type; one entry if they are not distinguished.
    pub by_type: Vec<TypeFigures>,
    /// The same by page type and class of spread, if blocks or layers differ.
    pub by_spread: Vec<TypeFigures>,
}

/// Error figures of the reads of one page type, means of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypeFigures {
    /// Page reads.
    pub reads: u64,
    /// Mean raw bit error rate on each rung of the ladder, the default levels first.
    pub rates: Vec<f64>,
    /// Mean probability that a read is not corrected by the rungs up to this one, in the order in
    /// which they are tried.
    pub beyond: Vec<f64>,
    /// Data errors per bit read.
    pub uber: f64,
}

impl ErrorFigures {
    /// Figures of counted reads.
    pub(super) fn of(kinds: &Kinds, tally: ReadTally) -> Self {
        let rungs = kinds.fates.ladder.rungs().len();
        let one = TypeFigures {
            rates: vec![0.0; rungs],
            beyond: vec![0.0; rungs],
            ..TypeFigures::default()
        };
        let is_spread = kinds.mixes() > kinds.types();
        let by_spread = vec![one.clone(); if is_spread { kinds.mixes() } else { 0 }];
        let by_type = vec![one; kinds.types()];
        let mut figures = Self { by_type, by_spread, ..Self::default() };
        let reads_at = tally.reads_at.iter().copied().enumerate();
        for (kind, reads) in reads_at.filter(|&(_, reads)| reads > 0) {
            let outcome = kinds.outcome(kinds.outcome_index(kind));
            figures.add(reads, outcome);
            figures.by_type[kinds.type_of(kind)].add(reads, outcome);
            if is_spread {
                figures.by_spread[kinds.mix_of(kind)].add(reads, outcome);
            }
        }
        figures.divide();
        let page_bits = u64::from(kinds.fates.code.page_bits());
        figures.recovered = tally.recovered;
        figures.remembered = tally.remembered;
        figures.rebuilt = tally.rebuilt;
        figures.decoded_bits = tally.decoded_pages * page_bits;
        figures.lost_codewords = tally.lost_codewords;
        figures.uncorrectable = tally.uncorrectable.iter().sum();
        figures.cells = tally.cells;
        figures
    }

    /// Raw bit errors of the reads as the result states them: means of the model, and by page type
    /// (named as the model names them) the share of reads that each rung leaves uncorrected.
    pub fn raw_errors(&self, page_types: &[&str]) -> Value {
        let types: Map<String, Value> = page_types
            .iter()
            .zip(&self.by_type)
            .filter(|(_, one)| one.reads > 0)
            .map(|(name, one)| {
                let row = json!({
                    "reads": one.reads, "rber": one.rates[0], "rber_by_step": one.rates,
                    "beyond_step": one.beyond, "uber": one.uber,
                });
                ((*name).to_owned(), row)
            })
            .collect();
        json!({
            "rber": (self.reads > 0).then_some(self.rber),
            "uncorrectable_expected": self.uncorrectable_mean,
            "page_types": types,
        })
    }

    /// Pages that were read cell by cell as the result states them, by page type, and whether their
    /// errors match the prediction of their states; none if nothing was read in this way.
    pub fn cells(&self, page_types: &[&str]) -> Option<Value> {
        let rows: Map<String, Value> = page_types
            .iter()
            .zip(&self.cells)
            .filter(|(_, one)| one.pages > 0)
            .map(|(name, one)| {
                let errors = &one.errors;
                let row = json!({
                    "pages": one.pages, "bits": errors.bits, "errors": errors.errors,
                    "expected": errors.expected, "z": errors.z(),
                    "lost_pages": one.lost, "lost_pages_expected": one.lost_expected,
                });
                ((*name).to_owned(), row)
            })
            .collect();
        let agrees = self.cells_that_differ(page_types).is_empty();
        (!rows.is_empty()).then(|| json!({ "page_types": rows, "agrees": agrees }))
    }

    /// Page types whose cells have other numbers of errors than expected, and how many standard
    /// deviations they are off.
    pub fn cells_that_differ(&self, page_types: &[&str]) -> Vec<(String, f64)> {
        let rows = page_types.iter().zip(&self.cells);
        let z = rows.map(|(name, one)| ((*name).to_owned(), one.errors.z()));
        z.filter(|(_, z)| z.abs() > CELLS_AGREE_WITHIN).collect()
    }

    /// That cells have lost another number of pages than the tables expect, by more than chance.
    pub fn lost_cells_warning(&self) -> Option<String> {
        let (lost, expected) = self.cells.iter().fold((0.0, 0.0), |(lost, expected), one| {
            (lost + one.lost as f64, expected + one.lost_expected)
        });
        let differs = (lost - expected).abs() > CELLS_AGREE_WITHIN * libm::sqrt(expected.max(1.0));
        differs.then(|| {
            format!(
                "cells lost {lost} pages, and tables expect {expected:.1}: uber, ecc_margin and \
                 reads of blocks without cells follow from the tables, in which a step corrects a \
                 part of the same errors"
            )
        })
    }

    /// The factor by which the error rates of reads could grow until data errors per bit read come
    /// to a limit; below 1 when they are beyond it, none when no factor leads there.
    pub fn margin(&self, fates: &Fates, uber_max: f64) -> Option<f64> {
        let of = |one: &TypeFigures| Mix {
            share: one.reads as f64 / self.reads as f64,
            rates: one.rates.clone(),
        };
        let parts = if self.by_spread.is_empty() { &self.by_type } else { &self.by_spread };
        let mixes: Vec<Mix> = parts.iter().filter(|one| one.reads > 0).map(of).collect();
        if mixes.is_empty() {
            return None;
        }
        fates.margin(&mixes, uber_max)
    }

    /// Adds reads of one outcome; rates are sums until [`ErrorFigures::divide`].
    fn add(&mut self, reads: u64, outcome: &Outcome) {
        self.reads += reads;
        self.corrected_bits += reads as f64 * outcome.corrected_bits;
        self.uncorrectable_mean += reads as f64 * outcome.loss;
        self.uber += reads as f64 * outcome.uber;
        self.rber += reads as f64 * outcome.rungs[0].rate;
        self.extrapolated_reads += if outcome.is_extrapolated { reads } else { 0 };
    }

    /// Makes means of the sums of rates.
    fn divide(&mut self) {
        if self.reads > 0 {
            self.uber /= self.reads as f64;
            self.rber /= self.reads as f64;
        }
        let parts = self.by_type.iter_mut().chain(&mut self.by_spread);
        parts.filter(|one| one.reads > 0).for_each(TypeFigures::divide);
    }
}

impl TypeFigures {
    fn add(&mut self, reads: u64, outcome: &Outcome) {
        self.reads += reads;
        self.uber += reads as f64 * outcome.uber;
        let mut least = 1.0_f64;
        for (place, rung) in outcome.tried().enumerate() {
            self.rates[place] += reads as f64 * outcome.rungs[place].rate;
            least = least.min(outcome.rungs[rung].failure);
            self.beyond[place] += reads as f64 * least;
        }
    }

    fn divide(&mut self) {
        let reads = self.reads as f64;
        self.uber /= reads;
        self.rates.iter_mut().chain(&mut self.beyond).for_each(|sum| *sum /= reads);
    }
}
