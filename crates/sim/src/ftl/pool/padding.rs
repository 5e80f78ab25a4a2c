//! Filling up program units: what must be on the flash before the host has sent the rest of a unit.
//!
//! ```text
//! program unit  [h h h .]  flush ─►  [h h h p]   one program; the page `p` holds nothing
//! in parts      [h . . .]  flush ─►  [h│. . .] ─ write, flush ─► [h│h p p]   NOP 2
//! ```
//! A flush pads the open blocks of the host on every die, a write with force unit access those of
//! the dies that it went to. Padding is dead from the start: a collection passes it over. Where
//! pages take several programs (`nand.partial_programs`), only the last of them pads.

use super::frontier::{Frontier, PartialPage};
use super::log::Log;
use super::placement::HOST_FRONTIER;
use crate::ftl::books::Books;
use crate::ftl::sink::FlashSink;
use crate::geometry::UNMAPPED;
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::units::{BlockId, Ppn};

/// The program unit that a stream writes to.
#[derive(Clone, Copy)]
struct OpenUnit {
    block: BlockId,
    /// The next page, the first one of the unit and the one behind its last.
    next: u32,
    first: u32,
    limit: u32,
    /// Behind the last page that is on the flash, and the programs that it took.
    until: u32,
    programs: u32,
}

impl Log {
    /// Fills the open block of a stream to its end; the number of pages that held nothing.
    #[cold]
    pub(in crate::ftl) fn fill_up<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: usize,
    ) -> u64 {
        let begun = self.frontiers[stream].block(&self.geometry);
        let mut filled = 0;
        while begun.is_some() && self.frontiers[stream].block(&self.geometry) == begun {
            let Frontier { next, limit } = self.frontiers[stream];
            (next..limit).for_each(|ppn| sink.program_filler(Ppn(ppn), Source::Pad));
            if next < limit {
                books.map.kill_run(Ppn(next), limit - next);
            }
            filled += u64::from(limit - next);
            self.frontiers[stream].next = limit;
            self.close_full(books, sink, stream);
        }
        books.counters.programs[Source::Pad as usize] += filled;
        filled
    }

    /// Completes the open program units in the open blocks of the host.
    pub(in crate::ftl) fn pad<S: FlashSink>(&mut self, books: &mut Books, sink: &mut S) {
        for stream in HOST_FRONTIER..=self.placement.last_host_stream() {
            while self.pad_stretch(books, sink, stream) {}
        }
    }

    /// The program unit of the page that a stream wrote last, if its block stages units.
    fn open_unit(&self, media: &Media, stream: usize) -> Option<OpenUnit> {
        let frontier = self.frontiers[stream];
        let block = frontier.block(&self.geometry)?;
        let is_slc = media.mode(block) == CellMode::Slc;
        let start = self.geometry.first_page(block).0;
        let next = frontier.next - start;
        if next == 0 || !self.units.stages(is_slc) {
            return None;
        }
        let (first, limit) = self.units.span(next - 1, is_slc);
        let (first, limit) = (start + first, start + limit);
        let part = self.parts[stream];
        let is_begun = (first + 1..=frontier.next).contains(&part.until)
            && media.erase_count(block) == part.erase_count;
        let (until, programs) = if is_begun { (part.until, part.programs) } else { (first, 0) };
        Some(OpenUnit { block, next: frontier.next, first, limit, until, programs })
    }

    /// What the host has begun of a program unit and is not on the flash yet, by its first page.
    pub(in crate::ftl) fn unit_under_way(&self, media: &Media) -> Option<Ppn> {
        (HOST_FRONTIER..=self.placement.last_host_stream()).find_map(|stream| {
            let unit = self.open_unit(media, stream)?;
            (unit.next < unit.limit && unit.next > unit.until).then_some(Ppn(unit.until))
        })
    }

    /// Pages of the open program unit of a block that partial programs have put on the flash.
    pub(in crate::ftl) fn programmed_part(&self, media: &Media, block: BlockId) -> u32 {
        if !self.units.programs_parts() {
            return 0;
        }
        let units = (0..self.frontiers.len()).filter_map(|stream| self.open_unit(media, stream));
        let own = units.filter(|unit| unit.block == block && unit.next < unit.limit);
        own.map(|unit| unit.until - unit.first).sum()
    }

    /// Counts open pages as programmed one time less than they may be: assumed if their programs
    /// were not counted.
    pub(in crate::ftl) fn take_parts_as_programmed(&mut self, media: &Media) {
        if !self.units.programs_parts() {
            return;
        }
        for stream in 0..self.frontiers.len() {
            if let Some(unit) = self.open_unit(media, stream).filter(|it| it.next < it.limit) {
                let programs = self.units.programs_per_page() - 1;
                self.note_part(media, stream, unit, programs);
            }
        }
    }

    /// Completes the open program units that hold a logical page of which the victim has a copy,
    /// older or of the same version. Their programs are ordered before its erase.
    #[cold]
    pub(in crate::ftl) fn complete_copies<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        victim: BlockId,
    ) {
        for stream in 0..self.frontiers.len() {
            let holds_copies = |log: &Self, media: &Media| {
                let unit = log.open_unit(media, stream).filter(|unit| unit.next < unit.limit);
                let pages = unit.map_or(0..0, |unit| unit.until.max(unit.first)..unit.next);
                let owners = pages.map(|ppn| media.lpn_at(Ppn(ppn)));
                let mut waiting: Vec<u32> = owners.filter(|&lpn| lpn != UNMAPPED).collect();
                waiting.sort_unstable();
                let held = media.oob_of_block(victim);
                !waiting.is_empty() && held.iter().any(|lpn| waiting.binary_search(lpn).is_ok())
            };
            if holds_copies(self, sink.media()) {
                while self.pad_stretch(books, sink, stream) {}
            }
        }
    }

    /// Completes all open program units.
    pub(in crate::ftl) fn complete_units<S: FlashSink>(&mut self, books: &mut Books, sink: &mut S) {
        for stream in 0..self.frontiers.len() {
            while self.pad_stretch(books, sink, stream) {}
        }
    }

    fn note_part(&mut self, media: &Media, stream: usize, unit: OpenUnit, programs: u32) {
        let erase_count = media.erase_count(unit.block);
        self.parts[stream] = PartialPage { until: unit.next, programs, erase_count };
    }

    /// Programs the pages that a stream has in its open unit, if its page takes another program
    /// after that. Returns whether there is nothing left to do.
    fn program_part<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: usize,
        unit: OpenUnit,
    ) -> bool {
        if !self.units.programs_parts() || unit.next == unit.limit {
            return false;
        }
        let (is_new, programs) = (unit.next > unit.until, unit.programs + 1);
        if is_new && programs < self.units.programs_per_page() {
            sink.program_part(Ppn(unit.first), Ppn(unit.next));
            books.counters.partial_programs += 1;
            self.note_part(sink.media(), stream, unit, programs);
            return true;
        }
        !is_new
    }

    /// Pads an open block to the end of its open program unit, or to the page of parity before
    /// that. Returns whether there is more of this unit behind it.
    fn pad_stretch<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: usize,
    ) -> bool {
        // The unit of the page that was written last.
        let Some(unit) = self.open_unit(sink.media(), stream) else { return false };
        if self.program_part(books, sink, stream, unit) {
            return false;
        }
        let Frontier { next, limit } = self.frontiers[stream];
        let count = unit.limit.min(limit) - next;
        for ppn in (next..).take(count as usize).map(Ppn) {
            sink.program_filler(ppn, Source::Pad);
        }
        if count > 0 {
            books.map.kill_run(Ppn(next), count);
            books.counters.programs[Source::Pad as usize] += u64::from(count);
            self.frontiers[stream].next += count;
        }
        let is_cut = next + count < unit.limit;
        if is_cut {
            self.close_full(books, sink, stream);
        }
        is_cut && self.frontiers[stream].block(&self.geometry) == Some(unit.block)
    }
}
