//! Beginning anew: a purge of the whole drive, and new streams of randomness.
//!
//! A purge leaves what a drive of this wear has when it has never been written: no page mapped,
//! every good block erased, all orders as they are at first. What an erase does not undo stays:
//! erase counts (one more for each block that held something), bad blocks, and which blocks are a
//! cache for good.

use super::pool::Pool;
use super::{Ftl, FtlConfig, PoolSetup, Route};
use crate::nand::{CellMode, Media};
use crate::rng::Rng;
use crate::units::{BlockId, DieId};

impl Ftl {
    /// Random choices of the victim policies follow from this seed from now on.
    pub fn reseed(&mut self, seed: u64) {
        for (die, pool) in self.pools.iter_mut().enumerate() {
            pool.log.reseed(Rng::stream(seed, &format!("gc.{die}")));
        }
    }

    /// Collections of each pool since the host opened a block last: what a snapshot lacks of a
    /// drive that goes on exactly as it was.
    pub fn begun_in_vain(&self) -> Vec<u32> {
        self.pools.iter().map(|pool| pool.begun_in_vain).collect()
    }

    /// Restores what [`Ftl::begun_in_vain`] gave.
    pub fn set_begun_in_vain(&mut self, counts: &[u32]) {
        for (pool, &count) in self.pools.iter_mut().zip(counts) {
            pool.begun_in_vain = count;
        }
    }

    /// New firmware for media without data, which leaves the blocks that are cache for good as
    /// they are.
    #[must_use]
    pub fn successor(&self, config: &FtlConfig, setup: &PoolSetup, media: &Media) -> Self {
        let mut ftl = Self::new(config, setup, media);
        for (die, pool) in (0..).map(DieId).zip(&self.pools) {
            if let Some(cache) = &pool.log.slc {
                let members = Some(&cache.members[..]);
                ftl.pools[die.0 as usize] = Pool::new(die, config, setup, media, members);
            }
        }
        ftl
    }

    /// Erases every good block that holds something, and forgets all that was written; returns how
    /// many blocks were erased. These erases are not counted among those of any source.
    ///
    /// `config` and `setup` are those that the firmware was made with.
    pub fn purge(&mut self, config: &FtlConfig, setup: &PoolSetup, media: &mut Media) -> u64 {
        let mut erased = 0;
        for block in (0..self.geometry.block_count()).map(BlockId) {
            if media.is_bad(block) {
                continue;
            }
            if self.written_pages(block) > 0 {
                media.erase(block);
                erased += 1;
            }
            media.set_mode(block, CellMode::Native);
        }
        self.books.map.reset();
        for (die, pool) in self.pools.iter_mut().enumerate() {
            let members = pool.log.slc.as_ref().map(|cache| cache.members.clone());
            *pool = Pool::new(DieId(die as u32), config, setup, media, members.as_deref());
        }
        self.books.now = 0;
        self.stalled_die = DieId(0);
        self.route = Route::new(config, &self.geometry);
        erased
    }
}
