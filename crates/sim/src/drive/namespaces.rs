//! Namespaces on the dies of a drive: their pools, their sizes, and the refused combinations.
//!
//! ```text
//! dies ─► blocks of each namespace ─► T of all of them ─► U = T / (1 + OP) ─► U x size_pct each
//!                                                         reserve: as of a drive of these blocks
//! ```
//! So a namespace on half of the channels, with half of the size, is the drive of these channels.

use std::ops::Range;

use serde_json::{json, Value};

use super::config::DeviceConfig;
use crate::config::{check_rules, ConfigError, Rule};
use crate::ftl::gc::GcConfig;
use crate::ftl::{share_out, Partition, Partitions, PoolSetup, WriteFrontiers};
use crate::geometry::Geometry;
use crate::host::namespaces::NamespaceConfig;
use crate::nand::CellMode;
use crate::striping::{Axis, Turns};
use crate::units::{BlockId, DieId};
use crate::workload::Namespace;

/// Keys that cannot be divided among namespaces.
const BY_NAMESPACES: &[Rule<DeviceConfig>] = &[
    ("ftl.mapping", |it| {
        (!it.ftl.mapping.is_page()).then(|| {
            undivided(&format!("{}, one table of all dies", it.ftl.mapping.name()), "page")
        })
    }),
    ("ftl.allocation", |it| {
        let accepted = "an order whose planes come last, such as CDP";
        let order = it.ftl.allocation.order();
        let reason = if it.ftl.allocation.superblock().is_some() {
            "superblock, groups of dies"
        } else if it.ftl.allocation.is_dynamic() {
            "dynamic, where a page has no die of its own"
        } else if it.flash_geometry().plane_count > 1 && order[2] != Axis::Plane {
            "an order in which planes come before dies"
        } else {
            return None;
        };
        Some(undivided(reason, accepted))
    }),
    ("ftl.slc_cache", |it| {
        it.ftl.has_slc_cache().then(|| undivided("a cache of the drive", "none"))
    }),
    ("ftl.parity", |it| {
        it.ftl.parity.is_some().then(|| undivided("pages that other dies protect", "none"))
    }),
    ("ftl.compression", |it| {
        it.ftl.compression.is_some().then(|| undivided("blocks of another size", "none"))
    }),
    ("ftl.write_frontiers", |it| {
        let is_whole = matches!(it.ftl.write_frontiers, WriteFrontiers::HotCold(_));
        is_whole.then(|| undivided("hot_cold, a share of all pages", "single, host_gc"))
    }),
    ("ftl.placement", |it| {
        (!it.ftl.placement.is_none()).then(|| undivided("handles of the drive", "none"))
    }),
];

/// What works die by die, and so not where namespaces share dies.
const BY_SHARED_DIES: &[Rule<DeviceConfig>] = &[
    ("ftl.collection", |it| {
        it.ftl.collects_in_steps().then(|| unshared("steps, which are timed for a die", "whole"))
    }),
    ("ftl.refresh", |it| {
        it.ftl.refresh.is_some().then(|| unshared("which waits for a die to be idle", "none"))
    }),
    ("ftl.fill_timeout_us", |it| {
        let timeout = it.ftl.fill_timeout_us?;
        Some(unshared(&format!("{timeout}, a timer of a die"), "null"))
    }),
    ("ftl.gc_policy", |it| {
        matches!(it.ftl.gc_policy, GcConfig::Python(_))
            .then(|| unshared("which sees one pool of a die", "another"))
    }),
    ("nand.factory_bad_block_ratio", |it| {
        let ratio = it.nand.factory_bad_block_ratio;
        (ratio > 0.0).then(|| unshared(&format!("{ratio}: bad blocks of a die"), "0"))
    }),
    ("nand.failures", |it| {
        it.nand.failures.is_some().then(|| unshared("which take blocks of a die", "omitted"))
    }),
];

fn undivided(reason: &str, accepted: &str) -> String {
    format!("{reason}, with host.namespaces: not divided among namespaces; accepted: {accepted}")
}

fn unshared(reason: &str, accepted: &str) -> String {
    format!("{reason}, while host.namespaces share a die; accepted: {accepted}, or dies apart")
}

impl NamespaceConfig {
    /// Its dies on a drive of this shape, in the order of their turns.
    fn dies(&self, geometry: &Geometry, order: [Axis; 3]) -> Result<Vec<u32>, ConfigError> {
        let per_channel = geometry.die_count / geometry.channel_count;
        let channels = chosen("channels", self.channels.as_deref(), geometry.channel_count)?;
        let of_channel = chosen("dies", self.dies.as_deref(), per_channel)?;
        let mut dies: Vec<[u32; 2]> = of_channel
            .iter()
            .flat_map(|&die| channels.iter().map(move |&channel| [die, channel]))
            .collect();
        let place = |axis| order.iter().position(|&it| it == axis);
        if place(Axis::Die) < place(Axis::Channel) {
            dies.sort_by_key(|&[die, channel]| [channel, die]);
        }
        Ok(dies.iter().map(|[die, channel]| channel + geometry.channel_count * die).collect())
    }
}

/// Numbers below `count` of a list, in order; all of them without a list.
fn chosen(key: &str, list: Option<&[u32]>, count: u32) -> Result<Vec<u32>, ConfigError> {
    let Some(list) = list else { return Ok((0..count).collect()) };
    let mut numbers = list.to_vec();
    numbers.sort_unstable();
    let twice = numbers.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    let message = match (numbers.last(), twice) {
        (None, _) => "an empty list".to_owned(),
        (Some(&last), _) if last >= count => format!("{last}, in a drive of {count} {key}"),
        (_, Some(number)) => format!("{number} is given twice"),
        _ => return Ok(numbers),
    };
    let of = if key == "dies" { " of a channel" } else { "" };
    let message = format!("{message}; accepted: numbers from 0 to {}{of}", count - 1);
    Err(ConfigError::new(key, message))
}

impl DeviceConfig {
    /// Refuses dies that the drive does not have, and keys that do not go together with namespaces.
    pub(super) fn check_namespaces(&self) -> Result<(), ConfigError> {
        if self.host.namespaces.is_empty() {
            return Ok(());
        }
        check_rules(self, BY_NAMESPACES)?;
        let (geometry, order) = (self.flash_geometry(), self.ftl.allocation.order());
        for (index, one) in self.host.namespaces.iter().enumerate() {
            let under = |error: ConfigError| error.under(&format!("host.namespaces[{index}]"));
            one.dies(&geometry, order).map_err(under)?;
        }
        let (blocks, _) = self.shares();
        if blocks.len() > geometry.die_count as usize {
            check_rules(self, BY_SHARED_DIES)?;
        }
        if let Some(share) = blocks.iter().find(|blocks| blocks.is_empty()) {
            let die = geometry.die_of_block(BlockId(share.start));
            let message = format!(
                "die {} has {} blocks, too few for all of its namespaces",
                die.0, geometry.blocks_per_die
            );
            return Err(ConfigError::new("host.namespaces", message));
        }
        let parts = self.partitions();
        let parts = parts.iter().flat_map(|it| &it.parts);
        for (index, part) in parts.enumerate() {
            if part.pages.len() < part.pools.len() {
                let message = format!(
                    "{} logical pages for {} dies; accepted: a page and more of each",
                    part.pages.len(),
                    part.pools.len()
                );
                return Err(ConfigError::new(
                    format!("host.namespaces[{index}].size_pct"),
                    message,
                ));
            }
        }
        Ok(())
    }

    /// Blocks by pool, and the pools of each namespace in the order of their turns.
    fn shares(&self) -> (Vec<Range<u32>>, Vec<Vec<u32>>) {
        let (geometry, order) = (self.flash_geometry(), self.ftl.allocation.order());
        let dies: Vec<Vec<u32>> = self
            .host
            .namespaces
            .iter()
            .map(|it| it.dies(&geometry, order).expect("resolve has checked the dies"))
            .collect();
        let owners_of = |die: u32| {
            let owners = dies.iter().enumerate().filter(|(_, dies)| dies.contains(&die));
            owners.map(|(owner, _)| owner).collect()
        };
        let owners: Vec<Vec<usize>> = (0..geometry.die_count).map(owners_of).collect();
        let (blocks, owned) = share_out(&geometry, &owners);
        let pool_of = |owner: usize, die: u32| {
            let is_here = |&&(other, pool): &&(usize, u32)| {
                let first = BlockId(blocks[pool as usize].start);
                other == owner && geometry.die_of_block(first).0 == die
            };
            owned.iter().find(is_here).expect("the die is its own").1
        };
        let pools = dies.iter().enumerate();
        let pools =
            pools.map(|(owner, dies)| dies.iter().map(|&die| pool_of(owner, die)).collect());
        let pools = pools.collect();
        (blocks, pools)
    }

    /// Pages that the host can address on this many good data pages.
    pub(super) fn logical_of(&self, physical_pages: u64) -> u32 {
        // Rounded down, since a partial page does not count; 1e-12 keeps exact quotients from
        // falling short of themselves. Below 2^32 by the geometry.
        (physical_pages as f64 / (1.0 + self.ftl.over_provisioning_pct) * (1.0 + 1e-12)) as u32
    }

    /// The parts of the range that the namespaces are, if there are any.
    pub(super) fn partitions(&self) -> Option<Partitions> {
        if self.host.namespaces.is_empty() {
            return None;
        }
        let (blocks, pools) = self.shares();
        let geometry = self.flash_geometry();
        let data_pages = u64::from(self.layout().data_pages(DieId(0), CellMode::Native));
        let of_pools = self.good_blocks_of(&blocks);
        let of_part =
            |pools: &Vec<u32>| pools.iter().map(|&pool| u64::from(of_pools[pool as usize])).sum();
        let good: Vec<u64> = pools.iter().map(of_part).collect();
        let all: u64 = good.iter().sum();
        let logical = self.logical_of(all * data_pages);
        let (mut parts, mut first) = (Vec::new(), 0_u32);
        for ((config, pools), good) in self.host.namespaces.iter().zip(pools).zip(good) {
            let pages = match config.size_pct {
                Some(size) if size < 100.0 => {
                    (f64::from(logical) * size / 100.0 * (1.0 + 1e-12)) as u32
                }
                Some(_) => logical,
                None => (u64::from(logical) * good / all) as u32,
            };
            let pages = first..first.saturating_add(pages).min(logical);
            let spare = (good * data_pages).saturating_sub(pages.len() as u64) as f64;
            let asked = match self.ftl.gc_reserve_blocks {
                Some(reserve) => {
                    let own: usize = pools.iter().map(|&pool| blocks[pool as usize].len()).sum();
                    (u64::from(reserve) * own as u64 / u64::from(geometry.block_count())) as u32
                }
                None => (spare / data_pages as f64 * self.ftl.gc_trigger_free_pct) as u32,
            };
            first = pages.end;
            parts.push(Partition {
                pages,
                reserve_blocks: asked.max(pools.len() as u32 * self.reserve_min()),
                turns: Turns::new(pools.len() as u32, geometry.units_per_page),
                pools,
            });
        }
        Some(Partitions::new(parts, blocks))
    }

    /// Good blocks of pools that have these blocks.
    pub(super) fn good_blocks_of(&self, pools: &[Range<u32>]) -> Vec<u32> {
        let (geometry, bad) = (self.flash_geometry(), self.bad_blocks_per_die());
        let good = |blocks: &Range<u32>| {
            let die = geometry.die_of_block(BlockId(blocks.start)).0 as usize;
            // Dies that are shared have none.
            (blocks.len() as u32).saturating_sub(bad[die])
        };
        pools.iter().map(good).collect()
    }

    /// Good blocks that some namespace has; of the whole drive without namespaces.
    pub(super) fn blocks_in_use(&self) -> Option<u32> {
        if self.host.namespaces.is_empty() {
            return None;
        }
        let (blocks, pools) = self.shares();
        let good = self.good_blocks_of(&blocks);
        Some(pools.iter().flatten().map(|&pool| good[pool as usize]).sum())
    }

    /// Where the reserve of namespaces comes from.
    pub(super) fn reserve_of_namespaces(&self) -> Option<String> {
        let parts = self.partitions()?.parts;
        let each: Vec<String> = parts.iter().map(|it| it.reserve_blocks.to_string()).collect();
        let asked = match self.ftl.gc_reserve_blocks {
            Some(blocks) => {
                format!("the share of gc_reserve_blocks = {blocks} that it has of the blocks")
            }
            None => format!(
                "gc_trigger_free_pct {} of the spare blocks of each namespace",
                self.ftl.gc_trigger_free_pct
            ),
        };
        let floor = self.reserve_min();
        Some(format!("{asked}; at least {floor} a pool: {} blocks", each.join(" + ")))
    }

    /// What the pool of a namespace has and needs, when that does not fit.
    pub(super) fn no_spare_in_namespace(
        &self,
        setup: &PoolSetup,
        pool: DieId,
        good: u32,
    ) -> Option<ConfigError> {
        let partitions = setup.partitions.as_ref()?;
        let index = partitions.part_of(pool)?;
        let (config, part) = (&self.host.namespaces[index], &partitions.parts[index]);
        let die = setup.geometry.die_of_block(BlockId(setup.blocks_of(pool).start));
        let needed = setup.good_blocks_min(pool, &self.ftl);
        let idle = setup.reserve_of(pool) + self.ftl.extra_frontiers() + 1;
        let size = match config.size_pct {
            Some(size) => format!("{size} % are"),
            None => "there are".to_owned(),
        };
        let message = format!(
            "namespace `{}` has {good} good blocks of die {}, and needs {needed} = {} for pages + \
             {idle} in reserve, open and to collect: {size} {} logical pages on {} dies; \
             accepted: less, or more ftl.over_provisioning_pct (now {})",
            config.name,
            die.0,
            needed - idle,
            part.pages.len(),
            part.pools.len(),
            self.ftl.over_provisioning_pct
        );
        Some(ConfigError::new(format!("host.namespaces[{index}].size_pct"), message))
    }

    /// Namespaces whose reserve does not let a mount close the open blocks and collect as well.
    pub(super) fn short_of_reserve(&self, per_pool: u32) -> Option<String> {
        let parts = self.partitions()?.parts;
        let part = parts.iter().find(|it| it.reserve_blocks < it.pools.len() as u32 * per_pool)?;
        let name = &self.host.namespaces[parts.iter().position(|it| it == part)?].name;
        Some(format!(
            "{} erased blocks in reserve of namespace `{name}` are too few for a drive that is \
             cut; accepted: {} or more",
            part.reserve_blocks,
            part.pools.len() as u32 * per_pool
        ))
    }

    /// The namespaces as hosts see them.
    pub fn namespaces(&self) -> Vec<Namespace> {
        let Some(partitions) = self.partitions() else { return Vec::new() };
        let both = self.host.namespaces.iter().zip(partitions.parts);
        both.map(|(config, part)| Namespace { name: config.name.clone(), pages: part.pages })
            .collect()
    }

    /// What follows for each namespace, as the result file states it.
    pub(super) fn effective_namespaces(&self) -> Option<Value> {
        let partitions = self.partitions()?;
        let geometry = self.flash_geometry();
        let data_pages = f64::from(self.layout().data_pages(DieId(0), CellMode::Native));
        let row = |(config, part): (&NamespaceConfig, &Partition)| {
            let blocks = part.pools.iter().map(|&pool| partitions.blocks[pool as usize].clone());
            let count: usize = blocks.clone().map(|blocks| blocks.len()).sum();
            let dies = blocks.map(|it| geometry.die_of_block(BlockId(it.start)).0);
            let physical = count as f64 * data_pages;
            let idle = f64::from(part.reserve_blocks) * data_pages;
            let logical = part.pages.len() as f64;
            json!({
                "name": config.name,
                "first_page": part.pages.start,
                "logical_pages": part.pages.len(),
                "dies": dies.collect::<Vec<_>>(),
                "blocks": count,
                "reserve_blocks": part.reserve_blocks,
                "spare_factor": 1.0 - logical / physical,
                "spare_factor_effective": 1.0 - logical / (physical - idle),
            })
        };
        Some(self.host.namespaces.iter().zip(&partitions.parts).map(row).collect())
    }
}
