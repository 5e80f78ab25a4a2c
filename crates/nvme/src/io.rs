//! Commands of I/O queues: ranges are checked here, and become requests of the drive.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use opennandlab_serve::answer::{End, Fault};
use opennandlab_serve::line::Line;
use opennandlab_serve::request::{self, Command, Errno, Request, FUA, NO_HOLE, PLACEMENT_SHIFT};
use opennandlab_sim::ftl::zones::ZoneAction;
use opennandlab_sim::units::SECTOR_BYTES;

use crate::bytes::get;
use crate::command::{Entry, TRANSFER_BYTES_MAX};
use crate::copy::Copy;
use crate::fabrics::Queue;
use crate::namespaces::{Namespace, EVERY_NAMESPACE};
use crate::placement;
use crate::reply::{status, Joint, Purpose, Reply, Ticket};
use crate::status::Status;
use crate::target::Target;
use crate::zones;

const FLUSHES: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const COMPARE: u8 = 0x05;
const ZEROES: u8 = 0x08;
const MANAGE: u8 = 0x09;
const VERIFY: u8 = 0x0c;
const COPY: u8 = 0x19;

/// In dword 12: on the flash before it is done.
const UNIT_ACCESS: u32 = 1 << 30;
/// In dword 12 of zeroes: they need no flash.
const DEALLOCATE_ZEROES: u32 = 1 << 25;
/// In dword 12 of a write or a copy: a directive.
const DIRECTIVE: u32 = 0xf << 20;
/// In dword 11 of management: the ranges are of no value.
const DEALLOCATE: u32 = 1 << 2;
const RANGE_BYTES: usize = 16;
/// Most bytes of one trim.
const TRIM_BYTES_MAX: u64 = 1 << 30;

/// Everything in memory goes to the flash.
pub(crate) const FLUSH: Request =
    Request { command: Command::Flush, flags: 0, cookie: 0, offset: 0, length: 0 };

/// Carries out a command of an I/O queue.
pub(crate) fn execute(
    queue: &Queue,
    ticket: Ticket,
    data: &[u8],
    line: &mut Line<'_>,
) -> Result<(), End> {
    let target = &queue.target;
    if let (Some(zoned), zones::RECEIVE) = (&target.zones, ticket.entry.opcode()) {
        let sound = check(target, &ticket.entry);
        return line.send(match sound.and_then(|_| zones::receive(zoned, &ticket.entry, line)) {
            Ok(page) => ticket.with_data(0, &page),
            Err(status) => ticket.completed(Err(status)),
        });
    }
    if let (Some(it), placement::RECEIVE | placement::SEND) =
        (&target.placement, ticket.entry.opcode())
    {
        let (entry, sound) = (&ticket.entry, check(target, &ticket.entry));
        let outcome = sound.and_then(|namespace| match entry.opcode() {
            placement::RECEIVE => it.receive(entry, namespace.block_bytes(), line),
            _ => it.send(&queue.controller, entry, data, line).map(|()| Vec::new()),
        });
        return line.send(match outcome {
            Ok(page) => ticket.with_data(0, &page),
            Err(status) => ticket.completed(Err(status)),
        });
    }
    match plan(queue, &ticket.entry, data) {
        Err(status) => line.send(ticket.completed(Err(status))),
        Ok(Plan::One(request, purpose)) => {
            // The bytes to compare go into the reply, and not to the drive.
            let (data, purpose) = match purpose {
                Purpose::Compare(_) => (&[][..], Purpose::Compare(data.to_vec())),
                purpose => (data, purpose),
            };
            let reply = Reply { ticket, purpose, length: request.length };
            line.submit((&request, data), Errno::Ok, reply)
        }
        Ok(Plan::Copy(asked, flags)) => copy(ticket, asked, flags, line),
        Ok(Plan::Trims(requests)) => submit_together(&ticket, &requests, line),
    }
}

/// Completes a command when the last of its requests has ended.
pub(crate) fn submit_together(
    ticket: &Ticket,
    requests: &[Request],
    line: &mut Line<'_>,
) -> Result<(), End> {
    if requests.is_empty() {
        return line.send(ticket.completed(Ok(0)));
    }
    let joint = Arc::new(Joint::new(requests.len() as u32));
    for request in requests {
        let purpose = Purpose::Part(Arc::clone(&joint));
        let reply = Reply { ticket: ticket.clone(), purpose, length: 0 };
        line.submit((request, &[]), Errno::Ok, reply)?;
    }
    Ok(())
}

/// The requests that trim bytes of the drive, for a command.
pub(crate) fn trims(bytes: Range<u64>, entry: &Entry) -> Vec<Request> {
    let starts = bytes.clone().step_by(TRIM_BYTES_MAX as usize);
    let request = |offset| Request {
        command: Command::Trim,
        flags: 0,
        cookie: u64::from(entry.id()),
        offset,
        length: (bytes.end - offset).min(TRIM_BYTES_MAX) as u32,
    };
    starts.map(request).collect()
}

/// What the drive has to do for a command.
enum Plan {
    One(Request, Purpose),
    /// With its flags.
    Copy(Copy, u16),
    Trims(Vec<Request>),
}

/// Whether a command can be meant for the namespace.
fn check<'a>(target: &'a Target, entry: &Entry) -> Result<&'a Namespace, Status> {
    let opcode = entry.opcode();
    let is_of_zones = matches!(opcode, zones::SEND | zones::RECEIVE | zones::APPEND);
    let is_plain = matches!(opcode, FLUSHES | WRITE | READ | COMPARE | ZEROES | MANAGE | VERIFY)
        || opcode == COPY && target.zones.is_none();
    let is_of_placement = matches!(opcode, placement::RECEIVE | placement::SEND);
    let is_special =
        is_of_zones && target.zones.is_some() || is_of_placement && target.placement.is_some();
    if !is_plain && !is_special {
        return Err(Status::OPCODE);
    }
    if entry.is_fused() {
        return Err(Status::FIELD);
    }
    // Memory is the drive's: a flush is of all namespaces, whichever it names.
    if opcode == FLUSHES && entry.namespace() == EVERY_NAMESPACE {
        return Ok(&target.namespaces[0]);
    }
    let namespace = target.namespace(entry.namespace())?;
    let changes = matches!(
        opcode,
        WRITE | ZEROES | MANAGE | COPY | zones::SEND | zones::APPEND | placement::SEND
    );
    if target.is_read_only && changes {
        return Err(Status::WRITE_PROTECTED);
    }
    Ok(namespace)
}

fn plan(queue: &Queue, entry: &Entry, data: &[u8]) -> Result<Plan, Status> {
    let target = &*queue.target;
    let namespace = check(target, entry)?;
    let opcode = entry.opcode();
    let is_through =
        entry.dword(12) & UNIT_ACCESS != 0 || !target.uses_cache.load(Ordering::SeqCst);
    let through = if is_through { FUA } else { 0 };
    if opcode == COPY && entry.dword(12) & DIRECTIVE != 0 {
        return Err(Status::FIELD);
    }
    match opcode {
        FLUSHES => return Ok(Plan::One(FLUSH, Purpose::Change)),
        MANAGE if target.zones.is_some() => {
            manage(namespace, entry, data)?;
            return Ok(Plan::Trims(Vec::new()));
        }
        MANAGE => return manage(namespace, entry, data),
        COPY => {
            let behavior = queue.controller.state().features.behavior;
            let asked = Copy::of((target, namespace), behavior, entry, data)?;
            target.note_alignment(asked.offset, asked.length);
            return Ok(Plan::Copy(asked, through));
        }
        zones::SEND => return manage_zone(namespace, entry),
        _ => {}
    }
    let (offset, length) = namespace.range(entry.first_block(), entry.blocks())?;
    let most = if opcode == ZEROES { u64::from(u32::MAX) } else { TRANSFER_BYTES_MAX.into() };
    if length > most {
        return Err(Status::FIELD);
    }
    let length = length as u32;
    let has_data =
        matches!(opcode, WRITE | COMPARE | zones::APPEND) && data.len() != length as usize;
    if has_data || opcode == READ && entry.data_bytes() < length {
        return Err(Status::SGL_LENGTH);
    }
    let (command, flags, purpose) = match opcode {
        READ => (Command::Read, 0, Purpose::Read),
        VERIFY => (Command::Read, request::VERIFY, Purpose::Verify),
        COMPARE => (Command::Read, request::COMPARE, Purpose::Compare(Vec::new())),
        WRITE if entry.dword(12) & DIRECTIVE != 0 => {
            let placement = target.placement.as_ref().ok_or(Status::FIELD)?;
            let handle = placement.handle(&queue.controller, entry)?;
            let flags = through | u16::from(handle) << PLACEMENT_SHIFT;
            (Command::Write, flags, Purpose::Change)
        }
        WRITE => (Command::Write, through, Purpose::Change),
        zones::APPEND => {
            let purpose = Purpose::Append { block_bytes: namespace.block_bytes(), block: 0 };
            (Command::Append, through, purpose)
        }
        _ => {
            let allocated = if entry.dword(12) & DEALLOCATE_ZEROES == 0 { NO_HOLE } else { 0 };
            (Command::WriteZeroes, through | allocated, Purpose::Change)
        }
    };
    if opcode == WRITE {
        target.note_alignment(offset, length);
    }
    let cookie = u64::from(entry.id());
    Ok(Plan::One(Request { command, flags, cookie, offset, length }, purpose))
}

/// Reads the data of a copy, and gives it to the drive as a write that is preceded by reads.
fn copy(ticket: Ticket, asked: Copy, flags: u16, line: &mut Line<'_>) -> Result<(), End> {
    let data = match asked.data(line) {
        Ok(data) => data,
        Err(refusal) => {
            let status = status(Fault::Drive(refusal));
            return line.send(ticket.completed(Err(status)));
        }
    };
    let (cookie, Copy { sources, offset, length }) = (u64::from(ticket.entry.id()), asked);
    let request = Request { command: Command::Write, flags, cookie, offset, length };
    let reply = Reply { ticket, purpose: Purpose::Copy(sources), length };
    line.submit((&request, &data), Errno::Ok, reply)
}

/// Management of a zone, or of all.
fn manage_zone(namespace: &Namespace, entry: &Entry) -> Result<Plan, Status> {
    let command = zones::send(entry)?;
    let is_of_all = matches!(command, Command::AllZones(_));
    let (mut offset, length) =
        namespace.range(if is_of_all { 0 } else { entry.first_block() }, 1)?;
    if command == Command::Zone(ZoneAction::FlushZrwa) {
        // To the end of this block.
        offset += length - SECTOR_BYTES;
    }
    let cookie = u64::from(entry.id());
    let request = Request { command, flags: 0, cookie, offset, length: 0 };
    Ok(Plan::One(request, Purpose::Change))
}

/// Ranges of no value become trims; other hints are taken and mean nothing.
fn manage(namespace: &Namespace, entry: &Entry, data: &[u8]) -> Result<Plan, Status> {
    let count = (entry.dword(10) & 0xff) as usize + 1;
    if data.len() < count * RANGE_BYTES {
        return Err(Status::SGL_LENGTH);
    }
    let mut requests = Vec::new();
    for bytes in data.chunks_exact(RANGE_BYTES).take(count) {
        let (blocks, first) = (get(bytes, 4, 4), get(bytes, 8, 8));
        let (offset, length) = namespace.range(first, blocks)?;
        if entry.dword(11) & DEALLOCATE != 0 {
            requests.extend(trims(offset..offset + length, entry));
        }
    }
    Ok(Plan::Trims(requests))
}
