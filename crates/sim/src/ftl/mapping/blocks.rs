//! The base of schemes with a map of blocks: blocks of data whose pages have fixed offsets.
//!
//! ```text
//! index of a logical page in its die = number of its block * pages per block + offset
//! table: number of the block ──► block of the flash, page at its offset    (data)
//!        log blocks: pages in the order in which they came                  (the schemes)
//! merge: the newest copies, wherever they are ──► another block, each at its offset
//! ```
//! Pages of a block are programmed in order and without gaps: if a merge has no page for an offset
//! but one for a later offset, the gap is padded. Blocks that hold data are `Closed` in the log's
//! table; how far each is written is kept here.

use serde::{Deserialize, Serialize};

use crate::ftl::books::Books;
use crate::ftl::pool::{BlockState, Log, Reclaimed};
use crate::ftl::sink::{FlashSink, MoveRun, MoveWay};
use crate::geometry::UNMAPPED;
use crate::op::{Source, RUN_MAX};
use crate::striping::Turns;
use crate::units::{BlockId, Lpn, Ppn};

/// No block of the flash, or of data.
pub(crate) const NONE: u32 = UNMAPPED;

/// What a scheme works with: the blocks of its die, the tables that all dies write, the sink.
pub(crate) struct Bench<'a, S> {
    pub(crate) log: &'a mut Log,
    pub(crate) books: &'a mut Books,
    pub(crate) sink: &'a mut S,
}

/// The table of blocks of one die.
pub(crate) struct DataBlocks {
    turns: Turns,
    die: u32,
    /// Pages of a block.
    pub(crate) pages: u32,
    /// Logical pages of the die.
    page_count: u32,
    /// By number of a block of data: its block of the flash.
    data: Vec<u32>,
    first_block: u32,
    /// By block of the flash: pages that were programmed.
    written: Vec<u32>,
    /// Erase count at which a block is not erased again.
    worn_limit: u32,
    /// Blocks that were taken out of use.
    retired: u32,
    /// Kept for their memory.
    indices: Vec<u32>,
    lpns: Vec<u32>,
    /// Blocks that were erased, and among them the rewritten blocks and recycled log blocks from
    /// which pages had to be moved.
    pub(super) reclaimed: Reclaimed,
    /// Pages were moved since the last of those.
    has_moved: bool,
}

/// As plain numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BlocksSnapshot {
    data: Vec<u32>,
    written: Vec<u32>,
    retired: u32,
}

/// A logical page as a map of blocks sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Which block of data.
    pub(crate) number: u32,
    /// Which page of it.
    pub(crate) offset: u32,
}

impl DataBlocks {
    /// A table without data.
    pub(crate) fn new(log: &Log, logical_pages: u32, worn_limit: u32) -> Self {
        let geometry = &log.geometry;
        let turns = geometry.striping.turns().expect("the device was checked for this");
        let pages = geometry.pages_per_block;
        let page_count = turns.count_below(log.die.0, logical_pages);
        Self {
            turns,
            die: log.die.0,
            pages,
            page_count,
            data: vec![NONE; page_count.div_ceil(pages) as usize],
            first_block: log.blocks().start,
            written: vec![0; log.blocks().len()],
            worn_limit,
            retired: 0,
            reclaimed: Reclaimed::default(),
            has_moved: false,
            indices: Vec::new(),
            lpns: Vec::new(),
        }
    }

    /// Sets the number of blocks of data, where pages do not take turns on all dies.
    pub(crate) fn renumber(&mut self, numbers: u32) {
        self.data = vec![NONE; numbers as usize];
    }

    /// Blocks of data.
    pub(crate) fn numbers(&self) -> usize {
        self.data.len()
    }

    /// Where a logical page of this die belongs.
    #[inline]
    pub(crate) fn address(&self, lpn: Lpn) -> Address {
        let (_, index) = self.turns.place(lpn.0);
        Address { number: index / self.pages, offset: index % self.pages }
    }

    /// Pages that a block of data has: fewer in the last.
    pub(crate) fn len(&self, number: u32) -> u32 {
        (self.page_count - number * self.pages).min(self.pages)
    }

    /// The logical page at an offset of a block of data.
    #[inline]
    pub(crate) fn lpn(&self, number: u32, offset: u32) -> Lpn {
        Lpn(self.turns.lpn(self.die, number * self.pages + offset))
    }

    /// The block of the flash that holds a block of data, if one does.
    #[inline]
    pub(crate) fn data(&self, number: u32) -> Option<BlockId> {
        let block = self.data[number as usize];
        (block != NONE).then_some(BlockId(block))
    }

    /// Sets the block of the flash that holds a block of data.
    pub(crate) fn set_data(&mut self, number: u32, block: BlockId) {
        self.data[number as usize] = block.0;
    }

    /// No block of the flash holds a block of data any more.
    pub(crate) fn forget(&mut self, number: u32) {
        self.data[number as usize] = NONE;
    }

    /// Pages of a block of the flash that were programmed.
    #[inline]
    pub(crate) fn written(&self, block: BlockId) -> u32 {
        self.written[(block.0 - self.first_block) as usize]
    }

    /// Blocks that were taken out of use.
    pub(crate) fn retired(&self) -> u32 {
        self.retired
    }

    fn written_mut(&mut self, block: BlockId) -> &mut u32 {
        &mut self.written[(block.0 - self.first_block) as usize]
    }

    /// Opens an erased block; there is one.
    pub(crate) fn open<S: FlashSink>(&mut self, at: &mut Bench<'_, S>) -> BlockId {
        let block = at.log.erased.pop().expect("the scheme has looked for an erased block");
        at.log.set_state(BlockId(block), BlockState::Closed);
        at.books.map.fill(BlockId(block));
        *self.written_mut(BlockId(block)) = 0;
        BlockId(block)
    }

    /// Programs a page of the host as the next of a block.
    #[inline]
    pub(crate) fn append<S: FlashSink>(&mut self, at: &mut Bench<'_, S>, block: BlockId, lpn: Lpn) {
        self.append_for(at, block, lpn, Source::Host);
    }

    /// Programs the next page of a block.
    #[inline]
    pub(crate) fn append_for<S: FlashSink>(
        &mut self,
        at: &mut Bench<'_, S>,
        block: BlockId,
        lpn: Lpn,
        source: Source,
    ) {
        let written = self.written_mut(block);
        let ppn = Ppn(at.log.geometry.first_page(block).0 + *written);
        *written += 1;
        at.books.now += u64::from(source == Source::Host);
        if let Some(old) = at.books.map.bind(lpn, ppn) {
            at.books.map.kill(old);
        }
        at.books.counters.programs[source as usize] += 1;
        at.sink.program(ppn, lpn, source);
    }

    /// Programs filling up to an offset of a block.
    pub(crate) fn pad_to<S: FlashSink>(
        &mut self,
        at: &mut Bench<'_, S>,
        block: BlockId,
        offset: u32,
    ) {
        let written = self.written(block);
        if written >= offset {
            return;
        }
        let first = at.log.geometry.first_page(block).0;
        at.books.map.kill_run(Ppn(first + written), offset - written);
        at.books.counters.programs[Source::Pad as usize] += u64::from(offset - written);
        for index in written..offset {
            at.sink.program_filler(Ppn(first + index), Source::Pad);
        }
        *self.written_mut(block) = offset;
    }

    /// Copies the newest pages of a block of data to their offsets in `target`, which is not yet
    /// written up to there; with `only`, those that are in this block. Returns the number of copied
    /// pages.
    pub(crate) fn copy<S: FlashSink>(
        &mut self,
        at: &mut Bench<'_, S>,
        number: u32,
        offsets: std::ops::Range<u32>,
        target: BlockId,
        only: Option<BlockId>,
    ) -> u32 {
        let geometry = at.log.geometry;
        let (mut offset, mut copied) = (offsets.start, 0);
        while offset < offsets.end {
            let found = at.books.map.find(self.lpn(number, offset));
            let from = found.map(|ppn| geometry.block_of(ppn));
            let (Some(old), Some(origin)) = (found, from) else {
                offset += 1;
                continue;
            };
            if only.is_some_and(|only| only != origin) {
                offset += 1;
                continue;
            }
            self.pad_to(at, target, offset);
            let index = geometry.page_index(old);
            let most = (offsets.end - offset).min(geometry.pages_per_block - index).min(RUN_MAX);
            self.lpns.clear();
            let lpns =
                (0..most).map(|step| self.turns.lpn(self.die, number * self.pages + offset + step));
            let run = lpns
                .zip(old.0..)
                .take_while(|&(lpn, ppn)| at.books.map.find(Lpn(lpn)) == Some(Ppn(ppn)));
            self.lpns.extend(run.map(|(lpn, _)| lpn));
            let count = self.lpns.len() as u32;
            self.indices.clear();
            self.indices.extend(index..index + count);
            let first = Ppn(geometry.first_page(target).0 + offset);
            at.books.count_moves(Source::Gc, u64::from(count));
            at.sink.read_pages(origin, &self.indices, Source::Gc);
            at.books.map.kill_run(old, count);
            at.books.map.rebind_run(&self.lpns, first);
            at.sink.move_run(&MoveRun {
                victim: origin,
                page_indices: &self.indices,
                first,
                lpns: &self.lpns,
                source: Source::Gc,
                way: MoveWay::Bus,
            });
            *self.written_mut(target) = offset + count;
            offset += count;
            copied += count;
        }
        self.has_moved |= copied > 0;
        copied
    }

    /// Room for writes of the host was made: a block was rewritten, or a log block is free again.
    pub(crate) fn note_reclaimed(&mut self) {
        self.reclaimed.live += u64::from(std::mem::take(&mut self.has_moved));
    }

    /// Whether a block of data has a page that holds something.
    pub(crate) fn holds_any<S: FlashSink>(&self, at: &Bench<'_, S>, number: u32) -> bool {
        (0..self.len(number)).any(|offset| at.books.map.find(self.lpn(number, offset)).is_some())
    }

    /// Erases a block in which nothing lives any more; one at its rated endurance is taken out of
    /// use instead.
    pub(crate) fn erase<S: FlashSink>(&mut self, at: &mut Bench<'_, S>, block: BlockId) {
        let written = self.written(block);
        let first = at.log.geometry.first_page(block).0;
        let left = at.books.map.live_count(block);
        assert!(left == self.pages - written, "{left} live pages of block {} erased", block.0);
        if left > 0 {
            at.books.map.kill_run(Ppn(first + written), left);
        }
        *self.written_mut(block) = 0;
        self.reclaimed.all += 1;
        if at.sink.media().erase_count(block) >= self.worn_limit {
            at.log.set_state(block, BlockState::Bad);
            at.books.counters.retired_blocks += 1;
            self.retired += 1;
            let members = at.sink.media().members_of(block).len() as u32;
            at.sink.retire(block, &(0..members).collect::<Vec<_>>());
            return;
        }
        let erase_count = at.sink.erase(block, Source::Gc);
        at.books.counters.erases[Source::Gc as usize] += 1;
        at.log.set_state(block, BlockState::Erased);
        at.log.erased.push(block.0, erase_count);
    }

    /// Merges a block of data into an erased block, and erases the block that held it.
    pub(crate) fn merge_full<S: FlashSink>(&mut self, at: &mut Bench<'_, S>, number: u32) {
        let old = self.data(number);
        if self.holds_any(at, number) {
            let target = self.open(at);
            self.copy(at, number, 0..self.len(number), target, None);
            self.set_data(number, target);
        } else {
            self.data[number as usize] = NONE;
        }
        if let Some(old) = old {
            self.erase(at, old);
        }
        at.books.counters.mapping.full_merges += 1;
    }

    /// Makes a log block whose pages are at their offsets the block of data, after copying the
    /// later pages of the old one; returns the number of copied pages.
    pub(crate) fn merge_into<S: FlashSink>(
        &mut self,
        at: &mut Bench<'_, S>,
        number: u32,
        log_block: BlockId,
    ) -> u32 {
        let (behind, old) = (self.written(log_block)..self.len(number), self.data(number));
        let copied = old.map_or(0, |old| self.copy(at, number, behind, log_block, Some(old)));
        self.set_data(number, log_block);
        if let Some(old) = old {
            self.erase(at, old);
        }
        copied
    }

    /// As [`DataBlocks::merge_into`], and counts the merge as partial or switch.
    pub(crate) fn merge_log<S: FlashSink>(
        &mut self,
        at: &mut Bench<'_, S>,
        number: u32,
        log_block: BlockId,
    ) {
        let copied = self.merge_into(at, number, log_block);
        let counters = &mut at.books.counters.mapping;
        if copied > 0 {
            counters.partial_merges += 1;
        } else {
            counters.switch_merges += 1;
        }
    }

    /// Whether the pages of a log block are those of a block of data, each at its offset.
    pub(crate) fn is_in_order<S: FlashSink>(
        &self,
        at: &Bench<'_, S>,
        number: u32,
        log_block: BlockId,
    ) -> bool {
        let first = at.log.geometry.first_page(log_block).0;
        let written = self.written(log_block);
        written <= self.len(number)
            && (0..written).all(|offset| {
                at.books.map.find(self.lpn(number, offset)) == Some(Ppn(first + offset))
            })
    }

    /// The blocks of the flash that hold blocks of data.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = u32> + '_ {
        self.data.iter().copied().filter(|&block| block != NONE)
    }

    pub(crate) fn snapshot(&self) -> BlocksSnapshot {
        BlocksSnapshot {
            data: self.data.clone(),
            written: self.written.clone(),
            retired: self.retired,
        }
    }

    /// Restores what [`DataBlocks::snapshot`] gave; false: it is of another drive.
    pub(crate) fn restore(&mut self, snapshot: &BlocksSnapshot) -> bool {
        let blocks = self.first_block..self.first_block + self.written.len() as u32;
        let fits = snapshot.data.len() == self.data.len()
            && snapshot.written.len() == self.written.len()
            && snapshot.written.iter().all(|&written| written <= self.pages)
            && snapshot.data.iter().all(|block| *block == NONE || blocks.contains(block));
        if fits {
            self.data.clone_from(&snapshot.data);
            self.written.clone_from(&snapshot.written);
            self.retired = snapshot.retired;
        }
        fits
    }
}
