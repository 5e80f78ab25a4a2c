//! Whether the tables of the FTL and the out-of-band areas of the media tell one story.

use super::pool::BlockState;
use super::Ftl;
use crate::geometry::UNMAPPED;
use crate::nand::Media;
use crate::units::BlockId;

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
        let mapped = self.map.l2p.iter().filter(|&&ppn| ppn != UNMAPPED).count() as u64;
        if live_total != mapped || mapped != u64::from(self.map.mapped_count) {
            let counted = self.map.mapped_count;
            return Err(format!(
                "{live_total} live pages, {mapped} mapped logical pages, {counted} counted"
            ));
        }
        let open = self.states.iter().filter(|&&state| state == BlockState::Open).count();
        let frontiers = self.pools.iter().flat_map(|pool| &pool.frontiers);
        let written_to = frontiers.filter(|frontier| frontier.exists()).count();
        if open != written_to {
            return Err(format!("{open} blocks are open, {written_to} are written to"));
        }
        let leaving =
            |state: &&BlockState| matches!(state, BlockState::Victim | BlockState::Erasing);
        let (leaving, collections) = (
            self.states.iter().filter(leaving).count(),
            self.pools.iter().filter(|pool| pool.collection.is_some()).count(),
        );
        if leaving != collections {
            return Err(format!("{leaving} blocks are collected by {collections} collections"));
        }
        Ok(())
    }

    /// Live, written pages of a block, each checked against the L2P.
    fn audit_block(&self, block: BlockId, media: &Media) -> Result<u64, String> {
        let first = self.geometry.first_page(block).0;
        let written = self.written_limit(block) - first;
        let (mut bits, mut live) = (0, 0);
        for word in 0..self.map.words_per_block() {
            let mut rest = self.map.live_word(block, word);
            bits += rest.count_ones();
            while rest != 0 {
                let page = 64 * word as u32 + rest.trailing_zeros();
                rest &= rest - 1;
                if page < written {
                    let lpn = media.oob_of_block(block)[page as usize];
                    let mapped = self.map.l2p.get(lpn as usize).copied();
                    if mapped != Some(first + page) {
                        return Err(format!(
                            "page {} holds logical page {lpn}, which maps to {mapped:?}",
                            first + page
                        ));
                    }
                    live += 1;
                }
            }
        }
        let counted = u32::from(self.map.live_counts[block.0 as usize]);
        if bits != counted {
            return Err(format!("block {} has {bits} live bits, {counted} counted", block.0));
        }
        Ok(live)
    }

    /// Pages of a block that hold something.
    pub fn written_pages(&self, block: BlockId) -> u32 {
        self.written_limit(block) - self.geometry.first_page(block).0
    }

    /// One past the last written page of a block.
    pub(super) fn written_limit(&self, block: BlockId) -> u32 {
        let first = self.geometry.first_page(block).0;
        match self.states[block.0 as usize] {
            BlockState::Erased | BlockState::Erasing | BlockState::Bad => first,
            BlockState::Closed | BlockState::Victim | BlockState::Cached => {
                first + self.geometry.pages_per_block
            }
            BlockState::Open => {
                let pool = &self.pools[self.geometry.die_of_block(block).0 as usize];
                let open = pool
                    .frontiers
                    .iter()
                    .find(|frontier| frontier.block(&self.geometry) == Some(block));
                open.map_or(first, |frontier| frontier.next)
            }
        }
    }
}
