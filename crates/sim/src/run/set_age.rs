//! Age that is set instead of written: erase counts, and the blocks that failed on the way.

use serde_json::{json, Value};

use super::simulation::Simulation;
use crate::config::ConfigError;
use crate::workload::precondition::CYCLES_MAX;
use crate::workload::{Job, Wear};

impl Simulation {
    /// Gives a drive that holds nothing the wear of one whose blocks were erased `cycles` times on
    /// average, each of them by a ratio of up to `spread` more or less, as drawn from `seed`.
    /// Blocks that fail on the way are retired; returns how many.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `warp` for numbers out of range, and where pages hold data.
    pub fn warp(&mut self, cycles: f64, spread: f64, seed: u64) -> Result<u32, ConfigError> {
        let refuse = |key, message: String| Err(ConfigError::new(key, message));
        if !(0.0..=CYCLES_MAX).contains(&cycles) {
            return refuse("warp.cycles", format!("{cycles}; accepted: 0 to 1e6"));
        }
        if !(0.0..=1.0).contains(&spread) {
            return refuse("warp.spread", format!("{spread}; accepted: 0 to 1"));
        }
        if self.is_written() {
            return refuse("warp", "the drive holds data; purge it first".to_owned());
        }
        Ok(self.age(Wear { cycles, spread }, seed))
    }

    /// Refuses a job with a step that wears a drive which will hold data by then, if its map cannot
    /// be worn so.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the step.
    pub fn check_ages(&self, job: &Job) -> Result<(), ConfigError> {
        let steps = &job.precondition;
        let Some(index) = steps.iter().rposition(|step| step.wear.is_some()) else {
            return Ok(());
        };
        let mapping = &self.config().ftl.mapping;
        let writes = steps[..index].iter().any(|step| !step.loads.is_empty());
        if !(mapping.merges() || mapping.zoned().is_some()) || !(self.is_written() || writes) {
            return Ok(());
        }
        let message = format!(
            "age of a drive that holds data, with ftl.mapping {}, whose blocks have their places; \
             accepted: as the first step, on an empty drive",
            mapping.name()
        );
        Err(ConfigError::new(format!("precondition[{index}]"), message))
    }

    /// How worn the drive is: `{blocks, erase_count_mean, erase_count_max, free_blocks,
    /// erase_counts}`, of good blocks; the last are pairs of an erase count and how many blocks
    /// have it, the smallest count first.
    pub fn wear(&self) -> Value {
        let (wear, free_blocks) = self.worn();
        let blocks = wear.blocks();
        json!({
            "blocks": blocks,
            "erase_count_mean": (blocks > 0).then(|| wear.erases() as f64 / f64::from(blocks)),
            "erase_count_max": wear.highest(),
            "free_blocks": free_blocks,
            "erase_counts": wear.iter().filter(|(_, blocks)| *blocks > 0).collect::<Vec<_>>(),
        })
    }
}
