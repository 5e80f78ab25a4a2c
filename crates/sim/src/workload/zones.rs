//! What a drive with zones takes of a workload: zones written from end to end, and reset.

use super::pattern::log_zones::LogZonesConfig;
use super::pattern::PatternConfig;
use super::precondition::PreconditionStep;
use super::{Space, ZoneSpace};
use crate::config::ConfigError;

/// What of a workload its zones depend on.
pub(super) struct Asked<'a> {
    pub(super) pattern: &'a PatternConfig,
    pub(super) request_bytes: u64,
    pub(super) reads_or_trims: bool,
    pub(super) tenant_count: usize,
    pub(super) active_range_pct: f64,
    pub(super) steps: &'a [PreconditionStep],
}

impl Space {
    /// Refuses other work than that of a workload file, on a drive with zones.
    pub(super) fn refuse_zones(self, path: &str, what: &str) -> Result<(), ConfigError> {
        if self.zones.is_none() {
            return Ok(());
        }
        let message = format!(
            "{what} on a drive with ftl.mapping zoned, whose zones are written in order: Zone \
             Invalid Write; accepted: a workload with pattern log_zones"
        );
        Err(ConfigError::new(path, message))
    }

    /// Refuses writes of a workload that the zones of the drive would not take.
    pub(super) fn check_zones(self, asked: &Asked<'_>) -> Result<(), ConfigError> {
        let Some(zones) = self.zones else { return Ok(()) };
        let PatternConfig::LogZones(log) = asked.pattern else {
            return self.refuse_zones("pattern", "writes anywhere");
        };
        if asked.tenant_count > 0 {
            return self.refuse_zones("tenants", "tenants, each with a log of its own,");
        }
        if asked.reads_or_trims {
            return self.refuse_zones("read_pct", "reads and trims beside the log");
        }
        if asked.active_range_pct < 100.0 {
            return self.refuse_zones("active_range_pct", "a part of the zones");
        }
        check_log(log, zones)?;
        if !asked.request_bytes.is_multiple_of(self.page_bytes) {
            let bytes = asked.request_bytes;
            let message = format!(
                "{bytes} B with ftl.mapping zoned, whose logical blocks are {} B: Invalid Field \
                 in Command; accepted: a multiple of that",
                self.page_bytes
            );
            return Err(ConfigError::new("block_size_bytes", message));
        }
        let is_fill = |step: &PreconditionStep| matches!(step, PreconditionStep::SequentialFill(_));
        if asked.steps.iter().any(is_fill) {
            return self.refuse_zones("precondition", "sequential_fill, which resets no zone,");
        }
        // A stage leaves its zones open, and the next begins others.
        let stages = 1 + asked.steps.len() as u32;
        let active = log.open.saturating_mul(stages);
        if active > zones.active_max {
            let message = format!(
                "{} open zones in each of {stages} stages leave {active} active: Too Many Active \
                 Zones; accepted: at most {} (ftl.mapping.active_zones_max {})",
                log.open,
                zones.active_max / stages,
                zones.active_max
            );
            return Err(ConfigError::new("pattern.open", message));
        }
        Ok(())
    }
}

/// Whether a log writes the zones that the drive has.
fn check_log(log: &LogZonesConfig, zones: ZoneSpace) -> Result<(), ConfigError> {
    let ZoneSpace { zone_bytes, capacity_bytes, .. } = zones;
    let refuse = |key: &str, value: u64, status: &str, accepted: u64| {
        let message = format!("{value} on zones of the drive: {status}; accepted: {accepted}");
        Err(ConfigError::new(format!("pattern.{key}"), message))
    };
    if log.zone_bytes != zone_bytes {
        return refuse("zone_bytes", log.zone_bytes, "Zone Invalid Write", zone_bytes);
    }
    let capacity = log.capacity_bytes.unwrap_or(log.zone_bytes);
    if capacity != capacity_bytes {
        return refuse(
            "capacity_bytes",
            capacity,
            "Zone Boundary Error, or zones that stay active",
            capacity_bytes,
        );
    }
    if log.open > zones.open_max {
        let message = format!(
            "{} zones are written in turn, and {} may be open: the drive would close and open one \
             for each request; accepted: at most {}",
            log.open, zones.open_max, zones.open_max
        );
        return Err(ConfigError::new("pattern.open", message));
    }
    Ok(())
}
