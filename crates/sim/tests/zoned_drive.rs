//! Drives with zones: commands and what they leave, in both executors; a host that keeps its own
//! log on zones.

use std::collections::BTreeMap;

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::ftl::zones::{ZoneAction, ZoneRequest, ZoneState, ZoneStatus};
use opennandlab_sim::ftl::{FlashSink, Ftl, FtlSnapshot, MoveRun, Volatile};
use opennandlab_sim::nand::{CellMode, Media};
use opennandlab_sim::op::{HostCommand, HostOp, Source, ZoneOp};
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::striping::DieRun;
use opennandlab_sim::testing::{merge, run, CheckedFlash};
use opennandlab_sim::timed::Observation;
use opennandlab_sim::units::{BlockId, DieId, Lpn, Ppn};
use opennandlab_sim::workload::{Admission, Generator, Job, Limit, Load, Stage, WorkloadConfig};
use serde_json::{json, Value};

/// Two dies of 24 blocks of 16 pages; a zone is two blocks of each: 64 pages.
fn device(ftl: &Value) -> Value {
    let mut device = json!({
        "nand": {"channels": 1, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 24,
                 "pages_per_block": 16},
        "ftl": {"over_provisioning_pct": 0.1, "mapping": {
            "kind": "zoned", "zone_bytes": 64 * 4096, "open_zones_max": 3, "active_zones_max": 5}},
    });
    merge(&mut device["ftl"], ftl);
    device
}

fn resolve(device: &Value) -> DeviceConfig {
    DeviceConfig::resolve(&device.to_string()).expect("a device")
}

/// A write of whole pages.
fn write(first: Lpn, count: u32) -> ZoneRequest {
    ZoneRequest { op: HostOp::Write, first, count, is_whole: true, tag: 0 }
}

/// A reset of the zone that begins at a page.
fn reset(first: Lpn) -> ZoneRequest {
    let op = HostOp::Zone(ZoneOp::One(ZoneAction::Reset));
    ZoneRequest { op, first, count: 0, is_whole: true, tag: 0 }
}

fn every_device() -> Vec<Value> {
    let superblocks = json!({"allocation": "superblock"});
    let smaller = json!({"mapping": {"zone_capacity_bytes": 41 * 4096}});
    let mut merged = superblocks.clone();
    merge(&mut merged, &smaller);
    let staggered = json!({"mapping": {"stagger": true}});
    let narrow = json!({"mapping": {"zone_dies": 1}});
    let mut both = json!({"mapping": {"zone_dies": 1, "stagger": true}});
    merge(&mut both, &smaller);
    [json!({}), superblocks, smaller, merged, staggered, narrow, both].iter().map(device).collect()
}

#[test]
fn a_log_of_zones_writes_each_page_once() {
    for mut device in every_device() {
        let capacity = &device["ftl"]["mapping"]["zone_capacity_bytes"];
        let capacity = if capacity.is_null() { json!(64 * 4096) } else { capacity.clone() };
        device["ftl"]["over_provisioning_pct"] = json!(0.2);
        let images = [false, true].map(|timed| {
            let workload = json!({
                "pattern": {"kind": "log_zones", "zone_bytes": 64 * 4096, "open": 2,
                            "capacity_bytes": capacity},
                "timed": timed, "queue_depth": 4, "total": {"drive_writes": 6},
                "precondition": [{"kind": "workload", "drive_writes": 2, "timed": timed}],
            });
            let simulation = run(&device, &workload, Observation::default());
            let metrics = simulation.outcome()["metrics"].take();
            assert_eq!(metrics["waf"], 1.0, "{metrics}");
            let zones = &metrics["zones"];
            assert_eq!(zones["refused"], json!({}), "{zones}");
            assert!(zones["resets"].as_u64().expect("a count") > 10, "{zones}");
            let states = zones["states"].as_object().expect("states");
            let all: u64 = states.values().filter_map(Value::as_u64).sum();
            assert_eq!(json!(all), zones["count"]);
            assert_eq!(zones["report"].as_array().map(Vec::len), Some(all as usize));
            simulation.image()
        });
        assert_eq!(images[0], images[1], "{}", device["ftl"]);
        let loaded = Simulation::from_image(&images[0], 42).expect("an image");
        loaded.audit().expect("a sound drive");
        assert_eq!(loaded.image(), images[0]);
    }
}

/// Commands of a list.
struct List(std::vec::IntoIter<HostCommand>);

impl Generator for List {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        batch.extend(self.0.by_ref().take(count));
    }

    fn retarget(&mut self, _: &mut HostCommand) {}
}

/// Writes near write pointers, reads, resets, and commands that no zone takes.
fn random_commands(seed: u64, pages: u32) -> Vec<HostCommand> {
    let mut rng = Rng::stream(seed, "commands");
    let mut next = vec![0_u32; pages as usize / 64];
    let commands = (0..20_000).map(|_| {
        let zone = rng.below(next.len() as u64) as usize;
        let count = 1 + rng.below(5) as u32;
        let at = zone as u32 * 64 + next[zone];
        let (op, sector, sectors) = match rng.below(20) {
            0 => (HostOp::Read, u64::from(at) * 8, count * 8),
            1 => (HostOp::Trim, u64::from(at) * 8, count * 8),
            2 => (HostOp::Write, u64::from(at) * 8 + 1, count * 8),
            3 => (HostOp::Write, u64::from(at + 1) * 8, count * 8),
            4..6 => {
                next[zone] = 0;
                (HostOp::Trim, zone as u64 * 64 * 8, 64 * 8)
            }
            _ => {
                next[zone] = (next[zone] + count).min(60);
                (HostOp::Write, u64::from(at) * 8, count * 8)
            }
        };
        HostCommand::new(op, sector, sectors)
    });
    commands.collect()
}

#[test]
fn commands_that_a_zone_refuses_change_nothing_and_both_executors_agree() {
    for device in every_device() {
        let config = resolve(&device);
        let pages = (config.space().logical_bytes / 4096) as u32;
        let [instant, timed] = [false, true].map(|timed| {
            let mut simulation = Simulation::new(resolve(&device), 7);
            let list = List(random_commands(3, pages - 64).into_iter());
            let load = Load::new(Box::new(list), Admission::Closed { queue_depth: 1 });
            let measured = Stage {
                label: "commands".into(),
                loads: vec![load],
                timed,
                limit: Limit::Exhausted,
                until: None,
                ids: None,
                wear: None,
            };
            simulation.begin(Job {
                precondition: Vec::new(),
                measured: Some(measured),
                sample_count: 1,
                resolved: json!({}),
                warnings: Vec::new(),
            });
            while !simulation.advance(1 << 40).finished {}
            let outcome = simulation.outcome();
            assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
            assert_eq!(outcome["metrics"]["waf"], 1.0);
            let warnings = outcome["warnings"].to_string();
            assert!(warnings.contains("zones refused commands"), "{warnings}");
            (outcome["metrics"]["zones"].clone(), simulation.image())
        });
        assert_eq!(instant, timed, "{}", device["ftl"]);
        let refused = instant.0["refused"].as_object().expect("counts");
        for status in ["Invalid Field in Command", "Zone Invalid Write", "Zone Boundary Error"] {
            assert!(refused.contains_key(status), "{status}: {refused:?}");
        }
    }
}

/// Random zone commands next to a map of versions, on flash that refuses misuse; what was written
/// is read, and what was refused has changed nothing.
#[test]
fn zones_keep_what_was_written_until_they_are_reset() {
    for (case, device) in (0..).zip(every_device()) {
        let config = resolve(&device);
        let setup = config.pool_setup(case);
        let media = config.fresh_media(case);
        let mut ftl = Ftl::new(&config.ftl, &setup, &media);
        let mut flash = CheckedFlash::of_device(&config, media);
        let limits = *ftl.zones().expect("zones").limits();
        let mut rng = Rng::stream(case, "zones");
        let (mut versions, mut version) = (BTreeMap::new(), 0_u64);
        let (mut resets, mut refusals) = (0, 0);
        for _ in 0..20_000 {
            let zone = rng.below(limits.zone_count.into()) as u32;
            let start = zone * limits.zone_pages;
            let written = ftl.zones().expect("zones").written(zone);
            if rng.below(12) == 0 {
                let done = ftl.zone(&mut flash, &reset(Lpn(start))).expect("any zone can be reset");
                assert_eq!(done, Ok(()));
                versions.retain(|lpn, _| !(start..start + limits.zone_pages).contains(lpn));
                resets += 1;
                continue;
            }
            let first = start + written + u32::from(rng.below(10) == 0);
            let count = 1 + rng.below(6) as u32;
            match ftl.zone(&mut flash, &write(Lpn(first), count)) {
                Ok(written) => {
                    written.expect("room for every zone");
                    for lpn in first..first + count {
                        version += 1;
                        versions.insert(lpn, version);
                    }
                }
                Err(_) => refusals += 1,
            }
        }
        assert!(resets > 1000 && refusals > 500, "{resets} resets, {refusals} refusals");
        for lpn in 0..ftl.figures().logical_pages() {
            let found = ftl.find(Lpn(lpn)).map(|ppn| flash.version_at(ppn));
            assert_eq!(found.as_ref(), versions.get(&lpn), "page {lpn}, case {case}");
        }
        ftl.audit(flash.media()).expect("sound tables");
        let text = serde_json::to_string(&ftl.save().0).expect("plain numbers");
        let snapshot: FtlSnapshot = serde_json::from_str(&text).expect("what was just written");
        let restored =
            Ftl::restore(&config.ftl, &setup, flash.media(), (&snapshot, &Volatile::default()))
                .expect("sound");
        assert_eq!(serde_json::to_string(&restored.save().0).expect("numbers"), text);
    }
}

/// A drive whose blocks are worn out ends in zones that can only be read.
#[test]
fn a_zone_without_an_erased_block_is_read_only() {
    let mut device = device(&json!({"over_provisioning_pct": 0.01}));
    device["nand"]["max_pe_cycles"] = json!(3);
    let config = resolve(&device);
    let setup = config.pool_setup(1);
    let media = config.fresh_media(1);
    let mut ftl = Ftl::new(&config.ftl, &setup, &media);
    let mut flash = CheckedFlash::of_device(&config, media);
    let mut lost = None;
    for round in 0..2000_u32 {
        let start = Lpn(round % 11 * 64);
        match ftl.zone(&mut flash, &reset(start)) {
            Ok(done) => assert_eq!(done, Ok(())),
            Err(status) => {
                assert_eq!(status, ZoneStatus::InvalidZoneStateTransition);
                break;
            }
        }
        if let Err((done, _)) = ftl.zone(&mut flash, &write(start, 64)).expect("an empty zone") {
            lost = Some((start, done));
        }
    }
    let (start, _) = lost.expect("the drive wears out");
    let row = ftl.zones().expect("zones").report(start.0 / 64);
    assert_eq!(row.state, ZoneState::ReadOnly);
    assert_eq!(ftl.zone(&mut flash, &write(start, 1)), Err(ZoneStatus::ZoneIsReadOnly));
    ftl.audit(flash.media()).expect("sound tables");
}

#[test]
fn what_cannot_be_is_refused_with_its_arithmetic() {
    let refused = |ftl: &Value| {
        DeviceConfig::resolve(&device(ftl).to_string()).expect_err("a refusal").to_string()
    };
    for (ftl, expected) in [
        (json!({"mapping": {"zone_bytes": 100_000}}), "accepted: a multiple of 131072"),
        (json!({"mapping": {"zone_bytes": "1GiB"}}), "accepted: at least one zone"),
        (json!({"mapping": {"zone_capacity_bytes": 1000}}), "accepted: a multiple of 4096"),
        (json!({"mapping": {"zone_capacity_bytes": "1MiB"}}), "at most the zone"),
        (json!({"mapping": {"zone_bytes": 0}}), "accepted: a multiple of 131072"),
        (json!({"mapping": {"zone_dies": 0}}), "0 of the 2 dies of the drive; accepted: 1, 2"),
        (json!({"mapping": {"zone_dies": 3}}), "3 of the 2 dies of the drive; accepted: 1, 2"),
        (json!({"mapping": {"zone_dies": 1, "zone_bytes": 100_000}}), "a multiple of 65536"),
        (json!({"mapping": {"zone_dies": 1.5}}), "ftl.mapping"),
        (json!({"mapping": {"stagger": 1}}), "ftl.mapping"),
        (
            json!({"allocation": "superblock", "mapping": {"zone_dies": 1}}),
            "1 of the 2 dies of the drive in groups of 2; accepted: 2",
        ),
        (
            json!({"allocation": "superblock", "mapping": {"stagger": true}}),
            "ftl.mapping.stagger: true on superblocks over all dies",
        ),
        (json!({"mapping": {"open_zones_max": 6}}), "6 of 5 active ones"),
        (json!({"mapping": {"open_zones_max": 0}}), "1 to active_zones_max"),
        (json!({"write_buffer_pages": 8}), "ftl.write_buffer_pages: 8, where writes wait out of"),
        (json!({"write_frontiers": "host_gc"}), "ftl.write_frontiers"),
        (json!({"collection": "steps", "write_frontiers": "host_gc"}), "ftl.collection"),
        (json!({"placement": {"kind": "fdp", "handles": 2}}), "ftl.placement"),
    ] {
        let found = refused(&ftl);
        assert!(found.contains(expected), "{ftl}: {found}");
    }
    let space = resolve(&device(&json!({}))).space();
    let log = |keys: &Value| {
        let mut workload = json!({
            "pattern": {"kind": "log_zones", "zone_bytes": 64 * 4096, "open": 2},
            "total": {"drive_writes": 1}});
        merge(&mut workload, keys);
        workload
    };
    for (keys, expected) in [
        (
            json!({"pattern": "random"}),
            "pattern: writes anywhere on a drive with ftl.mapping zoned",
        ),
        (json!({"pattern": {"zone_bytes": 32 * 4096}}), "Zone Invalid Write; accepted: 262144"),
        (json!({"pattern": {"capacity_bytes": 32 * 4096}}), "accepted: 262144"),
        (json!({"pattern": {"open": 4}}), "pattern.open: 4 zones are written in turn"),
        (
            json!({"pattern": {"open": 3},
                   "precondition": [{"kind": "workload", "drive_writes": 1}]}),
            "leave 6 active: Too Many Active Zones; accepted: at most 2",
        ),
        (
            json!({"precondition": [{"kind": "sequential_fill"}]}),
            "sequential_fill, which resets no",
        ),
        (json!({"block_size_bytes": 512}), "Invalid Field in Command"),
    ] {
        let error = WorkloadConfig::resolve(&log(&keys).to_string(), space).expect_err("a refusal");
        assert!(error.to_string().contains(expected), "{keys}: {error}");
    }
}

/// A host that keeps its log on a drive with zones: where the firmware of a drive programs, it
/// appends to a zone; where that erases a block, it resets one.
struct OnZones {
    /// What the host remembers of its zones, as a drive does of its blocks.
    media: Media,
    drive: Ftl,
    flash: CheckedFlash,
    zone_pages: u32,
    /// Pages that the host wrote to the drive.
    written: u64,
}

impl OnZones {
    fn append(&mut self, ppn: Ppn) {
        let geometry = *self.media.geometry();
        let (zone, place) = (geometry.block_of(ppn).0, geometry.page_index(ppn));
        let first = Lpn(zone * self.zone_pages + place);
        let written = self.drive.zone(&mut self.flash, &write(first, 1)).expect("in order");
        written.expect("room for every zone");
        self.written += 1;
    }
}

impl FlashSink for OnZones {
    fn media(&self) -> &Media {
        &self.media
    }
    fn read(&mut self, _: Ppn, _: Source) {}
    fn read_live(&mut self, _: BlockId, _: u32, _: Source) {}
    fn read_pages(&mut self, _: BlockId, _: &[u32], _: Source) {}
    fn program(&mut self, ppn: Ppn, lpn: Lpn, _: Source) {
        self.append(ppn);
        self.media.program(ppn, lpn);
    }
    fn program_die_run(&mut self, first: Ppn, run: DieRun) {
        (0..run.count).for_each(|at| self.program(Ppn(first.0 + at), run.lpn(at), Source::Host));
    }
    fn move_run(&mut self, run: &MoveRun<'_>) {
        for (at, &lpn) in (run.first.0..).zip(run.lpns) {
            self.program(Ppn(at), Lpn(lpn), run.source);
        }
    }
    fn erase(&mut self, block: BlockId, _: Source) -> u32 {
        let start = Lpn(block.0 * self.zone_pages);
        let done = self.drive.zone(&mut self.flash, &reset(start)).expect("a full zone");
        assert_eq!(done, Ok(()));
        self.media.erase(block)
    }
    fn retire(&mut self, _: BlockId, _: &[u32]) {}
    fn replace_member(&mut self, _: BlockId, _: u32, _: bool) {}
    fn set_mode(&mut self, _: BlockId, _: CellMode) {}
    fn program_part(&mut self, _: Ppn, _: Ppn) {}
    fn load(&self, _: DieId) -> u32 {
        0
    }
}

/// With equal spare shares, blocks and policy, the host's amplification on zones is the drive's on
/// a conventional one, and both are the closed form of greedy: 3.434 for blocks of 128 pages at a
/// spare factor of 0.15 (`docs/theory.md`).
#[test]
fn a_log_of_the_host_amplifies_as_a_conventional_drive() {
    let zones = 512_u32;
    let logical = (f64::from(zones - 1) * 128.0 * 0.85) as u32;
    let op = f64::from(zones * 128) / (f64::from(logical) + 0.5) - 1.0;
    let log = |name: &str| {
        let device = json!({
            "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                     "blocks_per_plane": zones, "pages_per_block": 128},
            "ftl": {"over_provisioning_pct": op, "gc_policy": "greedy", "gc_reserve_blocks": 1},
        });
        let config = resolve(&device);
        assert_eq!(config.logical_pages(), logical, "{name}");
        config
    };
    let zoned = resolve(&json!({
        "nand": {"channels": 2, "dies_per_channel": 2, "planes_per_die": 1,
                 "blocks_per_plane": zones + 16, "pages_per_block": 32},
        "ftl": {"over_provisioning_pct": 0.03, "mapping": {
            "kind": "zoned", "zone_bytes": 128 * 4096, "open_zones_max": 2,
            "active_zones_max": 2}},
    }));
    let setup = zoned.pool_setup(1);
    let media = zoned.fresh_media(1);
    let drive = Ftl::new(&zoned.ftl, &setup, &media);
    assert!(drive.zones().expect("zones").limits().zone_count >= zones);
    let config = log("host");
    let media = Media::new(config.geometry(), &[0], 1);
    let mut host = Ftl::new(&config.ftl, &config.pool_setup(1), &media);
    let flash = CheckedFlash::of_device(&zoned, zoned.fresh_media(1));
    let mut sink = OnZones { media, drive, flash, zone_pages: 128, written: 0 };
    let config = log("conventional");
    let media = Media::new(config.geometry(), &[0], 1);
    let mut conventional = Ftl::new(&config.ftl, &config.pool_setup(1), &media);
    let mut flash = CheckedFlash::new(config.geometry(), media);
    let mut rng = Rng::stream(1, "traffic");
    let mut before = [0; 2];
    let measured = 12 * u64::from(logical);
    for write in 0..u64::from(logical) * 24 {
        let is_fill = write < u64::from(logical);
        let lpn = Lpn(if is_fill { write } else { rng.below(logical.into()) } as u32);
        if write == measured {
            before =
                [sink.written, conventional.figures().counters().programs[Source::Gc as usize]];
        }
        host.write(&mut sink, lpn).expect("room");
        conventional.write(&mut flash, lpn).expect("room");
    }
    let count = measured as f64;
    let on_zones = (sink.written - before[0]) as f64 / count;
    let moved = conventional.figures().counters().programs[Source::Gc as usize] - before[1];
    let on_drive = 1.0 + moved as f64 / count;
    assert!((on_zones / on_drive - 1.0).abs() < 1e-9, "{on_zones} on zones, {on_drive} on a drive");
    assert!((on_zones / 3.434 - 1.0).abs() < 0.01, "{on_zones}, closed form 3.434");
    sink.drive.audit(sink.flash.media()).expect("sound tables");
    let drive = sink.drive.figures().counters();
    assert_eq!(drive.programs[Source::Host as usize], sink.written);
    assert_eq!(drive.programs[Source::Gc as usize], 0, "the drive itself moves nothing");
}
