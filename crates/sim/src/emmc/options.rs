//! Properties of a card other than its flash: revision, sizes, the command of the high priority
//! interrupt.

use serde::{Deserialize, Serialize};

use crate::config::{self, ConfigError};

/// The revision of the standard that a card follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Standard {
    /// JESD84-B451.
    #[serde(rename = "4.51")]
    V451,
    /// JESD84-B50.
    #[serde(rename = "5.0")]
    V50,
    /// JESD84-B51.
    #[serde(rename = "5.1")]
    V51,
}

impl Standard {
    /// `EXT_CSD_REV`.
    pub fn revision(self) -> u8 {
        match self {
            Self::V451 => 6,
            Self::V50 => 7,
            Self::V51 => 8,
        }
    }
}

/// Which command interrupts the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hpi {
    /// `STOP_TRANSMISSION`.
    Cmd12,
    /// `SEND_STATUS`.
    Cmd13,
}

/// See the module. Every key may be left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// `4.51`, `5.0` or `5.1`; default `5.1`.
    pub standard: Standard,
    /// `cmd12` or `cmd13`; default `cmd13`.
    pub hpi: Hpi,
    /// Volatile cache, in KiB, 0 to 65536; default: the size of the drive's write buffer.
    pub cache_kib: Option<u32>,
    /// Upper limit of the size of the user area, in bytes; up to 2 GiB the card is addressed by
    /// bytes. Default: as much as the drive has room for.
    pub user_bytes_max: Option<u64>,
    /// Each boot partition, in units of 128 KiB, 1 to 255; default 32 on drives of a GiB or more, 1
    /// on smaller ones.
    pub boot_size_mult: Option<u8>,
    /// The RPMB partition, in units of 128 KiB, 1 to 128; default as the boot partitions.
    pub rpmb_size_mult: Option<u8>,
    /// KiB written or given up since the last background operations at which `BKOPS_STATUS` is 1, 2
    /// and 3; default 4096, 16384, 65536. Assumed: no data sheet states it.
    pub bkops_kib: [u32; 3],
    /// Value of the write counter of the RPMB on a new card; default 0. Only tests of the counter's
    /// end need another value.
    pub rpmb_counter: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            standard: Standard::V51,
            hpi: Hpi::Cmd13,
            cache_kib: None,
            user_bytes_max: None,
            boot_size_mult: None,
            rpmb_size_mult: None,
            bkops_kib: [4096, 16384, 65536],
            rpmb_counter: 0,
        }
    }
}

impl Options {
    /// Reads options.
    ///
    /// # Errors
    /// [`ConfigError`] with the key and its accepted values.
    pub fn resolve(json: &str) -> Result<Self, ConfigError> {
        let found: Self = config::parse(json).map_err(|error| error.under("emmc"))?;
        let refuse = |key: &str, text: String| Err(ConfigError::new(format!("emmc.{key}"), text));
        if let Some(kib) = found.cache_kib.filter(|&kib| kib > 65536) {
            return refuse("cache_kib", format!("{kib} is out of range; accepted: 0 to 65536"));
        }
        if found.boot_size_mult == Some(0) {
            return refuse("boot_size_mult", "0 is out of range; accepted: 1 to 255".to_owned());
        }
        if let Some(size) = found.rpmb_size_mult.filter(|size| !(1..=128).contains(size)) {
            return refuse("rpmb_size_mult", format!("{size} is out of range; accepted: 1 to 128"));
        }
        let [one, two, three] = found.bkops_kib;
        if !(0 < one && one < two && two < three) {
            let text = format!("{one}, {two}, {three} do not rise; accepted: three that do");
            return refuse("bkops_kib", text);
        }
        Ok(found)
    }
}
