//! Replays: which requests reach the device, where and when.
//!
//! The device has 64 pages of 4 KiB (512 sectors) unless a case says otherwise.

use std::sync::Arc;

use opennandlab_sim::op::{HostCommand, HostOp};
use opennandlab_sim::workload::trace::{Trace, TraceOptions};
use opennandlab_sim::workload::{Admission, Job, Limit, ReplayConfig, Space};
use proptest::prelude::*;

const SPACE: Space =
    Space { logical_bytes: 64 * 4096, page_bytes: 4096, placement_ids: 0, zones: None };

/// Volume 5 uses sectors up to 20, volume 3 up to 600.
const TEXT: &str = "1000 5 0 8 0\n3000 3 100 16 1\n3000 5 13 7 1\n9000 3 592 8 0\n";

fn trace(text: &str) -> Arc<Trace> {
    let mut reader = text.as_bytes();
    Arc::new(Trace::read(&mut reader, "t.trace", &TraceOptions::default()).unwrap())
}

fn job(text: &str, json: &str) -> Result<Job, String> {
    let config = ReplayConfig::resolve(json, SPACE).map_err(|error| error.to_string())?;
    config.job(trace(text), SPACE).map_err(|error| error.to_string())
}

/// Commands of a replay drawn in batches of 2, and its warnings.
fn replay(text: &str, json: &str) -> (Vec<HostCommand>, Vec<String>) {
    let job = job(text, json).unwrap_or_else(|error| panic!("{json}: {error}"));
    let mut generator = job.measured.unwrap().loads.remove(0).generator;
    let mut commands = Vec::new();
    loop {
        let before = commands.len();
        generator.fill(&mut commands, 2);
        if commands.len() < before + 2 {
            return (commands, job.warnings);
        }
    }
}

fn spans(text: &str, json: &str) -> Vec<(u64, u32)> {
    replay(text, json).0.iter().map(|command| (command.sector, command.sector_count)).collect()
}

#[test]
fn volumes_are_laid_out_as_asked() {
    // Volume 5 comes first: its 20 sectors take 3 pages, so volume 3 begins at sector 24.
    let small = "0 5 0 8 0\n0 3 100 16 1\n0 5 13 7 1\n0 3 400 8 0\n";
    assert_eq!(spans(small, "{}"), [(0, 8), (124, 16), (13, 7), (424, 8)]);
    assert_eq!(spans(small, r#"{"volumes": "overlay"}"#), [(0, 8), (100, 16), (13, 7), (400, 8)]);
    assert_eq!(spans(small, r#"{"volumes": 3}"#), [(100, 16), (400, 8)]);
    assert_eq!(spans(small, r#"{"volumes": "5"}"#), [(0, 8), (13, 7)]);
    let message = job(small, r#"{"volumes": 7}"#).err().unwrap();
    assert_eq!(message, "volumes: `7` is not in the trace; accepted: concat, overlay, 5, 3");
}

#[test]
fn addresses_beyond_the_device_are_refused_wrapped_or_scaled() {
    let message = job(TEXT, "{}").err().unwrap();
    // 24 + 600 sectors: the last byte is 319,487 of a device of 262,144.
    for word in ["beyond: ", "t.trace", "byte 319487", "2 volumes", "262144 B", "wrap", "scale"] {
        assert!(message.contains(word), "{message} lacks {word}");
    }
    let (commands, warnings) = replay(TEXT, r#"{"beyond": "wrap"}"#);
    // 24 + 592 = 616 modulo 512.
    assert_eq!(commands[3].sector, 104);
    assert!(warnings[0].contains("1 of 4 requests lay beyond it and were wrapped"), "{warnings:?}");
    let (commands, warnings) = replay(TEXT, r#"{"beyond": "scale"}"#);
    // 64 of 78 pages: page 77 becomes 63, page 15 becomes 12, page 1 becomes 0; offsets in pages
    // stay.
    let sectors: Vec<_> = commands.iter().map(|command| command.sector).collect();
    assert_eq!(sectors, [0, 100, 5, 504]);
    assert!(warnings[0].contains("scaled by 0.82"), "{warnings:?}");
    let (_, warnings) = replay("0 5 0 8 0\n0 5 1000000000000 8 0\n", r#"{"beyond": "scale"}"#);
    assert!(warnings[0].ends_with("scaled by 5.120e-10"), "{warnings:?}");
    // A trace of 2 of 64 pages is left as it is, or spans the device: the second becomes page 32.
    let small = "0 0 9 7 0\n0 0 0 8 0\n";
    assert_eq!(spans(small, r#"{"beyond": "scale"}"#), [(9, 7), (0, 8)]);
    assert_eq!(spans(small, r#"{"beyond": "fit"}"#), [(257, 7), (0, 8)]);
    let (commands, _) = replay(TEXT, r#"{"beyond": "fit"}"#);
    assert_eq!(commands[3].sector, 504);
    // One volume may fit where all together do not.
    assert_eq!(spans(TEXT, r#"{"volumes": "5"}"#), [(0, 8), (13, 7)]);
    assert!(replay(TEXT, r#"{"volumes": 5, "beyond": "scale"}"#).1.is_empty());
}

#[test]
fn requests_that_would_cross_the_end_are_moved_back() {
    let text = "0 0 1020 8 0\n0 0 0 2000 2\n".replace(" 2\n", " 0\n");
    assert_eq!(spans(&text, r#"{"beyond": "wrap"}"#), [(504, 8), (0, 512)]);
}

#[test]
fn arrivals_are_relative_scaled_or_dropped() {
    let arrivals = |json: &str| {
        let commands = replay(TEXT, json).0;
        commands.iter().map(|command| command.arrival.0).collect::<Vec<_>>()
    };
    assert_eq!(arrivals(r#"{"beyond": "wrap"}"#), [0, 2000, 2000, 8000]);
    let slow = r#"{"beyond": "wrap", "loop": {"kind": "open", "time_scale": 2.0}}"#;
    assert_eq!(arrivals(slow), [0, 4000, 4000, 16_000]);
    assert_eq!(arrivals(r#"{"beyond": "wrap", "loop": "closed"}"#), [0; 4]);
    // Left-out requests before the first do not delay it.
    assert_eq!(arrivals(r#"{"volumes": 3, "beyond": "wrap"}"#), [0, 6000]);
}

#[test]
fn stages_say_how_they_run_and_end() {
    let whole = job(TEXT, r#"{"beyond": "wrap"}"#).unwrap();
    assert_eq!(whole.precondition.len(), 1, "one sequential fill by default");
    assert_eq!(whole.precondition[0].limit, Limit::WrittenBytes(SPACE.logical_bytes));
    let stage = whole.measured.unwrap();
    assert_eq!((stage.loads[0].admission, stage.limit), (Admission::Open, Limit::Exhausted));
    assert!(stage.timed && stage.until.is_none());
    let cut = r#"{"beyond": "wrap", "loop": {"kind": "closed", "queue_depth": 8}, "timed": false,
                  "precondition": [], "total": {"ios": 2}, "format": "mqsim"}"#;
    let cut = job(TEXT, cut).unwrap();
    assert!(cut.precondition.is_empty());
    let stage = cut.measured.unwrap();
    assert_eq!(
        (stage.loads[0].admission, stage.limit),
        (Admission::Closed { queue_depth: 8 }, Limit::Ios(2))
    );
    assert!(!stage.timed);
    assert_eq!(cut.resolved["loop"]["queue_depth"], 8);
}

/// Closed loops replayed in order of time, though they ignore arrivals: this one read first.
#[test]
fn a_closed_loop_keeps_the_order_of_the_file() {
    let text = "1000 0 40 8 0\n0 0 40 8 1\n";
    for (json, ops) in [
        (r#"{"loop": "closed"}"#, [HostOp::Write, HostOp::Read]),
        (r#"{"loop": "open"}"#, [HostOp::Read, HostOp::Write]),
    ] {
        let config = ReplayConfig::resolve(json, SPACE).unwrap();
        let trace = Trace::read(&mut text.as_bytes(), "t", &config.trace_options()).unwrap();
        let job = config.job(Arc::new(trace), SPACE).unwrap();
        let mut commands = Vec::new();
        job.measured.unwrap().loads.remove(0).generator.fill(&mut commands, 10);
        assert_eq!(commands.iter().map(|command| command.op).collect::<Vec<_>>(), ops, "{json}");
        assert!(job.warnings[0].contains("1 of 2 requests was out of time order"));
    }
}

#[test]
fn flushes_and_force_unit_access_reach_the_drive() {
    let text = "8,0 1 1 0.0 1 Q WS 8 + 8 [db]\n8,1 1 1 0.0 1 Q FN [db]\n\
                8,0 1 3 0.2 1 Q FWFS 16 + 8 [db]\n";
    let is_fua = |command: &HostCommand| (command.op, command.sector_count, command.is_fua);
    let (commands, _) = replay(text, "{}");
    let (write, flush) = ((HostOp::Write, 8, false), (HostOp::Flush, 0, false));
    let expected = [write, flush, flush, (HostOp::Write, 8, true)];
    assert_eq!(commands.iter().map(is_fua).collect::<Vec<_>>(), expected);
    assert_eq!(commands[2].arrival, commands[3].arrival);
    // Those of a volume that is left out are left out with it.
    let (commands, _) = replay(text, r#"{"volumes": "8,0"}"#);
    let expected = [write, flush, (HostOp::Write, 8, true)];
    assert_eq!(commands.iter().map(is_fua).collect::<Vec<_>>(), expected);
}

#[test]
fn discards_of_a_trace_are_plain_trims() {
    let text = "fio version 2 iolog\nf trim 4096 8192\n";
    let (commands, _) = replay(text, "{}");
    let expected = HostCommand::new(HostOp::Trim, 8, 16);
    assert_eq!(commands, [expected]);
}

#[test]
fn refusals_name_path_and_value() {
    for (json, words) in [
        (r#"{"loop": "opne"}"#, &["loop: ", "opne", "open", "closed"][..]),
        (r#"{"loop": {"kind": "open", "time_scale": 0}}"#, &["loop.time_scale: ", "`0`", "1e-6"]),
        (r#"{"loop": {"kind": "closed", "queue_depth": 0}}"#, &["loop.queue_depth: ", "`0`"]),
        (r#"{"format": "mqsm"}"#, &["format: ", "mqsm", "mqsim", "blkparse", "auto"]),
        (r#"{"format": {"kind": "blkparse", "event": "X"}}"#, &["format: ", "`X`", "`Q`"]),
        (r#"{"beyond": "clip"}"#, &["beyond: ", "clip", "wrap", "scale"]),
        (r#"{"volumes": []}"#, &["volumes: ", "concat, overlay"]),
        (r#"{"total": {"ios": 0}}"#, &["total.ios: ", "at least 1"]),
        (r#"{"total": {"seconds": 1}, "timed": false}"#, &["total.seconds: ", "timed: true"]),
        (r#"{"precondition": [{"kind": "workload", "drive_writes": 1}]}"#, &["precondition[0]: "]),
        (r#"{"samples": 0}"#, &["samples: ", "`0`"]),
        (r#"{"trace": {"fil": "x"}}"#, &["trace.fil: ", "unknown field"]),
    ] {
        let message = job(TEXT, json).err().unwrap_or_else(|| panic!("{json} was accepted"));
        for word in words {
            assert!(message.contains(word), "{json}: {message} lacks {word}");
        }
    }
}

#[test]
fn resolving_twice_changes_nothing() {
    let json = r#"{"trace": {"file": "a.csv", "digest": "00"}, "volumes": 7, "loop": "closed"}"#;
    let once = ReplayConfig::resolve(json, SPACE).unwrap();
    let twice = ReplayConfig::resolve(&once.to_json().to_string(), SPACE).unwrap();
    assert_eq!(once, twice);
    assert_eq!(once.to_json()["format"]["kind"], "auto");
    for (key, declared) in ReplayConfig::schema()["properties"].as_object().unwrap() {
        assert!(declared["description"].is_string(), "{key} has no description");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Any request, device and choice: inside the device, length kept unless longer than the
    /// device.
    #[test]
    fn placed_requests_stay_inside(
        requests in prop::collection::vec((0_u64..5000, 1_u32..900, 0_u8..4), 1..20),
        pages in 1_u64..200,
        page_bits in 9_u32..15,
        beyond in prop::sample::select(&["wrap", "scale", "fit", "error"][..]),
        volumes in prop::sample::select(&["concat", "overlay", "0"][..]),
    ) {
        let lines = requests.iter().enumerate().map(|(index, (sector, count, volume))| {
            let volume = if index == 0 { 0 } else { *volume };
            format!("{index} {volume} {sector} {count} 0")
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        let page_bytes = 1 << page_bits;
        let logical_bytes = pages * page_bytes;
        let space = Space { logical_bytes, page_bytes, placement_ids: 0, zones: None };
        let json = format!(r#"{{"beyond": "{beyond}", "volumes": "{volumes}"}}"#);
        let config = ReplayConfig::resolve(&json, space).unwrap();
        let Ok(job) = config.job(trace(&text), space) else {
            prop_assert_eq!(beyond, "error");
            return Ok(());
        };
        let mut commands = Vec::new();
        job.measured.unwrap().loads.remove(0).generator.fill(&mut commands, 100);
        if volumes != "0" {
            prop_assert_eq!(commands.len(), requests.len());
        }
        for (command, (_, count, _)) in commands.iter().zip(&requests) {
            let limit = command.sector + u64::from(command.sector_count);
            prop_assert!(limit * 512 <= space.logical_bytes);
            if volumes != "0" {
                let longest = space.logical_bytes / 512;
                prop_assert_eq!(u64::from(command.sector_count), u64::from(*count).min(longest));
            }
        }
    }
}
