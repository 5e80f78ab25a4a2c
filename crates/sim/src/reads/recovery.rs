//! The recovery ladder: the steps that the drive tries when a page cannot be decoded at once.
//!
//! ```text
//!   first read ─► read retry 1..n ─► soft decision, 3 reads ─► 7 reads ─► stripe parity ─► lost
//!   RBER p        p_1 .. p_n         least of p, p_1 .. p_n, LDPC only      `errors`
//! ```
//! With `calibrate` a search for the best levels follows on the last retry.
//!
//! The error rate of a retry step is either `p × factor^k`, for models that give only a rate, or
//! follows from the threshold-voltage states: the table of level offsets that `reliability::retry`
//! makes once for the drive, for all pages. Then a step may also have more errors than the one
//! before. Soft decisions are made around the best voltages tried before.
//!
//! How far a page climbs follows from the code: a page whose first read fails has a rank below the
//! failure probability of that read, and a rung corrects it as soon as the failure probability of
//! that rung falls under the rank. So a rung never makes a page worse, and the share of pages that
//! needs more than `k` rungs is exactly the least failure probability up to rung `k`.
//!
//! Every retry is a setup, a sense, a transfer and a decoding. A soft attempt of `n` reads costs
//! `n - 1` further senses and as many further transfers, since each gives the decoder another bit
//! per cell.

use super::config::{RetryConfig, SoftReadConfig};
use crate::reliability::retry::RetryStep;
use crate::reliability::{RberModel, Stress, RBER_MAX};

/// One way to read a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rung {
    /// Factor on the raw bit error rate of the first read, if there is no table.
    pub factor: f64,
    /// Reads that the decoder gets: 1 means hard decisions.
    pub reads: u32,
    /// Reads of each level of the page that search for the best levels first; mostly 0.
    pub searching: u32,
}

impl Rung {
    /// A rung without a search.
    pub fn new(factor: f64, reads: u32) -> Self {
        Self { factor, reads, searching: 0 }
    }
}

/// The costs of reads beyond their first sense and transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// Read-retry steps: a sense and a transfer each.
    pub retries: u32,
    /// Whether the first read is made with the levels of a step that is remembered.
    pub begins_at_step: bool,
    /// Further reads of soft decisions: a sense and a transfer each.
    pub soft_reads: u32,
    /// Decodings beyond the first.
    pub attempts: u32,
    /// Time of the decodings that failed before the last, in nanoseconds.
    pub failed_ns: u32,
    /// Time of the last decoding; of several pages, the longest.
    pub decode_ns: u32,
}

impl Extra {
    /// Takes the share of `part` of `whole` pages out of what all of them need.
    #[must_use]
    pub fn take_share(&mut self, part: u32, whole: u32) -> Self {
        let take = |all: &mut u32| {
            let share = (u64::from(*all) * u64::from(part)).div_ceil(u64::from(whole)) as u32;
            *all -= share;
            share
        };
        Self {
            retries: take(&mut self.retries),
            soft_reads: take(&mut self.soft_reads),
            attempts: take(&mut self.attempts),
            failed_ns: take(&mut self.failed_ns),
            ..*self
        }
    }
}

impl std::ops::AddAssign for Extra {
    fn add_assign(&mut self, other: Self) {
        self.retries += other.retries;
        self.begins_at_step |= other.begins_at_step;
        self.soft_reads += other.soft_reads;
        self.attempts += other.attempts;
        self.failed_ns = self.failed_ns.saturating_add(other.failed_ns);
        self.decode_ns = self.decode_ns.max(other.decode_ns);
    }
}

/// The rungs of a device, the first read among them.
#[derive(Clone, Debug)]
pub struct Ladder {
    rungs: Vec<Rung>,
    /// Level offsets of the retry steps; empty where a step is a factor.
    table: Vec<RetryStep>,
}

impl Default for Ladder {
    fn default() -> Self {
        Self::new(None, None)
    }
}

impl Ladder {
    /// The rungs of a device file, by factors.
    pub fn new(retry: Option<&RetryConfig>, soft: Option<&SoftReadConfig>) -> Self {
        let mut rungs = vec![Rung::new(1.0, 1)];
        if let Some(config) = retry {
            let steps = 1..=i32::from(config.step_count_max);
            let factor = |step| libm::pow(config.factor(), f64::from(step));
            rungs.extend(steps.map(|step| Rung::new(factor(step), 1)));
        }
        let factor = rungs[rungs.len() - 1].factor;
        if let Some(search) = retry.and_then(|config| config.calibrate.as_ref()) {
            rungs.push(Rung { searching: search.reads() as u32, ..Rung::new(factor, 1) });
        }
        if let Some(config) = soft {
            let reads = config.reads.iter().map(|&reads| u32::from(reads));
            rungs.extend(reads.map(|reads| Rung::new(factor, reads)));
        }
        Self { rungs, table: Vec::new() }
    }

    /// The rungs of a device: retry steps by the table of the model, unless a factor is given or
    /// the model has no states. The table is made for data as old as the horizon on flash at the
    /// end of its rated life.
    pub fn for_device(
        retry: Option<&RetryConfig>,
        soft: Option<&SoftReadConfig>,
        model: &dyn RberModel,
        rated_cycles: f64,
    ) -> Self {
        let mut ladder = Self::new(retry, soft);
        if let Some(config) = retry.filter(|config| config.rber_factor.is_none()) {
            let horizon = Stress {
                pe_cycles: rated_cycles,
                retention_h: config.horizon(),
                ..Stress::default()
            };
            let table = model.retry_table(&horizon, usize::from(config.step_count_max));
            ladder.table = table.unwrap_or_default();
        }
        ladder
    }

    /// All ways to read a page, in the order in which they are tried.
    pub fn rungs(&self) -> &[Rung] {
        &self.rungs
    }

    /// Whether retry steps follow from the states of the model.
    pub fn is_by_table(&self) -> bool {
        !self.table.is_empty()
    }

    /// Level offsets of the retry steps, in the order of rungs; none where a step is a factor.
    pub(super) fn offsets(&self) -> impl Iterator<Item = &[f64]> {
        self.table.iter().map(|step| step.offsets.as_slice())
    }

    /// Raw bit error rate of each rung, for a page whose first read has `rber` under a stress; with
    /// a table, `scale` times the rate of the model.
    pub fn rates(
        &self,
        rber: f64,
        scale: f64,
        model: &dyn RberModel,
        stress: &Stress,
    ) -> Box<[f64]> {
        if self.table.is_empty() {
            return self.rungs.iter().map(|rung| rber * rung.factor).collect();
        }
        let mut rates = vec![rber];
        let retried = |step| (model.rber_retried(stress, step) * scale).min(RBER_MAX);
        rates.extend(self.table.iter().map(retried));
        if self.rungs.iter().any(|rung| rung.searching > 0) {
            rates.push((model.rber_at_best(stress) * scale).min(RBER_MAX));
        }
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        rates.resize(self.rungs.len(), least);
        rates.into()
    }

    /// The cost of reaching a rung when reads begin with a step, without decoding; none: to the
    /// end. The page has this many read levels.
    pub fn cost(&self, start: usize, rung: Option<usize>, levels: u32) -> Extra {
        let mut extra = Extra { begins_at_step: start > 0, ..Extra::default() };
        for rung in Self::tried(start, self.rungs.len(), rung).skip(1) {
            extra.attempts += 1;
            if self.rungs[rung].reads == 1 {
                extra.retries += 1 + self.rungs[rung].searching * levels;
            } else {
                extra.soft_reads += self.rungs[rung].reads - 1;
            }
        }
        extra
    }

    /// The rungs of a ladder in the order in which they are tried, from a step on, up to one of
    /// them; none: all of them.
    pub(super) fn tried(
        start: usize,
        count: usize,
        last: Option<usize>,
    ) -> impl Iterator<Item = usize> {
        let rungs = std::iter::once(start).chain((0..count).filter(move |&rung| rung != start));
        let mut is_over = false;
        rungs.take_while(move |&rung| {
            let was_over = is_over;
            is_over |= Some(rung) == last;
            !was_over
        })
    }

    /// Steps that reads may begin with, the default levels among them.
    pub fn starts(&self) -> usize {
        self.rungs.iter().filter(|rung| rung.reads == 1 && rung.searching == 0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Geometry;
    use crate::op::Source;
    use crate::reads::{EccConfig, ReadErrors};
    use crate::reliability::{WearKeys, Weibull};

    /// Reads pages and compares the share that needs more than each rung with its probability.
    fn shares_follow(config: &EccConfig, page_bytes: u64, ladder: &Ladder, cycles: u32) {
        let code = || config.page_code(page_bytes).expect("a code");
        let keys =
            WearKeys { rber_floor: Some(1e-4), rber_ceil: Some(2e-2), max_pe_cycles: 3000.0 };
        let model = Box::new(Weibull::for_device(&keys));
        let mut errors =
            ReadErrors::new(model, code(), &Geometry::new([1, 1], [1, 16], page_bytes), 3)
                .with(ladder.clone(), 0);
        let reads = 20_000;
        let mut extra = Extra::default();
        (0..reads).for_each(|_| extra += errors.record(cycles, 0, 1, Source::Host));
        let rber = errors.fates().rber(f64::from(cycles));
        let tally = errors.tally();
        let mut left: u64 = tally.recovered.iter().sum::<u64>() + tally.uncorrectable[0];
        let mut least = 1.0_f64;
        let mut expected_extra = Extra::default();
        for (index, rung) in ladder.rungs().iter().enumerate() {
            if index > 0 {
                left -= tally.recovered[index];
                let cost = ladder.cost(0, Some(index), 1);
                let count = tally.recovered[index] as u32;
                (0..count).for_each(|_| expected_extra += cost);
            }
            least = least.min(code().page_failure_after(rber * rung.factor, rung.reads));
            let share = left as f64 / f64::from(reads);
            let deviation = (least * (1.0 - least) / f64::from(reads)).sqrt();
            let gap = (share - least).abs();
            assert!(gap <= 4.5 * deviation + 1e-12, "rung {index}: {share} is not {least}");
        }
        let lost = ladder.cost(0, None, 1);
        (0..tally.uncorrectable[0]).for_each(|_| expected_extra += lost);
        assert_eq!(left, tally.uncorrectable[0]);
        assert_eq!(extra, expected_extra);
    }

    #[test]
    fn shares_of_retry_steps_are_the_failure_probabilities() {
        let retry =
            RetryConfig { step_count_max: 3, rber_factor: Some(0.8), ..RetryConfig::default() };
        let config = EccConfig { bch_t: Some(1), ..EccConfig::default() };
        shares_follow(&config, 4096, &Ladder::new(Some(&retry), None), 600);
    }

    #[test]
    fn shares_of_soft_rungs_are_those_of_the_table() {
        let row = |rber, one, three, seven| (rber, Some(one), Some(three), Some(seven));
        let table = vec![row(1e-3, 0.2, 0.1, 0.05), row(3e-2, 0.9, 0.6, 0.3)];
        let config = EccConfig {
            ldpc_code: Some("nand-1k-r0889".into()),
            fer_table: Some(table),
            ..EccConfig::of(crate::reads::Algorithm::Ldpc)
        };
        let soft = SoftReadConfig { reads: vec![3, 7], setup_us: 0.0 };
        shares_follow(&config, 1024, &Ladder::new(None, Some(&soft)), 2000);
        let retry =
            RetryConfig { step_count_max: 2, rber_factor: Some(0.7), ..RetryConfig::default() };
        shares_follow(&config, 2048, &Ladder::new(Some(&retry), Some(&soft)), 1500);
    }

    #[test]
    fn costs_add_up_along_the_ladder() {
        let retry =
            RetryConfig { step_count_max: 2, rber_factor: Some(0.7), ..RetryConfig::default() };
        let soft = SoftReadConfig { reads: vec![3, 7], setup_us: 0.0 };
        let ladder = Ladder::new(Some(&retry), Some(&soft));
        let costs = (0..5).map(|rung| ladder.cost(0, Some(rung), 1));
        let costs: Vec<_> =
            costs.map(|cost| (cost.retries, cost.soft_reads, cost.attempts)).collect();
        assert_eq!(costs, [(0, 0, 0), (1, 0, 1), (2, 0, 2), (2, 2, 3), (2, 8, 4)]);
        assert_eq!(ladder.cost(0, None, 1), ladder.cost(0, Some(4), 1));
        // From step 2: it, the default levels, step 1, then soft decisions.
        let order: Vec<_> = Ladder::tried(2, 5, None).collect();
        assert_eq!(order, [2, 0, 1, 3, 4]);
        let costs = [2, 0, 1, 3].map(|rung| ladder.cost(2, Some(rung), 1));
        let costs = costs.map(|cost| (cost.retries, cost.soft_reads, cost.attempts));
        assert_eq!(costs, [(0, 0, 0), (1, 0, 1), (2, 0, 2), (2, 2, 3)]);
        assert!(ladder.cost(2, None, 1).begins_at_step && !ladder.cost(0, None, 1).begins_at_step);
        assert_eq!((ladder.starts(), Ladder::default().starts()), (3, 1));
    }
}
