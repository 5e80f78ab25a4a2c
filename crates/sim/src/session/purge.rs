//! A purge: all that was written is gone, and the drive is busy for as long as its erases take.
//!
//! ```text
//! ordered ─ running requests end, dies rest ─► contents gone ─► each die erases its blocks ─► done
//!                                                   ▲  │ a loss of power, an image
//!                                                   └──┘ the blocks that are left
//! ```
//! Dies work in parallel, each block takes its erase. Map and contents are gone when the erases
//! begin, and the erase counts are those at the end: no request reaches the drive in between, so
//! none sees the difference. The firmware has noted the purge by then; after a loss of power it
//! erases the blocks that are left, and the mount has erased again those whose erase was
//! interrupted. A crypto purge takes no erases. No erase of a purge fails.

use std::collections::BTreeSet;

use super::purging::{Purging, Stage};
use super::request::{Begun, Done, Refusal};
use super::session::{Carrying, Session};
use crate::controller::full::PhaseTimes;
use crate::drive::{PurgeKind, PurgeOrder, Purged, Unfinished};
use crate::ftl::{End, PurgeScope, Setting};
use crate::timed::Step;
use crate::units::{BlockId, Lpn, Ns};
use crate::untimed::Instant;

impl Session {
    /// Orders a purge at `at`, not before the last request. Until its end, every request but a
    /// flush is refused. `token` names it in [`Done`].
    ///
    /// # Errors
    /// [`Refusal::Purging`] while there is another.
    pub fn purge(
        &mut self,
        at: Ns,
        token: u64,
        order: PurgeOrder,
        done: &mut Vec<Done>,
    ) -> Result<Begun, Refusal> {
        if let Some(purging) = &self.purging {
            return Err(purging.refusal());
        }
        self.arrive(at, done);
        let (token, stage) = (Some(token), Stage::Ordered);
        self.purging = Some(Purging { order, token, since: at, stage, all: 0 });
        self.begin_purging();
        if self.executor.is_none() {
            self.finish_purging(&mut Vec::new());
            return Ok(Begun::Done);
        }
        Ok(Begun::Running)
    }

    /// Whether a purge is not done; its blocks that are erased at `at`, and all that it erases.
    pub fn purge_progress(&self, at: Ns) -> Option<(PurgeOrder, [u64; 2])> {
        let it = self.purging.as_ref()?;
        let left = it.left(at).map_or(u64::from(it.all), |left| left.len() as u64);
        Some((it.order, [u64::from(it.all) - left, u64::from(it.all)]))
    }

    /// The last purge with a mark that completed.
    pub fn purged(&self) -> Option<Purged> {
        self.life.purged
    }

    /// How long a purge of an idle drive takes.
    pub fn purge_time(&self, kind: PurgeKind) -> Ns {
        let ends = self.erases(kind, Ns(0), self.good_blocks());
        ends.last().map_or(Ns(0), |&(end, _)| end)
    }

    /// The power is back, or the drive of an image is served: an unfinished purge continues.
    pub fn resume_purge(&mut self, at: Ns) {
        let Some(purging) = &mut self.purging else { return };
        let Stage::Halted(left) = &mut purging.stage else { return };
        purging.since = at;
        match left.take() {
            None => {
                purging.stage = Stage::Ordered;
                self.begin_purging();
            }
            Some(left) => {
                let kind = purging.order.kind;
                let ends = self.erases(kind, at, left.into_iter());
                self.note_begun(at, ends);
            }
        }
        if self.executor.is_none() {
            self.finish_purging(&mut Vec::new());
        }
    }

    /// Begins the purge that waits for requests, when none is running any more.
    pub(super) fn begin_purging(&mut self) {
        let Some(purging) = &self.purging else { return };
        if !matches!(purging.stage, Stage::Ordered) || !self.requests.is_empty() {
            return;
        }
        let (kind, since) = (purging.order.kind, purging.since);
        let since = self.rest().map_or(since, |rest| rest.max(since));
        let is_timed = self.executor.take().is_some();
        self.forget(kind);
        if is_timed {
            self.executor = Some(Self::executor_of(&mut self.drive));
        }
        let ends = self.erases(kind, since, self.good_blocks());
        self.note_begun(since, ends);
    }

    fn note_begun(&mut self, since: Ns, ends: Vec<(Ns, BlockId)>) {
        if let Some(purging) = &mut self.purging {
            purging.since = since;
            purging.all = purging.all.max(ends.len() as u32);
            purging.stage = Stage::Begun { ends, seen: since };
        }
    }

    /// Lets the dies end all work; since when they rest.
    fn rest(&mut self) -> Option<Ns> {
        let executor = self.executor.as_mut()?;
        executor.host.arrivals = 0;
        while executor.step_once(&mut self.drive) != Step::Idle {}
        Some(executor.at_rest_since())
    }

    /// Contents and map are gone.
    fn forget(&mut self, kind: PurgeKind) {
        let drive = &mut self.drive;
        let expects_cuts = drive.ftl.figures().expects_cuts();
        drive.ftl.finish(End::Stage);
        // What waits in the write buffer is trimmed there.
        drive.host.buffer_trimmed_pages += drive.buffered_pages() as u64;
        match kind {
            PurgeKind::Erase => _ = drive.purge(PurgeScope::All),
            // Zones are empty, and an empty zone has no blocks: those of a reset are erased, too,
            // when it is answered.
            PurgeKind::Crypto if drive.ftl.zones().is_some() => {
                _ = drive.purge(PurgeScope::Written);
            }
            PurgeKind::Crypto => {
                drive.forget_memory();
                let (front, media, errors) = drive.split();
                let mut sink = Instant { media, reader: Carrying(errors) };
                for lpn in (0..front.ftl.figures().logical_pages()).map(Lpn) {
                    front.ftl.trim(&mut sink, lpn);
                }
            }
        }
        drive.ftl.set(Setting::Cuts(expects_cuts));
        let erases = kind == PurgeKind::Erase || self.zones().is_some();
        self.contents().purge(erases);
    }

    fn good_blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        let blocks = (0..self.drive.geometry.block_count()).map(BlockId);
        blocks.filter(|&block| !self.drive.media.is_bad(block))
    }

    /// When the erase of each block ends, in that order.
    fn erases(
        &self,
        kind: PurgeKind,
        since: Ns,
        blocks: impl Iterator<Item = BlockId>,
    ) -> Vec<(Ns, BlockId)> {
        if kind == PurgeKind::Crypto {
            return Vec::new();
        }
        let (config, media) = (&self.drive.config, &self.drive.media);
        let flash = config.flash_geometry();
        let times = PhaseTimes::new(&config.flash(), &flash, Ns(0), self.drive.seed);
        let mut free_at = vec![since; flash.die_count as usize];
        let mut ends: Vec<(Ns, BlockId)> = blocks
            .map(|block| {
                let alone = [block.0];
                let members = Some(media.members_of(block)).filter(|it| !it.is_empty());
                let cycles = media.erase_count(block);
                let ends = members.unwrap_or(&alone).iter().map(|&member| {
                    let free_at = &mut free_at[flash.die_of_block(BlockId(member)).0 as usize];
                    *free_at = *free_at + times.erase(BlockId(member), false, cycles);
                    *free_at
                });
                (ends.max().unwrap_or(since), block)
            })
            .collect();
        ends.sort_unstable();
        ends
    }

    /// When the purge is done, if that is known.
    pub(super) fn purge_end(&self) -> Option<Ns> {
        self.purging.as_ref()?.end()
    }

    /// Lets time pass for a purge.
    pub(super) fn pass_purge(&mut self, until: Ns, done: &mut Vec<Done>) {
        if self.purge_end().is_some_and(|end| end <= until) {
            self.finish_purging(done);
        } else if let Some(Purging { stage: Stage::Begun { seen, .. }, .. }) = &mut self.purging {
            *seen = until.max(*seen);
        }
    }

    fn finish_purging(&mut self, done: &mut Vec<Done>) {
        let Some(purging) = self.purging.take() else { return };
        let at = purging.end().unwrap_or(purging.since);
        if purging.order.mark != 0 {
            let (mark, written_bytes) = (purging.order.mark, self.totals().host_bytes[1]);
            let count = 1 + self.life.purged.map_or(0, |before| before.count);
            self.life.purged = Some(Purged { mark, written_bytes, count });
        }
        done.extend(purging.token.map(|token| Done { token, at, refusal: None, place: None }));
    }

    /// The purge as images and the flash keep it, at a time or when the session last looked.
    pub(super) fn unfinished(&self, at: Option<Ns>) -> Option<Unfinished> {
        let purging = self.purging.as_ref()?;
        let seen = match &purging.stage {
            Stage::Begun { seen, .. } => *seen,
            _ => purging.since,
        };
        Some(purging.unfinished(at.unwrap_or(seen)))
    }

    /// The session ends: the rest of a purge stays for the next.
    pub(super) fn halt_purge(&mut self) {
        self.begin_purging();
        self.purging = self.unfinished(None).map(Purging::resumed);
    }

    /// The blocks whose erase a loss of power interrupts.
    pub(super) fn erasing(&self, at: Ns) -> BTreeSet<u32> {
        let Some(Purging { stage: Stage::Begun { ends, .. }, since, .. }) = &self.purging else {
            return BTreeSet::new();
        };
        let flash = self.drive.config.flash_geometry();
        let first_left = ends.partition_point(|&(end, _)| end <= at);
        if *since >= at {
            return BTreeSet::new();
        }
        let mut is_busy = vec![false; flash.die_count as usize];
        let mut begins = |block: BlockId| {
            let alone = [block.0];
            let members = Some(self.drive.media.members_of(block)).filter(|it| !it.is_empty());
            members.unwrap_or(&alone).iter().fold(false, |begins, &member| {
                let die = flash.die_of_block(BlockId(member)).0 as usize;
                !std::mem::replace(&mut is_busy[die], true) || begins
            })
        };
        let left = ends[first_left..].iter().map(|&(_, block)| block);
        left.filter(|&block| begins(block)).map(|block| block.0).collect()
    }
}
