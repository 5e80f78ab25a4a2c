//! Commands of the admin queue.

use std::sync::atomic::Ordering;
use std::time::Duration;

use opennandlab_serve::answer::End;
use opennandlab_serve::line::Line;
use opennandlab_serve::power::Supply;
use opennandlab_serve::request::Errno;
use opennandlab_sim::host::latency_monitor::Setup;

use crate::bytes::get;
use crate::command::{Entry, FABRICS, TRANSFER_BYTES_MAX};
use crate::controller::{Known, EVENTS_MAX};
use crate::fabrics::{Effect, Queue};
use crate::features::{
    self, COMMAND_SETS, HOST_ID, KEEP_ALIVE, TEMPERATURE, TIMESTAMP, WRITE_CACHE,
};
use crate::identify;
use crate::io::FLUSH;
use crate::latency_log;
use crate::logs::{self, Facts, Wanted, HEALTH};
use crate::placement::{self, EVENTS_FEATURE, FEATURE};
use crate::reply::{Purpose, Reply, Ticket};
use crate::status::Status;
use crate::supported;
use crate::zones;
use crate::{fabrics, logs::warnings, purge};

const GET_LOG: u8 = 0x02;
const IDENTIFY: u8 = 0x06;
const ABORT: u8 = 0x08;
const SET_FEATURE: u8 = 0x09;
const GET_FEATURE: u8 = 0x0a;
const ASK_EVENT: u8 = 0x0c;
const KEEPS_ALIVE: u8 = 0x18;

/// Beyond its time of keeping alive, before a silent host is let go.
const GRACE: Duration = Duration::from_secs(1);
/// An abort that comes too late.
const NOT_ABORTED: u64 = 1;

/// The longest pause of a host with this time of keeping alive.
pub(crate) fn patience(keep_alive_ms: u32) -> Option<Duration> {
    (keep_alive_ms > 0).then(|| Duration::from_millis(u64::from(keep_alive_ms)) + GRACE)
}

/// Carries out a command of the admin queue.
pub(crate) fn execute(
    queue: &Queue,
    ticket: Ticket,
    data: &[u8],
    line: &mut Line<'_>,
) -> Result<(), End> {
    let entry = ticket.entry;
    let of_discovery = logs::DISCOVERY_COMMANDS.contains(&entry.opcode());
    let outcome: Result<(u32, Vec<u8>), Status> = match entry.opcode() {
        FABRICS => match fabrics::execute(queue, &entry) {
            Effect::ShutDown => return flush(ticket, line),
            Effect::Enabled => {
                queue.target.begin(line.drive(|_, supply, _| supply.map_or(0, Supply::cuts)));
                return line.send(ticket.completed(Ok(0)));
            }
            Effect::Completed(outcome) => return line.send(ticket.completed(outcome)),
        },
        _ if !queue.controller.state().is_enabled() => Err(Status::SEQUENCE),
        _ if queue.controller.is_discovery && !of_discovery => Err(Status::OPCODE),
        GET_LOG => log(queue, &entry, line).map(|page| (0, page)),
        IDENTIFY => {
            let page = identify::page(queue, &entry, |namespace| namespace.used(line));
            page.and_then(|page| sized(&entry, page)).map(|page| (0, page))
        }
        GET_FEATURE => feature(queue, &entry, line),
        SET_FEATURE => match set_feature(queue, &entry, data, line) {
            Ok(None) => return flush(ticket, line),
            Ok(Some(first)) => Ok((first, Vec::new())),
            Err(status) => Err(status),
        },
        purge::FORMAT => return purge::format(queue, ticket, line),
        purge::SANITIZE => return purge::sanitize(queue, &ticket, line),
        ABORT => return line.send(ticket.completed(Ok(NOT_ABORTED))),
        ASK_EVENT => {
            let mut state = queue.controller.state();
            if state.asked.len() < EVENTS_MAX {
                state.asked.push(ticket);
                drop(state);
                return tell(queue, line);
            }
            Err(Status::EVENT_LIMIT)
        }
        placement::DIRECTIVE_SEND | placement::DIRECTIVE_RECEIVE
            if queue.target.placement.is_some() =>
        {
            placement::directive(&entry).and_then(|page| sized(&entry, page)).map(|page| (0, page))
        }
        KEEPS_ALIVE => Ok((0, Vec::new())),
        _ => Err(Status::OPCODE),
    };
    line.send(match outcome {
        Ok((first, data)) => ticket.with_data(first, &data),
        Err(status) => ticket.completed(Err(status)),
    })?;
    tell(queue, line)
}

/// Completes a command when everything in memory is on the flash.
fn flush(ticket: Ticket, line: &mut Line<'_>) -> Result<(), End> {
    let reply = Reply { ticket, purpose: Purpose::Change, length: 0 };
    line.submit((&FLUSH, &[]), Errno::Ok, reply)
}

/// Reports news to the host.
fn tell(queue: &Queue, line: &mut Line<'_>) -> Result<(), End> {
    if queue.controller.state().asked.is_empty() {
        return Ok(());
    }
    let (warnings, sanitizes) = line.drive(|session, _, _| {
        (warnings(&session.vitals()), session.purged().map_or(0, |it| it.count))
    });
    loop {
        let mut state = queue.controller.state();
        let told = state.warn(warnings).or_else(|| state.next_news(sanitizes));
        drop(state);
        let Some((ticket, event)) = told else { break };
        line.send(ticket.completed(Ok(event)))?;
    }
    match &queue.target.zones {
        Some(_) => zones::tell(&queue.controller, line),
        None => Ok(()),
    }
}

/// As many bytes of a page as the host takes, which must be all.
fn sized(entry: &Entry, page: Vec<u8>) -> Result<Vec<u8>, Status> {
    if (entry.data_bytes() as usize) < page.len() {
        return Err(Status::SGL_LENGTH);
    }
    Ok(page)
}

fn log(queue: &Queue, entry: &Entry, line: &Line<'_>) -> Result<Vec<u8>, Status> {
    let wanted = Wanted::of(entry);
    if !supported::has_log(queue, wanted.log) {
        return Err(Status::LOG_PAGE);
    }
    if wanted.bytes > u64::from(TRANSFER_BYTES_MAX) {
        return Err(Status::FIELD);
    }
    purge::check_log(wanted.log, line)?;
    let of_placement = queue.target.placement.as_ref().and_then(|it| it.log_page(entry, line));
    if let Some(page) = of_placement {
        return sized(entry, wanted.cut(page?)?);
    }
    if let (Some(zoned), zones::CHANGED_LOG) = (&queue.target.zones, wanted.log) {
        let known = queue.controller.state().zones;
        let (page, changes) = zones::changed(zoned, known, line);
        let page = sized(entry, wanted.cut(page)?)?;
        if !wanted.retains_event {
            let known = Known { seen: changes, told: changes, is_masked: false };
            queue.controller.state().zones = known;
        }
        return Ok(page);
    }
    let page = if wanted.log == purge::SANITIZED {
        wanted.cut(purge::log(line))
    } else {
        logs::page(queue, &wanted, || {
            let used_blocks = queue.target.namespaces.iter().map(|it| it.used(line)).sum();
            line.drive(|session, supply, now| Facts {
                vitals: session.vitals(),
                activity: session.activity().clone(),
                cuts: supply.map_or(0, Supply::cuts),
                age_ns: now.0,
                used_blocks,
            })
        })
    }?;
    if !wanted.retains_event {
        let mut state = queue.controller.state();
        if wanted.log == HEALTH {
            state.unmask();
        }
        state.news.read(wanted.log);
    }
    sized(entry, page)
}

/// A feature: its present value or that at first, or what can be done with it.
fn feature(queue: &Queue, entry: &Entry, line: &Line<'_>) -> Result<(u32, Vec<u8>), Status> {
    let (id, select) = (entry.dword(10) as u8, entry.dword(10) >> 8 & 7);
    let state = queue.controller.state();
    let of_placement = queue.target.placement.as_ref();
    let (value, data) = match (id, select) {
        (_, 4..) => return Err(Status::FIELD),
        _ if !supported::has_feature(queue, id) => return Err(Status::FIELD),
        (WRITE_CACHE, 0) => (u32::from(queue.target.uses_cache.load(Ordering::SeqCst)), vec![]),
        (WRITE_CACHE, _) => (1, vec![]),
        // Over fabrics it is the long one alone.
        (HOST_ID, _) if entry.dword(11) & 1 == 0 => return Err(Status::FIELD),
        (HOST_ID, _) => (0, queue.controller.host.id.to_vec()),
        (FEATURE | EVENTS_FEATURE, _) => {
            of_placement.map_or(Err(Status::FIELD), |it| it.feature(entry))?
        }
        (COMMAND_SETS, _) => (0, vec![]),
        (latency_log::FEATURE, _) => {
            // A setting is saved.
            let current = || line.drive(|session, _, _| session.activity().slow.setup());
            let setup = if select == 1 { Setup::default() } else { current() };
            // Tools want the first dword alone.
            let is_brief = entry.data_bytes() == 0;
            let data = if is_brief { vec![] } else { latency_log::settings(setup) };
            (u32::from(setup.is_on), data)
        }
        (TEMPERATURE, _) if !features::is_of_sensor(entry.dword(11)) => return Err(Status::FIELD),
        (_, 0) => state.features.get(id)?,
        _ => features::Features::default().get(id)?,
    };
    if select == 3 {
        // Changeable, for all namespaces; the monitor's alone is saved.
        let is_saved = u32::from(id == latency_log::FEATURE);
        return Ok((u32::from(id != HOST_ID) << 2 | is_saved, Vec::new()));
    }
    Ok((value, sized(entry, data)?))
}

/// Sets a feature; the first dword of the completion, or `None` if it waits for a flush.
fn set_feature(
    queue: &Queue,
    entry: &Entry,
    data: &[u8],
    line: &Line<'_>,
) -> Result<Option<u32>, Status> {
    let (id, value) = (entry.dword(10) as u8, entry.dword(11));
    if !supported::has_feature(queue, id) {
        return Err(Status::FIELD);
    }
    if id == latency_log::FEATURE {
        if let Some(setup) = latency_log::settings_of(data)? {
            line.drive(|session, _, now| {
                let now = session.powered(now);
                session.latency_monitor().configure(setup, now);
            });
        }
        return Ok(Some(0));
    }
    if entry.dword(10) >> 31 == 1 {
        return Err(Status::NOT_SAVEABLE);
    }
    if id == WRITE_CACHE {
        if value > 1 {
            return Err(Status::FIELD);
        }
        queue.target.uses_cache.store(value == 1, Ordering::SeqCst);
        return Ok((value == 1).then_some(0));
    }
    if id == COMMAND_SETS {
        return if value == 0 { Ok(Some(0)) } else { Err(Status::COMBINATION) };
    }
    if let (Some(placement), FEATURE | EVENTS_FEATURE) = (&queue.target.placement, id) {
        return placement.set_feature(entry, data).map(Some);
    }
    let first = queue.controller.state().features.set(id, value, data)?;
    if id == KEEP_ALIVE {
        let _ = line.set_patience(patience(value));
    }
    if id == TIMESTAMP {
        line.drive(|session, _, now| {
            let now = session.powered(now);
            session.latency_monitor().set_clock(get(data, 0, 6), now);
        });
    }
    Ok(Some(first))
}
