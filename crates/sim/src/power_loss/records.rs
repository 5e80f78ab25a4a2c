//! Records that the firmware writes in addition to the data: journal, checkpoints and roots, and
//! when they are safe.
//!
//! ```text
//! trims, changes of the map ─► journal page ┐ one after another, in separate blocks of one bit
//! copy of the map           ─► checkpoint   ├─► per cell: they take time, and no time of the
//! places of both            ─► root page    ┘   dies that hold data
//! ```
//! A trim is recorded before it takes effect, so a copy that it lets die is never erased before the
//! record is safe. Changes of the map are recorded too, but a strong recovery does not need them:
//! it finds them in the pages that were written since the checkpoint. Two roots are written in
//! turn; a single one is overwritten in place, and is no root while it is written.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::drive::{Checkpoint, MapOrder, PowerLossConfig};
use crate::session::Session;
use crate::units::{BlockId, Lpn, Ns};

/// Changes of the map that fill a page of the journal.
const CHANGES_PER_PAGE: usize = 64;

/// A trim that waits for its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trim {
    pub(super) token: u64,
    pub(super) first: u32,
    pub(super) count: u32,
    /// Pages that hold something, and the version that the trim will be.
    pub(super) pages: Vec<(u32, u32)>,
}

/// A change of the map in a page of the journal: the place of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) lpn: u32,
    pub(super) version: u32,
    pub(super) block: BlockId,
    pub(super) index: u32,
}

#[derive(Clone, Debug)]
enum Page {
    Journal { trims: Vec<Trim>, changes: Vec<Change> },
    Checkpoint,
    Root(Arc<Checkpoint>),
}

/// The kind of record that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writing {
    Journal,
    Checkpoint,
    Root,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Records {
    /// By logical page, the version of its last trim that is recorded; empty before the first.
    trims: Arc<Vec<u32>>,
    logical_pages: u32,
    /// What the last root names; `None` before the first.
    pub(super) checkpoint: Option<Arc<Checkpoint>>,
    /// Changes since, as far as they are recorded.
    pub(super) changes: Vec<Change>,
    waiting: VecDeque<(Page, Ns)>,
    writing: Option<(Page, Ns, Ns)>,
    changed: Vec<u32>,
    since_checkpoint: u32,
    interval: u32,
    program: Ns,
    checkpoint_time: Ns,
    trusts_map: bool,
    /// Pages of the journal, checkpoints and roots that were written.
    pub(super) pages_written: u64,
    checkpoint_pages: u64,
}

impl Records {
    /// Of a drive of `logical_pages` logical pages; a page of the records takes `program`.
    pub(super) fn new(
        config: &PowerLossConfig,
        logical_pages: u32,
        page_bytes: u64,
        dies: u32,
        program: Ns,
    ) -> Self {
        let checkpoint_pages = (u64::from(logical_pages) * 4).div_ceil(page_bytes).max(1);
        Self {
            trims: Arc::default(),
            logical_pages,
            checkpoint: None,
            changes: Vec::new(),
            waiting: VecDeque::new(),
            writing: None,
            changed: Vec::new(),
            since_checkpoint: 0,
            interval: config.checkpoint_interval_units,
            program,
            checkpoint_time: Ns(checkpoint_pages.div_ceil(u64::from(dies)) * program.0),
            trusts_map: config.map_order == MapOrder::MapBeforeData,
            pages_written: 0,
            checkpoint_pages,
        }
    }

    /// The drive is mounted: the recovery has written a checkpoint.
    pub(super) fn mounted(&mut self, session: &Session) {
        self.checkpoint = Some(Arc::new(session.mounted_checkpoint()));
        self.changes.clear();
        self.waiting.clear();
        self.writing = None;
        self.changed.clear();
        self.since_checkpoint = 0;
        self.pages_written += self.checkpoint_pages + 1;
    }

    /// A trim is recorded.
    pub(super) fn note_trim(&mut self, lpn: u32, version: u32) {
        let trims = Arc::make_mut(&mut self.trims);
        trims.resize(self.logical_pages as usize, 0);
        let known = &mut trims[lpn as usize];
        *known = version.max(*known);
    }

    /// By logical page, the version of its last trim that is recorded; empty before the first.
    pub(super) fn trims(&self) -> Arc<Vec<u32>> {
        Arc::clone(&self.trims)
    }

    /// How long a page of the records takes.
    pub(super) fn program(&self) -> Ns {
        self.program
    }

    /// How long a checkpoint and its root take.
    pub(super) fn checkpoint_time(&self) -> Ns {
        self.checkpoint_time + self.program
    }

    /// When the page that is being written is safe.
    pub(super) fn next_at(&self) -> Option<Ns> {
        self.writing.as_ref().map(|&(_, _, ends)| ends)
    }

    /// The record that is being written, and the share of it that is done at a time.
    pub(super) fn writing(&self, now: Ns) -> Option<(Writing, f64)> {
        let (page, began, ends) = self.writing.as_ref()?;
        let kind = match page {
            Page::Journal { .. } => Writing::Journal,
            Page::Checkpoint => Writing::Checkpoint,
            Page::Root(_) => Writing::Root,
        };
        let time = (*ends - *began).0.max(1);
        Some((kind, (now.0.saturating_sub(began.0)) as f64 / time as f64))
    }

    fn push(&mut self, page: Page, now: Ns) {
        let time = if let Page::Checkpoint = page { self.checkpoint_time } else { self.program };
        self.waiting.push_back((page, time));
        self.go_on(now);
    }

    fn go_on(&mut self, now: Ns) {
        if self.writing.is_none() {
            if let Some((page, time)) = self.waiting.pop_front() {
                self.writing = Some((page, now, now + time));
            }
        }
    }

    /// A trim is recorded, and takes effect when [`Records::advance`] gives it back.
    pub(super) fn trim(&mut self, trim: Trim, now: Ns) {
        self.push(Page::Journal { trims: vec![trim], changes: Vec::new() }, now);
    }

    /// The host has written a page.
    pub(super) fn wrote(&mut self, session: &Session, lpn: u32, now: Ns) {
        self.since_checkpoint += 1;
        self.changed.push(lpn);
        if self.changed.len() >= CHANGES_PER_PAGE {
            self.write_changes(session, now);
        }
        if self.since_checkpoint >= self.interval {
            self.write_checkpoint(session, now);
        }
    }

    /// Writes a checkpoint of the map, and its root.
    pub(super) fn write_checkpoint(&mut self, session: &Session, now: Ns) {
        self.since_checkpoint = 0;
        let checkpoint = Arc::new(session.checkpoint());
        self.push(Page::Checkpoint, now);
        self.push(Page::Root(checkpoint), now);
    }

    /// Records the changes of the map: at a flush, and when they fill a page.
    pub(super) fn write_changes(&mut self, session: &Session, now: Ns) {
        let changed = std::mem::take(&mut self.changed);
        if changed.is_empty() {
            return;
        }
        let mut changes = Vec::new();
        if self.trusts_map {
            let places = changed.iter().filter_map(|&lpn| {
                let (block, index) = session.place_of(Lpn(lpn))?;
                Some(Change { lpn, version: session.version(Lpn(lpn)), block, index })
            });
            changes.extend(places);
        }
        self.push(Page::Journal { trims: Vec::new(), changes }, now);
    }

    /// Lets pages become safe up to a time; trims that are recorded now take effect.
    pub(super) fn advance(&mut self, now: Ns) -> Vec<Trim> {
        let mut recorded = Vec::new();
        while let Some((page, _, ends)) = self.writing.take_if(|(_, _, ends)| *ends <= now) {
            self.pages_written += 1;
            match page {
                Page::Journal { trims, changes } => {
                    for &(lpn, version) in trims.iter().flat_map(|trim| &trim.pages) {
                        self.note_trim(lpn, version);
                    }
                    recorded.extend(trims);
                    self.changes.extend(changes);
                }
                Page::Checkpoint => self.pages_written += self.checkpoint_pages - 1,
                Page::Root(checkpoint) => {
                    self.checkpoint = Some(checkpoint);
                    self.changes.clear();
                }
            }
            self.go_on(ends);
        }
        recorded
    }

    /// The power fails: records that are not safe are lost. Returns the one that was being written.
    pub(super) fn cut(&mut self, now: Ns) -> Option<(Writing, f64)> {
        let torn = self.writing(now);
        self.waiting.clear();
        self.writing = None;
        self.changed.clear();
        self.since_checkpoint = 0;
        torn
    }
}
