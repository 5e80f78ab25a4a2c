//! Drives that are cut from power: strong ones keep what they owe, weak ones show their weakness.

use opennandlab_sim::drive::{DeviceConfig, Mounting, Remains};
use opennandlab_sim::power_loss::{
    cut_aged, AgedCut, Campaign, Claims, Life, Pattern, Tally, Target,
};
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Begun, Request, Session};
use opennandlab_sim::units::{Lpn, Ns};
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

use crate::everything::{draw_everything, Maps};

const FLUSHED: Claims = Claims { honest_flush: true, ordered: false, rzat: true, plp: false };

/// A drive of 16 MiB, two channels and four dies, with some keys changed.
fn device(changes: &Value) -> DeviceConfig {
    let mut document = json!({
        "nand": {
            "channels": 2, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 32,
            "pages_per_block": 32, "page_size_bytes": 4096, "max_pe_cycles": 1_000_000
        },
        "ftl": {"over_provisioning_pct": 0.2, "gc_reserve_blocks": 8},
        "host": {"queue_depth_max": 32}
    });
    for (section, keys) in changes.as_object().expect("sections") {
        for (key, value) in keys.as_object().expect("keys") {
            document[section][key] = value.clone();
        }
    }
    DeviceConfig::resolve(&document.to_string()).expect("the drive is sound")
}

fn buffered() -> Value {
    json!({"ftl": {"write_buffer_pages": 32, "write_frontiers": "host_gc"}})
}

fn campaign(changes: &Value, claims: Claims, targets: &[Target]) -> Campaign {
    Campaign {
        device: device(changes),
        patterns: Pattern::ALL.to_vec(),
        targets: targets.to_vec(),
        claims,
        cuts_per_life: 40,
        mount_limit: Ns(10_000_000_000),
        seed: 42,
    }
}

fn live(campaign: Campaign, lives: u64) -> Tally {
    let life = Life::new(campaign).expect("the drive can be cut");
    let mut tally = Tally::default();
    (0..lives).for_each(|number| tally.add(life.live(number)));
    tally
}

fn merged(one: &Value, other: &Value) -> Value {
    let mut all = one.clone();
    for (section, keys) in other.as_object().expect("sections") {
        for (key, value) in keys.as_object().expect("keys") {
            all[section][key] = value.clone();
        }
    }
    all
}

#[test]
fn strong_drives_keep_what_they_owe() {
    let priority = json!({"controller": {"scheduler": {"kind": "priority"}}});
    let steps = json!({
        "controller": {"scheduler": {"kind": "priority"},
                       "suspend": {"program": true, "erase": true}},
        "ftl": {"write_frontiers": "host_gc",
                "collection": {"kind": "steps", "soft_spare_blocks": 1}}
    });
    // Its dies collect several blocks as soon as it is mounted, before the host comes.
    let behind = json!({
        "nand": {"channels": 1, "dies_per_channel": 1, "blocks_per_plane": 64},
        "controller": {"scheduler": {"kind": "priority"}},
        "ftl": {"over_provisioning_pct": 0.15, "gc_reserve_blocks": 2, "allocation": "dynamic",
                "write_frontiers": "host_gc",
                "collection": {"kind": "steps", "soft_spare_blocks": 3}}
    });
    let saved = merged(&buffered(), &json!({"power": {"plp": {"energy_mj": 50}}}));
    let in_order = merged(&buffered(), &json!({"power": {"seq_reorder": "in_order"}}));
    let paired = json!({"power": {"paired_scheme": "tlc_multi", "ramp_us": 200}});
    let ordered = Claims { ordered: true, ..FLUSHED };
    let plp = Claims { plp: true, ..FLUSHED };
    let cases = [
        ("plain", json!({}), FLUSHED),
        ("priority", priority, FLUSHED),
        ("steps", steps, FLUSHED),
        ("behind", behind, FLUSHED),
        ("buffered", buffered(), FLUSHED),
        ("capacitors", saved, plp),
        ("in order", in_order, ordered),
        ("paired", paired, FLUSHED),
    ];
    for (name, changes, claims) in cases {
        let tally = live(campaign(&changes, claims, &Target::ALL), 5);
        assert_eq!(tally.cuts, 200, "{name}");
        assert_eq!(tally.errors, Vec::<String>::new(), "{name}");
        assert!(tally.classes.is_empty(), "{name}: {:?}", tally.evidence);
        // The cuts were worth it: recoveries of all kinds had something to do.
        assert!(
            tally.torn_pages > 0 && tally.half_erased > 0 && tally.audits > 20,
            "{name}: {}",
            tally.to_json()
        );
    }
}

/// A device of which everything is drawn but what a cut is refused with.
fn draw_cuttable(rng: &mut Rng) -> DeviceConfig {
    loop {
        let mut device = draw_everything(rng, Maps::Pages);
        device["nand"].as_object_mut().expect("keys").remove("failures");
        device["nand"]["factory_bad_block_ratio"] = json!(0.0);
        device["ftl"]["placement"] = json!("none");
        if device["ftl"]["allocation"] == "dynamic" && device["controller"]["scheduler"].is_null() {
            device["controller"]["scheduler"] = json!("out_of_order");
        }
        if device["host"]["power_loss_protected"] == true {
            device["power"] = json!({"plp": {"energy_mj": 1000}});
        }
        let config = DeviceConfig::resolve(&device.to_string());
        if let Some(config) = config.ok().filter(|config| config.check_cuts().is_ok()) {
            return config;
        }
    }
}

/// Cuts drives that are drawn at random; tells what the drives are that show a fault.
fn cut_drawn(seeds: std::ops::Range<u64>, lives: u64) -> Vec<String> {
    // `CASE=12` runs one of them.
    let only: Option<u64> = std::env::var("CASE").ok().and_then(|case| case.parse().ok());
    let mut found = Vec::new();
    for seed in seeds.filter(|seed| only.is_none_or(|only| only == *seed)) {
        let device = draw_cuttable(&mut Rng::stream(seed, "cut"));
        let text = device.to_json().to_string();
        if only.is_some() {
            eprintln!("{text}");
        }
        let plp = device.to_json()["host"]["power_loss_protected"] == true;
        let campaign = Campaign {
            device,
            patterns: Pattern::ALL.to_vec(),
            targets: Target::ALL.to_vec(),
            claims: Claims { plp, ..FLUSHED },
            cuts_per_life: 40,
            mount_limit: Ns(u64::MAX),
            seed,
        };
        // Some have no room for what is written before the first cut.
        let Ok(life) = Life::new(campaign) else { continue };
        let mut tally = Tally::default();
        (0..lives).for_each(|number| tally.add(life.live(number)));
        if !tally.classes.is_empty() || !tally.errors.is_empty() {
            let evidence = (tally.classes, tally.errors, tally.evidence);
            found.push(format!("seed {seed}: {evidence:?}\n{text}"));
        }
    }
    found
}

#[test]
fn drives_drawn_at_random_keep_what_they_owe() {
    let found = cut_drawn(0..30, 2);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
#[ignore = "200,000 cuts; some minutes"]
fn a_thousand_drives_drawn_at_random_keep_what_they_owe() {
    let found = cut_drawn(0..1000, 5);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A drive of 64 MiB whose flash, blocks and map are those of products.
fn product(changes: &Value) -> Value {
    let base = json!({
        "nand": {"cell_type": "TLC", "planes_per_die": 2, "multi_plane": true,
                 "page_size_bytes": 16384, "blocks_per_plane": 16, "pages_per_block": 48,
                 "program": {"kind": "one_shot", "t_wordline_us": 1500}},
        "controller": {"scheduler": {"kind": "priority"}},
        "ftl": {"map_unit_bytes": 4096, "write_buffer_pages": 64, "write_frontiers": "host_gc",
                "over_provisioning_pct": 0.6}
    });
    merged(&base, changes)
}

/// Map units and program units wait in memory for the rest of their unit, superblocks and dynamic
/// allocation spread copies over dies, and single-bit blocks are folded in their order.
#[test]
fn drives_of_every_mechanism_keep_what_they_owe() {
    let priority = json!({"controller": {"scheduler": {"kind": "priority"}}});
    let dies = json!({"kind": "superblock", "dies": "all", "bad_block": "remap"});
    let superblocks = |ftl: &Value| {
        let mut all = ftl.clone();
        all["allocation"] = dies.clone();
        json!({ "ftl": all })
    };
    let slc = json!({
        "ftl": {"slc_cache": {"kind": "dynamic"}, "write_frontiers": "host_gc",
                "over_provisioning_pct": 0.3}
    });
    let units = json!({
        "nand": {"page_size_bytes": 16384, "pages_per_block": 16},
        "ftl": {"map_unit_bytes": 4096, "write_buffer_pages": 32}
    });
    let steps = json!({
        "ftl": {"collection": {"kind": "steps", "soft_spare_blocks": 1},
                "write_frontiers": "host_gc", "write_buffer_pages": 32,
                "wear_leveling": {"kind": "static", "threshold": 3}, "over_provisioning_pct": 0.3}
    });
    let dynamic = json!({"ftl": {"allocation": "dynamic"}});
    let namespaces = |list: Value| {
        json!({"host": {"namespaces": list}, "nand": {"blocks_per_plane": 64},
               "ftl": {"gc_reserve_blocks": 16, "over_provisioning_pct": 1.6}})
    };
    let cases = [
        ("map units", units.clone()),
        ("no buffer", merged(&units, &json!({"ftl": {"write_buffer_pages": 0}}))),
        ("dynamic", merged(&merged(&units, &priority), &dynamic)),
        ("one shot", product(&json!({}))),
        ("superblocks", superblocks(&json!({"write_buffer_pages": 32}))),
        ("their parity", superblocks(&json!({"parity": {"kind": "die_stripe"}}))),
        ("stripes", json!({"ftl": {"parity": {"stripe": 8}}})),
        ("all together", product(&superblocks(&json!({})))),
        ("with single bits", product(&superblocks(&json!({"slc_cache": {"kind": "dynamic"}})))),
        ("single bits", merged(&slc, &priority)),
        ("steps", merged(&priority, &steps)),
        ("namespaces", namespaces(json!([{"name": "a", "dies": [1]}, {"name": "b", "dies": [0]}]))),
        ("on shared dies", namespaces(json!([{"name": "a"}, {"name": "b", "channels": [1]}]))),
        ("dynamic steps", merged(&merged(&priority, &steps), &dynamic)),
        ("of map units", merged(&merged(&units, &priority), &merged(&steps, &dynamic))),
    ];
    for (name, changes) in cases {
        let tally = live(campaign(&changes, FLUSHED, &Target::ALL), 5);
        assert_eq!(tally.cuts, 200, "{name}");
        assert_eq!(tally.errors, Vec::<String>::new(), "{name}");
        assert!(tally.classes.is_empty(), "{name}: {:?}", tally.evidence);
        assert!(tally.torn_pages > 0 && tally.audits > 20, "{name}: {}", tally.to_json());
    }
}

/// Keeping earlier pages of a wordline safe has its price: copies and the time of a flush, or pages
/// that are left empty. Cuts that are aimed at later passes hit them.
#[test]
fn safe_wordlines_are_paid_for() {
    let drive = |backup: &str| {
        let power = json!({"paired_scheme": "mlc", "lower_page_backup": backup});
        live(campaign(&json!({ "power": power }), FLUSHED, &[Target::UpperPage]), 5)
    };
    let [none, copied, skipped] = ["none", "backup_to_slc", "skip_pair_after_flush"].map(drive);
    assert_eq!(none.pages.guard, 0);
    assert!(none.damaged_pages > 0 && copied.damaged_pages == 0 && skipped.damaged_pages == 0);
    assert!(copied.pages.guard > 0 && skipped.pages.guard > 0);
    let flush = |tally: &Tally| tally.flushes.sum_ns / tally.flushes.count;
    assert!(flush(&copied) > flush(&none), "{} {}", flush(&copied), flush(&none));
    assert!(copied.classes.is_empty() && skipped.classes.is_empty());
    // Of cuts at any time fewer hit a later pass.
    let power = json!({"paired_scheme": "mlc", "lower_page_backup": "none"});
    let any = live(campaign(&json!({ "power": power }), FLUSHED, &[Target::Random]), 5);
    assert!(none.damaged_pages > any.damaged_pages, "{}", any.damaged_pages);
}

/// A drive that acknowledges before its capacitors are charged loses what they cannot save.
#[test]
fn charging_capacitors_are_waited_for() {
    let plp = Claims { plp: true, ..FLUSHED };
    for (early, is_weak) in [(false, false), (true, true)] {
        let power = json!({"plp": {"energy_mj": 50, "charge_ms": 10_000, "early_ack": early}});
        let changes = merged(&buffered(), &json!({ "power": power }));
        let tally = live(campaign(&changes, plp, &Target::ALL), 5);
        assert_eq!(tally.classes.contains_key("lost_acked"), is_weak, "{:?}", tally.classes);
        assert_eq!(tally.classes.is_empty(), !is_weak);
    }
}

#[test]
fn each_weak_option_shows_its_fault() {
    let cases = [
        (json!({"power": {"flush": "ignored"}}), true, FLUSHED, "lost_flushed"),
        (json!({"power": {"flush": {"delayed_ms": 5}}}), true, FLUSHED, "lost_flushed"),
        (
            json!({"power": {"plp": {"energy_mj": 0.2}}}),
            true,
            Claims { plp: true, ..FLUSHED },
            "lost_acked",
        ),
        (
            json!({"power": {"paired_scheme": "mlc", "lower_page_backup": "none"}}),
            false,
            FLUSHED,
            "retroactive_corruption",
        ),
        (json!({"power": {"journal_crc": false}}), false, FLUSHED, "metadata_corruption"),
        (
            json!({"power": {"root_pairs": false, "checkpoint_interval_units": 128}}),
            false,
            FLUSHED,
            "dead_device",
        ),
        (json!({"power": {"map_order": "map_before_data"}}), false, FLUSHED, "flying_write"),
        (json!({"power": {"subpage_write": "sub_page"}}), false, FLUSHED, "shorn_write"),
        (json!({"power": {}}), true, Claims { ordered: true, ..FLUSHED }, "unserializable_write"),
        (json!({"power": {"trim_log": "volatile"}}), false, FLUSHED, "phantom_trim"),
    ];
    for (changes, has_buffer, claims, class) in cases {
        let changes = if has_buffer { merged(&buffered(), &changes) } else { changes };
        let tally = live(campaign(&changes, claims, &Target::ALL), 10);
        assert!(tally.classes.contains_key(class), "{class}: {:?}", tally.classes);
        assert!(tally.evidence.iter().any(|it| it["class"] == class), "{class}");
    }
}

#[test]
fn what_no_claim_promises_is_not_flagged() {
    let none = Claims { honest_flush: true, ..Claims::default() };
    for changes in [json!({"power": {"trim_log": "volatile"}}), buffered()] {
        let tally = live(campaign(&changes, none, &Target::ALL), 5);
        assert!(tally.classes.is_empty(), "{:?}", tally.evidence);
    }
    // Capacitors that do not last are told by the drive itself, whatever it promises.
    let weak = merged(&buffered(), &json!({"power": {"plp": {"energy_mj": 0.2}}}));
    assert!(live(campaign(&weak, none, &Target::ALL), 2).partial_saves > 0);
}

#[test]
fn a_life_is_the_same_whenever_it_is_lived() {
    let life = Life::new(campaign(&buffered(), FLUSHED, &Target::ALL)).expect("it can be cut");
    let (first, second) = (life.live(3), life.live(3));
    assert_eq!(first.to_json(), second.to_json());
    assert_ne!(first.to_json(), life.live(8).to_json());
}

#[test]
fn drives_that_do_not_find_their_data_are_refused() {
    let cached = json!({
        "controller": {"scheduler": {"kind": "priority"}},
        "ftl": {"allocation": "dynamic", "slc_cache": {"kind": "dynamic"},
                "write_frontiers": "host_gc"}
    });
    let striped = json!({
        "ftl": {"allocation": {"kind": "superblock", "dies": "all", "bad_block": "remap"},
                "slc_cache": {"kind": "dynamic"}, "write_frontiers": "host_gc",
                "parity": {"kind": "die_stripe"}}
    });
    let bursts = json!({
        "controller": {"scheduler": {"kind": "priority"}},
        "ftl": {"collection": {"kind": "bursts", "superblocks": 0.5},
                "allocation": "dynamic", "write_frontiers": "host_gc"}
    });
    let cases = [
        (cached, "ftl.slc_cache"),
        (striped, "ftl.slc_cache"),
        (bursts, "ftl.collection"),
        (json!({"ftl": {"mapping": {"kind": "block"}}}), "ftl.mapping"),
        (json!({"ftl": {"allocation": "dynamic"}}), "ftl.allocation"),
        (json!({"host": {"power_loss_protected": true}}), "power.plp"),
    ];
    for (changes, key) in cases {
        let campaign = campaign(&changes, FLUSHED, &Target::ALL);
        let error = Life::new(campaign).err().expect("it is refused");
        assert!(error.to_string().starts_with(key), "{error}");
    }
}

/// A timed session of a drive on which every page is written once.
fn mounted(changes: &Value) -> Session {
    let mut session =
        Session::cuttable(Simulation::new(device(changes), 1)).expect("it can be cut");
    let mut done = Vec::new();
    for lpn in 0..session.logical_pages() {
        let begun = session.begin(Ns(0), 0, written(lpn, false), &mut done);
        assert_eq!(begun, Ok(Begun::Done));
    }
    let mounted = session.shut_down().mount(&Mounting::default());
    mounted.map_or_else(|_| panic!("nothing interrupts it"), |(session, _)| session)
}

fn written(lpn: u32, is_fua: bool) -> Request<'static> {
    Request::Zero { offset: u64::from(lpn) * 4096, length: 4096, is_fua, is_allocated: true }
}

/// The newest version of a page on the flash after a cut.
fn newest(remains: &Remains, pages: u32, lpn: u32) -> u32 {
    remains.latest(pages, None)[lpn as usize].version
}

/// A write that is force unit access took the copy of its page out of the write buffer, and a flush
/// that came then did not wait for its program: what was acknowledged before was on no flash.
#[test]
fn a_flush_waits_for_the_write_that_superseded_what_it_owes() {
    let mut session = mounted(&buffered());
    let pages = session.logical_pages();
    let mut done = Vec::new();
    session.begin(Ns(0), 1, written(7, false), &mut done).expect("there is room");
    session.advance(Ns(1000), &mut done);
    assert!(done.iter().any(|it| it.token == 1), "memory has it");
    session.begin(Ns(1000), 2, written(7, true), &mut done).expect("there is room");
    session.begin(Ns(1000), 3, Request::Flush, &mut done).expect("there is room");
    let mut at = Ns(1000);
    while !done.iter().any(|it| it.token == 3) {
        at = session.next_at().expect("the flush is under way");
        session.advance(at, &mut done);
    }
    let (remains, ..) = session.cut(at);
    assert!(newest(&remains, pages, 7) >= 2, "{}", newest(&remains, pages, 7));
}

#[test]
fn a_cut_takes_what_is_not_programmed_and_a_mount_finds_the_rest() {
    let mut session = mounted(&json!({}));
    let pages = session.logical_pages();
    let mut done = Vec::new();
    // Die 0 has the pages 0, 4, 8, ...: three of its programs follow each other.
    for lpn in [0, 4, 8] {
        session.begin(Ns(0), u64::from(lpn), written(lpn, false), &mut done).expect("room");
    }
    while done.is_empty() {
        let next = session.next_at().expect("programs are under way");
        session.advance(next, &mut done);
    }
    // The data of the second has crossed the channel by then.
    let at = Ns(done[0].at.0 + 100_000);
    session.advance(at, &mut done);
    let before = session.status();
    let (remains, running, in_memory) = session.cut(at);
    assert_eq!(running.len(), 1);
    // The first is programmed, the second in progress, the third only in memory.
    assert_eq!(newest(&remains, pages, 0), 2);
    assert_eq!(newest(&remains, pages, 8), 1);
    let mut lpns: Vec<u32> = in_memory.iter().map(|unit| unit.lpn).collect();
    lpns.sort_unstable();
    lpns.dedup();
    assert_eq!(lpns, [4, 8]);
    let (session, report) = remains.mount(&Mounting::default()).ok().expect("not interrupted");
    session.audit_tables().expect("map and flash agree");
    assert!(report.scanned_pages >= u64::from(pages) && report.time > Ns(0));
    // What the host wrote before the cut is counted still, and what the mount writes is not its.
    let after = session.status();
    assert_eq!(after["written_bytes"], before["written_bytes"]);
    assert!(after["programmed_bytes"].as_u64() >= before["programmed_bytes"].as_u64());
    assert_eq!(after["unaccounted"], Value::Null);
    for lpn in (0..pages).map(Lpn) {
        assert_eq!(session.found(lpn).map(|unit| unit.lpn), Some(lpn.0));
    }
}

/// Writes so many drive writes without a clock.
fn written_over(drive: &mut Simulation, drive_writes: f64, seed: u64) {
    let json = json!({"pattern": "random", "block_size_bytes": 4096, "timed": false,
                      "total": {"drive_writes": drive_writes}});
    let workload = WorkloadConfig::resolve(&json.to_string(), drive.space()).expect("a workload");
    drive.begin(workload.job(drive.space(), seed));
    while !drive.advance(1_000_000).finished {}
}

/// Cuts a drive so often while it ages; the drive, and what all cuts have shown.
fn aged(changes: &Value, claims: Claims, cuts: u32) -> (Simulation, Tally) {
    let mut drive = Simulation::new(device(changes), 42);
    let mut tally = Tally::default();
    written_over(&mut drive, 2.0, 1);
    for number in 0..cuts {
        let asked = AgedCut {
            number,
            pattern: Pattern::ALL[number as usize % 5],
            target: Target::ALL[number as usize % 8],
            claims,
            mount_limit: Ns(10_000_000_000),
            share: 1.0,
            seed: u64::from(number),
        };
        let (back, shown) = cut_aged(drive, &asked).expect("it can be cut");
        tally.add(shown);
        drive = back;
        drive.audit().expect("its tables agree");
        written_over(&mut drive, 0.4, 2 + u64::from(number));
        drive.audit().expect("they agree behind more writes");
    }
    (drive, tally)
}

#[test]
fn drives_that_age_are_cut_and_go_on() {
    let slc = json!({
        "nand": {"cell_type": "TLC", "pages_per_block": 48},
        "ftl": {"slc_cache": {"kind": "dynamic"}, "write_frontiers": "host_gc",
                "over_provisioning_pct": 0.4}
    });
    let dies = json!({"kind": "superblock", "dies": "all", "bad_block": "remap"});
    let steps = json!({"ftl": {"collection": {"kind": "steps", "soft_spare_blocks": 1},
                               "allocation": dies}});
    let cases = [
        ("plain", json!({}), FLUSHED),
        ("buffered", buffered(), FLUSHED),
        ("superblocks in steps", product(&steps), FLUSHED),
        ("product", product(&json!({"nand": {"max_pe_cycles": 100_000}})), FLUSHED),
        ("single bits", slc, FLUSHED),
    ];
    for (name, changes, claims) in cases {
        let (_, tally) = aged(&changes, claims, 24);
        assert_eq!((tally.cuts, &tally.errors), (24, &Vec::new()), "{name}");
        assert!(tally.classes.is_empty(), "{name}: {:?}", tally.evidence);
        assert!(tally.torn_pages > 0 && tally.requests > 500, "{name}: {}", tally.to_json());
    }
    // A weak drive is found out, and the same cuts show the same.
    let weak = json!({"power": {"flush": "ignored"}, "ftl": {"write_buffer_pages": 32}});
    let (one, other) = (aged(&weak, FLUSHED, 8).1, aged(&weak, FLUSHED, 8).1);
    assert!(one.classes.contains_key("lost_flushed"), "{:?}", one.classes);
    assert_eq!(one, other);
}

/// One die near its end: starts close open blocks half written, and at last there is no room to
/// collect. Such a drive takes no more writes, and nothing breaks.
#[test]
fn a_drive_without_room_for_its_starts_is_worn_out() {
    let small = json!({
        "nand": {"channels": 1, "dies_per_channel": 1, "blocks_per_plane": 64,
                 "pages_per_block": 48,
                 "max_pe_cycles": 12},
        "ftl": {"gc_reserve_blocks": 2, "over_provisioning_pct": 0.2, "write_buffer_pages": 16}
    });
    let (drive, tally) = aged(&small, FLUSHED, 24);
    assert_eq!((tally.cuts, &tally.errors), (24, &Vec::new()));
    assert!(tally.classes.is_empty(), "{:?}", tally.evidence);
    assert!(drive.wear()["erase_count_max"].as_u64().expect("a count") >= 12);
}

/// Erases of all blocks go on counting over cuts, and cuts cost erases.
#[test]
fn wear_goes_on_over_cuts() {
    let mean = |drive: &Simulation| drive.wear()["erase_count_mean"].as_f64().expect("a mean");
    let mut uncut = Simulation::new(device(&json!({})), 42);
    written_over(&mut uncut, 2.0, 1);
    (0..24).for_each(|number| written_over(&mut uncut, 0.4, 2 + number));
    let (cut, _) = aged(&json!({}), FLUSHED, 24);
    let (with, without) = (mean(&cut), mean(&uncut));
    assert!(with > without && with < 1.6 * without, "{with} erases with cuts, {without} without");
}

/// Pages that a cut has marked and that stay where they are fail later, where the error model knows
/// what ages them and the code holds for all others; moved ones do not.
#[test]
fn marks_of_cuts_make_later_reads_fail() {
    let aging = json!({
        "nand": {"stress": {"retention_h": 100.0}, "max_pe_cycles": 3000},
        "reliability": {"kind": "states", "preset": "tlc"},
        "ecc": {"algorithm": "ldpc", "ldpc_code": "nand-4k-r090"}
    });
    let faults = |power: Value| {
        let changes = merged(&aging, &json!({ "power": power }));
        let tally = live(campaign(&changes, FLUSHED, &Target::ALL), 5);
        assert_eq!(tally.errors, Vec::<String>::new());
        tally.classes.get("retroactive_corruption").map_or(0, |it| it.cuts)
    };
    assert_eq!(faults(json!({})), 0);
    assert_eq!(faults(json!({"suspect_pages": "keep", "suspect_retention_factor": 1.0})), 0);
    assert_eq!(faults(json!({"half_erased": "reuse", "half_erased_rber_factor": 1.0})), 0);
    let kept = faults(json!({"suspect_pages": "keep"}));
    let reused = faults(json!({"half_erased": "reuse"}));
    assert!(kept > 3 && reused > 50, "{kept} cuts with kept pages, {reused} with reused blocks");
}
