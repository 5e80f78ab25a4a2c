//! Page counts of a device, and the spare area that is left besides the capacity of the host.
//!
//! ```text
//! raw blocks ─ factory bad ─► good blocks: T = good * data pages per block
//! U = floor(T / (1 + OP))     spare factor (T - U) / T     S_eff = 1 - U / (T - reserve pages)
//! ```
//! With superblocks good blocks are whole ones, and a bad block may leave one smaller. T leaves out
//! parity pages. Blocks of a cache of single-bit cells come out of the spare area, and so out of
//! `S_eff`; the pages that compression saves are added to it, since U follows from the uncompressed
//! T. The reserve is the blocks that GC keeps erased. A device whose reserve, open blocks and bad
//! blocks leave no block of slack in some die is refused with these numbers.

use std::sync::Arc;

use serde_json::{json, Value};

use super::config::DeviceConfig;
use crate::config::ConfigError;
use crate::ftl::mapping::ENTRY_BYTES;
use crate::ftl::{PoolSetup, SlcBlocks, SlcCacheConfig};
use crate::nand::{CellMode, Failures, Media, ProgramUnits, WearOut};
use crate::units::DieId;
use crate::workload::{Space, ZoneSpace};

impl DeviceConfig {
    /// Blocks of each die at one bit per cell.
    pub(super) fn slc_blocks(&self) -> SlcBlocks {
        match &self.ftl.slc_cache {
            SlcCacheConfig::None(_) => SlcBlocks::default(),
            SlcCacheConfig::Static(cache) => {
                SlcBlocks { fixed: cache.blocks_per_die, dynamic_max: 0 }
            }
            SlcCacheConfig::Dynamic(_) => SlcBlocks { fixed: 0, dynamic_max: u32::MAX },
            SlcCacheConfig::Hybrid(cache) => {
                let per_die = |bytes: u64| (bytes as f64 / self.slc_row_bytes()).round() as u32;
                // One block of the cache is written while another is folded.
                let least = if cache.static_bytes > 0 { 2 } else { 0 };
                SlcBlocks {
                    fixed: per_die(cache.static_bytes).max(least),
                    dynamic_max: per_die(cache.dynamic_bytes_max),
                }
            }
        }
    }

    /// Blocks of each die that are cache permanently.
    fn cache_blocks_per_die(&self) -> u32 {
        self.slc_blocks().fixed
    }

    /// Bytes of a block of every die, at one bit per cell.
    pub(super) fn slc_row_bytes(&self) -> f64 {
        let geometry = self.geometry();
        let pages = self.layout().pages(CellMode::Slc);
        f64::from(pages) * geometry.page_bytes as f64 * f64::from(geometry.die_count)
    }

    /// Fresh flash with its factory bad blocks, at places drawn from `seed`.
    pub fn fresh_media(&self, seed: u64) -> Media {
        let bad = self.bad_blocks_per_die();
        match self.superblocks() {
            Some(superblocks) => Media::of_superblocks(superblocks, &bad, seed),
            None if self.nand.partial_programs.is_some() => {
                Media::new(self.geometry(), &bad, seed).with_disturbs()
            }
            None => Media::new(self.geometry(), &bad, seed),
        }
    }

    /// Factory bad blocks of each die of the flash.
    pub(super) fn bad_blocks_per_die(&self) -> Vec<u32> {
        self.flash().bad_blocks_per_die(&self.flash_geometry())
    }

    /// Superblocks of each pool that are lost to bad blocks; without superblocks, the number of bad
    /// blocks.
    fn bad_blocks_per_pool(&self) -> Vec<u32> {
        let bad = self.bad_blocks_per_die();
        self.superblocks().map_or_else(|| bad.clone(), |it| it.bad_superblocks(&bad))
    }

    /// Good data pages: T.
    pub fn physical_pages(&self) -> u64 {
        let geometry = self.geometry();
        if geometry.is_even() {
            return self.data_pages();
        }
        u64::from(self.good_blocks()) * u64::from(geometry.physical_pages_per_block)
    }

    /// Logical pages that all good blocks take: T, unless data is compressed.
    pub fn data_pages(&self) -> u64 {
        if let Some(superblocks) = self.superblocks() {
            return superblocks.data_slots(&self.bad_blocks_per_die()).iter().sum();
        }
        let (geometry, layout) = (self.geometry(), self.layout());
        if let Some(blocks) = self.blocks_in_use() {
            return u64::from(blocks) * u64::from(layout.data_pages(DieId(0), CellMode::Native));
        }
        let bad = self.bad_blocks_per_die();
        let pages = (0..).zip(bad).map(|(die, bad)| {
            let good = geometry.blocks_per_die.saturating_sub(bad);
            u64::from(good) * u64::from(layout.data_pages(DieId(die), CellMode::Native))
        });
        pages.sum()
    }

    fn good_blocks(&self) -> u32 {
        let all = || self.geometry().block_count() - self.bad_blocks_per_pool().iter().sum::<u32>();
        self.blocks_in_use().unwrap_or_else(all)
    }

    /// Good blocks of each pool; of superblocks that differ in size, whole ones.
    fn good_blocks_per_pool(&self) -> Vec<u32> {
        let (geometry, layout) = (self.geometry(), self.layout());
        if let Some(partitions) = self.partitions() {
            return self.good_blocks_of(&partitions.blocks);
        }
        let Some(superblocks) = self.superblocks() else {
            let bad = self.bad_blocks_per_die().into_iter();
            return bad.map(|bad| geometry.blocks_per_die.saturating_sub(bad)).collect();
        };
        let whole = u64::from(layout.data_pages(DieId(0), CellMode::Native));
        let slots = superblocks.data_slots(&self.bad_blocks_per_die());
        slots.into_iter().map(|slots| (slots / whole) as u32).collect()
    }

    /// Data pages of a block; the mean, where dies differ.
    fn data_pages_per_block(&self) -> f64 {
        self.data_pages() as f64 / f64::from(self.good_blocks())
    }

    /// Pages that the host can address: U.
    pub fn logical_pages(&self) -> u32 {
        if let Some(partitions) = self.partitions() {
            return partitions.parts.last().map_or(0, |part| part.pages.end);
        }
        let pages = self.logical_of(self.physical_pages());
        let Some(zoned) = self.ftl.mapping.zoned() else { return pages };
        let geometry = self.geometry();
        let (page_bytes, zone) =
            (geometry.page_bytes, zoned.layout(&geometry, self.blocks_per_superblock()));
        // A zone takes whole blocks of each of its dies.
        let row = u64::from(zone.zone_dies) * u64::from(zone.pages_per_block) * page_bytes;
        let zones = u64::from(pages) * page_bytes / zoned.capacity_bytes().next_multiple_of(row);
        u32::try_from(zones * (zoned.zone_bytes / page_bytes)).unwrap_or(u32::MAX)
    }

    /// Those of them that can hold data: of zones, their capacity.
    pub fn stored_pages(&self) -> u32 {
        let Some(zoned) = self.ftl.mapping.zoned() else { return self.logical_pages() };
        let page_bytes = self.geometry().page_bytes;
        let zones = u64::from(self.logical_pages()) * page_bytes / zoned.zone_bytes.max(1);
        (zones * (zoned.capacity_bytes() / page_bytes)) as u32
    }

    /// The address space that the host sees.
    pub fn space(&self) -> Space {
        let page_bytes = self.geometry().page_bytes;
        Space {
            logical_bytes: u64::from(self.logical_pages()) * page_bytes,
            page_bytes,
            placement_ids: self.ftl.placement.ids(),
            zones: self.ftl.mapping.zoned().map(|zoned| ZoneSpace {
                zone_bytes: zoned.zone_bytes,
                capacity_bytes: zoned.capacity_bytes(),
                open_max: zoned.open_zones_max,
                active_max: zoned.active_zones_max,
            }),
        }
    }

    /// Spare blocks of the drive, `(T - U) / pages per block`, as a float.
    fn spare_blocks(&self) -> f64 {
        let spare_pages = self.data_pages() - u64::from(self.stored_pages());
        spare_pages as f64 / self.data_pages_per_block()
    }

    /// Erased blocks that GC keeps in the whole drive; superblocks, if the drive has them.
    pub fn reserve_blocks(&self) -> u32 {
        if let Some(partitions) = self.partitions() {
            return partitions.parts.iter().map(|part| part.reserve_blocks).sum();
        }
        let asked = match self.ftl.gc_reserve_blocks {
            Some(blocks) => blocks / self.blocks_per_superblock(),
            None => (self.spare_blocks() * self.ftl.gc_trigger_free_pct) as u32,
        };
        asked.max(self.geometry().die_count * self.reserve_min())
    }

    /// Erased blocks of a pool without which a collection may not begin: one more where the block
    /// that it fills may fail.
    pub(super) fn reserve_min(&self) -> u32 {
        let may_fail =
            self.nand.failures.as_ref().is_some_and(|it| it.program > 0.0 || it.infant.is_some());
        self.ftl.reserve_min() + u32::from(may_fail)
    }

    /// Where the reserve comes from, with its arithmetic.
    fn reserve_text(&self) -> String {
        if let Some(text) = self.reserve_of_namespaces() {
            return text;
        }
        let reserve = self.reserve_blocks();
        let floor = self.geometry().die_count * self.reserve_min();
        let dies = self.blocks_per_superblock();
        let (block, pool) = if dies == 1 { ("blocks", "dies") } else { ("superblocks", "groups") };
        let asked = match self.ftl.gc_reserve_blocks {
            Some(blocks) if dies == 1 => format!("gc_reserve_blocks = {blocks}"),
            Some(blocks) => format!("gc_reserve_blocks = {blocks} = {} x {dies}", blocks / dies),
            None => format!(
                "gc_trigger_free_pct {} x {:.1} spare {block} = {:.1}, rounded down",
                self.ftl.gc_trigger_free_pct,
                self.spare_blocks(),
                self.spare_blocks() * self.ftl.gc_trigger_free_pct
            ),
        };
        format!("{asked}; at least {floor} ({pool} x {}): {reserve} {block}", self.reserve_min())
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
            partitions: self.partitions().map(Arc::new),
            over_provisioning: self.ftl.over_provisioning_pct,
            reserve_blocks: self.reserve_blocks(),
            worn_limit,
            slc_worn_limit: self.slc_worn_limit(worn_limit),
            slc_blocks: self.slc_blocks(),
            layout: self.layout(),
            units: ProgramUnits::new(self.flash_geometry(), &self.nand)
                .in_superblocks(self.superblocks()),
            failures: self
                .nand
                .failures
                .as_ref()
                .map(|failures| Failures::new(failures, self.nand.max_pe_cycles, seed)),
            seed,
        }
    }

    /// Erase count at which a block leaves a cache of fixed size.
    fn slc_worn_limit(&self, worn_limit: u32) -> u32 {
        let rated = match &self.ftl.slc_cache {
            SlcCacheConfig::Static(cache) => cache.max_pe_cycles,
            SlcCacheConfig::Hybrid(cache) => cache.max_pe_cycles,
            _ => return worn_limit,
        };
        if worn_limit == u32::MAX {
            return worn_limit;
        }
        // Ten times: assumed, the order of published ratings of flash run at one bit.
        rated.unwrap_or_else(|| worn_limit.saturating_mul(10))
    }

    /// Whether each pool has the blocks that it cannot do without, and one to spare.
    pub(super) fn check_spare(&self) -> Result<(), ConfigError> {
        let setup = self.pool_setup(0);
        let cache = self.cache_blocks_per_die();
        for (die, good) in (0..).map(DieId).zip(self.good_blocks_per_pool()) {
            self.check_mapped_spare(&setup, die, good)?;
            let good = good - setup.map_blocks_of(die, &self.ftl);
            let needed = setup.good_blocks_min(die, &self.ftl);
            if good < needed + cache {
                let in_namespace = self.no_spare_in_namespace(&setup, die, good);
                return Err(in_namespace.unwrap_or_else(|| self.no_spare_block(&setup, die, good)));
            }
            self.check_goals(die, good - cache - needed)?;
            self.check_failures(&setup, die, good - cache, needed)?;
        }
        Ok(())
    }

    /// Good blocks of each pool of a new drive beyond those that it cannot do without.
    pub(super) fn spare_blocks_per_pool(&self, setup: &PoolSetup) -> Vec<u32> {
        let cache = self.cache_blocks_per_die();
        let spare = |(die, good): (u32, u32)| {
            let map = setup.map_blocks_of(DieId(die), &self.ftl);
            good.saturating_sub(setup.good_blocks_min(DieId(die), &self.ftl) + cache + map)
        };
        (0..).zip(self.good_blocks_per_pool()).map(spare).collect()
    }

    /// Refuses a map or log blocks that do not fit the spare area of a die.
    fn check_mapped_spare(
        &self,
        setup: &PoolSetup,
        die: DieId,
        good: u32,
    ) -> Result<(), ConfigError> {
        let mapping = &self.ftl.mapping;
        let pages = setup.logical_pages_of(die);
        let data = pages.div_ceil(setup.layout.data_pages(die, CellMode::Native));
        let map = setup.map_blocks_of(die, &self.ftl);
        let needed = setup.good_blocks_min(die, &self.ftl);
        if mapping.is_page() || good >= needed + map {
            return Ok(());
        }
        let parts = match mapping.log_blocks() {
            Some(blocks) => {
                let own = blocks / setup.geometry.die_count;
                format!("{data} for data + {own} log + {} to merge into", needed - data - own)
            }
            None if mapping.zoned().is_some() => format!("{needed} for its zones"),
            None if mapping.merges() => format!("{data} for data + 1 to rewrite into"),
            None => format!("{needed} for data and collection + {map} for map pages"),
        };
        let (pool, block) =
            if self.superblocks().is_none() { ("die", "blocks") } else { ("group", "superblocks") };
        let path =
            if mapping.log_blocks().is_some() { "ftl.mapping.log_blocks" } else { "ftl.mapping" };
        Err(ConfigError::new(
            path,
            format!(
                "{pool} {} has {good} good {block}, and needs {} = {parts}; raise \
                 ftl.over_provisioning_pct (now {}){}",
                die.0,
                needed + map,
                self.ftl.over_provisioning_pct,
                if mapping.log_blocks().is_some() { " or lower log_blocks" } else { "" },
            ),
        ))
    }

    /// Refuses failures that take the spare blocks of a die in one use of its `good` blocks.
    fn check_failures(
        &self,
        setup: &PoolSetup,
        die: DieId,
        good: u32,
        needed: u32,
    ) -> Result<(), ConfigError> {
        let Some(failures) = &self.nand.failures else { return Ok(()) };
        if self.superblocks().is_some_and(|it| !it.remaps()) {
            let message = "with ftl.allocation bad_block shrink, where no member can be replaced; \
                           accepted: omitted, or bad_block remap";
            return Err(ConfigError::new("nand.failures", message));
        }
        let programs = setup.units.programs_per_block();
        let share = Failures::share(failures, programs);
        let (failing, spare) = (share * f64::from(good), good - needed);
        if failing > 0.0 && failing >= f64::from(spare) {
            let message = format!(
                "{:.3} % of the blocks fail in one use of {programs} programs and an erase: \
                 {failing:.1} of the {good} good blocks of die {}, which can spare {spare}; \
                 accepted: less than {spare}",
                100.0 * share,
                die.0
            );
            return Err(ConfigError::new("nand.failures", message));
        }
        let Some(infant) = failures.infant else { return Ok(()) };
        let failing = infant.ratio * f64::from(good);
        if failing >= f64::from(spare) {
            let message = format!(
                "{}: {failing:.1} of the {good} good blocks of die {}, which can spare {spare}; \
                 accepted: less than {spare}",
                infant.ratio, die.0
            );
            return Err(ConfigError::new("nand.failures.infant.ratio", message));
        }
        Ok(())
    }

    /// What a die has and needs, when that does not fit.
    fn no_spare_block(&self, setup: &PoolSetup, die: DieId, good: u32) -> ConfigError {
        let bad = setup.blocks_of(die).len() as u32 - good;
        let dies = self.blocks_per_superblock();
        let (pool, block) = if dies == 1 { ("die", "blocks") } else { ("group", "superblocks") };
        let needed = setup.good_blocks_min(die, &self.ftl);
        let pages = setup.logical_pages_of(die);
        let data_pages = setup.layout.data_pages(die, CellMode::Native);
        let cache = self.cache_blocks_per_die();
        let cached = match (cache, good.checked_sub(needed)) {
            (0, _) => String::new(),
            (_, Some(room)) => format!(" + {cache} cache, which may have {room}"),
            (_, None) => format!(" + {cache} cache"),
        };
        let is_cache = cache > 0 && good >= needed;
        let path = match (is_cache, &self.ftl.slc_cache) {
            (true, SlcCacheConfig::Hybrid(_)) => "slc_cache.static_bytes",
            (true, _) => "slc_cache.blocks_per_die",
            (false, _) => "over_provisioning_pct",
        };
        let ids = match self.ftl.placement.ids() {
            0 | 1 => String::new(),
            ids => format!(" ({ids} ids of ftl.placement)"),
        };
        ConfigError::new(
            format!("ftl.{path}"),
            format!(
                "no spare block is left: {pool} {} has {good} good {block} ({bad} bad) and needs \
                 {} = {} for {pages} logical pages + {} reserve + {} further open{ids} + 1 to \
                 collect{cached}; \
                 raise over_provisioning_pct (now {}) or lower \
                 gc_reserve_blocks (now {} per device)",
                die.0,
                needed + cache,
                pages.div_ceil(data_pages),
                setup.reserve_of(die),
                self.ftl.extra_frontiers(),
                self.ftl.over_provisioning_pct,
                setup.reserve_blocks * dies,
            ),
        )
    }

    /// Refuses spare blocks that a die can never have; `slack` are its good blocks beyond the least
    /// that it needs.
    fn check_goals(&self, die: DieId, slack: u32) -> Result<(), ConfigError> {
        // One block of slack is among the blocks needed.
        let reachable = slack + 1;
        for (path, goal) in self.ftl.spare_goals() {
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

    /// Blocks of the drive that never hold data of the host: the reserve and map blocks, or log
    /// blocks and those to merge into.
    fn idle_blocks(&self) -> u32 {
        let pools = self.geometry().die_count;
        if self.ftl.mapping.merges() {
            return pools * self.ftl.mapping.merge_blocks(pools);
        }
        let setup = self.pool_setup(0);
        let map = (0..pools).map(|die| setup.map_blocks_of(DieId(die), &self.ftl));
        self.reserve_blocks() + map.sum::<u32>()
    }

    /// Bytes of memory that a simulation of this device takes: arrays per page and per block.
    pub fn memory_bytes(&self) -> u64 {
        let geometry = self.geometry();
        let slots = u64::from(geometry.block_count()) << geometry.page_bits;
        let per_page =
            4 * geometry.page_count() as u64 + 4 * u64::from(self.logical_pages()) + slots / 8;
        let per_page = per_page + self.map_bytes();
        // Counts, states, candidates and erased lists: measured 60 bytes per block while most are
        // erased.
        per_page + 60 * u64::from(geometry.block_count())
    }

    /// Bytes of the cache of a map that is not in RAM: a slot a page, and its entries.
    fn map_bytes(&self) -> u64 {
        let Some(dftl) = self.ftl.mapping.dftl() else { return 0 };
        let pages = u64::from(self.logical_pages());
        4 * pages + 28 * pages.min(dftl.cache_bytes / ENTRY_BYTES)
    }

    /// What follows from the device file, as the result file states it.
    pub fn effective(&self) -> Value {
        let geometry = self.geometry();
        let layout = self.layout();
        let data_pages = self.data_pages() as f64;
        let logical = f64::from(self.stored_pages());
        let cache_blocks = self.cache_blocks_per_die() * geometry.die_count;
        let idle_blocks = f64::from(self.idle_blocks() + cache_blocks);
        let idle_pages = idle_blocks * self.data_pages_per_block();
        let block_pages = f64::from(geometry.pages_per_block);
        let nand = self.flash();
        let code = self.ecc.page_code(geometry.page_bytes).expect("resolve has checked the code");
        let units = geometry.units_per_page;
        let timing = nand.timing();
        let flash = self.flash_geometry();
        let pages_per_unit = self.ftl.pages_per_unit(self.nand.page_size_bytes);
        let (dies, superblocks) = (self.blocks_per_superblock(), self.superblocks());
        let parity_share = match &superblocks {
            Some(it) => f64::from(it.dies() - it.data_dies()) / f64::from(it.dies()),
            None => 1.0 - self.data_pages_per_block() / block_pages,
        };
        let mut effective = json!({
            "raw_bytes": u64::from(geometry.block_count())
                * u64::from(geometry.physical_pages_per_block)
                * geometry.page_bytes,
            "logical_bytes": u64::from(self.logical_pages()) * geometry.page_bytes,
            "physical_pages": self.physical_pages(),
            "logical_pages": self.logical_pages(),
            "bad_blocks": self.bad_blocks_per_die().iter().sum::<u32>(),
            "die_count": flash.die_count,
            "blocks_per_die": flash.blocks_per_die,
            "pages_per_block": flash.pages_per_block,
            "planes_per_row": flash.plane_count * pages_per_unit,
            "physical_pages_per_block": flash.physical_pages_per_block,
            "parity_share": parity_share,
            "slc_cache_blocks": cache_blocks * dies,
            "slc_pages_per_block": layout.pages(CellMode::Slc) / dies,
            "spare_factor": 1.0 - logical / data_pages,
            "spare_factor_effective": 1.0 - logical / (data_pages - idle_pages),
            "reserve_blocks": self.reserve_blocks() * dies,
            "reserve_text": self.reserve_text(),
            "transfer_us": timing.transfer.0 as f64 * 1e-3,
            "codewords_per_page": units * code.codewords_per_page(),
            "parity_bytes_per_page": units * code.parity_bytes_per_page(),
            "memory_bytes": self.memory_bytes(),
        });
        if self.ftl.mapping.dftl().is_some() {
            let setup = self.pool_setup(0);
            let blocks =
                (0..geometry.die_count).map(|die| setup.map_blocks_of(DieId(die), &self.ftl));
            effective["map_blocks"] = json!(blocks.sum::<u32>());
        }
        if let Some(namespaces) = self.effective_namespaces() {
            effective["namespaces"] = namespaces;
        }
        if superblocks.is_some() {
            effective["superblocks"] = json!({
                "dies": dies,
                "groups": geometry.die_count,
                "count": self.good_blocks(),
                "pages": geometry.pages_per_block,
                "data_pages": layout.data_pages(DieId(0), CellMode::Native),
                "reserve": self.reserve_blocks(),
            });
        }
        effective
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::{Allocation, AllocationOrder};

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
    fn options_show_in_what_follows_from_the_file() {
        let json = r#"{"nand": {"multi_plane": true, "factory_bad_block_ratio": 0.01},
                       "ftl": {"parity": {"stripe": 16}, "write_frontiers": "host_gc",
                               "over_provisioning_pct": 0.15, "allocation": "PDCW",
                               "slc_cache": {"kind": "static", "blocks_per_die": 8}}}"#;
        let config = DeviceConfig::resolve(json).expect("a device");
        let order = Allocation::Order(AllocationOrder::PlaneChannelDie);
        assert_eq!(config.ftl.allocation, order);
        let effective = config.effective();
        assert_eq!(effective["pages_per_block"], 512);
        assert_eq!(effective["planes_per_row"], 2);
        // A third of 256 rows, in two planes.
        assert_eq!(effective["slc_pages_per_block"], 170);
        assert_eq!(effective["slc_cache_blocks"], 128);
        // 1 - 0.99^2 of 16384 superblocks.
        assert_eq!(effective["bad_blocks"], 326);
        // 512 pages are 32 stripes if these start with the block; shifted ones end with a 33rd.
        let share = effective["parity_share"].as_f64().expect("a number");
        assert!(share > 32.0 / 512.0 && share < 33.0 / 512.0, "{share}");
        assert_eq!(effective["raw_bytes"], 32_u64 << 30);
    }

    #[test]
    fn compression_leaves_the_capacity_and_grows_the_spare_area() {
        let plain = DeviceConfig::resolve("{}").expect("a device");
        let json = r#"{"ftl": {"compression": {"data": "file", "ratio": 0.5}}}"#;
        let packed = DeviceConfig::resolve(json).expect("a device");
        assert_eq!(packed.logical_pages(), plain.logical_pages());
        assert_eq!(packed.effective()["raw_bytes"], plain.effective()["raw_bytes"]);
        let spare = packed.effective()["spare_factor"].as_f64().expect("a number");
        assert!((spare - (1.0 - 1.0 / 2.0 / 1.07)).abs() < 1e-6, "{spare}");
    }
}
