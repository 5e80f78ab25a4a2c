//! The recovery ladder: what the drive tries when a page cannot be decoded at once.
//!
//! ```text
//!   first read ─► read retry 1..n ─► soft decision, 3 reads ─► 7 reads ─► stripe parity ─► lost
//!   RBER p        p × factor^k       p × factor^n, LDPC only               `ecc`
//! ```
//! How far a page climbs follows from the code: a page whose first read fails has a rank below the
//! failure probability of that read, and a rung corrects it as soon as the failure probability of
//! that rung falls under the rank. So a rung never makes a page worse, and the share of pages that
//! needs more than `k` rungs is exactly the least failure probability up to rung `k`.
//!
//! A retry costs one more sense. A soft attempt of `n` reads costs `n - 1` further senses and as
//! many further transfers, since each gives the decoder another bit per cell.

use opennandlab_ecc::PageCode;

use super::config::{RetryConfig, SoftReadConfig};

/// One way to read a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rung {
    /// Factor on the raw bit error rate of the first read.
    pub factor: f64,
    /// Reads that the decoder gets: 1 means hard decisions.
    pub reads: u32,
}

/// What reads cost beyond their first sense and transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// Read-retry steps: a sense each.
    pub retries: u32,
    /// Further reads of soft decisions: a sense and a transfer each.
    pub soft_reads: u32,
}

impl std::ops::AddAssign for Extra {
    fn add_assign(&mut self, other: Self) {
        self.retries += other.retries;
        self.soft_reads += other.soft_reads;
    }
}

/// The rungs of a device, the first read among them.
#[derive(Clone, Debug)]
pub struct Ladder {
    rungs: Vec<Rung>,
}

impl Default for Ladder {
    fn default() -> Self {
        Self::new(None, None)
    }
}

impl Ladder {
    /// The rungs of a device file.
    pub fn new(retry: Option<&RetryConfig>, soft: Option<&SoftReadConfig>) -> Self {
        let mut rungs = vec![Rung { factor: 1.0, reads: 1 }];
        if let Some(config) = retry {
            let steps = 1..=i32::from(config.step_count_max);
            let factor = |step| libm::pow(config.rber_factor, f64::from(step));
            rungs.extend(steps.map(|step| Rung { factor: factor(step), reads: 1 }));
        }
        let factor = rungs[rungs.len() - 1].factor;
        if let Some(config) = soft {
            let reads = config.reads.iter().map(|&reads| u32::from(reads));
            rungs.extend(reads.map(|reads| Rung { factor, reads }));
        }
        Self { rungs }
    }

    /// All ways to read a page, in the order in which they are tried.
    pub fn rungs(&self) -> &[Rung] {
        &self.rungs
    }

    /// The rung that fails least, and its failure probability.
    pub fn best(&self, rber: f64, code: &PageCode) -> (Rung, f64) {
        let mut best = (self.rungs[0], f64::INFINITY);
        for rung in &self.rungs {
            let failure = code.page_failure_after(rber * rung.factor, rung.reads);
            if failure < best.1 {
                best = (*rung, failure);
            }
        }
        best
    }

    /// The rung that corrects a page of this rank whose first read does not; none: it is lost.
    pub fn climb(&self, rber: f64, rank: f64, code: &PageCode) -> Option<usize> {
        let corrects =
            |rung: &Rung| code.page_failure_after(rber * rung.factor, rung.reads) <= rank;
        self.rungs.iter().skip(1).position(corrects).map(|rung| rung + 1)
    }

    /// What it costs to come to a rung; none: to the end.
    pub fn cost(&self, rung: Option<usize>) -> Extra {
        let last = rung.unwrap_or(self.rungs.len() - 1);
        let mut extra = Extra::default();
        for rung in &self.rungs[1..=last] {
            if rung.reads == 1 {
                extra.retries += 1;
            } else {
                extra.soft_reads += rung.reads - 1;
            }
        }
        extra
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::ecc::{EccConfig, ReadErrors};
    use crate::op::Source;
    use crate::reliability::{WearKeys, Weibull};

    /// Reads pages and compares the share that needs more than each rung with its probability.
    fn shares_follow(config: &EccConfig, page_bytes: u64, ladder: &Ladder, cycles: u32) {
        let code = || config.page_code(page_bytes, 1 << 20).expect("a code");
        let keys =
            WearKeys { rber_floor: Some(1e-4), rber_ceil: Some(2e-2), max_pe_cycles: 3000.0 };
        let model = Box::new(Weibull::for_device(&keys));
        let mut errors = ReadErrors::new(model, code(), 3).with(ladder.clone(), 0);
        let reads = 20_000;
        let mut extra = Extra::default();
        (0..reads).for_each(|_| extra += errors.record(cycles, 1, Source::Host));
        let rber = errors.rber(f64::from(cycles));
        let tally = errors.tally();
        let mut left: u64 = tally.recovered.iter().sum::<u64>() + tally.uncorrectable[0];
        let mut least = 1.0_f64;
        let mut expected_extra = Extra::default();
        for (index, rung) in ladder.rungs().iter().enumerate() {
            if index > 0 {
                left -= tally.recovered[index];
                let cost = ladder.cost(Some(index));
                let count = tally.recovered[index] as u32;
                expected_extra +=
                    Extra { retries: cost.retries * count, soft_reads: cost.soft_reads * count };
            }
            least = least.min(code().page_failure_after(rber * rung.factor, rung.reads));
            let share = left as f64 / f64::from(reads);
            let deviation = (least * (1.0 - least) / f64::from(reads)).sqrt();
            let gap = (share - least).abs();
            assert!(gap <= 4.5 * deviation + 1e-12, "rung {index}: {share} is not {least}");
        }
        let lost = ladder.cost(None);
        expected_extra += Extra {
            retries: lost.retries * tally.uncorrectable[0] as u32,
            soft_reads: lost.soft_reads * tally.uncorrectable[0] as u32,
        };
        assert_eq!(left, tally.uncorrectable[0]);
        assert_eq!(extra, expected_extra);
    }

    #[test]
    fn shares_of_retry_steps_are_the_failure_probabilities() {
        let retry = RetryConfig { step_count_max: 3, rber_factor: 0.8, setup_us: 0.0 };
        let config = EccConfig { bch_t: 1, ..EccConfig::default() };
        shares_follow(&config, 4096, &Ladder::new(Some(&retry), None), 600);
    }

    #[test]
    fn shares_of_soft_rungs_are_those_of_the_table() {
        let row = |rber, one, three, seven| (rber, Some(one), Some(three), Some(seven));
        let table = vec![row(1e-3, 0.2, 0.1, 0.05), row(3e-2, 0.9, 0.6, 0.3)];
        let config = EccConfig {
            ldpc_code: Some("nand-1k-r0889".into()),
            fer_table: Some(table),
            ..EccConfig::of(crate::controller::ecc::Algorithm::Ldpc)
        };
        let soft = SoftReadConfig { reads: vec![3, 7], setup_us: 0.0 };
        shares_follow(&config, 1024, &Ladder::new(None, Some(&soft)), 2000);
        let retry = RetryConfig { step_count_max: 2, rber_factor: 0.7, setup_us: 0.0 };
        shares_follow(&config, 2048, &Ladder::new(Some(&retry), Some(&soft)), 1500);
    }

    #[test]
    fn costs_add_up_along_the_ladder() {
        let retry = RetryConfig { step_count_max: 2, rber_factor: 0.7, setup_us: 0.0 };
        let soft = SoftReadConfig { reads: vec![3, 7], setup_us: 0.0 };
        let ladder = Ladder::new(Some(&retry), Some(&soft));
        let costs = (0..5).map(|rung| ladder.cost(Some(rung)));
        let pairs: Vec<_> = costs.map(|cost| (cost.retries, cost.soft_reads)).collect();
        assert_eq!(pairs, [(0, 0), (1, 0), (2, 0), (2, 2), (2, 8)]);
        assert_eq!(ladder.cost(None), ladder.cost(Some(4)));
    }
}
