//! Reclaim units of placement handles, as their host asks for them.

use super::{FlashSink, Ftl};
use crate::nand::{CellMode, Media};
use crate::units::DieId;

impl Ftl {
    /// Pages that the reclaim units of a handle take: the rest of the open ones, and a whole one
    /// for each pool without one.
    pub fn unit_room(&self, media: &Media, handle: u8) -> u64 {
        let logs = (0..).zip(&self.pools).map(|(die, pool)| (DieId(die), &pool.log));
        let room = logs.map(|(die, log)| match log.pages_left(media, usize::from(handle)) {
            0 => u64::from(log.layout.data_pages(die, CellMode::Native)),
            left => left,
        });
        room.sum()
    }

    /// Pages of the reclaim units that a handle opens together: one in each pool.
    pub fn unit_pages(&self) -> u64 {
        let logs = (0..).zip(&self.pools).map(|(die, pool)| (DieId(die), &pool.log));
        logs.map(|(die, log)| u64::from(log.layout.data_pages(die, CellMode::Native))).sum()
    }

    /// Fills the open reclaim units of a handle, so that its next writes go to others; the number
    /// of pages that held nothing.
    pub fn fill_units<S: FlashSink>(&mut self, sink: &mut S, handle: u8) -> u64 {
        let books = &mut self.books;
        let logs = self.pools.iter_mut().map(|pool| &mut pool.log);
        logs.map(|log| log.fill_up(books, sink, usize::from(handle))).sum()
    }
}
