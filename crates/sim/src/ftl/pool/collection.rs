//! A running collection, and the result of a step of it.

use crate::ftl::map::{DeadRun, Moving};
use crate::op::Source;
use crate::units::BlockId;

/// A victim on its way to being erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collection {
    pub(crate) victim: BlockId,
    pub(crate) source: Source,
    /// No page before this index is live.
    pub(crate) next_page: u32,
    /// Whether the block is worn and will be taken out of use instead of erased.
    pub(crate) retires: bool,
    /// Whether a program of it has failed.
    pub(crate) has_failed: bool,
    /// Whether all its pages are read before the first is placed: it is carried out at once.
    pub(crate) is_whole: bool,
    /// Present when its erase was emitted: the erase count, this erase included.
    pub(crate) erase_count: Option<u32>,
}

/// The running collection, and what past ones have won.
#[derive(Default)]
pub(crate) struct Moves {
    pub(crate) collection: Option<Collection>,
    /// Collections in steps since the host opened a block last.
    pub(crate) begun_in_vain: u32,
    /// Victims that were erased since the drive was made or loaded.
    pub(crate) reclaimed: Reclaimed,
    /// Pages on their way out of a victim; kept for its memory.
    pub(super) moving: Moving,
    /// Pages that one run of the host lets die; kept for its memory.
    pub(super) dead: Vec<DeadRun>,
}

impl Moves {
    /// The block that is being collected, until its erase has ended.
    pub(in crate::ftl) fn victim(&self) -> Option<BlockId> {
        self.collection.map(|collection| collection.victim)
    }

    /// The erase of the victim has ended; `None` when none is running.
    pub(super) fn finish(&mut self) -> Option<Collection> {
        self.collection.take_if(|it| it.erase_count.is_some())
    }
}

/// What a step of a collection has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// This number of pages was moved; more are left.
    Moved(u32),
    /// No live page is left, and the erase of the block was emitted: when it has ended,
    /// [`Ftl::finish`](crate::ftl::Ftl::finish) is due.
    Emptied(BlockId),
    /// No live page is left, and the worn block was taken out of use: the collection has ended.
    Retired(BlockId),
    /// Nothing can be moved now: no collection is running, or its erase is in progress.
    Stuck,
}

/// Victims of collections that were erased.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reclaimed {
    /// All of them.
    pub(crate) all: u64,
    /// Those with live pages, which had to be moved; the others cost an erase alone, as the blocks
    /// of a sequential overwrite do.
    pub(crate) live: u64,
}
