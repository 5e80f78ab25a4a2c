//! DFTL: the map of pages in the flash, a part of it in RAM.
//!
//! ```text
//! command ─► entry in the cache?  hit: it continues
//!              │ miss
//!              ├─ full: the victim leaves; changed: its map page is read, changed and written
//!              └─ the map page is read; the command continues
//! collection ─► moved pages: entries in the cache are changed there, the others in their map
//!              pages, each of which is read and written once for a victim
//! checkpoint ► the next map pages in turn, unless nothing is in them, are written
//! ```
//! Source: Gupta, Kim, Urgaonkar, "DFTL: a flash translation layer employing demand-based selective
//! caching of page-level address mappings", ASPLOS 2009. A map page that is written takes all its
//! changed entries with it, which stay in the cache (`batch_evict`). Map pages are as large as map
//! units; an entry takes 4 bytes. The simulator's own table holds the places of pages; this module
//! models only the cost of looking them up.

use serde::{Deserialize, Serialize};

use super::cache::MapCache;
use super::store::{MapStore, StoreSnapshot};
use super::ENTRY_BYTES;
use crate::ftl::config::{FtlConfig, MapCheckpoint, PoolSetup};
use crate::ftl::sink::{FlashSink, FtlCounters};
use crate::nand::Media;
use crate::op::Source;
use crate::units::{DieId, Lpn};

/// What a command does with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Its place is looked up.
    Find,
    /// Its place changes.
    Change,
}

/// See the module.
pub(crate) struct Translation {
    cache: MapCache,
    store: MapStore,
    batch_evict: bool,
    checkpoint: Option<MapCheckpoint>,
    /// Map pages of the drive.
    map_pages: u32,
    /// By pool: map pages with entries of pages that its collection has moved, and that are not in
    /// the cache.
    moved: Vec<MapPages>,
}

/// A set of map pages, in the order in which they came.
#[derive(Clone)]
struct MapPages {
    pages: Vec<u32>,
    /// A bit for each that is among them.
    marks: Vec<u64>,
}

impl MapPages {
    fn new(map_pages: u32) -> Self {
        Self { pages: Vec::new(), marks: vec![0; map_pages.div_ceil(64) as usize] }
    }

    fn insert(&mut self, map_page: u32) {
        let (word, bit) = (&mut self.marks[map_page as usize / 64], 1 << (map_page % 64));
        if *word & bit == 0 {
            *word |= bit;
            self.pages.push(map_page);
        }
    }

    fn clear(&mut self) {
        for &map_page in &self.pages {
            self.marks[map_page as usize / 64] = 0;
        }
        self.pages.clear();
    }
}

/// Number of pages ahead at which the slot of a moved page is prefetched.
const SLOT_AHEAD: usize = 16;

/// As plain numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TranslationSnapshot {
    cache: Vec<u64>,
    store: StoreSnapshot,
    moved: Vec<Vec<u32>>,
}

/// Entries of a map page, as a power of two.
pub(crate) fn page_bits(page_bytes: u64) -> u32 {
    (page_bytes / ENTRY_BYTES).trailing_zeros()
}

/// Map pages of pool `pool` of `pools` pools.
pub(crate) fn map_pages_of(logical_pages: u32, page_bytes: u64, pool: u32, pools: u32) -> u32 {
    let map_pages = logical_pages.div_ceil(1 << page_bits(page_bytes));
    map_pages / pools + u32::from(pool < map_pages % pools)
}

impl Translation {
    /// A map without entries, in these blocks of each pool.
    pub(crate) fn new(
        config: &FtlConfig,
        setup: &PoolSetup,
        blocks: Vec<Vec<u32>>,
    ) -> Option<Self> {
        let checkpoint = config.map_checkpoint;
        let config = config.mapping.dftl()?;
        let bits = page_bits(setup.geometry.page_bytes);
        let map_pages = setup.logical_pages.div_ceil(1 << bits);
        let capacity = (config.cache_bytes / ENTRY_BYTES).min(u64::from(setup.logical_pages));
        let pools = blocks.len();
        Some(Self {
            cache: MapCache::new(config.replacement, capacity as u32, setup.logical_pages, bits),
            store: MapStore::new(setup, map_pages, blocks),
            batch_evict: config.batch_evict,
            checkpoint,
            map_pages,
            moved: vec![MapPages::new(map_pages); pools],
        })
    }

    /// Prefetches the memory that a look-up of a coming address will touch.
    #[inline]
    pub(crate) fn prefetch(&self, lpn: Lpn) {
        self.cache.prefetch(lpn);
    }

    /// The map pages in the flash.
    pub(crate) fn store_mut(&mut self) -> &mut MapStore {
        &mut self.store
    }

    /// Whether the map can be changed no more.
    pub(crate) fn is_worn(&self) -> bool {
        self.store.is_worn
    }

    /// The blocks of a pool that hold map pages, or may.
    pub(crate) fn blocks_of(&self, pool: usize) -> &[u32] {
        self.store.blocks_of(pool)
    }

    /// Blocks that hold map pages, or may.
    pub(crate) fn block_count(&self) -> usize {
        self.store.block_count()
    }

    /// Brings the entry of a page into the cache.
    #[inline]
    pub(crate) fn look_up<S: FlashSink>(
        &mut self,
        counters: &mut FtlCounters,
        sink: &mut S,
        lpn: Lpn,
        how: Use,
    ) {
        counters.mapping.lookups += 1;
        let slot = match self.cache.find(lpn) {
            Some(slot) => {
                self.cache.touch(slot);
                slot
            }
            None => self.fetch(counters, sink, lpn),
        };
        if how == Use::Change {
            self.cache.mark_dirty(slot);
        }
    }

    /// Reads the entry of a page that is not in the cache.
    #[inline(never)]
    fn fetch<S: FlashSink>(&mut self, counters: &mut FtlCounters, sink: &mut S, lpn: Lpn) -> u32 {
        counters.mapping.misses += 1;
        if self.cache.is_full() {
            let victim = self.cache.victim();
            if self.cache.is_dirty(victim) {
                counters.mapping.dirty_evictions += 1;
                let map_page = self.cache.map_page(self.cache.lpn(victim));
                if self.batch_evict {
                    let written = self.cache.clean_page(map_page);
                    counters.mapping.batched_entries += u64::from(written) - 1;
                } else {
                    self.cache.clean(victim);
                }
                self.update(counters, sink, map_page);
            }
        }
        match self.store.find(self.cache.map_page(lpn)) {
            Some(ppn) => {
                counters.reads[Source::Map as usize] += 1;
                sink.read(ppn, Source::Map);
            }
            None => counters.mapping.unwritten += 1,
        }
        self.cache.insert(lpn)
    }

    /// Reads a map page, if it was written, and writes it changed.
    fn update<S: FlashSink>(&mut self, counters: &mut FtlCounters, sink: &mut S, map_page: u32) {
        if let Some(ppn) = self.store.find(map_page) {
            counters.reads[Source::Map as usize] += 1;
            counters.mapping.update_reads += 1;
            sink.read(ppn, Source::Map);
        }
        counters.mapping.update_programs += 1;
        self.store.program(counters, sink, map_page);
    }

    /// The collection of a pool has moved pages.
    pub(crate) fn note_moved(&mut self, die: DieId, lpns: &[u32]) {
        for (place, &lpn) in lpns.iter().enumerate() {
            if let Some(&coming) = lpns.get(place + SLOT_AHEAD) {
                self.cache.prefetch(Lpn(coming));
            }
            match self.cache.find(Lpn(lpn)) {
                Some(slot) => self.cache.mark_dirty(slot),
                None => self.moved[die.0 as usize].insert(self.cache.map_page(Lpn(lpn))),
            }
        }
    }

    /// The victim of a pool's collection is empty: the entries of its pages that are not in the
    /// cache are changed, each map page once.
    pub(crate) fn update_moved<S: FlashSink>(
        &mut self,
        counters: &mut FtlCounters,
        sink: &mut S,
        die: DieId,
    ) {
        for place in 0..self.moved[die.0 as usize].pages.len() {
            let map_page = self.moved[die.0 as usize].pages[place];
            if self.batch_evict {
                counters.mapping.batched_entries += u64::from(self.cache.clean_page(map_page));
            }
            self.update(counters, sink, map_page);
        }
        self.moved[die.0 as usize].clear();
    }

    /// The host has written `writes` map units since the drive was new: a checkpoint, if it is due.
    ///
    /// The turn follows from this number, so that there is nothing to save.
    pub(crate) fn host_wrote<S: FlashSink>(
        &mut self,
        counters: &mut FtlCounters,
        sink: &mut S,
        writes: u64,
    ) {
        let Some(MapCheckpoint { every_writes, pages }) = self.checkpoint else { return };
        if !writes.is_multiple_of(every_writes) {
            return;
        }
        counters.mapping.checkpoints += 1;
        let turn = (writes / every_writes - 1) * u64::from(pages) % u64::from(self.map_pages);
        for step in 0..pages.min(self.map_pages) {
            let map_page = (turn as u32 + step) % self.map_pages;
            let changed = self.cache.clean_page(map_page);
            if changed == 0 && self.store.find(map_page).is_none() {
                continue;
            }
            self.update(counters, sink, map_page);
            counters.mapping.checkpoint_pages += 1;
        }
    }

    /// Pages of a map block that were programmed.
    pub(crate) fn written(&self, block: u32) -> u32 {
        self.store.written(block)
    }

    /// See [`MapStore::audit`].
    ///
    /// # Errors
    /// The first contradiction.
    pub(crate) fn audit(&self, media: &Media) -> Result<(), String> {
        self.store.audit(media)
    }

    pub(crate) fn snapshot(&self) -> TranslationSnapshot {
        TranslationSnapshot {
            cache: self.cache.save(),
            store: self.store.snapshot(),
            moved: self.moved.iter().map(|moved| moved.pages.clone()).collect(),
        }
    }

    /// Restores what [`Translation::snapshot`] gave; false: it is of another drive.
    pub(crate) fn restore(&mut self, snapshot: &TranslationSnapshot, logical_pages: u32) -> bool {
        let map_pages = logical_pages.div_ceil(1 << self.cache.page_bits());
        let mut moved = snapshot.moved.iter().flatten();
        let fits = snapshot.moved.len() == self.moved.len()
            && moved.all(|&map_page| map_page < map_pages)
            && self.cache.restore(&snapshot.cache)
            && self.store.restore(&snapshot.store);
        if fits {
            for (moved, stored) in self.moved.iter_mut().zip(&snapshot.moved) {
                for &map_page in stored {
                    moved.insert(map_page);
                }
            }
        }
        fits
    }
}
