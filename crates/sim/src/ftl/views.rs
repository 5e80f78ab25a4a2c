//! Read-only views of the firmware: of the whole drive, of the room in a die, of a block.

use super::pool::{BlockState, HandleCounts, Pool, Reclaimed};
use super::sink::FtlCounters;
use super::Ftl;
use crate::nand::Media;
use crate::op::SOURCE_COUNT;
use crate::units::{BlockId, DieId, Ppn};

/// Sums and lists over the whole drive.
#[derive(Clone, Copy)]
pub struct Figures<'a>(&'a Ftl);

/// The room in a die, and the collection that makes some.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    ftl: &'a Ftl,
    pool: &'a Pool,
}

/// A block of the firmware, which may be a superblock.
#[derive(Clone, Copy)]
pub struct BlockView<'a> {
    ftl: &'a Ftl,
    pool: &'a Pool,
    block: BlockId,
}

impl Ftl {
    /// Figures of the whole drive.
    #[inline]
    pub fn figures(&self) -> Figures<'_> {
        Figures(self)
    }

    /// The room in a die.
    #[inline]
    pub fn room(&self, die: DieId) -> Room<'_> {
        Room { ftl: self, pool: self.pool(die) }
    }

    /// A block.
    #[inline]
    pub fn block(&self, block: BlockId) -> BlockView<'_> {
        BlockView { ftl: self, pool: self.pool_of(block), block }
    }
}

impl<'a> Figures<'a> {
    /// Counts of operations.
    #[inline]
    pub fn counters(self) -> &'a FtlCounters {
        &self.0.books.counters
    }

    /// Logical pages.
    #[inline]
    pub fn logical_pages(self) -> u32 {
        self.0.books.map.logical_pages()
    }

    /// Those that hold data.
    pub fn mapped_pages(self) -> u32 {
        self.0.books.map.mapped_count()
    }

    /// Erased blocks.
    pub fn erased_blocks(self) -> u64 {
        self.0.pools.iter().map(|pool| u64::from(pool.log.erased.len())).sum()
    }

    /// Good blocks, those of a cache included.
    pub fn good_blocks(self) -> u64 {
        self.0.pools.iter().map(|pool| u64::from(pool.good_blocks())).sum()
    }

    /// Good blocks of each pool beyond those that it cannot do without.
    pub fn dispensable_blocks(self) -> Vec<u32> {
        self.0.pools.iter().map(Pool::dispensable_blocks).collect()
    }

    /// Blocks that hold map pages, or may.
    pub fn map_blocks(self) -> usize {
        self.0.books.translation.as_ref().map_or(0, |translation| translation.block_count())
    }

    /// Blocks that collections or merges have reclaimed, by pool; nothing of a pool without good
    /// blocks.
    pub(crate) fn reclaimed(self) -> impl Iterator<Item = Option<Reclaimed>> + 'a {
        let of =
            |pool: &Pool| pool.scheme.as_ref().map_or(pool.moves.reclaimed, |it| it.reclaimed());
        self.0.pools.iter().map(move |pool| (pool.good_blocks() > 0).then(|| of(pool)))
    }

    /// Counts by handle, followed by those of data of several handles; empty without handles.
    pub fn handle_counts(self) -> Vec<HandleCounts> {
        let mut pools = self.0.pools.iter().filter_map(|pool| pool.log.placement.handles.as_ref());
        let mut sums = pools.next().map_or(Vec::new(), |first| first.counts().to_vec());
        for handles in pools {
            let both = sums.iter_mut().zip(handles.counts());
            both.for_each(|(sum, &counts)| *sum = sum.plus(counts));
        }
        sums
    }

    /// Pages programmed in each partition, by source; empty without partitions.
    pub fn partition_programs(self) -> &'a [[u64; SOURCE_COUNT]] {
        self.0.parted.as_ref().map_or(&[], |parted| &parted.programs)
    }

    /// Whether the power may fail.
    pub fn expects_cuts(self) -> bool {
        self.0.pools.iter().any(|pool| pool.log.may_be_cut)
    }

    /// By logical page, the number of its page, or [`UNMAPPED`](crate::geometry::UNMAPPED).
    pub(crate) fn places(self) -> impl Iterator<Item = u32> + 'a {
        self.0.books.map.places()
    }

    /// All blocks: those of one bit per cell that wait to be folded in their order, and those that
    /// are open last.
    pub(crate) fn blocks_by_age(self) -> Vec<BlockId> {
        let cached = self.0.pools.iter().flat_map(|pool| pool.log.slc.iter());
        let cached = cached.flat_map(|cache| cache.cached.iter().copied().map(BlockId));
        let mut blocks: Vec<BlockId> = (0..self.0.geometry.block_count()).map(BlockId).collect();
        let state = |block| self.0.block(block).state();
        blocks.retain(|&block| state(block) != BlockState::Cached);
        blocks.sort_by_key(|&block| state(block) == BlockState::Open);
        cached.chain(blocks).collect()
    }
}

impl Room<'_> {
    /// Erased blocks that the host may still open.
    pub fn spare_blocks(self) -> u32 {
        self.pool.spare_blocks()
    }

    /// Pages that the host may write before a write has to wait.
    pub fn pages_until_stall(self) -> u32 {
        self.pool.pages_until_stall()
    }

    /// Pages that the host may write without any other effect on the blocks.
    pub(crate) fn pages_in_open_block(self) -> u32 {
        self.pool.pages_in_open_block()
    }

    /// Pages free in the open and the erased blocks, less those of the reserve.
    pub fn pages_beyond_reserve(self) -> i64 {
        self.pool.pages_beyond_reserve()
    }

    /// Pages that a block takes.
    pub fn block_pages(self) -> u32 {
        self.pool.log.block_pages()
    }

    /// Blocks of the cache that wait to be folded in pauses.
    pub fn blocks_to_fold(self) -> u32 {
        self.pool.blocks_to_fold()
    }

    /// Whether folding of the full cache, in parallel with host writes, is behind schedule.
    pub(crate) fn owes_fold(self) -> bool {
        self.pool.owes_fold()
    }

    /// The block that is being collected, until its erase has ended.
    pub fn victim(self) -> Option<BlockId> {
        self.pool.moves.victim()
    }

    /// Live pages that the collection has still to move; 0 without one.
    pub fn pages_to_collect(self) -> u32 {
        self.pool.pages_to_collect(&self.ftl.books)
    }

    /// The program unit that the host has begun and not completed, by its first page.
    pub fn unit_under_way(self, media: &Media) -> Option<Ppn> {
        self.pool.log.unit_under_way(media)
    }
}

impl BlockView<'_> {
    /// Its use.
    pub fn state(self) -> BlockState {
        self.pool.log.state(self.block)
    }

    /// Pages that hold something.
    pub fn written_pages(self) -> u32 {
        match &self.ftl.books.translation {
            Some(translation) if self.state() == BlockState::Map => {
                translation.written(self.block.0)
            }
            _ => self.pool.written_pages(self.block),
        }
    }

    /// Pages of the open program unit that are already on the flash, if pages are programmed in
    /// parts.
    pub fn programmed_part(self, media: &Media) -> u32 {
        self.pool.log.programmed_part(media, self.block)
    }

    /// The pages that a page can be rebuilt from, their parity last, as a range of indices in the
    /// block that includes the page itself; `None` without parity.
    pub fn stripe_of(self, media: &Media, index: u32) -> Option<std::ops::Range<u32>> {
        let log = &self.pool.log;
        log.layout.stripe_of(log.die, media.mode(self.block), index)
    }
}
