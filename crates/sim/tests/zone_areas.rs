//! Random write areas of zones: the state machine next to a model that keeps an array of each zone,
//! the flash that they save, their time, and the images that keep them.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::ftl::zones::{AreaLimits, ZoneAction, ZoneLimits, ZoneStatus, Zones};
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Begun, Pace, Refusal, Request, Session};
use opennandlab_sim::testing::{merge, run};
use opennandlab_sim::timed::Observation;
use opennandlab_sim::units::Ns;
use serde_json::{json, Value};

const PAGE: u64 = 4096;

/// A zone as an array: what became of each page.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Page {
    Never,
    Kept,
    Flash,
}

struct Row {
    state: &'static str,
    pointer: u32,
    has_area: bool,
    pages: Vec<Page>,
    /// When it was opened by a write.
    since: u64,
}

/// Zones with areas as the text has them, nothing counted in advance.
struct Model {
    limits: ZoneLimits,
    area: AreaLimits,
    rows: Vec<Row>,
    clock: u64,
}

type Outcome = Result<(), ZoneStatus>;

impl Model {
    fn new(limits: ZoneLimits) -> Self {
        let row = |_| Row {
            state: "ZSE",
            pointer: 0,
            has_area: false,
            pages: vec![Page::Never; limits.capacity_pages as usize],
            since: 0,
        };
        let rows = (0..limits.zone_count).map(row).collect();
        Self { limits, area: limits.area.expect("areas"), rows, clock: 0 }
    }

    fn count(&self, states: &[&str]) -> u32 {
        self.rows.iter().filter(|row| states.contains(&row.state)).count() as u32
    }

    fn open(&mut self, zone: usize, state: &'static str, takes_area: bool) -> Outcome {
        let is_new = self.rows[zone].state == "ZSE";
        if is_new && self.count(&["ZSIO", "ZSEO", "ZSC"]) == self.limits.active_max {
            return Err(ZoneStatus::TooManyActiveZones);
        }
        let is_full = self.count(&["ZSIO", "ZSEO"]) == self.limits.open_max;
        let implicit = (0..self.rows.len()).filter(|&it| self.rows[it].state == "ZSIO");
        let oldest = implicit.min_by_key(|&it| self.rows[it].since);
        if is_full && oldest.is_none() {
            return Err(ZoneStatus::TooManyOpenZones);
        }
        let areas = self.rows.iter().filter(|row| row.has_area).count();
        if takes_area && areas == self.area.count as usize {
            return Err(ZoneStatus::ZrwaUnavailable);
        }
        if let (true, Some(oldest)) = (is_full, oldest) {
            self.rows[oldest].state = "ZSC";
        }
        self.clock += 1;
        let row = &mut self.rows[zone];
        (row.state, row.since, row.has_area) = (state, self.clock, row.has_area || takes_area);
        Ok(())
    }

    fn may_write(&mut self, zone: usize) -> Outcome {
        match self.rows[zone].state {
            "ZSF" => Err(ZoneStatus::ZoneIsFull),
            _ => Ok(()),
        }
    }

    fn ensure_open(&mut self, zone: usize) -> Outcome {
        match self.rows[zone].state {
            "ZSIO" | "ZSEO" => Ok(()),
            _ => self.open(zone, "ZSIO", false),
        }
    }

    /// The pointer moves to a place: all before it is on the flash.
    fn advance(&mut self, zone: usize, pointer: u32) {
        let row = &mut self.rows[zone];
        row.pages[row.pointer as usize..pointer as usize].fill(Page::Flash);
        row.pointer = pointer;
        if pointer == self.limits.capacity_pages {
            (row.state, row.has_area) = ("ZSF", false);
        }
    }

    fn write(&mut self, zone: usize, place: u32, count: u32) -> Outcome {
        self.may_write(zone)?;
        let (pointer, size) = (self.rows[zone].pointer, self.area.pages);
        let end = place + count;
        let has_area = self.rows[zone].has_area;
        let fits = if has_area {
            (pointer..=pointer + 2 * size).contains(&place) && end <= pointer + 2 * size
        } else {
            place == pointer
        };
        if !fits {
            return Err(ZoneStatus::ZoneInvalidWrite);
        }
        if end > self.limits.capacity_pages {
            return Err(ZoneStatus::ZoneBoundaryError);
        }
        self.ensure_open(zone)?;
        if !has_area {
            self.advance(zone, end);
            return Ok(());
        }
        self.rows[zone].pages[place as usize..end as usize].fill(Page::Kept);
        let mut next = pointer;
        while next + size < end {
            next += self.area.granularity;
        }
        self.advance(zone, next);
        Ok(())
    }

    fn flush(&mut self, zone: usize, place: u32) -> Outcome {
        let row = &self.rows[zone];
        let limit = (row.pointer + self.area.pages).min(self.limits.capacity_pages);
        if !row.has_area || !(row.pointer..limit).contains(&place) {
            return Err(ZoneStatus::InvalidZoneOperation);
        }
        if !(place + 1 - row.pointer).is_multiple_of(self.area.granularity) {
            return Err(ZoneStatus::InvalidField);
        }
        self.ensure_open(zone)?;
        self.advance(zone, place + 1);
        Ok(())
    }

    fn act(&mut self, zone: usize, action: ZoneAction) -> Outcome {
        let (state, has_area) = (self.rows[zone].state, self.rows[zone].has_area);
        let is_active = ["ZSIO", "ZSEO", "ZSC"].contains(&state);
        match action {
            ZoneAction::OpenZrwa if is_active && !has_area => {
                return Err(ZoneStatus::InvalidZoneOperation)
            }
            ZoneAction::Open | ZoneAction::OpenZrwa => match state {
                "ZSE" => self.open(zone, "ZSEO", action == ZoneAction::OpenZrwa)?,
                "ZSC" => self.open(zone, "ZSEO", false)?,
                "ZSIO" | "ZSEO" => self.rows[zone].state = "ZSEO",
                _ => return Err(ZoneStatus::InvalidZoneStateTransition),
            },
            ZoneAction::Close if is_active => self.rows[zone].state = "ZSC",
            ZoneAction::Finish => {
                let pages = &self.rows[zone].pages;
                let last = pages.iter().rposition(|&page| page == Page::Kept);
                if let Some(last) = last {
                    self.advance(zone, last as u32 + 1);
                }
                let row = &mut self.rows[zone];
                (row.state, row.has_area) = ("ZSF", false);
            }
            ZoneAction::Reset => {
                let row = &mut self.rows[zone];
                (row.state, row.pointer, row.has_area) = ("ZSE", 0, false);
                row.pages.fill(Page::Never);
            }
            _ => return Err(ZoneStatus::InvalidZoneStateTransition),
        }
        Ok(())
    }
}

/// The zones put what is due on the flash, in order.
fn commit(zones: &mut Zones, zone: u32) {
    while let Some((page, _)) = zones.due(zone) {
        assert_eq!(page, zones.report(zone).write_pointer);
        zones.commit(zone);
    }
}

fn command(zones: &mut Zones, model: &mut Model, rng: &mut Rng) -> [Outcome; 2] {
    let limits = model.limits;
    let zone = rng.below(limits.zone_count.into()) as u32;
    let (row, start) = (&model.rows[zone as usize], zone * limits.zone_pages);
    let near = row.pointer + rng.below(u64::from(2 * model.area.pages) + 2) as u32;
    let place = near.saturating_sub(rng.below(10) as u32 / 9).min(limits.zone_pages - 1);
    let count = 1 + rng.below(4) as u32;
    let at = zone as usize;
    // Else most zones would be full.
    let drawn = if row.state == "ZSF" && rng.below(2) == 0 { 100 } else { rng.below(100) };
    let found = match drawn {
        100 => [zones.act(zone, ZoneAction::Reset).map(|_| ()), model.act(at, ZoneAction::Reset)],
        0..55 => {
            let pointer = row.pointer.min(limits.zone_pages - 1);
            let place = if row.has_area { place } else { pointer };
            [zones.write(start + place, count), model.write(at, place, count)]
        }
        55..60 => {
            let expected = model.may_write(at).and_then(|()| {
                let (pointer, has_area) = (model.rows[at].pointer, model.rows[at].has_area);
                if has_area {
                    return Err(ZoneStatus::InvalidZoneOperation);
                }
                model.write(at, pointer, count)
            });
            [zones.append(start, count).map(|_| ()), expected]
        }
        60..75 => [zones.flush_area(start + place).map(|_| ()), model.flush(at, place)],
        _ => {
            let action = [
                ZoneAction::OpenZrwa,
                ZoneAction::OpenZrwa,
                ZoneAction::OpenZrwa,
                ZoneAction::OpenZrwa,
                ZoneAction::Open,
                ZoneAction::Close,
                ZoneAction::Finish,
                ZoneAction::Reset,
                ZoneAction::Offline,
            ][rng.below(9) as usize];
            [zones.act(zone, action).map(|_| ()), model.act(at, action)]
        }
    };
    commit(zones, zone);
    found
}

#[test]
fn random_commands_agree_with_an_array_of_each_zone() {
    let mut met = std::collections::BTreeMap::new();
    for case in 0..40 {
        let mut rng = Rng::stream(case, "areas");
        let granularity = 1 + rng.below(3) as u32;
        let capacity_pages = granularity * (6 + rng.below(10) as u32);
        let open_max = 1 + rng.below(4) as u32;
        let active_max = open_max + rng.below(3) as u32;
        let limits = ZoneLimits {
            zone_count: 3 + rng.below(8) as u32,
            zone_pages: capacity_pages + rng.below(5) as u32,
            capacity_pages,
            open_max,
            active_max,
            area: Some(AreaLimits {
                count: 1 + rng.below(2) as u32,
                pages: granularity * (1 + rng.below(5) as u32),
                granularity,
            }),
        };
        let (mut zones, mut model) = (Zones::new(limits), Model::new(limits));
        for step in 0..2500 {
            let [found, expected] = command(&mut zones, &mut model, &mut rng);
            assert_eq!(found, expected, "case {case}, command {step}");
            *met.entry(found.err().map(|it| it.to_string())).or_insert(0) += 1;
            for (row, model) in zones.reports().zip(&model.rows) {
                let kept: Vec<bool> = (row.start..row.start + limits.capacity_pages)
                    .map(|it| zones.keeps(it))
                    .collect();
                let expected: Vec<bool> = model.pages.iter().map(|&it| it == Page::Kept).collect();
                assert_eq!(kept, expected, "case {case}, command {step}, zone {}", row.zone);
                let found = (row.write_pointer - row.start, row.has_area);
                assert_eq!(found, (model.pointer, model.has_area), "case {case}, command {step}");
            }
            let states = [&["ZSIO", "ZSEO"][..], &["ZSIO", "ZSEO", "ZSC"]];
            assert_eq!(zones.in_use(), states.map(|it| model.count(it)));
        }
    }
    // Success, and every status but those of failed zones, a read, and a page beyond the last.
    assert_eq!(met.len(), 10, "{met:?}");
    assert!(met.values().all(|&count| count > 100), "{met:?}");
}

/// Two dies of 24 blocks of 16 pages, zones of 64 pages, 48 of them to be written; two areas of 16
/// pages, which are flushed by 4.
fn device(more: &Value) -> Value {
    let mut device = json!({
        "nand": {"channels": 1, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 24,
                 "pages_per_block": 16},
        "ftl": {"over_provisioning_pct": 0.1, "mapping": {
            "kind": "zoned", "zone_bytes": 64 * PAGE, "zone_capacity_bytes": 48 * PAGE,
            "open_zones_max": 3, "active_zones_max": 5,
            "zrwa": {"areas": 2, "size_bytes": 16 * PAGE, "flush_granularity_bytes": 4 * PAGE}}},
    });
    merge(&mut device, more);
    device
}

/// Steps of a host, once.
fn metrics(device: &Value, steps: &Value, timed: bool, ios: u64) -> (Value, Simulation) {
    let workload = json!({
        "pattern": {"kind": "zone_actions", "steps": steps}, "timed": timed, "queue_depth": 1,
        "total": {"ios": ios}, "block_size_bytes": PAGE,
    });
    let simulation = run(device, &workload, Observation::default());
    let outcome = simulation.outcome();
    assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
    (outcome["metrics"].clone(), simulation)
}

/// The whole area is written `times` times, and flushed once.
fn overwrites(times: u64) -> Value {
    let mut steps = vec![json!({"do": "open_zrwa"})];
    steps.extend((0..times).map(|_| json!({"do": "write", "count": 16, "at": 0})));
    steps.push(json!({"do": "flush_zrwa", "at": 15}));
    json!(steps)
}

/// N writes of an area before its flush program it once: flash over host writes is 1/N.
#[test]
fn overwrites_of_an_area_cost_no_flash() {
    for times in [1, 2, 5, 8] {
        for timed in [false, true] {
            let ios = 2 + 16 * times;
            let (found, simulation) = metrics(&device(&json!({})), &overwrites(times), timed, ios);
            assert_eq!(found["waf"], 1.0 / times as f64, "{times} {timed}");
            let areas = &found["zones"]["zrwa"];
            assert_eq!(areas["overwritten_bytes"], 16 * (times - 1) * PAGE);
            assert_eq!((&areas["held_bytes"], &areas["in_use"]), (&json!(0), &json!(1)));
            simulation.audit().expect("a sound drive");
        }
    }
}

/// A hole behind the pointer is filled, and counts as programmed, not as written.
#[test]
fn pages_that_were_never_written_are_filled() {
    let steps = json!([
        {"do": "open_zrwa"},
        {"do": "write", "at": 3},
        {"do": "write", "at": 6},
        {"do": "flush_zrwa", "at": 3},
        {"do": "finish"},
    ]);
    for timed in [false, true] {
        let (found, simulation) = metrics(&device(&json!({})), &steps, timed, 5);
        let areas = &found["zones"]["zrwa"];
        assert_eq!((&areas["filled_bytes"], &areas["in_use"]), (&json!(5 * PAGE), &json!(0)));
        assert_eq!(found["zones"]["report"][0]["written_bytes"], 7 * PAGE);
        assert_eq!(found["waf"], 3.5, "seven pages for two");
        simulation.audit().expect("a sound drive");
    }
}

/// A write that an area takes costs what one costs that a write buffer takes.
#[test]
fn a_write_into_an_area_takes_the_time_of_a_buffered_write() {
    let steps = json!([{"do": "open_zrwa"}, {"do": "write", "count": 8, "at": 0}]);
    let link = json!({"host": {"link": {"kind": "custom", "mb_s": 1024}}});
    let (areas, _) = metrics(&device(&link), &steps, true, 9);
    let mut plain = device(&link);
    plain["ftl"] = json!({"over_provisioning_pct": 0.3, "write_buffer_pages": 32});
    let workload = json!({"pattern": "sequential", "timed": true, "queue_depth": 1,
                          "total": {"ios": 8}, "block_size_bytes": PAGE});
    let buffered = run(&plain, &workload, Observation::default()).outcome()["metrics"].take();
    let latency = |metrics: &Value| metrics["latency_us"]["write"]["max"].clone();
    // 4096 bytes over the link.
    assert_eq!((latency(&areas), latency(&buffered)), (json!(4.0), json!(4.0)));
}

/// A host that never stops is slowed to what the dies program: areas are memory, no more.
#[test]
fn implicit_flushes_keep_the_pace_of_the_dies() {
    let more = json!({"nand": {"timing": {"t_program_us": 1000}}});
    let steps = json!([{"do": "open_zrwa"}, {"do": "write", "count": 48}]);
    let (found, _) = metrics(&device(&more), &steps, true, 49);
    // 48 written, 32 fit into memory: two dies program 16 before the last is taken.
    let seconds = found["duration_s"].as_f64().expect("a number");
    assert!((0.008..0.0085).contains(&seconds), "{seconds}");
    assert_eq!(found["zones"]["zrwa"]["held_bytes"], 16 * PAGE);
    assert_eq!(found["zones"]["report"][0]["written_bytes"], 32 * PAGE);
}

#[test]
fn areas_that_cannot_be_are_refused_by_their_key() {
    for (key, value, accepted) in [
        ("areas", 0, "1 to active_zones_max"),
        ("areas", 6, "1 to active_zones_max"),
        ("size_bytes", 18 * PAGE, "a multiple of 16384"),
        ("size_bytes", 52 * PAGE, "at most 196608"),
        ("size_bytes", 0, "a multiple of 16384"),
        ("flush_granularity_bytes", 512, "a multiple of 4096"),
        ("flush_granularity_bytes", 5 * PAGE, "that divides 196608"),
        ("flush_granularity_bytes", 0, "a multiple of 4096"),
    ] {
        let device = device(&json!({"ftl": {"mapping": {"zrwa": {key: value}}}}));
        let error = DeviceConfig::resolve(&device.to_string()).expect_err(key).to_string();
        assert!(error.contains(&format!("ftl.mapping.zrwa.{key}")), "{error}");
        assert!(error.contains(accepted), "{key} {value}: {error}");
    }
    // Without zones there is no such key.
    let none = json!({"ftl": {"mapping": {"kind": "page", "zrwa": {"areas": 1}}}}).to_string();
    let error = DeviceConfig::resolve(&none).expect_err("no zones").to_string();
    assert!(error.contains("zrwa"), "{error}");
}

/// A drive with the key, of which no zone has an area, does what it does without.
#[test]
fn zones_without_an_area_are_as_before() {
    let mut without = device(&json!({}));
    without["ftl"]["mapping"].as_object_mut().expect("an object").remove("zrwa");
    let steps = json!([{"do": "write", "count": 40}, {"do": "append", "zone": 1, "count": 9},
                       {"do": "reset"}, {"do": "finish", "zone": 1}]);
    for timed in [false, true] {
        let (with, _) = metrics(&device(&json!({})), &steps, timed, 102);
        let (without, _) = metrics(&without, &steps, timed, 102);
        let mut with = with;
        with["zones"].as_object_mut().expect("zones").remove("zrwa");
        assert_eq!(with, without);
    }
}

/// Carries out a request of an untimed session.
fn ask(session: &mut Session, request: Request<'_>) -> Result<Begun, Refusal> {
    session.begin(Ns(0), 1, request, &mut Vec::new())
}

fn put(session: &mut Session, page: u64, value: u8) -> Result<Begun, Refusal> {
    let bytes = &[value; PAGE as usize][..];
    ask(
        session,
        Request::Write {
            offset: page * PAGE,
            bytes,
            is_fua: value.is_multiple_of(2),
            placement: 0,
        },
    )
}

fn value_at(session: &mut Session, page: u64) -> u8 {
    let mut bytes = [0; PAGE as usize];
    session.read(page * PAGE, &mut bytes).expect("sound data");
    assert!(bytes.iter().all(|&it| it == bytes[0]), "one value");
    bytes[0]
}

fn zoned(pace: Pace) -> Session {
    let device = DeviceConfig::resolve(&device(&json!({})).to_string()).expect("a device");
    Session::with_zones(Simulation::new(device, 1), pace).expect("it may have zones")
}

/// What an area holds, written out of order, is in the image of the drive, and in one that is made
/// while it is served.
#[test]
fn images_keep_what_areas_hold() {
    let mut session = zoned(Pace::Untimed);
    ask(&mut session, Request::Zone(ZoneAction::OpenZrwa, Some(0))).expect("a first area");
    for (page, value) in [(7, 1), (2, 2), (7, 3), (0, 4)] {
        put(&mut session, page, value).expect("in the area");
    }
    ask(&mut session, Request::Flush).expect("a flush moves no pointer");
    let expected = [4, 0, 2, 0, 0, 0, 0, 3, 0];
    let mut images = Vec::new();
    let mut snapshot = session.snapshot(opennandlab_sim::drive::Service::default());
    let mut served = snapshot.head.clone();
    while session.copy_units(&mut snapshot, &mut served).expect("its units") {}
    served.extend(&snapshot.tail);
    images.push(served);
    session.settle();
    let mut settled = Vec::new();
    session.save(&mut settled).expect("it is saved");
    images.push(settled);
    for image in images {
        for pace in [Pace::Untimed, Pace::Timed] {
            let simulation = Simulation::from_image(&image, 1).expect("an image");
            let mut session = Session::with_zones(simulation, pace).expect("zones");
            session.load_contents(&image).expect("contents");
            let found: Vec<u8> = (0..9).map(|page| value_at(&mut session, page)).collect();
            assert_eq!(found, expected);
            let zones = session.zones().expect("zones");
            assert!(zones.has_area(0) && zones.kept() == 3 && zones.written(0) == 0);
            session.audit().expect("a sound drive");
        }
    }
    // From there it goes to the flash.
    let last = 3 * PAGE;
    ask(&mut session, Request::Zone(ZoneAction::FlushZrwa, Some(last))).expect("aligned");
    assert_eq!(session.status()["zones"]["zrwa"]["held_bytes"], PAGE);
    let found: Vec<u8> = (0..9).map(|page| value_at(&mut session, page)).collect();
    assert_eq!(found, expected);
    assert_eq!(session.status()["unaccounted"], Value::Null);
    // A reset drops what is left, and the flash has none of it.
    ask(&mut session, Request::Zone(ZoneAction::Reset, Some(0))).expect("a reset");
    assert!((0..9).all(|page| value_at(&mut session, page) == 0));
    assert_eq!(session.status()["zones"]["zrwa"]["dropped_bytes"], PAGE);
    assert_eq!(session.status()["unaccounted"], Value::Null);
    session.audit().expect("a sound drive");
}

/// A zone whose flash fails can be read still, memory included; it takes no more.
#[test]
fn what_the_flash_does_not_take_can_be_read() {
    let worn = device(&json!({"nand": {"max_pe_cycles": 2, "wear_out": "retire"}}));
    let worn = DeviceConfig::resolve(&worn.to_string()).expect("a device");
    let mut session = Session::with_zones(Simulation::new(worn, 1), Pace::Untimed).expect("zones");
    for round in 0..400 {
        let zone = round % 8 * 64;
        ask(&mut session, Request::Zone(ZoneAction::OpenZrwa, Some(zone * PAGE))).expect("an area");
        let wrote: Vec<_> = (0..24).map(|page| put(&mut session, zone + page, 7)).collect();
        if wrote.iter().all(Result::is_ok) {
            ask(&mut session, Request::Zone(ZoneAction::Reset, Some(zone * PAGE)))
                .expect("a reset");
            continue;
        }
        let first = wrote.iter().position(Result::is_err).expect("one failed") as u64;
        assert!((0..=first).all(|page| value_at(&mut session, zone + page) == 7));
        assert_eq!(put(&mut session, zone + first, 8), Err(ZoneStatus::ZoneIsReadOnly.into()));
        let asked = Request::Zone(ZoneAction::FlushZrwa, Some((zone + first) * PAGE));
        assert_eq!(ask(&mut session, asked), Err(ZoneStatus::ZoneIsReadOnly.into()));
        assert_eq!(session.status()["unaccounted"], Value::Null);
        session.audit().expect("a sound drive");
        return;
    }
    panic!("blocks wear out");
}
