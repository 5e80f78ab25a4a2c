//! The receiver of the firmware's operations, and the counters of these operations.
//!
//! The FTL decides which operation is applied to which page, and in which order on each die; a
//! [`FlashSink`] decides the cost: nothing (the untimed executor), time (the timed one), or a check
//! of the rules of NAND (`testing`). A moved page is announced with the place that it comes from,
//! so that a sink that keeps contents can move them.

use super::mapping::MappingCounters;
use crate::geometry::UNMAPPED;
use crate::nand::{CellMode, Media};
use crate::op::{Source, SOURCE_COUNT};
use crate::striping::DieRun;
use crate::units::{BlockId, DieId, Lpn, Ns, Ppn};

/// Which way moved pages take to their new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveWay {
    /// Through the controller, which corrects them; `read_pages` or `read_live` has read them.
    Bus,
    /// Inside the die, from register to array, errors and all; no read is announced.
    Inside,
}

/// Pages of a victim that go to consecutive pages of an open block.
#[derive(Clone, Copy, Debug)]
pub struct MoveRun<'a> {
    /// The block that they leave.
    pub victim: BlockId,
    /// Their indices in it.
    pub page_indices: &'a [u32],
    /// Where the first of them goes.
    pub first: Ppn,
    /// Their logical pages.
    pub lpns: &'a [u32],
    /// Why they move.
    pub source: Source,
    /// How they move.
    pub way: MoveWay,
}

/// The receiver of the FTL's flash operations.
///
/// Who calls: the FTL, in the order in which the operations must happen on each die. The media must
/// hold the programmed pages as soon as `program` or `move_run` returns.
pub trait FlashSink {
    /// The flash as it is after all operations up to now.
    fn media(&self) -> &Media;
    /// The out-of-band areas of a block will be looked at soon.
    #[inline]
    fn expect_block(&self, block: BlockId) {
        self.media().prefetch_block(block);
    }
    /// A page is read.
    fn read(&mut self, ppn: Ppn, source: Source);
    /// The `page_count` live pages of a block are read, one after the other.
    fn read_live(&mut self, block: BlockId, page_count: u32, source: Source);
    /// As `read_live`, for some of the live pages, by their index in the block.
    fn read_pages(&mut self, block: BlockId, page_indices: &[u32], source: Source);
    /// A page is programmed.
    fn program(&mut self, ppn: Ppn, lpn: Lpn, source: Source);
    /// Consecutive pages of a block are programmed by the host.
    fn program_pages(&mut self, first: Ppn, lpns: &[u32]) {
        for (&lpn, ppn) in lpns.iter().zip(first.0..) {
            self.program(Ppn(ppn), Lpn(lpn), Source::Host);
        }
    }
    /// Consecutive pages of a block are programmed by the host, with the logical pages of a run.
    fn program_die_run(&mut self, first: Ppn, run: DieRun);
    /// Pages of a block that is collected are programmed elsewhere.
    fn move_run(&mut self, run: &MoveRun<'_>);
    /// A block is erased; returns its erase count.
    fn erase(&mut self, block: BlockId, source: Source) -> u32;
    /// A block is taken out of use: worn, or failed. In a superblock `failed` are the members that
    /// must not be used again.
    fn retire(&mut self, block: BlockId, failed: &[u32]);
    /// A program of a block has failed; no other follows before it is erased or taken out of use.
    fn fail_program(&mut self, _block: BlockId) {}
    /// The erase of a block fails; it is taken out of use next.
    fn fail_erase(&mut self, _block: BlockId) {}
    /// A member of a superblock has failed, at its erase or before: a spare block of its die takes
    /// its place. The superblock is erased next.
    fn replace_member(&mut self, block: BlockId, member: u32, fails_erase: bool);
    /// Sets the mode (bits per cell) in which an erased block will be written.
    fn set_mode(&mut self, block: BlockId, mode: CellMode);

    /// The time of the drive, if a clock runs.
    #[inline]
    fn clock(&self) -> Option<Ns> {
        None
    }

    /// Whether the owner of the sink schedules collections itself, in steps: then a write without
    /// room is refused as [`NoRoom::Stalled`] instead of collecting on the spot.
    #[inline]
    fn collects_in_steps(&self) -> bool {
        false
    }

    /// Whether writes of the host to a die wait although there is room, since its collection is
    /// behind: they are refused as [`NoRoom::Stalled`].
    #[inline]
    fn holds_back(&self, _die: DieId) -> bool {
        false
    }

    /// Work that waits for a die, in any unit; the allocation that is `dynamic` prefers the least.
    #[inline]
    fn load(&self, _die: DieId) -> u32 {
        0
    }

    /// A victim was chosen among `blocks` blocks of a pool; its collection begins next.
    #[inline]
    fn chose(&mut self, _die: DieId, _blocks: impl FnOnce() -> u32) {}

    /// Whether it matters which pages of a block are read.
    fn tells_pages(&self) -> bool {
        false
    }

    /// The pages in front of `next` that wait for the rest of their program unit, which begins at
    /// `first`, are programmed now; the rest of it follows later.
    fn program_part(&mut self, first: Ppn, next: Ppn);

    /// A zone has taken the pages of a tagged command, from `first` on; those that no random write
    /// area keeps are programmed next. Tag 0 brings zeros.
    fn bring(&mut self, _tag: u32, _first: Lpn, _page_count: u32) {}

    /// What memory holds of these pages is of no value any more.
    fn discard(&mut self, _first: Lpn, _page_count: u32) {}

    /// The drive's memory has taken data of the command for these pages.
    #[inline]
    fn takes(&mut self, _first: Lpn, _page_count: u32) {}

    /// The next program empties a slot of the drive's memory, and no command waits for it.
    #[inline]
    fn flush_next(&mut self) {}

    /// A page that holds no logical page is programmed: parity.
    fn program_filler(&mut self, ppn: Ppn, source: Source) {
        self.program(ppn, Lpn(UNMAPPED), source);
    }
}

/// Why a write found no room. A modelled condition, not a bug; nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// A running collection will make room: the write has to be retried when a block of this die
    /// was erased. Only with sinks that collect in steps.
    Stalled(DieId),
    /// The pool has no block left to write to: the drive takes no more writes.
    WornOut,
}

/// Flash operations by [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FtlCounters {
    /// Pages programmed.
    pub programs: [u64; SOURCE_COUNT],
    /// Pages read.
    pub reads: [u64; SOURCE_COUNT],
    /// Blocks erased.
    pub erases: [u64; SOURCE_COUNT],
    /// Blocks taken out of use at their rated endurance.
    pub retired_blocks: u64,
    /// Programs and erases that failed.
    pub failed_programs: u64,
    /// See `failed_programs`.
    pub failed_erases: u64,
    /// Pages moved inside their die; they are counted among reads and programs too.
    pub copyback_pages: u64,
    /// Blocks that were refreshed for the age of their data.
    pub refreshed_by_age: u64,
    /// Blocks that were refreshed for the errors of their reads.
    pub refreshed_by_rate: u64,
    /// Pages that were read on patrol; they are counted among the reads for refresh too.
    pub patrol_reads: u64,
    /// Programs of a part of a page, that left room for another.
    pub partial_programs: u64,
    /// What the scheme of the map did.
    pub mapping: MappingCounters,
}

impl FtlCounters {
    /// Whether collections have programmed as many pages as they have read since `then`.
    pub fn moves_agree(&self, then: &Self) -> bool {
        let patrol = self.patrol_reads - then.patrol_reads;
        [Source::Gc, Source::Wear, Source::Fold, Source::Refresh].iter().all(|&source| {
            let others = if source == Source::Refresh { patrol } else { 0 };
            let source = source as usize;
            self.programs[source] - then.programs[source] + others
                == self.reads[source] - then.reads[source]
        })
    }
}

impl std::ops::AddAssign for FtlCounters {
    fn add_assign(&mut self, other: Self) {
        let add = |sums: &mut [u64; SOURCE_COUNT], counts: [u64; SOURCE_COUNT]| {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        };
        add(&mut self.programs, other.programs);
        add(&mut self.reads, other.reads);
        add(&mut self.erases, other.erases);
        self.retired_blocks += other.retired_blocks;
        self.failed_programs += other.failed_programs;
        self.failed_erases += other.failed_erases;
        self.copyback_pages += other.copyback_pages;
        self.refreshed_by_age += other.refreshed_by_age;
        self.refreshed_by_rate += other.refreshed_by_rate;
        self.patrol_reads += other.patrol_reads;
        self.partial_programs += other.partial_programs;
        self.mapping += other.mapping;
    }
}
