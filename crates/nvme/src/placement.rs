//! Flexible data placement: which handle a write goes to, its logs, its events.
//!
//! ```text
//! write, directive 2, id ─┬─ a handle of the drive ─► its reclaim units
//!                         └─ no such ─► handle 0, event 3h
//! management send, ids ───► the rest of their units is filled; event 0h if there was some
//! ```
//! One configuration, one reclaim group; every namespace has all handles, so a placement id is the
//! number of a handle. The drive was made with this configuration, which cannot be switched off.
//!
//! Source: NVM Express Base Specification 2.1: 8.1.10, 5.1.12.1.28 to 5.1.12.1.31 (logs 20h to
//! 23h), 5.1.25.1.20 and 5.1.25.1.21 (features 1Dh, 1Eh), 7.3 and 7.4 (management), 8.1.8
//! (directives). Of the events those of the host are here: 0h and 3h.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opennandlab_serve::line::Line;
use opennandlab_sim::session::{PlacementFacts, Session};

use crate::bytes::{get, put_number};
use crate::command::{Entry, TRANSFER_BYTES_MAX};
use crate::controller::Controller;
use crate::status::Status;

pub(crate) const RECEIVE: u8 = 0x12;
pub(crate) const SEND: u8 = 0x1d;
pub(crate) const DIRECTIVE_SEND: u8 = 0x19;
pub(crate) const DIRECTIVE_RECEIVE: u8 = 0x1a;
/// Whether placement is on, and which events are logged.
pub(crate) const FEATURE: u8 = 0x1d;
pub(crate) const EVENTS_FEATURE: u8 = 0x1e;
/// Of the attributes of a controller.
pub(crate) const ATTRIBUTE: u64 = 1 << 19;
/// Of its optional admin commands: directives.
pub(crate) const DIRECTIVES: u8 = 1 << 5;

/// Types of directives.
const IDENTIFY_DIRECTIVE: u32 = 0;
const PLACEMENT_DIRECTIVE: u32 = 2;
/// Directives that there are, by type.
const SUPPORTED: u64 = 1 << IDENTIFY_DIRECTIVE | 1 << PLACEMENT_DIRECTIVE;
/// Events of the host that are logged here.
const UNIT_NOT_FULL: u8 = 0;
const INVALID_ID: u8 = 3;
const EVENTS: [u8; 2] = [UNIT_NOT_FULL, INVALID_ID];
/// Of an event: id, namespace, and place are valid.
const HAS_ID: u8 = 1;
const HAS_NAMESPACE: u8 = 1 << 1;
const HAS_PLACE: u8 = 1 << 2;
/// Events that are kept, and their bytes.
const EVENTS_MAX: usize = 63;
const EVENT_BYTES: usize = 64;
/// The one group.
const GROUP: u32 = 1;

/// What changes of the placement of a drive, besides its flash.
#[derive(Default)]
struct Log {
    /// Newest first.
    events: VecDeque<[u8; EVENT_BYTES]>,
    /// By handle, bits of the events that are not logged, in the order of [`EVENTS`].
    silent: Vec<u8>,
}

/// See the module.
pub(crate) struct Placement {
    facts: PlacementFacts,
    has_cache: bool,
    log: Mutex<Log>,
}

impl Placement {
    /// That of a drive, if it places data.
    pub(crate) fn of(session: &Session) -> Option<Self> {
        let facts = session.placement()?;
        let silent = vec![0; usize::from(facts.handles)];
        let log = Mutex::new(Log { silent, ..Log::default() });
        Some(Self { facts, has_cache: session.has_volatile_cache(), log })
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handle that a write goes to.
    pub(crate) fn handle(&self, by: &Controller, entry: &Entry) -> Result<u8, Status> {
        let (kind, id) = (entry.dword(12) >> 20 & 0xf, entry.dword(13) >> 16);
        match kind {
            0 => Ok(0),
            PLACEMENT_DIRECTIVE if id < u32::from(self.facts.handles) => Ok(id as u8),
            PLACEMENT_DIRECTIVE => {
                self.note(by, entry, (INVALID_ID, id as u16, 0), HAS_ID | HAS_NAMESPACE);
                Ok(0)
            }
            _ => Err(Status::FIELD),
        }
    }

    fn note(&self, by: &Controller, entry: &Entry, (kind, id, handle): (u8, u16, u8), flags: u8) {
        let mut log = self.log();
        let place = EVENTS.iter().position(|&event| event == kind).unwrap_or(0);
        if log.silent[usize::from(handle)] >> place & 1 == 1 {
            return;
        }
        let mut event = [0; EVENT_BYTES];
        (event[0], event[1]) = (kind, flags);
        put_number(&mut event, 2, 2, id.into());
        event[4..12].copy_from_slice(&by.state().features.time());
        put_number(&mut event, 12, 4, entry.namespace().into());
        event[34] = handle;
        log.events.push_front(event);
        log.events.truncate(EVENTS_MAX);
    }

    /// A log, of an endurance group; `None` for others.
    pub(crate) fn log_page(
        &self,
        entry: &Entry,
        line: &Line<'_>,
    ) -> Option<Result<Vec<u8>, Status>> {
        let kind = entry.dword(10) as u8;
        if !matches!(kind, 0x20..=0x23) {
            return None;
        }
        if entry.dword(11) >> 16 != GROUP {
            return Some(Err(Status::FIELD));
        }
        Some(Ok(match kind {
            0x20 => self.configurations(),
            0x21 => self.usage(),
            0x22 => line.drive(|session, _, _| statistics(session.placement())),
            _ => self.events(entry.dword(10) >> 8 & 1 == 1),
        }))
    }

    fn configurations(&self) -> Vec<u8> {
        let handles = usize::from(self.facts.handles);
        let size = (64 + 4 * handles).next_multiple_of(8);
        let mut page = vec![0; 16 + size];
        put_number(&mut page, 4, 4, 16 + size as u64);
        let it = &mut page[16..];
        put_number(it, 0, 2, size as u64);
        // Valid; ids have no bits of a group.
        it[2] = 1 << 7 | u8::from(self.has_cache) << 4;
        put_number(it, 4, 4, 1);
        put_number(it, 8, 2, handles as u64);
        put_number(it, 10, 2, handles as u64 - 1);
        put_number(it, 12, 4, 64);
        put_number(it, 16, 8, self.facts.unit_bytes);
        for handle in 0..handles {
            it[64 + 4 * handle] = if self.facts.is_persistent { 2 } else { 1 };
        }
        page
    }

    /// Every handle is one that hosts name.
    fn usage(&self) -> Vec<u8> {
        let handles = usize::from(self.facts.handles);
        let mut page = vec![0; 8 + 8 * handles];
        put_number(&mut page, 0, 2, handles as u64);
        (0..handles).for_each(|handle| page[8 + 8 * handle] = 1);
        page
    }

    fn events(&self, are_of_host: bool) -> Vec<u8> {
        let mut page = vec![0; 64 + EVENTS_MAX * EVENT_BYTES];
        let log = self.log();
        if are_of_host {
            put_number(&mut page, 0, 4, log.events.len() as u64);
            for (place, event) in page[64..].chunks_exact_mut(EVENT_BYTES).zip(&log.events) {
                place.copy_from_slice(event);
            }
        }
        page
    }

    /// The value of feature 1Dh or 1Eh, and its data.
    pub(crate) fn feature(&self, entry: &Entry) -> Result<(u32, Vec<u8>), Status> {
        let asked = entry.dword(11);
        if entry.dword(10) as u8 == FEATURE {
            // On, and the first configuration.
            return if asked & 0xffff == GROUP { Ok((1, Vec::new())) } else { Err(Status::FIELD) };
        }
        let (handle, count) = (asked as u16, asked >> 16 & 0xff);
        let silent = self.silent(handle)?;
        let rows = EVENTS.iter().enumerate().take(count as usize);
        let data = rows.flat_map(|(at, &event)| [event, 1 - (silent >> at & 1)]).collect();
        Ok((EVENTS.len() as u32, data))
    }

    fn silent(&self, handle: u16) -> Result<u8, Status> {
        self.log().silent.get(usize::from(handle)).copied().ok_or(Status::FIELD)
    }

    /// Sets feature 1Dh, which it refuses while there are namespaces, or 1Eh.
    pub(crate) fn set_feature(&self, entry: &Entry, data: &[u8]) -> Result<u32, Status> {
        if entry.dword(10) as u8 == FEATURE {
            return Err(Status::SEQUENCE);
        }
        let (handle, count) = (entry.dword(11) as u16, (entry.dword(11) >> 16 & 0xff) as usize);
        let is_on = entry.dword(12) & 1 == 1;
        let mut silent = self.silent(handle)?;
        if data.len() < count {
            return Err(Status::SGL_LENGTH);
        }
        for &kind in &data[..count] {
            let at = EVENTS.iter().position(|&event| event == kind).ok_or(Status::FIELD)?;
            silent = silent & !(1 << at) | u8::from(!is_on) << at;
        }
        self.log().silent[usize::from(handle)] = silent;
        Ok(0)
    }

    /// The state of the reclaim units of each handle.
    pub(crate) fn receive(
        &self,
        entry: &Entry,
        block_bytes: u64,
        line: &Line<'_>,
    ) -> Result<Vec<u8>, Status> {
        let bytes = 4 * (u64::from(entry.dword(11)) + 1);
        if entry.dword(10) & 0xff != 1 || bytes > u64::from(TRANSFER_BYTES_MAX) {
            return Err(Status::FIELD);
        }
        if u64::from(entry.data_bytes()) < bytes {
            return Err(Status::SGL_LENGTH);
        }
        let handles = self.facts.handles;
        let room: Vec<u64> = line.drive(|session, _, _| {
            (0..handles).map(|handle| session.unit_room(handle) / block_bytes).collect()
        });
        let mut page = vec![0; 16 + 32 * usize::from(handles)];
        put_number(&mut page, 14, 2, handles.into());
        for (handle, &blocks) in room.iter().enumerate() {
            let row = &mut page[16 + 32 * handle..];
            put_number(row, 0, 2, handle as u64);
            put_number(row, 2, 2, handle as u64);
            put_number(row, 8, 8, blocks);
        }
        page.resize(bytes as usize, 0);
        Ok(page)
    }

    /// Ends the reclaim units of handles.
    pub(crate) fn send(
        &self,
        by: &Controller,
        entry: &Entry,
        data: &[u8],
        line: &Line<'_>,
    ) -> Result<(), Status> {
        let count = (entry.dword(10) >> 16) as usize + 1;
        if entry.dword(10) & 0xff != 1 {
            return Err(Status::FIELD);
        }
        if data.len() < 2 * count {
            return Err(Status::SGL_LENGTH);
        }
        let ids = (0..count).map(|place| get(data, 2 * place, 2) as u16);
        if count > usize::from(self.facts.handles)
            || ids.clone().any(|id| id >= self.facts.handles.into())
        {
            return Err(Status::FIELD);
        }
        for id in ids {
            let handle = id as u8;
            if line.drive(|session, _, _| session.end_units(handle)) {
                let flags = HAS_ID | HAS_NAMESPACE | HAS_PLACE;
                self.note(by, entry, (UNIT_NOT_FULL, id, handle), flags);
            }
        }
        Ok(())
    }
}

/// Bytes of hosts, on the flash, and erased.
fn statistics(facts: Option<PlacementFacts>) -> Vec<u8> {
    let mut page = vec![0; 64];
    for (offset, bytes) in facts
        .iter()
        .flat_map(|it| [(0, it.host_bytes), (16, it.media_bytes), (32, it.erased_bytes)])
    {
        put_number(&mut page, offset, 8, bytes);
    }
    page
}

/// What directives there are, or the wish to have placement on, which it is.
pub(crate) fn directive(entry: &Entry) -> Result<Vec<u8>, Status> {
    let (operation, kind) = (entry.dword(11) & 0xff, entry.dword(11) >> 8 & 0xff);
    if (operation, kind) != (1, IDENTIFY_DIRECTIVE) {
        return Err(Status::FIELD);
    }
    if entry.opcode() == DIRECTIVE_SEND {
        let (is_on, of) = (entry.dword(12) & 1, entry.dword(12) >> 8 & 0xff);
        let is_as_is = (is_on, of) == (1, PLACEMENT_DIRECTIVE);
        return if is_as_is { Ok(Vec::new()) } else { Err(Status::FIELD) };
    }
    // Supported, enabled, and so after a reset.
    let mut page = vec![0; 4096];
    (0..3).for_each(|row| put_number(&mut page, 32 * row, 8, SUPPORTED));
    let bytes = 4 * (entry.dword(10) as usize + 1);
    page.resize(bytes.min(page.len()), 0);
    Ok(page)
}
