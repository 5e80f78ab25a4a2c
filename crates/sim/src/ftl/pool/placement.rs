//! Which open block a page goes to.
//!
//! ```text
//! stream    single   host_gc   hot_cold    N handles: persistently         initially
//!                                          single        host_gc
//! 0         all      host      hot         handle 0      host, handle 0    host, handle 0
//! 1         -        moved     cold        handle 1      host, handle 1    host, handle 1
//! ..                                       ..            ..                ..
//! N                                        -             moved, handle 0   moved, all handles
//! ..                                                     ..
//! last      data moved by static wear leveling
//! ```
//! The stream of a host write is decided in one place, [`Placement::host_stream`]. A block holds
//! data of one handle, or data that collection has mixed; which, is known by block.
//! One handle is none: then the open blocks are those of `single` or `host_gc`.

use std::ops::Range;

use super::handles::{Handles, Ids, Isolation, PlacementConfig};
use crate::ftl::config::WriteFrontiers;
use crate::op::Source;
use crate::units::{BlockId, Lpn};

/// Streams of a pool without handles: up to two, and that of wear leveling.
pub(crate) const PLAIN_STREAMS: usize = 3;
/// The open block of host writes.
pub(crate) const HOST_FRONTIER: usize = 0;
/// The open block of moved pages, if they do not share that of the host.
pub(crate) const MOVED_FRONTIER: usize = 1;

/// The limit of an oracle that asks the handles.
const BY_HANDLE: u32 = u32::MAX;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    host_gc: bool,
    /// Logical pages below this one are hot, for the oracle; [`BY_HANDLE`] where handles decide, 0
    /// where all pages of the host go to one open block.
    hot_limit: u32,
    streams: usize,
    pub(crate) handles: Option<Box<Handles>>,
}

impl Placement {
    /// The streams of a pool of these blocks.
    pub(crate) fn new(
        frontiers: &WriteFrontiers,
        placement: &PlacementConfig,
        logical_pages: u32,
        blocks: Range<u32>,
    ) -> Self {
        let host_gc = matches!(frontiers, WriteFrontiers::HostGc(_));
        let handles = Handles::new(placement, host_gc, blocks).map(Box::new);
        let divides = handles.as_ref().is_some_and(|handles| handles.divides());
        let hot_limit = match frontiers {
            _ if divides => BY_HANDLE,
            WriteFrontiers::HotCold(oracle) => {
                (f64::from(logical_pages) * oracle.fraction).round() as u32
            }
            _ => 0,
        };
        let streams = handles.as_ref().filter(|_| divides).map_or(PLAIN_STREAMS, |it| it.streams());
        Self { host_gc, hot_limit, streams, handles }
    }

    /// Open blocks of a pool, that of wear leveling included.
    pub(crate) fn streams(&self) -> usize {
        self.streams
    }

    /// The stream of wear leveling, behind all others.
    pub(crate) fn wear_stream(&self) -> usize {
        self.streams - 1
    }

    /// The last of the streams that the host writes to; the first is [`HOST_FRONTIER`].
    pub(crate) fn last_host_stream(&self) -> usize {
        match self.dividing() {
            Some(handles) => usize::from(handles.count()) - 1,
            None => HOST_FRONTIER + usize::from(self.hot_limit != 0),
        }
    }

    /// The handles, if there are several.
    fn dividing(&self) -> Option<&Handles> {
        self.handles.as_deref().filter(|_| self.hot_limit == BY_HANDLE)
    }

    /// The open block of a page that the host writes; `handle` is that of the command, where the
    /// address does not decide.
    #[inline]
    pub(crate) fn host_stream(&mut self, lpn: Lpn, handle: u8) -> usize {
        if self.hot_limit == 0 {
            return HOST_FRONTIER;
        }
        self.divided_stream(lpn, handle)
    }

    fn divided_stream(&mut self, lpn: Lpn, handle: u8) -> usize {
        match &mut self.handles {
            Some(handles) if self.hot_limit == BY_HANDLE => handles.host_stream(lpn, handle),
            _ => usize::from(lpn.0 >= self.hot_limit),
        }
    }

    /// A page that [`Placement::host_stream`] was asked for is not written.
    #[cold]
    pub(crate) fn refused(&mut self, stream: usize) {
        if let Some(handles) = self.handles.as_mut().filter(|_| self.hot_limit == BY_HANDLE) {
            handles.refused(stream);
        }
    }

    /// The open block of a page that is moved out of a block.
    #[inline]
    pub(crate) fn moved_stream(&self, lpn: Lpn, source: Source, victim: BlockId) -> usize {
        if source == Source::Wear {
            self.wear_stream()
        } else if self.hot_limit == 0 {
            usize::from(self.host_gc)
        } else {
            self.dividing().map_or_else(
                || usize::from(lpn.0 >= self.hot_limit),
                |handles| handles.moved_stream(victim),
            )
        }
    }

    /// Whether pages of one collection, or neighbours of the host, can go to different open blocks.
    pub(crate) fn splits(&self, source: Source) -> bool {
        let has_oracle = self.hot_limit != 0 && self.hot_limit != BY_HANDLE;
        source != Source::Wear
            && (has_oracle || (source == Source::Host && self.dividing().is_some()))
    }

    /// Sets which handle each write of the host goes to, if there are handles.
    pub(crate) fn set_ids(&mut self, ids: &Ids) {
        if let Some(handles) = &mut self.handles {
            handles.ids = ids.clone();
        }
    }
}

impl WriteFrontiers {
    /// Open blocks that a pool with these handles can hold besides the first, that of wear leveling
    /// apart.
    pub(in crate::ftl) fn extra(&self, placement: &PlacementConfig) -> u32 {
        let (ids, own) = (placement.ids(), u32::from(!matches!(self, Self::Single(_))));
        match placement.isolation() {
            _ if ids < 2 => own,
            Isolation::Persistently => ids * (1 + own) - 1,
            Isolation::Initially => ids,
        }
    }
}
