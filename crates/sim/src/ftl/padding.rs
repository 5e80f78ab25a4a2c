//! Filling up program units: what must be on the flash before the host has sent the rest of a unit.
//!
//! ```text
//! program unit  [h h h .]  flush ─►  [h h h p]   one program; the page `p` holds nothing
//! ```
//! A flush pads the open blocks of the host on every die, a write with force unit access those of
//! the dies that it went to. Padding is dead from the start: a collection passes it over.

use super::books::Books;
use super::frontier::HOST_FRONTIER;
use super::log::Log;
use super::pool::Pool;
use super::sink::FlashSink;
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::units::Ppn;

impl Pool {
    /// Completes the program units under way in the open blocks of the host.
    pub(crate) fn pad<S: FlashSink>(&mut self, books: &mut Books, sink: &mut S) {
        for stream in HOST_FRONTIER..=self.log.placement.last_host_stream() {
            while self.log.pad_stretch(books, sink, stream) {}
        }
    }
}

impl Log {
    /// The first program unit that the host has begun and not completed, by its first page.
    pub(super) fn unit_under_way(&self, media: &Media) -> Option<Ppn> {
        (HOST_FRONTIER..=self.placement.last_host_stream()).find_map(|stream| {
            let frontier = self.frontiers[stream];
            let block = frontier.block(&self.geometry)?;
            let is_slc = media.mode(block) == CellMode::Slc;
            let first = self.geometry.first_page(block).0;
            let next = frontier.next - first;
            if next == 0 || !self.units.stages(is_slc) {
                return None;
            }
            let (unit, limit) = self.units.span(next - 1, is_slc, self.geometry.pages_per_block);
            (next < limit).then_some(Ppn(first + unit))
        })
    }

    /// Pads an open block to the end of the program unit under way, or to the page of parity before
    /// that. Whether there is more of this unit behind it.
    fn pad_stretch<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: usize,
    ) -> bool {
        let frontier = self.frontiers[stream];
        let Some(block) = frontier.block(&self.geometry) else { return false };
        let is_slc = sink.media().mode(block) == CellMode::Slc;
        let first = self.geometry.first_page(block).0;
        let next = frontier.next - first;
        if next == 0 || !self.units.stages(is_slc) {
            return false;
        }
        // The unit of the page that was written last.
        let (_, limit) = self.units.span(next - 1, is_slc, self.geometry.pages_per_block);
        let count = limit.min(frontier.limit - first) - next;
        for ppn in (frontier.next..).take(count as usize).map(Ppn) {
            sink.program_filler(ppn, Source::Pad);
        }
        if count > 0 {
            books.map.kill_run(Ppn(frontier.next), count);
            books.counters.programs[Source::Pad as usize] += u64::from(count);
            self.frontiers[stream].next += count;
        }
        let is_cut = next + count < limit;
        if is_cut {
            self.close_full(books, sink, stream);
        }
        is_cut && self.frontiers[stream].block(&self.geometry) == Some(block)
    }
}
