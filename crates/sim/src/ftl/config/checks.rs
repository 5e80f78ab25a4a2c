//! What the `ftl` section of a device file accepts: ranges of single keys, and keys that contradict
//! each other.
//!
//! The keys are declared in `config` and `options`; what needs the rest of the device (how many
//! blocks the reserve, the open blocks and a cache leave) is checked where the device is.

use super::allocation::GroupDies;
use super::options::{
    CollectionConfig, Copyback, DataKind, FoldWhen, Parity, SlcCacheConfig, StripeParity,
    WritesComplete,
};
use super::{FtlConfig, HotColdFrontiers, StaticWear, WearConfig, WriteFrontiers};
use crate::config::ConfigError;

/// A count outside its range.
fn out_of_range(key: &str, value: impl std::fmt::Display, accepted: &str) -> ConfigError {
    ConfigError::new(key, format!("{value} is out of range; accepted: {accepted}"))
}

impl FtlConfig {
    /// Ranges of single keys, and contradictions among the keys of this section.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let ratio = |key: &str, value: f64, last: f64| {
            if value > 0.0 && value <= last {
                Ok(())
            } else {
                let message =
                    format!("{value} is out of range; accepted: a ratio above 0, at most {last}");
                Err(ConfigError::new(key, message))
            }
        };
        if self.over_provisioning_pct > 4.0 {
            let message = format!(
                "{} is out of range; accepted: a ratio above 0, at most 4 (7 % is 0.07)",
                self.over_provisioning_pct
            );
            return Err(ConfigError::new("over_provisioning_pct", message));
        }
        ratio("over_provisioning_pct", self.over_provisioning_pct, 4.0)?;
        if !(0.0..=1.0).contains(&self.gc_trigger_free_pct) {
            let message = format!(
                "{} is out of range; accepted: a ratio from 0 to 1",
                self.gc_trigger_free_pct
            );
            return Err(ConfigError::new("gc_trigger_free_pct", message));
        }
        if !(0.0..=0.5).contains(&self.metadata_share) {
            return Err(out_of_range("metadata_share", self.metadata_share, "0 to 0.5"));
        }
        if let Some(us) = self.fill_timeout_us.filter(|us| !(*us > 0.0 && *us <= 1e9)) {
            return Err(out_of_range("fill_timeout_us", us, "above 0, at most 1e9"));
        }
        if self.writes_complete == WritesComplete::Programmed && self.fill_timeout_us.is_none() {
            let message = "programmed without ftl.fill_timeout_us, where a write waits for ever \
                           for the rest of its program unit; accepted: in_memory, or a timeout";
            return Err(ConfigError::new("writes_complete", message));
        }
        if self.gc_reserve_blocks == Some(0) {
            return Err(ConfigError::new(
                "gc_reserve_blocks",
                "0 is out of range; accepted: 1 or more blocks",
            ));
        }
        if self.write_buffer_pages > 1 << 24 {
            let message =
                format!("{} is out of range; accepted: 0 to {}", self.write_buffer_pages, 1 << 24);
            return Err(ConfigError::new("write_buffer_pages", message));
        }
        if let Some(bytes) = self.coalesce_bytes {
            if !(1024..=1 << 24).contains(&bytes) || !bytes.is_power_of_two() {
                let accepted = "a power of two from 1024 to 16777216";
                return Err(out_of_range("coalesce_bytes", bytes, accepted));
            }
        }
        if !self.write_buffer_absorbs && self.write_buffer_pages == 0 {
            let message =
                "false needs a write buffer; accepted: true, or write_buffer_pages above 0";
            return Err(ConfigError::new("write_buffer_absorbs", message));
        }
        if let WriteFrontiers::HotCold(HotColdFrontiers { fraction }) = self.write_frontiers {
            if !(fraction > 0.0 && fraction < 1.0) {
                let message = format!("{fraction} is out of range; accepted: between 0 and 1");
                return Err(ConfigError::new("write_frontiers.fraction", message));
            }
        }
        if self.wear_leveling == WearConfig::Static(StaticWear { threshold: 0 }) {
            let message = "0 is out of range; accepted: 1 or more erases";
            return Err(ConfigError::new("wear_leveling.threshold", message));
        }
        self.check_options()?;
        self.check_placement()?;
        self.gc_policy.check().map_err(|error| error.under("gc_policy"))
    }

    /// Contradictions between handles and other keys.
    fn check_placement(&self) -> Result<(), ConfigError> {
        self.placement.check()?;
        if self.placement.is_none() {
            return Ok(());
        }
        let refused = if matches!(self.write_frontiers, WriteFrontiers::HotCold(_)) {
            (
                "write_frontiers",
                "hot_cold with ftl.placement: two would decide where a page goes; accepted: single \
                 or host_gc with ftl.placement",
            )
        } else if self.placement.ids() < 2 {
            return Ok(());
        } else if self.has_slc_cache() {
            (
                "slc_cache",
                "with ftl.placement: the cache has one open block for the data of all ids; \
                 accepted: none with ftl.placement",
            )
        } else if self.keeps_apart() && matches!(self.wear_leveling, WearConfig::Static(_)) {
            (
                "wear_leveling",
                "static with ftl.placement persistently: data that it moves shares one open \
                 block; accepted: none or dynamic, or isolation initially",
            )
        } else {
            return Ok(());
        };
        Err(ConfigError::new(refused.0, refused.1))
    }

    fn check_options(&self) -> Result<(), ConfigError> {
        // First: the checks below accept what a map without collections does not.
        self.check_mapping()?;
        self.check_collection()?;
        if self.copyback == Some(Copyback { limit: 0 }) {
            return Err(out_of_range("copyback.limit", 0, "1 to 255"));
        }
        if self.copyback.is_some() && matches!(self.write_frontiers, WriteFrontiers::HotCold(_)) {
            return Err(ConfigError::new(
                "copyback",
                "hot_cold sends pages of one victim to two blocks, which leaves no order that \
                 keeps planes; accepted: none with ftl.write_frontiers hot_cold",
            ));
        }
        self.check_refresh()?;
        self.check_slc_cache()?;
        self.allocation.check().map_err(|error| error.under("allocation"))?;
        self.check_superblock()?;
        if let Some(Parity::Stripe(StripeParity { stripe })) = self.parity {
            if !(2..=65_535).contains(&stripe) {
                return Err(out_of_range("parity.stripe", stripe, "2 to 65535"));
            }
            if self.copyback.is_some() {
                return Err(ConfigError::new(
                    "copyback",
                    "parity is computed from data that passes the controller, and pages copied \
                     inside the die do not; accepted: none with ftl.parity",
                ));
            }
        }
        self.check_compression()
    }

    /// Contradictions between superblocks and other keys.
    fn check_superblock(&self) -> Result<(), ConfigError> {
        let Some(superblock) = self.allocation.superblock() else {
            if self.has_die_parity() {
                return Err(ConfigError::new(
                    "parity",
                    "die_stripe without superblocks: a die's rows are in no order with those of \
                     the others; accepted: {stripe: N}, or ftl.allocation superblock",
                ));
            }
            if self.metadata_share > 0.0 {
                return Err(ConfigError::new(
                    "metadata_share",
                    "records of the drive are spread over the rows of superblocks; accepted: 0, or \
                     ftl.allocation superblock",
                ));
            }
            return Ok(());
        };
        let refused = if superblock.dies == GroupDies::Count(0) {
            ("allocation.dies", "0 dies; accepted: all, or 1 or more")
        } else if self.stripe() > 0 {
            (
                "parity",
                "a stripe inside a block, in superblocks whose rows lie on many dies; accepted: \
                 none or {kind: die_stripe} with ftl.allocation superblock",
            )
        } else if self.copyback.is_some() {
            (
                "copyback",
                "a copy stays inside its die, and moved pages go to the dies in turn; accepted: \
                 none with ftl.allocation superblock",
            )
        } else if self.compression.is_some() {
            (
                "compression",
                "a member of a row holds whole pages, and compressed data shares them; accepted: \
                 none with ftl.allocation superblock",
            )
        } else {
            return Ok(());
        };
        Err(ConfigError::new(refused.0, refused.1))
    }

    fn check_collection(&self) -> Result<(), ConfigError> {
        if let CollectionConfig::Steps(steps) = &self.collection {
            if !(1..=65_535).contains(&steps.step_pages) {
                return Err(out_of_range("collection.step_pages", steps.step_pages, "1 to 65535"));
            }
            if steps.hard_spare_blocks > steps.soft_spare_blocks {
                return Err(ConfigError::new(
                    "collection.hard_spare_blocks",
                    format!(
                        "{} is above soft_spare_blocks {}; accepted: at most that",
                        steps.hard_spare_blocks, steps.soft_spare_blocks
                    ),
                ));
            }
            self.needs_own_blocks("collection", "writes of the host would queue behind a step")?;
        }
        if let Some(idle) = &self.idle_collection {
            if !(idle.after_us >= 0.0 && idle.after_us <= 1e9) {
                return Err(out_of_range("idle_collection.after_us", idle.after_us, "0 to 1e9"));
            }
            if !matches!(self.collection, CollectionConfig::Steps(_)) {
                return Err(ConfigError::new(
                    "idle_collection",
                    "a whole collection cannot give way to a command; accepted: none, or \
                     ftl.collection steps",
                ));
            }
        }
        Ok(())
    }

    fn check_refresh(&self) -> Result<(), ConfigError> {
        let Some(refresh) = &self.refresh else { return Ok(()) };
        if let Some(days) = refresh.after_days.filter(|days| !(1e-6..=36_500.0).contains(days)) {
            return Err(out_of_range("refresh.after_days", days, "1e-6 to 36500"));
        }
        if let Some(rate) = refresh.at_rber.filter(|rate| !(*rate > 0.0 && *rate < 0.5)) {
            return Err(out_of_range("refresh.at_rber", rate, "above 0, below 0.5"));
        }
        if refresh.after_days.is_none() && refresh.at_rber.is_none() {
            return Err(ConfigError::new(
                "refresh",
                "neither after_days nor at_rber: nothing becomes due; accepted: none, or at least \
                 one of them",
            ));
        }
        Ok(())
    }

    fn check_slc_cache(&self) -> Result<(), ConfigError> {
        match &self.slc_cache {
            SlcCacheConfig::None(_) => return Ok(()),
            SlcCacheConfig::Static(cache) => {
                if cache.blocks_per_die < 2 {
                    let value = cache.blocks_per_die;
                    return Err(out_of_range("slc_cache.blocks_per_die", value, "2 or more"));
                }
                if cache.max_pe_cycles == Some(0) {
                    return Err(out_of_range("slc_cache.max_pe_cycles", 0, "1 or more"));
                }
            }
            SlcCacheConfig::Dynamic(_) => {}
            SlcCacheConfig::Hybrid(cache) => {
                if cache.max_pe_cycles == Some(0) {
                    return Err(out_of_range("slc_cache.max_pe_cycles", 0, "1 or more"));
                }
                let (ratio, is_idle) = (cache.fold_beside, cache.fold == FoldWhen::Idle);
                if !(0.0..=8.0).contains(&ratio) {
                    return Err(out_of_range("slc_cache.fold_beside", ratio, "0 to 8"));
                }
                if ratio > 0.0 && !is_idle {
                    let message = format!(
                        "{ratio} where writes wait for a fold when the cache is full; accepted: \
                         0, or fold idle"
                    );
                    return Err(ConfigError::new("slc_cache.fold_beside", message));
                }
                if cache.fold != FoldWhen::Full && self.idle_collection.is_none() {
                    return Err(ConfigError::new(
                        "slc_cache.fold",
                        "there are no pauses to fold in; accepted: full, or ftl.idle_collection",
                    ));
                }
            }
        }
        self.needs_own_blocks("slc_cache", "moved pages would fill the cache")
    }

    /// Refuses open blocks that host and moved pages share.
    fn needs_own_blocks(&self, key: &str, reason: &str) -> Result<(), ConfigError> {
        if matches!(self.write_frontiers, WriteFrontiers::HostGc(_)) {
            return Ok(());
        }
        Err(ConfigError::new(
            "write_frontiers",
            format!(
                "with ftl.{key}, pages of host and collection need open blocks of their own, \
                     or {reason}; accepted: host_gc"
            ),
        ))
    }

    /// Whether the other keys allow map units smaller than a page.
    pub(super) fn check_units(&self) -> Result<(), ConfigError> {
        let key = match (&self.parity, &self.copyback) {
            (Some(Parity::Stripe(_)), _) => "parity",
            (_, Some(_)) => "copyback",
            (_, None) => return Ok(()),
        };
        let message = format!(
            "smaller than a page with ftl.{key}, which works on whole pages; accepted: none with \
             ftl.{key}"
        );
        Err(ConfigError::new("map_unit_bytes", message))
    }

    fn check_compression(&self) -> Result<(), ConfigError> {
        let Some(compression) = &self.compression else { return Ok(()) };
        let ratio = compression.ratio.unwrap_or(1.0);
        match compression.data {
            DataKind::File if compression.ratio.is_none() => Err(ConfigError::new(
                "compression.ratio",
                "missing; accepted with data file: above 0, at most 1",
            )),
            DataKind::Random if ratio < 1.0 => Err(ConfigError::new(
                "compression.ratio",
                format!("{ratio} for random data, which does not compress; accepted: 1"),
            )),
            _ if !(ratio > 0.0 && ratio <= 1.0) => {
                Err(out_of_range("compression.ratio", ratio, "above 0, at most 1"))
            }
            _ if ratio < 1.0 && self.parity.is_some() => Err(ConfigError::new(
                "compression",
                "parity protects whole pages, and compressed data shares them; accepted: none \
                 with ftl.parity",
            )),
            _ if ratio < 1.0 && self.copyback.is_some() => Err(ConfigError::new(
                "copyback",
                "a copy inside the die moves a whole page, and compressed data shares its page \
                 with data that may be dead; accepted: none where ftl.compression has a ratio \
                 below 1",
            )),
            _ => Ok(()),
        }
    }
}
