//! Hosts that insist: flush commands between the others, and writes with force unit access.
//!
//! A shell around another generator: every `flush_every` commands a flush follows, which does not
//! count among them; of the writes, a share is marked. The commands inside are those that would
//! come without the shell.

use super::Generator;
use crate::op::{HostCommand, HostOp};
use crate::rng::Rng;
use crate::units::Ns;

/// See the module.
pub(super) struct Durable {
    inner: Box<dyn Generator>,
    /// Commands between two flushes; `None`: none comes.
    flush_every: Option<u64>,
    since_flush: u64,
    /// Arrival of the last command: a flush comes with it.
    last: Ns,
    fua_share: f64,
    rng: Rng,
}

impl Durable {
    /// `inner` with flushes and marks, or as it is when neither is asked for.
    pub fn around(
        inner: Box<dyn Generator>,
        flush_every: Option<u64>,
        fua_share: f64,
        rng: Rng,
    ) -> Box<dyn Generator> {
        if flush_every.is_none() && fua_share <= 0.0 {
            return inner;
        }
        Box::new(Self { inner, flush_every, since_flush: 0, last: Ns(0), fua_share, rng })
    }
}

impl Generator for Durable {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        let limit = batch.len() + count;
        while batch.len() < limit {
            let left = self.flush_every.map_or(u64::MAX, |every| every - self.since_flush);
            if left == 0 {
                let flush = HostCommand::new(HostOp::Flush, 0, 0);
                batch.push(HostCommand { arrival: self.last, ..flush });
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
                // Drawn for writes only: a change of the read share moves no mark of a write.
                command.is_fua = command.op == HostOp::Write
                    && self.fua_share > 0.0
                    && self.rng.unit() < self.fua_share;
                self.last = command.arrival;
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
