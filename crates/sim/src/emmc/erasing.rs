//! CMD35, CMD36 and CMD38, and the protection of groups: CMD28 to CMD31.

use std::ops::Range;

use super::erase::{Selection, Way};
use super::ext_csd as at;
use super::parts::{Parts, What};
use super::protect::Kind;
use super::status;
use super::storage::{Partition, SECTOR, SECTORS_PER_GROUP};
use crate::units::Ns;

/// CMD28 and CMD29 only change a table.
const PROTECT: Ns = Ns(100_000);

/// CMD35 names the first sector, CMD36 the last.
pub(super) fn select(parts: &mut Parts, address: u32, is_end: bool) {
    let before = std::mem::take(&mut parts.selection);
    match (parts.sector(address), before, is_end) {
        (Err(bit), ..) => parts.errors |= bit,
        (Ok(first), _, false) => parts.selection = Selection::From(first),
        (Ok(last), Selection::From(first) | Selection::Range(first, _), true) => {
            if last < first {
                parts.errors |= status::ERASE_PARAM;
            } else {
                parts.selection = Selection::Range(first, last);
            }
        }
        (Ok(_), Selection::None, true) => parts.errors |= status::ERASE_SEQ_ERROR,
    }
}

/// CMD38; returns how long the card is busy, `None` if nothing is begun.
pub(super) fn erase(parts: &mut Parts, argument: u32) -> Option<Ns> {
    let Selection::Range(first, last) = std::mem::take(&mut parts.selection) else {
        parts.errors |= status::ERASE_SEQ_ERROR;
        return None;
    };
    let Some(way) = Way::of_argument(argument) else {
        parts.errors |= status::ERASE_PARAM;
        return None;
    };
    let limit = parts.storage.layout.sectors(parts.partition());
    let range = if way.is_by_group() {
        let end = (last / SECTORS_PER_GROUP + 1) * SECTORS_PER_GROUP;
        first / SECTORS_PER_GROUP * SECTORS_PER_GROUP..end.min(limit)
    } else {
        first..last + 1
    };
    let runs = unprotected(parts, range.clone());
    let selected: u64 = runs.iter().map(|run| run.end - run.start).sum();
    if selected < range.end - range.start {
        parts.errors |= status::WP_ERASE_SKIP;
    }
    let runs: Vec<Range<u64>> = runs
        .into_iter()
        .map(|run| {
            let first = parts.on_drive(run.start);
            first..first + (run.end - run.start)
        })
        .collect();
    let runs = match way {
        Way::SecureTrimMark => {
            parts.marked.extend(runs);
            Vec::new()
        }
        Way::SecureTrim => std::mem::take(&mut parts.marked),
        _ => runs,
    };
    let mut ends = parts.now + Ns(10_000);
    let mut bytes = 0;
    for run in runs {
        match parts.storage.unmap(ends, &run, way) {
            Ok(end) => ends = end,
            Err(refusal) => parts.errors |= Parts::refused(refusal),
        }
        bytes += (run.end - run.start) * SECTOR as u64;
    }
    parts.background.owe(bytes);
    if way.is_secure() {
        ends = ends + parts.storage.erase_time(bytes);
    } else {
        parts.unmapped_bytes += bytes;
    }
    Some(parts.begin(ends, What::Erase, Vec::new()))
}

/// The parts of a range of sectors of the partition that may be erased.
fn unprotected(parts: &Parts, range: Range<u64>) -> Vec<Range<u64>> {
    let group = parts.storage.layout.wp_sectors();
    if !parts.is_protected(range.start, range.end - range.start) {
        return vec![range];
    }
    if parts.partition() != Partition::User {
        return Vec::new();
    }
    let mut runs: Vec<Range<u64>> = Vec::new();
    for number in range.start / group..=(range.end - 1) / group {
        if parts.protection.group(number).is_some() {
            continue;
        }
        let first = range.start.max(number * group);
        let end = range.end.min((number + 1) * group);
        match runs.last_mut() {
            Some(run) if run.end == first => run.end = end,
            _ => runs.push(first..end),
        }
    }
    runs
}

/// CMD28 and CMD29: the group of an address.
pub(super) fn protect(parts: &mut Parts, address: u32, is_set: bool) -> Option<Ns> {
    let group = group_of(parts, address)?;
    let mode = parts.csd.get(at::USER_WP);
    if !is_set {
        if !parts.protection.clear(group) {
            parts.errors |= status::WP_VIOLATION;
        }
    } else if mode & 0x04 != 0 {
        parts.protection.set(group, Kind::Permanent);
    } else if mode & 0x01 != 0 {
        parts.protection.set(group, Kind::PowerOn);
    } else {
        parts.protection.set(group, Kind::Temporary);
    }
    let ends = parts.now + PROTECT;
    Some(parts.begin(ends, What::Switch, Vec::new()))
}

fn group_of(parts: &mut Parts, address: u32) -> Option<u64> {
    match parts.sector(address) {
        Ok(sector) => Some(sector / parts.storage.layout.wp_sectors()),
        Err(bit) => {
            parts.errors |= bit;
            None
        }
    }
}

/// CMD30 and CMD31: 32 groups from that of an address on, one or two bits each, the first group in
/// the least significant.
pub(super) fn protected(parts: &mut Parts, address: u32, has_kinds: bool) -> Option<Vec<u8>> {
    let first = group_of(parts, address)?;
    let (mut flags, mut kinds) = (0u32, 0u64);
    for place in 0..32 {
        if let Some(kind) = parts.protection.group(first + place) {
            flags |= 1 << place;
            kinds |= (kind as u64) << (2 * place);
        }
    }
    Some(if has_kinds { kinds.to_be_bytes().to_vec() } else { flags.to_be_bytes().to_vec() })
}
