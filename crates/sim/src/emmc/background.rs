//! Background operations: the accumulated work, and its urgency.
//!
//! No standard states what a firmware has to do, and when. Here it is a debt in bytes: the bytes
//! written or given up since the debt was last worked off. `BKOPS_STATUS` is the number of
//! thresholds that the debt has reached (JESD84-B51, Background Operations).

use crate::units::Ns;

/// See the module.
pub(super) struct Background {
    debt_bytes: u64,
    thresholds_kib: [u32; 3],
    ns_per_kib: u64,
}

impl Background {
    pub(super) fn new(thresholds_kib: [u32; 3], ns_per_kib: u64) -> Self {
        Self { debt_bytes: 0, thresholds_kib, ns_per_kib }
    }

    pub(super) fn owe(&mut self, bytes: u64) {
        self.debt_bytes += bytes;
    }

    /// 0 nothing to do, 1 not critical, 2 performance suffers, 3 critical.
    pub(super) fn level(&self) -> u8 {
        let kib = self.debt_bytes / 1024;
        self.thresholds_kib.iter().filter(|&&it| kib >= u64::from(it)).count() as u8
    }

    /// How long it takes to work off everything.
    pub(super) fn time_left(&self) -> Ns {
        Ns(self.debt_bytes.div_ceil(1024) * self.ns_per_kib)
    }

    /// Works for a time.
    pub(super) fn work(&mut self, time: Ns) {
        let done = (time.0 / self.ns_per_kib).saturating_mul(1024);
        self.debt_bytes = self.debt_bytes.saturating_sub(done);
    }
}
