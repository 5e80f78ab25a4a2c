//! Checks of a workload for a drive with zones: these are written from end to end, and reset.

use super::pattern::log_zones::LogZonesConfig;
use super::pattern::PatternConfig;
use super::precondition::PreconditionStep;
use super::tenant::TenantConfig;
use super::{Space, ZoneSpace};
use crate::config::ConfigError;

/// The parts of a workload that matter for its zones.
pub(super) struct Asked<'a> {
    pub(super) pattern: &'a PatternConfig,
    pub(super) request_bytes: u64,
    pub(super) reads_or_trims: bool,
    pub(super) active_range_pct: f64,
    pub(super) steps: &'a [PreconditionStep],
    /// Whether the number of outstanding requests is constant.
    pub(super) is_closed_loop: bool,
    /// Whether the total is a number of requests.
    pub(super) counts_requests: bool,
    /// A key that is given and that a host of zones does not use.
    pub(super) ignored: Option<&'static str>,
}

impl Space {
    /// Refuses other work than that of a workload file, on a drive with zones.
    pub(super) fn refuse_zones(self, path: &str, what: &str) -> Result<(), ConfigError> {
        if self.zones.is_none() {
            return Ok(());
        }
        let message = format!(
            "{what} on a drive with ftl.mapping zoned, whose zones are written in order: Zone \
             Invalid Write; accepted: a workload with pattern log_zones, host_log or zone_actions"
        );
        Err(ConfigError::new(path, message))
    }

    /// Refuses writes of a workload that the zones of the drive would not take.
    pub(super) fn check_zones(self, asked: &Asked<'_>) -> Result<(), ConfigError> {
        let Some(zones) = self.zones else { return Ok(()) };
        let is_for_zones = matches!(
            asked.pattern,
            PatternConfig::LogZones(_) | PatternConfig::HostLog(_) | PatternConfig::ZoneActions(_)
        );
        if !is_for_zones {
            return self.refuse_zones("pattern", "writes anywhere");
        }
        if asked.reads_or_trims {
            return self.refuse_zones("read_pct", "reads and trims beside the log");
        }
        if asked.active_range_pct < 100.0 {
            return self.refuse_zones("active_range_pct", "a part of the zones");
        }
        self.check_request(asked.request_bytes)?;
        match asked.pattern {
            PatternConfig::HostLog(log) => {
                log.check_zones(self.logical_bytes, zones, asked.request_bytes)?;
                return asked.check_host_log();
            }
            PatternConfig::ZoneActions(actions) => {
                actions.check_zones(self.logical_bytes, zones, asked.request_bytes)?;
                return asked.check_actions();
            }
            _ => {}
        }
        let PatternConfig::LogZones(log) = asked.pattern else { return Ok(()) };
        check_log(log, zones)?;
        self.check_steps(asked.steps)?;
        zones.check_open("pattern.open", log.open, asked.steps)
    }

    /// Refuses requests that are no whole pages.
    fn check_request(self, request_bytes: u64) -> Result<(), ConfigError> {
        if request_bytes.is_multiple_of(self.page_bytes) {
            return Ok(());
        }
        let message = format!(
            "{request_bytes} B with ftl.mapping zoned, whose logical blocks are {} B: Invalid \
             Field in Command; accepted: a multiple of that",
            self.page_bytes
        );
        Err(ConfigError::new("block_size_bytes", message))
    }

    /// Refuses steps before the measured part that write elsewhere than in zones.
    fn check_steps(self, steps: &[PreconditionStep]) -> Result<(), ConfigError> {
        let is_fill = |step: &PreconditionStep| matches!(step, PreconditionStep::SequentialFill(_));
        if steps.iter().any(is_fill) {
            return self.refuse_zones("precondition", "sequential_fill, which resets no zone,");
        }
        Ok(())
    }

    /// Refuses tenants whose writes the zones of the drive would not take: each that writes has its
    /// own zones.
    pub(super) fn check_tenants(
        self,
        tenants: &[TenantConfig],
        steps: &[PreconditionStep],
    ) -> Result<(), ConfigError> {
        let (Some(zones), [_, ..]) = (self.zones, tenants) else { return Ok(()) };
        let mut open: u32 = 0;
        for (index, tenant) in tenants.iter().enumerate() {
            let under = |error: ConfigError| error.under(&format!("tenants[{index}]"));
            if !tenant.traffic().writes() {
                continue;
            }
            open = open.saturating_add(self.check_writer(tenant, zones).map_err(under)?);
            let own = tenant.pages(self);
            let shares = |other: &&TenantConfig| {
                let theirs = other.pages(self);
                other.traffic().writes() && own.start < theirs.end && theirs.start < own.end
            };
            if let Some(other) = tenants[..index].iter().find(shares) {
                let message = format!(
                    "[{}, {}] shares zones with tenant `{}`, and a zone has one writer: Zone \
                     Invalid Write; accepted: parts that do not overlap",
                    tenant.range_pct[0], tenant.range_pct[1], other.name
                );
                return Err(under(ConfigError::new("range_pct", message)));
            }
        }
        self.check_steps(steps)?;
        let of_workload = |step: &PreconditionStep| {
            matches!(step, PreconditionStep::Workload(_)) && !step.is_of_tenants()
        };
        if steps.iter().any(of_workload) {
            return self.refuse_zones("precondition", "writes of no tenant");
        }
        if open > zones.open_max {
            let message = format!(
                "{open} zones are written at once, and {} may be open: the drive would close and \
                 open one for each request; accepted: fewer in `pattern.open`",
                zones.open_max
            );
            return Err(ConfigError::new("tenants", message));
        }
        zones.check_open("tenants", open, steps)
    }

    /// Returns how many zones a tenant that writes has open at once.
    fn check_writer(self, tenant: &TenantConfig, zones: ZoneSpace) -> Result<u32, ConfigError> {
        let PatternConfig::LogZones(log) = &tenant.pattern else {
            let message = "writes anywhere on a drive with ftl.mapping zoned, whose zones are \
                           written in order: Zone Invalid Write; accepted: log_zones, \
                           or `read_pct: 100`";
            return Err(ConfigError::new("pattern", message));
        };
        self.check_request(tenant.block_size_bytes.bytes_max())?;
        check_log(log, zones)?;
        Ok(log.open)
    }
}

impl ZoneSpace {
    /// Refuses more active zones than there may be: a stage leaves its zones open, and the next
    /// begins others.
    fn check_open(
        self,
        path: &str,
        open: u32,
        steps: &[PreconditionStep],
    ) -> Result<(), ConfigError> {
        let rests = |step: &&PreconditionStep| matches!(step, PreconditionStep::Rest(_));
        let stages = 1 + (steps.len() - steps.iter().filter(rests).count()) as u32;
        let active = open.saturating_mul(stages);
        if active <= self.active_max {
            return Ok(());
        }
        let message = format!(
            "{open} open zones in each of {stages} stages leave {active} active: Too Many Active \
             Zones; accepted: at most {} (ftl.mapping.active_zones_max {})",
            self.active_max / stages,
            self.active_max
        );
        Err(ConfigError::new(path, message))
    }
}

impl Asked<'_> {
    /// Refuses keys without effect on a host that decides the time and place of its writes.
    fn check_host(&self, name: &str) -> Result<(), ConfigError> {
        if !self.is_closed_loop {
            let message = format!("arrivals with pattern {name}; accepted: a number");
            return Err(ConfigError::new("queue_depth", message));
        }
        let Some(key) = self.ignored else { return Ok(()) };
        Err(ConfigError::new(key, format!("has no meaning with pattern {name}; accepted: none")))
    }

    fn check_host_log(&self) -> Result<(), ConfigError> {
        self.check_host("host_log")?;
        for (index, step) in self.steps.iter().enumerate() {
            let is_possible = match step {
                PreconditionStep::Workload(step) => step.until.is_none(),
                PreconditionStep::Rest(_) | PreconditionStep::Age(_) => true,
                PreconditionStep::SequentialFill(_) => false,
            };
            if !is_possible {
                let message = "the host of host_log writes on from step to step, and the \
                               amplification of the drive is always 1; accepted: `{kind: \
                               workload, drive_writes: N}`, `rest` and `age`";
                return Err(ConfigError::new(format!("precondition[{index}]"), message));
            }
        }
        Ok(())
    }

    fn check_actions(&self) -> Result<(), ConfigError> {
        self.check_host("zone_actions")?;
        if !self.steps.is_empty() {
            let message = "with pattern zone_actions, whose steps say what happens; accepted: none";
            return Err(ConfigError::new("precondition", message));
        }
        if !self.counts_requests {
            let message = "commands for zones may move no data; accepted: `ios`";
            return Err(ConfigError::new("total", message));
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
