//! A device file is read and checked: devices that are invalid, in the order in which they are
//! refused.
//!
//! A rule has the path of a key and, if the device breaks it, the message. Ranges of single keys
//! and relations inside one section are checked where the section is declared; what needs counts
//! of each die is in `capacity`. A table may ask for what [`DeviceConfig::resolve`] has computed
//! before it: the geometry of the flash for [`BY_SHAPE`], the layout and the code for [`BY_READS`]
//! and [`BY_CAPACITY`].

use super::config::DeviceConfig;
use super::power_loss::PowerLossConfig;
use crate::config::{check_rules, parse, ConfigError, Rule};
use crate::ftl::mapping::ENTRY_BYTES;
use crate::ftl::{
    CollectionConfig, Parity, SlcCacheConfig, WearConfig, WriteFrontiers, WritesComplete,
};
use crate::host::READ_AHEAD_MAX;
use crate::nand::CellType;
use crate::reads::{Algorithm, Fidelity};
use crate::reliability::RberConfig;
use crate::units::SECTOR_BYTES;

/// Slots of a superblock, at most: 64 GiB of 4 KiB units. Greedy keeps a stack for each count.
const SLOTS_MAX: u64 = 1 << 24;

impl DeviceConfig {
    /// Reads a device file given as JSON, fills defaults and checks it.
    ///
    /// # Errors
    /// [`ConfigError`] with the dotted path of the first key that cannot be used.
    pub fn resolve(json: &str) -> Result<Self, ConfigError> {
        let mut config: Self = parse(json)?;
        config.fill_cells();
        config.nand.check().map_err(|error| error.under("nand"))?;
        config.nand.fill_defaults();
        config.ftl.check().map_err(|error| error.under("ftl"))?;
        config.controller.check().map_err(|error| error.under("controller"))?;
        config.host.check().map_err(|error| error.under("host"))?;
        check_rules(&config, BY_MEMORY)?;
        if let Some(model) = &config.reliability {
            model.check().map_err(|error| error.under("reliability"))?;
        }
        config.power.iter().try_for_each(|it| it.check().map_err(|error| error.under("power")))?;
        let has_levels = matches!(config.reliability, Some(RberConfig::States(_)));
        let filled = config.controller.fill_defaults(has_levels);
        filled.map_err(|error| error.under("controller"))?;
        check_rules(&config, BY_UNITS)?;
        config.checked_flash()?;
        check_rules(&config, BY_SHAPE)?;
        config.checked_layout()?;
        let filled = config.ecc.fill_defaults().and_then(|()| config.checked_code());
        filled.map_err(|error| error.under("ecc"))?;
        check_rules(&config, BY_READS)?;
        config.check_cells()?;
        config.controller.fill_decode(&config.ecc).map_err(|error| error.under("controller"))?;
        config.check_namespaces()?;
        check_rules(&config, BY_CAPACITY)?;
        config.check_spare()?;
        Ok(config)
    }

    /// Whether a drive of this file can be cut from power.
    ///
    /// # Errors
    /// The key that forbids it, and why.
    pub fn check_cuts(&self) -> Result<(), ConfigError> {
        check_rules(self, OF_CUTS)
    }
}

/// Memory of the drive.
const BY_MEMORY: &[Rule<DeviceConfig>] = &[
    ("ftl.writes_complete", |it| {
        let is_late = it.ftl.writes_complete == WritesComplete::Programmed;
        let ratio = it.ftl.compression.as_ref()?.ratio();
        (is_late && ratio < 1.0 && it.ftl.mapping.merges()).then(|| {
            format!(
                "programmed with ftl.compression and ftl.mapping {}, whose blocks wait with a page \
                 that compressed data has not filled; accepted: in_memory, or ftl.compression none",
                it.ftl.mapping.name()
            )
        })
    }),
    ("host.write_cache", |it| {
        let pages = it.ftl.write_buffer_pages;
        (it.host.write_cache.is_some() && pages > 0).then(|| {
            format!(
                "a write buffer exists (ftl.write_buffer_pages: {pages}); accepted: one of the two"
            )
        })
    }),
    ("host.max_transfer_bytes", |it| {
        let bytes = it.host.max_transfer_bytes.filter(|_| it.ftl.mapping.zoned().is_some())?;
        Some(format!("{bytes} with ftl.mapping zoned, whose hosts split nothing; accepted: none"))
    }),
    ("host.command_cost_us.move", |it| {
        let cost = it.host.command_cost_us?.moved;
        (cost > 0.0 && !it.ftl.collects_in_steps()).then(|| {
            format!(
                "{cost} with ftl.collection whole, which no core schedules; accepted: 0, or \
                 ftl.collection steps or bursts"
            )
        })
    }),
    ("host.read_ahead_bytes", |it| {
        let (bytes, page_bytes) = (it.host.read_ahead_bytes?, it.nand.page_size_bytes);
        (!(page_bytes..=READ_AHEAD_MAX).contains(&bytes)).then(|| {
            format!(
                "{bytes} is out of range; accepted: {page_bytes}, a page of the flash, to \
                 {READ_AHEAD_MAX}"
            )
        })
    }),
];

/// Map units of several pages, before the flash has a geometry.
const BY_UNITS: &[Rule<DeviceConfig>] = &[("ftl.map_unit_bytes", |it| {
    let (nand, page_bytes) = (&it.nand, it.nand.page_size_bytes);
    let pages = it.ftl.pages_per_unit(page_bytes);
    let planes = if nand.multi_plane { nand.planes_per_die } else { 1 };
    let joined = if nand.multi_plane { "that nand.multi_plane joins" } else { "at a time" };
    let largest = page_bytes << planes.trailing_zeros();
    (!planes.is_multiple_of(pages)).then(|| {
        format!(
            "{} bytes are {pages} pages of {page_bytes}, one in each of as many planes, and a die \
             writes {planes} {joined}, which {pages} does not divide; accepted: a power of two \
             from {SECTOR_BYTES} to {largest}",
            u64::from(pages) * page_bytes
        )
    })
})];

/// Superblocks, writes that wait for their program, and pages that are programmed in parts.
const BY_SHAPE: &[Rule<DeviceConfig>] = &[
    ("ftl.allocation.dies", |it| {
        let (dies, total) = (it.blocks_per_superblock(), it.flash_geometry().die_count);
        (dies > total || !total.is_multiple_of(dies)).then(|| {
            let divisors = (1..=total).filter(|&count| total.is_multiple_of(count));
            let accepted: Vec<String> = divisors.map(|count| count.to_string()).collect();
            format!(
                "groups of {dies} dies in a drive of {total}: {} groups and {} dies left over; \
                 accepted: all, or one of {}",
                total / dies,
                total % dies,
                accepted.join(", ")
            )
        })
    }),
    ("ftl.parity", |it| {
        (it.ftl.has_die_parity() && it.blocks_per_superblock() == 1).then(|| {
            "die_stripe in superblocks of 1 die: 1 member of each row for parity leaves 0 for \
             data; accepted: 2 or more dies in ftl.allocation.dies, or none"
                .into()
        })
    }),
    ("nand.multi_plane", |it| {
        it.ftl.allocation.superblock()?;
        let flash = it.flash_geometry();
        (flash.planes_per_die != flash.plane_count).then(|| {
            format!(
                "false with superblocks over dies of {} planes: a member of a row is a die with \
                 all its planes; accepted: true",
                flash.planes_per_die
            )
        })
    }),
    ("ftl.allocation.dies", |it| {
        it.ftl.allocation.superblock()?;
        let (dies, flash) = (it.blocks_per_superblock(), it.flash_geometry());
        let per_die = u64::from(flash.pages_per_block);
        let slots = u64::from(dies) * per_die;
        let blocks = u64::from(flash.die_count / dies) * u64::from(flash.blocks_per_die);
        let page_bits = slots.next_power_of_two().trailing_zeros();
        (slots > SLOTS_MAX || blocks > u64::from(u32::MAX >> page_bits)).then(|| {
            format!(
                "a superblock of {dies} dies x {per_die} map units in a block of {} planes x {} \
                 pages is {slots} map units, in {blocks} superblocks; accepted: at most \
                 {SLOTS_MAX} (here up to {} dies), and 32-bit numbers",
                flash.plane_count,
                it.nand.pages_per_block,
                SLOTS_MAX / per_die
            )
        })
    }),
    ("ftl.coalesce_bytes", |it| {
        let (bytes, unit) = (it.ftl.coalesce_bytes?, it.geometry().page_bytes);
        (bytes <= unit).then(|| {
            format!(
                "{bytes} holds no two map units of {unit} bytes; accepted: omitted, or a power \
                 of two from {}",
                2 * unit
            )
        })
    }),
    ("ftl.writes_complete", |it| {
        let is_late = it.ftl.writes_complete == WritesComplete::Programmed;
        (is_late && it.host.power_loss_protected).then(|| {
            "programmed with host.power_loss_protected, whose memory needs no padding; accepted: \
             in_memory, or host.power_loss_protected false"
                .into()
        })
    }),
    ("nand.partial_programs", |it| {
        let (programs, cells) = (it.nand.partial_programs?, it.nand.cell_type);
        (cells != CellType::Slc).then(|| {
            let cells = format!("{cells:?}").to_uppercase();
            format!(
                "{programs} with nand.cell_type {cells}, whose pages are programmed once; \
                 accepted: omitted, or nand.cell_type SLC"
            )
        })
    }),
    ("nand.partial_programs", |it| {
        let programs = it.nand.partial_programs?;
        (it.flash_geometry().units_per_page == 1).then(|| {
            format!(
                "{programs} where map units are whole pages; accepted: omitted, or \
                 ftl.map_unit_bytes below the {} of nand.page_size_bytes",
                it.nand.page_size_bytes
            )
        })
    }),
    ("nand.partial_programs", |it| {
        let (programs, units) = (it.nand.partial_programs?, it.flash_geometry().units_per_page);
        (!(2..=units).contains(&programs)).then(|| {
            format!(
                "{programs} with {units} map units in a page; accepted: omitted, or 2 to {units}"
            )
        })
    }),
    ("nand.partial_programs", |it| {
        let programs = it.nand.partial_programs?;
        it.nand.multi_plane.then(|| {
            format!(
                "{programs} with nand.multi_plane true, which joins pages; accepted: omitted, or \
                 nand.multi_plane false"
            )
        })
    }),
    ("nand.partial_programs", |it| {
        let (programs, compression) = (it.nand.partial_programs?, it.ftl.compression.as_ref()?);
        (compression.ratio() < 1.0).then(|| {
            format!(
                "{programs} with ftl.compression, whose data does not end with a page; accepted: \
                 omitted, or ftl.compression none"
            )
        })
    }),
    ("nand.partial_programs", |it| {
        let programs = it.nand.partial_programs?;
        it.ftl.allocation.superblock().map(|_| {
            format!(
                "{programs} with superblocks, which is not modelled; accepted: omitted, or \
                 another ftl.allocation"
            )
        })
    }),
];

/// Copies inside the die, and reads beyond the first.
const BY_READS: &[Rule<DeviceConfig>] = &[
    ("ftl.copyback", |it| {
        (it.ftl.copyback.is_some() && !it.nand.program.is_page()).then(|| {
            "a copy inside the die programs one page, and nand.program takes the pages of a \
             wordline together; accepted: none, or nand.program page"
                .into()
        })
    }),
    ("controller.soft_read.reads", |it| {
        (it.controller.soft_read.is_some() && it.ecc.algorithm != Algorithm::Ldpc)
            .then(|| "only LDPC codes decode soft reads; accepted: ecc.algorithm = ldpc".into())
    }),
    ("controller.soft_read.reads", |it| {
        let (soft, rows) = (it.controller.soft_read.as_ref()?, it.ecc.fer_table.as_ref()?);
        let is_known = |&reads: &u8| match reads {
            3 => rows.iter().any(|row| row.2.is_some()),
            _ => rows.iter().any(|row| row.3.is_some()),
        };
        let reads = soft.reads.iter().find(|&reads| !is_known(reads))?;
        Some(format!("ecc.fer_table has no rates after {reads} reads; accepted: reads that it has"))
    }),
    ("controller.read_retry.remember", |it| {
        let remembers = it.controller.read_retry.as_ref()?.remember;
        (remembers && it.ecc.fidelity == Fidelity::BitTrue).then(|| {
            "true with ecc.fidelity bit_true, where pages are decoded later than they are read; \
             accepted: false, or ecc.fidelity table"
                .into()
        })
    }),
];

/// Blocks of superblocks, the map, caches, and room for them.
const BY_CAPACITY: &[Rule<DeviceConfig>] = &[
    ("ftl.gc_reserve_blocks", |it| {
        let (reserve, dies) = (it.ftl.gc_reserve_blocks?, it.blocks_per_superblock());
        (!reserve.is_multiple_of(dies)).then(|| {
            format!(
                "{reserve} blocks are {} superblocks of {dies} and {} blocks left over; accepted: \
                 a multiple of {dies}",
                reserve / dies,
                reserve % dies
            )
        })
    }),
    ("ftl.allocation.bad_block", |it| {
        (has_holes(it) && !it.ftl.mapping.is_page()).then(|| {
            format!(
                "shrink with ftl.mapping {}, while nand.factory_bad_block_ratio is above 0: it \
                 needs superblocks of one size; accepted: remap",
                it.ftl.mapping.name()
            )
        })
    }),
    ("ftl.allocation.bad_block", |it| {
        (has_holes(it) && it.ftl.metadata_share > 0.0).then(|| {
            "shrink with ftl.metadata_share, while nand.factory_bad_block_ratio is above 0: a row \
             with holes has no fixed share of records; accepted: remap, or metadata_share 0"
                .into()
        })
    }),
    ("ftl.allocation.bad_block", |it| {
        let key = match (&it.ftl.write_frontiers, &it.ftl.wear_leveling) {
            (WriteFrontiers::HotCold(_), _) => "write_frontiers hot_cold",
            _ if it.ftl.keeps_apart() => "placement persistently",
            (_, WearConfig::Static(_)) => "wear_leveling static",
            _ => return None,
        };
        has_holes(it).then(|| {
            format!(
                "shrink with ftl.{key}, while nand.factory_bad_block_ratio is above 0: \
                 superblocks of several sizes move into each other only where one open block \
                 takes all moved pages; accepted: remap, or another setting there"
            )
        })
    }),
    ("ftl.mapping.cache_bytes", |it| {
        let (bytes, page) = (it.ftl.mapping.dftl()?.cache_bytes, it.geometry().page_bytes);
        (bytes < page).then(|| {
            format!(
                "{bytes} bytes hold {} entries of {ENTRY_BYTES} bytes, and a map page of {page} \
                 bytes holds {}; accepted: {page} or more",
                bytes / ENTRY_BYTES,
                page / ENTRY_BYTES
            )
        })
    }),
    ("ftl.allocation", |it| {
        let mapping = &it.ftl.mapping;
        (mapping.merges() && it.geometry().striping.turns().is_none()).then(|| {
            format!(
                "an order in which the pages of a die do not follow each other, with ftl.mapping \
                 {}; accepted: CDP, or another order whose planes come last",
                mapping.name()
            )
        })
    }),
    ("ftl.map_unit_bytes", |it| {
        let (mapping, geometry) = (&it.ftl.mapping, it.geometry());
        (mapping.merges() && geometry.units_per_page > 1).then(|| {
            format!(
                "{} bytes, smaller than a page, with ftl.mapping {}; accepted: omitted, or a \
                 page and more",
                geometry.page_bytes,
                mapping.name()
            )
        })
    }),
    ("ftl.mapping.zone_dies", |it| {
        let (dies, width) = (it.ftl.mapping.zoned()?.zone_dies?, it.blocks_per_superblock());
        let all = it.geometry().die_count * width;
        (dies == 0 || !all.is_multiple_of(dies) || !dies.is_multiple_of(width)).then(|| {
            let of = if width == 1 { String::new() } else { format!(" in groups of {width}") };
            let fits = |&dies: &u32| all.is_multiple_of(dies) && dies.is_multiple_of(width);
            let fitting: Vec<_> = (1..=all).filter(fits).map(|dies| dies.to_string()).collect();
            format!("{dies} of the {all} dies of the drive{of}; accepted: {}", fitting.join(", "))
        })
    }),
    ("ftl.mapping.stagger", |it| {
        let is_one = it.superblocks().is_some() && it.geometry().die_count == 1;
        (it.ftl.mapping.zoned()?.stagger && is_one).then(|| {
            "true on superblocks over all dies, each of which begins at the first die; accepted: \
             false, or another ftl.allocation"
                .into()
        })
    }),
    ("ftl.mapping.zone_bytes", |it| {
        let (zoned, geometry) = (it.ftl.mapping.zoned()?, it.geometry());
        let (zone_bytes, pages) = (zoned.zone_bytes, geometry.pages_per_block);
        let pools = zoned.layout(&geometry, it.blocks_per_superblock()).zone_dies;
        let row = u64::from(pools) * u64::from(pages) * geometry.page_bytes;
        (zone_bytes == 0 || !zone_bytes.is_multiple_of(row)).then(|| {
            format!(
                "{zone_bytes} bytes are {:.3} blocks of {pages} pages on each of {pools} pools; \
                 accepted: a multiple of {row}",
                zone_bytes as f64 / row as f64
            )
        })
    }),
    ("ftl.mapping.zone_bytes", |it| {
        let (bytes, page) = (it.ftl.mapping.zoned()?.zone_bytes, it.geometry().page_bytes);
        (bytes / page > u64::from(u32::MAX >> 4))
            .then(|| format!("{bytes} bytes; accepted: less than 2^28 pages"))
    }),
    ("ftl.mapping.zone_capacity_bytes", |it| {
        let (zoned, page) = (it.ftl.mapping.zoned()?, it.geometry().page_bytes);
        let (capacity, zone) = (zoned.capacity_bytes(), zoned.zone_bytes);
        (capacity == 0 || capacity > zone || !capacity.is_multiple_of(page)).then(|| {
            format!(
                "{capacity} bytes of a zone of {zone}; accepted: a multiple of {page}, at most \
                 the zone"
            )
        })
    }),
    ("ftl.mapping.open_zones_max", |it| {
        let zoned = it.ftl.mapping.zoned()?;
        let (open, active) = (zoned.open_zones_max, zoned.active_zones_max);
        (open == 0 || open > active)
            .then(|| format!("{open} of {active} active ones; accepted: 1 to active_zones_max"))
    }),
    ("ftl.mapping.zrwa.areas", |it| {
        let zoned = it.ftl.mapping.zoned()?;
        let (areas, active) = (zoned.zrwa.as_ref()?.areas, zoned.active_zones_max);
        (areas == 0 || areas > active)
            .then(|| format!("{areas} of {active} active zones; accepted: 1 to active_zones_max"))
    }),
    ("ftl.mapping.zrwa.flush_granularity_bytes", |it| {
        let (zoned, page) = (it.ftl.mapping.zoned()?, it.geometry().page_bytes);
        let (step, zone) = (zoned.zrwa.as_ref()?.flush_granularity_bytes, zoned.capacity_bytes());
        (step == 0 || !step.is_multiple_of(page) || !zone.is_multiple_of(step))
            .then(|| format!("{step} bytes; accepted: a multiple of {page} that divides {zone}"))
    }),
    ("ftl.mapping.zrwa.size_bytes", |it| {
        let zoned = it.ftl.mapping.zoned()?;
        let (zrwa, zone) = (zoned.zrwa.as_ref()?, zoned.capacity_bytes());
        let (size, step) = (zrwa.size_bytes, zrwa.flush_granularity_bytes);
        (size == 0 || !size.is_multiple_of(step.max(1)) || size > zone)
            .then(|| format!("{size} bytes; accepted: a multiple of {step}, at most {zone}"))
    }),
    ("ftl.mapping.log_blocks", |it| {
        let (blocks, pools) = (it.ftl.mapping.log_blocks()?, it.geometry().die_count);
        (blocks == 0 || !blocks.is_multiple_of(pools)).then(|| {
            format!(
                "{blocks} log blocks over {pools} {}: {} each and {} left over; accepted: a \
                 multiple of {pools}, from {pools} on",
                if pools == 1 { "die" } else { "dies or groups" },
                blocks / pools,
                blocks % pools
            )
        })
    }),
    ("nand.failures", |it| {
        (it.ftl.mapping.merges() && it.nand.failures.is_some()).then(|| {
            format!(
                "failures with ftl.mapping {}, whose blocks are merged and not collected; \
                 accepted: omitted",
                it.ftl.mapping.name()
            )
        })
    }),
    ("nand.program", |it| {
        (it.ftl.mapping.merges() && !it.nand.program.is_page()).then(|| {
            format!(
                "pages of a wordline together with ftl.mapping {}, which erases log blocks that \
                 end in the middle of one; accepted: page",
                it.ftl.mapping.name()
            )
        })
    }),
    ("host.write_cache", |it| {
        it.ftl.mapping.zoned()?;
        let host = &it.host;
        let has_cache =
            host.build_write_cache(0, true).is_some() || host.build_clean_caches().is_some();
        has_cache.then(|| {
            "a cache of pages with ftl.mapping zoned, where writes go to their zone in order, and \
             a reset drops them; accepted: none"
                .into()
        })
    }),
    ("ftl.slc_cache", |it| {
        let SlcCacheConfig::Hybrid(cache) = &it.ftl.slc_cache else { return None };
        let bytes = cache.static_bytes as f64 + cache.dynamic_bytes_max as f64;
        let (row, blocks) = (it.slc_row_bytes(), it.slc_blocks());
        let drive = row * f64::from(it.geometry().blocks_per_die);
        (!(bytes <= drive && (blocks.fixed > 0 || blocks.dynamic_max > 0))).then(|| {
            format!(
                "static_bytes {} + dynamic_bytes_max {} is a cache of {bytes:.3e} B; accepted: \
                 from {row:.3e}, a block of each die at one bit per cell, to {drive:.3e}, all of \
                 them",
                cache.static_bytes, cache.dynamic_bytes_max
            )
        })
    }),
    ("ftl.mapping.zone_bytes", |it| {
        let (zoned, geometry) = (it.ftl.mapping.zoned()?, it.geometry());
        let pages = u64::from(geometry.block_count()) * u64::from(geometry.pages_per_block);
        (it.logical_pages() == 0).then(|| {
            format!(
                "zones of {} B in a drive of {} B for data; accepted: at least one zone",
                zoned.capacity_bytes(),
                pages * geometry.page_bytes
            )
        })
    }),
    ("ftl.over_provisioning_pct", |it| {
        let (pages, dies) = (it.logical_pages(), it.geometry().die_count);
        (pages < dies).then(|| format!("{pages} logical pages for {dies} dies"))
    }),
    ("ftl.map_checkpoint", |it| {
        let is_one = it.geometry().die_count == 1 && it.ftl.mapping.is_page();
        (is_one && it.ftl.map_checkpoint.is_some())
            .then(|| "parts of a map in RAM, of a drive of one die; accepted: none".into())
    }),
];

/// Drives whose power cannot be cut.
const OF_CUTS: &[Rule<DeviceConfig>] = &[
    ("ftl.mapping", |it| {
        let lacks = match it.ftl.mapping.name() {
            "page" => return None,
            "dftl" => "a mount does not find the pages that hold the map",
            "zoned" => "a mount does not find the blocks of a zone",
            _ => {
                "a page has one offset in its block, so behind a program that was cut a mount \
                 would have to merge the block, with up to three blocks of the same data after a \
                 merge that was cut, and mounts merge none"
            }
        };
        let name = it.ftl.mapping.name();
        let why = "only a map of single pages is rebuilt from the flash";
        Some(uncut(&format!("{why}; with `{name}` {lacks}")))
    }),
    ("ftl.placement", |it| {
        let is_given = !it.ftl.placement.is_none();
        is_given.then(|| uncut("the handle of a block is not kept in the flash"))
    }),
    ("ftl.allocation", |it| {
        let why = "an erase does not wait for programs of other dies with `controller.scheduler` \
                   out_of_order; accepted: in_order, priority";
        (it.ftl.allocation.is_dynamic() && !it.needs_full()).then(|| uncut(why))
    }),
    ("ftl.slc_cache", |it| {
        let is_striped = matches!(it.ftl.parity, Some(Parity::Dies(_)));
        let why = "with ftl.allocation dynamic or ftl.parity die_stripe, a mount may find old data";
        let is_refused = is_striped || it.ftl.allocation.is_dynamic();
        (is_refused && it.ftl.has_slc_cache()).then(|| uncut(why))
    }),
    ("ftl.collection", |it| {
        let why = "a burst after a mount can open more blocks than the reserve holds";
        matches!(it.ftl.collection, CollectionConfig::Bursts(_)).then(|| uncut(why))
    }),
    ("power.plp", |it| {
        let has_capacitors = it.power.as_ref().is_some_and(PowerLossConfig::has_capacitors);
        let why = "`host.power_loss_protected` takes what is in memory for safe: set \
                   `power.plp.energy_mj`, or switch it off";
        (it.host.power_loss_protected && !has_capacitors).then(|| why.into())
    }),
    ("ftl.allocation", |it| has_holes(it).then(|| uncut("superblocks with holes are not mounted"))),
    ("ftl.gc_reserve_blocks", |it| {
        let (reserve, members) = (it.reserve_blocks(), it.blocks_per_superblock());
        let needed = it.geometry().die_count * (it.ftl.reserve_min() + 1);
        (reserve < needed).then(|| {
            format!(
                "{} erased blocks in reserve are too few for a drive whose power is cut: a mount \
                 closes the open blocks, and has to collect as well; accepted: {} or more",
                reserve * members,
                needed * members
            )
        })
    }),
    ("ftl.gc_reserve_blocks", |it| it.short_of_reserve(it.ftl.reserve_min() + 1)),
    ("nand.pages_per_block", |it| {
        (it.pool_setup(0).units.programs_per_block() < 2).then(|| {
            format!(
                "blocks of {} pages are one program unit, and before an erase the copies of what \
                 was live are completed to whole units: each collection would fill a block; \
                 accepted: two units or more",
                it.nand.pages_per_block
            )
        })
    }),
    ("power.paired_scheme", |it| {
        let why = "`nand.program` has whole wordlines programmed at once, so no earlier page is \
                   there to be damaged; accepted with it: none, tlc_oneshot";
        (it.power.as_ref()?.paired_scheme.passes() > 1 && !it.nand.program.is_page())
            .then(|| uncut(why))
    }),
    ("nand.failures", |it| {
        it.nand.failures.as_ref().map(|_| "after a cut they look like interrupted blocks".into())
    }),
];

/// Whether bad blocks leave holes in superblocks.
fn has_holes(it: &DeviceConfig) -> bool {
    it.nand.factory_bad_block_ratio > 0.0 && it.ftl.allocation.leaves_holes()
}

fn uncut(why: &str) -> String {
    format!("{why}, so its power cannot be cut here")
}
