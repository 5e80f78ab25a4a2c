//! Traces as tenants: the joined trace, replayed alone, is the oracle.

use std::sync::Arc;

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::op::HostCommand;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::units::Ns;
use opennandlab_sim::workload::trace::{Trace, TraceOptions};
use opennandlab_sim::workload::{Admission, Job, Limit, ReplayConfig, Space, WorkloadConfig};
use proptest::prelude::*;
use serde_json::{json, Value};

/// 4 dies; pages of 4 KiB.
fn device(host: &Value) -> DeviceConfig {
    let file = json!({
        "nand": {"channels": 4, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 64,
                 "pages_per_block": 64, "timing": {"t_read_us": 50, "t_program_us": 500}},
        "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 8},
        "host": host,
    });
    DeviceConfig::resolve(&file.to_string()).expect("a device")
}

/// Lines of `mqsim`: time, volume, sector, sectors, 1 reads.
type Line = (u64, u32, u64, u32, bool);

fn text(lines: &[Line]) -> String {
    let line = |(time, volume, sector, count, reads): &Line| {
        format!("{time} {volume} {sector} {count} {}\n", u8::from(*reads))
    };
    lines.iter().map(line).collect()
}

fn trace(lines: &[Line], name: &str, options: &TraceOptions) -> Arc<Trace> {
    Arc::new(Trace::read(&mut text(lines).as_bytes(), name, options).expect("well formed"))
}

fn job_of(tenants: &Value, traces: &[&[Line]], space: Space) -> Result<Job, String> {
    let work = json!({"precondition": [{"kind": "sequential_fill"}], "tenants": tenants});
    let work = WorkloadConfig::resolve(&work.to_string(), space);
    let work = work.map_err(|error| error.to_string())?;
    let read = |(index, lines): (usize, &&[Line])| {
        let (options, _) = work.tenants[index].trace_options()?;
        Some(trace(lines, "t.trace", &options))
    };
    let traces: Vec<_> = traces.iter().enumerate().map(read).collect();
    work.job_of(&traces, space, 42).map_err(|error| error.to_string())
}

fn replay_of(lines: &[Line], options: &Value, space: Space) -> Job {
    let config = ReplayConfig::resolve(&options.to_string(), space).expect("options");
    let read = trace(lines, "t.trace", &config.trace_options());
    config.job(read, space).expect("it fits")
}

fn outcome(device: DeviceConfig, make: impl Fn(Space) -> Job) -> Value {
    let mut drive = Simulation::new(device, 42);
    drive.begin(make(drive.space()));
    while !drive.advance(100_000).finished {}
    let outcome = drive.outcome();
    assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
    outcome
}

fn drawn(mut job: Job) -> Vec<HostCommand> {
    let mut commands = Vec::new();
    job.measured.as_mut().expect("a part").loads[0].generator.fill(&mut commands, 10_000);
    commands
}

/// Requests with many equal times, inside `sectors`.
fn lines(count: usize, sectors: u64) -> impl Strategy<Value = Vec<Line>> {
    let line = (0..40_u64, 0..3_u32, 0..sectors - 64, 1..64_u32, any::<bool>());
    prop::collection::vec(line, 1..count).prop_map(|mut lines| {
        for line in &mut lines {
            line.0 *= 20_000;
        }
        lines.sort_by_key(|line| line.0);
        lines
    })
}

/// Both on one volume, their times from the first of each, the second one moved.
fn joined(one: &[Line], other: &[Line], shift: u64) -> Vec<Line> {
    let moved = |lines: &[Line], shift| -> Vec<Line> {
        let first = lines[0].0;
        let move_one = |line: &Line| (line.0 - first, 0, line.2 + shift, line.3, line.4);
        lines.iter().map(move_one).collect()
    };
    let mut all = [moved(one, 0), moved(other, shift)].concat();
    all.sort_by_key(|line| line.0);
    all
}

/// Six requests of volumes 7 and 8, then two of volume 8.
const SMALL: [Line; 4] =
    [(0, 7, 0, 8, false), (1000, 8, 8, 8, true), (1000, 7, 16, 8, false), (9000, 8, 0, 16, true)];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn open_loops_are_those_of_the_joined_trace(
        one in lines(80, 50_000),
        other in lines(80, 50_000),
    ) {
        let space = device(&json!({})).space();
        // Volumes on each other; the second half begins at a page.
        let half = space.logical_bytes / 2 / space.page_bytes * space.page_bytes / 512;
        let overlay = json!({"file": "t.trace", "volumes": "overlay"});
        let tenants = json!([
            {"name": "a", "trace": overlay, "range_pct": [0, 50]},
            {"name": "b", "trace": overlay, "range_pct": [50, 100]},
        ]);
        let both = drawn(job_of(&tenants, &[&one, &other], space).expect("they fit"));
        let alone = drawn(replay_of(&joined(&one, &other, half), &json!({}), space));
        let plain = |commands: &[HostCommand]| -> Vec<HostCommand> {
            commands.iter().map(|command| HostCommand { tenant: 0, ..*command }).collect()
        };
        prop_assert_eq!(plain(&both), plain(&alone));
        // Volumes have accounts behind the two tenants, if there are several.
        for command in &both {
            let is_second = command.sector >= half;
            prop_assert!(command.tenant > 1 || (command.tenant == 1) == is_second);
        }
    }
}

/// Lines of a load that keeps the drive busy: pages at random, reads and writes.
fn busy(count: u64, gap_ns: u64, seed: u64) -> Vec<Line> {
    let page = |index: u64| (index * 2_654_435_761 + seed * 97) % 5000;
    let line = |index| {
        let volume = (index % 3 == 0).into();
        (index * gap_ns, volume, page(index) * 8, 8, index % 4 != seed % 4)
    };
    (0..count).map(line).collect()
}

#[test]
fn latencies_are_those_of_the_joined_trace() {
    let (one, other) = (busy(4000, 40_000, 1), busy(2000, 80_000, 2));
    let overlay = json!({"file": "t.trace", "volumes": "overlay"});
    let tenants = json!([
        {"name": "a", "trace": overlay, "range_pct": [0, 50], "weight": 3},
        {"name": "b", "trace": overlay, "range_pct": [50, 100]},
    ]);
    let both = outcome(device(&json!({})), |space| {
        job_of(&tenants, &[&one, &other], space).expect("they fit")
    });
    let alone = outcome(device(&json!({})), |space| {
        let half = space.logical_bytes / 2 / space.page_bytes * space.page_bytes / 512;
        replay_of(&joined(&one, &other, half), &json!({}), space)
    });
    for key in ["latency_us", "iops", "waf", "duration_s", "host_pages"] {
        assert_eq!(both["metrics"][key], alone["metrics"][key], "{key}");
    }
    assert_eq!(alone["metrics"]["tenants"], Value::Null);
    let rows = both["metrics"]["tenants"].as_array().expect("rows");
    let count = |row: &Value| row["latency_us"]["all"]["count"].as_u64().expect("a count");
    assert_eq!(rows.iter().map(count).collect::<Vec<_>>(), [4000, 2000]);
    assert_eq!(rows[0]["trace_requests"], 4000);
    // The volumes of a trace share out what its tenant got.
    for row in rows {
        let volumes = row["volumes"].as_array().expect("two volumes");
        assert_eq!(volumes.iter().map(count).sum::<u64>(), count(row));
        assert_eq!(count(&volumes[0]), count(row).div_ceil(3));
        let total = |row: &Value| row["iops"]["total"].as_f64().expect("a rate");
        let sum: f64 = volumes.iter().map(total).sum();
        assert!((sum / total(row) - 1.0).abs() < 1e-9);
        assert!(volumes[0].get("weight").is_none());
    }
}

#[test]
fn closed_loops_stand_next_to_open_ones_and_patterns() {
    let (one, other) = (busy(3000, 1, 1), busy(500, 100_000, 2));
    let tenants = json!([
        {"name": "scan", "pattern": "sequential", "read_pct": 100, "queue_depth": 2},
        {"name": "batch", "trace": {"file": "b", "volumes": "overlay", "repeat": 2},
         "loop": {"kind": "closed", "queue_depth": 4}},
        {"name": "web", "trace": {"file": "w", "volumes": "1"}, "range_pct": [20, 100]},
    ]);
    let result = outcome(device(&json!({"protocol": "nvme", "queue_depth_max": 4})), |space| {
        let work = json!({"total": {"seconds": 2}, "tenants": tenants,
                          "precondition": [{"kind": "sequential_fill"}]});
        let work = WorkloadConfig::resolve(&work.to_string(), space).expect("a workload");
        let read = |index: usize, lines: &[Line]| {
            let (options, _) = work.tenants[index].trace_options()?;
            Some(trace(lines, "t.trace", &options))
        };
        let traces = [None, read(1, &one), read(2, &other)];
        work.job_of(&traces, space, 42).expect("they fit")
    });
    let rows = result["metrics"]["tenants"].as_array().expect("rows");
    assert_eq!(rows[0]["trace_requests"], Value::Null);
    assert_eq!(rows[1]["served"], 6000);
    assert_eq!(rows[1]["volumes"].as_array().map(Vec::len), Some(2));
    // One volume of two, every third request.
    assert_eq!((&rows[2]["served"], rows[2].get("volumes")), (&json!(167), None));
    let ended: Vec<_> = result["warnings"].as_array().into_iter().flatten().collect();
    let told =
        |words: &str| ended.iter().any(|text| text.as_str().is_some_and(|it| it.contains(words)));
    assert!(told("traces of tenants ended before the run, at 2 s: batch at "), "{ended:?}");
    assert!(told("web at 0.0"), "{ended:?}");
}

#[test]
fn a_range_that_is_too_small_is_refused_wrapped_or_scaled() {
    let space = Space { logical_bytes: 64 * 4096, page_bytes: 4096, placement_ids: 0, zones: None };
    // Pages 0, 1, 5, 100, 101 and 4096 on the last 64 of 128.
    let twice = Space { logical_bytes: 2 * space.logical_bytes, ..space };
    let pages = [0, 1, 5, 100, 101, 4096].map(|page| (0, 0, page * 8, 8, false));
    let tenant = |beyond: &str| {
        let trace = json!({"file": "t", "beyond": beyond});
        json!([{"name": "a", "trace": trace, "range_pct": [50, 100]}])
    };
    let refused = job_of(&tenant("error"), &[&pages], twice).err().expect("too small");
    for words in [
        "tenants[0].trace.beyond: t.trace reaches byte 16781311",
        "its range holds 262144 B",
        "a larger `range_pct`",
    ] {
        assert!(refused.contains(words), "{refused}");
    }
    for (beyond, merged, sectors) in
        [("wrap", 1, [0, 8, 40, 288, 296, 0]), ("scale", 3, [0, 0, 0, 8, 8, 504])]
    {
        let job = job_of(&tenant(beyond), &[&pages], twice).expect("moved");
        let said = job.warnings.join("\n");
        assert!(
            said.contains("tenant a: the trace spans 16781312 B, its range has 262144 B"),
            "{said}"
        );
        assert!(said.contains(&format!("{merged} were merged with others")), "{said}");
        let facts = job.measured.as_ref().expect("a part").loads[0].host.trace.expect("a trace");
        assert_eq!((facts.requests, facts.pages.map(|pages| pages.merged)), (6, Some(merged)));
        let places: Vec<_> = drawn(job).iter().map(|command| command.sector - 512).collect();
        assert_eq!(places, sectors, "{beyond}");
    }
}

#[test]
fn a_run_of_traces_ends_with_the_last() {
    let space = Space { logical_bytes: 1 << 20, page_bytes: 4096, placement_ids: 0, zones: None };
    let tenants = json!([{"trace": "a.csv"}, {"trace": "b.csv", "loop": "closed"}]);
    let job = job_of(&tenants, &[&SMALL, &SMALL], space).expect("they fit");
    let stage = job.measured.expect("a part");
    assert_eq!(stage.limit, Limit::Exhausted);
    let kinds: Vec<_> = stage.loads.iter().map(|load| load.admission).collect();
    assert_eq!(kinds[..2], [Admission::Open, Admission::Closed { queue_depth: 32 }]);
    // Two volumes each, behind the tenants.
    let of: Vec<_> = stage.loads.iter().map(|load| load.host.volume_of).collect();
    assert_eq!(of, [None, None, Some(0), Some(0), Some(1), Some(1)]);
    let first = &job.resolved["tenants"][0];
    assert_eq!((&first["name"], &first["loop"]["kind"]), (&json!("tenant-0"), &json!("open")));
    assert_eq!(first.get("pattern"), None);
    let again = json!({"tenants": job.resolved["tenants"], "total": {}}).to_string();
    let again = WorkloadConfig::resolve(&again, space).expect("its own output").to_json();
    assert_eq!(again["tenants"], job.resolved["tenants"]);
}

#[test]
fn placement_ids_of_a_tenant_hold_for_its_volumes() {
    let space = Space { logical_bytes: 1 << 20, page_bytes: 4096, placement_ids: 8, zones: None };
    let work = json!({"tenants": [{"trace": "a"}, {"trace": "b"}],
                      "placement": {"by": "tenant", "ids": [5, 3]}});
    let work = WorkloadConfig::resolve(&work.to_string(), space).expect("a workload");
    let read = Some(trace(&SMALL, "t", &TraceOptions::default()));
    let job = work.job_of(&[read.clone(), read], space, 1).expect("they fit");
    let ids = format!("{:?}", job.measured.expect("a part").ids);
    assert_eq!(ids, "Some(Tenants([5, 3, 5, 5, 3, 3]))");
}

#[test]
fn refusals_name_path_and_remedy() {
    let space = Space { logical_bytes: 1 << 20, page_bytes: 4096, placement_ids: 0, zones: None };
    let traced = |more: Value| {
        let mut tenant = json!({"trace": "a.csv"});
        let others = more.as_object().expect("keys").clone();
        tenant.as_object_mut().expect("keys").extend(others);
        json!({"tenants": [tenant]})
    };
    let with = |work: Value, key: &str, value: Value| {
        let mut work = work;
        work[key] = value;
        work
    };
    let plain = || traced(json!({}));
    let step = json!([{"kind": "workload", "drive_writes": 1}]);
    for (work, words) in [
        (traced(json!({"queue_depth": 4})), "tenants[0].queue_depth: `4` next to `trace`"),
        (traced(json!({"read_pct": 4})), "tenants[0].read_pct: "),
        (
            traced(json!({"loop": {"kind": "closed", "queue_depth": 0}})),
            "tenants[0].loop.queue_depth: ",
        ),
        (traced(json!({"trace": {"file": "a", "repeat": 0}})), "tenants[0].trace.repeat: "),
        (traced(json!({"trace": {"file": "a", "beyond": "x"}})), "tenants[0].trace.beyond: "),
        (traced(json!({"trace": {"file": "a", "beyont": "x"}})), "tenants[0].trace.beyont: "),
        (traced(json!({"trace": {"format": "msr"}})), "tenants[0].trace.file: missing"),
        (traced(json!({"trace": 7})), "tenants[0].trace: "),
        (traced(json!({"range_pct": [50, 20]})), "tenants[0].range_pct: "),
        (
            json!({"tenants": [{"loop": "closed"}], "total": {"ios": 1}}),
            "tenants[0].loop: without `trace`; accepted: `queue_depth`",
        ),
        (json!({"tenants": [{"trace": "a"}, {}]}), "total: 0 keys given"),
        (json!({}), "total: 0 keys given"),
        (with(plain(), "precondition", step), "precondition[0].requests: a trace has no pattern"),
        (with(plain(), "timed", json!(false)), "timed: "),
    ] {
        let error = WorkloadConfig::resolve(&work.to_string(), space).expect_err("refused");
        assert!(error.to_string().contains(words), "{error} lacks {words}");
    }
    let missing = WorkloadConfig::resolve(&plain().to_string(), space).expect("a workload");
    let error = missing.job_of(&[], space, 1).err().expect("no trace");
    assert_eq!(error.to_string(), "tenants[0].trace: the trace was not read");
}

#[test]
fn each_volume_of_a_replay_can_be_a_tenant() {
    let lines = busy(6000, 30_000, 3);
    let run =
        |options: &Value| outcome(device(&json!({})), |space| replay_of(&lines, options, space));
    let plain = run(&json!({}));
    let shared = run(&json!({"tenants": "volume"}));
    for key in ["latency_us", "iops", "waf", "duration_s", "host_pages"] {
        assert_eq!(plain["metrics"][key], shared["metrics"][key], "{key}");
    }
    let rows = shared["metrics"]["tenants"].as_array().expect("rows");
    let named: Vec<_> =
        rows.iter().map(|row| (row["name"].clone(), row["served"].clone())).collect();
    assert_eq!(named, [(json!("1"), json!(2000)), (json!("0"), json!(4000))]);
    // A queue depth for each.
    let space = device(&json!({})).space();
    let closed = json!({"tenants": "volume", "loop": {"kind": "closed", "queue_depth": 3}});
    let stage = replay_of(&lines, &closed, space).measured.expect("a part");
    for (tenant, mut load) in stage.loads.into_iter().enumerate() {
        assert_eq!(load.admission, Admission::Closed { queue_depth: 3 });
        let mut commands = Vec::new();
        load.generator.fill(&mut commands, 10_000);
        assert_eq!(commands.len(), [2000, 4000][tenant]);
        assert!(commands.iter().all(|it| usize::from(it.tenant) == tenant && it.arrival == Ns(0)));
    }
    assert_eq!(run(&closed)["metrics"]["latency_us"]["all"]["count"], 6000);
    // As many as there can be tenants.
    let many: Vec<Line> = (0..65).map(|volume| (0, volume, 0, 8, true)).collect();
    let config = ReplayConfig::resolve(r#"{"tenants": "volume"}"#, space).expect("options");
    let read = trace(&many, "t", &TraceOptions::default());
    let error = config.job(read, space).err().expect("too many").to_string();
    assert!(error.contains("tenants: `volume` of a trace with 65 volumes; accepted: at most 64"));
    let untimed = r#"{"tenants": "volume", "timed": false}"#;
    assert!(ReplayConfig::resolve(untimed, space).is_err());
}
