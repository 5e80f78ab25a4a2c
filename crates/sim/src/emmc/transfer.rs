//! Blocks between host and card: reads, writes, packed ones, tasks of the queue, RPMB frames.

use super::change::{Change, Extent, WriteKind};
use super::ext_csd as at;
use super::packed::{self, Packed};
use super::parts::{Count, Incoming, Parts, Transfer, What};
use super::queue::Task;
use super::rpmb::{Frame, HALF};
use super::status::{self, State};
use super::storage::{Partition, SECTOR};
use crate::units::Ns;

/// Sectors that a read sends at most at a time: 32 MiB, the most that a block count of 16 bits can
/// request.
const READ_SECTORS_MAX: u64 = 65535;
/// Time to store a key or a counter; assumed.
const RPMB_REQUEST: Ns = Ns(1_000_000);

/// Bits that report a failed packed command (`PACKED_COMMAND_STATUS`): an error, and an error of an
/// entry.
const PACKED_ERROR: u8 = 1;
const PACKED_INDEXED: u8 = 2;
const PACKED_FAILURE: u8 = 8;

/// Sectors of the drive, with the time that takes; empty if the medium fails.
pub(super) fn read(parts: &mut Parts, first: u64, sectors: u64) -> Vec<u8> {
    match parts.storage.read(parts.now, first, sectors) {
        Ok((bytes, end)) => {
            parts.now = parts.now.max(end);
            bytes
        }
        Err(refusal) => {
            parts.errors |= Parts::refused(refusal);
            Vec::new()
        }
    }
}

/// CMD17 and CMD18; `blocks` is how many the host takes of a read without end.
pub(super) fn begin_read(
    parts: &mut Parts,
    (address, is_single): (u32, bool),
    count: Option<Count>,
    blocks: u64,
) -> Vec<u8> {
    if parts.partition() == Partition::Rpmb {
        return read_rpmb(parts, count.map_or(1, |it| it.blocks));
    }
    if count.is_some_and(|it| it.is_packed) {
        return read_packed(parts, count.map_or(0, |it| it.blocks));
    }
    // The response has already reported a wrong address.
    let Ok(sector) = parts.sector(address) else { return Vec::new() };
    let limit = parts.storage.layout.sectors(parts.partition());
    let predefined = count.map(|it| it.blocks).filter(|&it| it > 0);
    let wanted = if is_single { Some(1) } else { predefined };
    let Some(wanted) = wanted else {
        let next = parts.on_drive(sector);
        let limit = parts.on_drive(limit);
        parts.transfer = Some(Transfer::Read { next, limit });
        parts.state = State::Data;
        return go_on_reading(parts, blocks);
    };
    let sectors = wanted.min(limit - sector);
    let first = parts.on_drive(sector);
    let bytes = read(parts, first, sectors);
    if sectors < wanted {
        parts.errors |= status::ADDRESS_OUT_OF_RANGE;
    }
    bytes
}

/// More blocks of a read without end.
pub(super) fn go_on_reading(parts: &mut Parts, blocks: u64) -> Vec<u8> {
    let Some(Transfer::Read { next, limit }) = &mut parts.transfer else { return Vec::new() };
    let sectors = blocks.min(READ_SECTORS_MAX).min(*limit - *next);
    let first = *next;
    *next += sectors;
    if sectors < blocks.min(READ_SECTORS_MAX) {
        parts.errors |= status::ADDRESS_OUT_OF_RANGE;
    }
    read(parts, first, sectors)
}

fn read_packed(parts: &mut Parts, blocks: u64) -> Vec<u8> {
    let Some(packed) = parts.packed_read.take() else {
        parts.errors |= status::ERROR;
        return Vec::new();
    };
    if packed.blocks() != blocks {
        fail_packed(parts, 0);
        return Vec::new();
    }
    let mut bytes = Vec::new();
    for (place, entry) in (1..).zip(&packed.entries) {
        let Some(sector) = fits(parts, entry.address, entry.blocks) else {
            fail_packed(parts, place);
            return bytes;
        };
        let first = parts.on_drive(sector);
        let found = read(parts, first, entry.blocks);
        if found.is_empty() {
            fail_packed(parts, place);
            return bytes;
        }
        bytes.extend(found);
    }
    bytes
}

/// The sector of an address, if all blocks from there on are in the partition.
fn fits(parts: &Parts, address: u32, blocks: u64) -> Option<u64> {
    let sector = parts.sector(address).ok()?;
    (sector + blocks <= parts.storage.layout.sectors(parts.partition())).then_some(sector)
}

fn read_rpmb(parts: &mut Parts, frames: u64) -> Vec<u8> {
    let frames = frames.max(1) as usize;
    let first = parts.storage.layout.first(Partition::Rpmb);
    let data = parts.rpmb.wanted(frames).and_then(|(half, count)| {
        let (sector, end) = (half / 2, (half + count).div_ceil(2));
        let bytes = read(parts, first + sector, end - sector);
        let skipped = (half % 2) as usize * HALF;
        bytes.get(skipped..skipped + count as usize * HALF).map(<[u8]>::to_vec)
    });
    parts.rpmb.give(frames, data.as_deref()).concat()
}

/// CMD24 and CMD25: the card waits for data, unless the address is wrong.
pub(super) fn begin_write(
    parts: &mut Parts,
    (address, is_single): (u32, bool),
    count: Option<Count>,
) {
    let is_packed = count.is_some_and(|it| it.is_packed);
    let sector = if parts.partition() == Partition::Rpmb || is_packed {
        0
    } else {
        match parts.sector(address) {
            Ok(sector) => sector,
            Err(bit) => {
                parts.errors |= bit;
                return;
            }
        }
    };
    let predefined = count.map(|it| it.blocks).filter(|&it| it > 0);
    parts.transfer = Some(Transfer::Write(Incoming {
        sector,
        address,
        expected: if is_single { Some(1) } else { predefined },
        bytes: Vec::new(),
        is_reliable: count.is_some_and(|it| it.is_reliable),
        is_packed,
    }));
    parts.state = State::Rcv;
}

/// Takes blocks; an incomplete block, and blocks beyond the expected number, are ignored. Returns
/// how long the card is busy, if these were the last blocks.
pub(super) fn take(parts: &mut Parts, bytes: &[u8]) -> Ns {
    let Some(Transfer::Write(incoming)) = &mut parts.transfer else { return Ns(0) };
    let room = incoming.expected.unwrap_or(u64::MAX / SECTOR as u64) as usize * SECTOR;
    let left = room.saturating_sub(incoming.bytes.len());
    let whole = (bytes.len() / SECTOR * SECTOR).min(left);
    incoming.bytes.extend_from_slice(&bytes[..whole]);
    if incoming.bytes.len() == room {
        return program(parts);
    }
    Ns(0)
}

/// All data has come, or CMD12: the card programs.
pub(super) fn program(parts: &mut Parts) -> Ns {
    parts.state = State::Tran;
    let Some(Transfer::Write(incoming)) = parts.transfer.take() else { return Ns(0) };
    if parts.partition() == Partition::Rpmb {
        return write_rpmb(parts, &incoming);
    }
    let mut changes = Vec::new();
    let ends = if incoming.is_packed {
        write_packed(parts, &incoming, &mut changes)
    } else {
        let extent = Extent { first: incoming.sector, bytes: &incoming.bytes };
        write(parts, parts.now, extent, WriteKind::of_host(incoming.is_reliable), &mut changes)
    };
    parts.begin(ends, What::Write, changes)
}

/// Writes sectors of the partition; returns when that ends.
fn write(
    parts: &mut Parts,
    now: Ns,
    extent: Extent<'_>,
    kind: WriteKind,
    changes: &mut Vec<Change>,
) -> Ns {
    let limit = parts.storage.layout.sectors(parts.partition());
    let sector = extent.first;
    let sectors = extent.sectors().min(limit - sector);
    if sectors < extent.sectors() {
        parts.errors |= status::ADDRESS_OUT_OF_RANGE;
    }
    if sectors == 0 {
        return now;
    }
    if parts.is_protected(sector, sectors) {
        parts.errors |= status::WP_VIOLATION;
        return now;
    }
    let bytes = &extent.bytes[..sectors as usize * SECTOR];
    let on_drive = Extent { first: parts.on_drive(sector), bytes };
    parts.background.owe(sectors * SECTOR as u64);
    let is_cached = parts.csd.get(at::CACHE_CTRL) == 1 && kind != WriteKind::Reliable;
    let outcome = if is_cached {
        parts.storage.write_cached(now, on_drive, changes)
    } else {
        parts.storage.write_through(now, on_drive, kind, changes)
    };
    outcome.unwrap_or_else(|refusal| {
        parts.errors |= Parts::refused(refusal);
        now
    })
}

/// A packed command has failed, at an entry from 1 on or (0) as a whole.
fn fail_packed(parts: &mut Parts, entry: u8) {
    let status = if entry == 0 { PACKED_ERROR } else { PACKED_ERROR | PACKED_INDEXED };
    parts.csd.set(at::PACKED_COMMAND_STATUS, status);
    parts.csd.set(at::PACKED_FAILURE_INDEX, entry);
    let events = parts.csd.get(at::EXCEPTION_EVENTS_STATUS) | PACKED_FAILURE;
    parts.csd.set(at::EXCEPTION_EVENTS_STATUS, events);
}

/// A header, and for writes the data of its entries.
fn write_packed(parts: &mut Parts, incoming: &Incoming, changes: &mut Vec<Change>) -> Ns {
    let mut now = parts.now;
    parts.csd.set(at::PACKED_COMMAND_STATUS, 0);
    parts.csd.set(at::PACKED_FAILURE_INDEX, 0);
    let events = parts.csd.get(at::EXCEPTION_EVENTS_STATUS) & !PACKED_FAILURE;
    parts.csd.set(at::EXCEPTION_EVENTS_STATUS, events);
    parts.packed_read = None;
    let blocks = (incoming.bytes.len() / SECTOR) as u64;
    let parsed = match incoming.bytes.first_chunk() {
        Some(header) => packed::parse(header),
        None => Err(0),
    };
    // The address of the command is that of the first entry.
    let parsed = parsed.and_then(|packed: Packed| {
        let expected = if packed.is_read { 1 } else { 1 + packed.blocks() };
        let is_right = blocks == expected && packed.entries[0].address == incoming.address;
        if is_right {
            Ok(packed)
        } else {
            Err(0)
        }
    });
    let packed = match parsed {
        Ok(packed) => packed,
        Err(entry) => {
            fail_packed(parts, entry);
            return now;
        }
    };
    if packed.is_read {
        parts.packed_read = Some(packed);
        return now;
    }
    let mut rest = &incoming.bytes[SECTOR..];
    for (place, entry) in (1..).zip(&packed.entries) {
        let (here, behind) = rest.split_at(entry.blocks as usize * SECTOR);
        rest = behind;
        let before = std::mem::take(&mut parts.errors);
        if let Some(sector) = fits(parts, entry.address, entry.blocks) {
            let extent = Extent { first: sector, bytes: here };
            now = write(parts, now, extent, WriteKind::of_host(entry.is_reliable), changes);
        } else {
            parts.errors |= status::ADDRESS_OUT_OF_RANGE;
        }
        let is_wrong = parts.errors != 0;
        parts.errors |= before;
        if is_wrong {
            fail_packed(parts, place);
            break;
        }
    }
    now
}

fn write_rpmb(parts: &mut Parts, incoming: &Incoming) -> Ns {
    let frames: Vec<Frame> = incoming.bytes.as_chunks::<SECTOR>().0.to_vec();
    let mut ends = parts.now + RPMB_REQUEST;
    let mut changes = Vec::new();
    if let Some(wanted) = parts.rpmb.take(&frames, incoming.is_reliable) {
        let outcome = store_halves(parts, &wanted, &mut changes);
        parts.rpmb.stored(outcome.is_some());
        ends = outcome.unwrap_or(ends);
    }
    parts.begin(ends, What::Rpmb, changes)
}

/// Half sectors among the others of their sectors.
fn store_halves(
    parts: &mut Parts,
    wanted: &super::rpmb::Write,
    changes: &mut Vec<Change>,
) -> Option<Ns> {
    let count = (wanted.bytes.len() / HALF) as u64;
    let (sector, end) = (wanted.half / 2, (wanted.half + count).div_ceil(2));
    let first = parts.storage.layout.first(Partition::Rpmb) + sector;
    let (mut bytes, now) = parts.storage.read(parts.now, first, end - sector).ok()?;
    let skipped = (wanted.half % 2) as usize * HALF;
    bytes[skipped..skipped + wanted.bytes.len()].copy_from_slice(&wanted.bytes);
    parts
        .storage
        .write_through(now, Extent { first, bytes: &bytes }, WriteKind::Reliable, changes)
        .ok()
}

/// CMD46: the data of a task.
pub(super) fn read_task(parts: &mut Parts, task: &Task) -> Vec<u8> {
    let first = parts.on_drive(task.sector);
    read(parts, first, task.blocks)
}

/// CMD47: the card waits for the data of a task.
pub(super) fn write_task(parts: &mut Parts, task: &Task) {
    parts.transfer = Some(Transfer::Write(Incoming {
        sector: task.sector,
        address: 0,
        expected: Some(task.blocks),
        bytes: Vec::new(),
        is_reliable: task.is_reliable,
        is_packed: false,
    }));
    parts.state = State::Rcv;
}
