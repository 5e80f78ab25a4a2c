//! The volatile cache: sectors that are acknowledged and not on the flash.
//!
//! A barrier begins a new epoch: nothing of an epoch reaches the flash before all of those before
//! it (JESD84-B51, Cache, Barrier). A sector is in the cache once, with its newest data.

use std::collections::BTreeMap;

use crate::units::SECTOR_BYTES;

/// Bytes of a block: the only block length of these cards.
pub(super) const SECTOR: usize = SECTOR_BYTES as usize;

struct Held {
    bytes: [u8; SECTOR],
    epoch: u32,
}

/// Sectors of one epoch that leave the cache together.
pub(super) struct Run {
    pub(super) epoch: u32,
    pub(super) first: u64,
    pub(super) bytes: Vec<u8>,
}

/// See the module. Sectors are those of the drive.
#[derive(Default)]
pub(super) struct Cache {
    held: BTreeMap<u64, Held>,
    epoch: u32,
    /// Sectors that have room.
    pub(super) capacity: u64,
}

impl Cache {
    pub(super) fn new(capacity: u64) -> Self {
        Self { capacity, ..Self::default() }
    }

    pub(super) fn sectors(&self) -> u64 {
        self.held.len() as u64
    }

    /// Sets a barrier: sectors that come after it are not written before those that came earlier.
    pub(super) fn barrier(&mut self) {
        if self.held.values().any(|it| it.epoch == self.epoch) {
            self.epoch += 1;
        }
    }

    pub(super) fn insert(&mut self, first: u64, bytes: &[u8]) {
        let epoch = self.epoch;
        for (sector, bytes) in (first..).zip(bytes.as_chunks::<SECTOR>().0) {
            self.held.insert(sector, Held { bytes: *bytes, epoch });
        }
    }

    /// Sectors of a flush that was interrupted, unless newer data came.
    pub(super) fn give_back(&mut self, first: u64, bytes: &[u8], epoch: u32) {
        for (sector, bytes) in (first..).zip(bytes.as_chunks::<SECTOR>().0) {
            self.held.entry(sector).or_insert(Held { bytes: *bytes, epoch });
        }
    }

    /// Whether a range has a sector of an earlier epoch.
    pub(super) fn has_earlier(&self, first: u64, sectors: u64) -> bool {
        self.held.range(first..first + sectors).any(|(_, it)| it.epoch < self.epoch)
    }

    /// Whether a barrier keeps what passes the cache until it is flushed.
    pub(super) fn is_barred(&self) -> bool {
        self.epoch > 0 && self.held.values().any(|it| it.epoch < self.epoch)
    }

    /// Sectors of a range that are not in it yet.
    pub(super) fn missing(&self, first: u64, sectors: u64) -> u64 {
        sectors - self.held.range(first..first + sectors).count() as u64
    }

    /// Copies the sectors that it holds of a range over `bytes`; returns the number of these
    /// sectors.
    pub(super) fn overlay(&self, first: u64, bytes: &mut [u8]) -> u64 {
        let sectors = (bytes.len() / SECTOR) as u64;
        let mut count = 0;
        for (sector, held) in self.held.range(first..first + sectors) {
            let at = (sector - first) as usize * SECTOR;
            bytes[at..at + SECTOR].copy_from_slice(&held.bytes);
            count += 1;
        }
        count
    }

    pub(super) fn forget(&mut self, first: u64, sectors: u64) {
        let gone: Vec<u64> = self.held.range(first..first + sectors).map(|(it, _)| *it).collect();
        for sector in gone {
            self.held.remove(&sector);
        }
    }

    /// Takes everything out, as runs of sectors in the order in which they may be written.
    pub(super) fn take(&mut self) -> Vec<Run> {
        let mut held: Vec<(u64, Held)> = std::mem::take(&mut self.held).into_iter().collect();
        // By epoch; the sort is stable, so sectors stay in order.
        held.sort_by_key(|(_, it)| it.epoch);
        let mut runs: Vec<Run> = Vec::new();
        for (sector, Held { bytes, epoch }) in held {
            match runs.last_mut() {
                Some(run)
                    if run.epoch == epoch
                        && run.first + (run.bytes.len() / SECTOR) as u64 == sector =>
                {
                    run.bytes.extend_from_slice(&bytes);
                }
                _ => runs.push(Run { epoch, first: sector, bytes: bytes.to_vec() }),
            }
        }
        runs
    }

    /// The power is gone.
    pub(super) fn lose(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_leave_in_order_and_runs_are_joined() {
        let mut cache = Cache::new(8);
        cache.insert(10, &[1; 2 * SECTOR]);
        cache.barrier();
        cache.insert(3, &[2; SECTOR]);
        cache.insert(12, &[3; SECTOR]);
        assert!(cache.has_earlier(11, 2) && !cache.has_earlier(12, 1) && cache.is_barred());
        assert_eq!(cache.missing(10, 4), 1);
        let runs: Vec<(u64, usize)> =
            cache.take().into_iter().map(|run| (run.first, run.bytes.len() / SECTOR)).collect();
        assert_eq!(runs, [(10, 2), (3, 1), (12, 1)]);
    }
}
