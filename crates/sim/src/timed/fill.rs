//! Program units that wait for the rest of their data: after a while they are padded.
//!
//! ```text
//! the host writes into a unit ── unit complete ──────────────────────────► programmed
//!       └─ timer ── unit still the same and not complete ── pad ─────────► programmed
//! ```
//! The timer of a unit runs from its first page. A drive that keeps its memory without power needs
//! none.

use crate::drive::Drive;
use crate::units::{DieId, Ns, Ppn};

/// See the module.
pub(super) struct FillTimer {
    timeout: Ns,
    /// The unit of each pool that waits, by its first page, and since when.
    waiting: Vec<Option<(Ppn, Ns)>>,
    /// Pools that the host wrote to.
    pub(super) touched: Vec<DieId>,
}

impl FillTimer {
    /// The timer of a drive, if it has one.
    pub(super) fn new(drive: &Drive) -> Option<Box<Self>> {
        let timeout = Ns::from_us(drive.config.ftl.fill_timeout_us?);
        let waiting = vec![None; drive.geometry.die_count as usize];
        let timer = Self { timeout, waiting, touched: Vec::new() };
        (!drive.config.host.power_loss_protected).then(|| Box::new(timer))
    }

    /// Notes the units under way in the pools that the host wrote to; gives the pools in which one
    /// has begun to wait, and for how long it may.
    pub(super) fn begun(
        &mut self,
        unit: impl Fn(DieId) -> Option<Ppn>,
        now: Ns,
    ) -> (Vec<DieId>, Ns) {
        let mut begun = Vec::new();
        for die in self.touched.drain(..) {
            let (waiting, unit) = (&mut self.waiting[die.0 as usize], unit(die));
            if unit != waiting.map(|(unit, _)| unit) {
                *waiting = unit.map(|unit| (unit, now));
                begun.extend(unit.map(|_| die));
            }
        }
        (begun, self.timeout)
    }

    /// Whether the unit under way in a pool has waited for as long as it may.
    pub(super) fn is_due(&self, die: DieId, unit: Option<Ppn>, now: Ns) -> bool {
        self.waiting[die.0 as usize]
            .is_some_and(|(waits, since)| unit == Some(waits) && since + self.timeout == now)
    }
}
