//! Gives a drive that was never written the wear of a used one: blocks are erased as often as
//! required, and those that fail on the way, by the failure model, are taken out of use.
//!
//! ```text
//! each round: each good block below its target ─► members whose erase or program fails?
//!                none ─► erased     spare ─► replaced, erased     no spare ─► retired
//! ```
//! All blocks take part in each round, so spare blocks replace the members that fail first, as in
//! the life of a drive whose wear is even. A failed block that the pool cannot do without stays in
//! use.

use crate::ftl::pool::Pool;
use crate::ftl::Ftl;
use crate::nand::Media;
use crate::units::BlockId;

impl Ftl {
    /// Erases each block until its erase count is that of `target`, or it is retired; returns the
    /// number of retired blocks. The firmware must be rebuilt afterwards ([`Ftl::purge`]).
    pub fn age(&self, media: &mut Media, target: impl Fn(BlockId) -> u32) -> u32 {
        let blocks = || (0..self.geometry.block_count()).map(BlockId);
        let mut good: Vec<u32> = self.pools.iter().map(Pool::good_blocks).collect();
        let mut waiting: Vec<(BlockId, u32)> = blocks()
            .filter(|&block| !media.is_bad(block))
            .map(|block| (block, target(block)))
            .filter(|&(block, target)| media.erase_count(block) < target)
            .collect();
        let mut retired = 0;
        while !waiting.is_empty() {
            waiting.retain(|&(block, target)| {
                let pool = self.pool_of(block);
                let good = &mut good[self.pool_number(block).0 as usize];
                if pool.wear.fails_in_use(&pool.log, media, block)
                    && *good > pool.good_blocks_needed()
                {
                    let failed = pool.wear.members_to_retire(&pool.log, media, block, true);
                    media.retire(block, &failed);
                    (*good, retired) = (*good - 1, retired + 1);
                    return false;
                }
                if pool.log.replaces_members() {
                    for member in pool.log.failed_members(media, block, true) {
                        media.replace_member(block, member);
                    }
                }
                media.erase(block);
                media.erase_count(block) < target
            });
        }
        retired
    }
}
