//! The health of a drive in the terms of a drive's own report: the SMART / Health Information log
//! (NVM Express Base Specification), and for eMMC the estimates of the extended CSD (JESD84-B51).
//! Counts are those of the drive since the run began, preconditioning included.
//!
//! | field | here |
//! |---|---|
//! | available spare | blocks that a pool can do without, of those at first; the least pool |
//! | percentage used | mean erase count over the rated cycles, at most 255 |
//! | media errors | page reads that nothing could correct |
//! | critical warning | 1 spare below its threshold, 4 wear or errors, 8 read-only |

use serde_json::{json, Value};

use super::drive::Drive;
use crate::op::HostOp;
use crate::reads::ReadTally;
use crate::units::SECTOR_BYTES;

/// Available spare below which a drive warns, in percent: assumed, as most drives have it.
const SPARE_THRESHOLD_PCT: u32 = 10;
/// A data unit is a thousand times 512 bytes.
pub(super) const DATA_UNIT_BYTES: u64 = 512_000;
const USED_MAX_PCT: f64 = 255.0;

/// The part of the report that is of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wellness {
    /// Bits of the critical warning.
    pub warning: u8,
    /// Available spare, in percent.
    pub spare_pct: u8,
    /// Below this the drive warns, in percent.
    pub spare_threshold_pct: u8,
    /// Percentage used, at most 255.
    pub used_pct: u8,
    /// Page reads that nothing could correct.
    pub media_errors: u64,
}

/// Facts of the blocks of a drive.
pub(crate) struct BlockFigures {
    /// Blocks out of use.
    pub(crate) bad: u64,
    /// Least, mean and highest erase count of good blocks.
    pub(crate) erase_counts: [u64; 3],
    /// Share of all blocks that is erased, in percent.
    pub(crate) free_pct: u8,
}

/// The facts of its blocks.
pub(crate) fn block_figures(drive: &Drive) -> BlockFigures {
    let (wear, blocks) = (drive.media.wear(), drive.geometry.block_count());
    let least = wear.iter().find(|(_, blocks)| *blocks > 0).map_or(0, |(count, _)| count);
    let erased = drive.ftl.figures().erased_blocks();
    BlockFigures {
        bad: u64::from(blocks - wear.blocks()),
        erase_counts: [
            u64::from(least),
            wear.erases() / u64::from(wear.blocks().max(1)),
            u64::from(wear.highest()),
        ],
        free_pct: (100 * erased / u64::from(blocks).max(1)) as u8,
    }
}

/// The wellness of a drive.
pub(crate) fn wellness(drive: &Drive) -> Wellness {
    let spare = spare_share(drive);
    let spare_pct = (100.0 * spare) as u32;
    let used = used_share(drive);
    let used_pct = (100.0 * used).min(USED_MAX_PCT) as u32;
    let tally: &ReadTally = drive.errors.tally();
    let media_errors: u64 = tally.uncorrectable.iter().sum();
    let warning = u32::from(spare_pct < SPARE_THRESHOLD_PCT)
        | u32::from(used_pct >= 100 || media_errors > 0) << 2
        | u32::from(drive.is_worn_out) << 3;
    Wellness {
        warning: warning as u8,
        spare_pct: spare_pct as u8,
        spare_threshold_pct: SPARE_THRESHOLD_PCT as u8,
        used_pct: used_pct as u8,
        media_errors,
    }
}

/// The health of a drive, as a result has it: with blocks that fail, and of an eMMC.
pub(crate) fn section(drive: &Drive) -> Option<(String, Value)> {
    let is_emmc = drive.config.host.link.is_emmc();
    let has_health = drive.config.nand.failures.is_some() || is_emmc;
    has_health.then(|| ("health".to_owned(), report(drive)))
}

/// The health of a drive.
fn report(drive: &Drive) -> Value {
    let it = wellness(drive);
    let units =
        |op: HostOp| (drive.host.sectors[op.index()] * SECTOR_BYTES).div_ceil(DATA_UNIT_BYTES);
    let mut health = json!({
        "critical_warning": it.warning,
        "available_spare_pct": it.spare_pct,
        "available_spare_threshold_pct": it.spare_threshold_pct,
        "percentage_used": it.used_pct,
        "data_units_read": units(HostOp::Read),
        "data_units_written": units(HostOp::Write),
        "host_read_commands": drive.host.commands[HostOp::Read.index()],
        "host_write_commands": drive.host.commands[HostOp::Write.index()],
        "media_errors": it.media_errors,
        "unsafe_shutdowns": 0,
    });
    if drive.config.host.link.is_emmc() {
        let [life, pre_eol] = emmc_estimates(drive);
        health["emmc"] = json!({"device_life_time_est_typ_b": life, "pre_eol_info": pre_eol});
    }
    health
}

/// What the extended CSD of an eMMC has of its life: `DEVICE_LIFE_TIME_EST_TYP_B` by the mean
/// erase count, `PRE_EOL_INFO` by the spare blocks that are left.
pub(crate) fn emmc_estimates(drive: &Drive) -> [u32; 2] {
    [life_estimate(used_share(drive)), pre_end_of_life(spare_share(drive))]
}

/// Mean erase count over the rated cycles.
fn used_share(drive: &Drive) -> f64 {
    let rated = f64::from(drive.config.nand.max_pe_cycles.unwrap_or(u32::MAX));
    let wear = drive.media.wear();
    wear.erases() as f64 / f64::from(wear.blocks().max(1)) / rated
}

/// Spare blocks over those of the new drive, of the pool with the least.
fn spare_share(drive: &Drive) -> f64 {
    let setup = drive.config.pool_setup(0);
    let at_first = drive.config.spare_blocks_per_pool(&setup);
    let now = drive.ftl.figures().dispensable_blocks();
    let share = |(now, first): (u32, u32)| f64::from(now) / f64::from(first.max(1));
    now.into_iter().zip(at_first).map(share).fold(1.0, f64::min)
}

/// `DEVICE_LIFE_TIME_EST`: tenths of the life used, from 1; 11 when it is exceeded.
fn life_estimate(used: f64) -> u32 {
    if used > 1.0 {
        11
    } else {
        ((10.0 * used) as u32 + 1).min(10)
    }
}

/// `PRE_EOL_INFO`: 1 normal, 2 when 80 % of the spare blocks are used, 3 when 90 % are.
fn pre_end_of_life(spare: f64) -> u32 {
    1 + u32::from(spare <= 0.2) + u32::from(spare <= 0.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_change_at_the_steps_of_the_standard() {
        let steps = [(0.0, 1), (0.099, 1), (0.1, 2), (0.95, 10), (1.0, 10), (1.01, 11)];
        for (used, estimate) in steps {
            assert_eq!(life_estimate(used), estimate, "{used}");
        }
        for (spare, info) in [(1.0, 1), (0.21, 1), (0.2, 2), (0.11, 2), (0.1, 3), (0.0, 3)] {
            assert_eq!(pre_end_of_life(spare), info, "{spare}");
        }
    }
}
