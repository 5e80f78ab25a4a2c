//! The back end of a timed stage: the plain one, or the full one when the device needs it.
//!
//! One branch per call, always taken the same way; a type parameter would double the text of the
//! stage in the binary for nothing that could be measured.

use super::observation::Observation;
use crate::controller::full::{Full, Setup};
use crate::controller::plain::Plain;
use crate::controller::timeline::Timeline;
use crate::controller::{Cut, FlashOp, OpKind, Working};
use crate::drive::Drive;
use crate::engine::Engine;
use crate::ftl::WritesComplete;
use crate::op::{Source, SOURCE_COUNT};
use crate::units::{DieId, Ns, Ppn};

/// See the module.
pub(crate) enum Backend {
    /// Dies in order, nothing else.
    Plain(Box<Plain>),
    /// Every mechanism.
    Full(Box<Full>),
}

impl Backend {
    /// The back end that the device needs, all idle.
    pub(crate) fn new(drive: &Drive, observation: &Observation) -> Self {
        let config = &drive.config;
        if !config.needs_full() && *observation == Observation::default() {
            return Self::Plain(Box::new(Plain::new(drive.geometry, config.flash().timing())));
        }
        let setup = Setup {
            geometry: config.flash_geometry(),
            dies_per_pool: drive.media.superblocks().map_or(1, |it| it.shape().dies()),
            nand: &config.flash(),
            controller: &config.controller,
            splits_collection: config.ftl.collects_in_steps(),
            stages_writes: config.ftl.writes_complete == WritesComplete::Programmed,
            seed: drive.seed,
        };
        let mut full = Full::new(&setup, |block| drive.written_state(block));
        let watch = &mut full.flash.watch;
        watch.is_observed = observation.wants_parts();
        watch.timeline = observation.timeline.map(|(from, to)| Box::new(Timeline::new(from, to)));
        Self::Full(Box::new(full))
    }

    /// The full back end, for work that the plain one does not do.
    #[inline]
    pub(crate) fn full(&self) -> Option<&Full> {
        match self {
            Self::Plain(_) => None,
            Self::Full(full) => Some(full),
        }
    }

    /// See [`Backend::full`].
    #[inline]
    pub(crate) fn full_mut(&mut self) -> Option<&mut Full> {
        match self {
            Self::Plain(_) => None,
            Self::Full(full) => Some(full),
        }
    }

    /// Number of page types.
    pub(crate) fn page_types(&self) -> u32 {
        match self {
            Self::Plain(plain) => plain.page_types(),
            Self::Full(full) => full.flash.page_types(),
        }
    }

    /// Number of operations that are queued or running.
    pub(crate) fn pending(&self) -> u64 {
        match self {
            Self::Plain(plain) => plain.pending(),
            Self::Full(full) => full.done.pending(),
        }
    }

    /// Whether a page of the flash is in the controller's memory, on its way to the flash; asked
    /// for a read of a command.
    #[inline]
    pub(crate) fn serves(&mut self, page: Ppn, source: Source, now: Ns) -> bool {
        match self {
            Self::Plain(plain) => plain.serves(page, source, now),
            Self::Full(full) => full.flash.holds(page),
        }
    }

    /// Handles one event; returns an operation that it completed, if it did.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as `TimedStage::step`
    pub(crate) fn handle(&mut self, engine: &mut Engine, code: u32) -> Option<FlashOp> {
        match self {
            Self::Plain(plain) => plain.handle(engine, code),
            Self::Full(full) => {
                full.handle(engine, code);
                full.done.take()
            }
        }
    }

    /// A further operation that is done already.
    #[inline]
    pub(crate) fn take_completed(&mut self) -> Option<FlashOp> {
        match self {
            Self::Plain(_) => None,
            Self::Full(full) => full.done.take(),
        }
    }

    /// Whether completed operations wait to be taken.
    #[inline]
    pub(crate) fn has_completed(&self) -> bool {
        matches!(self, Self::Full(full) if !full.done.is_empty())
    }

    /// Whether dies may be lost.
    #[inline]
    pub(crate) fn may_lose_dies(&self) -> bool {
        self.full().is_some_and(|full| full.flash.may_lose_dies())
    }

    /// Where the flash has got to when the power fails now; `events` were to come.
    pub(crate) fn cut(&self, drive: &Drive, events: &[(Ns, u32)], now: Ns) -> Cut {
        match self {
            Self::Plain(plain) => plain
                .cut(&drive.geometry, events, now, |block| drive.ftl.block(block).written_pages()),
            Self::Full(full) => full.flash.cut(now),
        }
    }

    /// What the dies are doing.
    pub(crate) fn working(&self) -> Working {
        let mut working = Working::default();
        let mut note = |kind: OpKind, source: Source, page_type: u8| match kind {
            OpKind::Read => {}
            OpKind::Erase => working.erases = true,
            OpKind::Program | OpKind::Copyback => {
                working.moves |= source != Source::Host;
                working.later_pass |= page_type > 0;
            }
        };
        match self {
            Self::Plain(plain) => {
                for op in plain.under_way() {
                    note(op.kind(), op.source(), op.page_type());
                }
            }
            Self::Full(full) => full.flash.dies.under_way(&mut note),
        }
        working
    }

    /// Reports the first page, as an index in its block of the flash, of each running program.
    pub(crate) fn programs_under_way(&self, drive: &Drive, note: &mut impl FnMut(u32)) {
        match self {
            Self::Plain(plain) => {
                let written = |block| drive.ftl.block(block).written_pages();
                plain.programs_under_way(&drive.geometry, written, note);
            }
            Self::Full(full) => full.flash.dies.programs_under_way(note),
        }
    }

    /// Operations that wait on the dies of a pool.
    pub(crate) fn load(&self, die: DieId) -> u32 {
        match self {
            Self::Plain(plain) => plain.load(die),
            Self::Full(full) => full.flash.dies.load(die),
        }
    }

    /// Whether the dies of a pool have nothing to do; collections in steps run on the full back end
    /// only.
    pub(crate) fn is_idle(&self, die: DieId) -> bool {
        match self {
            Self::Plain(plain) => plain.load(die) == 0,
            Self::Full(full) => full.is_idle(die),
        }
    }

    /// Whether operations of a collection wait on the dies of a pool.
    pub(crate) fn collection_waits(&self, die: DieId) -> bool {
        self.full().is_some_and(|full| full.flash.dies.collection_waits(die))
    }

    /// The timeline, when one is recorded.
    #[inline]
    pub(crate) fn recorder(&mut self) -> Option<&mut Timeline> {
        self.full_mut()?.flash.watch.timeline.as_deref_mut()
    }

    /// Reads of the plain back end that its memory served, by source.
    pub(crate) fn memory_reads(&self) -> [u64; SOURCE_COUNT] {
        match self {
            Self::Plain(plain) => plain.memory_reads(),
            Self::Full(_) => [0; SOURCE_COUNT],
        }
    }
}
