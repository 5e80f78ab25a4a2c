//! Tests of the declaration, the places and the draws of cells.

use super::*;
use crate::op::HostOp;
use serde_json::{json, Value};

const SPACE: Space =
    Space { logical_bytes: 1 << 30, page_bytes: 4096, placement_ids: 0, zones: None };
/// Draws of a statistical check, and how far it may be off.
const DRAWS: usize = 100_000;
const SIGMAS: f64 = 4.5;

fn resolve(spec: &Value) -> Result<Cell, ConfigError> {
    let mut spec = spec.clone();
    if spec.get("limit").is_none() {
        spec["limit"] = json!({"ios": 1});
    }
    CellSpec::resolve(&spec.to_string(), SPACE)
}

fn cell(spec: &Value) -> Cell {
    resolve(spec).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn draw(cell: &Cell, count: usize) -> Vec<HostCommand> {
    let mut commands = Vec::new();
    cell.generator(42).fill(&mut commands, count);
    commands
}

/// A share that was drawn against the one that it should be.
fn check_share(name: &str, hits: usize, share: f64) {
    let deviation = (share * (1.0 - share) / DRAWS as f64).sqrt();
    let drawn = hits as f64 / DRAWS as f64;
    assert!((drawn - share).abs() < SIGMAS * deviation, "{name}: {drawn}, not {share}");
}

/// The enterprise composite workload: sizes, groups and reads of the PTS tutorial (E. Kim and
/// E. Ho, 2013).
fn enterprise() -> Value {
    json!({
        "read_pct": 40,
        "block_bytes": [[512, 4], [1024, 1], [1536, 1], [2048, 1], [2560, 1], [3072, 1],
            [3584, 1], [4096, 67], [8192, 10], [16384, 7], [32768, 3], [65536, 3]],
        "zones": [{"range_share": 0.05, "access_share": 0.5},
            {"range_share": 0.15, "access_share": 0.3}, {"range_share": 0.8, "access_share": 0.2}],
    })
}

#[test]
fn the_enterprise_mix_is_drawn_as_declared() {
    let cell = cell(&enterprise());
    let commands = draw(&cell, DRAWS);
    let count = |is_it: &dyn Fn(&HostCommand) -> bool| {
        commands.iter().filter(|&command| is_it(command)).count()
    };
    let sectors = SPACE.logical_bytes / SECTOR_BYTES;
    for (bytes, share) in [(512, 0.04), (1024, 0.01), (4096, 0.67), (8192, 0.1), (65536, 0.03)] {
        let hits = count(&|it| u64::from(it.sector_count) * SECTOR_BYTES == bytes);
        check_share(&format!("{bytes} B"), hits, share);
    }
    check_share("reads", count(&|it| it.op == HostOp::Read), 0.4);
    check_share("group A", count(&|it| it.sector * 20 < sectors), 0.5);
    let in_b = |it: &HostCommand| it.sector * 20 >= sectors && it.sector * 5 < sectors;
    check_share("group B", count(&in_b), 0.3);
    // Drawn independently of each other.
    check_share(
        "4 KiB reads in A",
        count(&|it| it.sector * 20 < sectors && it.op == HostOp::Read && it.sector_count == 8),
        0.5 * 0.4 * 0.67,
    );
    // Uniform inside a group: the first tenth of C has a tenth of its requests.
    let tenth = |it: &HostCommand| it.sector * 5 >= sectors && it.sector * 25 < 7 * sectors;
    check_share("a tenth of C", count(&tenth), 0.02);
    for command in &commands {
        assert!(command.sector + u64::from(command.sector_count) <= sectors);
        assert_eq!(command.sector % 8, 0, "a mix is aligned to 4 KiB");
    }
}

#[test]
fn draws_depend_neither_on_cuts_nor_on_the_share_of_reads() {
    let mut spec = enterprise();
    let whole = draw(&cell(&spec), 1000);
    let mut pieces = Vec::new();
    let mut generator = cell(&spec).generator(42);
    (0..1000).for_each(|_| generator.fill(&mut pieces, 1));
    assert_eq!(whole, pieces);
    spec["read_pct"] = json!(100);
    let reads = draw(&cell(&spec), 1000);
    let places = |commands: &[HostCommand]| -> Vec<(u64, u32)> {
        commands.iter().map(|it| (it.sector, it.sector_count)).collect()
    };
    assert_eq!(places(&whole), places(&reads));
    let mut other = Vec::new();
    cell(&spec).generator(43).fill(&mut other, 1000);
    assert_ne!(places(&other), places(&reads));
}

#[test]
fn small_requests_align_to_themselves_and_large_ones_to_their_size() {
    for (bytes, align) in [(512, 1), (1536, 3), (131_072, 256)] {
        let commands = draw(&cell(&json!({ "block_bytes": bytes })), 1000);
        assert!(commands.iter().all(|it| it.sector % align == 0), "{bytes}");
        assert!(commands.iter().any(|it| it.sector % (2 * align) != 0), "{bytes}");
    }
    let commands = draw(&cell(&json!({"block_bytes": 512, "align_bytes": 8192})), 1000);
    assert!(commands.iter().all(|it| it.sector % 16 == 0));
}

#[test]
fn segments_are_equal_apart_ascending_and_hold_every_request() {
    let spec = |amount: u64, segments: u32, seed: u64| {
        json!({"block_bytes": [[4096, 1], [16384, 1]],
            "active_range": {"share": 0.75, "amount_bytes": amount, "segments": segments,
                "seed": seed}})
    };
    for (amount, segments) in [(128 << 20, 2048), (1 << 20, 7), (768 << 20, 16), (64 << 20, 1)] {
        let cell = cell(&spec(amount, segments, 5));
        let (firsts, length) = (cell.range.firsts(), cell.range.segment_sectors());
        assert_eq!(firsts.len(), segments as usize);
        assert_eq!(length, amount / 4096 / u64::from(segments) * 8);
        assert!(firsts.iter().all(|first| first % 8 == 0));
        let has_gaps = amount < 768 << 20;
        assert!(firsts.windows(2).all(|pair| pair[0] + length + u64::from(has_gaps) <= pair[1]));
        let limit = 768 * 1024 * 2;
        assert!(firsts[firsts.len() - 1] + length <= limit);
        if segments == 2048 {
            // Spread: the middle one is near the middle; its deviation is 1.1 % of the range.
            let middle = firsts[1024] as f64 / limit as f64;
            assert!((middle - 0.5).abs() < 0.05, "{middle}");
        }
        for command in draw(&cell, 5000) {
            let place = firsts.partition_point(|&first| first <= command.sector) - 1;
            let end = command.sector + u64::from(command.sector_count);
            assert!(end <= firsts[place] + length, "{command:?}");
        }
    }
    let places = |seed| cell(&spec(1 << 20, 64, seed)).range.firsts().to_vec();
    assert_eq!(places(1), places(1));
    assert_ne!(places(1), places(2));
}

#[test]
fn zones_are_parts_of_the_segments_side_by_side() {
    let spec = json!({"active_range": {"amount_bytes": 64 << 20, "segments": 100},
        "zones": [{"range_share": 0.25, "access_share": 0.9},
            {"range_share": 0.75, "access_share": 0.1}]});
    let cell = cell(&spec);
    let limit = cell.range.sector_count() / 4;
    let hits =
        draw(&cell, DRAWS).iter().filter(|it| cell.range.place_of(it.sector) < limit).count();
    check_share("the first quarter", hits, 0.9);
}

#[test]
fn a_stream_goes_on_where_it_ended_and_wraps() {
    let spec = |start: u64| {
        json!({"pattern": "sequential", "block_bytes": 1 << 20, "start_bytes": start,
            "active_range": {"share": 0.01}})
    };
    // 1 % of 1 GiB is 10 MiB and a bit, which no whole request fits into.
    let cell = cell(&spec(0));
    let commands = draw(&cell, 12);
    let starts: Vec<u64> = commands.iter().map(|it| it.sector / 2048).collect();
    assert_eq!(starts, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
    assert_eq!(cell.end_bytes(0, commands.last()), 2 << 20);
    assert_eq!(cell.end_bytes(0, None), 0);
    let again = draw(&self::cell(&spec(2 << 20)), 1);
    assert_eq!(again[0].sector, 2 * 2048);
}

#[test]
fn threads_have_slices_of_their_own() {
    let spec = json!({"pattern": "sequential", "block_bytes": 131_072, "threads": 4,
        "queue_depth": 8, "start_bytes": 131_072});
    let cell = cell(&spec);
    let commands = draw(&cell, 8);
    let slice = (1 << 30) / 512 / 4;
    let places: Vec<(u8, u64)> = commands.iter().map(|it| (it.tenant, it.sector)).collect();
    let expected = |thread: u8, step: u64| (thread, u64::from(thread) * slice + step * 256);
    let expected: Vec<_> =
        (1..3).flat_map(|step| (0..4).map(move |thread| expected(thread, step))).collect();
    assert_eq!(places, expected);
    assert_eq!(cell.end_bytes(0, Some(&commands[4])), 3 * 131_072);
    let loads = cell.loads(42);
    assert_eq!(loads.len(), 4);
    assert!(loads.iter().all(|it| it.admission == Admission::Closed { queue_depth: 8 }));
    let random = self::cell(&json!({"threads": 4, "queue_depth": 8}));
    assert_eq!(random.loads(42).len(), 1);
    assert_eq!(random.loads(42)[0].admission, Admission::Closed { queue_depth: 32 });
}

#[test]
fn streams_skip_the_ends_of_segments() {
    let spec = json!({"pattern": "sequential", "block_bytes": 8192,
        "active_range": {"amount_bytes": 10 * 12_288, "segments": 10}});
    let cell = cell(&spec);
    let commands = draw(&cell, 11);
    let firsts = cell.range.firsts();
    for (index, command) in commands.iter().enumerate() {
        assert_eq!(command.sector, firsts[index % 10], "the last 4 KiB of a segment are too short");
    }
}

/// How often each place of 4 KiB is written, in a range of `places` places.
fn hits(spec: &Value, places: usize, draws: usize) -> Vec<usize> {
    let space = Space {
        logical_bytes: places as u64 * 4096,
        page_bytes: 4096,
        placement_ids: 0,
        zones: None,
    };
    let mut spec = spec.clone();
    spec["limit"] = json!({"ios": 1});
    let cell = CellSpec::resolve(&spec.to_string(), space).expect("a stimulus");
    let mut commands = Vec::new();
    // Two threads: together they issue the requests of the cell.
    (0..2).for_each(|thread| cell.stream(thread, 7).fill(&mut commands, draws / 2));
    let mut counts = vec![0; places];
    for command in commands {
        assert_eq!((command.op, command.sector_count), (HostOp::Write, 8));
        counts[(command.sector / 8) as usize] += 1;
    }
    counts
}

#[test]
fn skewed_places_have_the_exact_shares_of_a_zipf_law() {
    for (theta, shuffle) in [(0.2, true), (0.8, true), (1.0, true), (0.8, false)] {
        let (places, draws) = (1000, 400_000);
        let skew = json!({"law": "zipf", "value": theta, "shuffle": shuffle});
        let mut counts = hits(&json!({"skew": skew, "threads": 2}), places, draws);
        let is_sorted = counts[0] > counts[500];
        if shuffle {
            // Ranks are anywhere: the first place is the hottest in one of a thousand shuffles.
            assert!(counts[0] < *counts.iter().max().expect("places"));
            counts.sort_unstable_by(|left, right| right.cmp(left));
        } else {
            assert!(is_sorted);
        }
        let mass: Vec<f64> = (1..=places).map(|rank| (rank as f64).powf(-theta)).collect();
        let total: f64 = mass.iter().sum();
        // Deciles of the ranks: sorting moves counts by their noise only within neighbours.
        for decile in 0..10 {
            let ranks = decile * 100..(decile + 1) * 100;
            let share = mass[ranks.clone()].iter().sum::<f64>() / total;
            let seen = counts[ranks].iter().sum::<usize>() as f64 / draws as f64;
            assert!(
                (seen / share - 1.0).abs() < 0.06,
                "zipf {theta}, {decile}: {seen}, not {share}"
            );
        }
        if !shuffle {
            let chi_square: f64 = mass
                .iter()
                .zip(&counts)
                .map(|(mass, &count)| {
                    let expected = mass / total * draws as f64;
                    (count as f64 - expected).powi(2) / expected
                })
                .sum();
            // 999 degrees of freedom: a deviation of 44.7.
            assert!((chi_square - 999.0).abs() < SIGMAS * 44.7, "{chi_square}");
        }
    }
}

#[test]
fn a_static_share_is_never_written_and_lies_anywhere() {
    for share in [0.2, 0.8] {
        let skew = json!({"law": "static", "value": share});
        let counts = hits(&json!({"skew": skew, "threads": 2}), 1000, 200_000);
        let written = counts.iter().filter(|&&count| count > 0).count();
        assert_eq!(written, ((1.0 - share) * 1000.0_f64).round() as usize);
        let low = counts[..500].iter().filter(|&&count| count > 0).count();
        assert!(low.abs_diff(written / 2) < 70, "{low} of {written} in the lower half");
        let expected = 200_000.0 / written as f64;
        let chi_square: f64 = counts
            .iter()
            .filter(|&&count| count > 0)
            .map(|&count| (count as f64 - expected).powi(2) / expected)
            .sum();
        let freedom = written as f64 - 1.0;
        assert!((chi_square - freedom).abs() < SIGMAS * (2.0 * freedom).sqrt(), "{chi_square}");
    }
}

#[test]
fn popular_places_follow_the_seed_of_the_skew_alone() {
    let hottest = |seed: u64, draws: u64| {
        let spec = json!({"skew": {"law": "zipf", "value": 1.0, "seed": seed}});
        let mut commands = Vec::new();
        cell(&spec).generator(draws).fill(&mut commands, 20_000);
        let mut counts = std::collections::BTreeMap::new();
        for command in &commands {
            *counts.entry(command.sector).or_insert(0) += 1;
        }
        counts.into_iter().max_by_key(|&(_, count)| count).expect("draws").0
    };
    assert_eq!(hottest(1, 1), hottest(1, 2), "cells of one test share their hot places");
    assert_ne!(hottest(1, 1), hottest(2, 1));
}

#[test]
fn a_shuffled_pass_writes_every_place_once_however_many_threads_share_it() {
    for threads in [1, 3] {
        let spec = json!({"pattern": "shuffled", "threads": threads, "limit": {"ios": 1}});
        let space =
            Space { logical_bytes: 1000 * 4096, page_bytes: 4096, placement_ids: 0, zones: None };
        let cell = CellSpec::resolve(&spec.to_string(), space).expect("a stimulus");
        let mut places: Vec<u64> = Vec::new();
        for thread in 0..threads {
            let mut commands = Vec::new();
            let count = (1000 - thread as usize).div_ceil(threads as usize);
            cell.stream(thread as u32, 1).fill(&mut commands, count);
            places.extend(commands.iter().map(|it| it.sector / 8));
        }
        assert_ne!(places[..3], [0, 1, 2]);
        places.sort_unstable();
        assert!(places.iter().copied().eq(0..1000));
        // In one order, as a simulated drive takes it.
        let mut commands = Vec::new();
        cell.generator(1).fill(&mut commands, 1000);
        places = commands.iter().map(|it| it.sector / 8).collect();
        places.sort_unstable();
        assert!(places.iter().copied().eq(0..1000));
    }
}

#[test]
fn zones_are_trimmed_before_they_are_written_from_end_to_end() {
    let spec = json!({"block_bytes": 524_288, "logs": {"zone_bytes": 4 << 20, "open": 3}});
    let commands = draw(&cell(&spec), 9000);
    // By zone of 8192 sectors: sectors written since its trim.
    let mut written: Vec<Option<u64>> = vec![None; 256];
    for command in &commands {
        let zone = &mut written[(command.sector / 8192) as usize];
        if command.op == HostOp::Trim {
            assert_eq!((command.sector % 8192, command.sector_count), (0, 8192));
            assert!(zone.is_none_or(|sectors| sectors == 8192), "a zone that is open");
            *zone = Some(0);
        } else {
            let sectors = zone.as_mut().expect("a zone is trimmed first");
            assert_eq!((command.op, command.sector % 8192), (HostOp::Write, *sectors));
            *sectors += 1024;
        }
        let open = written.iter().filter(|it| it.is_some_and(|it| it > 0 && it < 8192));
        assert!(open.count() <= 3);
    }
    let mut pieces = Vec::new();
    let mut generator = cell(&spec).generator(42);
    (0..9000).for_each(|_| generator.fill(&mut pieces, 1));
    assert_eq!(commands, pieces);
}

#[test]
fn loads_beside_each_other_have_arrivals_and_hosts_of_their_own() {
    let spec = json!({"rate_per_s": 1e4, "read_pct": 50, "queue_depth": 4,
        "beside": [{"rate_per_s": 5e4, "threads": 6, "queue_depth": 64}]});
    let cell = cell(&spec);
    assert_eq!(cell.load_count(), 2);
    for (tenant, (mut load, (rate, depth))) in
        (0..).zip(cell.loads(1).into_iter().zip([(1e4, 4), (5e4, 384)]))
    {
        assert_eq!(load.admission, Admission::Paced { queue_depth: depth });
        let mut commands = Vec::new();
        load.generator.fill(&mut commands, 20_000);
        assert!(commands.iter().all(|it| it.tenant == tenant));
        assert!(commands.windows(2).all(|pair| pair[0].arrival <= pair[1].arrival));
        let seconds = commands[19_999].arrival.as_seconds();
        // A deviation of 1/sqrt(n).
        assert!((seconds * rate / 20_000.0 - 1.0).abs() < SIGMAS / 20_000.0_f64.sqrt());
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_path() {
    for (spec, path, words) in [
        (json!({"patern": "random"}), "patern", "unknown field"),
        (json!({"read_pct": 101}), "read_pct", "0 to 100"),
        (json!({"block_bytes": 1000}), "block_bytes", "512"),
        (json!({"block_bytes": [[4096, 0]]}), "block_bytes.4096", "positive"),
        (json!({"block_bytes": [[4096, 1], [4096, 2]]}), "block_bytes", "twice"),
        (json!({"block_bytes": []}), "block_bytes", "no size"),
        (json!({"block_bytes": "4k"}), "block_bytes", "not a valid size"),
        (json!({"threads": 0}), "threads", "at least 1"),
        (json!({"threads": 300, "pattern": "sequential"}), "threads", "256"),
        (json!({"threads": 65_536, "queue_depth": 2}), "queue_depth", "65536"),
        (json!({"align_bytes": 100}), "align_bytes", "512"),
        (json!({"start_bytes": 100}), "start_bytes", "512"),
        (json!({"active_range": {"share": 0}}), "active_range.share", "above 0"),
        (json!({"active_range": {"share": 1e-7}}), "active_range.share", "4096"),
        (
            json!({"active_range": {"amount_bytes": 4096, "segments": 2}}),
            "active_range.amount_bytes",
            "8192 to",
        ),
        (
            json!({"active_range": {"amount_bytes": 1_u64 << 31}}),
            "active_range.amount_bytes",
            "1073741824",
        ),
        (
            json!({"block_bytes": 8192, "active_range": {"amount_bytes": 8192, "segments": 2}}),
            "block_bytes",
            "4096 B",
        ),
        (
            json!({"zones": [{"range_share": 1, "access_share": 0.5}]}),
            "zones",
            "`access_share` sums to 0.5",
        ),
        (
            json!({"zones": [{"range_share": 1, "access_share": 1}], "pattern": "sequential"}),
            "zones",
            "random",
        ),
        (json!({"skew": {"law": "zipf", "value": 0}}), "skew.value", "above 0"),
        (json!({"skew": {"law": "zipf", "value": 11}}), "skew.value", "at most 10"),
        (json!({"skew": {"law": "static", "value": 1}}), "skew.value", "below 1"),
        (json!({"skew": {"law": "pareto", "value": 1}}), "skew.law", "zipf"),
        (json!({"skew": {"law": "zipf", "value": 1}, "pattern": "sequential"}), "skew", "random"),
        (
            json!({"skew": {"law": "zipf", "value": 1},
                "zones": [{"range_share": 1, "access_share": 1}]}),
            "skew",
            "one of zones, skew, logs",
        ),
        (
            json!({"skew": {"law": "zipf", "value": 1},
                "active_range": {"amount_bytes": 64 << 20}}),
            "skew",
            "one piece",
        ),
        (
            json!({"pattern": "shuffled", "block_bytes": [[4096, 1], [8192, 1]]}),
            "block_bytes",
            "one",
        ),
        (json!({"logs": {"zone_bytes": 5000}}), "logs.zone_bytes", "4096"),
        (json!({"logs": {"zone_bytes": 1 << 29, "open": 2}}), "logs.open", "fewer than the 2"),
        (json!({"logs": {"zone_bytes": 1 << 20}, "threads": 2}), "logs", "threads 1"),
        (json!({"rate_per_s": 0}), "rate_per_s", "0.001"),
        (json!({"rate_per_s": 10, "pattern": "sequential"}), "rate_per_s", "one stream"),
        (json!({"beside": [{"read_pct": 200}]}), "beside[0].read_pct", "0 to 100"),
        (json!({"beside": [{"limit": {"ios": 1}}]}), "beside[0].limit", "none"),
        (json!({"beside": [{"pattern": "sequential"}]}), "beside[0].pattern", "random"),
        (json!({"limit": {}}), "limit", "never end"),
        (json!({"limit": {"seconds": -1}}), "limit.seconds", "0 to 1e9"),
        (json!({"limit": {"ios": 1, "seconds_max": 0}}), "limit.seconds_max", "above 0"),
        (json!({"limit": {"ios": 1, "ramp_ratio": 1}}), "limit.ramp_ratio", "below 1"),
        (json!({"limit": {"seconds": 1}, "is_measured": false}), "limit", "clock"),
        (json!({"limit": {"seconds": 1}, "sample_s": 1e-9}), "sample_s", "0.000001"),
        (json!({"limit": {"seconds": 1e9}, "sample_s": 1}), "sample_s", "10 million"),
    ] {
        let error = resolve(&spec).expect_err(&spec.to_string());
        assert_eq!(error.path, path, "{spec}: {error}");
        assert!(error.message.contains(words), "{spec}: {error}");
    }
}
