//! One die's pool: it writes, makes room, collects, folds and levels independently.
//!
//! A logical page belongs to one pool for life (static striping), so each pool is the single log
//! that the closed forms describe, with its own spare factor. What pools share (map, counters,
//! clock) is lent to each call as [`Books`], like the sink.
//!
//! ```text
//! write ── room in the open block? ── no ──► make_room: erased blocks above the reserve? open one
//!                                                       else begin, step, … finish a collection
//! ```
//! Collection is as late as possible. With a sink that schedules collections, a write stalls while
//! one is running; for all others it is carried out at once.
//!
//! Invariants: a collection starts with the reserve erased and opens at most one block, so it
//! always gets through; one that gives nothing back (a worn block is retired) starts with a block
//! more, which the host may not take ([`Pool::held_blocks`]). Where one collection can fill two
//! open blocks (`hot_cold`, with victims that static wear leveling has mixed), making room ends
//! with the whole reserve erased: then erased and open blocks hold two blocks of free pages at all
//! times, and of a victim's pages at most one kind can lack a block when one block is left.

use super::block_state::BlockState;
use super::collection::Moves;
use super::log::Log;
use super::placement::HOST_FRONTIER;
use super::wear::Wear;
use crate::ftl::books::Books;
use crate::ftl::config::{FtlConfig, PoolSetup};
use crate::ftl::map::DeadRun;
use crate::ftl::mapping::BlockScheme;
use crate::ftl::sink::{FlashSink, NoRoom};
use crate::nand::Media;
use crate::op::{Source, RUN_MAX};
use crate::striping::DieRun;
use crate::units::{BlockId, DieId, Lpn, Ppn};

/// What a pool whose pages are not its own for life keeps account of.
pub(crate) struct Share {
    /// Live pages of the die.
    pub(crate) live_pages: u32,
    /// Blocks that hold no live pages when the die is as full as it may be.
    pub(crate) idle_blocks: u32,
}

/// Pages or commands ahead at which an untimed run asks for the L2P entry.
pub const ENTRY_AHEAD: usize = 48;
/// Pages or commands ahead at which it asks for what the entry names.
pub const PAGE_AHEAD: usize = 24;

/// Pages before a collection at which a list of writes asks for the likely victim.
const VICTIM_AHEAD: usize = 12;

/// See the module.
pub(crate) struct Pool {
    pub(crate) log: Log,
    /// Where pages go, if it is not the log that decides.
    pub(crate) scheme: Option<Box<BlockScheme>>,
    /// Blocks that are set apart for map pages.
    pub(crate) map_blocks: Vec<u32>,
    /// Erased blocks that GC keeps.
    pub(in crate::ftl) reserve: u32,
    /// Copies in a row that data may make inside its die.
    pub(super) copyback_limit: Option<u8>,
    /// The running collection, and what past ones have won.
    pub(crate) moves: Moves,
    /// How worn its blocks are, and how many it has.
    pub(crate) wear: Wear,
    /// Present when the die of a write is chosen by load.
    pub(crate) share: Option<Share>,
}

impl Pool {
    /// The pool of a die; see [`Log::new`].
    pub(crate) fn new(
        die: DieId,
        config: &FtlConfig,
        setup: &PoolSetup,
        media: &Media,
        cache: Option<&[u32]>,
    ) -> Self {
        let mut log = Log::new(die, config, setup, media, cache);
        let map_blocks = log.set_apart(setup.map_blocks_of(die, config));
        let is_shared = config.allocation.is_dynamic() && setup.geometry.die_count > 1;
        Self {
            reserve: setup.reserve_of(die),
            copyback_limit: config.copyback.as_ref().map(|copyback| copyback.limit),
            moves: Moves::default(),
            wear: Wear::new(die, config, setup, &log, media),
            share: is_shared
                .then(|| Share { live_pages: 0, idle_blocks: setup.idle_blocks_of(die, config) }),
            scheme: BlockScheme::new(config, setup, &log),
            map_blocks,
            log,
        }
    }

    /// Writes a page of the host.
    #[inline(always)]
    #[allow(clippy::inline_always)] // a call spills what the loop keeps in registers
    pub(crate) fn write<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        lpn: Lpn,
    ) -> Result<(), NoRoom> {
        let stream = self.log.placement.host_stream(lpn, books.handle);
        if self.log.frontiers[stream].is_full() {
            self.make_room_counted(books, sink, stream)?;
        }
        books.now += 1;
        let ppn = self.log.next_page(stream);
        if let Some(old) = books.map.bind(lpn, ppn) {
            let (block, live_count) = books.map.kill(old);
            self.log.note_dead(block, live_count, 1, books.now);
        }
        books.counters.programs[Source::Host as usize] += 1;
        sink.program(ppn, lpn, Source::Host);
        Ok(())
    }

    /// Writes pages of the host, for sinks without time; `clock` gives the host writes of the drive
    /// before each, by its place in the list. Returns how many were written, and why not all.
    pub(crate) fn write_list<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        lpns: &[u32],
        clock: impl Fn(usize) -> u64,
    ) -> (usize, Result<(), NoRoom>) {
        if self.log.placement.splits(Source::Host) {
            return self.write_each(books, sink, lpns, clock);
        }
        let mut done = 0;
        while let Some(&lpn) = lpns.get(done) {
            let stream = self.log.placement.host_stream(Lpn(lpn), books.handle);
            if self.log.frontiers[stream].is_full() {
                books.now = clock(done);
                if let Err(no_room) = self.make_room(books, sink, stream) {
                    return (done, Err(no_room));
                }
            }
            let frontier = &mut self.log.frontiers[stream];
            let first = frontier.next;
            let room = frontier.free_pages() as usize;
            let count = (lpns.len() - done).min(room);
            self.log.frontiers[stream].next += count as u32;
            let limit = done + count;
            let mut ppn = first;
            // The next victim is known only when the last pages before its collection have died.
            for end in [limit.saturating_sub(VICTIM_AHEAD).max(done), limit] {
                for place in (done + (ppn - first) as usize)..end {
                    if let Some(coming) = Self::look_ahead(books, lpns, place) {
                        self.log.prefetch(coming);
                    }
                    if let Some(old) = books.map.bind(Lpn(lpns[place]), Ppn(ppn)) {
                        let (block, live_count) = books.map.kill(old);
                        self.log.note_dead(block, live_count, 1, clock(place) + 1);
                    }
                    ppn += 1;
                }
                if let Some(victim) = self.log.likely_victim().filter(|_| end < limit) {
                    sink.expect_block(victim);
                }
            }
            sink.program_pages(Ppn(first), &lpns[done..limit]);
            books.counters.programs[Source::Host as usize] += count as u64;
            books.now = clock(limit - 1) + 1;
            done = limit;
        }
        (done, Ok(()))
    }

    /// As [`Pool::write_list`], where neighbours may go to different open blocks.
    fn write_each<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        lpns: &[u32],
        clock: impl Fn(usize) -> u64,
    ) -> (usize, Result<(), NoRoom>) {
        for (place, &lpn) in lpns.iter().enumerate() {
            Self::look_ahead(books, lpns, place);
            books.now = clock(place);
            if let Err(no_room) = self.write(books, sink, Lpn(lpn)) {
                return (place, Err(no_room));
            }
        }
        (lpns.len(), Ok(()))
    }

    /// Asks for what the writes behind a place of a list will touch; returns the block in which a
    /// page will die soon.
    #[inline]
    pub(in crate::ftl) fn look_ahead(books: &Books, lpns: &[u32], place: usize) -> Option<BlockId> {
        if let Some(&coming) = lpns.get(place + ENTRY_AHEAD) {
            books.map.prefetch_entry(Lpn(coming));
        }
        lpns.get(place + PAGE_AHEAD).and_then(|&coming| books.map.prefetch_page(Lpn(coming)))
    }

    /// Places a page of the host whose old copy, if there is one, may be in another pool; returns
    /// that copy, which is still to be killed.
    pub(crate) fn write_shared<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        lpn: Lpn,
    ) -> Result<(Ppn, Option<Ppn>), NoRoom> {
        let stream = self.log.placement.host_stream(lpn, books.handle);
        if self.log.frontiers[stream].is_full() {
            self.make_room_counted(books, sink, stream)?;
        }
        books.now += 1;
        // Making room may have moved the old copy, inside its die.
        let ppn = self.log.next_page(stream);
        Ok((ppn, books.map.bind(lpn, ppn)))
    }

    /// Programs a unit of the drive's own records behind the pages of the host, if there is room.
    pub(crate) fn write_record<S: FlashSink>(&mut self, books: &mut Books, sink: &mut S) {
        let is_full = self.log.frontiers[HOST_FRONTIER].is_full();
        if is_full && self.make_room_counted(books, sink, HOST_FRONTIER).is_err() {
            return;
        }
        let ppn = self.log.next_page(HOST_FRONTIER);
        sink.program_filler(ppn, Source::Map);
        books.map.kill_run(ppn, 1);
        books.counters.programs[Source::Map as usize] += 1;
    }

    /// Writes a run of the host, all of one stream and at memory speed: entries and out-of-band
    /// areas are filled in one loop each, and old pages that are adjacent die together. `clock`
    /// gives the host writes of the drive before each page.
    pub(crate) fn write_die_run<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        run: DieRun,
        clock: impl Fn(Lpn) -> u64,
    ) -> Result<(), NoRoom> {
        let stream = self.log.placement.host_stream(run.lpn(0), books.handle);
        let mut done = 0;
        while done < run.count {
            books.now = clock(run.lpn(done));
            if self.log.frontiers[stream].is_full() {
                self.make_room(books, sink, stream)?;
            }
            let frontier = &mut self.log.frontiers[stream];
            let target = Ppn(frontier.next);
            let room = frontier.free_pages().min(RUN_MAX);
            let part = run.part(done, (run.count - done).min(room));
            frontier.next += part.count;
            self.moves.dead.clear();
            books.map.bind_run(part.lpn(0), part.count, target, &mut self.moves.dead);
            for &DeadRun { first, page_count, written } in &self.moves.dead {
                // The clock of the host write that let the last of them die.
                books.now = clock(part.lpn(written as u32 - 1)) + 1;
                let (block, live_count) = books.map.kill_run(first, page_count);
                self.log.note_dead(block, live_count, page_count, books.now);
            }
            books.counters.programs[Source::Host as usize] += u64::from(part.count);
            sink.program_die_run(target, part);
            done += part.count;
        }
        Ok(())
    }

    /// Lets a page of this pool die.
    #[inline]
    pub(crate) fn kill(&mut self, books: &mut Books, ppn: Ppn) {
        let (block, live_count) = books.map.kill(ppn);
        self.log.note_dead(block, live_count, 1, books.now);
        if let Some(share) = &mut self.share {
            share.live_pages -= 1;
        }
    }

    /// Live pages that the pool may hold, if it takes any.
    pub(crate) fn live_limit(&self) -> u32 {
        let idle = self.share.as_ref().map_or(0, |share| share.idle_blocks);
        (self.wear.good_blocks - idle) * self.log.block_pages()
    }

    /// Good blocks that the pool cannot do without.
    pub(in crate::ftl) fn good_blocks_needed(&self) -> u32 {
        let Some(share) = &self.share else { return self.wear.good_blocks_min };
        let per_block = self.log.block_pages();
        (share.live_pages.div_ceil(per_block) + share.idle_blocks).max(self.wear.good_blocks_min)
    }

    /// Takes an erased map block in for a less worn erased block, where wear is leveled; returns
    /// that.
    pub(in crate::ftl) fn exchange_for(&mut self, media: &Media, map_block: u32) -> Option<u32> {
        let (worn, new) = (media.erase_count(BlockId(map_block)), self.log.erased.next()?);
        let count = media.erase_count(BlockId(new));
        if !self.wear.shares || count >= worn {
            return None;
        }
        self.log.erased.pop();
        self.log.erased.push(map_block, worn);
        self.log.set_state(BlockId(map_block), BlockState::Erased);
        self.log.set_state(BlockId(new), BlockState::Map);
        self.map_blocks.iter_mut().filter(|it| **it == map_block).for_each(|it| *it = new);
        if let Some(gauge) = &mut self.wear.gauge {
            gauge.exchanged(count, worn);
        }
        Some(new)
    }

    /// Good blocks, those of a cache included.
    pub(crate) fn good_blocks(&self) -> u32 {
        let retired = self.scheme.as_ref().map_or(0, |scheme| scheme.retired());
        let cached = self.log.slc.as_ref().map_or(0, |cache| cache.members.len() as u32);
        self.wear.good_blocks + self.map_blocks.len() as u32 + cached - retired
    }

    /// Good blocks beyond those that the pool cannot do without.
    pub(crate) fn dispensable_blocks(&self) -> u32 {
        let retired = self.scheme.as_ref().map_or(0, |scheme| scheme.retired());
        self.wear.good_blocks.saturating_sub(self.wear.good_blocks_min + retired)
    }

    /// Pages of a block that hold something.
    pub(crate) fn written_pages(&self, block: BlockId) -> u32 {
        match &self.scheme {
            Some(scheme) => scheme.written(block),
            None => self.log.written_limit(block) - self.log.geometry.first_page(block).0,
        }
    }

    /// Blocks were worn from outside: erased ones have another order.
    pub(in crate::ftl) fn count_wear_anew(&mut self, media: &Media) {
        let erased: Vec<u32> = std::iter::from_fn(|| self.log.erased.pop()).collect();
        for block in erased {
            self.log.erased.push(block, media.erase_count(BlockId(block)));
        }
        self.gauge_anew(media);
    }

    /// Other blocks hold map pages than those that a new pool sets apart: the wear of the rest is
    /// counted again.
    pub(crate) fn gauge_anew(&mut self, media: &Media) {
        let Some(gauge) = &self.wear.gauge else { return };
        let is_native = |block: &u32| {
            !media.is_bad(BlockId(*block))
                && !self.map_blocks.contains(block)
                && !self.log.is_member(BlockId(*block))
        };
        let counts = self.log.blocks().filter(is_native).map(|it| media.erase_count(BlockId(it)));
        self.wear.gauge = Some(gauge.renewed(counts));
    }
}
