//! How long each phase takes: page types, cell modes, process variation, wear.
//!
//! ```text
//! sense    tR of the page type
//! program  tPROG of the page type, or of the whole wordline, or the passes of it
//! erase    tBERS
//! each     × (1 + die deviation) × (1 + block deviation) × (1 + slope × cycles / rated cycles)
//! ```
//! Deviations are normal, drawn once from the seed, cut at three standard deviations. Programs get
//! faster with wear because cells charge more easily, erases slower because they discharge less
//! well; both linear here (assumed; Grupp et al., MICRO 2009, report the directions).

use super::die::Transaction;
use crate::geometry::Geometry;
use crate::memory::prefetch_at;
use crate::nand::{NandConfig, ProgramMode, Timing};
use crate::rng::Rng;
use crate::units::{BlockId, Ns};

/// See the module.
pub struct PhaseTimes {
    timing: Timing,
    slc: Timing,
    mode: ProgramMode,
    /// Bus time of the command and address cycles of one operation.
    pub(super) command: Ns,
    /// Bus time of one slot.
    pub(super) slot: Ns,
    retry_setup: Ns,
    /// What sets the voltages of a further read for soft decisions.
    pub(super) soft_setup: Ns,
    /// Factors of variation; empty without it.
    block_factors: Vec<f32>,
    program_slope: f64,
    erase_slope: f64,
    rated_cycles: f64,
    is_scaled: bool,
}

impl PhaseTimes {
    /// The times of a resolved device.
    pub fn new(nand: &NandConfig, geometry: &Geometry, retry_setup: Ns, seed: u64) -> Self {
        let wear = nand.wear_timing.clone().unwrap_or_default();
        let block_factors = variation(nand, geometry, seed);
        let bytes = geometry.page_bytes as f64 * f64::from(geometry.physical_pages_per_block)
            / f64::from(geometry.pages_per_block);
        Self {
            timing: nand.timing(),
            slc: nand.slc_timing(),
            mode: nand.program.clone(),
            command: nand.command_time(),
            slot: Ns::from_us(bytes / nand.bus_mt_s()),
            retry_setup,
            soft_setup: Ns(0),
            is_scaled: !block_factors.is_empty() || nand.wear_timing.is_some(),
            block_factors,
            program_slope: wear.program_slope,
            erase_slope: wear.erase_slope,
            rated_cycles: f64::from(nand.max_pe_cycles.unwrap_or(1)),
        }
    }

    fn of(&self, is_slc: bool) -> &Timing {
        if is_slc {
            &self.slc
        } else {
            &self.timing
        }
    }

    /// Number of page types.
    pub fn page_types(&self) -> u32 {
        self.timing.read.len() as u32
    }

    /// Times that the data of a program crosses the bus.
    pub fn transfer_count(&self, is_slc: bool) -> u64 {
        match &self.mode {
            ProgramMode::MultiPass(passes) if !is_slc => passes.passes_us.len() as u64,
            _ => 1,
        }
    }

    /// Asks for the factor of a block.
    #[inline]
    pub(super) fn prefetch(&self, block: BlockId) {
        prefetch_at(&self.block_factors, block.0 as usize);
    }

    /// tR.
    #[inline]
    pub fn sense(&self, block: BlockId, is_slc: bool, page_type: u8) -> Ns {
        let times = &self.of(is_slc).read;
        let time = times[usize::from(page_type) % times.len()];
        self.scaled(time, block, 0.0)
    }

    /// What one more retry step takes.
    pub fn retry(&self, sense: Ns) -> Ns {
        sense + self.retry_setup
    }

    /// Bus time of the data of a read.
    #[inline]
    pub(super) fn out(&self, read: &Transaction) -> Ns {
        Ns(self.slot.0 * u64::from(read.slots + read.rereads.crossings))
    }

    /// tPROG.
    #[inline]
    pub fn program(&self, block: BlockId, is_slc: bool, page_type: u8, cycles: u32) -> Ns {
        let time = match &self.mode {
            ProgramMode::OneShot(mode) if !is_slc => Ns::from_us(mode.t_wordline_us),
            ProgramMode::MultiPass(mode) if !is_slc => Ns::from_us(mode.passes_us.iter().sum()),
            _ => {
                let times = &self.of(is_slc).program;
                times[usize::from(page_type) % times.len()]
            }
        };
        self.scaled(time, block, self.program_slope * f64::from(cycles))
    }

    /// tBERS.
    pub fn erase(&self, block: BlockId, is_slc: bool, cycles: u32) -> Ns {
        self.scaled(self.of(is_slc).erase, block, self.erase_slope * f64::from(cycles))
    }

    #[inline]
    fn scaled(&self, time: Ns, block: BlockId, slope_cycles: f64) -> Ns {
        if !self.is_scaled {
            return time;
        }
        let variation = self.block_factors.get(block.0 as usize).map_or(1.0, |&f| f64::from(f));
        // A tenth of the nominal time is faster than any flash; it keeps absurd slopes finite.
        let wear = (1.0 + slope_cycles / self.rated_cycles).max(0.1);
        Ns::rounded(time.0 as f64 * variation * wear)
    }
}

/// Factor of each block: its die's times its own.
fn variation(nand: &NandConfig, geometry: &Geometry, seed: u64) -> Vec<f32> {
    let Some(variation) = &nand.variation else { return Vec::new() };
    let mut rng = Rng::stream(seed, "nand.variation");
    let mut deviation = |stddev: f64| (1.0 + stddev * rng.normal().clamp(-3.0, 3.0)).max(0.1);
    let mut factors = Vec::with_capacity(geometry.block_count() as usize);
    for _ in 0..geometry.die_count {
        let die = deviation(variation.die_stddev);
        for _ in 0..geometry.blocks_per_die {
            factors.push((die * deviation(variation.block_stddev)) as f32);
        }
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::DeviceConfig;

    fn times(nand: &str) -> (PhaseTimes, Geometry) {
        let json = format!(
            r#"{{"nand": {{"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
                "blocks_per_plane": 400, "pages_per_block": 32, "max_pe_cycles": 1000,
                "timing": {{"t_read_us": 50, "t_program_us": [400, 800], "t_erase_us": 3000}}
                {nand}}}}}"#
        );
        let config = DeviceConfig::resolve(&json).expect("a device");
        let geometry = config.geometry();
        (PhaseTimes::new(&config.nand, &geometry, Ns(0), 5), geometry)
    }

    #[test]
    fn wear_moves_programs_down_and_erases_up() {
        let (times, _) = times(r#", "wear_timing": {"program_slope": -0.2, "erase_slope": 1.0}"#);
        let block = BlockId(0);
        assert_eq!(times.program(block, false, 1, 0), Ns(800_000));
        assert_eq!(times.program(block, false, 1, 500), Ns(720_000));
        assert_eq!(times.erase(block, false, 500), Ns(4_500_000));
        assert_eq!(times.sense(block, false, 0), Ns(50_000));
    }

    #[test]
    fn variation_has_the_asked_spread() {
        let (times, geometry) = times(r#", "variation": {"block_stddev": 0.05}"#);
        let all: Vec<f64> = (0..geometry.block_count())
            .map(|block| times.sense(BlockId(block), false, 0).0 as f64 / 50_000.0)
            .collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let spread = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / all.len() as f64;
        // 800 blocks: 4.5 standard errors of mean and of standard deviation.
        assert!((mean - 1.0).abs() < 4.5 * 0.05 / 28.0, "{mean}");
        assert!((spread.sqrt() - 0.05).abs() < 4.5 * 0.05 / 40.0, "{}", spread.sqrt());
    }
}
