//! The blocks of one die and their life: erased, open, closed, and erased again.
//!
//! ```text
//! erased ──open──► open: pages are placed ──close──► closed: a candidate of the victim policy
//!    ▲                │  (its stretch of data ends at parity pages)         │ choose
//!    └── erase ───────┴──────────── pages moved out ◄── victim ◄────────────┘
//! ```
//! The log knows where the next page goes and which blocks may be collected. It does not decide
//! when to collect; that is the pool's.

use super::block_state::BlockState;
use super::erased::{ErasedBlocks, OpenOrder};
use super::frontier::{Frontier, PartialPage};
use super::placement::Placement;
use super::refresh_queue::RefreshQueue;
use super::slc::SlcCache;
use crate::ftl::books::Books;
use crate::ftl::config::{FtlConfig, Layout, Part, PoolSetup, WearConfig};
use crate::ftl::gc::{BlockView, BuildContext, Choosers, GcPolicy};
use crate::ftl::map::{Map, Moving};
use crate::ftl::sink::{FlashSink, MoveRun, MoveWay};
use crate::geometry::Geometry;
use crate::nand::{CellMode, Failures, Media, ProgramUnits};
use crate::op::Source;
use crate::rng::Rng;
use crate::units::{BlockId, DieId, Lpn, Ns, Ppn};

/// See the module.
#[allow(clippy::struct_excessive_bools)] // each is independent of the others
pub(crate) struct Log {
    pub(crate) geometry: Geometry,
    pub(crate) layout: Layout,
    pub(super) units: ProgramUnits,
    /// Whether some pages of a block take no data, or not in every mode.
    pub(crate) is_shaped: bool,
    /// Whether superblocks differ in size.
    pub(in crate::ftl) is_uneven: bool,
    /// By block: pages that count as live and are holes; empty where superblocks are even.
    hole_pages: Vec<u32>,
    pub(crate) die: DieId,
    first_block: u32,
    /// What each block of the die is used for.
    states: Vec<BlockState>,
    /// The open block of each stream.
    pub(crate) frontiers: Box<[Frontier]>,
    /// By stream: the page that was programmed in part last.
    pub(in crate::ftl) parts: Box<[PartialPage]>,
    pub(crate) erased: ErasedBlocks,
    pub(crate) placement: Placement,
    policy: Box<dyn GcPolicy>,
    /// Victims chosen since the last step of a collection.
    pub(super) choices: u32,
    /// Deaths that leave more live pages than this are nothing to the policy.
    report_limit: u32,
    /// The running collection gives no block back.
    pub(in crate::ftl) gives_nothing: bool,
    /// Which programs and erases fail.
    pub(in crate::ftl) failures: Option<Failures>,
    /// Blocks that failed, in that order.
    pub(in crate::ftl) failed: Vec<u32>,
    /// Blocks of one bit per cell.
    pub(crate) slc: Option<SlcCache>,
    /// Blocks that will be refreshed, if any ever are.
    pub(in crate::ftl) refresh: Option<Box<RefreshQueue>>,
    /// Plane in which the next block of moved pages is best opened.
    pub(crate) wanted_plane: Option<u32>,
    /// The power may fail: see `padding`.
    pub(in crate::ftl) may_be_cut: bool,
}

impl Log {
    /// The log of a pool, every good block of the media erased and none open. `cache` names the
    /// blocks that are cache permanently, if that was decided before.
    pub(crate) fn new(
        die: DieId,
        config: &FtlConfig,
        setup: &PoolSetup,
        media: &Media,
        cache: Option<&[u32]>,
    ) -> Self {
        let geometry = setup.geometry;
        let blocks = setup.blocks_of(die);
        let first_block = blocks.start;
        let all_good = || blocks.clone().filter(|&block| !media.is_bad(BlockId(block)));
        let slc = SlcCache::new(&config.slc_cache, setup, all_good(), cache);
        let order = match config.wear_leveling {
            WearConfig::None(_) => OpenOrder::FirstErased,
            WearConfig::Dynamic(_) | WearConfig::Static(_) => OpenOrder::LeastWorn,
        };
        let data_pages = setup.layout.data_pages(die, CellMode::Native);
        let mut erased = ErasedBlocks::new(order);
        if media.is_uneven() {
            let taken = |block| data_pages.saturating_sub(media.hole_pages(BlockId(block)));
            erased.weigh(first_block, blocks.clone().map(taken).collect(), data_pages);
        }
        let is_cache = |block| slc.as_ref().is_some_and(|cache| cache.members.contains(&block));
        for block in all_good().filter(|&block| !is_cache(block)) {
            erased.push(block, media.erase_count(BlockId(block)));
        }
        let policy = config.gc_policy.build(BuildContext {
            die: die.0,
            block_count: blocks.len() as u32,
            pages_per_block: setup.layout.data_pages(die, CellMode::Native),
            rng: Rng::stream(setup.seed, &format!("gc.{}", die.0)),
        });
        let placement = Placement::new(
            &config.write_frontiers,
            &config.placement,
            setup.logical_pages,
            blocks.clone(),
        );
        let state_of = |block| {
            if media.is_bad(BlockId(block)) {
                BlockState::Bad
            } else {
                BlockState::Erased
            }
        };
        Self {
            geometry,
            layout: setup.layout,
            units: setup.units,
            is_shaped: media.is_uneven() || !setup.layout.is_plain(&geometry),
            is_uneven: media.is_uneven(),
            hole_pages: vec![0; if media.is_uneven() { blocks.len() } else { 0 }],
            die: geometry.die_of_block(BlockId(first_block)),
            first_block,
            states: blocks.clone().map(state_of).collect(),
            frontiers: vec![Frontier::NONE; placement.streams()].into(),
            parts: vec![PartialPage::NONE; placement.streams()].into(),
            erased,
            placement,
            report_limit: policy.report_limit(),
            policy,
            choices: 0,
            gives_nothing: false,
            failures: setup.failures,
            failed: Vec::new(),
            slc,
            refresh: config
                .refresh
                .as_ref()
                .map(|refresh| Box::new(RefreshQueue::new(refresh, &geometry, first_block))),
            wanted_plane: None,
            may_be_cut: false,
        }
    }

    /// Sets erased blocks of a new log apart for map pages.
    pub(super) fn set_apart(&mut self, count: u32) -> Vec<u32> {
        let blocks: Vec<u32> = (0..count).filter_map(|_| self.erased.pop()).collect();
        for &block in &blocks {
            self.set_state(BlockId(block), BlockState::Map);
        }
        blocks
    }

    /// The blocks of the die.
    pub(crate) fn blocks(&self) -> std::ops::Range<u32> {
        self.first_block..self.first_block + self.states.len() as u32
    }

    pub(crate) fn state(&self, block: BlockId) -> BlockState {
        self.states[(block.0 - self.first_block) as usize]
    }

    pub(crate) fn set_state(&mut self, block: BlockId, state: BlockState) {
        self.states[(block.0 - self.first_block) as usize] = state;
    }

    /// What the blocks are used for.
    pub(crate) fn states(&self) -> &[BlockState] {
        &self.states
    }

    /// One past the last written page of a block.
    pub(crate) fn written_limit(&self, block: BlockId) -> u32 {
        let first = self.geometry.first_page(block).0;
        match self.state(block) {
            BlockState::Erased | BlockState::Erasing | BlockState::Bad | BlockState::Map => first,
            BlockState::Closed | BlockState::Victim | BlockState::Cached | BlockState::Failed => {
                first + self.geometry.pages_per_block
            }
            BlockState::Open => {
                let is_here = |frontier: &&Frontier| frontier.block(&self.geometry) == Some(block);
                let open = self.frontiers.iter().find(is_here);
                open.map_or(first, |frontier| frontier.next)
            }
        }
    }

    /// The place of the next page of a stream whose frontier is not full.
    #[inline]
    pub(crate) fn next_page(&mut self, stream: usize) -> Ppn {
        let frontier = &mut self.frontiers[stream];
        let ppn = Ppn(frontier.next);
        frontier.next += 1;
        ppn
    }

    /// The stream of a page that is moved out of a block.
    #[inline]
    pub(crate) fn moved_stream(&self, lpn: Lpn, source: Source, victim: BlockId) -> usize {
        self.placement.moved_stream(lpn, source, victim)
    }

    /// Pages of data that open blocks of full density still take, to within a stretch.
    pub(crate) fn open_pages(&self) -> u32 {
        let all = self.geometry.pages_per_block;
        let data = u64::from(self.layout.data_pages(self.die, CellMode::Native));
        let left = |frontier: &Frontier| {
            let block = frontier.block(&self.geometry)?;
            let end = self.geometry.first_page(block).0 + all;
            Some((u64::from(end - frontier.next) * data / u64::from(all)) as u32)
        };
        self.frontiers.iter().filter_map(left).sum()
    }

    /// Pages of this die died; `live_count` are left in their block.
    #[inline]
    pub(crate) fn note_dead(&mut self, block: BlockId, live_count: u32, died: u32, now: u64) {
        if live_count <= self.report_limit {
            self.policy.invalidated(block.0 - self.first_block, live_count, died, now);
        }
    }

    /// Prefetches what the death of a page of a block will touch.
    #[inline]
    pub(super) fn prefetch(&self, block: BlockId) {
        self.policy.prefetch(block.0 - self.first_block);
    }

    /// The block that will be collected next, if nothing changes until then.
    pub(super) fn likely_victim(&self) -> Option<BlockId> {
        self.policy.likely_next().map(|block| BlockId(self.first_block + block))
    }

    /// Continues after a full stretch of a stream's open block: programs its parity page, or closes
    /// the block at its end.
    pub(crate) fn close_full<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: usize,
    ) {
        let frontier = self.frontiers[stream];
        if !frontier.exists() || !frontier.is_full() {
            return;
        }
        if self.is_shaped {
            return self.close_shaped(books, sink, stream);
        }
        self.frontiers[stream] = Frontier::NONE;
        let block = self.geometry.block_of(Ppn(frontier.limit - 1));
        if frontier.limit < self.geometry.first_page(block).0 + self.geometry.pages_per_block {
            return self.close_failed(books, sink, block, Ppn(frontier.limit));
        }
        self.close(books, block, sink.clock());
    }

    /// As `close_full`, where not all pages take data.
    #[inline(never)]
    fn close_shaped<S: FlashSink>(&mut self, books: &mut Books, sink: &mut S, stream: usize) {
        let frontier = self.frontiers[stream];
        let block = frontier.block(&self.geometry).expect("the caller has found it");
        let first = self.geometry.first_page(block).0;
        let mode = sink.media().mode(block);
        let end = first + self.layout.pages(mode);
        let mut next = frontier.limit;
        let cut = self.cut_page(&books.map, sink.media(), block).map_or(end, |page| first + page);
        while next < end {
            if next >= cut {
                self.frontiers[stream] = Frontier::NONE;
                return self.close_failed(books, sink, block, Ppn(next));
            }
            let members = sink.media().members_of(block);
            let (part, limit) = self.layout.part(self.die, mode, members, next - first);
            let limit = first + limit;
            match part {
                Part::Data => {
                    self.frontiers[stream] = Frontier { next, limit: limit.min(cut) };
                    return;
                }
                Part::Parity | Part::Metadata => {
                    let source = if part == Part::Parity { Source::Parity } else { Source::Map };
                    books.counters.programs[source as usize] += u64::from(limit - next);
                    (next..limit).for_each(|ppn| sink.program_filler(Ppn(ppn), source));
                }
                Part::Hole => {}
            }
            next = limit;
        }
        self.frontiers[stream] = Frontier::NONE;
        if mode == CellMode::Slc {
            self.set_state(block, BlockState::Cached);
            let cache = self.slc.as_mut().expect("only a cache opens such blocks");
            cache.cached.push_back(block.0);
            self.note_closed(block, sink.clock());
        } else {
            self.close(books, block, sink.clock());
        }
    }

    /// A block was written to its end: it becomes a candidate.
    fn close(&mut self, books: &Books, block: BlockId, clock: Option<Ns>) {
        self.set_state(block, BlockState::Closed);
        self.note_closed(block, clock);
        self.offer(books, block.0);
    }

    /// The data of a block is complete, and begins to age.
    pub(in crate::ftl) fn note_closed(&mut self, block: BlockId, clock: Option<Ns>) {
        if let Some(queue) = &mut self.refresh {
            queue.note_closed(block.0, clock);
        }
    }

    /// Takes a closed block out of the candidates.
    pub(in crate::ftl) fn take(&mut self, books: &Books, block: BlockId) {
        self.policy.remove(block.0 - self.first_block, books.map.live_count(block));
    }

    /// A closed block is a candidate, or is one again.
    pub(crate) fn offer(&mut self, books: &Books, block: u32) {
        let live_count = books.map.live_count(BlockId(block));
        self.policy.closed(block - self.first_block, live_count, books.now);
    }

    /// A victim that is not collected after all waits as before.
    pub(super) fn put_back(&mut self, books: &Books, block: u32) {
        if self.state(BlockId(block)) == BlockState::Failed {
            self.failed.push(block);
        } else {
            self.offer(books, block);
        }
    }

    /// The policy's victim, which is not a candidate any more.
    pub(crate) fn choose(&mut self, books: &Books, media: &Media) -> Option<u32> {
        let block_count = self.states.len() as u32;
        let view = BlockView {
            live_counts: books.map.live_counts(self.first_block, block_count),
            erase_counts: media.erase_counts_from(BlockId(self.first_block), block_count),
            states: &self.states,
            pages_per_block: self.layout.pages(CellMode::Native),
            now: books.now,
        };
        let victim = self.policy.choose(&view);
        self.choices += 1;
        self.report_limit = self.policy.report_limit();
        victim.map(|block| block + self.first_block)
    }

    /// Blocks that a controller examines for a victim, which is no candidate any more.
    pub(super) fn looked_at(&self) -> u32 {
        let closed = self.states.iter().filter(|&&state| state == BlockState::Closed).count();
        self.policy.candidates_examined(closed as u32 + 1)
    }

    /// Takes the closed block with the lowest erase count out of the candidates, if that is below
    /// `limit`.
    pub(crate) fn take_least_worn(&mut self, map: &Map, media: &Media, limit: f64) -> Option<u32> {
        let block = self
            .blocks()
            .filter(|&block| self.state(BlockId(block)) == BlockState::Closed)
            .filter(|&block| !self.fails_erase(media, BlockId(block)))
            .min_by_key(|&block| media.erase_count(BlockId(block)))?;
        let lags = f64::from(media.erase_count(BlockId(block))) < limit;
        lags.then(|| {
            self.policy.remove(block - self.first_block, map.live_count(BlockId(block)));
            block
        })
    }

    /// Opens the next erased block.
    pub(crate) fn open<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: usize,
        source: Source,
    ) {
        let popped = match (source, self.wanted_plane) {
            (Source::Wear, _) => self.erased.pop_most_worn(),
            (_, Some(plane)) => {
                let geometry = self.geometry;
                let plane_of = |block| geometry.plane_of(geometry.first_page(BlockId(block)));
                self.erased.pop_preferring(|block| plane_of(block) == plane)
            }
            _ => self.erased.pop(),
        };
        let block = popped.expect("the reserve holds a block for every open block of a collection");
        self.open_block(books, sink, stream, BlockId(block), CellMode::Native);
        if let Some(handles) = &mut self.placement.handles {
            handles.note_opened(BlockId(block), stream, source == Source::Host);
        }
        if self.failures.is_some() {
            let stretch = self.frontiers[stream];
            self.frontiers[stream] =
                self.cut(&mut books.map, sink.media(), BlockId(block), stretch, source);
        }
    }

    /// Opens an erased block that was taken out of its list.
    pub(crate) fn open_block<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: usize,
        block: BlockId,
        mode: CellMode,
    ) {
        self.set_state(block, BlockState::Open);
        books.map.fill(block);
        let next = self.geometry.first_page(block).0;
        let mut frontier = Frontier { next, limit: next + self.geometry.pages_per_block };
        if self.is_shaped {
            sink.set_mode(block, mode);
            frontier = self.shape(&mut books.map, sink.media(), block, mode);
        }
        self.frontiers[stream] = frontier;
    }

    /// Marks the pages of an opened block that take no data as dead; returns its first stretch of
    /// data. Holes of a native superblock still count as live, since the policy compares how much
    /// is dead.
    #[inline(never)]
    fn shape(&mut self, map: &mut Map, media: &Media, block: BlockId, mode: CellMode) -> Frontier {
        if self.is_uneven && mode == CellMode::Native {
            self.note_holes(block, media);
        }
        let first = self.geometry.first_page(block).0;
        let pages = self.layout.pages(mode);
        if pages < self.geometry.pages_per_block {
            map.kill_run(Ppn(first + pages), self.geometry.pages_per_block - pages);
        }
        let mut stretch = Frontier::NONE;
        let mut at = 0;
        while at < pages {
            let (part, limit) = self.layout.part(self.die, mode, media.members_of(block), at);
            match part {
                Part::Data if !stretch.exists() => {
                    stretch = Frontier { next: first + at, limit: first + limit };
                }
                Part::Data => {}
                Part::Hole if mode == CellMode::Native => {
                    map.clear_run(Ppn(first + at), limit - at);
                }
                Part::Parity | Part::Metadata | Part::Hole => {
                    map.kill_run(Ppn(first + at), limit - at);
                }
            }
            at = limit;
        }
        stretch
    }

    /// Pages that the open block of a stream still takes.
    pub(in crate::ftl) fn pages_left(&self, media: &Media, stream: usize) -> u64 {
        let frontier = self.frontiers[stream];
        let Some(block) = frontier.block(&self.geometry) else { return 0 };
        let (first, mode) = (self.geometry.first_page(block).0, media.mode(block));
        let mut left = frontier.free_pages();
        let mut at = frontier.limit - first;
        while at < self.layout.pages(mode) {
            let (part, limit) = self.layout.part(self.die, mode, media.members_of(block), at);
            left += if part == Part::Data { limit - at } else { 0 };
            at = limit;
        }
        u64::from(left)
    }

    /// Pages of a block that count as live and are holes.
    #[inline]
    pub(in crate::ftl) fn hole_pages(&self, block: BlockId) -> u32 {
        self.hole_pages.get((block.0 - self.first_block) as usize).copied().unwrap_or(0)
    }

    /// Live pages of a block; the holes of a superblock are none.
    pub(in crate::ftl) fn live_pages(&self, books: &Books, block: BlockId) -> u32 {
        books.map.live_count(block) - self.hole_pages(block)
    }

    /// Pages that a block takes.
    pub(in crate::ftl) fn block_pages(&self) -> u32 {
        self.layout.data_pages(self.die, CellMode::Native)
    }

    /// Whether a block is cache permanently, so that folding it gives nothing back to the native
    /// blocks.
    pub(in crate::ftl) fn is_member(&self, block: BlockId) -> bool {
        self.slc.as_ref().is_some_and(|cache| cache.has_member(block))
    }

    /// Whether a block waits to be collected some time.
    pub(in crate::ftl) fn holds(&self, block: BlockId) -> bool {
        matches!(self.state(block), BlockState::Closed | BlockState::Cached)
    }

    /// Counts the holes of a native superblock as live.
    pub(in crate::ftl) fn note_holes(&mut self, block: BlockId, media: &Media) {
        let place = (block.0 - self.first_block) as usize;
        self.hole_pages[place] = media.hole_pages(block);
    }

    /// A block is empty: its holes count no more.
    pub(super) fn forget_holes(&mut self, map: &mut Map, block: BlockId) {
        if self.is_uneven {
            map.forget_live(block);
            self.hole_pages[(block.0 - self.first_block) as usize] = 0;
        }
    }

    /// Makes the open block of a stream of moved pages able to take one.
    #[inline]
    pub(crate) fn make_ready<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: usize,
        source: Source,
    ) {
        if self.frontiers[stream].is_full() {
            self.close_full(books, sink, stream);
            if self.frontiers[stream].is_full() {
                self.open(books, sink, stream, source);
            }
        }
    }

    /// Places pages of a victim in the open blocks of their streams, over the bus.
    pub(crate) fn place<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        victim: BlockId,
        moving: &Moving,
        source: Source,
    ) {
        let splits = self.placement.splits(source);
        let mut pages = moving.page_indices();
        let mut lpns = moving.lpns();
        while let Some(&lpn) = lpns.first() {
            let stream = self.moved_stream(Lpn(lpn), source, victim);
            self.make_ready(books, sink, stream, source);
            let frontier = &mut self.frontiers[stream];
            let first = Ppn(frontier.next);
            let mut count = lpns.len().min(frontier.free_pages() as usize);
            if splits {
                let is_same =
                    |&&lpn: &&u32| self.placement.moved_stream(Lpn(lpn), source, victim) == stream;
                count = lpns[..count].iter().take_while(is_same).count();
            }
            frontier.next += count as u32;
            books.map.rebind_run(&lpns[..count], first);
            sink.move_run(&MoveRun {
                victim,
                page_indices: &pages[..count],
                first,
                lpns: &lpns[..count],
                source,
                way: MoveWay::Bus,
            });
            (pages, lpns) = (&pages[count..], &lpns[count..]);
        }
    }

    /// Gives the victim policy these choosers, if it asks any.
    pub(crate) fn connect_choosers(&mut self, choosers: &dyn Choosers) {
        self.policy.connect_choosers(choosers);
    }

    /// Gives the victim policy this stream for its random choices.
    pub(crate) fn reseed(&mut self, rng: Rng) {
        self.policy.reseed(rng);
    }

    /// The candidates, as numbers for a device image.
    pub(crate) fn save_candidates(&self) -> Vec<u64> {
        self.policy.save()
    }

    /// Restores what [`Log::save_candidates`] gave; false: it is of another policy.
    pub(crate) fn restore_candidates(&mut self, numbers: &[u64]) -> bool {
        let fits = self.policy.restore(numbers);
        self.report_limit = self.policy.report_limit();
        fits
    }
}
