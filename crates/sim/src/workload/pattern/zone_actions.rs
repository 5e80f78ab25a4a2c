//! Zone commands one by one, as a file lists them.
//!
//! ```text
//! steps:  {do: open, zone: 3}  {do: append, zone: 3, count: 10}  {do: finish, zone: 3}
//! ```
//! The list runs from its first step to its last, and then again, until the workload has asked for
//! `total.ios` commands. Commands that the drive refuses are counted by their status, and the list
//! continues: a file can also ask for forbidden commands. The host remembers how many requests it
//! sent to each zone since its reset; a write goes behind them unless it has `at`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::random::Random;
use super::Parameters;
use crate::config::ConfigError;
use crate::op::{HostCommand, HostOp, ZoneAction, ZoneOp};
use crate::units::SECTOR_BYTES;
use crate::workload::addresses::Extent;
use crate::workload::check::refuse;
use crate::workload::synthetic::SyntheticParts;
use crate::workload::{Generator, ZoneSpace};

/// Kinds of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// Reads requests of the zone, from `at` on.
    Read,
    /// Writes requests at the write pointer as the host knows it, or from `at` on.
    Write,
    /// Appends requests.
    Append,
    /// Opens the zone.
    Open,
    /// Closes it.
    Close,
    /// Finishes it.
    Finish,
    /// Resets it.
    Reset,
    /// Takes it offline, which a drive does with a read-only zone.
    Offline,
    /// Opens it with a random write area.
    OpenZrwa,
    /// Flushes its area, up to the last request written before, or up to `at` and with it.
    FlushZrwa,
    /// Opens all closed zones.
    OpenAll,
    /// Closes all open zones.
    CloseAll,
    /// Finishes all active zones.
    FinishAll,
    /// Resets all active and full zones.
    ResetAll,
    /// Takes all read-only zones offline.
    OfflineAll,
}

impl Deed {
    fn op(self) -> HostOp {
        let op = match self {
            Self::Read => return HostOp::Read,
            Self::Write => return HostOp::Write,
            Self::Append => ZoneOp::Append,
            Self::Open => ZoneOp::One(ZoneAction::Open),
            Self::Close => ZoneOp::One(ZoneAction::Close),
            Self::Finish => ZoneOp::One(ZoneAction::Finish),
            Self::Reset => ZoneOp::One(ZoneAction::Reset),
            Self::Offline => ZoneOp::One(ZoneAction::Offline),
            Self::OpenZrwa => ZoneOp::One(ZoneAction::OpenZrwa),
            Self::FlushZrwa => ZoneOp::One(ZoneAction::FlushZrwa),
            Self::OpenAll => ZoneOp::All(ZoneAction::Open),
            Self::CloseAll => ZoneOp::All(ZoneAction::Close),
            Self::FinishAll => ZoneOp::All(ZoneAction::Finish),
            Self::ResetAll => ZoneOp::All(ZoneAction::Reset),
            Self::OfflineAll => ZoneOp::All(ZoneAction::Offline),
        };
        HostOp::Zone(op)
    }

    /// Whether it moves data, in requests.
    fn has_data(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Append)
    }

    /// Whether it has a place in the zone.
    fn has_place(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::FlushZrwa)
    }

    fn is_of_all(self) -> bool {
        matches!(self.op(), HostOp::Zone(ZoneOp::All(_)))
    }
}

/// A step of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneStep {
    /// `read`, `write`, `append`, `open`, `close`, `finish`, `reset`, `offline`, one of the last
    /// five with `_all` behind it, `open_zrwa` or `flush_zrwa`.
    #[serde(rename = "do")]
    pub deed: Deed,
    /// The zone, from 0; default 0.
    #[serde(default)]
    pub zone: u32,
    /// Number of zones, starting with this one; default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub zones: u32,
    /// Requests to each zone, of `read`, `write` and `append`; default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub count: u32,
    /// The first request, counted from the start of the zone in requests; `read`: default 0;
    /// `write`: default behind the requests written before; `flush_zrwa`: default the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
}

fn one() -> u32 {
    1
}

/// Parameters of `zone_actions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneActionsConfig {
    /// The steps, in order: 1 to 65536.
    #[schemars(length(min = 1, max = 65536))]
    pub steps: Vec<ZoneStep>,
}

impl ZoneActionsConfig {
    /// Refuses steps beyond the zones of a drive.
    pub(crate) fn check_zones(
        &self,
        logical_bytes: u64,
        zones: ZoneSpace,
        request_bytes: u64,
    ) -> Result<(), ConfigError> {
        let zone_count = logical_bytes / zones.zone_bytes;
        for (index, step) in self.steps.iter().enumerate() {
            let path = |key: &str| format!("pattern.steps[{index}].{key}");
            let limit = u64::from(step.zone) + u64::from(step.zones);
            if step.zones == 0 || limit > zone_count {
                let message = format!(
                    "zones {} to {} of a drive that has {zone_count}: LBA Out of Range; accepted: \
                     0 to {}",
                    step.zone,
                    limit.saturating_sub(1),
                    zone_count - 1
                );
                return Err(ConfigError::new(path("zone"), message));
            }
            if step.deed.is_of_all() && (step.zone, step.zones) != (0, 1) {
                let message = "an action on all zones; accepted: neither `zone` nor `zones`";
                return Err(ConfigError::new(path("zone"), message));
            }
            if step.count == 0 || (step.count > 1 && !step.deed.has_data()) {
                let accepted = "1; with read, write and append more";
                return Err(refuse(&path("count"), step.count, accepted));
            }
            if step.at.is_some() && !step.deed.has_place() {
                let message = "what has no place in the zone; accepted: with read, write and \
                               flush_zrwa alone";
                return Err(ConfigError::new(path("at"), message));
            }
            // Requests of a step stay on the drive: other errors are reported by its zones.
            let first = u64::from(step.at.unwrap_or(0));
            let end = u64::from(step.zone + step.zones - 1) * zones.zone_bytes
                + (first + u64::from(step.count)) * request_bytes;
            if step.deed.has_place() && end > logical_bytes {
                let message = format!(
                    "the last request ends at {end} B of a drive of {logical_bytes} B: LBA Out of \
                     Range; accepted: less"
                );
                return Err(ConfigError::new(path("count"), message));
            }
        }
        Ok(())
    }
}

impl Parameters for ZoneActionsConfig {
    /// Unused: every command has its zone.
    type Addresses = Random;

    fn check(&self, _: Extent, request_sectors: &[u32]) -> Result<(), ConfigError> {
        if !(1..=65_536).contains(&self.steps.len()) {
            return Err(refuse("steps", format!("{} steps", self.steps.len()), "1 to 65536"));
        }
        if request_sectors.len() != 1 {
            let message = "requests of several sizes; accepted: one size with zone_actions";
            return Err(ConfigError::new("steps", message));
        }
        Ok(())
    }

    fn compile(&self, _: u64) -> Random {
        Random
    }

    fn generator(&self, parts: SyntheticParts, _: u64) -> Box<dyn Generator> {
        let zones = parts.zones.expect("checked: the drive has zones");
        let zone_sectors = zones.zone_bytes / SECTOR_BYTES;
        Box::new(ZoneActions {
            steps: self.steps.clone(),
            zone_sectors,
            request_sectors: parts.sizes.sector_counts[0],
            sector_count: parts.extent.sector_count,
            sent: vec![0; (parts.extent.sector_count / zone_sectors) as usize],
            at: (0, 0, 0),
        })
    }
}

/// See the module.
struct ZoneActions {
    steps: Vec<ZoneStep>,
    zone_sectors: u64,
    request_sectors: u32,
    /// Of the drive.
    sector_count: u64,
    /// By zone: requests since its reset.
    sent: Vec<u32>,
    /// Step, zone of the step, request of the zone.
    at: (usize, u32, u32),
}

impl ZoneActions {
    fn next(&mut self) -> HostCommand {
        let (step_index, zone_index, request) = self.at;
        let step = self.steps[step_index];
        self.at = if request + 1 < step.count {
            (step_index, zone_index, request + 1)
        } else if zone_index + 1 < step.zones {
            (step_index, zone_index + 1, 0)
        } else {
            ((step_index + 1) % self.steps.len(), 0, 0)
        };
        let zone = step.zone + zone_index;
        let start = u64::from(zone) * self.zone_sectors;
        let size = self.request_sectors;
        let sent = &mut self.sent[zone as usize];
        let place = match (step.deed, step.at) {
            (Deed::Write, None) => *sent,
            (Deed::FlushZrwa, None) => sent.saturating_sub(1),
            (_, at) => at.unwrap_or(0) + request,
        };
        match step.deed {
            Deed::Append => *sent = sent.saturating_add(1),
            Deed::Write => *sent = place.saturating_add(1),
            Deed::Reset => *sent = 0,
            Deed::ResetAll => self.sent.fill(0),
            _ => {}
        }
        let op = step.deed.op();
        if step.deed == Deed::FlushZrwa {
            // The last sector of the request, in the last page that is flushed.
            let last = start + (u64::from(place) + 1) * u64::from(size) - 1;
            return HostCommand::new(op, last.min(self.sector_count - 1), 0);
        }
        if !step.deed.has_data() {
            return HostCommand::new(op, start, 0);
        }
        if step.deed == Deed::Append {
            return HostCommand::new(op, start, size);
        }
        // A host that writes on and on behind a full zone stays on the drive.
        let last = self.sector_count - u64::from(size);
        HostCommand::new(op, (start + u64::from(place) * u64::from(size)).min(last), size)
    }
}

impl Generator for ZoneActions {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        batch.extend((0..count).map(|_| self.next()));
    }

    fn retarget(&mut self, _: &mut HostCommand) {}
}
