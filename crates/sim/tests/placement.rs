//! Data that the host places: handles, streams, and the ids of a workload.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::testing::{merge, metrics, number, run};
use opennandlab_sim::timed::Observation;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

/// Two dies of 64 blocks of 32 pages, with these keys of `ftl`.
fn device(ftl: &Value) -> Value {
    let mut device = json!({
        "nand": {"channels": 1, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 64,
                 "pages_per_block": 32},
        "ftl": {"over_provisioning_pct": 0.25, "gc_policy": "greedy"},
    });
    merge(&mut device["ftl"], ftl);
    device
}

fn fdp(handles: u32, isolation: &str) -> Value {
    json!({"kind": "fdp", "handles": handles, "isolation": isolation})
}

/// 70 % of the writes go to 20 % of the space.
fn workload(timed: bool, placement: &Value) -> Value {
    let mut workload = json!({
        "name": "placed", "pattern": {"kind": "hot_cold", "fraction": 0.2, "share": 0.7},
        "trim_pct": 5, "timed": timed, "queue_depth": 4, "total": {"drive_writes": 3},
        "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 2}],
    });
    if !placement.is_null() {
        workload["placement"] = placement.clone();
    }
    workload
}

fn without(mut metrics: Value, key: &str) -> Value {
    metrics.as_object_mut().expect("metrics").remove(key).expect("the section of the feature");
    metrics
}

#[test]
fn ids_of_the_oracle_give_what_the_oracle_gives() {
    let superblock = json!({"allocation": "superblock", "gc_reserve_blocks": 4});
    let buffered = json!({"write_buffer_pages": 64});
    for timed in [false, true] {
        for more in [json!({}), superblock.clone(), buffered.clone()] {
            let mut oracle = json!({"write_frontiers": {"kind": "hot_cold", "fraction": 0.2}});
            let mut placed = json!({"placement": fdp(2, "persistently")});
            merge(&mut oracle, &more);
            merge(&mut placed, &more);
            let expected = metrics(&device(&oracle), &workload(timed, &Value::Null));
            let ranges = json!([{"fraction": 0.2, "id": 0}, {"id": 1}]);
            for ids in [json!({"by": "hot_cold"}), json!({"by": "range", "ranges": ranges})] {
                let found = metrics(&device(&placed), &workload(timed, &ids));
                assert_eq!(without(found, "fdp"), expected, "{more} {ids} timed: {timed}");
            }
        }
    }
}

#[test]
fn one_handle_is_none() {
    for frontiers in ["single", "host_gc"] {
        for isolation in ["initially", "persistently"] {
            let plain = json!({"write_frontiers": frontiers});
            let placed = json!({"write_frontiers": frontiers, "placement": fdp(1, isolation)});
            let expected = metrics(&device(&plain), &workload(false, &Value::Null));
            let found = metrics(&device(&placed), &workload(false, &Value::Null));
            let pages = number(&found, "/programs/host") as u64;
            assert_eq!(found["fdp"]["handles"][0]["host_bytes"], json!(pages * 4096));
            assert_eq!(without(found, "fdp"), expected);
        }
    }
}

/// Runs of the drives of the test below.
fn placed_runs(timed: bool) -> Vec<(Value, Value)> {
    let ranges = json!([{"fraction": 0.1, "id": 2}, {"bytes": 1 << 20, "id": 0}, {"id": 1}]);
    let ids = [
        json!({"by": "hot_cold"}),
        json!({"by": "range", "ranges": ranges}),
        json!({"by": "phase", "ids": [0, 2, 1]}),
        Value::Null,
    ];
    let kinds = [
        json!({"placement": fdp(3, "initially")}),
        json!({"placement": fdp(3, "persistently")}),
        json!({"placement": fdp(3, "persistently"), "write_frontiers": "host_gc"}),
        json!({"placement": {"kind": "streams", "count": 2}, "write_buffer_pages": 32}),
        json!({"placement": fdp(3, "persistently"), "allocation": "superblock",
               "gc_reserve_blocks": 4}),
        json!({"placement": fdp(3, "initially"), "wear_leveling": {"kind": "static",
               "threshold": 2}}),
    ];
    let pairs = kinds.iter().flat_map(|kind| ids.iter().map(move |ids| (kind, ids)));
    pairs.map(|(kind, ids)| (device(kind), workload(timed, ids))).collect()
}

#[test]
fn both_executors_leave_the_same_drive() {
    for ((device, instant), (_, timed)) in placed_runs(false).into_iter().zip(placed_runs(true)) {
        let [one, other] = [instant, timed]
            .map(|workload| run(&device, &workload, Observation::default()).image());
        assert_eq!(one, other, "{}", device["ftl"]);
    }
}

#[test]
fn what_is_counted_adds_up() {
    let rows_of = |metrics: &Value| {
        let section = metrics.get("fdp").or(metrics.get("streams")).expect("a section").clone();
        let rows = section.get("handles").or(section.get("streams")).expect("rows").clone();
        (section, rows.as_array().expect("a list").clone())
    };
    for (device, workload) in placed_runs(false) {
        let found = metrics(&device, &workload);
        let (section, rows) = rows_of(&found);
        let sum = |key: &str| {
            let rows: u64 = rows.iter().filter_map(|row| row[key].as_u64()).sum();
            rows + section["mixed"][key].as_u64().unwrap_or(0)
        };
        let pages = |path: &str| number(&found, path) as u64;
        let moved = pages("/programs/gc") + pages("/programs/wear");
        assert_eq!(sum("host_bytes"), pages("/programs/host") * 4096);
        assert_eq!(sum("moved_bytes"), moved * 4096);
        let erased = pages("/erases/gc") + pages("/erases/wear");
        assert_eq!(sum("reclaim_units_erased"), erased, "{}", device["ftl"]);
        assert!(sum("reclaim_units_moved") <= erased);
        let is_apart = device["ftl"]["placement"]["isolation"] == "persistently";
        assert!(!is_apart || section["mixed"]["moved_bytes"] == 0, "{section}");
        let Some(fdp) = found.get("fdp") else { continue };
        assert_eq!(fdp["host_bytes_with_metadata_written"], found["host_bytes_written"]);
        assert_eq!(fdp["media_bytes_with_metadata_written"], found["nand_bytes_written"]);
        let [host, media] = ["host", "media"]
            .map(|who| number(fdp, &format!("/{who}_bytes_with_metadata_written")));
        assert!((media - host * number(&found, "/waf")).abs() < 1e-6 * media);
        let unit = fdp["reclaim_unit_bytes"].as_u64().expect("bytes");
        assert_eq!(fdp["media_bytes_erased"], json!(erased * unit));
        // Event 80h is one of data that was isolated initially (5.1.12.1.31.2.1).
        let reallocated = if is_apart { 0 } else { sum("reclaim_units_moved") };
        assert_eq!(fdp["events"]["media_reallocated"], reallocated);
    }
}

/// An image keeps the open block of each handle and whose data each block holds: what a loaded
/// drive does next is what the drive itself does.
#[test]
fn images_keep_handles() {
    for (device, workload) in placed_runs(false) {
        let config = DeviceConfig::resolve(&device.to_string()).expect("a device");
        let mut drive = Simulation::new(config, 42);
        let go_on = |drive: &mut Simulation| {
            let space = drive.space();
            let workload = WorkloadConfig::resolve(&workload.to_string(), space).expect("it fits");
            drive.begin(workload.job(space, 9));
            while !drive.advance(1 << 40).finished {}
            drive.outcome()["metrics"].take()
        };
        go_on(&mut drive);
        let mut loaded = Simulation::from_image(&drive.image(), 42).expect("an image");
        let mut kept = Simulation::from_checkpoint(&drive.checkpoint()).expect("a checkpoint");
        let expected = go_on(&mut drive);
        assert_eq!(go_on(&mut kept), expected, "{}", device["ftl"]);
        if device["ftl"]["write_buffer_pages"].is_null() {
            assert_eq!(go_on(&mut loaded)["waf"], expected["waf"], "{}", device["ftl"]);
        }
    }
}

/// Tenants carry ids of their own, through a write buffer too: each handle takes what its tenant
/// wrote, less what the buffer absorbed or still holds.
#[test]
fn tenants_write_to_their_own_handles() {
    for (pages, steps) in [(0, false), (0, true), (64, true)] {
        let mut ftl = json!({"placement": fdp(3, "persistently"), "write_buffer_pages": pages,
                             "write_frontiers": "host_gc", "over_provisioning_pct": 0.4});
        if steps {
            ftl["collection"] = json!("steps");
        }
        let workload = json!({
            "total": {"drive_writes": 2}, "placement": {"by": "tenant", "ids": [2, 1]},
            "precondition": [{"kind": "sequential_fill"}],
            "tenants": [{"range_pct": [0, 50], "queue_depth": 2},
                        {"range_pct": [50, 100], "queue_depth": 6}],
        });
        let found = metrics(&device(&ftl), &workload);
        let row = |id: usize| found["fdp"]["handles"][id]["host_bytes"].as_u64().expect("bytes");
        // Nothing but the fill wrote with id 0, and what of it waited in the write buffer.
        assert!(row(0) <= 4096 * pages, "{pages} {steps}: {} B", row(0));
        let served = |tenant: usize| found["tenants"][tenant]["served"].as_u64();
        let slack = 2 * 4096 * pages + number(&found, "/host_pages/absorbed") as u64 * 4096;
        for (tenant, id) in [(0, 2), (1, 1)] {
            let written = 4096 * served(tenant).expect("a count");
            assert!(row(id).abs_diff(written) <= slack, "{tenant} {pages} {steps}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_arithmetic() {
    let refused = |ftl: &Value| {
        DeviceConfig::resolve(&device(ftl).to_string()).expect_err("a refusal").to_string()
    };
    let hot_cold = json!({"kind": "hot_cold", "fraction": 0.2});
    for (ftl, expected) in [
        (json!({"placement": fdp(0, "initially")}), "ftl.placement.handles: 0 is out of range"),
        (json!({"placement": fdp(129, "initially")}), "accepted: 1 to 128"),
        (json!({"placement": {"kind": "streams", "count": 128}}), "accepted: 1 to 127"),
        (json!({"placement": {"kind": "fdp"}}), "handles"),
        (json!({"placement": fdp(20, "persistently")}), "+ 19 further open (20 ids"),
        (json!({"placement": fdp(2, "initially"), "write_frontiers": hot_cold}), "single"),
        (
            json!({"placement": fdp(2, "persistently"), "wear_leveling": "static"}),
            "ftl.wear_leveling: static with ftl.placement persistently",
        ),
        (
            json!({"placement": fdp(2, "initially"), "write_frontiers": "host_gc",
                   "slc_cache": {"kind": "dynamic"}}),
            "ftl.slc_cache: with ftl.placement",
        ),
    ] {
        let found = refused(&ftl);
        assert!(found.contains(expected), "{ftl}: {found}");
    }
}

#[test]
fn ids_that_the_drive_does_not_have_are_refused() {
    let placed = device(&json!({"placement": fdp(3, "initially")}));
    let config = DeviceConfig::resolve(&placed.to_string()).expect("a device");
    for (placement, expected) in [
        (
            json!({"by": "hot_cold", "ids": [0, 3]}),
            "placement.ids[1]: 3 is not a placement id of the drive, which has 3 (ftl.placement): \
             a drive would choose a handle itself and log the event Invalid Placement Identifier \
             (3h); accepted: 0 to 2",
        ),
        (json!({"by": "range", "ranges": [{"id": 7}]}), "placement.ranges[0].id: 7"),
        (json!({"by": "range", "ranges": []}), "1 to 4096 ranges"),
        (json!({"by": "range", "ranges": [{"id": 0}, {"id": 1}]}), "exactly one of fraction"),
        (
            json!({"by": "range", "ranges": [{"fraction": 0.5, "id": 0},
                                             {"fraction": 0.3, "id": 1}]}),
            "of the 3276 logical pages; accepted: all of them",
        ),
        (
            json!({"by": "range", "ranges": [{"bytes": "1GiB", "id": 0}, {"id": 1}]}),
            "placement.ranges[0]: ends at page 262144 of 3276",
        ),
        (json!({"by": "range", "ranges": [{"bytes": 5000, "id": 0}, {"id": 1}]}), "4096 B"),
        (json!({"by": "phase", "ids": [1, 2]}), "3 ids, one for each of 2 steps"),
        (json!({"by": "tenant"}), "tenant in a workload without tenants"),
        (json!({"by": "hot_cold", "fraction": 1.5}), "above 0, below 1"),
    ] {
        let workload = workload(false, &placement).to_string();
        let error = WorkloadConfig::resolve(&workload, config.space()).expect_err("a refusal");
        assert!(error.to_string().contains(expected), "{placement}: {error}");
    }
    // A drive without handles ignores ids, and says so.
    let plain = DeviceConfig::resolve(&device(&json!({})).to_string()).expect("a device");
    let workload = workload(false, &json!({"by": "hot_cold"})).to_string();
    let job = WorkloadConfig::resolve(&workload, plain.space()).expect("ids without effect");
    let warnings = job.job(plain.space(), 1).warnings;
    assert!(warnings[0].starts_with("placement had no effect"), "{warnings:?}");
}

/// Two equal tenants, each with a handle and half of the drive: preconditioning wrote all with id
/// 0, so that handle 0 began with the data of both, and they had amplifications of 6.3 and 1.9.
#[test]
fn preconditioning_writes_with_the_id_of_the_tenant_whose_range_it_is() {
    let mut device = device(&json!({"placement": fdp(2, "persistently")}));
    let tenant =
        |name: &str, range: [u32; 2]| json!({"name": name, "range_pct": range, "queue_depth": 4});
    let mut workload = json!({
        "tenants": [tenant("one", [0, 50]), tenant("two", [50, 100])], "total": {"drive_writes": 3},
        "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 3}],
    });
    for buffer in [0, 64] {
        device["ftl"]["write_buffer_pages"] = json!(buffer);
        let mut amplifications = |placement: Value| -> Vec<f64> {
            workload["placement"] = placement;
            let found = metrics(&device, &workload);
            let handles = found["fdp"]["handles"].as_array().expect("rows").clone();
            handles
                .iter()
                .map(|it| number(it, "/moved_bytes") / number(it, "/host_bytes"))
                .collect()
        };
        let ranges = json!([{"fraction": 0.5, "id": 0}, {"id": 1}]);
        let by_range = amplifications(json!({"by": "range", "ranges": ranges}));
        let by_tenant = amplifications(json!({"by": "tenant"}));
        for (range, tenant) in by_range.iter().zip(&by_tenant) {
            assert!((tenant / range - 1.0).abs() < 1e-12, "{by_range:?} {by_tenant:?}");
        }
        assert!((by_tenant[0] / by_tenant[1] - 1.0).abs() < 0.1, "{by_tenant:?}");
        // The ids of the tenants may stand in any order.
        let swapped = amplifications(json!({"by": "tenant", "ids": [1, 0]}));
        assert!((swapped[1] / by_tenant[0] - 1.0).abs() < 0.1, "{swapped:?} {by_tenant:?}");
    }
}

/// Two equal tenants that both write everywhere: by range, all of preconditioning was the first
/// one's, and they had amplifications of 5.6 and 2.6.
#[test]
fn preconditioning_with_the_writes_of_the_tenants_has_their_ids_where_ranges_overlap() {
    let device = device(&json!({"placement": fdp(2, "persistently")}));
    let found = metrics(
        &device,
        &json!({
            "tenants": [{"queue_depth": 4}, {"queue_depth": 4}], "placement": {"by": "tenant"},
            "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 8}],
            "total": {"drive_writes": 3},
        }),
    );
    let handles = found["fdp"]["handles"].as_array().expect("rows");
    let moved: Vec<_> =
        handles.iter().map(|it| number(it, "/moved_bytes") / number(it, "/host_bytes")).collect();
    assert!((moved[0] / moved[1] - 1.0).abs() < 0.06, "{moved:?}");
}
