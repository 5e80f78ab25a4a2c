//! Format NVM and Sanitize, and the log of the latter.
//!
//! | | one namespace, or all of several | one of several |
//! |---|---|---|
//! | Format, no erase or user data erase | every good block is erased | its range is trimmed |
//! | Format, cryptographic erase | the map is empty | its range is trimmed |
//! | Sanitize, block erase | every good block is erased | |
//! | Sanitize, crypto erase | the map is empty | |
//!
//! A Format is answered when it is done, a Sanitize at once. Both continue after a reset, a loss of
//! power and a restart from an image. For Sanitize that is the standard; it leaves Format open, and
//! here a Format that was accepted is done, with its new block, whatever comes.
//!
//! Sources: NVM Express Base Specification 2.0, 5.14 Format NVM, 5.22 and 8.21 Sanitize, 5.16.1.20
//! Sanitize Status log.

use std::sync::Arc;

use opennandlab_serve::answer::{Answer, End, Fault};
use opennandlab_serve::line::Line;
use opennandlab_serve::request::{Command, Errno, Request};
use opennandlab_sim::session::{PurgeKind, PurgeOrder, Session};
use opennandlab_sim::units::Ns;

use crate::bytes::put_number;
use crate::command::Entry;
use crate::controller::Controller;
use crate::fabrics::Queue;
use crate::io;
use crate::namespaces::{EVERY_NAMESPACE, FORMATS};
use crate::reply::{Purpose, Reply, Ticket};
use crate::status::Status;

pub(crate) const FORMAT: u8 = 0x80;
pub(crate) const SANITIZE: u8 = 0x84;
/// Log page of Sanitize.
pub(crate) const SANITIZED: u8 = 0x81;
/// Logs that a host may read while a sanitize runs; that of commands and effects (05h) for hosts
/// that connect meanwhile.
const LOGS_MEANWHILE: [u8; 5] = [0x01, 0x02, 0x04, 0x05, SANITIZED];

/// Actions of a Sanitize, in bits 2:0 of dword 10.
const BLOCK_ERASE: u32 = 2;
const CRYPTO_ERASE: u32 = 4;
/// In dword 10 of a Sanitize: blocks are not to be deallocated.
const NO_DEALLOCATE: u32 = 1 << 9;
/// In dword 10 of a Format: metadata and protection information, of which there are none.
const METADATA: u32 = 0x1f << 4;

/// The state of the most recent sanitize, and that nothing was written since.
const COMPLETED: u64 = 1;
const IN_PROGRESS: u64 = 2;
const ALL_ERASED: u64 = 1 << 8;
/// Progress of a sanitize is a share of this.
const WHOLE: u64 = 1 << 16;
const NOT_IN_PROGRESS: u64 = 0xffff;
/// No estimate.
const UNKNOWN_TIME: u64 = 0xffff_ffff;
const NS_PER_S: f64 = 1e9;

/// Fails while a purge runs.
fn check_idle(session: &Session, now: Ns) -> Result<(), Status> {
    session.purge_progress(now).map_or(Ok(()), |(order, _)| Err(Status::of_purge(order.mark)))
}

/// Whether a log may be read now.
pub(crate) fn check_log(log: u8, line: &Line<'_>) -> Result<(), Status> {
    if LOGS_MEANWHILE.contains(&log) {
        return Ok(());
    }
    let running = line.drive(|session, _, now| session.purge_progress(now));
    let is_sanitize = running.is_some_and(|(order, _)| order.mark != 0);
    if is_sanitize {
        Err(Status::SANITIZING)
    } else {
        Ok(())
    }
}

fn request(order: PurgeOrder) -> Request {
    Request { command: Command::Purge(order), flags: 0, cookie: 0, offset: 0, length: 0 }
}

/// What a Format has to do.
enum Work {
    Purge(PurgeKind),
    Trim(Vec<Request>),
}

/// Carries out a Format.
pub(crate) fn format(queue: &Queue, ticket: Ticket, line: &mut Line<'_>) -> Result<(), End> {
    match formatted(queue, &ticket.entry, line) {
        Err(status) => line.send(ticket.completed(Err(status))),
        Ok(Work::Purge(kind)) => {
            let reply = Reply { ticket, purpose: Purpose::Change, length: 0 };
            line.submit((&request(PurgeOrder { kind, mark: 0 }), &[]), Errno::Ok, reply)
        }
        Ok(Work::Trim(requests)) => io::submit_together(&ticket, &requests, line),
    }
}

/// Checks a Format and gives its namespaces their new block.
fn formatted(queue: &Queue, entry: &Entry, line: &Line<'_>) -> Result<Work, Status> {
    let (target, first, id) = (&queue.target, entry.dword(10), entry.namespace());
    let mut format = first & 0xf | (first >> 12 & 3) << 4;
    if queue.target.zones.is_some() {
        // The one format of zones is that of the largest blocks.
        format = if format == 0 { FORMATS.len() as u32 - 1 } else { u32::MAX };
    }
    if format as usize >= FORMATS.len() || first & METADATA != 0 {
        return Err(Status::INVALID_FORMAT);
    }
    let kind = match first >> 9 & 7 {
        0 | 1 => PurgeKind::Erase,
        2 => PurgeKind::Crypto,
        _ => return Err(Status::FIELD),
    };
    let is_all = id == EVERY_NAMESPACE;
    let one = if is_all { None } else { Some(target.namespace(id)?) };
    if target.is_read_only {
        return Err(Status::WRITE_PROTECTED);
    }
    if line.is_captured() {
        return Err(Status::FIELD);
    }
    line.drive(|session, _, now| check_idle(session, now))?;
    let chosen = target.namespaces.iter().filter(|it| is_all || it.id == id);
    for namespace in chosen {
        if namespace.set_format(format) {
            target.note_change(namespace.id, &queue.controller);
        }
    }
    Ok(match one {
        Some(namespace) if target.namespaces.len() > 1 => {
            Work::Trim(io::trims(namespace.bytes.clone(), entry))
        }
        _ => Work::Purge(kind),
    })
}

/// Carries out a Sanitize, which is answered when it begins. In time it begins first: a host that
/// leaves when it has the answer may not keep it from that.
pub(crate) fn sanitize(queue: &Queue, ticket: &Ticket, line: &mut Line<'_>) -> Result<(), End> {
    match ordered(queue, &ticket.entry, line) {
        Err(status) => line.send(ticket.completed(Err(status))),
        Ok(order) => {
            let answer = ticket.completed(Ok(0));
            let ended = Ended(Arc::clone(&queue.controller));
            if line.scale().is_some() {
                line.submit((&request(order), &[]), Errno::Ok, ended)?;
                return line.send(answer);
            }
            line.send(answer)?;
            line.submit((&request(order), &[]), Errno::Ok, ended)
        }
    }
}

fn ordered(queue: &Queue, entry: &Entry, line: &Line<'_>) -> Result<PurgeOrder, Status> {
    let mark = entry.dword(10);
    line.drive(|session, _, now| check_idle(session, now))?;
    let kind = match mark & 7 {
        BLOCK_ERASE => PurgeKind::Erase,
        CRYPTO_ERASE => PurgeKind::Crypto,
        _ => return Err(Status::FIELD),
    };
    if mark & NO_DEALLOCATE != 0 || line.is_captured() {
        return Err(Status::FIELD);
    }
    if queue.target.is_read_only {
        return Err(Status::WRITE_PROTECTED);
    }
    Ok(PurgeOrder { kind, mark })
}

/// The end of a sanitize: an event for the controller that began it, if its host still asks. Others
/// get theirs with their next command.
struct Ended(Arc<Controller>);

impl Answer for Ended {
    fn head(&mut self, _reply: &mut Vec<u8>) {}

    fn end(&mut self, outcome: Result<(), Fault>, reply: &mut Vec<u8>, _start: usize) {
        if outcome.is_ok() {
            if let Some((ticket, event)) = self.0.state().note_sanitized() {
                ticket.complete(Ok(event), reply);
            }
        }
    }
}

/// The log of Sanitize. Times are those of the host's clock.
pub(crate) fn log(line: &Line<'_>) -> Vec<u8> {
    let scale = line.scale().unwrap_or(0.0);
    let seconds = |time: Ns| (time.0 as f64 * scale / NS_PER_S).ceil() as u64;
    let mut page = vec![0; 512];
    line.drive(|session, _, now| {
        let (running, purged) = (session.purge_progress(now), session.purged());
        let running = running.filter(|(order, _)| order.mark != 0);
        let written = session.vitals().totals.host_bytes[1];
        let is_erased = purged.map_or(written == 0, |it| it.written_bytes == written)
            && session.vitals().mapped_bytes == 0;
        let (progress, state, mark) = match (running, purged) {
            (Some((order, [done, all])), _) => {
                // The last erase may have ended, and the purge not yet.
                let progress = done * WHOLE / all.max(1);
                (progress.min(NOT_IN_PROGRESS - 1), IN_PROGRESS, order.mark)
            }
            (None, Some(purged)) => {
                (NOT_IN_PROGRESS, COMPLETED | (u64::from(is_erased) * ALL_ERASED), purged.mark)
            }
            (None, None) => (NOT_IN_PROGRESS, u64::from(is_erased) * ALL_ERASED, 0),
        };
        let [erase, crypto] =
            [PurgeKind::Erase, PurgeKind::Crypto].map(|kind| seconds(session.purge_time(kind)));
        for (offset, bytes, number) in [
            (0, 2, progress),
            (2, 2, state),
            (4, 4, u64::from(mark)),
            // There is no overwrite, and nothing without deallocation.
            (8, 4, UNKNOWN_TIME),
            (12, 4, erase),
            (16, 4, crypto),
            (20, 4, UNKNOWN_TIME),
            (24, 4, UNKNOWN_TIME),
            (28, 4, UNKNOWN_TIME),
        ] {
            put_number(&mut page, offset, bytes, number);
        }
    });
    page
}
