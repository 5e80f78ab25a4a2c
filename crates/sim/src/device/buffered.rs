//! Writes of drives with a write buffer or a cache: what waits there, and how it leaves.
//!
//! ```text
//! host ─► write buffer ─► the policy chooses a page ─► it leaves, and with it its stretch
//!           │ flush, force unit access                  [8 . 10 11]: 8, 10, 11 in this order
//!           └───────────────────────────────────────► at once
//! ```
//! With pages of several map units, those that leave together share pages of the flash, which a
//! later read of all of them senses once.

use super::drive::{CommandSink, Front};
use crate::ftl::NoRoom;
use crate::host::cache::{Leaving, Offer, Part, WriteCache};
use crate::op::{HostCommand, Source};
use crate::units::Lpn;

impl Front<'_> {
    /// Writes a page of a drive with a write buffer or a cache.
    pub(super) fn write_cached_page<S: CommandSink>(
        &mut self,
        sink: &mut S,
        command: &HostCommand,
        lpn: Lpn,
    ) -> Result<(), NoRoom> {
        let mut part = self.part(command, lpn.0);
        if let Some(clean) = self.clean.as_deref_mut() {
            if clean.holds(lpn) {
                part = Part::whole(part.page_sectors);
            }
            clean.note_write(lpn);
        }
        let mut is_whole = part.is_whole();
        if let Some(buffer) = self.buffer.as_deref_mut() {
            if !command.is_fua {
                match buffer.offer(lpn, part) {
                    Offer::Absorbed => self.host.absorbed_pages += 1,
                    Offer::Kept => {}
                    Offer::Flush(leaving) => {
                        self.ftl.prefetch_coming(buffer.coming());
                        self.write_out(sink, leaving)?;
                    }
                }
                sink.buffered(self.waiting());
                return Ok(());
            }
            is_whole |= buffer.completes(lpn, part);
            // The copy that waited is superseded: it never costs a program of its own. A flush that
            // comes now owes that copy, and so waits for this program.
            if buffer.trim(lpn) {
                self.host.absorbed_pages += 1;
                sink.flush_next();
                if !is_whole {
                    self.ftl.read(sink, lpn, Source::Merge);
                }
                self.program_page(sink, lpn)?;
                sink.fence();
                return Ok(());
            }
        }
        if !is_whole {
            self.ftl.read(sink, lpn, Source::Merge);
        }
        self.program_page(sink, lpn)
    }

    /// Puts a page of the write buffer on the flash, and with it what waits in its stretch.
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
        if leaving.is_partial {
            self.ftl.read(sink, leaving.lpn, Source::Merge);
        }
        self.program_page(sink, leaving.lpn)
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
            self.ftl.pad(sink);
        }
        sink.fence();
        Ok(())
    }
}
