//! Age that is set instead of written: erase counts, and the blocks that failed on the way.

use serde_json::{json, Value};

use super::simulation::Simulation;
use crate::config::ConfigError;
use crate::rng::Rng;
use crate::units::BlockId;

/// Erases of a block that can be set, far above what any cell takes.
const CYCLES_MAX: f64 = 1e6;

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
        if self.mapped_pages() > 0 {
            return refuse("warp", "the drive holds data; purge it first".to_owned());
        }
        let target = |block: BlockId| {
            let place = u64::from(block.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut rng = Rng::from_seed(Rng::stream(seed, "warp").next_u64() ^ place);
            let wear = cycles * (1.0 + spread * (2.0 * rng.unit() - 1.0));
            // The part of a cycle is the share of blocks that have one more.
            (wear + rng.unit()) as u32
        };
        Ok(self.age(target))
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
