//! The blocks of a pool that will be refreshed, and when.
//!
//! Blocks wait in the order in which they were closed. An entry whose block was collected meanwhile
//! is stale and skipped when its turn comes: a block carries the number of its last closing.
//! Without a clock nothing becomes due. When a clock begins to run, blocks that were closed before
//! count as closed evenly over the `after_days` before that, in their order: preconditioning
//! represents a long history, whose blocks did not all close at one instant.

use std::collections::VecDeque;

use crate::ftl::config::Refresh;
use crate::geometry::Geometry;
use crate::nand::Media;
use crate::units::{BlockId, Ns};

/// The due time of a block that was closed without a clock: not known yet.
const UNKNOWN: u64 = u64::MAX;

/// A block that was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Closed {
    /// When its data has its full age, in nanoseconds; or [`UNKNOWN`].
    due: u64,
    block: u32,
    closing: u32,
}

/// A block whose reads have too many bit errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Erring {
    since: u64,
    block: u32,
    erases: u32,
}

/// A block whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ftl) struct Due {
    /// When it became due, in nanoseconds.
    pub(in crate::ftl) since: Ns,
    pub(in crate::ftl) block: BlockId,
    /// Whether that was for the errors of its reads.
    pub(in crate::ftl) is_by_rate: bool,
}

/// The blocks of a pool that will be refreshed.
pub(crate) struct RefreshQueue {
    /// Age at which data is moved, in nanoseconds; `None` if only errors count.
    after: Option<u64>,
    first_block: u32,
    /// By block: the number of its last closing.
    closings: Vec<u32>,
    closing: u32,
    /// In the order of their times; those without one last.
    by_age: VecDeque<Closed>,
    by_rate: Vec<Erring>,
}

impl RefreshQueue {
    pub(super) fn new(config: &Refresh, geometry: &Geometry, first_block: u32) -> Self {
        Self {
            after: config.after_days.map(|days| Ns::from_days(days).0),
            first_block,
            closings: vec![0; geometry.blocks_per_die as usize],
            closing: 0,
            by_age: VecDeque::new(),
            by_rate: Vec::new(),
        }
    }

    /// A block was written to its end.
    pub(super) fn note_closed(&mut self, block: u32, now: Option<Ns>) {
        let Some(after) = self.after else { return };
        if self.by_age.len() > 2 * self.closings.len() {
            let (closings, first) = (&self.closings, self.first_block);
            self.by_age.retain(|it| closings[(it.block - first) as usize] == it.closing);
        }
        self.closing = self.closing.wrapping_add(1);
        let closing = self.closing;
        self.closings[(block - self.first_block) as usize] = closing;
        let due = now.map_or(UNKNOWN, |now| now.0 + after);
        self.by_age.push_back(Closed { due, block, closing });
    }

    /// Reads of a block, at this erase count, have too many bit errors.
    pub(in crate::ftl) fn ask(&mut self, block: BlockId, erases: u32, now: Ns) {
        self.by_rate.push(Erring { since: now.0, block: block.0, erases });
    }

    /// Whether there is anything to look at.
    #[inline]
    pub(in crate::ftl) fn may_be_due(&self, now: Ns) -> bool {
        !self.by_rate.is_empty() || self.by_age.front().is_some_and(|it| it.due <= now.0)
    }

    /// The time before which there is nothing to look at.
    pub(in crate::ftl) fn due_from(&self) -> Ns {
        match self.by_age.front() {
            _ if !self.by_rate.is_empty() => Ns(0),
            Some(first) => Ns(first.due),
            None => Ns(u64::MAX),
        }
    }

    /// The block that has been due for longest. Those that are not `is_ready` are forgotten, except
    /// open blocks with too many bit errors, which wait until they are closed.
    pub(in crate::ftl) fn oldest(
        &mut self,
        media: &Media,
        now: Ns,
        is_open: impl Fn(BlockId) -> bool,
        is_ready: impl Fn(BlockId) -> bool,
    ) -> Option<Due> {
        while let Some(it) = self.by_age.front().filter(|it| it.due <= now.0) {
            let is_last = self.closings[(it.block - self.first_block) as usize] == it.closing;
            if is_last && is_ready(BlockId(it.block)) {
                break;
            }
            self.by_age.pop_front();
        }
        let waits = |it: &Erring| {
            let block = BlockId(it.block);
            media.erase_count(block) == it.erases && (is_open(block) || is_ready(block))
        };
        self.by_rate.retain(waits);
        let by_age = self.by_age.front().filter(|it| it.due <= now.0).map(|it| Due {
            since: Ns(it.due),
            block: BlockId(it.block),
            is_by_rate: false,
        });
        let by_rate = self.by_rate.iter().find(|it| !is_open(BlockId(it.block)));
        let by_rate = by_rate.map(|it| Due {
            since: Ns(it.since),
            block: BlockId(it.block),
            is_by_rate: true,
        });
        by_age.into_iter().chain(by_rate).min_by_key(|it| it.since)
    }

    /// Starts the clock; `holds` is true for a block that is closed and not being collected.
    pub(in crate::ftl) fn start_clock(&mut self, now: Ns, holds: impl Fn(BlockId) -> bool) {
        let Some(after) = self.after else { return };
        let (closings, first) = (&self.closings, self.first_block);
        let is_last = |it: &Closed| closings[(it.block - first) as usize] == it.closing;
        self.by_age.retain(|it| is_last(it) && holds(BlockId(it.block)));
        let unknown = self.by_age.iter().filter(|it| it.due == UNKNOWN).count();
        let undated = self.by_age.iter_mut().filter(|it| it.due == UNKNOWN);
        for (place, it) in undated.enumerate() {
            let share = (place as f64 + 0.5) / unknown as f64;
            it.due = now.0 + (share * after as f64) as u64;
        }
        self.by_age.make_contiguous().sort_by_key(|it| it.due);
    }

    /// When the next block becomes due after `now`, or the next that is closed may.
    pub(in crate::ftl) fn next_after(&self, now: Ns) -> Option<Ns> {
        let after = self.after?;
        let place = self.by_age.partition_point(|it| it.due <= now.0);
        let dated = self.by_age.get(place).filter(|it| it.due < UNKNOWN);
        Some(Ns(dated.map_or(now.0 + after, |it| it.due)))
    }

    /// Numbers for a checkpoint: of each block that waits, when it is due and which it is.
    pub(in crate::ftl) fn save(&self) -> Vec<u64> {
        let is_last =
            |it: &&Closed| self.closings[(it.block - self.first_block) as usize] == it.closing;
        let by_age = self.by_age.iter().filter(is_last);
        let by_age = by_age.flat_map(|it| [it.due, u64::from(it.block), UNKNOWN]);
        let by_rate = self.by_rate.iter();
        let by_rate = by_rate.flat_map(|it| [it.since, it.block.into(), it.erases.into()]);
        by_age.chain(by_rate).collect()
    }

    /// Restores what [`RefreshQueue::save`] gave; false if that is of another pool.
    pub(in crate::ftl) fn restore(&mut self, numbers: &[u64]) -> bool {
        self.by_age.clear();
        self.by_rate.clear();
        for three in numbers.chunks(3) {
            let &[since, block, erases] = three else { return false };
            let Ok(block) = u32::try_from(block) else { return false };
            let place = block.wrapping_sub(self.first_block) as usize;
            if place >= self.closings.len() {
                return false;
            }
            if let Ok(erases) = u32::try_from(erases) {
                self.by_rate.push(Erring { since, block, erases });
            } else {
                self.closing += 1;
                self.closings[place] = self.closing;
                self.by_age.push_back(Closed { due: since, block, closing: self.closing });
            }
        }
        true
    }
}
