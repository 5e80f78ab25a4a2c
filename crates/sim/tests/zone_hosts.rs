//! Hosts of zones from workload files: one that keeps a log and reclaims, and lists of commands.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::testing::{merge, metrics, number, run};
use opennandlab_sim::timed::Observation;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

/// Four dies of so many blocks of 32 pages; a zone is a block of each: 128 pages.
fn device(blocks: u32, zones: &Value) -> Value {
    let mut device = json!({
        "nand": {"channels": 2, "dies_per_channel": 2, "planes_per_die": 1,
                 "blocks_per_plane": blocks, "pages_per_block": 32, "max_pe_cycles": 1_000_000},
        "ftl": {"over_provisioning_pct": 0.03, "mapping": {
            "kind": "zoned", "zone_bytes": 128 * 4096, "open_zones_max": 4,
            "active_zones_max": 6}},
    });
    merge(&mut device["ftl"]["mapping"], zones);
    device
}

fn log(keys: &Value) -> Value {
    let mut workload = json!({
        "pattern": {"kind": "host_log", "live_share": 0.85}, "timed": false,
        "total": {"drive_writes": 12},
        "precondition": [{"kind": "workload", "drive_writes": 12}],
    });
    merge(&mut workload, keys);
    workload
}

/// As `a_log_of_the_host_amplifies_as_a_conventional_drive`, from a workload file: the closed form
/// of greedy for zones of 128 pages at a spare factor of 0.15.
#[test]
fn the_host_amplifies_as_the_closed_form_says() {
    let found = metrics(&device(528, &json!({})), &log(&json!({})));
    let waf = number(&found, "/zones/host_waf");
    assert!((waf / 3.434 - 1.0).abs() < 0.01, "{waf}, closed form 3.434");
    assert_eq!(found["waf"], 1.0, "the drive moves nothing");
    assert_eq!(found["zones"]["refused"], json!({}));
    let [user, moved] =
        ["/zones/appended_bytes", "/zones/moved_bytes"].map(|path| number(&found, path));
    assert!((user + moved - number(&found, "/host_bytes_written")).abs() < 0.5, "{found}");
    assert!((number(&found, "/host_bytes_read") - moved).abs() <= 4096.0, "each move is a read");
}

#[test]
fn both_executors_leave_the_same_zones() {
    let small = json!({"zone_capacity_bytes": 96 * 4096});
    let mut superblocks = device(40, &json!({}));
    superblocks["ftl"]["allocation"] = json!("superblock");
    let staggered = device(40, &json!({"stagger": true}));
    let narrow = device(40, &json!({"zone_dies": 2, "stagger": true}));
    let mut groups = device(40, &json!({"zone_dies": 2}));
    groups["ftl"]["allocation"] = json!({"kind": "superblock", "dies": 2});
    let mut turned = groups.clone();
    turned["ftl"]["mapping"] = json!({"kind": "zoned", "zone_bytes": 128 * 4096, "stagger": true});
    let plain = [device(40, &json!({})), device(40, &small), superblocks];
    for device in plain.into_iter().chain([staggered, narrow, groups, turned]) {
        for updates in [json!("random"), json!({"kind": "hot_cold"}), json!({"kind": "zipf"})] {
            let [untimed, timed] = [false, true].map(|timed| {
                let workload = log(&json!({
                    "pattern": {"updates": updates, "free_zones": 2, "reclaim": "fifo"},
                    "timed": timed, "queue_depth": if timed { 4 } else { 1 },
                    "block_size_bytes": 8192, "total": {"drive_writes": 3},
                    "precondition": [{"kind": "workload", "drive_writes": 2.3, "timed": timed}],
                }));
                let simulation = run(&device, &workload, Observation::default());
                let metrics = simulation.outcome()["metrics"].take();
                assert_eq!(metrics["zones"]["refused"], json!({}), "{}", metrics["zones"]);
                assert!(number(&metrics, "/zones/host_waf") > 1.0);
                (metrics["zones"].clone(), simulation.image())
            });
            assert_eq!(untimed, timed, "{updates}");
        }
    }
}

/// A drive that an earlier run has filled is reset first, and slices change nothing.
#[test]
fn a_host_begins_with_empty_zones_wherever_it_is_cut() {
    let device = device(24, &json!({}));
    let first = run(
        &device,
        &log(&json!({"total": {"drive_writes": null, "ios": 1700}})),
        Observation::default(),
    );
    let image = first.image();
    let [whole, cut] = [1 << 40, 37].map(|slice| {
        let mut simulation = Simulation::from_image(&image, 5).expect("an image");
        let space = simulation.space();
        let workload = log(&json!({"timed": true, "total": {"drive_writes": 2}}));
        let workload = WorkloadConfig::resolve(&workload.to_string(), space).expect("a workload");
        simulation.begin(workload.job(space, 5));
        while !simulation.advance(slice).finished {}
        let outcome = simulation.outcome();
        assert_eq!(outcome["metrics"]["zones"]["refused"], json!({}));
        assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
        (outcome["metrics"].clone(), simulation.image())
    });
    assert_eq!(whole, cut);
}

/// Every command with what the specification answers, in a list that leaves known states.
#[test]
fn lists_of_commands_are_answered_as_the_specification_says() {
    let steps = json!([
        {"do": "open", "zone": 0}, {"do": "open", "zone": 1}, {"do": "open", "zone": 2},
        {"do": "open", "zone": 3},
        {"do": "append", "zone": 4},                     // four are explicitly open
        {"do": "open", "zone": 4},
        {"do": "close", "zone": 0},
        {"do": "append", "zone": 4, "count": 3},
        {"do": "append", "zone": 5},                     // closes zone 4 for it: six are active
        {"do": "append", "zone": 6},                     // a seventh active
        {"do": "open_all"},                              // 0 and 4 beside three open and one
        {"do": "finish", "zone": 4},
        {"do": "append", "zone": 4},
        {"do": "write", "zone": 5, "count": 2},
        {"do": "write", "zone": 5, "at": 9},
        {"do": "write", "zone": 5, "at": 3, "count": 125}, {"do": "write", "zone": 5, "at": 127},
        {"do": "close", "zone": 6},
        {"do": "offline", "zone": 5},
        {"do": "read", "zone": 5, "at": 127},
        {"do": "finish", "zone": 6},
        {"do": "close_all"}, {"do": "open_all"}, {"do": "offline_all"},
        {"do": "reset", "zone": 6}, {"do": "reset", "zone": 6},
        {"do": "finish_all"}, {"do": "reset_all"},
        {"do": "open", "zone": 7}, {"do": "append", "zone": 8}, {"do": "close", "zone": 8},
    ]);
    let ios = steps.as_array().expect("steps").iter();
    let ios: u64 = ios.map(|step| step["count"].as_u64().unwrap_or(1)).sum();
    let workload = |timed: bool| {
        json!({"pattern": {"kind": "zone_actions", "steps": steps}, "timed": timed,
               "total": {"ios": ios}})
    };
    let device = device(24, &json!({}));
    let [untimed, timed] = [false, true].map(|timed| metrics(&device, &workload(timed)));
    let zones = &untimed["zones"];
    assert_eq!(zones, &timed["zones"]);
    let done = "Successful Completion";
    let transition = "Invalid Zone State Transition";
    let expected = json!({
        "open": {(done): 5, "Too Many Open Zones": 1},
        "append": {(done): 5, "Too Many Open Zones": 1, "Too Many Active Zones": 1,
                   "Zone Is Full": 1},
        "write": {(done): 127, "Zone Invalid Write": 1, "Zone Is Full": 1},
        "read": {(done): 1},
        "close": {(done): 2, (transition): 1},
        "finish": {(done): 2},
        "offline": {(transition): 1},
        "reset": {(done): 2},
        "open_all": {(done): 1, "Too Many Open Zones": 1},
        "close_all": {(done): 1}, "offline_all": {(done): 1},
        "finish_all": {(done): 1}, "reset_all": {(done): 1},
    });
    assert_eq!(zones["commands"], expected, "{}", zones["commands"]);
    assert_eq!(zones["closed_for_others"], 1);
    let states = [("empty", 0), ("explicitly_open", 1), ("closed", 1)];
    for (state, count) in &states[1..] {
        assert_eq!(zones["states"][state], *count, "{state}: {}", zones["states"]);
    }
    assert_eq!(untimed["waf"], 1.0);
}

#[test]
fn a_million_appends_over_a_thousand_zones() {
    let mut device = device(
        1100,
        &json!({"zone_bytes": 1024 * 4096,
                                          "zone_capacity_bytes": 1000 * 4096}),
    );
    device["nand"]["pages_per_block"] = json!(256);
    let steps = json!([{"do": "append", "zones": 1000, "count": 1000}]);
    let workload = json!({"pattern": {"kind": "zone_actions", "steps": steps}, "timed": false,
                          "total": {"ios": 1_000_000}});
    let found = metrics(&device, &workload);
    let zones = &found["zones"];
    assert_eq!(zones["commands"], json!({"append": {"Successful Completion": 1_000_000}}));
    assert_eq!(zones["states"]["full"], 1000);
    assert_eq!(zones["host_waf"], 1.0);
}

#[test]
fn what_hosts_of_zones_cannot_be_is_refused() {
    let zoned = DeviceConfig::resolve(&device(24, &json!({})).to_string()).expect("a device");
    let refused = |workload: &Value| {
        let error = WorkloadConfig::resolve(&workload.to_string(), zoned.space());
        error.expect_err("a refusal").to_string()
    };
    let list = |step: Value, keys: &Value| {
        let mut workload = json!({"pattern": {"kind": "zone_actions", "steps": [step]},
                                  "total": {"ios": 1}});
        merge(&mut workload, keys);
        workload
    };
    let open = json!({"do": "open"});
    for (workload, expected) in [
        (log(&json!({"pattern": {"live_share": 1}})), "pattern.live_share: `1`"),
        (log(&json!({"pattern": {"free_zones": 99}})), "pattern.free_zones: `99`"),
        (log(&json!({"pattern": {"updates": "sequential"}})), "sequential"),
        (log(&json!({"block_size_bytes": 3 * 4096})), "do not fill the 524288 B of a zone"),
        (log(&json!({"block_size_bytes": 512})), "Invalid Field in Command"),
        (log(&json!({"read_pct": 10})), "read_pct"),
        (log(&json!({"flush_every": 10})), "flush_every: has no meaning with pattern host_log"),
        (
            log(&json!({"timed": true, "queue_depth": {"arrival": "poisson", "iops": 9}})),
            "queue_depth: arrivals with pattern host_log; accepted: a number",
        ),
        (
            log(&json!({"precondition": [{"kind": "workload", "until": "steady"}]})),
            "precondition[0]: the host of host_log writes on",
        ),
        (list(json!({"do": "open", "zone": 99}), &json!({})), "LBA Out of Range; accepted: 0 to"),
        (list(json!({"do": "open", "zones": 0}), &json!({})), "pattern.steps[0].zone"),
        (list(json!({"do": "open", "count": 2}), &json!({})), "pattern.steps[0].count"),
        (list(json!({"do": "open", "at": 2}), &json!({})), "pattern.steps[0].at"),
        (list(json!({"do": "open_all", "zone": 2}), &json!({})), "an action on all zones"),
        (list(json!({"do": "launch"}), &json!({})), "unknown variant `launch`"),
        (list(json!({"do": "read", "zone": 9, "count": 4000}), &json!({})), "LBA Out of Range"),
        (list(open.clone(), &json!({"total": {"ios": null, "bytes": 9}})), "total: commands for"),
        (
            list(open.clone(), &json!({"precondition": [{"kind": "sequential_fill"}]})),
            "precondition: with pattern zone_actions",
        ),
        (json!({"pattern": {"kind": "zone_actions", "steps": []}, "total": {"ios": 1}}), "65536"),
    ] {
        let found = refused(&workload);
        assert!(found.contains(expected), "{workload}: {found}");
    }
    let plain = json!({"nand": {"blocks_per_plane": 64}});
    let space = DeviceConfig::resolve(&plain.to_string()).expect("a device").space();
    for (workload, name) in [(log(&json!({})), "host_log"), (list(open, &json!({})), "zone_act")] {
        let error = WorkloadConfig::resolve(&workload.to_string(), space).expect_err("no zones");
        let found = error.to_string();
        assert!(found.contains(name) && found.contains("a drive that has no zones"), "{found}");
    }
}
