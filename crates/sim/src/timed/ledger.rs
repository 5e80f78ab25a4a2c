//! The accounts of a timed stage: what its commands got and spent their time on, and whether all of
//! it adds up.

use serde_json::{json, Value};

use super::completion::Completion;
use super::observation::Observation;
use super::requests::{Numbers, RequestLog, RequestRow};
use crate::controller::breakdown::{Breakdown, Part, Parts};
use crate::host::latency::{Latencies, LatencyBook};
use crate::host::tenants::TenantBook;
use crate::op::{HostCommand, HostOp, HOST_OP_KINDS};
use crate::units::{Ns, SECTOR_BYTES};

/// What a timed stage has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimedTally {
    pub(crate) issued: u64,
    pub(crate) served: u64,
    pub(crate) served_bytes: [u64; HOST_OP_KINDS],
    pub(crate) served_commands: [u64; HOST_OP_KINDS],
    /// Sum of the latencies of all commands.
    pub(crate) latency_ns: u128,
    /// When the last command completed.
    pub(crate) last_completion: Ns,
}

/// Where the time of the commands goes, when they are watched.
struct Watch {
    sums: Option<Box<Sums>>,
    log: Option<RequestLog>,
    /// Of the running commands, by slot.
    under_way: Vec<Account>,
    /// Commands whose parts did not sum to their latency.
    mismatches: u64,
}

/// What a result states of all commands.
#[derive(Default)]
struct Sums {
    breakdown: Breakdown,
    /// Latencies of commands that did not wait for a collection or an erase, and of those that did.
    apart: [LatencyBook; 2],
}

impl Watch {
    #[cold] // as the others that only watched runs call: the rest stay as fast
    fn note_complete(
        &mut self,
        index: u32,
        command: &HostCommand,
        latency: Ns,
        now: Ns,
        is_lost: bool,
    ) {
        let Account { parts, sequence, .. } = &self.under_way[index as usize];
        self.mismatches += u64::from(parts.total() != latency);
        if let Some(sums) = &mut self.sums {
            sums.breakdown.record(command.op, latency, parts);
            sums.apart[usize::from(parts.met_collection())].record(command.op, latency);
        }
        if let Some(log) = self.log.as_mut().filter(|log| log.takes(*sequence)) {
            log.push(RequestRow {
                sequence: *sequence,
                command: *command,
                arrival: now - latency,
                completion: now,
                parts: *parts,
                is_lost,
            });
        }
    }
}

/// The time of a running command.
#[derive(Clone, Copy, Default)]
struct Account {
    parts: Parts,
    /// Until when it is accounted for.
    until: Ns,
    /// The number of the command.
    sequence: u64,
}

/// Latencies of reads apart, once one was lost: of those that got their data, and of those that did
/// not.
struct ReadsApart {
    served: Latencies,
    lost: Latencies,
}

/// See the module.
pub(crate) struct Ledger {
    pub(crate) tally: TimedTally,
    pub(super) outstanding: u64,
    /// Time without a command.
    idle: Ns,
    /// Integral of outstanding commands over time, in command nanoseconds.
    area: u128,
    area_until: Ns,
    /// Latencies, unless the caller that runs the stage keeps them.
    pub(crate) latencies: Option<Box<LatencyBook>>,
    apart: Option<Box<ReadsApart>>,
    /// The command that completed last.
    pub(crate) last: Completion,
    /// What each host got, when they have names.
    pub(crate) tenants: Option<Box<TenantBook>>,
    watch: Option<Box<Watch>>,
    /// Numbers of the commands that wait outside, if numbers are asked for.
    numbers: Option<Box<Numbers>>,
}

impl Ledger {
    /// Empty accounts.
    pub(super) fn new(
        latencies: Option<Box<LatencyBook>>,
        tenants: Option<Box<TenantBook>>,
        observation: &Observation,
    ) -> Self {
        let watch = || Watch {
            sums: observation.breakdown.then(Box::default),
            log: observation.requests_every.map(RequestLog::new),
            under_way: Vec::new(),
            mismatches: 0,
        };
        Self {
            tally: TimedTally::default(),
            outstanding: 0,
            idle: Ns(0),
            area: 0,
            area_until: Ns(0),
            latencies,
            apart: None,
            last: Completion::default(),
            tenants,
            watch: observation.wants_parts().then(|| Box::new(watch())),
            numbers: observation.wants_numbers().then(Box::default),
        }
    }

    /// Whether the time of each command is accounted for.
    #[inline]
    pub(super) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// A command came.
    #[inline]
    pub(super) fn note_issued(&mut self, now: Ns) {
        self.note_area(now);
        if self.outstanding == 0 {
            self.idle = self.idle + (now - self.tally.last_completion);
        }
        self.outstanding += 1;
        self.tally.issued += 1;
    }

    /// The command that came last got a slot.
    #[inline]
    pub(super) fn note_slot(&mut self, index: u32, now: Ns) {
        if self.watch.is_some() {
            self.open(index, now, self.tally.issued - 1);
        }
    }

    /// The command that came last waits for a slot.
    #[cold]
    pub(super) fn note_outside(&mut self, tenant: u8) {
        if let Some(numbers) = &mut self.numbers {
            numbers.wait_outside(tenant, self.tally.issued - 1);
        }
    }

    /// A command of a host got the slot for which it waited since it was submitted. Its number, if
    /// it is known.
    #[cold]
    pub(super) fn note_let_in(
        &mut self,
        index: u32,
        tenant: u8,
        submitted: Ns,
        now: Ns,
    ) -> Option<u64> {
        let number = self.numbers.as_mut().map(|numbers| numbers.let_in(tenant));
        if self.watch.is_some() {
            self.open(index, submitted, number.unwrap_or(0));
            self.credit(index, Part::Submission, now);
        }
        number
    }

    /// Opens the account of a command in a slot.
    #[cold]
    fn open(&mut self, index: u32, submitted: Ns, sequence: u64) {
        let Some(watch) = &mut self.watch else { return };
        let index = index as usize;
        if index >= watch.under_way.len() {
            watch.under_way.resize(index + 1, Account::default());
        }
        watch.under_way[index] = Account { parts: Parts::default(), until: submitted, sequence };
    }

    /// Credits the time since the last call to a part of a command.
    #[inline]
    pub(super) fn credit(&mut self, index: u32, part: Part, now: Ns) {
        if let Some(watch) = &mut self.watch {
            let account = &mut watch.under_way[index as usize];
            account.parts.add(part, now - account.until);
            account.until = now;
        }
    }

    /// Credits the time since the command reached the FTL to what its last operation met.
    pub(super) fn credit_operation(&mut self, index: u32, met: &Parts, now: Ns) {
        let Some(watch) = &mut self.watch else { return };
        let Account { parts, until, .. } = &mut watch.under_way[index as usize];
        let span = now - *until;
        for (part, spent) in parts.0.iter_mut().zip(&met.0) {
            *part += spent;
        }
        // An operation that was queued later than its command: there was no erased block.
        parts.add(Part::Room, Ns(span.0.saturating_sub(met.total().0)));
        *until = now;
    }

    /// A command is complete; of a read, `is_lost` is true if one of its pages was lost.
    #[inline]
    pub(super) fn note_complete(
        &mut self,
        index: u32,
        command: &HostCommand,
        latency: Ns,
        now: Ns,
        is_lost: bool,
    ) {
        self.note_area(now);
        self.outstanding -= 1;
        if (is_lost || self.apart.is_some()) && command.op == HostOp::Read {
            self.note_apart(latency, is_lost);
        }
        if let Some(latencies) = &mut self.latencies {
            latencies.record(command.op, latency);
        }
        if let Some(watch) = &mut self.watch {
            watch.note_complete(index, command, latency, now, is_lost);
        }
        let kind = command.op.index();
        let bytes = u64::from(command.sector_count) * SECTOR_BYTES;
        let (tenant, sector) = (command.tenant, command.sector);
        self.last = Completion { kind, bytes, latency, tenant, slot: index, sector };
        let tally = &mut self.tally;
        tally.served += 1;
        tally.served_commands[kind] += 1;
        tally.served_bytes[kind] += bytes;
        tally.latency_ns += u128::from(latency.0);
        tally.last_completion = now;
        if let Some(tenants) = &mut self.tenants {
            tenants.record(command, latency, now);
        }
    }

    /// A read is complete, and one was lost by now; those before the first got their data.
    #[cold]
    fn note_apart(&mut self, latency: Ns, is_lost: bool) {
        let Some(latencies) = &self.latencies else { return };
        let apart = self.apart.get_or_insert_with(|| {
            let served = latencies.reads().clone();
            Box::new(ReadsApart { served, lost: Latencies::default() })
        });
        if is_lost { &mut apart.lost } else { &mut apart.served }.record(latency);
    }

    /// Reads that were lost, and latencies apart; `None` while none was.
    pub(crate) fn lost_reads(&self) -> Option<(u64, Value)> {
        let ReadsApart { served, lost } = self.apart.as_deref()?;
        let row = |of: &Latencies| (of.count() > 0).then(|| of.to_json());
        Some((lost.count(), json!({ "served": row(served), "lost": row(lost) })))
    }

    #[inline]
    fn note_area(&mut self, now: Ns) {
        self.area += u128::from(self.outstanding) * u128::from((now - self.area_until).0);
        self.area_until = now;
    }

    /// Relative gap between the integral of outstanding commands and the sum of their latencies:
    /// zero unless a command was lost or counted twice (Little's law in its exact, finite form).
    pub(crate) fn littles_law_error(&self) -> f64 {
        let sum = self.tally.latency_ns as f64;
        let area = self.area as f64;
        if area == 0.0 {
            sum
        } else {
            (sum - area).abs() / area
        }
    }

    /// Time until the last completion in which commands were outstanding.
    pub(crate) fn busy(&self) -> Ns {
        self.tally.last_completion - self.idle
    }

    /// Commands outstanding on average until the last completion.
    pub(crate) fn outstanding_mean(&self) -> Option<f64> {
        let span = self.tally.last_completion.0;
        (span > 0).then(|| self.area as f64 / span as f64)
    }

    /// Where the time went, when the commands are watched.
    pub(crate) fn breakdown(&self) -> Option<&Breakdown> {
        Some(&self.watch.as_ref()?.sums.as_ref()?.breakdown)
    }

    /// Commands whose parts did not sum to their latency: zero, or the accounting is wrong.
    pub(crate) fn mismatches(&self) -> u64 {
        self.watch.as_ref().map_or(0, |watch| watch.mismatches)
    }

    /// Whether rows of requests have to be taken before the run can continue.
    #[inline]
    pub(crate) fn is_log_full(&self) -> bool {
        let log = self.watch.as_ref().and_then(|watch| watch.log.as_ref());
        log.is_some_and(RequestLog::is_full)
    }

    /// Exchanges the rows of the requests that were recorded for a vector without any.
    pub(crate) fn swap_requests(&mut self, rows: &mut Vec<RequestRow>) {
        if let Some(log) = self.watch.as_mut().and_then(|watch| watch.log.as_mut()) {
            log.swap(rows);
        }
    }

    /// Latencies apart for commands that met a collection, when the commands are watched.
    pub(crate) fn latency_by_collection(&self) -> Option<Value> {
        let sums = self.watch.as_ref()?.sums.as_ref()?;
        let book = |book: &LatencyBook| (book.all().count() > 0).then(|| book.to_json());
        let [not_met, met] = sums.apart.each_ref().map(book);
        Some(json!({ "met": met, "not_met": not_met }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_in_the_accounting_is_noticed() {
        let observation = Observation { breakdown: true, ..Observation::default() };
        for (accounted, mismatches) in [(Ns(12), 0), (Ns(11), 1)] {
            let mut ledger = Ledger::new(None, None, &observation);
            let command = HostCommand::new(HostOp::Write, 0, 8);
            ledger.note_issued(Ns(5));
            ledger.note_slot(0, Ns(5));
            ledger.credit(0, Part::Program, accounted);
            ledger.note_complete(0, &command, Ns(7), Ns(12), false);
            assert_eq!(ledger.mismatches(), mismatches);
        }
    }
}
