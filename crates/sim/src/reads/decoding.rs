//! Host reads of a bit-true drive: which page is decoded, when, and what became of it.
//!
//! Where nobody waits for the answer, in untimed runs, pages gather until the decoder has a batch.

use super::bit_true::Fate;
use super::errors::ReadErrors;
use super::recovery::Extra;
use crate::nand::Media;
use crate::op::Source;
use crate::units::Ppn;

impl ReadErrors {
    /// As [`ReadErrors::record_page`] where nobody asks what it cost, so that pages can be decoded
    /// together; [`ReadErrors::settle`] counts those that wait.
    #[inline]
    pub fn note_page(&mut self, media: &Media, ppn: Ppn, source: Source) {
        if self.bit_true.is_none() || source != Source::Host {
            self.record_page(media, ppn, source);
            return;
        }
        let (hash, index) = self.page_to_decode(media, ppn);
        let worst_rate = self.outcomes[index].worst_rate;
        match self.bit_true.as_mut().and_then(|decoder| decoder.defer(hash, worst_rate, index)) {
            Some(true) => self.settle(),
            Some(false) => {}
            None => {
                self.decode(hash, index);
            }
        }
    }

    /// Decodes the pages that wait.
    #[cold]
    pub fn settle(&mut self) {
        let Some(mut decoder) = self.bit_true.take() else { return };
        let mut fates = Vec::new();
        let outcomes = &self.outcomes;
        decoder.settle(|index| &outcomes[index].rungs, |index, fate| fates.push((index, fate)));
        self.bit_true = Some(decoder);
        for (index, fate) in fates {
            self.count_fate(index, fate);
        }
        self.lost = None;
    }

    #[cold]
    pub(super) fn decode_page(&mut self, media: &Media, ppn: Ppn) -> Extra {
        self.lost = None;
        let (hash, index) = self.page_to_decode(media, ppn);
        self.decode(hash, index)
    }

    /// Counts a page that is to be decoded: a hash of its data, and where its outcome is.
    fn page_to_decode(&mut self, media: &Media, ppn: Ppn) -> (u64, usize) {
        let block = media.block_of(ppn);
        let (erases, lpn) = (media.erase_count(block), media.lpn_at(ppn));
        let page_type = if self.types == 1 { 0 } else { self.type_of(media, ppn) };
        let kind = self.count_in(media, block, page_type, 1);
        // Three odd constants keep the three apart; the generator mixes them.
        let hash = u64::from(lpn).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ u64::from(ppn.0).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
            ^ u64::from(erases).wrapping_mul(0x1656_67b1_9e37_79f9);
        (hash, self.know(kind))
    }

    fn decode(&mut self, hash: u64, index: usize) -> Extra {
        let outcome = &self.outcomes[index];
        let Some(decoder) = &mut self.bit_true else { return Extra::default() };
        let fate = decoder.read(hash, outcome.worst_rate, &outcome.rungs);
        self.count_fate(index, fate);
        self.fates.ladder.cost(fate.rung)
    }

    fn count_fate(&mut self, index: usize, fate: Fate) {
        self.tally.decoded_pages += 1;
        match fate.rung {
            Some(0) => {}
            Some(rung) => self.tally.recovered[rung] += 1,
            None if self.lose(index, Source::Host) => {}
            None => self.tally.lost_codewords += u64::from(fate.lost),
        }
    }
}
