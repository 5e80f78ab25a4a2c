//! `controller.power`: what the controller, its memory and the host link draw.
//!
//! ```text
//! energy = idle_w t_idle + active_w t_busy + command_uj commands + host_nj_per_kib KiB
//! ```
//! The drive is busy while a command of the host is outstanding. Left out: power states and the
//! time to leave them, work of the firmware for collections (the energy of bus transfers can
//! include it: `nand.energy.transfer_nj_per_kib`). `host.throttle.thermal` has separate keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{check_amount, ConfigError};

/// Power of everything in a drive but the flash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerConfig {
    /// Power while no command of the host is outstanding, in watts; 0 to 1e6; no default.
    pub idle_w: f64,
    /// Power while commands of the host are outstanding, before what follows, in watts; at least
    /// `idle_w`, at most 1e6; left out: `idle_w`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_w: Option<f64>,
    /// Energy of a command of the host, in microjoules, 0 to 1e6; default 0.
    #[serde(default)]
    pub command_uj: f64,
    /// Energy of 1024 bytes that the host reads or writes (link, memory, encryption), in
    /// nanojoules, 0 to 1e6; default 0.
    #[serde(default)]
    pub host_nj_per_kib: f64,
}

impl PowerConfig {
    /// Ranges of the keys.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (key, value) in [
            ("idle_w", self.idle_w),
            ("active_w", self.active_w()),
            ("command_uj", self.command_uj),
            ("host_nj_per_kib", self.host_nj_per_kib),
        ] {
            check_amount(key, value)?;
        }
        if self.active_w() < self.idle_w {
            let message = format!(
                "{} W is less than the {} W of idle_w; accepted: idle_w to 1e6",
                self.active_w(),
                self.idle_w
            );
            return Err(ConfigError::new("active_w", message));
        }
        Ok(())
    }

    /// Power while commands of the host are outstanding.
    pub fn active_w(&self) -> f64 {
        self.active_w.unwrap_or(self.idle_w)
    }
}
