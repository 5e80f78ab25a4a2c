//! The results of reads under a stress: error rates and failure probabilities along the ladder.
//!
//! An [`Outcome`] is a pure function of the stress, so it is computed once per kind of stress that
//! occurs in the drive (see `kinds`) and never drawn. With parity over stripes, data is lost only
//! when another page of the stripe is lost as well; the pages of a stripe are at the same place of
//! their blocks and are taken to be under one stress.

use opennandlab_ecc::PageCode;

use super::recovery::Ladder;
use crate::reliability::{RberModel, Stress};

/// A rung of the ladder under a stress.
#[derive(Clone, Copy, Debug)]
pub struct RungFate {
    /// Raw bit error rate.
    pub rate: f64,
    /// The same over that of the worst rung.
    pub share: f64,
    /// Reads that the decoder gets.
    pub reads: u32,
    /// Probability that the page cannot be decoded.
    pub failure: f64,
}

/// The outcome of a read of a page under one stress.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Every way to read the page, the default levels first.
    pub rungs: Box<[RungFate]>,
    /// The one with which reads begin.
    pub start: usize,
    /// Read levels of the page.
    pub levels: u32,
    /// Raw bit error rate of the worst rung.
    pub worst_rate: f64,
    /// Probability that the page is uncorrectable, after the whole ladder.
    pub failure: f64,
    /// Probability that its data is lost, after rebuilding.
    pub loss: f64,
    /// Mean bits corrected.
    pub corrected_bits: f64,
    /// Data errors per data bit read, JESD218.
    pub uber: f64,
    /// Whether the last two are outside the measured range of the code.
    pub is_extrapolated: bool,
}

impl Outcome {
    /// Raw bit error rate of the first read.
    pub fn rber(&self) -> f64 {
        self.rungs[self.start].rate
    }

    /// Probability that the first read does not correct the page.
    pub fn first_failure(&self) -> f64 {
        self.rungs[self.start].failure
    }

    /// The rung that corrects a page of this rank whose first read does not; none: it is lost.
    pub fn climb(&self, rank: f64) -> Option<usize> {
        self.tried().skip(1).find(|&rung| self.rungs[rung].failure <= rank)
    }

    /// The rungs in the order in which they are tried.
    pub fn tried(&self) -> impl Iterator<Item = usize> {
        Ladder::tried(self.start, self.rungs.len(), None)
    }
}

/// Reads of one page type, taken together, for [`Fates::margin`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mix {
    /// Share of all reads.
    pub share: f64,
    /// Mean raw bit error rate on each rung.
    pub rates: Vec<f64>,
}

/// Error model, code and ladder of a drive.
pub struct Fates {
    pub(super) model: Box<dyn RberModel>,
    pub(super) code: PageCode,
    pub(super) ladder: Ladder,
    /// The stress of all reads, without wear.
    pub(super) stress: Stress,
    /// Pages of a parity stripe; 0 without.
    pub(super) stripe: u32,
}

impl Fates {
    /// The outcome of reads under a stress, at `scale` times the error rate of the model.
    pub fn outcome(&self, stress: &Stress, scale: f64) -> Outcome {
        let rber = (self.model.rber(stress) * scale).min(0.5);
        self.outcome_at(&self.ladder.rates(rber, scale, self.model.as_ref(), stress))
    }

    /// Error rates of each rung under a stress, before any factor.
    pub(super) fn rates(&self, stress: &Stress) -> Box<[f64]> {
        self.ladder.rates(self.model.rber(stress), 1.0, self.model.as_ref(), stress)
    }

    /// The outcome of reads at `scale` times these error rates.
    pub(super) fn outcome_scaled(&self, rates: &[f64], scale: f64) -> Outcome {
        let scaled: Vec<f64> = rates.iter().map(|rate| (rate * scale).min(0.5)).collect();
        self.outcome_at(&scaled)
    }

    /// The same for reads that begin with another step.
    pub(super) fn beginning_at(&self, outcome: &Outcome, start: usize) -> Outcome {
        let corrected_bits = self.code.corrected_bits_mean(outcome.rungs[start].rate);
        Outcome { start, corrected_bits, ..outcome.clone() }
    }

    /// The outcome of reads at the error rates of each rung.
    fn outcome_at(&self, rates: &[f64]) -> Outcome {
        let worst_rate = rates.iter().copied().fold(0.0, f64::max);
        let rungs: Box<[RungFate]> = rates
            .iter()
            .zip(self.ladder.rungs())
            .map(|(&rate, rung)| RungFate {
                rate,
                share: if self.ladder.is_by_table() { rate / worst_rate } else { rung.factor },
                reads: rung.reads,
                failure: self.code.page_failure_after(rate, rung.reads),
            })
            .collect();
        let mut best = rungs[0];
        for rung in &rungs[1..] {
            if rung.failure < best.failure {
                best = *rung;
            }
        }
        let survives =
            if self.stripe > 0 { 1.0 - libm::pow(1.0 - best.failure, self.others()) } else { 1.0 };
        Outcome {
            worst_rate,
            failure: best.failure,
            loss: best.failure * survives,
            corrected_bits: self.code.corrected_bits_mean(rates[0]),
            uber: self.code.uber_after(best.rate, best.reads) * survives,
            is_extrapolated: self.code.is_extrapolated(best.rate, best.reads),
            rungs,
            start: 0,
            levels: 1,
        }
    }

    /// The rungs that reads may climb.
    pub fn ladder(&self) -> &Ladder {
        &self.ladder
    }

    /// Names of the page types that are distinguished, lower page first; none if they are not.
    pub fn page_types(&self) -> &'static [&'static str] {
        self.model.page_types()
    }

    /// The other pages of the stripe of a page.
    pub fn others(&self) -> f64 {
        f64::from(self.stripe.saturating_sub(1))
    }

    /// Raw bit error rate after `pe_cycles` program/erase cycles under the stress of the drive,
    /// mean over page types.
    pub fn rber(&self, pe_cycles: f64) -> f64 {
        self.model.rber(&Stress { pe_cycles, ..self.stress })
    }

    /// The factor by which the error rates of reads could grow until data errors per bit read come
    /// to a limit; below 1 when they are beyond it, none when no factor leads there.
    pub fn margin(&self, mixes: &[Mix], uber_max: f64) -> Option<f64> {
        let rber: f64 = match mixes {
            [all] => all.rates[0],
            _ => mixes.iter().map(|mix| mix.share * mix.rates[0]).sum(),
        };
        // In logarithms of the factor: from a billionth up to where half of the bits are wrong.
        let uber = |log_factor: f64| -> f64 {
            let factor = libm::exp(log_factor);
            let of = |mix: &Mix| {
                let scaled = |rate: &f64| (rate * factor).min(0.5);
                if self.ladder.is_by_table() {
                    let rates: Vec<f64> = mix.rates.iter().map(scaled).collect();
                    return self.outcome_at(&rates).uber;
                }
                let (model, stress) = (self.model.as_ref(), &self.stress);
                self.outcome_at(&self.ladder.rates(scaled(&mix.rates[0]), 1.0, model, stress)).uber
            };
            mixes.iter().map(|mix| mix.share * of(mix)).sum()
        };
        let (mut low, mut high) = (-20.0, libm::log(0.5 / rber));
        if !(rber > 0.0 && uber(low) < uber_max && uber(high) > uber_max) {
            return None;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if uber(middle) < uber_max {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(libm::exp(0.5 * (low + high)))
    }
}
