//! Host reads that are decided by the bits of a page: decoded, or sensed from cells.

use super::bit_true::Page;
use super::block_read::Stressed;
use super::cells::Asked;
use super::errors::ReadErrors;
use super::lost::{count_fate, ReadResult};
use super::tally::ReadTally;
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::units::Ppn;

impl ReadErrors {
    /// Whether some blocks have cells.
    pub fn has_cells(&self) -> bool {
        self.cells.is_some()
    }

    /// The blocks that have cells, and errors of a codeword that its code always corrects.
    pub(crate) fn cell_blocks(&self) -> Option<(Vec<bool>, u32)> {
        let corrected = self.kinds.fates.code.code().errors_max().unwrap_or(0);
        self.cells.as_ref().map(|cells| (cells.picked().to_vec(), corrected))
    }

    /// Reads a page of the host bit by bit, or from its cells if it has any.
    #[cold]
    pub(super) fn read_bits(&mut self, media: &Media, ppn: Ppn) -> Option<ReadResult> {
        if self.cells.is_some() {
            return self.sense_page(media, ppn);
        }
        Some(self.decode_page(media, ppn))
    }

    fn sense_page(&mut self, media: &Media, ppn: Ppn) -> Option<ReadResult> {
        let block = media.block_of(ppn);
        if media.mode(block) == CellMode::Slc || !self.cells.as_ref()?.has(block) {
            return None;
        }
        let stressed = Stressed::of(media, block);
        let kind = self.count_in(stressed, self.types.of(media, ppn), 1);
        if self.watch.is_some() {
            self.watch_block(kind, stressed);
        }
        self.draw_unseen(kind, stressed);
        let number = self.kinds.know(kind);
        let (stress, factor) = self.kinds.stress_of(kind);
        let Self { kinds, tally, cells: Some(cells), .. } = self else { return None };
        let outcome = kinds.outcome(number);
        let page_type = usize::from(stress.page_type.unwrap_or(0));
        let ladder = &kinds.fates.ladder;
        let asked = Asked { page_type, stress, factor, outcome, number, ladder };
        let (fate, counts) = cells.read(media, ppn, &asked);
        if let Some(mut counts) = counts {
            counts.lost = u64::from(fate.rung.is_none());
            tally.cells.resize_with(kinds.types(), Default::default);
            tally.cells[page_type].add(&counts);
        }
        // How a stripe gives the page back must not depend on earlier reads.
        let noise = u64::from(ppn.0) << 32 | u64::from(stressed.erases);
        let extra = kinds.cost(number, fate.rung);
        let lost = count_fate(kinds, tally, Page { data: 0, noise, outcome: number }, fate);
        if let (Some(remembered), Some(rung)) = (&mut self.remembered, fate.rung) {
            if rung > 0 && rung < kinds.fates.ladder.starts() {
                remembered.note(block, stressed.erases, rung);
            }
        }
        Some(ReadResult { extra, lost })
    }

    /// Takes from the chance of a die what the draw of a read would take, so that the other reads
    /// of the die have the same results.
    fn draw_unseen(&mut self, kind: usize, stressed: Stressed) {
        let blank = ReadTally { recovered: self.tally.recovered.clone(), ..ReadTally::default() };
        let tally = std::mem::replace(&mut self.tally, blank);
        let remembered = self.remembered.take();
        self.draw(kind, stressed, 1, Source::Host);
        (self.tally, self.remembered) = (tally, remembered);
    }
}
