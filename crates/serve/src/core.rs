//! The served drive with its pending requests: the state that the threads share. Times are passed
//! in.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use hdrhistogram::Histogram;
use opennandlab_sim::op::{Purpose, ZoneAction};
use opennandlab_sim::session::{
    Begun, Done, PurgeOrder, Refusal, Request as Ask, Service, Session, Snapshot,
};
use opennandlab_sim::units::Ns;
use serde_json::{json, Map, Value};

use crate::answer::{Answer, Fault};
use crate::pipe::Pipe;
use crate::power::Supply;
use crate::record::{Recorder, Times};
use crate::request::{self, Command, Errno, Request};

/// Most extents that a question for them gets.
const EXTENTS_MAX: usize = 1024;
/// The largest time that histograms resolve, in nanoseconds: 1000 s.
const SPAN_NS_MAX: u64 = 1_000_000_000_000;

/// A pending request, and the first bytes of its reply.
pub(crate) struct Pending {
    pub(crate) pipe: Arc<Pipe>,
    /// `None` when no client reads it any more.
    pub(crate) answer: Option<Box<dyn Answer>>,
    pub(crate) reply: Vec<u8>,
    /// Bytes acquired for it.
    pub(crate) held: usize,
    pub(crate) entry: Entry,
}

/// The facts of a request that are recorded.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) sequence: u64,
    pub(crate) connection: u64,
    pub(crate) request: Request,
    pub(crate) times: Times,
    pub(crate) errno: Errno,
}

/// The drive and its pending requests.
pub(crate) struct Core {
    /// `None` only within [`Core::cut`].
    session: Option<Session>,
    supply: Option<Supply>,
    /// Times that the power has failed: connections from before are useless.
    pub(crate) cuts: u64,
    pending: HashMap<u64, Pending>,
    sequence: u64,
    done: Vec<Done>,
}

impl Core {
    pub(crate) fn new(session: Session, supply: Option<Supply>) -> Self {
        let session = Some(session);
        Self { session, supply, cuts: 0, pending: HashMap::new(), sequence: 0, done: Vec::new() }
    }

    /// The drive.
    pub(crate) fn session(&mut self) -> &mut Session {
        self.session.as_mut().expect("a drive is cut and mounted under one lock")
    }

    /// The drive, and its supply if that may fail.
    pub(crate) fn both(&mut self) -> (&mut Session, Option<&Supply>) {
        let session = self.session.as_mut().expect("a drive is cut and mounted under one lock");
        (session, self.supply.as_ref())
    }

    /// The drive, permanently.
    pub(crate) fn into_session(self) -> Option<Session> {
        self.session
    }

    /// What the drive did, and what its supply did to it if it may fail.
    pub(crate) fn status(&mut self) -> (Value, Option<Value>) {
        (self.session().status(), self.supply.as_ref().map(Supply::status))
    }

    /// The power fails, and the drive is mounted from its flash. Returns the pending requests,
    /// which get no reply, and the time from power to ready; `None` if the drive has no supply that
    /// may fail.
    pub(crate) fn cut(&mut self, at: Ns) -> Option<(Vec<Pending>, Ns)> {
        let supply = self.supply.as_mut()?;
        let mut done = std::mem::take(&mut self.done);
        let mut session = self.session.take()?;
        // Requests that have ended by now are complete, though their clients get no reply.
        session.advance(at, &mut done);
        let (session, ready) = supply.cut(session, at);
        self.session = Some(session);
        self.cuts += 1;
        Some((self.pending.drain().map(|(_, pending)| pending).collect(), ready))
    }

    /// The number of the request that comes next.
    pub(crate) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence - 1
    }

    /// Begins a request that was checked; `reply` gets the data that it asks for.
    pub(crate) fn begin(
        &mut self,
        at: Ns,
        token: u64,
        (request, data): (&Request, &[u8]),
        answer: &mut dyn Answer,
        reply: &mut Vec<u8>,
    ) -> Result<Begun, Fault> {
        let start = reply.len();
        if let Command::Purge(order) = request.command {
            return self.purge(at, token, order).map_err(Fault::Drive);
        }
        self.session().strike(at);
        let outcome = self.ask(at, token, (request, data), answer, reply);
        outcome.map_err(|refusal| {
            reply.truncate(start);
            Fault::Drive(refusal)
        })
    }

    fn purge(&mut self, at: Ns, token: u64, order: PurgeOrder) -> Result<Begun, Refusal> {
        let session = self.session.as_mut().expect("a drive is cut and mounted under one lock");
        let begun = session.purge(at, token, order, &mut self.done)?;
        self.supply.iter_mut().for_each(Supply::forget_losses);
        Ok(begun)
    }

    /// The drive comes to rest, and its life goes into its image.
    pub(crate) fn end_service(&mut self, at: Ns) {
        let unsafe_shutdowns = self.supply.as_ref().map_or(0, Supply::cuts);
        let power_cycles = 1 + unsafe_shutdowns;
        let session = self.session();
        session.advance(at, &mut Vec::new());
        session.settle();
        session.end_service(Service { power_cycles, unsafe_shutdowns, age_ns: at.0 });
    }

    /// An image of the drive as it is now. A server that is killed later has not shut it down.
    pub(crate) fn snapshot(&mut self, at: Ns) -> Snapshot {
        let cuts = self.supply.as_ref().map_or(0, Supply::cuts);
        let (power_cycles, unsafe_shutdowns) = (1 + cuts, 1 + cuts);
        self.session().snapshot(Service { power_cycles, unsafe_shutdowns, age_ns: at.0 })
    }

    /// The power is back: a purge that it has interrupted continues.
    pub(crate) fn power_on(&mut self, at: Ns) {
        let session = self.session();
        if session.purge_progress(at).is_some() {
            session.resume_purge(at);
            self.supply.iter_mut().for_each(Supply::forget_losses);
        }
    }

    fn ask(
        &mut self,
        at: Ns,
        token: u64,
        (request, data): (&Request, &[u8]),
        answer: &mut dyn Answer,
        reply: &mut Vec<u8>,
    ) -> Result<Begun, Refusal> {
        let Request { command, flags, .. } = *request;
        // The range of a flush means nothing, and was not checked.
        let (offset, length) = match command {
            Command::Flush => (0, 0),
            _ => (request.offset, u64::from(request.length)),
        };
        let unit = self.session().unit_bytes();
        let touched = offset / unit..(offset + length).div_ceil(unit);
        let mut is_fua = flags & request::FUA != 0;
        if let Some(supply) = &self.supply {
            is_fua |= command == Command::Write && supply.writes_through();
            if command == Command::Flush && supply.ignores_flushes() {
                return Ok(Begun::Done);
            }
            // A write of a part of a unit needs the rest of it.
            let needed = match command {
                Command::Read => touched.clone(),
                _ if offset % unit + (offset + length) % unit > 0 => touched.clone(),
                _ => 0..0,
            };
            let of_copy = |it: &Range<u64>| it.start / unit..it.end.div_ceil(unit);
            let is_lost = answer.sources().iter().any(|it| supply.is_unreadable(of_copy(it)));
            if is_lost || supply.is_unreadable(needed) {
                return Err(Refusal::Uncorrectable);
            }
        }
        let ask = match command {
            Command::Read => {
                answer.head(reply);
                let start = reply.len();
                reply.resize(start + length as usize, 0);
                self.session().read(offset, &mut reply[start..])?;
                match flags & (request::VERIFY | request::COMPARE) {
                    0 => Ask::Read { offset, length },
                    request::VERIFY => Ask::Check { offset, length, purpose: Purpose::Verify },
                    _ => Ask::Check { offset, length, purpose: Purpose::Compare },
                }
            }
            Command::BlockStatus => {
                let count_max = if flags & request::REQ_ONE != 0 { 1 } else { EXTENTS_MAX };
                let extents = self.session().extents(offset, length, count_max);
                answer.extents(&extents, reply);
                return Ok(Begun::Done);
            }
            Command::Cache => Ask::Read { offset, length },
            Command::Write => match answer.sources() {
                [] => {
                    let placement = (flags >> request::PLACEMENT_SHIFT) as u8;
                    Ask::Write { offset, bytes: data, is_fua, placement }
                }
                sources => Ask::Copy { sources, offset, bytes: data, is_fua },
            },
            Command::Append => Ask::Append { offset, bytes: data, is_fua },
            Command::Zone(action) => Ask::Zone(action, Some(offset)),
            Command::AllZones(action) => Ask::Zone(action, None),
            Command::Trim => Ask::Trim { offset, length },
            Command::WriteZeroes => {
                let is_allocated = flags & request::NO_HOLE != 0;
                Ask::Zero { offset, length, is_fua, is_allocated }
            }
            Command::Flush => Ask::Flush,
            Command::Purge(_) | Command::Disconnect | Command::Unknown(_) => {
                return Ok(Begun::Done)
            }
        };
        let whole = offset.div_ceil(unit)..(offset + length) / unit;
        let trims = match command {
            Command::Trim => whole,
            Command::WriteZeroes if flags & request::NO_HOLE == 0 => whole,
            _ => 0..0,
        };
        let session = self.session.as_mut().expect("a drive is cut and mounted under one lock");
        let begun = session.begin(at, token, ask, &mut self.done)?;
        if let Begun::Placed(byte) = begun {
            answer.placed(byte);
        }
        if let Some(supply) = &mut self.supply {
            supply.note(session, trims, (token, true));
            if matches!(command, Command::Write | Command::WriteZeroes) {
                supply.note(session, touched, (token, false));
            }
        }
        Ok(begun)
    }

    /// Keeps the reply of a request that has begun until the request is done.
    pub(crate) fn wait(&mut self, token: u64, pending: Pending) {
        self.pending.insert(token, pending);
    }

    /// No client reads the replies of this connection any more: its requests continue without them.
    pub(crate) fn drop_replies(&mut self, connection: u64) {
        for pending in self.pending.values_mut() {
            if pending.entry.connection == connection {
                pending.reply = Vec::new();
                pending.answer = None;
            }
        }
    }

    /// Advances the drive to a time; completed requests go to `ready` with the times of the model.
    pub(crate) fn advance(&mut self, until: Ns, ready: &mut Vec<(Ns, Pending)>) {
        let session = self.session.as_mut().expect("a drive is cut and mounted under one lock");
        session.advance(until, &mut self.done);
        for done in self.done.drain(..) {
            let Some(mut pending) = self.pending.remove(&done.token) else { continue };
            if let (Some(byte), Some(answer)) = (done.place, &mut pending.answer) {
                answer.placed(byte);
            }
            let outcome = done.refusal.map_or(Ok(()), |refusal| Err(Fault::Drive(refusal)));
            pending.end(outcome);
            ready.push((done.at, pending));
        }
    }
}

impl Pending {
    /// The request has ended: its reply is complete.
    pub(crate) fn end(&mut self, outcome: Result<(), Fault>) {
        self.entry.errno = outcome.map_or_else(Fault::errno, |()| Errno::Ok);
        if outcome.is_err() {
            self.reply.clear();
        }
        if let Some(answer) = &mut self.answer {
            answer.end(outcome, &mut self.reply, 0);
        }
    }
}

/// Counts and times of requests.
pub(crate) struct Books {
    pub(crate) recorder: Option<Recorder>,
    requests: [u64; KINDS.len() + ZONE_KINDS.len()],
    bytes: [u64; KINDS.len() + ZONE_KINDS.len()],
    errors: u64,
    /// Reply after target, in nanoseconds.
    lateness: Histogram<u64>,
    /// Target after arrival, which is the latency of the model; and reply after arrival.
    latency: [Histogram<u64>; 2],
}

const KINDS: [Command; 7] = [
    Command::Read,
    Command::Write,
    Command::Flush,
    Command::Trim,
    Command::WriteZeroes,
    Command::Cache,
    Command::BlockStatus,
];

/// Kinds that are listed only if they came: those of drives with zones.
const ZONE_KINDS: [Command; 3] = [
    Command::Append,
    Command::Zone(ZoneAction::Reset),
    // Others, and those of all zones.
    Command::AllZones(ZoneAction::Reset),
];

fn kind_of(command: Command) -> Option<usize> {
    let plain = KINDS.iter().position(|&kind| kind == command);
    let of_zones = || ZONE_KINDS.iter().position(|kind| kind.name() == command.name());
    plain.or_else(|| of_zones().map(|place| KINDS.len() + place))
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, SPAN_NS_MAX, 3).expect("constant bounds are valid")
}

impl Books {
    pub(crate) fn new(recorder: Option<Recorder>) -> Self {
        Self {
            recorder,
            requests: [0; KINDS.len() + ZONE_KINDS.len()],
            bytes: [0; KINDS.len() + ZONE_KINDS.len()],
            errors: 0,
            lateness: histogram(),
            latency: [histogram(), histogram()],
        }
    }

    /// A request was answered.
    pub(crate) fn note(&mut self, entry: &Entry) {
        let Entry { sequence, connection, request, times, errno } = entry;
        if let Command::Purge(_) = request.command {
            // No trace has a word for it.
            return self.recorder.iter_mut().for_each(|it| it.skip(*sequence));
        }
        if let Some(kind) = kind_of(request.command) {
            self.requests[kind] += 1;
            self.bytes[kind] += u64::from(request.length);
        }
        self.errors += u64::from(*errno != Errno::Ok);
        let after = |late: u64, early: u64| late.saturating_sub(early).max(1);
        self.lateness.saturating_record(after(times.reply, times.target));
        self.latency[0].saturating_record(after(times.target, times.arrive));
        self.latency[1].saturating_record(after(times.reply, times.arrive));
        if let Some(recorder) = &mut self.recorder {
            recorder.note(*sequence, *connection, request, times);
        }
    }

    /// `{requests, bytes, errors, lateness_us, latency_us, response_us}`.
    pub(crate) fn to_json(&self) -> Value {
        let by_kind = |counts: &[u64]| -> Value {
            let named = KINDS.iter().chain(&ZONE_KINDS).zip(counts);
            let named = named.zip(0..).filter(|((_, n), it)| **n > 0 || *it < KINDS.len());
            let named = named.map(|(named, _)| named);
            named.map(|(kind, &n)| (kind.name().to_owned(), json!(n))).collect::<Map<_, _>>().into()
        };
        json!({
            "requests": by_kind(&self.requests),
            "bytes": by_kind(&self.bytes),
            "errors": self.errors,
            "lateness_us": in_us(&self.lateness),
            "latency_us": in_us(&self.latency[0]),
            "response_us": in_us(&self.latency[1]),
        })
    }
}

/// A percentile is stated only when at least ten samples are beyond it.
fn in_us(histogram: &Histogram<u64>) -> Value {
    let us = |ns: u64| ns as f64 / 1e3;
    let share = |share: f64| {
        let beyond = histogram.len() as f64 * (1.0 - share);
        (beyond >= 10.0).then(|| us(histogram.value_at_quantile(share)))
    };
    let count = histogram.len();
    json!({
        "count": count,
        "mean": (count > 0).then(|| histogram.mean() / 1e3),
        "p50": share(0.5),
        "p99": share(0.99),
        "p999": share(0.999),
        "max": (count > 0).then(|| us(histogram.max())),
    })
}
