//! The interface protocol: how many commands it lets wait, and in which queues.
//!
//! | kind | commands at once | source |
//! |---|---|---|
//! | `ideal` | 1048576 | none: no interface limits it |
//! | `nvme` | 65535 per queue | `NVMe` base specification: 65536 entries, one stays empty |
//! | `sata_ncq` | 32 | Serial ATA: tags of native command queueing |
//! | `sas` | 254 | assumed: usual limit of a device for an initiator |
//! | `emmc` | 1; with `command_queue` 32 | eMMC 5.1 (JESD84-B51): tasks of the command queue |
//! | `ufs` | 32 | UFS (JESD220): slots of the transfer request list |

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arbitration::ArbitrationConfig;
use super::interface::Interface;
use super::link::LinkConfig;
use crate::config::{name_or_mapping, ConfigError, NoKeys};

/// Most commands that any drive here holds at once.
pub(super) const DEPTH_MAX: u32 = 1 << 20;

/// Submission queues of `nvme` (identifiers of 16 bits, without that of the administration), and
/// commands that wait in each (one entry of 65536 stays empty).
const NVME_QUEUES_MAX: u32 = 65_535;
const NVME_QUEUE_COMMANDS: u32 = 65_535;
const NCQ_TAGS: u32 = 32;
/// Assumed: see above.
const SAS_COMMANDS: u32 = 254;
const EMMC_TASKS: u32 = 32;
const UFS_SLOTS: u32 = 32;

/// Default depth of `ideal`.
const IDEAL_DEPTH: u32 = 65_536;

/// The protocol between host and drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProtocolConfig {
    /// No limits; every host has a separate queue, and commands are taken in order of arrival.
    Ideal(NoKeys),
    /// NVM Express: submission queues and arbitration between them.
    Nvme(NvmeConfig),
    /// Serial ATA with native command queueing: 32 commands.
    SataNcq(NoKeys),
    /// Serial attached SCSI: 254 commands.
    Sas(NoKeys),
    /// Embedded multimedia card: one command, or 32 with its command queue.
    Emmc(EmmcConfig),
    /// Universal flash storage: 32 commands.
    Ufs(NoKeys),
}

/// Parameters of `nvme`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NvmeConfig {
    /// Submission queues, 1 to 65535; tenant `i` uses queue `i mod queues`; default 16.
    #[schemars(range(min = 1, max = NVME_QUEUES_MAX))]
    pub queues: u32,
    /// Which queue is served next; default `round_robin`.
    #[serde(deserialize_with = "name_or_mapping")]
    #[schemars(schema_with = "super::arbitration::schema")]
    pub arbitration: ArbitrationConfig,
}

impl Default for NvmeConfig {
    fn default() -> Self {
        Self { queues: 16, arbitration: ArbitrationConfig::default() }
    }
}

/// Parameters of `emmc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EmmcConfig {
    /// Whether the command queue of eMMC 5.1 is on; default false.
    pub command_queue: bool,
}

impl ProtocolConfig {
    /// The protocol that is spoken over `link`.
    pub(super) fn of(link: &LinkConfig) -> Self {
        match link.interface() {
            Interface::Ideal => Self::Ideal(NoKeys {}),
            Interface::Nvme => Self::Nvme(NvmeConfig::default()),
            Interface::SataNcq => Self::SataNcq(NoKeys {}),
            Interface::Sas => Self::Sas(NoKeys {}),
            Interface::Emmc => Self::Emmc(EmmcConfig::default()),
            Interface::Ufs => Self::Ufs(NoKeys {}),
        }
    }

    fn interface(&self) -> Interface {
        match self {
            Self::Ideal(_) => Interface::Ideal,
            Self::Nvme(_) => Interface::Nvme,
            Self::SataNcq(_) => Interface::SataNcq,
            Self::Sas(_) => Interface::Sas,
            Self::Emmc(_) => Interface::Emmc,
            Self::Ufs(_) => Interface::Ufs,
        }
    }

    /// Commands that the interface lets the drive hold at once, and why.
    fn depth_limit(&self) -> (u32, String) {
        match self {
            Self::Ideal(_) => (DEPTH_MAX, "the most that is simulated".into()),
            Self::Nvme(nvme) => (
                nvme.queues.saturating_mul(NVME_QUEUE_COMMANDS).min(DEPTH_MAX),
                format!("nvme: {NVME_QUEUE_COMMANDS} per queue"),
            ),
            Self::SataNcq(_) => (NCQ_TAGS, format!("sata_ncq: {NCQ_TAGS} tags")),
            Self::Sas(_) => (SAS_COMMANDS, format!("sas: {SAS_COMMANDS} commands, assumed")),
            Self::Emmc(EmmcConfig { command_queue: true }) => {
                (EMMC_TASKS, format!("emmc: {EMMC_TASKS} tasks in its queue"))
            }
            Self::Emmc(_) => (1, "emmc without `command_queue: true`: one command".into()),
            Self::Ufs(_) => (UFS_SLOTS, format!("ufs: {UFS_SLOTS} slots")),
        }
    }

    /// Commands that the drive holds at once by default.
    pub(super) fn depth_default(&self) -> u32 {
        match self {
            Self::Ideal(_) => IDEAL_DEPTH,
            _ => self.depth_limit().0,
        }
    }

    /// Refuses protocols and depths that are impossible over `link`.
    pub(super) fn check(&self, link: &LinkConfig, depth: Option<u32>) -> Result<(), ConfigError> {
        let (spoken, own) = (link.interface(), self.interface());
        if spoken != Interface::Ideal && own != Interface::Ideal && spoken != own {
            let message = format!(
                "`{}` is not spoken over this link; accepted: {}, ideal",
                own.name(),
                spoken.name()
            );
            return Err(ConfigError::new("protocol", message));
        }
        if let Self::Nvme(nvme) = self {
            if !(1..=NVME_QUEUES_MAX).contains(&nvme.queues) {
                let message =
                    format!("{} is out of range; accepted: 1 to {NVME_QUEUES_MAX}", nvme.queues);
                return Err(ConfigError::new("protocol.queues", message));
            }
            nvme.arbitration.check().map_err(|error| error.under("protocol.arbitration"))?;
        }
        let (limit, reason) = self.depth_limit();
        match depth {
            Some(depth) if !(1..=limit).contains(&depth) => {
                let message = format!("{depth} is out of range; accepted: 1 to {limit} ({reason})");
                Err(ConfigError::new("queue_depth_max", message))
            }
            _ => Ok(()),
        }
    }
}
