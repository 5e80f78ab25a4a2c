//! Records that the firmware writes in addition to the data: journal, checkpoints and roots, and
//! when they are safe.
//!
//! ```text
//! trims, changes of the map ─► journal page ┐ one after another, in separate blocks of one bit
//! copy of the map           ─► checkpoint   ├─► per cell: they take time, and no time of the
//! places of both            ─► root page    ┘   dies that hold data
//! ```
//! A trim is recorded before it takes effect, so a copy that it lets die is never erased before the
//! record is safe. Changes of the map take pages of the journal too, but only a recovery that
//! trusts them (`map_order: map_before_data`) reads them; any other finds the changes in the pages
//! that were written since the checkpoint, so for it these journal pages are empty here. Two roots
//! are written in turn; a single one is overwritten in place, and is no root while it is written.

use std::collections::VecDeque;
use std::sync::Arc;

use super::host_log::PageVersion;
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
    /// Pages that hold something, with the version that the trim will be.
    pub(super) pages: Vec<PageVersion>,
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
/// A page of the records, or the pages of a checkpoint.
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

/// A page that is being written.
#[derive(Clone, Debug)]
struct InFlight {
    page: Page,
    ends: Ns,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Records {
    /// By logical page, the version of its last trim that is recorded; empty before the first.
    trimmed_versions: Arc<Vec<u32>>,
    logical_pages: u32,
    /// What the last root names; `None` before the first.
    pub(super) checkpoint: Option<Arc<Checkpoint>>,
    /// Changes since, as far as they are recorded.
    pub(super) recorded_changes: Vec<Change>,
    waiting: VecDeque<Page>,
    in_flight: Option<InFlight>,
    /// Logical pages whose change of the map no page of the journal holds yet.
    unrecorded: Vec<u32>,
    /// Pages that the host has written since the last checkpoint.
    since_checkpoint: u32,
    /// The same at which the next checkpoint is written.
    interval: u32,
    program_time: Ns,
    /// Without its root.
    checkpoint_only_time: Ns,
    /// Whether the recovery reads the changes in the journal; if not, they are left out.
    trusts_map: bool,
    /// Pages of the journal, checkpoints and roots that were written.
    pub(super) pages_written: u64,
    checkpoint_pages: u64,
}

impl Records {
    /// Of a drive of `logical_pages` logical pages; a page of the records takes `program_time`.
    pub(super) fn new(
        config: &PowerLossConfig,
        logical_pages: u32,
        page_bytes: u64,
        dies: u32,
        program_time: Ns,
    ) -> Self {
        let checkpoint_pages = (u64::from(logical_pages) * 4).div_ceil(page_bytes).max(1);
        Self {
            trimmed_versions: Arc::default(),
            logical_pages,
            checkpoint: None,
            recorded_changes: Vec::new(),
            waiting: VecDeque::new(),
            in_flight: None,
            unrecorded: Vec::new(),
            since_checkpoint: 0,
            interval: config.checkpoint_interval_units,
            program_time,
            checkpoint_only_time: Ns(checkpoint_pages.div_ceil(u64::from(dies)) * program_time.0),
            trusts_map: config.map_order == MapOrder::MapBeforeData,
            pages_written: 0,
            checkpoint_pages,
        }
    }

    /// The drive is mounted: the recovery has written a checkpoint.
    pub(super) fn mounted(&mut self, session: &Session) {
        self.checkpoint = Some(Arc::new(session.mounted_checkpoint()));
        self.recorded_changes.clear();
        self.waiting.clear();
        self.in_flight = None;
        self.unrecorded.clear();
        self.since_checkpoint = 0;
        self.pages_written += self.checkpoint_pages + 1;
    }

    /// The record of a trim of a page is on the flash.
    pub(super) fn set_trimmed(&mut self, lpn: u32, version: u32) {
        let trims = Arc::make_mut(&mut self.trimmed_versions);
        trims.resize(self.logical_pages as usize, 0);
        let known = &mut trims[lpn as usize];
        *known = version.max(*known);
    }

    /// By logical page, the version of its last trim that is recorded; empty before the first.
    pub(super) fn trimmed_versions(&self) -> Arc<Vec<u32>> {
        Arc::clone(&self.trimmed_versions)
    }

    /// How long a page of the records takes.
    pub(super) fn program_time(&self) -> Ns {
        self.program_time
    }

    /// How long a checkpoint and its root take.
    pub(super) fn checkpoint_and_root_time(&self) -> Ns {
        self.checkpoint_only_time + self.program_time
    }

    /// When the page that is being written is safe.
    pub(super) fn next_at(&self) -> Option<Ns> {
        self.in_flight.as_ref().map(|it| it.ends)
    }

    /// The record that is being written.
    pub(super) fn writing(&self) -> Option<Writing> {
        Some(match self.in_flight.as_ref()?.page {
            Page::Journal { .. } => Writing::Journal,
            Page::Checkpoint => Writing::Checkpoint,
            Page::Root(_) => Writing::Root,
        })
    }

    fn push(&mut self, page: Page, now: Ns) {
        self.waiting.push_back(page);
        self.write_next(now);
    }

    /// Begins with the next page if none is being written.
    fn write_next(&mut self, now: Ns) {
        if self.in_flight.is_none() {
            if let Some(page) = self.waiting.pop_front() {
                let time = match page {
                    Page::Checkpoint => self.checkpoint_only_time,
                    Page::Journal { .. } | Page::Root(_) => self.program_time,
                };
                self.in_flight = Some(InFlight { page, ends: now + time });
            }
        }
    }

    /// Writes the record of a trim, which takes effect when [`Records::advance`] gives it back.
    pub(super) fn write_trim(&mut self, trim: Trim, now: Ns) {
        self.push(Page::Journal { trims: vec![trim], changes: Vec::new() }, now);
    }

    /// The host has written a page.
    pub(super) fn wrote(&mut self, session: &Session, lpn: u32, now: Ns) {
        self.since_checkpoint += 1;
        self.unrecorded.push(lpn);
        if self.unrecorded.len() >= CHANGES_PER_PAGE {
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
        let changed = std::mem::take(&mut self.unrecorded);
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
        while let Some(InFlight { page, ends }) = self.in_flight.take_if(|it| it.ends <= now) {
            self.pages_written += 1;
            match page {
                Page::Journal { trims, changes } => {
                    for &PageVersion { lpn, version } in trims.iter().flat_map(|trim| &trim.pages) {
                        self.set_trimmed(lpn, version);
                    }
                    recorded.extend(trims);
                    self.recorded_changes.extend(changes);
                }
                Page::Checkpoint => self.pages_written += self.checkpoint_pages - 1,
                Page::Root(checkpoint) => {
                    self.checkpoint = Some(checkpoint);
                    self.recorded_changes.clear();
                }
            }
            self.write_next(ends);
        }
        recorded
    }

    /// The power fails: records that are not safe are lost. Returns the one that was being written.
    pub(super) fn cut(&mut self) -> Option<Writing> {
        let torn = self.writing();
        self.waiting.clear();
        self.in_flight = None;
        self.unrecorded.clear();
        self.since_checkpoint = 0;
        torn
    }
}
