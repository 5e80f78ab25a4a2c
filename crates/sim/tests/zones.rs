//! The state machine of zones next to a plain model that counts everything again at each command.

use std::collections::BTreeMap;

use opennandlab_sim::ftl::zones::{ZoneAction, ZoneLimits, ZoneState, ZoneStatus, Zones};
use opennandlab_sim::rng::Rng;

const ACTIONS: [ZoneAction; 5] = [
    ZoneAction::Open,
    ZoneAction::Close,
    ZoneAction::Finish,
    ZoneAction::Reset,
    ZoneAction::Offline,
];

/// Zones as rows of a table: state by its letters in the specification, pages written, and when it
/// was opened implicitly.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    limits: ZoneLimits,
    rows: BTreeMap<u32, (&'static str, u32, u64)>,
    clock: u64,
}

impl Model {
    fn new(limits: ZoneLimits) -> Self {
        let rows = (0..limits.zone_count).map(|zone| (zone, ("ZSE", 0, 0))).collect();
        Self { limits, rows, clock: 0 }
    }

    fn count(&self, states: &[&str]) -> u32 {
        self.rows.values().filter(|row| states.contains(&row.0)).count() as u32
    }

    fn state(&self, zone: u32) -> &'static str {
        self.rows[&zone].0
    }

    fn become_(&mut self, zone: u32, state: &'static str) {
        self.clock += 1;
        let row = self.rows.get_mut(&zone).expect("a zone");
        row.0 = state;
        row.2 = self.clock;
    }

    /// Table of the transitions to an open zone, with their resources.
    fn open(&mut self, zone: u32, state: &'static str) -> Result<(), &'static str> {
        let before = self.state(zone);
        if before == "ZSE" && self.count(&["ZSIO", "ZSEO", "ZSC"]) >= self.limits.active_max {
            return Err("Too Many Active Zones");
        }
        if self.count(&["ZSIO", "ZSEO"]) >= self.limits.open_max {
            let implicit = self.rows.iter().filter(|(_, row)| row.0 == "ZSIO");
            let oldest = implicit.min_by_key(|(_, row)| row.2).map(|(&zone, _)| zone);
            match oldest {
                Some(oldest) => self.become_(oldest, "ZSC"),
                None => return Err("Too Many Open Zones"),
            }
        }
        self.become_(zone, state);
        Ok(())
    }

    fn put(&mut self, zone: u32, count: u32) -> Result<(), &'static str> {
        let (state, written, _) = self.rows[&zone];
        if written + count > self.limits.capacity_pages {
            return Err("Zone Boundary Error");
        }
        if state == "ZSE" || state == "ZSC" {
            self.open(zone, "ZSIO")?;
        }
        self.rows.get_mut(&zone).expect("a zone").1 += count;
        if written + count == self.limits.capacity_pages {
            self.become_(zone, "ZSF");
        }
        Ok(())
    }

    fn refusal(&self, zone: u32) -> Result<(), &'static str> {
        match self.state(zone) {
            "ZSF" => Err("Zone Is Full"),
            "ZSRO" => Err("Zone Is Read Only"),
            "ZSO" => Err("Zone Is Offline"),
            _ => Ok(()),
        }
    }

    fn write(&mut self, page: u32, count: u32) -> Result<(), &'static str> {
        let (zone, place) = (page / self.limits.zone_pages, page % self.limits.zone_pages);
        if zone >= self.limits.zone_count {
            return Err("LBA Out of Range");
        }
        self.refusal(zone)?;
        if place != self.rows[&zone].1 {
            return Err("Zone Invalid Write");
        }
        self.put(zone, count)
    }

    fn append(&mut self, page: u32, count: u32) -> Result<u32, &'static str> {
        let (zone, place) = (page / self.limits.zone_pages, page % self.limits.zone_pages);
        if zone >= self.limits.zone_count {
            return Err("LBA Out of Range");
        }
        if place > 0 {
            return Err("Invalid Field in Command");
        }
        self.refusal(zone)?;
        let at = page + self.rows[&zone].1;
        self.put(zone, count).map(|()| at)
    }

    fn read(&self, page: u32, count: u32) -> Result<(), &'static str> {
        let pages = self.limits.zone_count * self.limits.zone_pages;
        if page >= pages {
            return Err("LBA Out of Range");
        }
        let zone = page / self.limits.zone_pages;
        if self.state(zone) == "ZSO" {
            return Err("Zone Is Offline");
        }
        if page + count > pages {
            return Err("LBA Out of Range");
        }
        if (page + count - 1) / self.limits.zone_pages != zone {
            return Err("Zone Boundary Error");
        }
        Ok(())
    }

    fn act(&mut self, zone: u32, action: ZoneAction) -> Result<(), &'static str> {
        let before = self.state(zone);
        let (accepted, after): (&[&str], _) = match action {
            ZoneAction::Open => (&["ZSE", "ZSIO", "ZSEO", "ZSC"], "ZSEO"),
            ZoneAction::Close => (&["ZSIO", "ZSEO", "ZSC"], "ZSC"),
            ZoneAction::Finish => (&["ZSE", "ZSIO", "ZSEO", "ZSC", "ZSF"], "ZSF"),
            ZoneAction::Reset => (&["ZSE", "ZSIO", "ZSEO", "ZSC", "ZSF"], "ZSE"),
            ZoneAction::Offline => (&["ZSRO", "ZSO"], "ZSO"),
            ZoneAction::OpenZrwa | ZoneAction::FlushZrwa => unreachable!("see `zone_areas`"),
        };
        if !accepted.contains(&before) {
            return Err("Invalid Zone State Transition");
        }
        if before == after {
            return Ok(());
        }
        if action == ZoneAction::Open && before != "ZSIO" {
            return self.open(zone, "ZSEO");
        }
        self.become_(zone, after);
        if action == ZoneAction::Reset {
            self.rows.get_mut(&zone).expect("a zone").1 = 0;
        }
        Ok(())
    }

    fn act_on_all(&mut self, action: ZoneAction) -> Result<u32, &'static str> {
        let chosen: &[&str] = match action {
            ZoneAction::Open => &["ZSC"],
            ZoneAction::Close => &["ZSIO", "ZSEO"],
            ZoneAction::Finish => &["ZSIO", "ZSEO", "ZSC"],
            ZoneAction::Reset => &["ZSIO", "ZSEO", "ZSC", "ZSF"],
            ZoneAction::Offline => &["ZSRO"],
            ZoneAction::OpenZrwa | ZoneAction::FlushZrwa => unreachable!("see `zone_areas`"),
        };
        let zones: Vec<u32> =
            self.rows.iter().filter(|(_, row)| chosen.contains(&row.0)).map(|it| *it.0).collect();
        let open = self.count(&["ZSIO", "ZSEO"]) as usize;
        if action == ZoneAction::Open && open + zones.len() > self.limits.open_max as usize {
            return Err("Too Many Open Zones");
        }
        for &zone in &zones {
            self.act(zone, action)?;
        }
        Ok(zones.len() as u32)
    }
}

fn name(state: ZoneState) -> &'static str {
    match state {
        ZoneState::Empty => "ZSE",
        ZoneState::ImplicitlyOpen => "ZSIO",
        ZoneState::ExplicitlyOpen => "ZSEO",
        ZoneState::Closed => "ZSC",
        ZoneState::Full => "ZSF",
        ZoneState::ReadOnly => "ZSRO",
        ZoneState::Offline => "ZSO",
    }
}

fn text<T>(outcome: Result<T, ZoneStatus>) -> Result<T, String> {
    outcome.map_err(|status| status.to_string())
}

fn rows(zones: &Zones) -> Vec<(&'static str, u32)> {
    zones.reports().map(|row| (name(row.state), row.write_pointer - row.start)).collect()
}

/// What a command did, as the zones and as the model have it.
type Outcomes = [Result<u32, String>; 2];

fn command(zones: &mut Zones, model: &mut Model, rng: &mut Rng) -> Outcomes {
    let limits = model.limits;
    let zone = rng.below(limits.zone_count.into()) as u32;
    let count = 1 + rng.below(4) as u32;
    let own = |outcome: Result<u32, &'static str>| outcome.map_err(str::to_owned);
    let action = ACTIONS[rng.below(5) as usize];
    match rng.below(100) {
        // At the write pointer, mostly.
        0..40 => {
            let skip = if rng.below(8) == 0 { rng.below(3) as u32 } else { 0 };
            let page = zone * limits.zone_pages + model.rows[&zone].1 + skip;
            [text(zones.write(page, count)).map(|()| 0), own(model.write(page, count).map(|()| 0))]
        }
        40..65 => {
            let inside = u32::from(rng.below(10) == 0);
            let page = zone * limits.zone_pages + inside;
            [text(zones.append(page, count)), own(model.append(page, count))]
        }
        65..70 => {
            let page = rng.below(u64::from(limits.zone_count * limits.zone_pages) + 3) as u32;
            [text(zones.read(page, count)).map(|()| 0), own(model.read(page, count).map(|()| 0))]
        }
        70..97 => {
            let done = text(zones.act(zone, action)).map(|_| 0);
            [done, own(model.act(zone, action).map(|()| 0))]
        }
        97 => [text(zones.act_on_all(action)), own(model.act_on_all(action))],
        98 => {
            // Beyond the end.
            let page = limits.zone_count * limits.zone_pages + count;
            [text(zones.write(page, 1)).map(|()| 0), own(model.write(page, 1).map(|()| 0))]
        }
        _ => {
            // Rarely: else all zones are lost soon.
            if rng.below(40) == 0 {
                zones.fail(zone, ZoneState::ReadOnly);
                if model.state(zone) != "ZSO" {
                    model.become_(zone, "ZSRO");
                }
            }
            [Ok(0), Ok(0)]
        }
    }
}

#[test]
fn random_commands_agree_with_a_model_and_refused_ones_change_nothing() {
    let mut met: BTreeMap<String, u32> = BTreeMap::new();
    let mut done = 0;
    for case in 0..40 {
        let mut rng = Rng::stream(case, "zones");
        let capacity_pages = 2 + rng.below(12) as u32;
        let open_max = 1 + rng.below(5) as u32;
        let limits = ZoneLimits {
            zone_count: 3 + rng.below(20) as u32,
            zone_pages: capacity_pages + rng.below(5) as u32,
            capacity_pages,
            open_max,
            active_max: open_max + rng.below(4) as u32,
            area: None,
        };
        let (mut zones, mut model) = (Zones::new(limits), Model::new(limits));
        for step in 0..5000 {
            let before = rows(&zones);
            let [found, expected] = command(&mut zones, &mut model, &mut rng);
            assert_eq!(found, expected, "case {case}, command {step}");
            if let Err(status) = found {
                assert_eq!(rows(&zones), before, "case {case}, command {step}: {status}");
                *met.entry(status).or_default() += 1;
            }
            let expected: Vec<_> = model.rows.values().map(|row| (row.0, row.1)).collect();
            assert_eq!(rows(&zones), expected, "case {case}, command {step}");
            let counts = [model.count(&["ZSIO", "ZSEO"]), model.count(&["ZSIO", "ZSEO", "ZSC"])];
            assert_eq!(zones.in_use(), counts);
            assert!(counts[0] <= limits.open_max && counts[1] <= limits.active_max);
            done += 1;
        }
    }
    assert!(done >= 100_000, "{done} commands");
    assert_eq!(met.len(), 10, "every status is met: {met:?}");
    assert!(met.values().all(|&count| count > 100), "{met:?}");
}

/// What each command does to a zone in each state: the next state, or the status in hexadecimal, as
/// the text of the ZNS Command Set Specification 1.1 has it (2.1.1.2.1, 2.1.1.3, 3.4.1, 3.4.3.1).
const ANSWERS: &str = "
        write  append  read  open  close  finish  reset  offline
ZSE     ZSIO   ZSIO    ZSE   ZSEO  BF     ZSF     ZSE    BF
ZSIO    ZSIO   ZSIO    ZSIO  ZSEO  ZSC    ZSF     ZSE    BF
ZSEO    ZSEO   ZSEO    ZSEO  ZSEO  ZSC    ZSF     ZSE    BF
ZSC     ZSIO   ZSIO    ZSC   ZSEO  ZSC    ZSF     ZSE    BF
ZSF     B9     B9      ZSF   BF    BF     ZSF     ZSE    BF
ZSRO    BA     BA      ZSRO  BF    BF     BF      BF     ZSO
ZSO     BB     BB      BB    BF    BF     BF      BF     ZSO
";

#[test]
fn every_command_in_every_state_is_answered_as_the_text_says() {
    let limits = ZoneLimits {
        zone_count: 2,
        zone_pages: 10,
        capacity_pages: 8,
        open_max: 2,
        active_max: 2,
        area: None,
    };
    let zone_in = |state: &str| {
        let mut zones = Zones::new(limits);
        match state {
            "ZSE" => {}
            "ZSRO" => zones.fail(0, ZoneState::ReadOnly),
            "ZSO" => zones.fail(0, ZoneState::Offline),
            _ => {
                zones.write(0, 1).expect("an empty zone");
                let action = match state {
                    "ZSEO" => Some(ZoneAction::Open),
                    "ZSC" => Some(ZoneAction::Close),
                    "ZSF" => Some(ZoneAction::Finish),
                    _ => None,
                };
                action.map(|action| zones.act(0, action).expect("an open zone"));
            }
        }
        assert_eq!(name(zones.report(0).state), state);
        zones
    };
    let mut lines = ANSWERS.trim_matches('\n').lines();
    let commands: Vec<_> = lines.next().expect("a head").split_whitespace().collect();
    let mut rows = 0;
    for line in lines {
        let mut cells = line.split_whitespace();
        let state = cells.next().expect("a state");
        for (command, expected) in commands.iter().zip(cells) {
            let mut zones = zone_in(state);
            let written = zones.written(0);
            let outcome = match *command {
                "write" => zones.write(written, 1),
                "append" => zones.append(0, 1).map(|_| ()),
                "read" => zones.read(0, 1),
                "open" => zones.act(0, ZoneAction::Open).map(|_| ()),
                "close" => zones.act(0, ZoneAction::Close).map(|_| ()),
                "finish" => zones.act(0, ZoneAction::Finish).map(|_| ()),
                "reset" => zones.act(0, ZoneAction::Reset).map(|_| ()),
                _ => zones.act(0, ZoneAction::Offline).map(|_| ()),
            };
            let found = match outcome {
                Ok(()) => name(zones.report(0).state).to_owned(),
                Err(status) => format!("{:02X}", status.code().1),
            };
            assert_eq!(found, expected, "{command} in {state}");
            rows += 1;
        }
    }
    assert_eq!(rows, 7 * 8);
}

/// Which resource is told to be short: active ones where both are (2.1.1.4.1).
#[test]
fn short_resources_are_told_as_the_text_says() {
    for (open_max, active_max, expected) in [
        (1, 2, Err(ZoneStatus::TooManyOpenZones)),
        (2, 2, Ok(true)),
        (1, 1, Err(ZoneStatus::TooManyActiveZones)),
    ] {
        let limits = ZoneLimits {
            zone_count: 3,
            zone_pages: 4,
            capacity_pages: 4,
            open_max,
            active_max,
            area: None,
        };
        let mut zones = Zones::new(limits);
        zones.act(0, ZoneAction::Open).expect("an empty zone");
        assert_eq!(zones.act(1, ZoneAction::Open), expected, "{open_max} of {active_max}");
        // Finishing an empty zone takes neither.
        assert_eq!(zones.act(2, ZoneAction::Finish), Ok(true));
    }
}

#[test]
fn statuses_have_the_codes_of_the_specification() {
    let codes = [
        (ZoneStatus::InvalidZoneOperation, 0xB6),
        (ZoneStatus::ZrwaUnavailable, 0xB7),
        (ZoneStatus::ZoneBoundaryError, 0xB8),
        (ZoneStatus::ZoneIsFull, 0xB9),
        (ZoneStatus::ZoneIsReadOnly, 0xBA),
        (ZoneStatus::ZoneIsOffline, 0xBB),
        (ZoneStatus::ZoneInvalidWrite, 0xBC),
        (ZoneStatus::TooManyActiveZones, 0xBD),
        (ZoneStatus::TooManyOpenZones, 0xBE),
        (ZoneStatus::InvalidZoneStateTransition, 0xBF),
    ];
    for (status, code) in codes {
        assert_eq!(status.code(), (1, code), "{status}");
    }
}
