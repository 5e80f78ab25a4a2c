//! Faults of the contents of a served drive, data that it has lost, and the audit that knows of
//! them.

use super::session::Session;
use crate::nand::UnitFault;
use crate::op::HostOp;
use crate::units::{Lpn, Ns};

impl Session {
    /// Whether a command reports that memory has lost acknowledged data for lack of room: the next
    /// flush does, once.
    pub(super) fn reports_loss(&mut self, op: HostOp) -> bool {
        let host = &self.drive.host;
        let lost = host.rejected_pages.saturating_sub(host.refused_page_writes);
        op == HostOp::Flush && lost > std::mem::replace(&mut self.lost_reported, lost)
    }

    /// Faults of the contents that are due strike units whose data is on the flash. Without a clock
    /// all are due.
    pub fn strike(&mut self, at: Ns) {
        if self.faults.waiting.is_empty() {
            return;
        }
        let has_clock = self.executor.is_some();
        let mut waiting = std::mem::take(&mut self.faults.waiting);
        waiting.retain(|fault| has_clock && fault.at > at || !self.is_struck_by(*fault));
        self.faults.waiting = waiting;
    }

    /// Whether a fault found the data that it damages.
    fn is_struck_by(&mut self, UnitFault { unit, to, .. }: UnitFault) -> bool {
        match to {
            None => self.corrupt(Lpn(unit)),
            Some(to) => self.misdirect(Lpn(unit), Lpn(to)),
        }
    }

    /// Damages the data of a page on the flash, as a fault of the medium would; false if the flash
    /// holds none yet.
    pub fn corrupt(&mut self, lpn: Lpn) -> bool {
        let place = self.place(lpn).filter(|_| !self.contents().is_staged(lpn));
        let is_struck = place.is_some_and(|(block, index)| self.contents().corrupt(block, index));
        if is_struck {
            self.faults.struck.push(lpn.0);
        }
        is_struck
    }

    /// The data of a page takes the place of another on the flash, as if a write had been
    /// misdirected; false if the flash does not hold both yet.
    pub fn misdirect(&mut self, lpn: Lpn, to: Lpn) -> bool {
        if self.contents().is_staged(lpn) || self.contents().is_staged(to) {
            return false;
        }
        let Some((from, target)) = self.place(lpn).zip(self.place(to)) else { return false };
        let is_struck = self.contents().misdirect(from, target);
        if is_struck {
            self.faults.struck.push(to.0);
        }
        is_struck
    }

    /// Checks that all tables of the drive agree, and that every mapped page holds the data last
    /// written to it, except pages that faults have struck.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&mut self) -> Result<(), String> {
        self.drive.ftl.audit(&self.drive.media)?;
        self.account()?;
        for lpn in (0..self.drive.ftl.figures().logical_pages()).map(Lpn) {
            let place = self.place(lpn);
            let outcome = self.contents().verify(lpn, place);
            if !self.faults.struck.contains(&lpn.0) {
                outcome.map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}
