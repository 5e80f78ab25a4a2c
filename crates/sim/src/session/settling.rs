//! The end of a session: the drive comes to rest with everything on the flash.

use super::session::{Part, Session};
use crate::ftl::End;
use crate::op::HostOp;
use crate::run::Simulation;
use crate::timed::Step;
use crate::units::Lpn;

impl Session {
    /// Brings the drive to rest with everything on the flash: running commands are completed, and
    /// data in the write buffer is written. A timed session is untimed from then on. A purge that
    /// is not done stays so.
    pub fn settle(&mut self) {
        let mut done = Vec::new();
        while !self.requests.is_empty() {
            let Some(next) = self.next_at() else { break };
            self.advance(next, &mut done);
        }
        self.halt_purge();
        if let Some(mut executor) = self.executor.take() {
            // Pages that left the buffer and wait for room, and collections in steps.
            executor.host.arrivals = 0;
            while executor.step_once(&mut self.drive) != Step::Idle {}
            let now = executor.at_rest_since();
            executor.give_back(&mut self.drive, now);
        }
        self.drive.ftl.finish(End::Stage);
        // A worn-out drive keeps data that it could not write in memory, and loses it.
        let _ = self.run_untimed(&[Part::flush()]);
        // Where commands overlapped in time, the last of them may have run with earlier data: what
        // is staged still is written now. What the areas of zones hold stays there: capacitors save
        // it.
        let kept = |lpn: &Lpn| self.zones().is_some_and(|zones| zones.keeps(lpn.0));
        let staged = self.drive.media.contents.iter().flat_map(|it| it.staged_pages());
        for lpn in staged.filter(|lpn| !kept(lpn)).collect::<Vec<_>>() {
            let unit = self.unit_bytes();
            let part = self.part(HostOp::Write, u64::from(lpn.0) * unit, unit, vec![lpn]);
            let _ = self.run_untimed(&[part.with_fua(true)]);
        }
        self.drive.rest();
    }

    /// The drive, which was [settled](Session::settle).
    pub fn into_simulation(self) -> Simulation {
        let mut drive = self.drive;
        drive.media.contents = None;
        Simulation::of_drive(drive)
    }
}
