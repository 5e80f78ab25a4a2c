//! Zones: which states they are in, where each is written next, and what a command may do.
//!
//! ```text
//!            write, append            at capacity, finish
//!  empty ───────────────► implicitly open ─────────────► full
//!    │  open                 │ open   ▲ write               ▲
//!    └──────► explicitly open ◄───────┘                     │
//!                 │ close   ▲ open                          │
//!                 └───────► closed ─────────────────────────┘ finish
//!  reset: each of these ► empty            read-only ► offline
//! ```
//! Open zones (implicitly or explicitly) and active ones (open or closed) are limited. When a zone
//! is to be opened and as many are open as may be, the one that was implicitly open for longest is
//! closed by the drive. A command that breaks a rule is refused with the status that the
//! specification names, and changes nothing.
//!
//! This is the state machine alone: it knows no flash. Numbers are pages of the logical space; a
//! zone has `zone_pages` of them, of which the first `capacity_pages` can be written. Their places
//! on the flash are the matter of `layout`.
//!
//! Source: NVM Express Zoned Namespace Command Set Specification 1.1, 2.1 and 3.4. Left out: zone
//! descriptor extensions, a limit on the size of an append. Random write areas are in `area`.

mod area;
mod layout;
mod on_flash;
mod saved;

pub use area::{AreaCounts, AreaLimits};
pub use layout::{ZoneLayout, ZonePart, ZonePlace};
pub(in crate::ftl) use on_flash::PlacedZones;
pub use on_flash::ZoneRequest;
pub use saved::{ZoneRows, ZonesSnapshot};

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::op::{HostOp, ZoneOp};
use area::Area;

pub use crate::op::ZoneAction;

/// The state of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZoneState {
    /// ZSE: nothing is written.
    Empty,
    /// ZSIO: opened by a write; the drive may close it.
    ImplicitlyOpen,
    /// ZSEO: opened by the host.
    ExplicitlyOpen,
    /// ZSC: active, and not open.
    Closed,
    /// ZSF: takes no more.
    Full,
    /// ZSRO: can be read only.
    ReadOnly,
    /// ZSO: its data is lost.
    Offline,
}

impl ZoneState {
    /// Whether it counts against the limit of open zones.
    pub fn is_open(self) -> bool {
        matches!(self, Self::ImplicitlyOpen | Self::ExplicitlyOpen)
    }

    /// Whether it counts against the limit of active zones.
    pub fn is_active(self) -> bool {
        self.is_open() || self == Self::Closed
    }
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ZoneStatus {
    /// 00h/02h.
    #[error("Invalid Field in Command")]
    InvalidField,
    /// 00h/80h.
    #[error("LBA Out of Range")]
    LbaOutOfRange,
    /// 01h/B6h.
    #[error("Invalid Zone Operation Request")]
    InvalidZoneOperation,
    /// 01h/B7h.
    #[error("ZRWA Resources Unavailable")]
    ZrwaUnavailable,
    /// 01h/B8h.
    #[error("Zone Boundary Error")]
    ZoneBoundaryError,
    /// 01h/B9h.
    #[error("Zone Is Full")]
    ZoneIsFull,
    /// 01h/BAh.
    #[error("Zone Is Read Only")]
    ZoneIsReadOnly,
    /// 01h/BBh.
    #[error("Zone Is Offline")]
    ZoneIsOffline,
    /// 01h/BCh.
    #[error("Zone Invalid Write")]
    ZoneInvalidWrite,
    /// 01h/BDh.
    #[error("Too Many Active Zones")]
    TooManyActiveZones,
    /// 01h/BEh.
    #[error("Too Many Open Zones")]
    TooManyOpenZones,
    /// 01h/BFh.
    #[error("Invalid Zone State Transition")]
    InvalidZoneStateTransition,
}

impl ZoneStatus {
    /// All, in order.
    pub const ALL: [Self; STATUS_COUNT] = [
        Self::InvalidField,
        Self::LbaOutOfRange,
        Self::InvalidZoneOperation,
        Self::ZrwaUnavailable,
        Self::ZoneBoundaryError,
        Self::ZoneIsFull,
        Self::ZoneIsReadOnly,
        Self::ZoneIsOffline,
        Self::ZoneInvalidWrite,
        Self::TooManyActiveZones,
        Self::TooManyOpenZones,
        Self::InvalidZoneStateTransition,
    ];

    /// Status code type and status code.
    pub fn code(self) -> (u8, u8) {
        match self {
            Self::InvalidField => (0, 0x02),
            Self::LbaOutOfRange => (0, 0x80),
            Self::InvalidZoneOperation => (1, 0xB6),
            Self::ZrwaUnavailable => (1, 0xB7),
            Self::ZoneBoundaryError => (1, 0xB8),
            Self::ZoneIsFull => (1, 0xB9),
            Self::ZoneIsReadOnly => (1, 0xBA),
            Self::ZoneIsOffline => (1, 0xBB),
            Self::ZoneInvalidWrite => (1, 0xBC),
            Self::TooManyActiveZones => (1, 0xBD),
            Self::TooManyOpenZones => (1, 0xBE),
            Self::InvalidZoneStateTransition => (1, 0xBF),
        }
    }
}

/// Sizes and limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneLimits {
    /// Zones.
    pub zone_count: u32,
    /// Pages of the logical space that a zone takes.
    pub zone_pages: u32,
    /// Those of them that can be written, from the first on.
    pub capacity_pages: u32,
    /// Zones that may be open.
    pub open_max: u32,
    /// Zones that may be active.
    pub active_max: u32,
    /// The random write areas of a drive that has some.
    pub area: Option<AreaLimits>,
}

/// A row of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ZoneReport {
    /// Its number.
    pub zone: u32,
    /// Its state.
    pub state: ZoneState,
    /// Its first page.
    pub start: u32,
    /// Pages that can be written.
    pub capacity: u32,
    /// The page that is written next; without meaning where a zone takes no writes.
    pub write_pointer: u32,
    /// Whether it has a random write area.
    pub has_area: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Zones {
    limits: ZoneLimits,
    states: Vec<ZoneState>,
    /// Pages written, from the start of each zone.
    written: Vec<u32>,
    /// Zones that are implicitly open, the one opened first in front.
    implicit: VecDeque<u32>,
    open_count: u32,
    active_count: u32,
    counts: ZoneCounts,
    /// Zones whose flash has failed, in this order, since the drive was made or loaded.
    failed: Vec<u32>,
    areas: BTreeMap<u32, Area>,
}

/// Counters of zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneCounts {
    /// Zones that were reset.
    pub resets: u64,
    /// Zones that the drive closed to open others.
    pub closed_for_others: u64,
    /// Commands that were refused, by [`ZoneStatus`] in its order.
    pub refused: [u64; STATUS_COUNT],
    /// Commands in the order of [`COMMAND_NAMES`]: those that were carried out, and those refused
    /// by [`ZoneStatus`] in its order.
    pub commands: [[u64; 1 + STATUS_COUNT]; COMMAND_COUNT],
    /// Pages appended: of the user of the host, and moved by the host.
    pub appended: [u64; 2],
    /// Pages of areas.
    pub area: AreaCounts,
}

/// Kinds of commands that are counted apart.
pub const COMMAND_COUNT: usize = 17;

/// Their names in results: three, then [`ZoneAction`] in its order, of one zone and of all.
pub const COMMAND_NAMES: [&str; COMMAND_COUNT] = [
    "read",
    "write",
    "append",
    "open",
    "close",
    "finish",
    "reset",
    "offline",
    "open_zrwa",
    "flush_zrwa",
    "open_all",
    "close_all",
    "finish_all",
    "reset_all",
    "offline_all",
    "open_zrwa_all",
    "flush_zrwa_all",
];

/// Which of them a command is; trims of whole zones are resets.
fn command_index(op: HostOp) -> usize {
    match op {
        HostOp::Read | HostOp::Flush => 0,
        HostOp::Write => 1,
        HostOp::Zone(ZoneOp::Append | ZoneOp::Relocate) => 2,
        HostOp::Trim | HostOp::TrimMapped => 3 + ZoneAction::Reset as usize,
        HostOp::Zone(ZoneOp::One(action)) => 3 + action as usize,
        HostOp::Zone(ZoneOp::All(action)) => 10 + action as usize,
    }
}

/// Number of [`ZoneStatus`] values.
pub const STATUS_COUNT: usize = 12;

impl Zones {
    /// Empty zones.
    ///
    /// # Panics
    /// When a size is zero, the capacity exceeds the zone, or a limit is zero or out of order.
    pub fn new(limits: ZoneLimits) -> Self {
        let ZoneLimits { zone_count, zone_pages, capacity_pages, open_max, active_max, .. } =
            limits;
        assert!(zone_count > 0 && (1..=zone_pages).contains(&capacity_pages), "{limits:?}");
        assert!(open_max > 0 && open_max <= active_max, "{limits:?}");
        Self {
            limits,
            states: vec![ZoneState::Empty; zone_count as usize],
            written: vec![0; zone_count as usize],
            implicit: VecDeque::new(),
            open_count: 0,
            active_count: 0,
            counts: ZoneCounts::default(),
            failed: Vec::new(),
            areas: BTreeMap::new(),
        }
    }

    /// Sizes and limits.
    pub fn limits(&self) -> &ZoneLimits {
        &self.limits
    }

    /// Zones that are open, and zones that are active.
    pub fn in_use(&self) -> [u32; 2] {
        [self.open_count, self.active_count]
    }

    /// The counters up to now.
    pub fn counts(&self) -> &ZoneCounts {
        &self.counts
    }

    /// Zones that have failed, the last one at the end.
    pub fn failed(&self) -> &[u32] {
        &self.failed
    }

    /// A command was carried out, or refused.
    pub(super) fn note_command(&mut self, op: HostOp, status: Option<ZoneStatus>) {
        let row = &mut self.counts.commands[command_index(op)];
        row[status.map_or(0, |status| 1 + status as usize)] += 1;
        if let Some(status) = status {
            self.counts.refused[status as usize] += 1;
        }
    }

    /// Counts pages that the host has appended: new data of its user, or moved data.
    pub(super) fn note_appended(&mut self, is_moved: bool, pages: u32) {
        self.counts.appended[usize::from(is_moved)] += u64::from(pages);
    }

    /// A zone was reset.
    pub(super) fn note_reset(&mut self) {
        self.counts.resets += 1;
    }

    /// A row of the report.
    pub fn report(&self, zone: u32) -> ZoneReport {
        let start = zone * self.limits.zone_pages;
        ZoneReport {
            zone,
            state: self.states[zone as usize],
            start,
            capacity: self.limits.capacity_pages,
            write_pointer: start + self.written[zone as usize],
            has_area: self.has_area(zone),
        }
    }

    /// Every row of the report.
    pub fn reports(&self) -> impl Iterator<Item = ZoneReport> + '_ {
        (0..self.limits.zone_count).map(|zone| self.report(zone))
    }

    /// Pages written of a zone, from its start.
    pub fn written(&self, zone: u32) -> u32 {
        self.written[zone as usize]
    }

    /// The zone of a page, and the page's place in it.
    ///
    /// # Errors
    /// [`ZoneStatus::LbaOutOfRange`] beyond the last zone.
    pub fn locate(&self, page: u32) -> Result<(u32, u32), ZoneStatus> {
        let zone = page / self.limits.zone_pages;
        let place = page % self.limits.zone_pages;
        (zone < self.limits.zone_count).then_some((zone, place)).ok_or(ZoneStatus::LbaOutOfRange)
    }

    /// Whether pages may be read.
    ///
    /// # Errors
    /// A page beyond the last zone, pages of two zones, or an offline zone.
    pub fn read(&self, page: u32, count: u32) -> Result<(), ZoneStatus> {
        let (zone, place) = self.locate(page)?;
        if self.states[zone as usize] == ZoneState::Offline {
            return Err(ZoneStatus::ZoneIsOffline);
        }
        if count > self.limits.zone_pages - place {
            let last = self.limits.zone_count - 1;
            let is_last = zone == last;
            let beyond =
                if is_last { ZoneStatus::LbaOutOfRange } else { ZoneStatus::ZoneBoundaryError };
            return Err(beyond);
        }
        Ok(())
    }

    /// Writes pages, the first of which must be the write pointer of its zone, unless that has an
    /// area: see [`Zones::write_in_area`].
    ///
    /// # Errors
    /// Why the zone does not take them.
    pub fn write(&mut self, page: u32, count: u32) -> Result<(), ZoneStatus> {
        let (zone, place) = self.locate(page)?;
        self.check_writable(zone)?;
        if self.has_area(zone) {
            return self.write_in_area(zone, place, count);
        }
        if place != self.written[zone as usize] {
            return Err(ZoneStatus::ZoneInvalidWrite);
        }
        self.advance(zone, count)
    }

    /// Appends pages to the zone that begins at a page; returns where the first of them went.
    ///
    /// # Errors
    /// Why the zone does not take them.
    pub fn append(&mut self, start: u32, count: u32) -> Result<u32, ZoneStatus> {
        let (zone, place) = self.locate(start)?;
        if place != 0 {
            return Err(ZoneStatus::InvalidField);
        }
        self.check_writable(zone)?;
        if self.has_area(zone) {
            return Err(ZoneStatus::InvalidZoneOperation);
        }
        let page = start + self.written[zone as usize];
        self.advance(zone, count)?;
        Ok(page)
    }

    fn check_writable(&self, zone: u32) -> Result<(), ZoneStatus> {
        match self.states[zone as usize] {
            ZoneState::Full => Err(ZoneStatus::ZoneIsFull),
            ZoneState::ReadOnly => Err(ZoneStatus::ZoneIsReadOnly),
            ZoneState::Offline => Err(ZoneStatus::ZoneIsOffline),
            _ => Ok(()),
        }
    }

    /// Moves the write pointer of a zone that takes writes.
    fn advance(&mut self, zone: u32, count: u32) -> Result<(), ZoneStatus> {
        let place = zone as usize;
        if count > self.limits.capacity_pages - self.written[place] {
            return Err(ZoneStatus::ZoneBoundaryError);
        }
        self.open_implicitly(zone)?;
        self.written[place] += count;
        if self.written[place] == self.limits.capacity_pages {
            self.set(zone, ZoneState::Full);
        }
        Ok(())
    }

    /// A command needs a zone to be open.
    fn open_implicitly(&mut self, zone: u32) -> Result<(), ZoneStatus> {
        if self.states[zone as usize].is_open() {
            return Ok(());
        }
        self.make_open(zone, ZoneState::ImplicitlyOpen)
    }

    /// Opens an empty or closed zone; closes one that is implicitly open for it, if need be.
    fn make_open(&mut self, zone: u32, state: ZoneState) -> Result<(), ZoneStatus> {
        self.check_openable(zone)?;
        if self.open_count == self.limits.open_max {
            let first = self.implicit.front().copied().expect("it was checked");
            self.set(first, ZoneState::Closed);
            self.counts.closed_for_others += 1;
        }
        self.set(zone, state);
        Ok(())
    }

    /// Whether there is room for another open zone, and for another active one if this is empty.
    fn check_openable(&self, zone: u32) -> Result<(), ZoneStatus> {
        let is_new = self.states[zone as usize] == ZoneState::Empty;
        if is_new && self.active_count == self.limits.active_max {
            return Err(ZoneStatus::TooManyActiveZones);
        }
        if self.open_count == self.limits.open_max && self.implicit.is_empty() {
            return Err(ZoneStatus::TooManyOpenZones);
        }
        Ok(())
    }

    /// Puts a zone into a state, and keeps account.
    fn set(&mut self, zone: u32, state: ZoneState) {
        let old = std::mem::replace(&mut self.states[zone as usize], state);
        self.open_count = self.open_count + u32::from(state.is_open()) - u32::from(old.is_open());
        self.active_count =
            self.active_count + u32::from(state.is_active()) - u32::from(old.is_active());
        if old == ZoneState::ImplicitlyOpen {
            self.implicit.retain(|&other| other != zone);
        }
        if state == ZoneState::ImplicitlyOpen {
            self.implicit.push_back(zone);
        }
    }

    /// Carries out an action on a zone; returns whether that changed it. The pages of an area that
    /// is finished leave it as those of a flush: see [`Zones::due`].
    ///
    /// # Errors
    /// Why it cannot be.
    ///
    /// # Panics
    /// When there is no such zone.
    pub fn act(&mut self, zone: u32, action: ZoneAction) -> Result<bool, ZoneStatus> {
        use ZoneState::{Closed, Empty, ExplicitlyOpen, Full, ImplicitlyOpen, Offline, ReadOnly};
        let refused = Err(ZoneStatus::InvalidZoneStateTransition);
        match (action, self.states[zone as usize]) {
            (ZoneAction::Open, ExplicitlyOpen)
            | (ZoneAction::Close, Closed)
            | (ZoneAction::Finish, Full)
            | (ZoneAction::Reset, Empty)
            | (ZoneAction::Offline, Offline) => return Ok(false),
            (ZoneAction::OpenZrwa, _) => return self.open_with_area(zone),
            // It names a page: see `flush_area`.
            (ZoneAction::FlushZrwa, _) => return Err(ZoneStatus::InvalidField),
            (ZoneAction::Open, ImplicitlyOpen) => self.set(zone, ExplicitlyOpen),
            (ZoneAction::Open, Empty | Closed) => self.make_open(zone, ExplicitlyOpen)?,
            (ZoneAction::Close, ImplicitlyOpen | ExplicitlyOpen) => self.set(zone, Closed),
            (ZoneAction::Finish, Empty | ImplicitlyOpen | ExplicitlyOpen | Closed) => {
                self.set(zone, Full);
                self.finish_area(zone);
            }
            (ZoneAction::Reset, ImplicitlyOpen | ExplicitlyOpen | Closed | Full) => {
                self.set(zone, Empty);
                self.written[zone as usize] = 0;
                self.drop_area(zone);
            }
            (ZoneAction::Offline, ReadOnly) => {
                self.set(zone, Offline);
                self.drop_area(zone);
            }
            _ => return refused,
        }
        Ok(true)
    }

    /// Carries out an action on all zones that it applies to: opens closed ones, closes open ones,
    /// finishes active ones, resets active and full ones. Returns the number of changed zones.
    ///
    /// # Errors
    /// As of [`Zones::all_for`].
    pub fn act_on_all(&mut self, action: ZoneAction) -> Result<u32, ZoneStatus> {
        let zones = self.all_for(action)?;
        for &zone in &zones {
            self.act(zone, action)?;
        }
        Ok(zones.len() as u32)
    }

    /// The zones that an action on all applies to.
    ///
    /// # Errors
    /// [`ZoneStatus::TooManyOpenZones`] when not all closed zones can be open; none is opened then.
    /// [`ZoneStatus::InvalidField`] for actions of one zone alone.
    pub(super) fn all_for(&self, action: ZoneAction) -> Result<Vec<u32>, ZoneStatus> {
        let applies = |state: ZoneState| match action {
            ZoneAction::Open => state == ZoneState::Closed,
            ZoneAction::Close => state.is_open(),
            ZoneAction::Finish => state.is_active(),
            ZoneAction::Reset => state.is_active() || state == ZoneState::Full,
            ZoneAction::Offline => state == ZoneState::ReadOnly,
            ZoneAction::OpenZrwa | ZoneAction::FlushZrwa => false,
        };
        if matches!(action, ZoneAction::OpenZrwa | ZoneAction::FlushZrwa) {
            return Err(ZoneStatus::InvalidField);
        }
        let all = 0..self.limits.zone_count;
        let zones: Vec<u32> = all.filter(|&zone| applies(self.states[zone as usize])).collect();
        if action == ZoneAction::Open && self.open_count + zones.len() as u32 > self.limits.open_max
        {
            return Err(ZoneStatus::TooManyOpenZones);
        }
        Ok(zones)
    }

    /// A zone can be written no more, or be read no more: its flash has failed.
    ///
    /// # Panics
    /// When the state is another than read-only or offline.
    pub fn fail(&mut self, zone: u32, state: ZoneState) {
        assert!(matches!(state, ZoneState::ReadOnly | ZoneState::Offline), "{state:?}");
        if self.states[zone as usize] != ZoneState::Offline {
            self.failed.push(zone);
            self.set(zone, state);
            self.fail_area(zone);
        }
    }
}
