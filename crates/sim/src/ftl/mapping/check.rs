//! What each way to map excludes.

use crate::config::ConfigError;
use crate::ftl::config::{FtlConfig, WearConfig, WriteFrontiers};
use crate::ftl::gc::GcConfig;

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
