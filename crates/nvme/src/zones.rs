//! Zones: their identification, their commands, the log of those that changed.
//!
//! ```text
//! 7Dh append · 79h management send ─► request ─► the zones of the drive ─► status, place
//! 7Ah management receive ◄─ report ◄─ the same zones
//! ```
//! Writes, reads and their refusals take the way of `io`; the drive knows the rules.
//! Ranges that are deallocated are a hint that means nothing here: a zone is emptied by its reset.
//!
//! Source: NVM Express Zoned Namespace Command Set Specification 1.1: 3.4 (commands), 4.1.3 and
//! 4.1.4 (log `BFh`, event), 4.1.5 (identify).

use opennandlab_serve::answer::End;
use opennandlab_serve::line::Line;
use opennandlab_serve::request::Command;
use opennandlab_sim::ftl::zones::{ZoneAction, ZoneLimits, ZoneReport, ZoneState, Zones};
use opennandlab_sim::session::Session;

use crate::bytes::put_number;
use crate::command::{Entry, IDENTIFY_BYTES, TRANSFER_BYTES_MAX};
use crate::controller::Controller;
use crate::controller::Known;
use crate::status::Status;

/// The command set of zones.
pub(crate) const COMMAND_SET: u32 = 2;
pub(crate) const SEND: u8 = 0x79;
pub(crate) const RECEIVE: u8 = 0x7a;
pub(crate) const APPEND: u8 = 0x7d;
/// Of the events of a controller: the state of a zone has changed.
pub(crate) const EVENTS: u32 = 1 << 27;
/// This event: a notice, its number, its log.
const CHANGED_EVENT: u64 = 2 | 0xef << 8 | 0xbf << 16;
/// The log of zones that changed.
pub(crate) const CHANGED_LOG: u8 = 0xbf;
/// Zones that the log has room for.
const CHANGED_MAX: usize = 511;
/// More have changed than it has room for.
const TOO_MANY: u64 = 0xffff;

/// An action of management: the area of a zone goes to the flash, up to a block and with it.
const FLUSH_AREA: u32 = 0x11;
/// In dword 13: all zones.
const SELECT_ALL: u32 = 1 << 8;
/// In dword 13 of an open: with a random write area.
const WITH_AREA: u32 = 1 << 9;
/// In the attributes of a zone: it has such an area.
const HAS_AREA: u8 = 1 << 3;
/// Of the optional features of a namespace: it has such areas, which can be flushed.
const AREAS: u64 = 1 << 1;
/// In dword 13: the count is of the zones that are sent.
const PARTIAL: u32 = 1 << 16;
/// Bytes of the head of a report, and of each zone in it.
const ROW_BYTES: usize = 64;
/// Where the formats of zones are in the page of a namespace.
const FORMATS: usize = 2816;
/// Most bytes of a block that Linux takes.
const BLOCK_BYTES: u32 = 4096;

/// The zones of a drive, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zoned {
    count: u64,
    zone_blocks: u64,
    capacity_blocks: u64,
    active_max: u32,
    open_max: u32,
    /// Of a page of the drive, which is a block or a part of one.
    page_bytes: u64,
    areas: Option<Areas>,
}

/// The random write areas of zones, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Areas {
    count: u32,
    size: u16,
    granularity: u16,
}

impl Areas {
    /// Those of a drive, if it has some.
    fn of(limits: &ZoneLimits, page_bytes: u64) -> Result<Option<Self>, String> {
        let Some(area) = limits.area else { return Ok(None) };
        let block = u64::from(BLOCK_BYTES);
        let blocks = |key: &str, pages: u32| {
            let bytes = u64::from(pages) * page_bytes;
            let count = u16::try_from(bytes / block).ok().filter(|_| bytes.is_multiple_of(block));
            count.ok_or_else(|| {
                format!(
                    "ftl.mapping.zrwa.{key}: {bytes} over NVMe, which counts blocks of 4096 bytes \
                     in 16 bits; accepted: a multiple of 4096, at most {}",
                    u64::from(u16::MAX) * block
                )
            })
        };
        Ok(Some(Self {
            count: area.count,
            size: blocks("size_bytes", area.pages)?,
            granularity: blocks("flush_granularity_bytes", area.granularity)?,
        }))
    }
}

impl Zoned {
    /// Those of a drive, if it has some.
    ///
    /// # Errors
    /// A sentence for zones that hosts over NVMe would not take.
    pub(crate) fn of(
        session: &Session,
        block_bytes: u32,
        shares: Option<&str>,
    ) -> Result<Option<Self>, String> {
        let Some(zones) = session.zones() else { return Ok(None) };
        if let Some(shares) = shares {
            return Err(format!(
                "namespaces: `{shares}` with ftl.mapping zoned; accepted: nothing, for one"
            ));
        }
        let (limits, page_bytes) = (zones.limits(), session.unit_bytes());
        let bytes = |pages: u32| u64::from(pages) * page_bytes;
        let (zone, capacity) = (bytes(limits.zone_pages), bytes(limits.capacity_pages));
        let block = u64::from(BLOCK_BYTES);
        if block_bytes != BLOCK_BYTES {
            return Err(format!("lba: {block_bytes} with ftl.mapping zoned; accepted: 4096"));
        }
        if page_bytes > block {
            return Err(format!(
                "nand.page_size_bytes: {page_bytes} with ftl.mapping zoned, whose writes are whole \
                 pages, and Linux has blocks of at most 4096; accepted: at most 4096"
            ));
        }
        if !zone.is_power_of_two() {
            return Err(format!(
                "ftl.mapping.zone_bytes: {zone}, and Linux takes no such zones; accepted: a power \
                 of two"
            ));
        }
        if capacity % block != 0 {
            return Err(format!(
                "ftl.mapping.zone_capacity_bytes: {capacity}; accepted: a multiple of 4096"
            ));
        }
        Ok(Some(Self {
            count: limits.zone_count.into(),
            zone_blocks: zone / block,
            capacity_blocks: capacity / block,
            active_max: limits.active_max,
            open_max: limits.open_max,
            page_bytes,
            areas: Areas::of(limits, page_bytes)?,
        }))
    }

    /// The block of a page; a page that is written next may begin inside one.
    fn block(&self, page: u32) -> u64 {
        u64::from(page) * self.page_bytes / u64::from(BLOCK_BYTES)
    }
}

/// What identify has of zones: of the namespace, of the controller.
pub(crate) fn identify(zoned: &Zoned, kind: u8) -> Option<Vec<u8>> {
    let mut page = vec![0; IDENTIFY_BYTES];
    match kind {
        0x05 => {
            // Both limits less one.
            put_number(&mut page, 4, 4, u64::from(zoned.active_max) - 1);
            put_number(&mut page, 8, 4, u64::from(zoned.open_max) - 1);
            put_number(&mut page, FORMATS, 8, zoned.zone_blocks);
            if let Some(areas) = zoned.areas {
                put_number(&mut page, 2, 2, AREAS);
                put_number(&mut page, 44, 4, u64::from(areas.count) - 1);
                put_number(&mut page, 48, 2, areas.granularity.into());
                put_number(&mut page, 50, 2, areas.size.into());
                // They take flushes.
                page[52] = 1;
            }
        }
        // An append may be as long as any command.
        0x06 => {}
        _ => return None,
    }
    Some(page)
}

/// Blocks of 4096 bytes are the one format of a namespace with zones.
pub(crate) fn adapt_formats(page: &mut [u8]) {
    put_number(page, 25, 2, 0);
    put_number(page, 128, 8, u64::from(BLOCK_BYTES.trailing_zeros()) << 16);
}

/// A part of its blocks can hold data.
pub(crate) fn adapt_sizes(zoned: &Zoned, page: &mut [u8]) {
    let blocks = zoned.count * zoned.capacity_blocks;
    put_number(page, 8, 8, blocks);
    put_number(page, 48, 8, blocks * u64::from(BLOCK_BYTES));
}

/// What a management command asks for.
pub(crate) fn send(entry: &Entry) -> Result<Command, Status> {
    let action = match entry.dword(13) & 0xff {
        1 => ZoneAction::Close,
        2 => ZoneAction::Finish,
        3 if entry.dword(13) & WITH_AREA != 0 => ZoneAction::OpenZrwa,
        3 => ZoneAction::Open,
        4 => ZoneAction::Reset,
        5 => ZoneAction::Offline,
        FLUSH_AREA => ZoneAction::FlushZrwa,
        _ => return Err(Status::FIELD),
    };
    let is_all = entry.dword(13) & SELECT_ALL != 0;
    Ok(if is_all { Command::AllZones(action) } else { Command::Zone(action) })
}

/// Number of a state, as reports have it.
fn state_number(state: ZoneState) -> u8 {
    match state {
        ZoneState::Empty => 1,
        ZoneState::ImplicitlyOpen => 2,
        ZoneState::ExplicitlyOpen => 3,
        ZoneState::Closed => 4,
        ZoneState::ReadOnly => 0xd,
        ZoneState::Full => 0xe,
        ZoneState::Offline => 0xf,
    }
}

/// The state that a report is of; `None` for all.
fn wanted(filter: u32) -> Result<Option<ZoneState>, Status> {
    Ok(Some(match filter {
        0 => return Ok(None),
        1 => ZoneState::Empty,
        2 => ZoneState::ImplicitlyOpen,
        3 => ZoneState::ExplicitlyOpen,
        4 => ZoneState::Closed,
        5 => ZoneState::Full,
        6 => ZoneState::ReadOnly,
        7 => ZoneState::Offline,
        _ => return Err(Status::FIELD),
    }))
}

/// A report of zones.
pub(crate) fn receive(zoned: &Zoned, entry: &Entry, line: &Line<'_>) -> Result<Vec<u8>, Status> {
    let bytes = 4 * (u64::from(entry.dword(12)) + 1);
    // There are no reports with extensions, since zones have none.
    if entry.dword(13) & 0xff != 0 || bytes > u64::from(TRANSFER_BYTES_MAX) {
        return Err(Status::FIELD);
    }
    let wanted = wanted(entry.dword(13) >> 8 & 0xff)?;
    let first = entry.first_block() / zoned.zone_blocks;
    if first >= zoned.count {
        return Err(Status::LBA_RANGE);
    }
    if u64::from(entry.data_bytes()) < bytes {
        return Err(Status::SGL_LENGTH);
    }
    let is_partial = entry.dword(13) & PARTIAL != 0;
    let room = (bytes as usize / ROW_BYTES).saturating_sub(1);
    let mut page = line.drive(|session, _, _| match session.zones() {
        Some(zones) => report(zoned, zones, (first as u32, wanted), (room, is_partial)),
        None => Vec::new(),
    });
    page.resize(bytes as usize, 0);
    Ok(page)
}

fn report(
    zoned: &Zoned,
    zones: &Zones,
    (first, wanted): (u32, Option<ZoneState>),
    (room, is_partial): (usize, bool),
) -> Vec<u8> {
    let rows = (first..zones.limits().zone_count).map(|zone| zones.report(zone));
    let found = rows.filter(|row| wanted.is_none_or(|wanted| row.state == wanted));
    let mut page = vec![0; ROW_BYTES];
    let mut count = 0;
    for row in found {
        if count < room {
            page.extend(row_bytes(zoned, &row));
        } else if is_partial {
            break;
        }
        count += 1;
    }
    put_number(&mut page, 0, 8, count as u64);
    page
}

fn row_bytes(zoned: &Zoned, row: &ZoneReport) -> [u8; ROW_BYTES] {
    let mut bytes = [0; ROW_BYTES];
    // It is written in order.
    bytes[0] = 2;
    bytes[1] = state_number(row.state) << 4;
    bytes[2] = if row.has_area && row.state.is_active() { HAS_AREA } else { 0 };
    put_number(&mut bytes, 8, 8, zoned.capacity_blocks);
    put_number(&mut bytes, 16, 8, zoned.block(row.start));
    let has_pointer = row.state == ZoneState::Empty || row.state.is_active();
    let pointer = if has_pointer { zoned.block(row.write_pointer) } else { u64::MAX };
    put_number(&mut bytes, 24, 8, pointer);
    bytes
}

/// The log of zones that have changed since the host read it, by their first blocks, and how many
/// changes there are up to now.
pub(crate) fn changed(zoned: &Zoned, known: Known, line: &Line<'_>) -> (Vec<u8>, usize) {
    let failed =
        line.drive(|session, _, _| session.zones().map_or(vec![], |it| it.failed().into()));
    let mut news: Vec<u32> = failed.get(known.seen..).unwrap_or_default().to_vec();
    news.sort_unstable();
    news.dedup();
    let mut page = vec![0; IDENTIFY_BYTES];
    let is_whole = news.len() <= CHANGED_MAX;
    put_number(&mut page, 0, 2, if is_whole { news.len() as u64 } else { TOO_MANY });
    for (place, &zone) in news.iter().filter(|_| is_whole).enumerate() {
        put_number(&mut page, 8 + 8 * place, 8, u64::from(zone) * zoned.zone_blocks);
    }
    (page, failed.len())
}

/// Reports that zones have changed to a host that wants to know, and has read of the last ones.
pub(crate) fn tell(controller: &Controller, line: &mut Line<'_>) -> Result<(), End> {
    let failed = line.drive(|session, _, _| session.zones().map_or(0, |it| it.failed().len()));
    let mut state = controller.state();
    let is_wanted = state.features.events() & EVENTS != 0 && !state.asked.is_empty();
    if !is_wanted || state.zones.is_masked || failed <= state.zones.told {
        return Ok(());
    }
    state.zones = Known { told: failed, is_masked: true, ..state.zones };
    let ticket = state.asked.remove(0);
    drop(state);
    // The second dword names the namespace.
    line.send(ticket.completed(Ok(CHANGED_EVENT | 1 << 32)))
}
