//! A device file, resolved: every default filled in, every relation between keys checked.
//!
//! ```text
//! raw blocks ─ factory bad ─► good blocks: T = good * pages per block
//! U = floor(T / (1 + OP))     spare factor (T - U) / T     S_eff = 1 - U / (T - reserve pages)
//! ```
//! T leaves out parity pages. Blocks of a cache of single-bit cells come out of the spare area, and
//! so out of S_eff; what compression saves goes into it, since U follows the uncompressed T.
//! The reserve is what GC keeps erased. A device whose reserve, open blocks and bad blocks leave no
//! block of slack in some die is refused with these numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

use crate::config::{name_or_mapping, parse, ConfigError};
use crate::controller::ecc::{EccConfig, ReadErrors};
use crate::controller::retry::Retry;
use crate::controller::ControllerConfig;
use crate::ftl::{CollectionConfig, FtlConfig, Layout, PoolSetup, SlcCacheConfig};
use crate::geometry::Geometry;
use crate::host::HostConfig;
use crate::nand::{CellMode, CellType, NandConfig, WearOut};
use crate::reliability::{RberConfig, RberModel, WearKeys, Weibull};
use crate::units::DieId;
use crate::workload::Space;

/// A device file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceConfig {
    /// What the device is called in reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The flash.
    pub nand: NandConfig,
    /// The flash translation layer.
    pub ftl: FtlConfig,
    /// The flash controller.
    pub controller: ControllerConfig,
    /// Error correction.
    pub ecc: EccConfig,
    /// The host interface.
    pub host: HostConfig,
    /// Another model of the raw bit error rate than the Weibull curve through `nand.rber_floor` and
    /// `nand.rber_ceil`.
    #[serde(default, deserialize_with = "optional_model", skip_serializing_if = "Option::is_none")]
    pub reliability: Option<RberConfig>,
}

fn optional_model<'de, D: serde::Deserializer<'de>>(de: D) -> Result<Option<RberConfig>, D::Error> {
    name_or_mapping(de).map(Some)
}

impl DeviceConfig {
    /// Reads a device file given as JSON, fills defaults and checks it.
    ///
    /// # Errors
    /// [`ConfigError`] with the dotted path of the first key that cannot be used.
    pub fn resolve(json: &str) -> Result<Self, ConfigError> {
        let mut config: Self = parse(json)?;
        config.nand.check().map_err(|error| error.under("nand"))?;
        config.nand.fill_defaults();
        config.ftl.check().map_err(|error| error.under("ftl"))?;
        config.controller.check().map_err(|error| error.under("controller"))?;
        config.host.check().map_err(|error| error.under("host"))?;
        config.host.check_beside(config.ftl.write_buffer_pages)?;
        if let Some(model) = &config.reliability {
            model.check().map_err(|error| error.under("reliability"))?;
        }
        config.checked_geometry()?;
        config.checked_layout()?;
        config.read_errors(0).map_err(|error| error.under("ecc"))?;
        config.check_spare()?;
        Ok(config)
    }

    /// The resolved file.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a device config is plain data")
    }

    /// The JSON schema of device files.
    pub fn schema() -> Value {
        schemars::schema_for!(DeviceConfig).into()
    }

    /// Dotted path and source of the constants that the device uses.
    pub fn sources(&self) -> Vec<(String, String)> {
        let pairs = self.nand.sources().into_iter();
        let link = self.host.link.source().map(|source| ("host.link.mb_s", source));
        pairs.chain(link).map(|(path, source)| (path.to_owned(), source.to_owned())).collect()
    }

    /// The shape of the drive.
    pub fn geometry(&self) -> Geometry {
        self.checked_geometry().expect("resolve has checked the geometry")
    }

    fn checked_geometry(&self) -> Result<Geometry, ConfigError> {
        let geometry = self.nand.geometry().map_err(|error| error.under("nand"))?;
        self.ftl.shape(geometry).map_err(|error| error.under("ftl"))
    }

    /// Which pages of a block take data.
    pub fn layout(&self) -> Layout {
        self.checked_layout().expect("resolve has checked the layout")
    }

    fn checked_layout(&self) -> Result<Layout, ConfigError> {
        let bits_per_cell = match self.nand.cell_type {
            CellType::Slc => 1,
            CellType::Mlc => 2,
            CellType::Tlc => 3,
            CellType::Qlc => 4,
        };
        let layout = self.ftl.layout(&self.geometry(), bits_per_cell);
        layout.map_err(|error| error.under("ftl"))
    }

    /// Blocks of each die that are cache for good.
    fn cache_blocks_per_die(&self) -> u32 {
        match &self.ftl.slc_cache {
            SlcCacheConfig::Static(cache) => cache.blocks_per_die,
            _ => 0,
        }
    }

    /// Good data pages: T.
    pub fn physical_pages(&self) -> u64 {
        let geometry = self.geometry();
        if geometry.physical_pages_per_block == geometry.pages_per_block {
            return self.data_pages();
        }
        u64::from(self.good_blocks()) * u64::from(geometry.physical_pages_per_block)
    }

    /// Logical pages that all good blocks take: T, unless data is compressed.
    pub fn data_pages(&self) -> u64 {
        let (geometry, layout) = (self.geometry(), self.layout());
        let bad = self.nand.bad_blocks_per_die(&geometry);
        let pages = (0..).zip(bad).map(|(die, bad)| {
            let good = geometry.blocks_per_die.saturating_sub(bad);
            u64::from(good) * u64::from(layout.data_pages(DieId(die), CellMode::Native))
        });
        pages.sum()
    }

    fn good_blocks(&self) -> u32 {
        let geometry = self.geometry();
        geometry.block_count() - self.nand.bad_blocks_per_die(&geometry).iter().sum::<u32>()
    }

    /// Data pages of a block; the mean, where dies differ.
    fn data_pages_per_block(&self) -> f64 {
        self.data_pages() as f64 / f64::from(self.good_blocks())
    }

    /// Pages that the host can address: U.
    pub fn logical_pages(&self) -> u32 {
        // Rounded down, since a partial page is no page; 1e-12 keeps exact quotients from falling
        // short of themselves. Below 2^32 by the geometry.
        (self.physical_pages() as f64 / (1.0 + self.ftl.over_provisioning_pct) * (1.0 + 1e-12))
            as u32
    }

    /// The address space that the host sees.
    pub fn space(&self) -> Space {
        let page_bytes = self.nand.page_size_bytes;
        Space { logical_bytes: u64::from(self.logical_pages()) * page_bytes, page_bytes }
    }

    /// Spare blocks of the drive, `(T - U) / pages per block`, as a float.
    fn spare_blocks(&self) -> f64 {
        let spare_pages = self.data_pages() - u64::from(self.logical_pages());
        spare_pages as f64 / self.data_pages_per_block()
    }

    /// Erased blocks that GC keeps in the whole drive.
    pub fn reserve_blocks(&self) -> u32 {
        let asked = self
            .ftl
            .gc_reserve_blocks
            .unwrap_or_else(|| (self.spare_blocks() * self.ftl.gc_trigger_free_pct) as u32);
        asked.max(self.geometry().die_count * self.ftl.reserve_min())
    }

    /// Where the reserve comes from, with its arithmetic.
    fn reserve_text(&self) -> String {
        let reserve = self.reserve_blocks();
        let floor = self.geometry().die_count * self.ftl.reserve_min();
        let asked = match self.ftl.gc_reserve_blocks {
            Some(blocks) => format!("gc_reserve_blocks = {blocks}"),
            None => format!(
                "gc_trigger_free_pct {} x {:.1} spare blocks = {:.1}, rounded down",
                self.ftl.gc_trigger_free_pct,
                self.spare_blocks(),
                self.spare_blocks() * self.ftl.gc_trigger_free_pct
            ),
        };
        format!("{asked}; at least {floor} (dies x {}): {reserve} blocks", self.ftl.reserve_min())
    }

    /// What the pools of the drive are built with.
    pub fn pool_setup(&self, seed: u64) -> PoolSetup {
        let worn_limit = match self.nand.wear_out {
            WearOut::Retire => self.nand.max_pe_cycles.unwrap_or(u32::MAX),
            WearOut::Ignore => u32::MAX,
        };
        PoolSetup {
            geometry: self.geometry(),
            logical_pages: self.logical_pages(),
            reserve_blocks: self.reserve_blocks(),
            worn_limit,
            slc_worn_limit: self.slc_worn_limit(worn_limit),
            layout: self.layout(),
            seed,
        }
    }

    /// Erase count at which a block leaves a cache of fixed size.
    fn slc_worn_limit(&self, worn_limit: u32) -> u32 {
        match &self.ftl.slc_cache {
            SlcCacheConfig::Static(cache) if worn_limit != u32::MAX => {
                // Ten times: assumed, the order of published ratings of flash run at one bit.
                cache.max_pe_cycles.unwrap_or_else(|| worn_limit.saturating_mul(10))
            }
            _ => worn_limit,
        }
    }

    /// The model of the raw bit error rate.
    pub fn rber_model(&self) -> Box<dyn RberModel> {
        match &self.reliability {
            Some(model) => model.build(),
            None => Box::new(Weibull::for_device(&WearKeys {
                rber_floor: Some(self.nand.rber_floor),
                rber_ceil: Some(self.nand.rber_ceil),
                max_pe_cycles: f64::from(self.nand.max_pe_cycles.unwrap_or(1)),
            })),
        }
    }

    /// Read-error accounting for this device.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `ecc`, when there is no such code or its parity does not fit.
    pub fn read_errors(&self, seed: u64) -> Result<ReadErrors, ConfigError> {
        let oob_bytes = self.nand.oob_size_bytes.unwrap_or_default();
        let code = self.ecc.page_code(self.nand.page_size_bytes, oob_bytes)?;
        let retry = self.controller.read_retry.as_ref().map(Retry::new).unwrap_or_default();
        let copybacks = self.ftl.copyback.as_ref().map_or(0, |copyback| copyback.limit);
        let stripe = self.ftl.parity.as_ref().map_or(0, |parity| parity.stripe);
        let errors = ReadErrors::new(self.rber_model(), code, seed);
        Ok(errors.with(retry, copybacks.into()).with_stripe(stripe))
    }

    fn check_spare(&self) -> Result<(), ConfigError> {
        let setup = self.pool_setup(0);
        let geometry = setup.geometry;
        if self.logical_pages() < geometry.die_count {
            let message =
                format!("{} logical pages for {} dies", self.logical_pages(), geometry.die_count);
            return Err(ConfigError::new("ftl.over_provisioning_pct", message));
        }
        let cache = self.cache_blocks_per_die();
        for (die, bad) in self.nand.bad_blocks_per_die(&geometry).into_iter().enumerate() {
            let die = DieId(die as u32);
            let good = geometry.blocks_per_die.saturating_sub(bad);
            let needed = setup.good_blocks_min(die, &self.ftl);
            if good < needed + cache {
                return Err(self.no_spare_block(&setup, die, bad));
            }
            self.check_goals(die, good - cache - needed)?;
        }
        Ok(())
    }

    /// What a die has and needs, when that does not fit.
    fn no_spare_block(&self, setup: &PoolSetup, die: DieId, bad: u32) -> ConfigError {
        let geometry = setup.geometry;
        let good = geometry.blocks_per_die.saturating_sub(bad);
        let needed = setup.good_blocks_min(die, &self.ftl);
        let pages = geometry.logical_pages_of(die, setup.logical_pages);
        let data_pages = setup.layout.data_pages(die, CellMode::Native);
        let cache = self.cache_blocks_per_die();
        let (path, cached) = if cache > 0 && good >= needed {
            let room = good - needed;
            ("ftl.slc_cache.blocks_per_die", format!(", of which the cache may have {room}"))
        } else {
            ("ftl.over_provisioning_pct", String::new())
        };
        ConfigError::new(
            path,
            format!(
                "no spare block is left: die {} has {good} good blocks ({bad} bad) and needs {} = \
                 {} for {pages} logical pages + {} reserve + {} further open + 1 to collect + \
                 {cache} cache{cached}; raise over_provisioning_pct (now {}) or lower \
                 gc_reserve_blocks (now {} per device)",
                die.0,
                needed + cache,
                pages.div_ceil(data_pages),
                setup.reserve_of(die),
                self.ftl.extra_frontiers(),
                self.ftl.over_provisioning_pct,
                setup.reserve_blocks,
            ),
        )
    }

    /// Refuses spare blocks that a die can never have; `slack` are its good blocks beyond the least
    /// that it needs.
    fn check_goals(&self, die: DieId, slack: u32) -> Result<(), ConfigError> {
        // One block of slack is among the blocks needed.
        let reachable = slack + 1;
        let mut goals = Vec::new();
        if let CollectionConfig::Steps(steps) = &self.ftl.collection {
            goals.push(("ftl.collection.soft_spare_blocks", steps.soft_spare_blocks));
        }
        if let Some(idle) = &self.ftl.idle_collection {
            goals.push(("ftl.idle_collection.spare_blocks_goal", idle.spare_blocks_goal));
        }
        for (path, goal) in goals {
            if goal >= reachable {
                return Err(ConfigError::new(
                    path,
                    format!(
                        "{goal} spare blocks: die {} has {reachable} blocks beyond its logical \
                         pages, its reserve and its open blocks, and collecting down to the last \
                         would never end; accepted: less than {reachable}",
                        die.0
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Bytes of memory that a simulation of this device takes: arrays per page and per block.
    pub fn memory_bytes(&self) -> u64 {
        let geometry = self.geometry();
        let slots = u64::from(geometry.block_count()) << geometry.page_bits;
        let per_page =
            4 * geometry.page_count() as u64 + 4 * u64::from(self.logical_pages()) + slots / 8;
        // Counts, states, candidates and erased lists: measured 60 bytes per block while most are
        // erased.
        per_page + 60 * u64::from(geometry.block_count())
    }

    /// What follows from the device file, as the result file states it.
    pub fn effective(&self) -> Value {
        let geometry = self.geometry();
        let layout = self.layout();
        let data_pages = self.data_pages() as f64;
        let logical = f64::from(self.logical_pages());
        let cache_blocks = self.cache_blocks_per_die() * geometry.die_count;
        let idle_blocks = f64::from(self.reserve_blocks() + cache_blocks);
        let idle_pages = idle_blocks * self.data_pages_per_block();
        let block_pages = f64::from(geometry.pages_per_block);
        let page_bytes = self.nand.page_size_bytes;
        let code = self.ecc.page_code(page_bytes, u64::MAX).expect("resolve has checked the code");
        let timing = self.nand.timing();
        json!({
            "raw_bytes": u64::from(geometry.block_count())
                * u64::from(geometry.physical_pages_per_block)
                * page_bytes,
            "logical_bytes": u64::from(self.logical_pages()) * page_bytes,
            "physical_pages": self.physical_pages(),
            "logical_pages": self.logical_pages(),
            "bad_blocks": self.nand.bad_blocks_per_die(&geometry).iter().sum::<u32>(),
            "die_count": geometry.die_count,
            "blocks_per_die": geometry.blocks_per_die,
            "pages_per_block": geometry.pages_per_block,
            "planes_per_row": geometry.plane_count,
            "physical_pages_per_block": geometry.physical_pages_per_block,
            "parity_share": 1.0 - self.data_pages_per_block() / block_pages,
            "slc_cache_blocks": cache_blocks,
            "slc_pages_per_block": layout.pages(CellMode::Slc),
            "spare_factor": 1.0 - logical / data_pages,
            "spare_factor_effective": 1.0 - logical / (data_pages - idle_pages),
            "reserve_blocks": self.reserve_blocks(),
            "reserve_text": self.reserve_text(),
            "transfer_us": timing.transfer.0 as f64 * 1e-3,
            "codewords_per_page": code.codewords_per_page(),
            "parity_bytes_per_page": code.parity_bytes_per_page(),
            "memory_bytes": self.memory_bytes(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(json: &str) -> ConfigError {
        DeviceConfig::resolve(json).expect_err(json)
    }

    #[test]
    fn the_tlc_standard_device_has_the_numbers_of_its_page() {
        let config = DeviceConfig::resolve("{}").expect("defaults are a device");
        assert_eq!(config.effective()["raw_bytes"], 32_u64 << 30);
        assert_eq!(config.logical_pages(), 7_839_820);
        // 0.10 of 2144.0 spare blocks.
        assert_eq!(config.reserve_blocks(), 214);
    }

    #[test]
    fn logical_pages_and_effective_spare_follow_the_definitions() {
        // 1024 x 256 pages at OP 7 %: U = 244994; one reserve block gives S_eff 0.0645.
        let json = r#"{"nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1},
                       "ftl": {"gc_reserve_blocks": 1}}"#;
        let config = DeviceConfig::resolve(json).expect("a device");
        assert_eq!(config.logical_pages(), 244_994);
        let effective = config.effective()["spare_factor_effective"].as_f64().expect("a number");
        assert!((effective - (1.0 - 244_994.0 / (1023.0 * 256.0))).abs() < 1e-12);
    }

    #[test]
    fn impossible_devices_are_refused_with_path_and_numbers() {
        for (json, path, words) in [
            (r#"{"nand": {"pgae": 1}}"#, "nand.pgae", "unknown field"),
            (r#"{"nand": {"channels": 0}}"#, "nand.channels", "accepted: 1 to"),
            (r#"{"nand": {"channels": "eight"}}"#, "nand.channels", "eight"),
            (r#"{"nand": {"page_size_bytes": 5000}}"#, "nand.page_size_bytes", "power of two"),
            (r#"{"nand": {"page_size_bytes": "4 furlongs"}}"#, "nand.page_size_bytes", "furlongs"),
            (r#"{"nand": {"timing": {"t_read_us": -1}}}"#, "nand.timing.t_read_us", "above 0"),
            (
                r#"{"nand": {"timing": {"t_program_us": "fast"}}}"#,
                "nand.timing.t_program_us",
                "fast",
            ),
            (
                r#"{"nand": {"blocks_per_plane": 16777216, "dies_per_channel": 1024}}"#,
                "nand.blocks_per_plane",
                "32-bit",
            ),
            (r#"{"ftl": {"gc_policy": "gredy"}}"#, "ftl.gc_policy", "gredy"),
            (r#"{"ftl": {"gc_policy": {"kind": "greedy", "d": 3}}}"#, "ftl.gc_policy", "`d`"),
            (
                r#"{"ftl": {"gc_policy": {"kind": "d_choices", "d": 0}}}"#,
                "ftl.gc_policy.d",
                "1 to 10000",
            ),
            (r#"{"ftl": {"over_provisioning_pct": 0}}"#, "ftl.over_provisioning_pct", "above 0"),
            (
                r#"{"ftl": {"over_provisioning_pct": 0.0001}}"#,
                "ftl.over_provisioning_pct",
                "no spare block",
            ),
            (
                r#"{"ftl": {"gc_reserve_blocks": 100000}}"#,
                "ftl.over_provisioning_pct",
                "6250 reserve",
            ),
            (
                r#"{"nand": {"blocks_per_plane": 8, "channels": 1, "dies_per_channel": 1,
                             "planes_per_die": 1}}"#,
                "ftl.over_provisioning_pct",
                "8 good blocks",
            ),
            (r#"{"ecc": {"algorithm": "bch", "bch_m": 3}}"#, "ecc.bch_t", "5 to 16"),
            (r#"{"ecc": {"algorithm": "turbo"}}"#, "ecc.algorithm", "turbo"),
            (r#"{"host": {"queue_depth_max": 0}}"#, "host.queue_depth_max", "1 to"),
            (r#"{"nand": {"rber_floor": 0.6}}"#, "nand.rber_floor", "0.5"),
        ] {
            let error = refusal(json);
            assert_eq!(error.path, path, "{error}");
            assert!(error.message.contains(words), "{error}");
        }
    }

    #[test]
    fn a_resolved_file_resolves_to_itself() {
        let json = r#"{"nand": {"cell_type": "MLC", "factory_bad_block_ratio": 0.01,
                        "timing": {"t_program_us": [400, 900]}},
                       "ftl": {"gc_policy": {"kind": "d_choices", "d": 3},
                                "wear_leveling": "static"}}"#;
        let config = DeviceConfig::resolve(json).expect("a device");
        let again = DeviceConfig::resolve(&config.to_json().to_string()).expect("a device");
        assert_eq!(config, again);
    }
}
