//! Partitions: parts of the logical range that have pools to themselves.
//!
//! ```text
//! lpn     0 ………………… 5 │ 6 ……… 9            two partitions, one after the other
//! pools   0 1 0 1 0 1 │ 2 2 2 2             pages take turns on the pools of their partition
//!         die 0, die 1  die 2
//! ```
//! A pool is a die, or an even part of the blocks of a die that several partitions share; then it
//! is one of the pools of this die, which are in the order of its blocks. Blocks, reserve and
//! collections belong to a pool, so they stay inside a partition. A die that no partition has is a
//! pool too, which is never written.

use std::ops::Range;

use crate::geometry::Geometry;
use crate::striping::Turns;
use crate::units::{BlockId, DieId};

/// A partition: its pages, its pools, and the erased blocks that these keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its logical pages.
    pub pages: Range<u32>,
    /// Its pools, in the order of their turns.
    pub pools: Vec<u32>,
    /// Erased blocks that GC keeps, in all of its pools.
    pub reserve_blocks: u32,
    /// How its pools take turns.
    pub turns: Turns,
}

/// Those of a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitions {
    /// One after the other, without holes.
    pub parts: Vec<Partition>,
    /// By pool, its blocks.
    pub blocks: Vec<Range<u32>>,
    /// By pool, its partition, and its place among the pools of that.
    homes: Vec<Option<(usize, u32)>>,
}

/// How far the blocks of dies are shared out: by pool, its blocks and whose they are; by owner, its
/// pools in the order of `dies`, which names the owners of each die.
pub fn share_out(geometry: &Geometry, dies: &[Vec<usize>]) -> (Vec<Range<u32>>, Vec<(usize, u32)>) {
    let (mut blocks, mut owned) = (Vec::new(), Vec::new());
    // Planes that only multiply blocks are even in each part.
    let unit = if geometry.plane_count == 1 { geometry.planes_per_die } else { 1 };
    for (first, owners) in (0..).step_by(geometry.blocks_per_die as usize).zip(dies) {
        let parts = owners.len().max(1) as u64;
        let bound = |part: u64| {
            let bound = (u64::from(geometry.blocks_per_die) * part / parts) as u32;
            if part == parts {
                bound
            } else {
                bound / unit * unit
            }
        };
        owned.extend(owners.iter().copied().zip(blocks.len() as u32..));
        blocks.extend((0..parts).map(|part| first + bound(part)..first + bound(part + 1)));
    }
    (blocks, owned)
}

impl Partitions {
    /// Partitions of these parts, on pools of these blocks.
    pub fn new(parts: Vec<Partition>, blocks: Vec<Range<u32>>) -> Self {
        let mut homes = vec![None; blocks.len()];
        for (part, partition) in parts.iter().enumerate() {
            for (&pool, place) in partition.pools.iter().zip(0..) {
                homes[pool as usize] = Some((part, place));
            }
        }
        Self { parts, blocks, homes }
    }

    /// Whether some die has several pools.
    pub fn has_shared_dies(&self, geometry: &Geometry) -> bool {
        self.blocks.len() > geometry.die_count as usize
    }

    /// The partition of a logical page of the drive, and its pool.
    pub(in crate::ftl) fn place(&self, lpn: u32) -> (usize, u32) {
        let part = self.parts.partition_point(|part| part.pages.end <= lpn);
        let Partition { pages, pools, turns, .. } = &self.parts[part];
        (part, pools[turns.die(lpn - pages.start) as usize])
    }

    /// The pool of a block.
    pub(in crate::ftl) fn pool_of(&self, block: BlockId) -> DieId {
        DieId(self.blocks.partition_point(|blocks| blocks.end <= block.0) as u32)
    }

    /// Logical pages of a pool.
    pub(in crate::ftl) fn logical_pages_of(&self, pool: DieId) -> u32 {
        let Some((part, place)) = self.homes[pool.0 as usize] else { return 0 };
        let Partition { pages, turns, .. } = &self.parts[part];
        turns.count_below(place, pages.len() as u32)
    }

    /// The share of the reserve that a pool keeps.
    pub(in crate::ftl) fn reserve_of(&self, pool: DieId) -> u32 {
        let Some((part, place)) = self.homes[pool.0 as usize] else { return 0 };
        let Partition { pools, reserve_blocks, .. } = &self.parts[part];
        let pools = pools.len() as u32;
        reserve_blocks / pools + u32::from(place < reserve_blocks % pools)
    }

    /// The partition of a pool.
    pub fn part_of(&self, pool: DieId) -> Option<usize> {
        self.homes[pool.0 as usize].map(|(part, _)| part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two partitions on dies 0 and 1, one on die 1 and 2, and a die that none has.
    fn three() -> (Geometry, Partitions) {
        let geometry = Geometry { planes_per_die: 2, ..Geometry::new([4, 4], [10, 8], 4096) };
        let (blocks, owned) = share_out(&geometry, &[vec![0, 1], vec![0, 1, 2], vec![2], vec![]]);
        let pools = |owner: usize| -> Vec<u32> {
            owned.iter().filter(|it| it.0 == owner).map(|it| it.1).collect()
        };
        let part = |owner: usize, pages: Range<u32>| {
            let pools = pools(owner);
            let turns = Turns::new(pools.len() as u32, 1);
            Partition { pages, pools, reserve_blocks: 3 + owner as u32, turns }
        };
        let parts = vec![part(0, 0..7), part(1, 7..27), part(2, 27..32)];
        (geometry, Partitions::new(parts, blocks))
    }

    #[test]
    fn dies_are_shared_evenly_and_in_whole_sets_of_planes() {
        let (geometry, partitions) = three();
        assert_eq!(partitions.blocks, [0..4, 4..10, 10..12, 12..16, 16..20, 20..30, 30..40]);
        assert!(partitions.has_shared_dies(&geometry));
        for (pool, blocks) in (0..).map(DieId).zip(&partitions.blocks) {
            for block in blocks.clone().map(BlockId) {
                assert_eq!(partitions.pool_of(block), pool);
            }
        }
    }

    #[test]
    fn pages_take_turns_on_the_pools_of_their_partition() {
        let (_, partitions) = three();
        let places: Vec<_> =
            [0, 1, 2, 6, 7, 8, 26, 27, 28, 31].map(|it| partitions.place(it)).into();
        let own = [(0, 0), (0, 2), (0, 0), (0, 0), (1, 1), (1, 3), (1, 3), (2, 4), (2, 5), (2, 4)];
        assert_eq!(places, own);
        let mut held = vec![0; partitions.blocks.len()];
        (0..32).for_each(|lpn| held[partitions.place(lpn).1 as usize] += 1);
        let counts = |of: fn(&Partitions, DieId) -> u32| -> Vec<u32> {
            (0..7).map(|pool| of(&partitions, DieId(pool))).collect()
        };
        assert_eq!(counts(Partitions::logical_pages_of), held);
        assert_eq!(held, [4, 10, 3, 10, 3, 2, 0]);
        assert_eq!(counts(Partitions::reserve_of), [2, 2, 1, 2, 3, 2, 0]);
    }
}
