//! The FTL's state as plain numbers, for a device image.
//!
//! L2P is not stored: the media's out-of-band areas and the live bits give it back. What is stored
//! beside is the order of things: open blocks with their next page, erased blocks, and each
//! policy's candidates.

use serde::{Deserialize, Serialize};

use super::pool::{BlockState, Frontier, Pool, FRONTIER_COUNT};
use super::steps::Collection;
use super::{Ftl, FtlConfig, PoolSetup};
use crate::nand::Media;
use crate::op::Source;
use crate::units::{BlockId, DieId, Lpn, Ppn};

/// See the module.
#[derive(Serialize, Deserialize)]
pub struct FtlSnapshot {
    host_clock: u64,
    /// Where the search for the least loaded die goes on.
    turn: u32,
    live: Vec<u64>,
    /// `BlockState` as a number.
    states: Vec<u8>,
    pools: Vec<PoolSnapshot>,
}

#[derive(Serialize, Deserialize)]
struct PoolSnapshot {
    frontiers: [(u32, u32); FRONTIER_COUNT],
    erased: Vec<u32>,
    candidates: Vec<u64>,
    /// A collection under way: victim, source, next page, whether it retires the block.
    collection: Option<(u32, Source, u32, bool)>,
    level_due: bool,
    retire_due: bool,
    slc: Option<CacheSnapshot>,
}

#[derive(Serialize, Deserialize)]
struct CacheSnapshot {
    /// Blocks that are cache for good.
    members: Vec<u32>,
    /// Those of them that are erased.
    erased: Vec<u32>,
    /// Cached blocks, oldest first.
    cached: Vec<u32>,
}

impl PoolSnapshot {
    fn of(pool: &Pool) -> Self {
        // An erase under way counts as over: nobody will report its end later.
        let erasing = pool.collection.and_then(|collection| {
            collection.erase_count.map(|count| (collection.victim, count, collection.source))
        });
        let to_cache =
            pool.folds_outward() && erasing.is_some_and(|(_, _, source)| source == Source::Fold);
        let moving = pool.collection.filter(|collection| collection.erase_count.is_none());
        Self {
            frontiers: pool.frontiers.map(|frontier| (frontier.next, frontier.limit)),
            erased: pool
                .erased
                .list_with(erasing.filter(|_| !to_cache).map(|(victim, count, _)| (victim, count))),
            candidates: pool.policy.save(),
            collection: moving.map(|Collection { victim, source, next_page, retires, .. }| {
                (victim, source, next_page, retires)
            }),
            level_due: pool.level_due
                || (pool.gauge.is_some()
                    && erasing.is_some_and(|(_, _, source)| source == Source::Gc)),
            retire_due: pool.retire_due,
            slc: pool.slc.as_ref().map(|cache| {
                let erasing = erasing.filter(|_| to_cache).map(|(victim, ..)| victim);
                CacheSnapshot {
                    members: cache.members.clone(),
                    erased: cache.erased.iter().copied().chain(erasing).collect(),
                    cached: cache.cached.iter().copied().collect(),
                }
            }),
        }
    }
}

impl Ftl {
    /// Takes the state down.
    pub fn snapshot(&self) -> FtlSnapshot {
        let pools = self.pools.iter().map(PoolSnapshot::of);
        FtlSnapshot {
            host_clock: self.host_clock,
            turn: self.balance.as_ref().map_or(0, |balance| balance.turn),
            live: self.map.live.clone(),
            states: self
                .states
                .iter()
                .map(|&state| match state {
                    BlockState::Erasing => BlockState::Erased as u8,
                    other => other as u8,
                })
                .collect(),
            pools: pools.collect(),
        }
    }

    /// The firmware of a drive on used media.
    ///
    /// # Errors
    /// What in the snapshot contradicts the media or the configuration.
    pub fn restore(
        config: &FtlConfig,
        setup: &PoolSetup,
        media: &Media,
        snapshot: &FtlSnapshot,
    ) -> Result<Self, String> {
        let mut ftl = Self::new(config, setup, media);
        if snapshot.live.len() != ftl.map.live.len()
            || snapshot.states.len() != ftl.states.len()
            || snapshot.pools.len() != ftl.pools.len()
        {
            return Err("the FTL tables are of another geometry".into());
        }
        ftl.host_clock = snapshot.host_clock;
        ftl.map.live.copy_from_slice(&snapshot.live);
        ftl.restore_blocks(&snapshot.states, media)?;
        for (die, pool) in snapshot.pools.iter().enumerate() {
            if let Some(cache) = &pool.slc {
                let (place, members) = (DieId(die as u32), Some(&cache.members[..]));
                ftl.pools[die] = Pool::new(place, config, setup, media, members);
            }
            ftl.restore_pool(die, pool, media)?;
        }
        if let Some(balance) = &mut ftl.balance {
            balance.turn = snapshot.turn % ftl.geometry.die_count;
        }
        ftl.rebuild_map(media)?;
        ftl.audit(media)?;
        Ok(ftl)
    }

    fn restore_blocks(&mut self, states: &[u8], media: &Media) -> Result<(), String> {
        for (block, &number) in states.iter().enumerate() {
            let state = match number {
                0 => BlockState::Erased,
                1 => BlockState::Open,
                2 => BlockState::Closed,
                3 => BlockState::Bad,
                4 => BlockState::Victim,
                6 => BlockState::Cached,
                _ => return Err(format!("block {block} has the unknown state {number}")),
            };
            if (state == BlockState::Bad) != media.is_bad(BlockId(block as u32)) {
                return Err(format!("block {block} is bad in one table and good in another"));
            }
            self.states[block] = state;
        }
        Ok(())
    }

    fn restore_pool(
        &mut self,
        die: usize,
        snapshot: &PoolSnapshot,
        media: &Media,
    ) -> Result<(), String> {
        let pages = self.geometry.pages_per_block;
        let pool = &mut self.pools[die];
        let blocks = pool.first_block..pool.first_block + pool.block_count;
        while pool.erased.pop().is_some() {}
        let mut erased = 0;
        for &block in &snapshot.erased {
            if !blocks.contains(&block) || self.states[block as usize] != BlockState::Erased {
                return Err(format!("block {block} is listed as erased and is not"));
            }
            erased += 1;
            pool.erased.push(block, media.erase_count(BlockId(block)));
        }
        let counted =
            |state| blocks.clone().filter(|&block| self.states[block as usize] == state).count();
        let mut open = 0;
        for (frontier, &(next, limit)) in pool.frontiers.iter_mut().zip(&snapshot.frontiers) {
            *frontier = Frontier { next, limit };
            if frontier.exists() {
                let block = limit.wrapping_sub(1) >> self.geometry.page_bits;
                let first = block << self.geometry.page_bits;
                let fits = blocks.contains(&block)
                    && self.states[block as usize] == BlockState::Open
                    && (limit == first + pages || (self.is_shaped && limit < first + pages))
                    && (first..=limit).contains(&next);
                if !fits {
                    return Err(format!(
                        "an open block ends at page {limit} and goes on at {next}"
                    ));
                }
                open += 1;
            }
        }
        restore_cache(pool, snapshot, &self.states)?;
        erased += pool.slc.as_ref().map_or(0, |cache| cache.erased.len());
        if erased != counted(BlockState::Erased) || open != counted(BlockState::Open) {
            let (table_erased, table_open) =
                (counted(BlockState::Erased), counted(BlockState::Open));
            return Err(format!(
                "die {die} lists {erased} erased and {open} open blocks, its table {table_erased} \
                 and {table_open}"
            ));
        }
        if let Some((victim, source, next_page, retires)) = snapshot.collection {
            if !blocks.contains(&victim) || self.states[victim as usize] != BlockState::Victim {
                return Err(format!("block {victim} is under collection and is no victim"));
            }
            pool.collection =
                Some(Collection { victim, source, next_page, retires, erase_count: None });
        }
        pool.level_due = snapshot.level_due;
        pool.retire_due = snapshot.retire_due;
        if !pool.policy.restore(&snapshot.candidates) {
            return Err(format!("die {die} has a candidate list of another policy"));
        }
        Ok(())
    }

    /// L2P and live counts from the media's out-of-band areas and the live bits.
    fn rebuild_map(&mut self, media: &Media) -> Result<(), String> {
        for block in (0..self.geometry.block_count()).map(BlockId) {
            let first = self.geometry.first_page(block).0;
            let written = self.written_limit(block) - first;
            let mut live_count = 0;
            for word in 0..self.map.words_per_block() {
                let mut live = self.map.live_word(block, word);
                live_count += live.count_ones();
                while live != 0 {
                    let page = 64 * word as u32 + live.trailing_zeros();
                    live &= live - 1;
                    if page >= written {
                        continue;
                    }
                    let lpn = media.oob_of_block(block)[page as usize];
                    if lpn >= self.logical_pages() {
                        return Err(format!(
                            "page {} holds the logical page {lpn} of another drive",
                            first + page
                        ));
                    }
                    self.map.bind(Lpn(lpn), Ppn(first + page));
                    if let Some(balance) = &mut self.balance {
                        balance.live_pages[self.geometry.die_of_block(block).0 as usize] += 1;
                    }
                }
            }
            self.map.live_counts[block.0 as usize] = live_count as u16;
        }
        Ok(())
    }
}

/// The cache of a pool: the blocks that the snapshot lists, each in the state that it must have.
fn restore_cache(
    pool: &mut Pool,
    snapshot: &PoolSnapshot,
    states: &[BlockState],
) -> Result<(), String> {
    let (cache, lists) = match (&mut pool.slc, &snapshot.slc) {
        (None, None) => return Ok(()),
        (Some(cache), Some(lists)) => (cache, lists),
        _ => return Err("a cache of single-bit blocks is in one table and not in another".into()),
    };
    let blocks = pool.first_block..pool.first_block + pool.block_count;
    for (list, state) in [(&lists.erased, BlockState::Erased), (&lists.cached, BlockState::Cached)]
    {
        for &block in list {
            if !blocks.contains(&block) || states[block as usize] != state {
                return Err(format!(
                    "block {block} is listed as {state:?} in the cache, and is not"
                ));
            }
        }
    }
    cache.erased = lists.erased.iter().copied().collect();
    cache.cached = lists.cached.iter().copied().collect();
    Ok(())
}
