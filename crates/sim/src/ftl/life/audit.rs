//! Checks that the tables of the FTL and the out-of-band areas of the media agree.

use crate::ftl::map::Pairs;
use crate::ftl::pool::BlockState;
use crate::ftl::Ftl;
use crate::nand::Media;
use crate::units::{BlockId, Lpn};

impl Ftl {
    /// Checks that L2P, live bits, live counts and the media's reverse map agree.
    ///
    /// # Errors
    /// The first contradiction, with its numbers.
    pub fn audit(&self, media: &Media) -> Result<(), String> {
        self.audit_zones()?;
        let mut live = Pairs::default();
        for block in (0..self.geometry.block_count()).map(BlockId) {
            self.audit_counts(block, media, &mut live)?;
        }
        let mapped = self.books.map.pairs();
        if live != mapped || mapped.count != u64::from(self.figures().mapped_pages()) {
            (0..self.geometry.block_count())
                .try_for_each(|it| self.audit_block(BlockId(it), media))?;
            let (live, mapped, counted) = (live.count, mapped.count, self.figures().mapped_pages());
            return Err(format!(
                "{live} live pages, {mapped} mapped logical pages, {counted} counted"
            ));
        }
        self.pools.iter().try_for_each(|pool| match &pool.scheme {
            Some(scheme) => scheme.audit(&pool.log),
            None => Ok(()),
        })?;
        if let Some(translation) = &self.books.translation {
            translation.audit(media)?;
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
        let collections = self.pools.iter().filter(|pool| pool.moves.collection.is_some()).count();
        if leaving != collections {
            return Err(format!("{leaving} blocks are collected by {collections} collections"));
        }
        Ok(())
    }

    /// Compares the live bits of a block with their count, and adds its live, written pages.
    fn audit_counts(&self, block: BlockId, media: &Media, live: &mut Pairs) -> Result<(), String> {
        let (map, owners) = (&self.books.map, media.oob_of_block(block));
        let bits = map.add_live_pairs(block, self.block(block).written_pages(), owners, live);
        // Holes of a superblock count as live.
        let counted = map.live_count(block) - self.pool_of(block).log.hole_pages(block);
        if bits != counted {
            return Err(format!("block {} has {bits} live bits, {counted} counted", block.0));
        }
        Ok(())
    }

    /// Looks up each live, written page of a block in the L2P.
    fn audit_block(&self, block: BlockId, media: &Media) -> Result<(), String> {
        let first = self.geometry.first_page(block).0;
        let (pages, _) = self.books.map.live_pages(block, self.block(block).written_pages());
        for &page in &pages {
            let lpn = media.oob_of_block(block)[page as usize];
            let mapped =
                if lpn < self.books.map.logical_pages() { self.find(Lpn(lpn)) } else { None };
            if mapped.map(|ppn| ppn.0) != Some(first + page) {
                return Err(format!(
                    "page {} holds logical page {lpn}, which maps to {mapped:?}",
                    first + page
                ));
            }
        }
        Ok(())
    }
}
