//! The map as a mount finds it.

use super::Map;

impl Map {
    /// A mount has found the pages: by logical page, 1 + the number of the page; 0 is none.
    pub(crate) fn mount(&mut self, places: impl Iterator<Item = u32>) {
        let (order, bits) = (self.order, self.geometry.page_bits);
        let mut mapped = 0;
        let (l2p, live, counts) =
            (&mut self.l2p[..], &mut self.live[..], &mut self.live_counts[..]);
        for (place, entry) in places.zip(order.places()) {
            if let Some(ppn) = place.checked_sub(1) {
                l2p[entry as usize] = ppn;
                live[(ppn >> 6) as usize] |= 1 << (ppn & 63);
                counts[(ppn >> bits) as usize] += 1;
                mapped += 1;
            }
        }
        self.mapped_count += mapped;
    }

    /// By logical page, the number of its page, or [`UNMAPPED`](crate::geometry::UNMAPPED).
    pub(crate) fn places(&self) -> impl Iterator<Item = u32> + '_ {
        let l2p = &self.l2p[..];
        self.order.places().take(self.logical_pages as usize).map(move |entry| l2p[entry as usize])
    }
}
