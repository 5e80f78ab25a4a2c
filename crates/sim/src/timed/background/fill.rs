//! Program units that wait for the rest of their data: after a while they are padded.
//!
//! ```text
//! the host writes into a unit ── unit complete ──────────────────────────► programmed
//!       └─ timer ── unit still the same and not complete ── pad ─────────► programmed
//! ```
//! The timer of a unit runs from its first page. A drive that keeps its memory without power needs
//! none.

use crate::drive::Drive;
use crate::timed::clockwork::{Clockwork, Event};
use crate::units::{DieId, Ns, Ppn};

/// See the module.
pub(in crate::timed) struct FillTimer {
    timeout: Ns,
    /// The unit of each pool that waits, by its first page, and since when.
    waiting: Vec<Option<(Ppn, Ns)>>,
    /// Pools that the host wrote to.
    pub(in crate::timed) touched: Vec<DieId>,
}

impl FillTimer {
    /// The timer of a drive, if it has one.
    pub(super) fn new(drive: &Drive) -> Option<Box<Self>> {
        let timeout = Ns::from_us(drive.config.ftl.fill_timeout_us?);
        let waiting = vec![None; drive.geometry.die_count as usize];
        let timer = Self { timeout, waiting, touched: Vec::new() };
        (!drive.config.host.power_loss_protected).then(|| Box::new(timer))
    }

    /// Starts the timers of program units that the host has begun.
    #[cold]
    pub(super) fn start(&mut self, clockwork: &mut Clockwork, drive: &Drive) {
        let now = clockwork.now();
        for die in self.touched.drain(..) {
            let waiting = &mut self.waiting[die.0 as usize];
            let unit = drive.ftl.room(die).unit_under_way(&drive.media);
            if unit != waiting.map(|(unit, _)| unit) {
                *waiting = unit.map(|unit| (unit, now));
                if unit.is_some() {
                    clockwork.schedule(self.timeout, Event::Fill(die));
                }
            }
        }
    }

    /// Whether the open program unit of a pool has waited for as long as it may.
    pub(super) fn is_due(&self, clockwork: &Clockwork, drive: &Drive, die: DieId) -> bool {
        let (now, unit) = (clockwork.now(), drive.ftl.room(die).unit_under_way(&drive.media));
        self.waiting[die.0 as usize]
            .is_some_and(|(waits, since)| unit == Some(waits) && since + self.timeout == now)
    }
}
