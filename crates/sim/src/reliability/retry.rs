//! The read-retry table that follows from charge loss: sets of level offsets to try in turn.
//!
//! When a page is uncorrectable, the drive reads it again with its levels moved. The table divides
//! the shift expected until a horizon (wear, time, temperature) into equal steps; each step holds
//! the offsets, one for each level, that are best after that share of the shift. Since charge loss
//! goes with the logarithm of time, equal shifts are times that grow geometrically.
//!
//! Vendors' tables are unpublished; the offsets of this one are optimal in the model.

use opennandlab_ecc::cell::ReadLevels;

use super::Stress;
use crate::config::ConfigError;

/// Steps that a table has at most.
pub const STEPS_MAX: usize = 64;

/// One entry of a read-retry table.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryStep {
    /// Hours, at the temperature of the horizon, after which this step is the best.
    pub retention_h: f64,
    /// How far each level is moved from its default, gaps, lowest level first.
    pub offsets: Vec<f64>,
}

/// Level offsets in `steps` equal shares of the shift at `horizon`, smallest first: from the levels
/// of fresh flash to those that are best after each share. `shift` must not fall with the hours.
///
/// # Errors
/// [`ConfigError`] for no steps or more than 64.
pub fn retry_table(
    fresh: &ReadLevels,
    best: impl Fn(&Stress) -> ReadLevels,
    shift: impl Fn(&Stress) -> f64,
    horizon: &Stress,
    steps: usize,
) -> Result<Vec<RetryStep>, ConfigError> {
    if !(1..=STEPS_MAX).contains(&steps) {
        let message = format!("{steps} is not usable; accepted: 1 to {STEPS_MAX}");
        return Err(ConfigError::new("steps", message));
    }
    let whole = shift(horizon);
    Ok((1..=steps)
        .map(|step| {
            let share = step as f64 / steps as f64;
            let retention_h = hours_until(share * whole, &shift, horizon);
            let best = best(&Stress { retention_h, ..*horizon });
            let offsets = best.at().iter().zip(fresh.at()).map(|(to, from)| to - from).collect();
            RetryStep { retention_h, offsets }
        })
        .collect())
}

/// Hours after which the shift has reached `part`, at most those of the horizon.
fn hours_until(part: f64, shift: impl Fn(&Stress) -> f64, horizon: &Stress) -> f64 {
    let (mut low, mut high) = (0.0, horizon.retention_h);
    // Halves down to a last digit of the smallest share.
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if shift(&Stress { retention_h: middle, ..*horizon }) < part {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::super::StateModel;
    use super::*;

    fn horizon() -> Stress {
        Stress { pe_cycles: 3000.0, retention_h: 8760.0, ..Stress::default() }
    }

    #[test]
    fn the_last_step_is_best_at_the_horizon_and_every_step_at_its_own_time() {
        let model = StateModel::default();
        let table = model.retry_steps(&horizon(), 5).expect("5 steps");
        assert!((table[4].retention_h / 8760.0 - 1.0).abs() < 1e-9);
        let mean = |stress: &Stress, step: Option<&RetryStep>| {
            let levels = model.default_levels();
            let levels = step.map_or(levels, |step| levels.moved(&step.offsets));
            (0..3).map(|page| model.rber_at(stress, page, &levels)).sum::<f64>() / 3.0
        };
        for (index, step) in table.iter().enumerate() {
            let then = Stress { retention_h: step.retention_h, ..horizon() };
            let ours = mean(&then, Some(step));
            assert!(ours < mean(&then, None), "better than the default levels");
            for (other_index, other) in table.iter().enumerate() {
                assert!(index == other_index || ours < mean(&then, Some(other)));
            }
        }
    }

    #[test]
    fn shifts_grow_in_equal_steps_and_most_for_the_highest_level() {
        let table = StateModel::default().retry_steps(&horizon(), 4).expect("4 steps");
        let top: Vec<f64> = table.iter().map(|step| step.offsets[6]).collect();
        assert!(top.windows(2).all(|pair| pair[1] < pair[0]), "{top:?}");
        assert!((top[3] / top[0] - 4.0).abs() < 0.05, "{top:?}");
        assert!(table[3].offsets[6] < table[3].offsets[3]);
        assert!(table[3].offsets[3] < table[3].offsets[1]);
    }

    #[test]
    fn no_steps_are_no_table() {
        for steps in [0, 65] {
            let error = StateModel::default().retry_steps(&horizon(), steps).unwrap_err();
            assert_eq!(error.path, "steps");
        }
    }
}
