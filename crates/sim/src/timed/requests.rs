//! Rows of requests that are complete, on their way to the code that asked for them.
//!
//! At most one batch of rows is kept: a run that has filled it returns from
//! [`Simulation::advance`](crate::run::Simulation::advance), and continues when it was taken.
//!
//! A request has the number of its arrival. Those that wait outside the drive leave in the order of
//! their host, so that their numbers wait in a queue for each host too.

use std::collections::VecDeque;
use std::num::NonZero;

use crate::controller::breakdown::{Part, Parts};
use crate::op::HostCommand;
use crate::units::Ns;

/// Rows of a batch; a look comes after some events, each of which may complete a command.
const BATCH_ROWS: usize = 16_384;

/// A request that is complete. Times count from the beginning of the measured stage.
#[derive(Clone, Copy, Debug)]
pub struct RequestRow {
    /// Its number, from 0, in the order of arrival.
    pub sequence: u64,
    /// The request, as latencies count it: without the sectors of a write that found no room.
    pub command: HostCommand,
    /// When it came.
    pub arrival: Ns,
    /// When it was complete.
    pub completion: Ns,
    /// What the time between was spent on.
    pub parts: Parts,
    /// Whether a page that it reads was lost.
    pub is_lost: bool,
}

impl RequestRow {
    /// When the drive accepted it.
    pub fn start(&self) -> Ns {
        self.arrival + Ns(self.parts.0[Part::Submission as usize])
    }
}

/// Numbers of requests that wait outside the drive, by host.
#[derive(Default)]
pub(super) struct Numbers(Vec<VecDeque<u64>>);

impl Numbers {
    /// A request waits outside the drive.
    pub(super) fn wait_outside(&mut self, tenant: u8, sequence: u64) {
        let tenant = usize::from(tenant);
        if tenant >= self.0.len() {
            self.0.resize_with(tenant + 1, VecDeque::new);
        }
        self.0[tenant].push_back(sequence);
    }

    /// The number of the request of a host that waited longest.
    pub(super) fn let_in(&mut self, tenant: u8) -> u64 {
        self.0[usize::from(tenant)].pop_front().expect("it waited outside")
    }
}

/// See the module.
pub(super) struct RequestLog {
    every: NonZero<u64>,
    rows: Vec<RequestRow>,
}

impl RequestLog {
    pub(super) fn new(every: NonZero<u64>) -> Self {
        Self { every, rows: Vec::new() }
    }

    /// Whether the request of this number is recorded.
    #[inline]
    pub(super) fn takes(&self, sequence: u64) -> bool {
        sequence % self.every == 0
    }

    /// A request is complete.
    pub(super) fn push(&mut self, row: RequestRow) {
        self.rows.push(row);
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= BATCH_ROWS
    }

    /// Exchanges the rows for a vector without any, which is kept for its memory.
    pub(super) fn swap(&mut self, rows: &mut Vec<RequestRow>) {
        rows.clear();
        std::mem::swap(&mut self.rows, rows);
    }
}
