//! The map pages in the flash.
//!
//! ```text
//! directory (RAM)    map page ──► page of the flash
//! map blocks         some blocks of each die, set apart: erased, one open, full
//!                    the full one with the fewest live map pages is collected when one is left
//! ```
//! Map page `m` belongs to pool `m mod pools`. In its out-of-band area it carries the number
//! `logical pages + m`, which no page of data has. A pool's map blocks are those for its map pages
//! with the drive's over-provisioning, and two more: one open, one to collect into. They are erased
//! far more often than blocks of data, so with wear leveling one that was erased changes places
//! with a less worn erased block of the pool ([`MapStore::exchange`]).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::ftl::config::PoolSetup;
use crate::ftl::sink::{FlashSink, FtlCounters};
use crate::geometry::{Geometry, UNMAPPED};
use crate::nand::Media;
use crate::op::Source;
use crate::units::{BlockId, Lpn, Ppn};

/// The map blocks of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct MapBlocks {
    /// All of them.
    all: Vec<u32>,
    erased: VecDeque<u32>,
    /// The open block and its next page.
    open: Option<(u32, u32)>,
    full: Vec<u32>,
}

/// See the module.
pub(crate) struct MapStore {
    geometry: Geometry,
    logical_pages: u32,
    /// Pages of a block.
    pages: u32,
    /// By map page; [`UNMAPPED`] for those never written.
    directory: Vec<u32>,
    /// By block of the drive: live map pages.
    live: Vec<u32>,
    pools: Vec<MapBlocks>,
    /// Pools that have erased map blocks since blocks changed places.
    due: Vec<u32>,
    worn_limit: u32,
    /// A block at its rated endurance had to be erased once more: the drive takes no more writes.
    pub(crate) is_worn: bool,
}

/// As plain numbers; the directory follows from the out-of-band areas and the live counts do too,
/// but which copy is the newest does not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoreSnapshot {
    directory: Vec<u32>,
    pools: Vec<MapBlocks>,
    due: Vec<u32>,
    is_worn: bool,
}

/// Map blocks of a pool with `map_pages` map pages, in blocks of `pages` pages.
pub(crate) fn map_blocks(map_pages: u32, pages: u32, over_provisioning: f64) -> u32 {
    (f64::from(map_pages) * (1.0 + over_provisioning) / f64::from(pages)).ceil() as u32 + 2
}

impl MapStore {
    /// A store without map pages, in these blocks of each pool.
    pub(crate) fn new(setup: &PoolSetup, map_pages: u32, blocks: Vec<Vec<u32>>) -> Self {
        let pools = blocks.into_iter().map(|blocks| MapBlocks {
            all: blocks.clone(),
            erased: blocks.into_iter().collect(),
            open: None,
            full: Vec::new(),
        });
        Self {
            geometry: setup.geometry,
            logical_pages: setup.logical_pages,
            pages: setup.geometry.pages_per_block,
            directory: vec![UNMAPPED; map_pages as usize],
            live: vec![0; setup.geometry.block_count() as usize],
            pools: pools.collect(),
            due: Vec::new(),
            worn_limit: setup.worn_limit,
            is_worn: false,
        }
    }

    /// Where a map page is, if it was written.
    #[inline]
    pub(crate) fn find(&self, map_page: u32) -> Option<Ppn> {
        let ppn = self.directory[map_page as usize];
        (ppn != UNMAPPED).then_some(Ppn(ppn))
    }

    /// The blocks of a pool that hold map pages, or may.
    pub(crate) fn blocks_of(&self, pool: usize) -> &[u32] {
        &self.pools[pool].all
    }

    /// Blocks of the drive that hold map pages, or may.
    pub(crate) fn block_count(&self) -> usize {
        self.pools.iter().map(|pool| pool.all.len()).sum()
    }

    /// Writes a map page again.
    pub(crate) fn program<S: FlashSink>(
        &mut self,
        counters: &mut FtlCounters,
        sink: &mut S,
        map_page: u32,
    ) {
        let pool = map_page as usize % self.pools.len();
        self.make_room(counters, sink, pool);
        self.place(counters, sink, pool, map_page);
    }

    /// Opens a block if none has room, and collects until one more is erased.
    fn make_room<S: FlashSink>(&mut self, counters: &mut FtlCounters, sink: &mut S, pool: usize) {
        while self.pools[pool].open.is_none() {
            if self.pools[pool].erased.len() > 1 {
                self.open(pool);
            } else {
                self.collect(counters, sink, pool);
            }
        }
    }

    fn open(&mut self, pool: usize) {
        let blocks = &mut self.pools[pool];
        let block = blocks.erased.pop_front().expect("one is kept for collections");
        blocks.open = Some((block, 0));
    }

    /// Programs a map page in the open block.
    fn place<S: FlashSink>(
        &mut self,
        counters: &mut FtlCounters,
        sink: &mut S,
        pool: usize,
        map_page: u32,
    ) {
        let (block, next) = self.pools[pool].open.expect("room was made");
        let ppn = Ppn(self.geometry.first_page(BlockId(block)).0 + next);
        let old = std::mem::replace(&mut self.directory[map_page as usize], ppn.0);
        if old != UNMAPPED {
            self.live[self.geometry.block_of(Ppn(old)).0 as usize] -= 1;
        }
        self.live[block as usize] += 1;
        counters.programs[Source::Map as usize] += 1;
        sink.program(ppn, Lpn(self.logical_pages + map_page), Source::Map);
        let blocks = &mut self.pools[pool];
        blocks.open = Some((block, next + 1));
        if next + 1 == self.pages {
            blocks.open = None;
            blocks.full.push(block);
        }
    }

    /// Moves the live map pages of the full block that has the fewest, and erases it.
    fn collect<S: FlashSink>(&mut self, counters: &mut FtlCounters, sink: &mut S, pool: usize) {
        let full = self.pools[pool].full.iter().enumerate();
        let (place, &victim) = full
            .min_by_key(|(_, block)| self.live[**block as usize])
            .expect("there are more map blocks than an open and an erased one");
        self.pools[pool].full.remove(place);
        let first = self.geometry.first_page(BlockId(victim)).0;
        for index in 0..self.pages {
            let owner = sink.media().oob_of_block(BlockId(victim))[index as usize];
            let map_page = owner.wrapping_sub(self.logical_pages);
            if self.directory.get(map_page as usize) != Some(&(first + index)) {
                continue;
            }
            if self.pools[pool].open.is_none() {
                self.open(pool);
            }
            counters.reads[Source::Map as usize] += 1;
            counters.mapping.moved += 1;
            sink.read(Ppn(first + index), Source::Map);
            self.place(counters, sink, pool, map_page);
        }
        self.is_worn |= sink.media().erase_count(BlockId(victim)) >= self.worn_limit;
        sink.erase(BlockId(victim), Source::Map);
        counters.erases[Source::Map as usize] += 1;
        self.pools[pool].erased.push_back(victim);
        self.due.push(pool as u32);
    }

    /// A pool that has erased a map block since blocks changed places.
    pub(crate) fn take_due(&mut self) -> Option<u32> {
        self.due.pop()
    }

    /// The erased map block of a pool that is worn most.
    pub(crate) fn most_worn(&self, pool: u32, media: &Media) -> Option<u32> {
        let erased = self.pools[pool as usize].erased.iter().copied();
        erased.max_by_key(|&block| media.erase_count(BlockId(block)))
    }

    /// An erased block of data takes the place of an erased map block.
    pub(crate) fn exchange(&mut self, pool: u32, old: u32, new: u32) {
        let pool = &mut self.pools[pool as usize];
        let changed = pool.all.iter_mut().chain(&mut pool.erased).filter(|block| **block == old);
        changed.for_each(|block| *block = new);
    }

    /// Pages of a map block that were programmed.
    pub(crate) fn written(&self, block: u32) -> u32 {
        let of = |pool: &MapBlocks| match pool.open {
            Some((open, next)) if open == block => Some(next),
            _ => pool.full.contains(&block).then_some(self.pages),
        };
        self.pools.iter().find_map(of).unwrap_or(0)
    }

    /// Checks the directory against the out-of-band areas, and the counts of live map pages.
    ///
    /// # Errors
    /// The first contradiction.
    pub(crate) fn audit(&self, media: &Media) -> Result<(), String> {
        let mut live = vec![0; self.live.len()];
        for (map_page, &ppn) in self.directory.iter().enumerate() {
            if ppn == UNMAPPED {
                continue;
            }
            let block = self.geometry.block_of(Ppn(ppn));
            let owner = media.oob_of_block(block)[self.geometry.page_index(Ppn(ppn)) as usize];
            if owner != self.logical_pages + map_page as u32 {
                return Err(format!(
                    "page {ppn} is that of map page {map_page}, and holds {owner}"
                ));
            }
            if !self.pools[map_page % self.pools.len()].all.contains(&block.0) {
                return Err(format!("map page {map_page} lies in block {}", block.0));
            }
            live[block.0 as usize] += 1;
        }
        let differs =
            (0..).zip(live.iter().zip(&self.live)).find(|(_, (live, counted))| live != counted);
        if let Some((block, (live, counted))) = differs {
            let block: u32 = block;
            return Err(format!("block {block} has {live} live map pages, {counted} counted"));
        }
        Ok(())
    }

    pub(crate) fn snapshot(&self) -> StoreSnapshot {
        StoreSnapshot {
            directory: self.directory.clone(),
            pools: self.pools.clone(),
            due: self.due.clone(),
            is_worn: self.is_worn,
        }
    }

    /// Restores what [`MapStore::snapshot`] gave; false: it is of another drive.
    pub(crate) fn restore(&mut self, snapshot: &StoreSnapshot) -> bool {
        let page_limit = self.geometry.block_count() << self.geometry.page_bits;
        let fits = |(pool, stored): (&MapBlocks, &MapBlocks)| {
            let mut used: Vec<u32> = stored.erased.iter().chain(&stored.full).copied().collect();
            used.extend(stored.open.map(|(block, _)| block));
            used.sort_unstable();
            let mut all = stored.all.clone();
            all.sort_unstable();
            used == all
                && all.len() == pool.all.len()
                && stored.open.is_none_or(|(_, next)| next < self.pages)
        };
        let is_sound = snapshot.directory.len() == self.directory.len()
            && snapshot.pools.len() == self.pools.len()
            && snapshot.directory.iter().all(|&ppn| ppn == UNMAPPED || ppn < page_limit)
            && snapshot.due.iter().all(|&pool| (pool as usize) < self.pools.len())
            && self.pools.iter().zip(&snapshot.pools).all(fits);
        if is_sound {
            self.directory.clone_from(&snapshot.directory);
            self.pools.clone_from(&snapshot.pools);
            self.due.clone_from(&snapshot.due);
            self.is_worn = snapshot.is_worn;
            self.live.fill(0);
            for &ppn in self.directory.iter().filter(|&&ppn| ppn != UNMAPPED) {
                self.live[self.geometry.block_of(Ppn(ppn)).0 as usize] += 1;
            }
        }
        is_sound
    }
}
