//! Age that is set instead of written: erase counts, and the blocks that failed on the way.

use serde_json::{json, Value};

use super::simulation::Simulation;
use crate::config::ConfigError;
use crate::drive::Drive;
use crate::ftl::PurgeScope;
use crate::nand::WearOut;
use crate::rng::Rng;
use crate::units::BlockId;
use crate::workload::precondition::CYCLES_MAX;
use crate::workload::{Job, Wear};

/// Gives the blocks of a drive this wear, each that of a draw from `seed`; blocks that fail on the
/// way are lost, or will be at their next use. Returns how many.
///
/// # Panics
/// If the drive holds data where not the log decides where pages go.
pub(super) fn set_age(drive: &mut Drive, wear: Wear, seed: u64) -> u32 {
    let base = Rng::stream(seed, "warp").next_u64();
    let target = |block: BlockId| {
        let place = u64::from(block.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut rng = Rng::from_seed(base ^ place);
        let cycles = wear.cycles * (1.0 + wear.spread * (2.0 * rng.unit() - 1.0));
        // The part of a cycle is the share of blocks that have one more.
        (cycles + rng.unit()) as u32
    };
    let lost = drive.ftl.age(&mut drive.media, target);
    if !drive.ftl.is_written() {
        // Pages that wait in the write buffer stay there.
        let setup = drive.config.pool_setup(drive.seed);
        drive.ftl.purge(&drive.config.ftl, &setup, &mut drive.media, PurgeScope::Written);
        drive.connect_choosers();
    }
    lost
}

/// A warning, if blocks have more wear than they are rated for.
pub(super) fn beyond_rating(drive: &Drive, label: &str, wear: Wear) -> Option<String> {
    let nand = &drive.config.nand;
    let rated = f64::from(nand.max_pe_cycles?);
    let most = wear.cycles * (1.0 + wear.spread);
    match nand.wear_out {
        WearOut::Retire if most >= rated => Some(format!(
            "{label}: blocks that reach nand.max_pe_cycles {rated} are taken out of use \
             (nand.wear_out retire), and the drive refuses writes as soon as it can spare no more; \
             nand.wear_out ignore keeps them"
        )),
        WearOut::Ignore if most > rated => Some(format!(
            "{label}: more than the nand.max_pe_cycles {rated} that the blocks are rated for: \
             error rates there are extrapolated"
        )),
        _ => None,
    }
}

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

    /// How worn the drive is: `{blocks, erase_count_mean, erase_count_max, free_blocks}`, of good
    /// blocks.
    pub fn wear(&self) -> Value {
        let (wear, free_blocks) = self.worn();
        let blocks = wear.blocks();
        json!({
            "blocks": blocks,
            "erase_count_mean": (blocks > 0).then(|| wear.erases() as f64 / f64::from(blocks)),
            "erase_count_max": wear.highest(),
            "free_blocks": free_blocks,
        })
    }
}
