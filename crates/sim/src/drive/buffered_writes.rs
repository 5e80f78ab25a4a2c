//! Writes of drives with a write buffer or a cache: the pages that wait there, and how they leave.
//!
//! ```text
//! host ─► write buffer ─► the policy chooses a page ─► it leaves, and with it its stretch
//!           │ flush, force unit access                  [8 . 10 11]: 8, 10, 11 in this order
//!           └───────────────────────────────────────► at once
//! ```
//! A stretch is the aligned `coalesce_bytes` that a page is in; without that key, the page alone.
//!
//! With pages of several map units, those that leave together share pages of the flash, which a
//! later read of all of them senses once.

use super::drive::{CommandSink, Front};
use crate::ftl::{NoRoom, Pending, Touched};
use crate::host::cache::write::LOOK_AHEAD;
use crate::host::cache::{Leaving, Offer, Part, WriteCache};
use crate::op::{HostCommand, HostOp, Source};
use crate::units::Lpn;

impl Front<'_> {
    /// Writes a part of a page of a drive with a write buffer or a cache; `is_fua` if the command
    /// asks for force unit access.
    #[inline]
    pub(super) fn write_cached_page<S: CommandSink>(
        &mut self,
        sink: &mut S,
        lpn: Lpn,
        mut part: Part,
        is_fua: bool,
    ) -> Result<(), NoRoom> {
        if let Some(clean) = self.clean.as_deref_mut() {
            if clean.holds(lpn) {
                part = Part::whole(part.page_sectors);
            }
            clean.note_write(lpn);
        }
        let Some(buffer) = self.buffer.as_deref_mut().filter(|_| !is_fua) else {
            return self.write_at_once(sink, lpn, part);
        };
        match buffer.offer(lpn, part) {
            Offer::Absorbed => self.host.absorbed_pages += 1,
            Offer::Kept => {}
            Offer::Flush(leaving) => {
                if leaving.lpn == lpn && !buffer.contains(lpn) {
                    // It does not wait: no earlier version leaves in its place.
                    sink.takes(lpn, 1);
                }
                if buffer.is_time_to_look() {
                    self.look_ahead(sink, leaving.is_partial);
                }
                self.write_out(sink, leaving)?;
            }
        }
        sink.takes(lpn, 1);
        sink.buffered(self.waiting());
        Ok(())
    }

    /// Writes a page past the write buffer, if there is one: with force unit access.
    fn write_at_once<S: CommandSink>(
        &mut self,
        sink: &mut S,
        lpn: Lpn,
        part: Part,
    ) -> Result<(), NoRoom> {
        let (mut is_partial, mut was_waiting) = (!part.is_whole(), false);
        if let Some(buffer) = self.buffer.as_deref_mut() {
            is_partial &= !buffer.completes(lpn, part);
            was_waiting = buffer.trim(lpn);
        }
        if !was_waiting {
            return self.program_merged(sink, lpn, is_partial);
        }
        // The waiting copy is superseded: it never costs a separate program. A flush that comes now
        // must cover that copy, and so waits for this program.
        self.host.absorbed_pages += 1;
        sink.takes(lpn, 1);
        sink.flush_next();
        self.program_merged(sink, lpn, is_partial)?;
        sink.fence();
        Ok(())
    }

    /// Programs a page; a partial one is merged with the rest of its data, which is read first.
    #[inline]
    fn program_merged<S: CommandSink>(
        &mut self,
        sink: &mut S,
        lpn: Lpn,
        is_partial: bool,
    ) -> Result<(), NoRoom> {
        if is_partial {
            self.ftl.read(sink, lpn, Source::Merge);
        }
        self.program_page(sink, lpn)
    }

    /// Prefetches the table entries of the pages that leave the write buffer next, and, if reads
    /// are likely to complete them, the memory that these reads will touch.
    #[inline(never)]
    fn look_ahead<S: CommandSink>(&self, sink: &S, reads_likely: bool) {
        let Some(buffer) = self.buffer.as_deref() else { return };
        let mut pages = [Lpn(0); 2 * LOOK_AHEAD];
        let count = buffer.coming(&mut pages);
        let (next, later) = pages[..count].split_at(count.min(LOOK_AHEAD));
        for &lpn in later {
            self.ftl.prefetch(lpn, Touched::Entry);
        }
        for &lpn in next {
            buffer.prefetch(lpn);
            self.ftl.prefetch(lpn, Touched::Page);
        }
        if reads_likely {
            let places = next.iter().filter_map(|&lpn| self.ftl.find(lpn));
            places.for_each(|ppn| sink.expect_read(ppn));
        }
    }

    /// Whether pages leave the write buffer one by one, in the order in which they came, and all
    /// for one log: then they may also leave as runs.
    pub(crate) fn passes_runs(&self) -> bool {
        self.buffer.is_some()
            // Each write would change the clean pages.
            && self.clean.is_none()
            // Each page would have its own placement id.
            && self.ids.is_none()
            // Pages would leave in groups.
            && self.stretch == 1
            // Pages of a run would go to several logs.
            && self.ftl.traits().has_one_log
            && self.ftl.zones().is_none()
            // The FTL would ask for each request.
            && !self.ftl.traits().tells_requests()
    }

    /// Carries out writes that are a run of pages, for sinks without time: waiting pages leave the
    /// write buffer, and the pages of the run that will not stay there go to the flash as one run.
    /// The result is that of [`Front::apply`] for each command. `None`, and nothing is done, if
    /// some of the pages wait already, the run is too short, or the policy does not know which
    /// pages leave.
    pub(crate) fn pass_run<S: CommandSink>(
        &mut self,
        sink: &mut S,
        commands: &[HostCommand],
        page_count: u32,
    ) -> Option<Result<(), NoRoom>> {
        let first = self.first_page(&commands[0]);
        let buffer = self.buffer.as_deref()?;
        let (waiting_limit, run) = (buffer.waiting_limit(), first.0..first.0 + page_count);
        let passing = page_count.checked_sub(waiting_limit as u32)?;
        let mut pages = buffer.pages_in_order()?;
        if pages.iter().any(|lpn| run.contains(&lpn.0)) {
            return None;
        }
        let waited = pages.len();
        let before = self.ftl.figures().counters().programs[Source::Host as usize];
        let outcome = pages
            .chunk_by(|one, next| one.0 + 1 == next.0)
            .try_for_each(|it| self.ftl.write_run(sink, it[0], it.len() as u32))
            .and_then(|()| self.ftl.write_run(sink, first, passing));
        let written = self.ftl.figures().counters().programs[Source::Host as usize] - before;
        // The page that found no room has left too. A page of the run came in for each free place
        // and for each page that left.
        let left = written as usize + usize::from(outcome.is_err());
        let came_count = left + waiting_limit - waited;
        let limit = run.end.min(first.0 + came_count as u32);
        pages.extend((first.0..limit).map(Lpn));
        if let Some(buffer) = self.buffer.as_deref_mut() {
            buffer.refill(&pages[left..]);
        }
        self.count_passed(commands, Lpn(limit - 1), outcome.is_err());
        Some(outcome)
    }

    /// Counts writes of a run up to the last page that came, which may have been refused.
    fn count_passed(&mut self, commands: &[HostCommand], last: Lpn, is_refused: bool) {
        let first = self.first_page(&commands[0]);
        self.host.page_writes += u64::from(last.0 - first.0) + 1;
        let begun = commands.partition_point(|command| self.first_page(command) <= last);
        for command in &commands[..begun] {
            self.host.commands[HostOp::Write.index()] += 1;
            self.host.sectors[HostOp::Write.index()] += u64::from(command.sector_count);
        }
        if is_refused {
            self.host.rejected_pages += 1;
            self.refuse(&commands[begun - 1], last.0);
        }
    }

    /// Puts a page of the write buffer on the flash, and with it the waiting pages of its stretch.
    fn write_out<S: CommandSink>(&mut self, sink: &mut S, leaving: Leaving) -> Result<(), NoRoom> {
        if self.stretch == 1 {
            return self.write_out_page(sink, leaving);
        }
        let first = leaving.lpn.0 / self.stretch * self.stretch;
        let mut outcome = Ok(());
        for lpn in (first..first + self.stretch).map(Lpn) {
            if lpn == leaving.lpn {
                outcome = outcome.and(self.write_out_page(sink, leaving));
            } else if outcome.is_ok() {
                let page = self.buffer.as_deref_mut().and_then(|buffer| buffer.take(lpn));
                outcome = page.map_or(Ok(()), |page| self.write_out_page(sink, page));
            }
        }
        outcome
    }

    /// Pages that wait in the write buffer.
    fn waiting(&self) -> usize {
        self.buffer.as_deref().map_or(0, WriteCache::len)
    }

    /// Puts a page of the write buffer on the flash. No command waits for that.
    fn write_out_page<S: CommandSink>(
        &mut self,
        sink: &mut S,
        leaving: Leaving,
    ) -> Result<(), NoRoom> {
        sink.flush_next();
        self.program_merged(sink, leaving.lpn, leaving.is_partial)
    }

    /// Puts every page of the write buffer on the flash.
    pub(super) fn flush<S: CommandSink>(&mut self, sink: &mut S) -> Result<(), NoRoom> {
        loop {
            let before = self.waiting();
            let oldest = self.buffer.as_deref_mut().and_then(WriteCache::take_oldest);
            let Some(oldest) = oldest else { break };
            let outcome = self.write_out(sink, oldest);
            self.host.flushed_pages += (before - self.waiting()) as u64;
            outcome?;
        }
        if self.pads {
            self.ftl.complete(sink, Pending::Units);
        }
        sink.fence();
        Ok(())
    }
}
