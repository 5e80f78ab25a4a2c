//! The map as a mount finds it.

use super::Map;

impl Map {
    /// A mount has found the pages: by logical page, 1 + the number of the page; 0 is none.
    pub(crate) fn mount(&mut self, places: impl Iterator<Item = u32>) {
        let (l2p, live) = (&mut self.l2p[..], &mut self.live[..]);
        for (place, entry) in places.zip(self.order.places()) {
            if let Some(ppn) = place.checked_sub(1) {
                l2p[entry as usize] = ppn;
                live[(ppn >> 6) as usize] |= 1 << (ppn & 63);
            }
        }
        // Bits are counted by words, not page by page.
        let bits = self.geometry.page_bits;
        for (block, count) in (0..).zip(&mut self.live_counts[..]) {
            *count = if let Some(more) = bits.checked_sub(6) {
                let words: u32 = 1 << more;
                let words = (block * words) as usize..((block + 1) * words) as usize;
                live[words].iter().map(|word| word.count_ones()).sum()
            } else {
                let (mask, first) = ((1 << (1 << bits)) - 1, block << bits);
                (live[(first >> 6) as usize] >> (first & 63) & mask).count_ones()
            };
            self.mapped_count += *count;
        }
    }

    /// By logical page, the number of its page, or [`UNMAPPED`](crate::geometry::UNMAPPED).
    pub(crate) fn places(&self) -> impl Iterator<Item = u32> + '_ {
        let l2p = &self.l2p[..];
        self.order.places().take(self.logical_pages as usize).map(move |entry| l2p[entry as usize])
    }
}
