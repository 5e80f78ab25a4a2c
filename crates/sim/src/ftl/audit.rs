//! Whether the tables of the FTL and the out-of-band areas of the media tell one story.

use super::frontier::BlockState;
use super::Ftl;
use crate::nand::Media;
use crate::units::{BlockId, Lpn};

impl Ftl {
    /// Checks that L2P, live bits, live counts and the media's reverse map tell one story.
    ///
    /// # Errors
    /// The first contradiction, with its numbers.
    pub fn audit(&self, media: &Media) -> Result<(), String> {
        let mut live_total = 0_u64;
        for block in 0..self.geometry.block_count() {
            live_total += self.audit_block(BlockId(block), media)?;
        }
        let mapped = self.books.map.count_mapped();
        if live_total != mapped || mapped != u64::from(self.mapped_pages()) {
            let counted = self.mapped_pages();
            return Err(format!(
                "{live_total} live pages, {mapped} mapped logical pages, {counted} counted"
            ));
        }
        let states = || self.pools.iter().flat_map(|pool| pool.log.states());
        let open = states().filter(|&&state| state == BlockState::Open).count();
        let frontiers = self.pools.iter().flat_map(|pool| &pool.log.frontiers);
        let written_to = frontiers.filter(|frontier| frontier.exists()).count();
        if open != written_to {
            return Err(format!("{open} blocks are open, {written_to} are written to"));
        }
        let leaving =
            |state: &&BlockState| matches!(state, BlockState::Victim | BlockState::Erasing);
        let leaving = states().filter(leaving).count();
        let collections = self.pools.iter().filter(|pool| pool.collection.is_some()).count();
        if leaving != collections {
            return Err(format!("{leaving} blocks are collected by {collections} collections"));
        }
        Ok(())
    }

    /// Live, written pages of a block, each checked against the L2P.
    fn audit_block(&self, block: BlockId, media: &Media) -> Result<u64, String> {
        let first = self.geometry.first_page(block).0;
        let (pages, bits) = self.books.map.live_pages(block, self.written_pages(block));
        for &page in &pages {
            let lpn = media.oob_of_block(block)[page as usize];
            let mapped = if lpn < self.logical_pages() { self.find(Lpn(lpn)) } else { None };
            if mapped.map(|ppn| ppn.0) != Some(first + page) {
                return Err(format!(
                    "page {} holds logical page {lpn}, which maps to {mapped:?}",
                    first + page
                ));
            }
        }
        // Holes of a superblock count as live.
        let holes = self.pool_of(block).log.hole_pages(block);
        let counted = self.books.map.live_count(block) - holes;
        if bits != counted {
            return Err(format!("block {} has {bits} live bits, {counted} counted", block.0));
        }
        Ok(pages.len() as u64)
    }
}
