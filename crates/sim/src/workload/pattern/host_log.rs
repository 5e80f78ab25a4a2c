//! A host that keeps a log on zones, and reclaims them itself.
//!
//! ```text
//! user ─ unit ─► open zone  [#####·····]                    append
//! no empty zone but the last few: the zone with the fewest live units
//!                full zone  [#·#··#····]  ─ read, append ─► [###·······] open zone
//!                           reset ─► empty
//! ```
//! The host has its own map of the places of the units. Units have the size of a request; all of
//! them are written once in order, and then by popularity. Writes of the user and moved units go to
//! the same open zone, so with zones for blocks this is a drive with one open block, to which the
//! closed forms of write amplification apply: with a spare factor of `1 - live_share` over the
//! zones except those kept empty, and the units of a zone for the pages of a block.
//!
//! The host of a stage continues where the stage before ended: the stages of a run share it
//! ([`SharedLog`]). Commands of one batch are drawn before any of them is carried out, in order; a
//! host that waits for its reads is one with a queue depth of 1.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hot_cold::HotColdConfig;
use super::random::{Random, RandomConfig};
use super::zipf::ZipfConfig;
use super::Parameters;
use crate::config::ConfigError;
use crate::op::{HostCommand, HostOp, ZoneAction, ZoneOp};
use crate::units::SECTOR_BYTES;
use crate::workload::addresses::Extent;
use crate::workload::check::refuse;
use crate::workload::synthetic::SyntheticParts;
use crate::workload::{Generator, ZoneSpace};

/// Which zone is reclaimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reclaim {
    /// The one with the fewest live units; of equals, the one that was filled first.
    #[default]
    Greedy,
    /// The one that was filled first.
    Fifo,
}

/// Which units the user overwrites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Updates {
    /// Every unit equally likely.
    Random(RandomConfig),
    /// A share of the writes goes to a hot fraction of the units.
    HotCold(HotColdConfig),
    /// Popularity of the k-th hottest unit proportional to k^-theta.
    Zipf(ZipfConfig),
}

/// Parameters of `host_log`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostLogConfig {
    /// Which units the user overwrites: `random`, or a mapping such as `{kind: hot_cold, fraction:
    /// 0.2, share: 0.8}` or `{kind: zipf, theta: 0.99}`; default `random`.
    #[serde(deserialize_with = "crate::config::name_or_mapping")]
    #[schemars(schema_with = "crate::config::name_or_mapping_schema::<Updates>")]
    pub updates: Updates,
    /// Data of the user, as a share of the capacity of all zones except those kept empty; above 0,
    /// below 1; default 0.8.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub live_share: f64,
    /// Zones that are kept empty: the host reclaims before it opens one of these; at least 1, and
    /// at most two less than the zones of the drive; default 1.
    #[schemars(range(min = 1))]
    pub free_zones: u32,
    /// Which zone is reclaimed: `greedy` or `fifo`; default `greedy`.
    pub reclaim: Reclaim,
}

impl Default for HostLogConfig {
    fn default() -> Self {
        let updates = Updates::Random(RandomConfig {});
        Self { updates, live_share: 0.8, free_zones: 1, reclaim: Reclaim::Greedy }
    }
}

/// Sizes of a log, in units of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    zones: u32,
    zone_sectors: u64,
    unit_sectors: u32,
    units_per_zone: u32,
    units: u32,
}

impl HostLogConfig {
    /// Refuses a log that the zones of a drive do not hold, in requests of `unit_bytes` bytes.
    pub(crate) fn check_zones(
        &self,
        logical_bytes: u64,
        zones: ZoneSpace,
        unit_bytes: u64,
    ) -> Result<(), ConfigError> {
        if !zones.capacity_bytes.is_multiple_of(unit_bytes) {
            let message = format!(
                "{unit_bytes} B do not fill the {} B of a zone, which would stay open; accepted: a \
                 size that divides them",
                zones.capacity_bytes
            );
            return Err(ConfigError::new("block_size_bytes", message));
        }
        let count = logical_bytes / zones.zone_bytes;
        if self.free_zones == 0 || u64::from(self.free_zones) + 2 > count {
            let accepted = format!(
                "1 to {}, so that two of the {count} zones are left",
                count.saturating_sub(2)
            );
            return Err(refuse("pattern.free_zones", self.free_zones, &accepted));
        }
        let shape = self.shape(logical_bytes, zones, unit_bytes);
        if shape.units < 2 {
            let message = format!(
                "{} of {} units in {} zones is less than two; accepted: more",
                self.live_share,
                u64::from(shape.units_per_zone) * (count - u64::from(self.free_zones)),
                count - u64::from(self.free_zones)
            );
            return Err(ConfigError::new("pattern.live_share", message));
        }
        // At least one unit of the full zones is dead, or reclaiming frees nothing.
        let room = u64::from(shape.units_per_zone) * (count - u64::from(self.free_zones));
        if u64::from(shape.units) >= room {
            let message = format!(
                "{} units of the user in {room} units of zones leave none to reclaim; accepted: \
                 at most {}",
                shape.units,
                (room - 1) as f64 / room as f64
            );
            return Err(ConfigError::new("pattern.live_share", message));
        }
        let extent = shape.extent();
        let sizes = [shape.unit_sectors];
        let checked = match &self.updates {
            Updates::Random(it) => it.check(extent, &sizes),
            Updates::HotCold(it) => it.check(extent, &sizes),
            Updates::Zipf(it) => it.check(extent, &sizes),
        };
        checked.map_err(|error| error.under("pattern.updates"))
    }

    fn shape(&self, logical_bytes: u64, zones: ZoneSpace, unit_bytes: u64) -> Shape {
        let count = (logical_bytes / zones.zone_bytes) as u32;
        let units_per_zone = (zones.capacity_bytes / unit_bytes) as u32;
        let room = u64::from(units_per_zone) * u64::from(count - self.free_zones);
        Shape {
            zones: count,
            zone_sectors: zones.zone_bytes / SECTOR_BYTES,
            unit_sectors: (unit_bytes / SECTOR_BYTES) as u32,
            units_per_zone,
            units: (room as f64 * self.live_share).round() as u32,
        }
    }

    /// A host before its first write to a drive with zones; `seed` fixes the shuffles.
    ///
    /// # Panics
    /// When the drive has none.
    pub(crate) fn start(&self, parts: SyntheticParts, seed: u64) -> SharedLog {
        let zones = parts.zones.expect("checked: the drive has zones");
        let unit_bytes = u64::from(parts.sizes.sector_counts[0]) * SECTOR_BYTES;
        let logical_bytes = parts.extent.sector_count * SECTOR_BYTES;
        let shape = self.shape(logical_bytes, zones, unit_bytes);
        let parts = SyntheticParts { extent: shape.extent(), ..parts };
        let updates = match &self.updates {
            Updates::Random(it) => it.generator(parts, seed),
            Updates::HotCold(it) => it.generator(parts, seed),
            Updates::Zipf(it) => it.generator(parts, seed),
        };
        SharedLog(Arc::new(Mutex::new(HostLog::new(self, shape, updates))))
    }
}

impl Shape {
    /// The units of the user, side by side.
    fn extent(&self) -> Extent {
        let unit = u64::from(self.unit_sectors);
        Extent { sector_count: u64::from(self.units) * unit, align_sectors: unit }
    }
}

impl Parameters for HostLogConfig {
    /// Unused: the place of each write follows from the host's own map.
    type Addresses = Random;

    fn check(&self, _: Extent, request_sectors: &[u32]) -> Result<(), ConfigError> {
        if request_sectors.len() != 1 {
            let message = "requests of several sizes; accepted: one size with host_log";
            return Err(ConfigError::new("updates", message));
        }
        if !(self.live_share > 0.0 && self.live_share < 1.0) {
            return Err(refuse("live_share", self.live_share, "above 0, below 1"));
        }
        Ok(())
    }

    fn compile(&self, _: u64) -> Random {
        Random
    }

    fn generator(&self, parts: SyntheticParts, seed: u64) -> Box<dyn Generator> {
        Box::new(self.start(parts, seed))
    }
}

const NONE: u32 = u32::MAX;

/// The host: its map, and its view of the zones.
struct HostLog {
    shape: Shape,
    free_zones: usize,
    reclaim: Reclaim,
    updates: Box<dyn Generator>,
    drawn: Vec<HostCommand>,
    drawn_next: usize,
    /// Units that were written once in order.
    filled: u32,
    /// By unit: its slot, which is its zone and its place there; [`NONE`] before its first write.
    slots: Vec<u32>,
    /// By slot: the unit that was written there last.
    owners: Vec<u32>,
    /// By zone: units that are live.
    live: Vec<u32>,
    /// In the order in which they are opened.
    empty: VecDeque<u32>,
    /// In the order in which they were filled.
    full: VecDeque<u32>,
    /// The open zone and its next place.
    open: Option<(u32, u32)>,
    /// Commands that are due before the next write of the user.
    due: VecDeque<HostCommand>,
}

impl HostLog {
    fn new(config: &HostLogConfig, shape: Shape, updates: Box<dyn Generator>) -> Self {
        // Whatever an earlier life of the drive has left.
        let reset = HostCommand::new(HostOp::Zone(ZoneOp::All(ZoneAction::Reset)), 0, 0);
        Self {
            shape,
            free_zones: config.free_zones as usize,
            reclaim: config.reclaim,
            updates,
            drawn: Vec::new(),
            drawn_next: 0,
            filled: 0,
            slots: vec![NONE; shape.units as usize],
            owners: vec![NONE; (shape.zones * shape.units_per_zone) as usize],
            live: vec![0; shape.zones as usize],
            empty: (0..shape.zones).collect(),
            full: VecDeque::new(),
            open: None,
            due: VecDeque::from([reset]),
        }
    }

    /// The unit that the user writes next.
    fn draw(&mut self) -> u32 {
        if self.filled < self.shape.units {
            self.filled += 1;
            return self.filled - 1;
        }
        if self.drawn_next == self.drawn.len() {
            self.drawn.clear();
            self.drawn_next = 0;
            self.updates.fill(&mut self.drawn, 1024);
        }
        self.drawn_next += 1;
        (self.drawn[self.drawn_next - 1].sector / u64::from(self.shape.unit_sectors)) as u32
    }

    /// The user writes a unit, and the host makes room for it first.
    fn write(&mut self) {
        let unit = self.draw();
        self.make_room();
        self.append(unit, ZoneOp::Append);
    }

    /// Opens a zone if none has room, and reclaims until more than those kept are empty.
    fn make_room(&mut self) {
        while self.open.is_none() {
            if self.empty.len() > self.free_zones {
                self.open = self.empty.pop_front().map(|zone| (zone, 0));
            } else {
                self.reclaim_one();
            }
        }
    }

    /// Moves the live units of a full zone to an empty one, which stays open, and resets it.
    fn reclaim_one(&mut self) {
        let place = match self.reclaim {
            Reclaim::Fifo => Some(0),
            Reclaim::Greedy => {
                let by_live = |&place: &usize| self.live[self.full[place] as usize];
                (0..self.full.len()).min_by_key(by_live)
            }
        };
        let victim = place.and_then(|place| self.full.remove(place));
        let victim = victim.expect("all zones but those kept empty are full");
        self.open = self.empty.pop_front().map(|zone| (zone, 0));
        let first = victim * self.shape.units_per_zone;
        for slot in first..first + self.shape.units_per_zone {
            let unit = self.owners[slot as usize];
            if unit != NONE && self.slots[unit as usize] == slot {
                let (sector, count) = (self.sector(slot), self.shape.unit_sectors);
                self.due.push_back(HostCommand::new(HostOp::Read, sector, count));
                self.append(unit, ZoneOp::Relocate);
            }
            self.owners[slot as usize] = NONE;
        }
        let start = u64::from(victim) * self.shape.zone_sectors;
        self.due.push_back(HostCommand::new(
            HostOp::Zone(ZoneOp::One(ZoneAction::Reset)),
            start,
            0,
        ));
        self.empty.push_back(victim);
    }

    fn sector(&self, slot: u32) -> u64 {
        let Shape { units_per_zone, zone_sectors, unit_sectors, .. } = self.shape;
        let (zone, place) = (slot / units_per_zone, slot % units_per_zone);
        u64::from(zone) * zone_sectors + u64::from(place) * u64::from(unit_sectors)
    }

    /// Appends a unit to the open zone, which has room.
    fn append(&mut self, unit: u32, op: ZoneOp) {
        let (zone, place) = self.open.expect("a zone is open");
        let slot = zone * self.shape.units_per_zone + place;
        let old = std::mem::replace(&mut self.slots[unit as usize], slot);
        if old != NONE {
            self.live[(old / self.shape.units_per_zone) as usize] -= 1;
        }
        self.owners[slot as usize] = unit;
        self.live[zone as usize] += 1;
        let start = u64::from(zone) * self.shape.zone_sectors;
        self.due.push_back(HostCommand::new(HostOp::Zone(op), start, self.shape.unit_sectors));
        self.open = Some((zone, place + 1)).filter(|_| place + 1 < self.shape.units_per_zone);
        if self.open.is_none() {
            self.full.push_back(zone);
        }
    }
}

/// A host that several stages share, one after the other.
#[derive(Clone)]
pub(crate) struct SharedLog(Arc<Mutex<HostLog>>);

impl Generator for SharedLog {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = batch.len() + count;
        while batch.len() < limit {
            match log.due.pop_front() {
                Some(command) => batch.push(command),
                None => log.write(),
            }
        }
    }

    fn unissued(&mut self, commands: &[HostCommand]) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for command in commands.iter().rev() {
            log.due.push_front(*command);
        }
    }

    fn retarget(&mut self, _: &mut HostCommand) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::workload::size::SizeMix;
    use crate::workload::synthetic::OpMix;

    const ZONES: ZoneSpace =
        ZoneSpace { zone_bytes: 20 * 4096, capacity_bytes: 16 * 4096, open_max: 1, active_max: 1 };

    fn start(config: &HostLogConfig, zones: u64) -> SharedLog {
        config.check_zones(zones * ZONES.zone_bytes, ZONES, 4096).expect("a log that fits");
        let rng = || Rng::stream(1, "log");
        let trim = HostOp::Trim;
        let parts = SyntheticParts {
            extent: Extent { sector_count: zones * 20 * 8, align_sectors: 8 },
            zones: Some(ZONES),
            sizes: SizeMix::new(&serde_json::from_str("4096").expect("a size"), rng()),
            operations: OpMix { read_share: 0.0, read_trim_share: 0.0, trim, rng: rng() },
            arrivals: None,
            offsets: None,
            address_rng: rng(),
            retarget_rng: rng(),
        };
        config.start(parts, 1)
    }

    /// Compares with a separate model of the zones: no append to a full zone, no reset of live
    /// data.
    #[test]
    fn every_unit_is_where_the_host_believes() {
        for reclaim in [Reclaim::Greedy, Reclaim::Fifo] {
            for free_zones in [1, 3] {
                let config = HostLogConfig { free_zones, reclaim, ..HostLogConfig::default() };
                let mut log = start(&config, 12);
                let mut commands = Vec::new();
                log.fill(&mut commands, 20_000);
                let mut written = [0_u64; 12];
                let (mut user, mut moved) = (0, 0);
                for command in &commands[1..] {
                    let zone = (command.sector / 160) as usize;
                    match command.op {
                        HostOp::Zone(ZoneOp::Append | ZoneOp::Relocate) => {
                            assert_eq!((command.sector % 160, command.sector_count), (0, 8));
                            written[zone] += 1;
                            assert!(written[zone] <= 16, "an append to a full zone");
                            let is_user = command.op == HostOp::Zone(ZoneOp::Append);
                            (user, moved) =
                                (user + u32::from(is_user), moved + u32::from(!is_user));
                        }
                        HostOp::Read => assert!(command.sector % 160 / 8 < written[zone]),
                        HostOp::Zone(ZoneOp::One(ZoneAction::Reset)) => {
                            assert_eq!(written[zone], 16, "a reset of a zone that is not full");
                            written[zone] = 0;
                        }
                        other => panic!("{other:?}"),
                    }
                    let begun = written.iter().filter(|&&pages| pages > 0 && pages < 16).count();
                    assert!(begun <= 1, "{begun} active zones");
                }
                let inner = log.0.lock().expect("not poisoned");
                let in_place = |unit: &usize| inner.owners[inner.slots[*unit] as usize];
                assert!((0..inner.slots.len()).all(|unit| in_place(&unit) == unit as u32));
                assert_eq!(inner.live.iter().sum::<u32>(), inner.shape.units);
                assert!(moved > 0 && user > 2000, "{user} {moved}");
            }
        }
    }

    #[test]
    fn commands_that_were_not_issued_come_again() {
        let (mut whole, mut cut) = (Vec::new(), Vec::new());
        start(&HostLogConfig::default(), 10).fill(&mut whole, 4000);
        let mut log = start(&HostLogConfig::default(), 10);
        while cut.len() < 4000 {
            let mut batch = Vec::new();
            log.fill(&mut batch, 100);
            log.unissued(&batch[40..]);
            cut.extend_from_slice(&batch[..40]);
        }
        assert_eq!(whole, cut);
    }

    #[test]
    fn logs_that_zones_do_not_hold_are_refused() {
        let check = |config: HostLogConfig, zones: u64, unit: u64| {
            let refused = config.check_zones(zones * ZONES.zone_bytes, ZONES, unit);
            refused.expect_err("a refusal").to_string()
        };
        let plain = HostLogConfig::default;
        assert!(check(plain(), 10, 3 * 4096).contains("do not fill the 65536 B of a zone"));
        assert!(check(plain(), 2, 4096).contains("free_zones"));
        assert!(check(HostLogConfig { free_zones: 0, ..plain() }, 9, 4096).contains("1 to 7"));
        let full = HostLogConfig { live_share: 0.9999, ..plain() };
        assert!(check(full, 9, 4096).contains("leave none to reclaim; accepted: at most 0.99"));
        let bare = HostLogConfig { live_share: 1e-6, ..plain() };
        assert!(check(bare, 9, 4096).contains("less than two"));
    }
}
