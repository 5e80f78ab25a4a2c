//! What each way to map excludes.

use super::{DftlMapping, MappingConfig, ZonedMapping};
use crate::config::ConfigError;
use crate::ftl::config::{FtlConfig, WearConfig, WriteFrontiers};
use crate::ftl::gc::GcConfig;
use crate::geometry::Geometry;

impl FtlConfig {
    /// Contradictions between `ftl.mapping` and other keys of this section.
    pub(crate) fn check_mapping(&self) -> Result<(), ConfigError> {
        let name = self.mapping.name();
        let refuse = |key: &str, value: &str, accepted: &str| {
            let message = format!("{value} with ftl.mapping {name}; accepted: {accepted}");
            Err(ConfigError::new(key, message))
        };
        if self.mapping.is_page() {
            return Ok(());
        }
        if self.allocation.is_dynamic() {
            let value = "dynamic, which gives a page no die of its own,";
            return refuse("allocation", value, "CDP, or another order");
        }
        if self.parity.is_some() {
            return refuse("parity", "parity pages inside blocks that it fills by itself", "none");
        }
        if self.metadata_share > 0.0 {
            return refuse("metadata_share", "records inside blocks that it fills by itself", "0");
        }
        if !self.mapping.merges() {
            return Ok(());
        }
        let why = "which acts on garbage collection, and a map of blocks merges instead,";
        if self.collects_in_steps() {
            return refuse("collection", &format!("steps, {why}"), "whole");
        }
        if matches!(self.gc_policy, GcConfig::Python(_)) {
            return refuse("gc_policy", &format!("a policy of your own, {why}"), "left out");
        }
        if self.refresh.is_some() {
            return refuse("refresh", &format!("refresh, {why}"), "none");
        }
        if self.copyback.is_some() {
            return refuse("copyback", &format!("copyback, {why}"), "none");
        }
        if self.mapping.zoned().is_some() && self.write_buffer_pages > 0 {
            let value = format!("{}, where writes wait out of order,", self.write_buffer_pages);
            return refuse("write_buffer_pages", &value, "0");
        }
        if self.has_slc_cache() {
            let value = "a cache of single-bit blocks, which is folded by garbage collection,";
            return refuse("slc_cache", value, "none");
        }
        if !matches!(self.write_frontiers, WriteFrontiers::Single(_)) {
            let value = "open blocks by kind of write, where a page has its block,";
            return refuse("write_frontiers", value, "single");
        }
        if !self.placement.is_none() {
            let value = "open blocks by placement id, where a page has its block,";
            return refuse("placement", value, "none");
        }
        if matches!(self.wear_leveling, WearConfig::Static(_)) {
            return refuse("wear_leveling", &format!("static, {why}"), "dynamic or none");
        }
        Ok(())
    }
}

impl MappingConfig {
    /// Whether the sizes of a scheme fit the shape of the drive.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `ftl`.
    pub(crate) fn check_sizes(&self, geometry: &Geometry) -> Result<(), ConfigError> {
        if let Self::Dftl(dftl) = self {
            return dftl.check(geometry);
        }
        if !self.merges() {
            return Ok(());
        }
        if geometry.striping.turns().is_none() {
            let message = format!(
                "an order in which the pages of a die do not follow each other, with ftl.mapping \
                 {}; accepted: CDP, or another order whose planes come last",
                self.name()
            );
            return Err(ConfigError::new("allocation", message));
        }
        if geometry.units_per_page > 1 {
            let message = format!(
                "{} bytes, smaller than a page, with ftl.mapping {}; accepted: left out, or a \
                 page and more",
                geometry.page_bytes,
                self.name()
            );
            return Err(ConfigError::new("map_unit_bytes", message));
        }
        if let Self::Zoned(zoned) = self {
            return zoned.check(geometry);
        }
        let Some(blocks) = self.log_blocks() else { return Ok(()) };
        let pools = geometry.die_count;
        if blocks == 0 || !blocks.is_multiple_of(pools) {
            let message = format!(
                "{blocks} log blocks over {pools} {}: {} each and {} left over; accepted: a \
                 multiple of {pools}, from {pools} on",
                if pools == 1 { "die" } else { "dies or groups" },
                blocks / pools,
                blocks % pools
            );
            return Err(ConfigError::new("mapping.log_blocks", message));
        }
        Ok(())
    }
}

impl ZonedMapping {
    fn check(&self, geometry: &Geometry) -> Result<(), ConfigError> {
        let refuse = |key: &str, message| Err(ConfigError::new(format!("mapping.{key}"), message));
        let page = geometry.page_bytes;
        let row = u64::from(geometry.die_count) * u64::from(geometry.pages_per_block) * page;
        if self.zone_bytes == 0 || !self.zone_bytes.is_multiple_of(row) {
            let message = format!(
                "{} bytes are {:.3} blocks of {} pages on each of {} pools; accepted: a multiple \
                 of {row}",
                self.zone_bytes,
                self.zone_bytes as f64 / row as f64,
                geometry.pages_per_block,
                geometry.die_count
            );
            return refuse("zone_bytes", message);
        }
        if self.zone_bytes / page > u64::from(u32::MAX >> 4) {
            let message = format!("{} bytes; accepted: less than 2^28 pages", self.zone_bytes);
            return refuse("zone_bytes", message);
        }
        let capacity = self.capacity_bytes();
        if capacity == 0 || capacity > self.zone_bytes || !capacity.is_multiple_of(page) {
            let message = format!(
                "{capacity} bytes of a zone of {}; accepted: a multiple of {page}, at most the \
                 zone",
                self.zone_bytes
            );
            return refuse("zone_capacity_bytes", message);
        }
        if self.open_zones_max == 0 || self.open_zones_max > self.active_zones_max {
            let message = format!(
                "{} of {} active ones; accepted: 1 to active_zones_max",
                self.open_zones_max, self.active_zones_max
            );
            return refuse("open_zones_max", message);
        }
        Ok(())
    }
}

impl DftlMapping {
    fn check(&self, geometry: &Geometry) -> Result<(), ConfigError> {
        let entry = super::ENTRY_BYTES;
        let page = geometry.page_bytes;
        if self.cache_bytes < page {
            let message = format!(
                "{} bytes hold {} entries of {entry} bytes, and a map page of {page} bytes holds \
                 {}; accepted: {page} or more",
                self.cache_bytes,
                self.cache_bytes / entry,
                page / entry
            );
            return Err(ConfigError::new("mapping.cache_bytes", message));
        }
        Ok(())
    }
}
