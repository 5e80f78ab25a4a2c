//! Work in the pools of partitions, and its programs in each.

use std::sync::Arc;

use super::books::Books;
use super::config::Partitions;
use super::orders::Pending;
use super::pool::Pool;
use super::sink::{FlashSink, NoRoom};
use super::Ftl;
use crate::op::SOURCE_COUNT;
use crate::units::{DieId, Lpn};

/// Partitions at work: and the pages programmed in each, by source.
pub(super) struct Parted {
    pub(super) partitions: Arc<Partitions>,
    pub(super) programs: Vec<[u64; SOURCE_COUNT]>,
}

impl Parted {
    /// Nothing was programmed.
    pub(super) fn new(partitions: Arc<Partitions>) -> Self {
        let programs = vec![[0; SOURCE_COUNT]; partitions.parts.len()];
        Self { partitions, programs }
    }
}

impl Ftl {
    /// Lets a pool work, and counts its programs for its partition.
    pub(super) fn in_pool<T>(
        &mut self,
        pool: DieId,
        work: impl FnOnce(&mut Pool, &mut Books) -> T,
    ) -> T {
        let before = self.books.counters.programs;
        let done = work(&mut self.pools[pool.0 as usize], &mut self.books);
        if let Some(parted) = &mut self.parted {
            if let Some(part) = parted.partitions.part_of(pool) {
                let counts = before.iter().zip(&self.books.counters.programs);
                for (sum, (before, now)) in parted.programs[part].iter_mut().zip(counts) {
                    *sum += now - before;
                }
            }
        }
        done
    }

    /// Writes a page of the host to a pool of its partition.
    #[inline(never)]
    pub(super) fn write_in_part<S: FlashSink>(
        &mut self,
        sink: &mut S,
        lpn: Lpn,
    ) -> Result<(), NoRoom> {
        let parted = self.parted.as_ref().expect("this route leads to partitions");
        let pool = DieId(parted.partitions.place(lpn.0).1);
        if sink.holds_back(pool) {
            return Err(NoRoom::Stalled(pool));
        }
        self.in_pool(pool, |pool, books| pool.write(books, sink, lpn))
    }

    /// As [`Ftl::complete`], for drives with partitions.
    #[cold]
    pub(super) fn complete_in_parts<S: FlashSink>(&mut self, sink: &mut S, pending: Pending) {
        let pools = match pending {
            Pending::UnitsOf(pool) => pool.0..pool.0 + 1,
            Pending::UnitsBehind(lpn) => match self.find(lpn) {
                Some(ppn) => {
                    let pool = self.pool_number(self.geometry.block_of(ppn)).0;
                    pool..pool + 1
                }
                None => return,
            },
            Pending::Units | Pending::AllUnits | Pending::Room => 0..self.pools.len() as u32,
            Pending::Merges => return,
        };
        for pool in pools.map(DieId) {
            self.in_pool(pool, |pool, books| match pending {
                Pending::AllUnits => pool.log.complete_units(books, sink),
                Pending::Room => pool.catch_up(books, sink),
                _ => pool.log.pad(books, sink),
            });
        }
    }
}
