//! Who writes zones besides one host with a workload: tenants with zones of their own, and traces.

#![allow(clippy::float_cmp)]

use std::sync::Arc;

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::testing::{merge, metrics, number};
use opennandlab_sim::workload::trace::{Trace, TraceOptions};
use opennandlab_sim::workload::{ReplayConfig, WorkloadConfig};
use serde_json::{json, Value};

const ZONE: u64 = 128 * 4096;

/// Four dies of 24 blocks of 32 pages; a zone is 128 pages, and there are 23.
fn device(zones: &Value) -> Value {
    let mut device = json!({
        "nand": {"channels": 2, "dies_per_channel": 2, "planes_per_die": 1,
                 "blocks_per_plane": 24, "pages_per_block": 32, "max_pe_cycles": 1_000_000},
        "ftl": {"over_provisioning_pct": 0.03, "mapping": {
            "kind": "zoned", "zone_bytes": ZONE, "open_zones_max": 4, "active_zones_max": 12}},
    });
    merge(&mut device["ftl"]["mapping"], zones);
    device
}

fn every_device() -> [Value; 4] {
    let wider = json!({"over_provisioning_pct": 0.2});
    let narrow = [json!({"zone_dies": 2}), json!({"zone_dies": 2, "stagger": true})].map(|zones| {
        let mut device = device(&zones);
        merge(&mut device["ftl"], &wider);
        device
    });
    let [narrow, both] = narrow;
    [device(&json!({})), device(&json!({"stagger": true})), narrow, both]
}

fn tenant(name: &str, range: [f64; 2], keys: &Value) -> Value {
    let mut tenant = json!({
        "name": name, "range_pct": range, "queue_depth": 3,
        "pattern": {"kind": "log_zones", "zone_bytes": ZONE, "open": 2},
    });
    merge(&mut tenant, keys);
    tenant
}

fn hosts(tenants: &[Value], keys: &Value) -> Value {
    let mut workload = json!({"tenants": tenants, "total": {"drive_writes": 4}});
    merge(&mut workload, keys);
    workload
}

#[test]
fn each_tenant_writes_zones_of_its_own() {
    let two = [tenant("a", [0.0, 45.0], &json!({})), tenant("b", [45.0, 100.0], &json!({}))];
    let reader = tenant("c", [0.0, 100.0], &json!({"pattern": "random", "read_pct": 100}));
    let three = [two[0].clone(), reader, two[1].clone()];
    for device in every_device() {
        for tenants in [&two[..], &three[..]] {
            for timed in [false, true] {
                let steps = json!([{"kind": "workload", "drive_writes": 1.5, "timed": timed}]);
                let found = metrics(&device, &hosts(tenants, &json!({"precondition": steps})));
                let zones = &found["zones"];
                assert_eq!(zones["refused"], json!({}), "{zones}");
                assert_eq!(found["waf"], 1.0);
                assert!(number(zones, "/resets") > 20.0, "{zones}");
                // Two of each, in two stages.
                let open = number(zones, "/states/implicitly_open");
                let closed = number(zones, "/states/closed");
                assert!(open <= 4.0 && open + closed <= 8.0, "{}", zones["states"]);
            }
        }
    }
}

/// What a tenant writes does not depend on the others, and its zones are no one else's: alone on
/// the drive, it leaves the same zones.
#[test]
fn a_tenant_leaves_its_zones_as_if_it_were_alone() {
    let a = tenant("a", [0.0, 50.0], &json!({}));
    let b = tenant("b", [50.0, 100.0], &json!({}));
    let zones = |tenants: &[Value], ios: u64| {
        let keys = json!({"total": {"drive_writes": null, "ios": ios}});
        let mut found = metrics(&device(&json!({})), &hosts(tenants, &keys));
        found["zones"]["report"].take()
    };
    let both = zones(&[a.clone(), b.clone()], 2000);
    let written = |report: &Value, zones: std::ops::Range<usize>| -> u64 {
        let rows = report.as_array().expect("rows")[zones].iter();
        rows.map(|row| row["written_bytes"].as_u64().expect("bytes")).sum()
    };
    let (first, second) = (written(&both, 0..11), written(&both, 11..22));
    assert!(first > 0 && second > 0);
    for (alone, own, other) in [(a, 0..11, 11..22), (b, 11..22, 0..11)] {
        let report = zones(&[alone], 1000);
        assert!(written(&report, own) > 0 && written(&report, other) == 0, "{report}");
    }
}

#[test]
fn tenants_that_zones_cannot_have_are_refused() {
    let space = DeviceConfig::resolve(&device(&json!({})).to_string()).expect("a device").space();
    let refused = |tenants: &[Value], keys: &Value| {
        let workload = hosts(tenants, keys).to_string();
        WorkloadConfig::resolve(&workload, space).expect_err("a refusal").to_string()
    };
    let a = tenant("a", [0.0, 50.0], &json!({}));
    let with = |keys: &Value| tenant("b", [50.0, 100.0], keys);
    let none = json!({});
    let mut host_log = with(&none);
    host_log["pattern"] = json!({"kind": "host_log"});
    for (other, keys, expected) in [
        (tenant("b", [40.0, 90.0], &none), &none, "tenants[1].range_pct: [40, 90] shares zones"),
        (with(&json!({"pattern": "random"})), &none, "tenants[1].pattern: writes anywhere"),
        (host_log, &none, "accepted: log_zones"),
        (with(&json!({"block_size_bytes": 512})), &none, "tenants[1].block_size_bytes: 512 B"),
        (with(&json!({"pattern": {"open": 3}})), &none, "tenants: 5 zones are written at once"),
        (
            with(&json!({"pattern": {"zone_bytes": ZONE / 2}})),
            &none,
            "tenants[1].pattern.zone_bytes: 262144 on zones of the drive",
        ),
        (with(&json!({"read_pct": 50})), &none, "read_pct"),
        (
            with(&none),
            &json!({"precondition": [{"kind": "sequential_fill"}]}),
            "sequential_fill, which resets no zone",
        ),
        (
            with(&none),
            &json!({"precondition": [{"kind": "workload", "drive_writes": 1,
                                      "requests": "workload"}]}),
            "writes of no tenant",
        ),
        (
            with(&none),
            &json!({"precondition": [
                {"kind": "workload", "drive_writes": 1}, {"kind": "workload", "drive_writes": 1},
                {"kind": "workload", "drive_writes": 1}]}),
            "leave 16 active: Too Many Active Zones; accepted: at most 3",
        ),
        (
            tenant("b", [97.0, 98.0], &none),
            &none,
            "tenants[1].range_pct: [97, 98] of 12058624 B has no whole zone of 524288 B",
        ),
    ] {
        let found = refused(&[a.clone(), other.clone()], keys);
        assert!(found.contains(expected), "{other}: {found}");
    }
}

/// A row of our table: what, and where and how much in units of 4 KiB.
fn rows(list: &[(&str, u64, u64)]) -> String {
    let head = "time_ns,op,offset_bytes,size_bytes,volume,process,flags\n".to_owned();
    let row = |(at, &(op, first, count)): (u64, &(&str, u64, u64))| {
        format!("{},{op},{},{},,,\n", at * 1_000_000, first * 4096, count * 4096)
    };
    (0..).zip(list).map(row).fold(head, |text, row| text + &row)
}

fn replayed(device: &Value, text: &str, keys: &Value) -> Value {
    let config = DeviceConfig::resolve(&device.to_string()).expect("a device");
    let mut simulation = Simulation::new(config, 1);
    let space = simulation.space();
    let trace = Trace::read(&mut text.as_bytes(), "t.csv", &TraceOptions::default());
    let replay = ReplayConfig::resolve(&keys.to_string(), space).expect("a replay");
    let job = replay.job(Arc::new(trace.expect("a trace")), space);
    simulation.begin(job.expect("a job"));
    while !simulation.advance(1 << 40).finished {}
    let outcome = simulation.outcome();
    assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
    outcome
}

/// Writes, reads and trims of whole zones, as the zones answer them.
#[test]
fn a_trace_writes_zones_in_order_and_resets_them() {
    let text = rows(&[
        ("write", 0, 16),
        ("write", 16, 112), // zone 0 is full
        ("write", 128, 8),  // zone 1
        ("write", 137, 1),  // its write pointer is at 136
        ("read", 120, 8),
        ("read", 124, 8), // across zones
        ("write", 0, 1),  // full
        ("trim", 0, 128), // a reset
        ("trim", 0, 64),  // half a zone
        ("write", 0, 1),
        ("flush", 0, 0),
    ]);
    let expected = json!({
        "read": {"Successful Completion": 1, "Zone Boundary Error": 1},
        "write": {"Successful Completion": 4, "Zone Invalid Write": 1, "Zone Is Full": 1},
        "reset": {"Successful Completion": 1, "Invalid Field in Command": 1},
    });
    for device in every_device() {
        for keys in [
            json!({}),
            json!({"timed": false}),
            json!({"loop": {"kind": "closed", "queue_depth": 1}}),
        ] {
            let outcome = replayed(&device, &text, &keys);
            let zones = &outcome["metrics"]["zones"];
            assert_eq!(zones["commands"], expected, "{keys}");
            let written = |zone: usize| number(zones, &format!("/report/{zone}/written_bytes"));
            assert_eq!([written(0), written(1)], [4096.0, 8.0 * 4096.0]);
            let warnings = outcome["warnings"].to_string();
            assert!(warnings.contains("zones refused commands"), "{warnings}");
        }
    }
}

/// The commands of zones alone.
#[test]
fn a_trace_appends_to_zones_and_resets_them() {
    let text = rows(&[
        ("append", 0, 4),
        ("append", 0, 4),
        ("append", 4, 4), // no start of a zone
        ("write", 8, 8),
        ("append", 128, 16),
        ("reset", 0, 128),
        ("append", 0, 2),
        ("reset", 5, 128), // no start of a zone
        ("reset", 256, 0), // an empty zone
    ]);
    let expected = json!({
        "write": {"Successful Completion": 1},
        "append": {"Successful Completion": 4, "Invalid Field in Command": 1},
        "reset": {"Successful Completion": 2, "Invalid Field in Command": 1},
    });
    for device in every_device() {
        for keys in [json!({}), json!({"timed": false}), json!({"loop": "closed"})] {
            let outcome = replayed(&device, &text, &keys);
            let zones = &outcome["metrics"]["zones"];
            assert_eq!(zones["commands"], expected, "{keys}");
            let written = |zone: usize| number(zones, &format!("/report/{zone}/written_bytes"));
            assert_eq!([written(0), written(1)], [2.0 * 4096.0, 16.0 * 4096.0]);
            assert_eq!(number(zones, "/appended_bytes"), 26.0 * 4096.0);
            assert_eq!(number(zones, "/resets"), 1.0, "an empty zone is not erased");
        }
    }
}

/// Volumes one behind the other begin at zones, so that what is in order stays in order.
#[test]
fn volumes_of_a_trace_begin_at_zones() {
    let text = "time_ns,op,offset_bytes,size_bytes,volume,process,flags\n\
                0,write,0,8192,a,,\n1,write,0,4096,b,,\n2,write,4096,4096,b,,\n";
    let outcome = replayed(&device(&json!({})), text, &json!({}));
    let zones = &outcome["metrics"]["zones"];
    assert_eq!(zones["refused"], json!({}), "{zones}");
    assert_eq!(number(zones, "/report/1/written_bytes"), 8192.0, "{zones}");
}

#[test]
fn replays_that_zones_cannot_have_are_refused() {
    let space = DeviceConfig::resolve(&device(&json!({})).to_string()).expect("a device").space();
    for (keys, expected) in [
        (json!({"beyond": "wrap"}), "beyond: other addresses than those of the trace"),
        (json!({"beyond": "scale"}), "Zone Invalid Write; accepted: error"),
        (
            json!({"precondition": [{"kind": "rest", "seconds": 1}, {"kind": "sequential_fill"}]}),
            "precondition[1]: sequential_fill on a drive with ftl.mapping zoned",
        ),
    ] {
        let error = ReplayConfig::resolve(&keys.to_string(), space).expect_err("a refusal");
        assert!(error.to_string().contains(expected), "{keys}: {error}");
    }
    let replay = ReplayConfig::resolve("{}", space).expect("a replay");
    let again = ReplayConfig::resolve(&replay.to_json().to_string(), space).expect("the same");
    assert_eq!(again, replay);
    assert!(replay.precondition.is_empty(), "zones begin as the drive has them");
    let far = rows(&[("write", 1 << 30, 1)]);
    let trace = Trace::read(&mut far.as_bytes(), "t.csv", &TraceOptions::default());
    let error = replay.job(Arc::new(trace.expect("a trace")), space).err().expect("too large");
    let found = error.to_string();
    assert!(found.ends_with("; accepted: a larger device"), "{found}");
}
