//! Gives a drive the wear of a used one without its writes: blocks get the erase counts that are
//! required, and those that fail on the way, by the failure model, are taken out of use.
//!
//! ```text
//! each round: each good block below its target ─► members whose erase or program fails?
//!                none ─► counted    spare ─► replaced, counted    no spare ─► lost
//! lost        nothing is written ─► retired     else ─► its next use, or emptying, ends in that
//! ```
//! All blocks take part in each round, so spare blocks replace the members that fail first, as in
//! the life of a drive whose wear is even. A failed block that the pool cannot do without stays in
//! use. No data moves here: what the map names is still true afterwards.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::ftl::pool::{BlockState, Pool};
use crate::ftl::Ftl;
use crate::nand::{CellMode, Media};
use crate::units::BlockId;

impl Ftl {
    /// Whether any block holds pages, live or not.
    pub fn is_written(&self) -> bool {
        let blocks = (0..self.geometry.block_count()).map(BlockId);
        blocks.into_iter().any(|block| self.block(block).written_pages() > 0)
    }

    /// Counts erases of each block until its erase count is that of `target`, or it is lost;
    /// returns the number of lost blocks. If no block is written the firmware must be rebuilt
    /// afterwards ([`Ftl::purge`]).
    ///
    /// # Panics
    /// If blocks are written where not the log decides where pages go.
    pub fn age(&mut self, media: &mut Media, target: impl Fn(BlockId) -> u32) -> u32 {
        let is_written = self.is_written();
        assert!(!is_written || !self.traits().merges, "blocks of another map hold data");
        let blocks = || (0..self.geometry.block_count()).map(BlockId);
        let start: Vec<u32> = blocks().map(|block| media.erase_count(block)).collect();
        let mut spare: Vec<u32> = self.pools.iter().map(spare_blocks).collect();
        let mut due = BinaryHeap::new();
        let put = |media: &mut Media, due: &mut BinaryHeap<_>, pool: &Pool, block: BlockId| {
            if media.erase_count(block) < target(block) {
                advance(pool, media, block, (target(block), is_written));
                let round = media.erase_count(block) - start[block.0 as usize];
                due.push(Reverse((round, block.0)));
            }
        };
        for block in blocks() {
            if !media.is_bad(block) {
                put(media, &mut due, self.pool_of(block), block);
            }
        }
        let mut lost = 0;
        while let Some(Reverse((_, block))) = due.pop() {
            let (block, number) = (BlockId(block), self.pool_number(BlockId(block)).0 as usize);
            let (pool, count) = (&mut self.pools[number], media.erase_count(block));
            if count >= target(block) {
                continue;
            }
            let replaces = pool.log.replaces_members();
            if spare[number] == 0 && !replaces {
                media.set_erase_count(block, target(block));
                continue;
            }
            if spare[number] > 0 && pool.wear.fails_in_use(&pool.log, media, block) {
                (spare[number], lost) = (spare[number] - 1, lost + 1);
                if !is_written {
                    let failed = pool.wear.members_to_retire(&pool.log, media, block, true);
                    media.retire(block, &failed);
                } else if pool.log.state(block) == BlockState::Closed
                    && !pool.wear.is_worn(media, block)
                {
                    pool.log.fail_closed(&self.books, block);
                }
                // Its count decides that an erased block fails in its next use, and a worn one is
                // retired when it is chosen: the reserve stays as large as collections need it.
                continue;
            }
            if replaces {
                for member in pool.log.failed_members(media, block, true) {
                    media.replace_member(block, member);
                }
            }
            media.set_erase_count(block, count + 1);
            put(media, &mut due, pool, block);
        }
        if is_written {
            self.pools.iter_mut().for_each(|pool| pool.count_wear_anew(media));
        }
        lost
    }
}

/// Good blocks of full density that a pool can do without.
fn spare_blocks(pool: &Pool) -> u32 {
    let cached = pool.log.slc.as_ref().map_or(0, |cache| cache.members.len());
    let others = (cached + pool.map_blocks.len()) as u32;
    pool.good_blocks().saturating_sub(pool.good_blocks_needed() + others)
}

/// Counts erases of a block up to the next at which it may be lost, or to its target.
fn advance(pool: &Pool, media: &mut Media, block: BlockId, (target, is_written): (u32, bool)) {
    let log = &pool.log;
    // Failures are those of full density, and a block at work ends its work first.
    let is_sound = log.is_member(block)
        || media.mode(block) == CellMode::Slc
        || (is_written && !matches!(log.state(block), BlockState::Erased | BlockState::Closed));
    if is_sound {
        return media.set_erase_count(block, target);
    }
    if log.failures.is_none() {
        let next = pool.wear.limit.max(media.erase_count(block)).min(target);
        return media.set_erase_count(block, next);
    }
    let fails = |media: &Media| {
        pool.wear.is_worn(media, block) || !log.failed_members(media, block, true).is_empty()
    };
    while media.erase_count(block) < target && !fails(media) {
        media.set_erase_count(block, media.erase_count(block) + 1);
    }
}
