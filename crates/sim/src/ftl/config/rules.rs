//! What the `ftl` section of a device file cannot have, in the order in which it is refused: values
//! out of range, and keys that contradict each other.
//!
//! Rules that need the rest of the device are in `drive/rules`.

use super::allocation::{GroupDies, Grouping, PAGES_MAX};
use super::options::{
    CollectionConfig, DataKind, FoldWhen, Parity, SlcCacheConfig, WritesComplete,
};
use super::{Allocation, FtlConfig, WearConfig, WriteFrontiers};
use crate::config::{check_rules, ConfigError, Rule};
use crate::ftl::gc::GcConfig;

impl FtlConfig {
    /// Ranges of single keys, and contradictions among the keys of this section.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let checked = [BY_RANGE, BY_MAPPING, BY_OPTIONS, BY_SUPERBLOCK, BY_DATA];
        checked.iter().try_for_each(|rules| check_rules(self, rules))?;
        self.placement.check()?;
        check_rules(self, BY_PLACEMENT)?;
        self.gc_policy.check().map_err(|error| error.under("gc_policy"))
    }
}

/// Values out of range, and what a write waits for.
const BY_RANGE: &[Rule<FtlConfig>] = &[
    ("over_provisioning_pct", |it| {
        let (ratio, hint) = (it.over_provisioning_pct, "a ratio above 0, at most 4");
        (ratio > 4.0).then(|| out_of_range(ratio, &format!("{hint} (7 % is 0.07)")))
    }),
    ("over_provisioning_pct", |it| {
        let ratio = it.over_provisioning_pct;
        (ratio <= 0.0).then(|| out_of_range(ratio, "a ratio above 0, at most 4"))
    }),
    ("gc_trigger_free_pct", |it| {
        let ratio = it.gc_trigger_free_pct;
        (!(0.0..=1.0).contains(&ratio)).then(|| out_of_range(ratio, "a ratio from 0 to 1"))
    }),
    ("metadata_share", |it| {
        let share = it.metadata_share;
        (!(0.0..=0.5).contains(&share)).then(|| out_of_range(share, "0 to 0.5"))
    }),
    ("fill_timeout_us", |it| {
        let us = it.fill_timeout_us?;
        (!(us > 0.0 && us <= 1e9)).then(|| out_of_range(us, "above 0, at most 1e9"))
    }),
    ("writes_complete", |it| {
        let is_late = it.writes_complete == WritesComplete::Programmed;
        (is_late && it.fill_timeout_us.is_none()).then(|| {
            "programmed without ftl.fill_timeout_us, where a write waits for ever for the rest of \
             its program unit; accepted: in_memory, or a timeout"
                .into()
        })
    }),
    ("gc_reserve_blocks", |it| {
        (it.gc_reserve_blocks? == 0).then(|| out_of_range(0, "1 or more blocks"))
    }),
    ("write_buffer_pages", |it| {
        let pages = it.write_buffer_pages;
        (pages > 1 << 24).then(|| out_of_range(pages, "0 to 16777216"))
    }),
    ("coalesce_bytes", |it| {
        let bytes = it.coalesce_bytes?;
        (!(1024..=1 << 24).contains(&bytes) || !bytes.is_power_of_two())
            .then(|| out_of_range(bytes, "a power of two from 1024 to 16777216"))
    }),
    ("write_buffer_absorbs", |it| {
        (!it.write_buffer_absorbs && it.write_buffer_pages == 0).then(|| {
            "false needs a write buffer; accepted: true, or write_buffer_pages above 0".into()
        })
    }),
    ("write_frontiers.fraction", |it| {
        let WriteFrontiers::HotCold(frontiers) = &it.write_frontiers else { return None };
        let share = frontiers.fraction;
        (!(share > 0.0 && share < 1.0)).then(|| out_of_range(share, "between 0 and 1"))
    }),
    ("wear_leveling.threshold", |it| {
        let WearConfig::Static(wear) = &it.wear_leveling else { return None };
        (wear.threshold == 0).then(|| out_of_range(0, "1 or more erases"))
    }),
];

/// What each way to map excludes. The options below accept what a map without collections does not.
const BY_MAPPING: &[Rule<FtlConfig>] = &[
    ("allocation", |it| {
        (!it.mapping.is_page() && it.allocation.is_dynamic()).then(|| {
            let value = "dynamic, which gives a page no die of its own,";
            with_mapping(it, value, "CDP, or another order")
        })
    }),
    ("map_checkpoint", |it| {
        let is_in_ram = it.mapping.is_page() && it.allocation.is_dynamic();
        (it.map_checkpoint.is_some() && it.mapping.dftl().is_none() && !is_in_ram).then(|| {
            let accepted = "none, ftl.mapping dftl, or ftl.allocation dynamic";
            with_mapping(it, "parts of a map", accepted)
        })
    }),
    ("map_checkpoint.every_writes", |it| {
        (it.map_checkpoint?.every_writes == 0).then(|| out_of_range(0, "1 or more map units"))
    }),
    ("map_checkpoint.pages", |it| {
        let pages = it.map_checkpoint?.pages;
        (!(1..=65_536).contains(&pages)).then(|| out_of_range(pages, "1 to 65536"))
    }),
    ("parity", |it| {
        (!it.mapping.is_page() && it.parity.is_some())
            .then(|| with_mapping(it, "parity pages inside blocks that it fills by itself", "none"))
    }),
    ("metadata_share", |it| {
        (!it.mapping.is_page() && it.metadata_share > 0.0)
            .then(|| with_mapping(it, "records inside blocks that it fills by itself", "0"))
    }),
    ("collection", |it| {
        let name = if it.burst_blocks().is_some() { "bursts" } else { "steps" };
        (it.mapping.merges() && it.collects_in_steps()).then(|| no_collection(it, name, "whole"))
    }),
    ("gc_policy", |it| {
        (it.mapping.merges() && matches!(it.gc_policy, GcConfig::Python(_)))
            .then(|| no_collection(it, "a policy of your own", "omitted"))
    }),
    ("refresh", |it| {
        (it.mapping.merges() && it.refresh.is_some()).then(|| no_collection(it, "refresh", "none"))
    }),
    ("copyback", |it| {
        (it.mapping.merges() && it.copyback.is_some())
            .then(|| no_collection(it, "copyback", "none"))
    }),
    ("write_buffer_pages", |it| {
        let pages = it.mapping.zoned().map(|_| it.write_buffer_pages)?;
        (pages > 0)
            .then(|| with_mapping(it, &format!("{pages}, where writes wait out of order,"), "0"))
    }),
    ("slc_cache", |it| {
        (it.mapping.merges() && it.has_slc_cache()).then(|| {
            let value = "a cache of single-bit blocks, which is folded by garbage collection,";
            with_mapping(it, value, "none")
        })
    }),
    ("write_frontiers", |it| {
        let is_single = matches!(it.write_frontiers, WriteFrontiers::Single(_));
        (it.mapping.merges() && !is_single).then(|| {
            let value = "open blocks by kind of write, where a page has its block,";
            with_mapping(it, value, "single")
        })
    }),
    ("placement", |it| {
        (it.mapping.merges() && !it.placement.is_none()).then(|| {
            let value = "open blocks by placement id, where a page has its block,";
            with_mapping(it, value, "none")
        })
    }),
    ("wear_leveling", |it| {
        (it.mapping.merges() && matches!(it.wear_leveling, WearConfig::Static(_)))
            .then(|| no_collection(it, "static", "dynamic or none"))
    }),
];

/// Collection, copies inside the die, refresh, and the cache of single-bit blocks.
const BY_OPTIONS: &[Rule<FtlConfig>] = &[
    ("collection.step_pages", |it| {
        let CollectionConfig::Steps(steps) = &it.collection else { return None };
        let pages = steps.step_pages;
        (!(1..=65_535).contains(&pages)).then(|| out_of_range(pages, "1 to 65535"))
    }),
    ("collection.hard_spare_blocks", |it| {
        let CollectionConfig::Steps(steps) = &it.collection else { return None };
        let (hard, soft) = (steps.hard_spare_blocks, steps.soft_spare_blocks);
        (hard > soft)
            .then(|| format!("{hard} is above soft_spare_blocks {soft}; accepted: at most that"))
    }),
    ("collection.superblocks", |it| {
        let blocks = it.burst_blocks()?;
        (!(blocks > 0.0 && blocks <= 1e6)).then(|| out_of_range(blocks, "above 0, at most 1e6"))
    }),
    ("collection", |it| {
        (it.burst_blocks().is_some() && it.has_slc_cache()).then(|| {
            "bursts with ftl.slc_cache, whose folds make room a block at a time; accepted: steps \
             or whole"
                .into()
        })
    }),
    ("write_frontiers", |it| {
        (it.collects_in_steps() && shares_blocks(it))
            .then(|| own_blocks("collection", "writes of the host would queue behind a step"))
    }),
    ("idle_collection.after_us", |it| {
        let us = it.idle_collection.as_ref()?.after_us;
        (!(0.0..=1e9).contains(&us)).then(|| out_of_range(us, "0 to 1e9"))
    }),
    ("idle_collection", |it| {
        (it.idle_collection.is_some() && !it.collects_in_steps()).then(|| {
            "a whole collection cannot give way to a command; accepted: none, or ftl.collection \
             steps or bursts"
                .into()
        })
    }),
    ("copyback.limit", |it| {
        (it.copyback.as_ref()?.limit == 0).then(|| out_of_range(0, "1 to 255"))
    }),
    ("copyback", |it| {
        (it.copyback.is_some() && has_hot_cold(it)).then(|| {
            "hot_cold sends pages of one victim to two blocks, which leaves no order that keeps \
             planes; accepted: none with ftl.write_frontiers hot_cold"
                .into()
        })
    }),
    ("refresh.after_days", |it| {
        let days = it.refresh.as_ref()?.after_days?;
        (!(1e-6..=36_500.0).contains(&days)).then(|| out_of_range(days, "1e-6 to 36500"))
    }),
    ("refresh.at_rber", |it| {
        let rate = it.refresh.as_ref()?.at_rber?;
        (!(rate > 0.0 && rate < 0.5)).then(|| out_of_range(rate, "above 0, below 0.5"))
    }),
    ("refresh", |it| {
        let refresh = it.refresh.as_ref()?;
        (refresh.after_days.is_none() && refresh.at_rber.is_none()).then(|| {
            "neither after_days nor at_rber: nothing becomes due; accepted: none, or at least one \
             of them"
                .into()
        })
    }),
    ("slc_cache.blocks_per_die", |it| {
        let SlcCacheConfig::Static(cache) = &it.slc_cache else { return None };
        (cache.blocks_per_die < 2).then(|| out_of_range(cache.blocks_per_die, "2 or more"))
    }),
    ("slc_cache.max_pe_cycles", |it| {
        let cycles = match &it.slc_cache {
            SlcCacheConfig::Static(cache) => cache.max_pe_cycles?,
            SlcCacheConfig::Hybrid(cache) => cache.max_pe_cycles?,
            SlcCacheConfig::None(_) | SlcCacheConfig::Dynamic(_) => return None,
        };
        (cycles == 0).then(|| out_of_range(0, "1 or more"))
    }),
    ("slc_cache.fold_beside", |it| {
        let SlcCacheConfig::Hybrid(cache) = &it.slc_cache else { return None };
        let ratio = cache.fold_beside;
        (!(0.0..=8.0).contains(&ratio)).then(|| out_of_range(ratio, "0 to 8"))
    }),
    ("slc_cache.fold_beside", |it| {
        let SlcCacheConfig::Hybrid(cache) = &it.slc_cache else { return None };
        let ratio = cache.fold_beside;
        (ratio > 0.0 && cache.fold != FoldWhen::Idle).then(|| {
            format!(
                "{ratio} where writes wait for a fold when the cache is full; accepted: 0, or \
                 fold idle"
            )
        })
    }),
    ("slc_cache.fold", |it| {
        let SlcCacheConfig::Hybrid(cache) = &it.slc_cache else { return None };
        (cache.fold != FoldWhen::Full && it.idle_collection.is_none()).then(|| {
            "there are no pauses to fold in; accepted: full, or ftl.idle_collection".into()
        })
    }),
    ("write_frontiers", |it| {
        (it.has_slc_cache() && shares_blocks(it))
            .then(|| own_blocks("slc_cache", "moved pages would fill the cache"))
    }),
    ("allocation.pages", |it| {
        let Allocation::Kind(Grouping::Dynamic(dynamic)) = &it.allocation else { return None };
        let pages = dynamic.pages;
        (!(1..=PAGES_MAX).contains(&pages))
            .then(|| out_of_range(pages, &format!("1 to {PAGES_MAX}")))
    }),
];

/// What superblocks exclude, and what needs them.
const BY_SUPERBLOCK: &[Rule<FtlConfig>] = &[
    ("parity", |it| {
        (it.has_die_parity() && it.allocation.superblock().is_none()).then(|| {
            "die_stripe without superblocks: a die's rows are in no order with those of the \
             others; accepted: {stripe: N}, or ftl.allocation superblock"
                .into()
        })
    }),
    ("metadata_share", |it| {
        (it.metadata_share > 0.0 && it.allocation.superblock().is_none()).then(|| {
            "records of the drive are spread over the rows of superblocks; accepted: 0, or \
             ftl.allocation superblock"
                .into()
        })
    }),
    ("allocation.dies", |it| {
        (it.allocation.superblock()?.dies == GroupDies::Count(0))
            .then(|| "0 dies; accepted: all, or 1 or more".into())
    }),
    ("parity", |it| {
        it.allocation.superblock()?;
        (it.stripe() > 0).then(|| {
            "a stripe inside a block, in superblocks whose rows lie on many dies; accepted: none \
             or {kind: die_stripe} with ftl.allocation superblock"
                .into()
        })
    }),
    ("copyback", |it| {
        it.allocation.superblock()?;
        it.copyback.as_ref().map(|_| {
            "a copy stays inside its die, and moved pages go to the dies in turn; accepted: none \
             with ftl.allocation superblock"
                .into()
        })
    }),
    ("compression", |it| {
        it.allocation.superblock()?;
        it.compression.as_ref().map(|_| {
            "a member of a row holds whole pages, and compressed data shares them; accepted: none \
             with ftl.allocation superblock"
                .into()
        })
    }),
];

/// Parity, and compression of data.
const BY_DATA: &[Rule<FtlConfig>] = &[
    ("parity.stripe", |it| {
        let Some(Parity::Stripe(parity)) = &it.parity else { return None };
        let stripe = parity.stripe;
        (!(2..=65_535).contains(&stripe)).then(|| out_of_range(stripe, "2 to 65535"))
    }),
    ("copyback", |it| {
        (it.stripe() > 0 && it.copyback.is_some()).then(|| {
            "parity is computed from data that passes the controller, and pages copied inside the \
             die do not; accepted: none with ftl.parity"
                .into()
        })
    }),
    ("compression.ratio", |it| {
        let compression = it.compression.as_ref()?;
        (compression.data == DataKind::File && compression.ratio.is_none())
            .then(|| "missing; accepted with data file: above 0, at most 1".into())
    }),
    ("compression.ratio", |it| {
        let (compression, ratio) = (it.compression.as_ref()?, given_ratio(it));
        (compression.data == DataKind::Random && ratio < 1.0)
            .then(|| format!("{ratio} for random data, which does not compress; accepted: 1"))
    }),
    ("compression.ratio", |it| {
        let ratio = given_ratio(it);
        (!(ratio > 0.0 && ratio <= 1.0)).then(|| out_of_range(ratio, "above 0, at most 1"))
    }),
    ("compression", |it| {
        (given_ratio(it) < 1.0 && it.parity.is_some()).then(|| {
            "parity protects whole pages, and compressed data shares them; accepted: none with \
             ftl.parity"
                .into()
        })
    }),
    ("copyback", |it| {
        (given_ratio(it) < 1.0 && it.copyback.is_some()).then(|| {
            "a copy inside the die moves a whole page, and compressed data shares its page with \
             data that may be dead; accepted: none where ftl.compression has a ratio below 1"
                .into()
        })
    }),
];

/// What handles exclude.
const BY_PLACEMENT: &[Rule<FtlConfig>] = &[
    ("write_frontiers", |it| {
        (!it.placement.is_none() && has_hot_cold(it)).then(|| {
            "hot_cold with ftl.placement: two would decide where a page goes; accepted: single or \
             host_gc with ftl.placement"
                .into()
        })
    }),
    ("slc_cache", |it| {
        (it.placement.ids() > 1 && it.has_slc_cache()).then(|| {
            "with ftl.placement: the cache has one open block for the data of all ids; accepted: \
             none with ftl.placement"
                .into()
        })
    }),
    ("wear_leveling", |it| {
        (it.keeps_apart() && matches!(it.wear_leveling, WearConfig::Static(_))).then(|| {
            "static with ftl.placement persistently: data that it moves shares one open block; \
             accepted: none or dynamic, or isolation initially"
                .into()
        })
    }),
];

fn out_of_range(value: impl std::fmt::Display, accepted: &str) -> String {
    format!("{value} is out of range; accepted: {accepted}")
}

fn with_mapping(it: &FtlConfig, value: &str, accepted: &str) -> String {
    format!("{value} with ftl.mapping {}; accepted: {accepted}", it.mapping.name())
}

fn no_collection(it: &FtlConfig, value: &str, accepted: &str) -> String {
    let why = "which acts on garbage collection, and a map of blocks merges instead,";
    with_mapping(it, &format!("{value}, {why}"), accepted)
}

fn has_hot_cold(it: &FtlConfig) -> bool {
    matches!(it.write_frontiers, WriteFrontiers::HotCold(_))
}

/// Whether host and moved pages share open blocks.
fn shares_blocks(it: &FtlConfig) -> bool {
    !matches!(it.write_frontiers, WriteFrontiers::HostGc(_))
}

fn own_blocks(key: &str, reason: &str) -> String {
    format!(
        "with ftl.{key}, pages of host and collection need separate open blocks, or {reason}; \
         accepted: host_gc"
    )
}

fn given_ratio(it: &FtlConfig) -> f64 {
    it.compression.as_ref().and_then(|it| it.ratio).unwrap_or(1.0)
}
