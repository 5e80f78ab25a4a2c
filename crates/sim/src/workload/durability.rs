//! Flushes and force unit access (FUA): a host that makes its data durable.
//!
//! A shell around another generator: after every `flush_every` of its commands comes a flush, and a
//! share of its writes has FUA. The inner commands are those that would come without the shell.

use super::Generator;
use crate::op::{HostCommand, HostOp};
use crate::rng::Rng;
use crate::units::Ns;

/// See the module.
pub(super) struct DurableHost {
    inner: Box<dyn Generator>,
    /// Commands between two flushes; `None` without flushes.
    flush_every: Option<u64>,
    since_flush: u64,
    /// Arrival of the last inner command, at which a flush arrives too.
    last_arrival: Ns,
    fua_share: f64,
    rng: Rng,
}

impl DurableHost {
    /// `inner` with flushes and FUA writes, or `inner` itself if there are neither.
    pub fn around(
        inner: Box<dyn Generator>,
        flush_every: Option<u64>,
        fua_share: f64,
        rng: Rng,
    ) -> Box<dyn Generator> {
        if flush_every.is_none() && fua_share <= 0.0 {
            return inner;
        }
        Box::new(Self { inner, flush_every, since_flush: 0, last_arrival: Ns(0), fua_share, rng })
    }
}

// `writes_whole_pages` stays false: a bare page has no FUA, and a flush is no page.
impl Generator for DurableHost {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        let limit = batch.len() + count;
        while batch.len() < limit {
            let left = self.flush_every.map_or(u64::MAX, |every| every - self.since_flush);
            if left == 0 {
                let flush = HostCommand::new(HostOp::Flush, 0, 0);
                batch.push(HostCommand { arrival: self.last_arrival, ..flush });
                self.since_flush = 0;
                continue;
            }
            let first = batch.len();
            self.inner.fill(batch, left.min((limit - first) as u64) as usize);
            if batch.len() == first {
                return;
            }
            self.since_flush += (batch.len() - first) as u64;
            for command in &mut batch[first..] {
                // Drawn for writes only, so that the share of reads has no effect on which writes
                // have FUA.
                command.is_fua = command.op == HostOp::Write
                    && self.fua_share > 0.0
                    && self.rng.unit() < self.fua_share;
                self.last_arrival = command.arrival;
            }
        }
    }

    fn unissued(&mut self, commands: &[HostCommand]) {
        let inner: Vec<_> =
            commands.iter().filter(|command| command.op != HostOp::Flush).copied().collect();
        self.inner.unissued(&inner);
    }

    fn retarget(&mut self, command: &mut HostCommand) {
        self.inner.retarget(command);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes of one sector each, 10 ns apart; every fourth command is a read.
    struct Plain(u64);

    impl Generator for Plain {
        fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
            for _ in 0..count {
                let op = if self.0 % 4 == 3 { HostOp::Read } else { HostOp::Write };
                let command = HostCommand::new(op, self.0, 1);
                batch.push(HostCommand { arrival: Ns(10 * self.0), ..command });
                self.0 += 1;
            }
        }

        fn retarget(&mut self, _: &mut HostCommand) {}
    }

    fn drawn(flush_every: Option<u64>, fua_share: f64, calls: &[usize]) -> Vec<HostCommand> {
        let rng = Rng::stream(1, "fua");
        let mut host = DurableHost::around(Box::new(Plain(0)), flush_every, fua_share, rng);
        let mut batch = Vec::new();
        for &count in calls {
            host.fill(&mut batch, count);
        }
        batch
    }

    #[test]
    fn flushes_come_between_the_commands_of_the_inner_host() {
        let commands = drawn(Some(3), 0.0, &[8]);
        let is_flush: Vec<bool> = commands.iter().map(|it| it.op == HostOp::Flush).collect();
        assert_eq!(is_flush, [false, false, false, true, false, false, false, true]);
        assert_eq!((commands[3].arrival, commands[7].arrival), (Ns(20), Ns(50)));
        let inner: Vec<_> = commands.into_iter().filter(|it| it.op != HostOp::Flush).collect();
        assert_eq!(inner, drawn(None, 0.0, &[6]));
    }

    #[test]
    fn a_share_of_the_writes_has_fua_however_the_calls_are_cut() {
        let commands = drawn(Some(5), 0.5, &[400]);
        assert_eq!(commands, drawn(Some(5), 0.5, &[1, 4, 7, 388]));
        let writes = commands.iter().filter(|it| it.op == HostOp::Write).count();
        let fua = commands.iter().filter(|it| it.is_fua).count();
        assert!(commands.iter().all(|it| !it.is_fua || it.op == HostOp::Write));
        assert!((writes * 4 / 10..=writes * 6 / 10).contains(&fua), "{fua} of {writes}");
    }
}
