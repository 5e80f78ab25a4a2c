//! Workload declarations: what is refused and how the refusal reads, what resolving fills in, what
//! is compiled. The device is 1 GiB of 4 KiB pages unless a case says otherwise.

use opennandlab_sim::op::HostOp;
use opennandlab_sim::workload::{Admission, Limit, Space, SteadyRule, WorkloadConfig};

const SPACE: Space =
    Space { logical_bytes: 1 << 30, page_bytes: 4096, placement_ids: 0, zones: None };

fn resolve(json: &str) -> WorkloadConfig {
    WorkloadConfig::resolve(json, SPACE).unwrap_or_else(|error| panic!("{json}: {error}"))
}

fn refusal(json: &str) -> String {
    match WorkloadConfig::resolve(json, SPACE) {
        Ok(_) => panic!("{json} was accepted"),
        Err(error) => error.to_string(),
    }
}

/// Keys next to a valid total, path that the refusal opens with, words it must hold: the value and
/// what is accepted.
type Refusal = (&'static str, &'static str, &'static [&'static str]);

const VALUES: &[Refusal] = &[
    (r#""pattern": "rnadom""#, "pattern: ", &["rnadom", "sequential", "zoned"]),
    (r#""pattern": {"kind": "zipf", "theat": 1}"#, "pattern: ", &["theat", "theta"]),
    (r#""pattern": {"kind": "random", "x": 1}"#, "pattern: ", &["unknown field `x`"]),
    (r#""pattern": {"kind": "zipf", "theta": 0}"#, "pattern.theta: ", &["`0`", "above 0"]),
    (r#""pattern": {"kind": "zipf", "theta": 11}"#, "pattern.theta: ", &["`11`", "at most 10"]),
    (r#""pattern": {"kind": "hot_cold", "fraction": 1}"#, "pattern.fraction: ", &["below 1"]),
    (r#""pattern": {"kind": "hot_cold", "share": 1.5}"#, "pattern.share: ", &["1.5", "0 to 1"]),
    (r#""pattern": {"kind": "zoned", "zones": []}"#, "pattern.zones: ", &["1 to 4096"]),
    (
        r#""pattern": {"kind": "zoned", "zones": [{"fraction": 0.5, "share": 1}]}"#,
        "pattern.zones: ",
        &["fractions sum to `0.5`"],
    ),
    (r#""reed_pct": 1"#, "reed_pct: ", &["unknown field", "read_pct"]),
    (r#""read_pct": 101"#, "read_pct: ", &["`101`", "0 to 100"]),
    (r#""read_pct": -1"#, "read_pct: ", &["`-1`", "0 to 100"]),
    (r#""read_pct": "many""#, "read_pct: ", &["many"]),
    (r#""read_pct": NaN"#, "read_pct", &[]),
    (r#""read_pct": 1e999"#, "read_pct", &[]),
    (r#""read_pct": 70, "trim_pct": 40"#, "trim_pct: ", &["`40`", "0 to 30 beside read_pct 70"]),
    (r#""trim_target": "all""#, "trim_target: ", &["all", "any", "mapped"]),
    (r#""block_size_bytes": 0"#, "block_size_bytes: ", &["`0`", "multiple of 512"]),
    (r#""block_size_bytes": 1000"#, "block_size_bytes: ", &["`1000`", "multiple of 512"]),
    (r#""block_size_bytes": "4q""#, "block_size_bytes: ", &["`4q`", "KiB"]),
    (r#""block_size_bytes": "2GiB""#, "block_size_bytes: ", &["2147483648", "1 GiB"]),
    (r#""block_size_bytes": {}"#, "block_size_bytes: ", &["empty"]),
    (r#""block_size_bytes": {"4k": 0}"#, "block_size_bytes.4096: ", &["`0`", "positive weight"]),
    (r#""block_size_bytes": {"4k": 1, "4096": 1}"#, "block_size_bytes: ", &["4096", "twice"]),
    (r#""block_size_bytes": {"4k": "1"}"#, "block_size_bytes: ", &["positive number"]),
    (r#""align_bytes": 0"#, "align_bytes: ", &["`0`", "multiple of 512"]),
    (r#""align_bytes": 700"#, "align_bytes: ", &["`700`", "multiple of 512"]),
    (r#""align_bytes": "naturally""#, "align_bytes: ", &["naturally", "or natural"]),
    (r#""align_bytes": [512]"#, "align_bytes: ", &["[512]", "natural"]),
    (
        r#""precondition": [{"kind": "age", "pe_cycles": -1}]"#,
        "precondition[0].pe_cycles: ",
        &["`-1`", "0 to 1000000"],
    ),
    (
        r#""precondition": [{"kind": "age", "pe_cycles": 10, "spread_ratio": 1.5}]"#,
        "precondition[0].spread_ratio: ",
        &["`1.5`", "0 to 1"],
    ),
    (r#""precondition": [{"kind": "age"}]"#, "precondition[0]", &["pe_cycles"]),
    (r#""precondition": [{"kind": "age", "pe_cycles": NaN}]"#, "precondition[0]", &[]),
    (r#""queue_depth": 0"#, "queue_depth: ", &["`0`", "1 to 65536"]),
    (r#""queue_depth": 1.5"#, "queue_depth: ", &["`1.5`", "1 to 65536"]),
    (r#""queue_depth": {"arrival": "poison", "iops": 1}"#, "queue_depth: ", &["poison", "poisson"]),
    (r#""queue_depth": {"arrival": "poisson", "ips": 1}"#, "queue_depth: ", &["ips", "iops"]),
    (r#""queue_depth": {"arrival": "poisson", "iops": 0}"#, "queue_depth.iops: ", &["`0`"]),
    (
        r#""timed": false, "queue_depth": {"arrival": "poisson", "iops": 9}"#,
        "queue_depth: ",
        &["untimed", "timed: true"],
    ),
    (r#""active_range_pct": 0"#, "active_range_pct: ", &["`0`", "above 0, at most 100"]),
    (
        r#""active_range_pct": 1e-4"#,
        "block_size_bytes: ",
        &["`4096`", "at most 1024 B, the active range"],
    ),
    (r#""samples": 0"#, "samples: ", &["`0`", "1 to 100000"]),
    (r#""name": " ""#, "name: ", &["blank"]),
];

const PRECONDITIONS: &[Refusal] = &[
    (r#""precondition": [{"kind": "fill"}]"#, "precondition[0]", &["fill", "sequential_fill"]),
    (r#""precondition": [{"fills": 1}]"#, "precondition[0]", &["kind"]),
    (
        r#""precondition": [{"kind": "sequential_fill", "fils": 2}]"#,
        "precondition[0]",
        &["fils", "fills"],
    ),
    (
        r#""precondition": [{"kind": "sequential_fill", "fills": 0}]"#,
        "precondition[0].fills: ",
        &["`0`", "1 to 1000"],
    ),
    (r#""precondition": [{"kind": "workload"}]"#, "precondition[0]: ", &["exactly one"]),
    (
        r#""precondition": [{"kind": "workload", "drive_writes": 1, "until": "steady"}]"#,
        "precondition[0]: ",
        &["exactly one"],
    ),
    (
        r#""precondition": [{"kind": "workload", "drive_writes": 1, "windows": 5}]"#,
        "precondition[0].windows: ",
        &["until: steady"],
    ),
    (
        r#""precondition": [{"kind": "workload", "until": "steady", "windows": 1}]"#,
        "precondition[0].windows: ",
        &["`1`", "2 to 1000"],
    ),
    (
        r#""precondition": [{"kind": "workload", "until": "steady", "max_drive_writes": 0.9}]"#,
        "precondition[0].max_drive_writes: ",
        &["`0.9`", "at least 1"],
    ),
    (
        r#""precondition": [{"kind": "workload", "until": "steady", "max_drive_writes": 0.3,
            "windows": 3, "window_drive_writes": 0.1, "tolerance_ratio": 2}]"#,
        "precondition[0].tolerance_ratio: ",
        &["`2`", "at most 1"],
    ),
    (
        r#""precondition": [{"kind": "workload", "drive_writes": -1}]"#,
        "precondition[0].drive_writes: ",
        &["`-1`", "above 0"],
    ),
];

#[test]
fn refusals_name_path_value_and_what_is_accepted() {
    for (keys, path, words) in VALUES.iter().chain(PRECONDITIONS) {
        let message = refusal(&format!(r#"{{"total": {{"ios": 1}}, {keys}}}"#));
        assert!(message.starts_with(path), "{keys}: {message}");
        for word in *words {
            assert!(message.contains(word), "{keys}: {message} lacks {word}");
        }
    }
}

#[test]
fn totals_are_exactly_one_and_possible() {
    for (json, path, word) in [
        ("{}", "total: ", "0 keys given"),
        (r#"{"total": {}}"#, "total: ", "exactly one of drive_writes, bytes, ios, seconds"),
        (r#"{"total": {"ios": 1, "bytes": 1}}"#, "total: ", "2 keys given"),
        (r#"{"total": {"ios": 0}}"#, "total.ios: ", "at least 1"),
        (r#"{"total": {"ios": 1.5}}"#, "total.ios: ", "`1.5`"),
        (r#"{"total": {"ois": 1}}"#, "total.ois: ", "unknown field"),
        (r#"{"total": {"bytes": 0}}"#, "total.bytes: ", "at least 1"),
        (r#"{"total": {"bytes": -5}}"#, "total.bytes: ", "-5"),
        (r#"{"total": {"drive_writes": 0}}"#, "total.drive_writes: ", "above 0"),
        (r#"{"total": {"drive_writes": 1e9}}"#, "total.drive_writes: ", "at most 1e6"),
        (r#"{"total": {"seconds": -1}}"#, "total.seconds: ", "above 0"),
        (r#"{"total": {"seconds": 1}, "timed": false}"#, "total.seconds: ", "timed: true"),
        (
            r#"{"total": {"drive_writes": 1}, "read_pct": 90, "trim_pct": 10}"#,
            "total.drive_writes: ",
            "nothing is written",
        ),
        ("not json", "", "expected"),
        ("[]", "", ""),
        ("", "", ""),
    ] {
        let message = refusal(json);
        assert!(message.starts_with(path) && message.contains(word), "{json}: {message}");
    }
    let limit = |json: &str| resolve(json).job(SPACE, 42).measured.map(|stage| stage.limit);
    assert_eq!(
        limit(r#"{"total": {"drive_writes": 0.5}}"#),
        Some(Limit::WrittenBytes(1 << 29)),
        "drive writes are multiples of the logical capacity"
    );
    assert_eq!(limit(r#"{"total": {"bytes": "1GiB"}}"#), Some(Limit::Bytes(1 << 30)));
    assert_eq!(limit(r#"{"total": {"ios": 1e6}}"#), Some(Limit::Ios(1_000_000)));
    let one_and_a_half = opennandlab_sim::units::Ns(1_500_000_000);
    assert_eq!(limit(r#"{"total": {"seconds": 1.5}}"#), Some(Limit::Time(one_and_a_half)));
}

#[test]
fn a_workload_larger_than_the_device_is_refused() {
    let tiny = Space { logical_bytes: 8 * 4096, page_bytes: 4096, placement_ids: 0, zones: None };
    let json = r#"{"total": {"ios": 1}, "block_size_bytes": {"4KiB": 1, "64KiB": 1}}"#;
    let error = WorkloadConfig::resolve(json, tiny).unwrap_err();
    assert_eq!(error.path, "block_size_bytes");
    assert!(error.message.contains("65536") && error.message.contains("32768"), "{error}");
    let json = r#"{"total": {"ios": 1}, "pattern": "hot_cold", "block_size_bytes": 32768}"#;
    assert_eq!(WorkloadConfig::resolve(json, tiny).unwrap_err().path, "pattern.fraction");
}

#[test]
fn resolving_fills_the_defaults_in_once() {
    let json = r#"{
        "name": "everything", "pattern": {"kind": "zoned", "zones": [
            {"fraction": 0.5, "share": 0.9}, {"fraction": 0.5, "share": 0.1}]},
        "read_pct": 30, "trim_pct": 10, "trim_target": "mapped",
        "block_size_bytes": {"4KiB": 40, "8KiB": 40, "16KiB": 20},
        "queue_depth": {"arrival": "poisson", "iops": 50000}, "total": {"seconds": 60},
        "active_range_pct": 50,
        "precondition": [{"kind": "sequential_fill", "fills": 2},
                         {"kind": "workload", "until": "steady"},
                         {"kind": "workload", "drive_writes": 2, "timed": true}]
    }"#;
    let once = resolve(json);
    let text = once.to_json();
    let twice = resolve(&text.to_string());
    assert_eq!(once, twice);
    assert_eq!(text, twice.to_json());
    assert_eq!(text["align_bytes"], 4096);
    assert_eq!(text["samples"], 100);
    assert_eq!(text["precondition"][1]["windows"], 5);
    assert_eq!(text["precondition"][1]["max_drive_writes"], 10.0);
    assert_eq!(text["queue_depth"]["iops"], 50_000.0);
    let natural = resolve(r#"{"total": {"ios": 1}, "align_bytes": "natural"}"#).to_json();
    assert_eq!(natural["align_bytes"], "natural");
    let nulls = r#"{"total": {"ios": 1, "bytes": null}, "align_bytes": null}"#;
    assert_eq!(resolve(nulls), resolve(r#"{"total": {"ios": 1}}"#), "null is absent");
    let plain = resolve(r#"{"total": {"ios": 1}}"#).to_json();
    assert_eq!(plain["pattern"]["kind"], "random");
    assert_eq!(plain["block_size_bytes"], 4096);
    assert_eq!(plain["queue_depth"], 1);
    assert_eq!(plain["timed"], true);
}

#[test]
fn preconditioning_is_compiled_in_order() {
    let config = resolve(
        r#"{"queue_depth": {"arrival": "poisson", "iops": 9}, "total": {"ios": 7},
            "precondition": [{"kind": "sequential_fill", "fills": 2},
                             {"kind": "workload", "until": "steady"},
                             {"kind": "workload", "drive_writes": 0.25, "timed": true}]}"#,
    );
    let job = config.job(SPACE, 42);
    let labels: Vec<_> = job.precondition.iter().map(|stage| stage.label.as_str()).collect();
    assert_eq!(labels, ["sequential fill", "workload writes until steady", "workload writes"]);
    let limits: Vec<_> = job.precondition.iter().map(|stage| stage.limit).collect();
    let capacity = 1_u64 << 30;
    let expected = [2 * capacity, 10 * capacity, capacity / 4].map(Limit::WrittenBytes);
    assert_eq!(limits, expected);
    let rule = SteadyRule { window_bytes: 214_748_365, window_count: 5, tolerance_ratio: 0.02 };
    assert_eq!(job.precondition[1].until, Some(rule));
    assert_eq!(job.precondition.iter().map(|s| s.timed).collect::<Vec<_>>(), [false, false, true]);
    let closed = Admission::Closed { queue_depth: 32 };
    assert!(job.precondition.iter().all(|stage| stage.loads[0].admission == closed));
    let measured = job.measured.unwrap();
    assert_eq!((measured.loads[0].admission, measured.limit), (Admission::Open, Limit::Ios(7)));
    assert_eq!((job.sample_count, job.warnings.len()), (100, 0));
}

/// Preconditioning left trims out: the drive was measured on its way from a full mapping to the
/// smaller one that trims leave, with a WAF between the two.
#[test]
fn preconditioning_by_the_workload_trims_as_the_workload_does() {
    let shares = |keys: &str| {
        let config = resolve(&format!(
            r#"{{"total": {{"ios": 7}}, {keys},
                "precondition": [{{"kind": "workload", "drive_writes": 1}}]}}"#
        ));
        let mut batch = Vec::new();
        config.job(SPACE, 42).precondition[0].loads[0].generator.fill(&mut batch, 10_000);
        let count = |op: HostOp| batch.iter().filter(|command| command.op == op).count();
        [HostOp::Read, HostOp::Write, HostOp::Trim, HostOp::TrimMapped].map(count)
    };
    assert_eq!(shares(r#""read_pct": 70"#), [0, 10_000, 0, 0]);
    let [reads, writes, trims, mapped] = shares(r#""read_pct": 60, "trim_pct": 10"#);
    assert_eq!((reads, mapped, writes + trims), (0, 0, 10_000));
    assert!((2300..2700).contains(&trims), "10 of the 40 that are no reads: {trims}");
    let [_, _, trims, mapped] = shares(r#""trim_pct": 20, "trim_target": "mapped""#);
    assert!(trims == 0 && (1800..2200).contains(&mapped), "{mapped}");
    // Nothing writes: the step still has to end after so many writes.
    assert_eq!(shares(r#""read_pct": 90, "trim_pct": 10"#), [0, 10_000, 0, 0]);
    assert_eq!(shares(r#""read_pct": 100"#), [0, 10_000, 0, 0]);
}

#[test]
fn the_schema_describes_every_key() {
    let schema = WorkloadConfig::schema();
    let keys = schema["properties"].as_object().expect("an object");
    for (key, declared) in keys {
        assert!(declared["description"].is_string(), "{key} has no description");
    }
    for key in ["pattern", "block_size_bytes", "queue_depth", "total", "precondition", "samples"] {
        assert!(keys.contains_key(key), "{key}");
    }
    let names = &schema["properties"]["pattern"]["anyOf"][0]["enum"];
    assert_eq!(names.as_array().map(Vec::len), Some(9), "{names}");
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["required"], serde_json::json!(["total"]));
}
