//! Identify: what a host learns of controller and namespace before it uses them.

use crate::bytes::{put, put_number, put_text};
use crate::command::{Entry, IDENTIFY_BYTES, TRANSFER_SHIFT};
use crate::controller::EVENTS_MAX;
use crate::copy;
use crate::fabrics::{Queue, ENTRIES_MAX, VERSION_VALUE};
use crate::failures::FAILURES_MAX;
use crate::features::{CRITICAL_K, WARNING_K};
use crate::namespaces::{Namespace, EVERY_NAMESPACE, FORMATS};
use crate::pdu::CAPSULE_BYTES_MAX;
use crate::placement;
use crate::status::Status;
use crate::target::{Target, DISCOVERY};
use crate::zones;

/// Numbers of namespaces that a list has room for.
const LISTED_MAX: usize = 1024;
/// Namespace attribute notices.
const EVENTS: u64 = 1 << 8;
/// Host identifiers of 128 bits, endurance groups.
const ATTRIBUTES: u64 = 1 | 1 << 4;
/// Compare, deallocation, zeroes, selected features, timestamp, verify.
const COMMANDS: u64 = 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7;
/// Blocks that were deallocated read as zeros; zeroes may deallocate.
const DEALLOCATION: u64 = 1 | 1 << 3;

/// Sanitize capabilities: crypto and block erase; blocks are always deallocated (bit 29), and the
/// drive does not write to them afterwards (31:30).
const SANITIZE_CAPABILITIES: u64 = 0x6000_0003;
/// Format NVM attributes: formats and erases are of one namespace; there is a crypto erase.
const FORMAT_ATTRIBUTES: u8 = 1 << 2;

/// The page that a host asks for. `used` counts the blocks of a namespace that hold data.
pub(crate) fn page(
    queue: &Queue,
    entry: &Entry,
    used: impl FnOnce(&Namespace) -> u64,
) -> Result<Vec<u8>, Status> {
    let (kind, set) = (entry.dword(10) as u8, entry.dword(11) >> 24);
    let (target, id) = (&*queue.target, entry.namespace());
    if queue.controller.is_discovery && kind != 0x01 {
        return Err(Status::FIELD);
    }
    let own = target.command_set();
    if set > 0 && set != own && matches!(kind, 0x05..=0x07 | 0x1a) {
        return Err(Status::FIELD);
    }
    if let (Some(zoned), zones::COMMAND_SET) = (&target.zones, set) {
        if kind == 0x05 {
            check(target, id)?;
        }
        if let Some(page) = zones::identify(zoned, kind) {
            return Ok(page);
        }
    }
    let mut page = vec![0; IDENTIFY_BYTES];
    match kind {
        // What all namespaces have in common.
        0x00 if id == EVERY_NAMESPACE => formats(target, &target.namespaces[0], &mut page),
        0x00 | 0x11 => {
            let it = target.namespace(id)?;
            formats(target, it, &mut page);
            sizes(it, used(it), &mut page);
            target.zones.iter().for_each(|zoned| zones::adapt_sizes(zoned, &mut page));
        }
        0x01 => controller(queue, &mut page),
        // Lists of the namespaces behind this one.
        0x02 | 0x07 | 0x10 | 0x1a if id >= EVERY_NAMESPACE - 1 => return Err(Status::NAMESPACE),
        0x02 | 0x07 | 0x10 | 0x1a => {
            let is_of_set = matches!(kind, 0x02 | 0x10) || set == own;
            let behind = target.namespaces.iter().filter(|it| it.id > id && is_of_set);
            for (place, it) in behind.take(LISTED_MAX).enumerate() {
                put_number(&mut page, 4 * place, 4, u64::from(it.id));
            }
        }
        0x03 => {
            descriptors(target.namespace(id)?, own as u8, &mut page);
        }
        // The NVM command set adds nothing to its namespaces.
        0x05 if set != own => return Err(Status::FIELD),
        0x05 => check(target, id)?,
        // Of its controllers: most data to verify.
        0x06 => page[0] = TRANSFER_SHIFT,
        0x08 => {
            check(target, id)?;
            page[1] = u8::from(target.is_multipath);
            page[8] = u8::from(target.is_read_only);
            put_number(&mut page, 12, 2, 1);
            page[14] = 1;
        }
        // Lists of controllers, which all have all namespaces.
        0x12 | 0x13 => {
            if kind == 0x12 {
                target.namespace(id)?;
            }
            let mut known = target.known_to(queue.controller.id);
            known.retain(|&id| entry.dword(10) >> 16 <= u32::from(id));
            put_number(&mut page, 0, 2, known.len() as u64);
            for (place, &id) in (1..).zip(&known) {
                put_number(&mut page, 2 * place, 2, u64::from(id));
            }
        }
        // No UUIDs of makers.
        0x17 => {}
        // Endurance groups: one.
        0x19 => {
            if entry.dword(11) & 0xffff <= 1 {
                put_number(&mut page, 0, 2, 1);
                put_number(&mut page, 2, 2, 1);
            }
        }
        // Combinations of command sets: the NVM command set, and that of the namespace.
        0x1c => page[0] = 1 | 1 << own,
        _ => return Err(Status::FIELD),
    }
    Ok(page)
}

/// Whether a namespace is there, for pages that are also of all.
fn check(target: &Target, id: u32) -> Result<(), Status> {
    if id == EVERY_NAMESPACE {
        return Ok(());
    }
    target.namespace(id).map(|_| ())
}

fn controller(queue: &Queue, page: &mut [u8]) {
    let (target, controller) = (&queue.target, &queue.controller);
    put_text(page, 4, 20, &target.serial);
    put_text(page, 24, 40, &target.model);
    put_text(page, 64, 8, env!("CARGO_PKG_VERSION"));
    // Several controllers.
    page[76] = u8::from(target.is_multipath) << 1;
    page[77] = TRANSFER_SHIFT;
    put_number(page, 78, 2, u64::from(controller.id));
    put_number(page, 80, 4, u64::from(VERSION_VALUE));
    // Log pages name commands and their effects, may be read from any offset, and name each other,
    // features, and the scopes of both.
    page[261] = 1 << 1 | 1 << 2 | 1 << 5;
    put_number(page, 320, 2, 10);
    put_number(page, 514, 2, u64::from(ENTRIES_MAX) + 1);
    // Scatter-gather lists, with an offset in the capsule.
    put_number(page, 536, 4, 0x0010_0001);
    put_number(page, 1792, 4, u64::from(64 + CAPSULE_BYTES_MAX) / 16);
    put_number(page, 1796, 4, 1);
    page[1803] = 1;
    page[259] = EVENTS_MAX as u8 - 1;
    if controller.is_discovery {
        page[111] = 2;
        put(page, 768, DISCOVERY.as_bytes());
        return;
    }
    let of_zones = if target.zones.is_some() { zones::EVENTS } else { 0 };
    put_number(page, 92, 4, EVENTS | u64::from(of_zones));
    let places = if target.placement.is_some() { placement::ATTRIBUTE } else { 0 };
    put_number(page, 96, 4, ATTRIBUTES | places);
    page[111] = 1;
    // Format NVM.
    page[256] = 1 << 1;
    if target.placement.is_some() {
        page[256] |= placement::DIRECTIVES;
    }
    page[258] = 3;
    // One slot of firmware, which cannot be written.
    page[260] = 1 | 1 << 1;
    page[262] = FAILURES_MAX as u8 - 1;
    put_number(page, 266, 2, u64::from(WARNING_K));
    put_number(page, 268, 2, u64::from(CRITICAL_K));
    put_number(page, 280, 8, target.capacity_bytes);
    put_number(page, 328, 4, SANITIZE_CAPABILITIES);
    put_number(page, 340, 2, 1);
    page[512] = 0x66;
    page[513] = 0x44;
    put_number(page, 516, 4, target.namespaces.len() as u64);
    // Zones are not copied to.
    let copies = if target.zones.is_some() { 0 } else { copy::COMMANDS };
    put_number(page, 520, 2, COMMANDS | copies);
    page[524] = FORMAT_ATTRIBUTES;
    // A flush may be of all namespaces.
    page[525] = u8::from(target.has_cache) | 3 << 1;
    copy::announce(None, page);
    put(page, 768, target.nqn.as_bytes());
}

/// What a namespace may be formatted to, and what the drive prefers.
fn formats(target: &Target, namespace: &Namespace, page: &mut [u8]) {
    // Preferred sizes are given.
    page[24] = 1 << 4;
    page[25] = FORMATS.len() as u8 - 1;
    page[26] = namespace.format() as u8;
    // Several controllers may have it.
    page[30] = u8::from(target.is_multipath);
    put_number(page, 33, 1, DEALLOCATION);
    let unit = (target.unit_bytes / namespace.block_bytes()).max(1) - 1;
    for offset in (64..74).step_by(2) {
        put_number(page, offset, 2, unit);
    }
    copy::announce(Some(namespace), page);
    page[99] = u8::from(target.is_read_only);
    put_number(page, 102, 2, 1);
    for (format, bytes) in FORMATS.iter().enumerate() {
        // Bits 1:0 of the last byte rank them: a block of 4 KiB is best.
        page[128 + 4 * format + 2] = bytes.trailing_zeros() as u8;
        page[128 + 4 * format + 3] = if *bytes == 4096 { 0 } else { 2 };
    }
    if target.zones.is_some() {
        zones::adapt_formats(page);
    }
}

/// Size, use and name, which differ between namespaces.
fn sizes(namespace: &Namespace, used: u64, page: &mut [u8]) {
    let blocks = namespace.blocks();
    for (offset, count) in [(0, blocks), (8, blocks), (16, used)] {
        put_number(page, offset, 8, count);
    }
    put_number(page, 48, 8, blocks * namespace.block_bytes());
    put(page, 104, &namespace.names[0]);
}

/// UUID, NGUID and command set.
fn descriptors(namespace: &Namespace, set: u8, page: &mut [u8]) {
    let mut offset = 0;
    let [nguid, uuid] = &namespace.names;
    for (kind, bytes) in [(3, &uuid[..]), (2, &nguid[..]), (4, &[set][..])] {
        put(page, offset, &[kind, bytes.len() as u8, 0, 0]);
        put(page, offset + 4, bytes);
        offset += 4 + bytes.len();
    }
}
