//! The chance of one die: which of its reads fail, by its own random streams.
//!
//! Failures of `n` independent reads with probability `p` are points of a Poisson process of length
//! `-n ln(1 - p)`, so one subtraction per batch of reads decides whether any occurs. Every die has
//! such a process, with named streams of random numbers: what happens on a die follows from its
//! own reads in their order, whatever the other dies do meanwhile.

use crate::rng::Rng;
use crate::units::DieId;

/// See the module.
pub(super) struct Chance {
    /// Of first reads that fail, of how far they climb, and of what parity gives back.
    pub(super) rng: Rng,
    /// Of the other pages of a stripe that is rebuilt.
    pub(super) stripe: Rng,
    /// Of the bits that are flipped in pages which are decoded.
    noise: Rng,
    /// Hazard left until the next failure.
    hazard_left: f64,
}

impl Chance {
    /// The streams of each die of a run with this seed.
    pub(super) fn of_dies(seed: u64, die_count: u32) -> Vec<Self> {
        (0..die_count).map(|die| Self::of_die(seed, DieId(die))).collect()
    }

    fn of_die(seed: u64, die: DieId) -> Self {
        let stream = |what: &str| Rng::stream(seed, &format!("reads.{what}.die{}", die.0));
        let mut rng = stream("uncorrectable");
        let hazard_left = rng.exponential();
        Self { rng, stripe: stream("stripe"), noise: stream("noise"), hazard_left }
    }

    /// The streams and the hazard left, for a checkpoint.
    pub(super) fn save(&self) -> ([[u64; 4]; 3], f64) {
        ([self.rng.state(), self.stripe.state(), self.noise.state()], self.hazard_left)
    }

    /// The chance that [`Chance::save`] gave.
    pub(super) fn restored(([rng, stripe, noise], hazard_left): ([[u64; 4]; 3], f64)) -> Self {
        let [rng, stripe, noise] = [rng, stripe, noise].map(Rng::from_state);
        Self { rng, stripe, noise, hazard_left }
    }

    /// Reads of this hazard together were made; returns whether at least one failed.
    #[inline]
    pub(super) fn has_failed(&mut self, hazard: f64) -> bool {
        self.hazard_left -= hazard;
        self.hazard_left < 0.0
    }

    /// Takes one of the failures of the reads until now, if there is one left.
    pub(super) fn next_failure(&mut self) -> bool {
        let has_failed = self.hazard_left < 0.0;
        if has_failed {
            self.hazard_left += self.rng.exponential();
        }
        has_failed
    }

    /// The seed of the noise of a page that is decoded.
    pub(super) fn noise_seed(&mut self) -> u64 {
        self.noise.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of a die in which reads failed.
    fn failures(chance: &mut Chance, batches: u32) -> Vec<u32> {
        let mut failed = Vec::new();
        for batch in 0..batches {
            chance.has_failed(0.01);
            while chance.next_failure() {
                failed.push(batch);
            }
        }
        failed
    }

    #[test]
    fn a_die_fails_the_same_reads_whatever_the_others_do() {
        let mut alone = Chance::of_dies(7, 2);
        let first = failures(&mut alone[1], 5000);
        assert!((20..=85).contains(&first.len()), "{} of 50 expected", first.len());
        let mut beside = Chance::of_dies(7, 8);
        let mut second = Vec::new();
        for part in 0..50 {
            failures(&mut beside[0], 37 * part);
            let part = failures(&mut beside[1], 100).into_iter().map(|batch| part * 100 + batch);
            second.extend(part);
        }
        assert_eq!(first, second);
        assert_ne!(first, failures(&mut Chance::of_dies(7, 2)[0], 5000), "another die");
        assert_ne!(first, failures(&mut Chance::of_dies(8, 2)[1], 5000), "another seed");
    }
}
