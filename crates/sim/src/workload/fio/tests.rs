//! Places and sizes against fio: counts of runs of it, and its formulas.

use std::collections::BTreeMap;

use super::source::{Draw, Source};
use super::{Handles, JobSpec, Kinds, Law, Sizes, Stride, READ, TRIM, WRITE};
use crate::workload::Space;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

fn job(kinds: Kinds, is_random: bool, size: u64) -> JobSpec {
    JobSpec { kinds, is_random, size, reach: size, ..JobSpec::default() }
}

fn split(shares: &[(u64, u32)]) -> [Sizes; 3] {
    let bytes = |pick: fn(u64, u64) -> u64| {
        shares.iter().map(|&(bytes, _)| bytes).reduce(pick).expect("some")
    };
    let sizes = Sizes { min: bytes(u64::min), max: bytes(u64::max), split: shares.to_vec() };
    [sizes.clone(), sizes.clone(), sizes]
}

/// Draws until the pass has no place, or `most` requests.
fn pass(source: &mut Source, most: usize) -> Vec<(usize, Draw)> {
    let mut drawn = Vec::new();
    while drawn.len() < most {
        let kind = source.kind();
        let Some(draw) = source.draw(kind) else { break };
        drawn.push((kind, draw));
    }
    drawn
}

fn starts(spec: &JobSpec, most: usize) -> Vec<u64> {
    let drawn = pass(&mut Source::new(spec, 1), most);
    drawn.into_iter().map(|(_, draw)| draw.at / KIB).collect()
}

#[test]
fn a_pass_takes_each_block_once_in_both_directions_together() {
    let spec = JobSpec { read_pct: 30, ..job(Kinds::Mixed, true, 4 * MIB) };
    let mut source = Source::new(&spec, 1);
    for _ in 0..2 {
        let drawn = pass(&mut source, usize::MAX);
        let mut places: Vec<u64> = drawn.iter().map(|(_, draw)| draw.at / 4096).collect();
        assert_ne!(places[..4], [0, 1, 2, 3]);
        places.sort_unstable();
        assert!(places.iter().copied().eq(0..1024));
        let reads = drawn.iter().filter(|(kind, _)| *kind == READ).count();
        // 307 are expected, with a deviation of 15.
        assert!(reads.abs_diff(307) < 66, "{reads}");
        source.begin_pass();
    }
}

/// fio 3.33, 8 MiB: 1190 to 1191 requests of 7,046 B on average, not of 9,011 B.
#[test]
fn sizes_are_cut_to_the_free_holes() {
    let sizes = split(&[(4 * KIB, 60), (16 * KIB, 40)]);
    let spec = JobSpec { sizes, align: [4 * KIB; 3], ..job(Kinds::Write, true, 8 * MIB) };
    let (mut count, mut bytes) = (0, 0);
    for seed in 0..50 {
        let drawn = pass(&mut Source::new(&spec, seed), usize::MAX);
        let sum: u64 = drawn.iter().map(|(_, draw)| draw.bytes).sum();
        assert_eq!(sum, 8 * MIB, "the pass covers all");
        (count, bytes) = (count + drawn.len(), bytes + sum);
    }
    let mean = bytes as f64 / count as f64;
    assert!((mean - 7046.0).abs() < 60.0, "{mean}");
    // Without the map they keep their sizes.
    let spec = JobSpec { has_map: false, ..spec };
    let drawn = pass(&mut Source::new(&spec, 1), 100_000);
    let mean = drawn.iter().map(|(_, draw)| draw.bytes).sum::<u64>() as f64 / 1e5;
    assert!((mean - 9011.2).abs() < 100.0, "{mean}");
}

/// It drew sizes for ever: the smallest has no share, and no other one fits.
#[test]
fn a_size_without_a_share_is_never_drawn() {
    let sizes = split(&[(4 * KIB, 0), (16 * KIB, 100)]);
    let drawn =
        pass(&mut Source::new(&JobSpec { sizes, ..job(Kinds::Write, false, 24 * KIB) }, 1), 9);
    assert_eq!(drawn.len(), 1);
    assert_eq!(drawn[0].1.bytes, 16 * KIB);
}

#[test]
fn ascending_requests_have_a_pointer_for_each_direction_and_skip() {
    let mixed = pass(&mut Source::new(&job(Kinds::Mixed, false, MIB), 1), usize::MAX);
    for kind in [READ, WRITE] {
        let places = mixed.iter().filter(|it| it.0 == kind).map(|(_, draw)| draw.at / 4096);
        let places: Vec<u64> = places.collect();
        assert!(places.iter().copied().eq(0..places.len() as u64) && places.len() > 100);
    }
    let write = job(Kinds::Write, false, 64 * KIB);
    let holes = JobSpec { skip: 4096, ..write.clone() };
    assert_eq!(starts(&holes, 9), [0, 8, 16, 24, 32, 40, 48, 56, 0], "it wraps");
    // On a device, whose end is far, the pass ends.
    let device = JobSpec { reach: MIB, ..holes };
    assert_eq!(starts(&device, 9).len(), 8);
    let back = JobSpec { skip: -8192, ..write };
    assert_eq!(starts(&back, 5), [0, 56, 52, 48, 44]);
    // fio 3.33 with an offset: the length of the range is its end, as a place in the file.
    let of = |skip: i64, offset: u64, bs: u64| {
        let one = Sizes { min: bs * KIB, max: bs * KIB, split: vec![] };
        let sizes = [one.clone(), one.clone(), one];
        let (skip, offset) = (skip * 1024, offset * KIB);
        starts(&JobSpec { skip, offset, sizes, reach: offset + 64 * KIB, ..back.clone() }, 5)
    };
    assert_eq!(of(-8, 64, 4), [0, 56, 52, 48, 44]);
    assert_eq!(of(-4, 64, 8), [0, 4, 8, 12, 16]);
    assert_eq!(of(-4, 16, 8), [44, 48, 52, 56], "the file ends");
    assert_eq!(of(-4, 4, 4), [56; 5]);
    assert!(of(-4, 1024, 8).is_empty(), "the first one is beyond the file");
}

#[test]
fn a_new_place_comes_after_some_requests() {
    let spec = JobSpec { new_place_every: 8, ..job(Kinds::Read, true, 64 * MIB) };
    let places = starts(&spec, 800);
    let jumps = places.windows(2).filter(|pair| pair[1] != pair[0] + 4).count();
    assert_eq!(jumps, 100, "the eighth of each eight");
    let spec = JobSpec { repeats_place: true, ..spec };
    let places = starts(&spec, 800);
    let same = places.windows(2).filter(|pair| pair[1] == pair[0]).count();
    assert_eq!(same, 699);
    let spec = JobSpec { random_pct: [25; 3], ..job(Kinds::Read, true, 64 * MIB) };
    let places = starts(&spec, 10_000);
    let jumps = places.windows(2).filter(|pair| pair[1] != pair[0] + 4).count();
    assert!(jumps.abs_diff(2500) < 200, "{jumps}");
}

#[test]
fn a_trim_is_followed_by_a_write_of_its_place() {
    for is_random in [false, true] {
        let drawn = pass(&mut Source::new(&job(Kinds::TrimWrite, is_random, MIB), 1), 512);
        assert_eq!(drawn.len(), 512);
        for pair in drawn.chunks(2) {
            assert_eq!((pair[0].0, pair[1].0), (TRIM, WRITE));
            assert_eq!(pair[0].1.at, pair[1].1.at);
        }
    }
}

#[test]
fn pieces_of_a_strided_job_follow_each_other() {
    let stride = Stride { range: 16 * KIB, size: 16 * KIB, skip: 16 * KIB };
    let spec = JobSpec { stride: Some(stride), ..job(Kinds::Read, false, 64 * KIB) };
    assert_eq!(starts(&spec, 10), [0, 4, 8, 12, 32, 36, 40, 44, 0, 4]);
    // On a device pieces follow behind the range too, as those of fio 3.33.
    let device = JobSpec { reach: MIB, ..spec.clone() };
    assert_eq!(starts(&device, 10), [0, 4, 8, 12, 32, 36, 40, 44, 64, 68]);
    let back = JobSpec { skip: -4096, offset: 64 * KIB, ..device };
    assert_eq!(starts(&back, 10), [0, 0, 0, 0, 92, 92, 92, 92, 124, 124]);
    let spec = JobSpec { is_random: true, ..spec };
    for (index, piece) in starts(&spec, 8).chunks(4).enumerate() {
        let mut piece = piece.to_vec();
        piece.sort_unstable();
        let first = 32 * index as u64;
        assert_eq!(piece, [first, first + 4, first + 8, first + 12]);
    }
}

/// Shares of the requests that the most popular places get, from the most popular on.
fn popularity(places: Law, count: u64, draws: usize) -> Vec<f64> {
    let spec = JobSpec { places, ..job(Kinds::Read, true, count * 4096) };
    let mut hits = BTreeMap::new();
    for place in starts(&spec, draws) {
        *hits.entry(place).or_insert(0_u32) += 1;
    }
    let mut hits: Vec<f64> = hits.into_values().map(|n| f64::from(n) / draws as f64).collect();
    hits.sort_by(|a, b| b.total_cmp(a));
    hits
}

#[test]
fn popular_places_get_the_shares_of_their_law() {
    let pareto = popularity(Law::Pareto { value: 0.2, center: None }, 1024, 400_000);
    // u^p < 1/1023 for the first; 20 % of the ranks get 80 %.
    assert!((pareto[0] - 0.3826).abs() < 0.004, "{}", pareto[0]);
    let head: f64 = pareto[..205].iter().sum();
    assert!((head - 0.8).abs() < 0.004, "{head}");
    // 1 / sum of k^-1.2.
    let zipf = popularity(Law::Zipf { value: 1.2, center: None }, 1024, 400_000);
    assert!((zipf[0] - 0.2303).abs() < 0.004, "{}", zipf[0]);
    // The mean of 12 uniform draws: a deviation of a twelfth of the range.
    let normal = popularity(Law::Normal { value: 0.0, center: None }, 1024, 400_000);
    let peak = 12.0 / (2.0 * std::f64::consts::PI).sqrt() / 1024.0;
    let top: f64 = normal[..32].iter().sum::<f64>() / 32.0;
    assert!((top / peak - 1.0).abs() < 0.1, "{top} {peak}");
}

#[test]
fn zones_get_their_shares() {
    let size = 1000 * 4096;
    let percent = |at: u64| at * size / 100;
    let zone = |share, from, to| (share, percent(from), percent(to));
    let zones = vec![zone(60, 0, 10), zone(30, 10, 30), zone(8, 30, 60), zone(2, 60, 100)];
    let zones = [zones.clone(), zones.clone(), zones];
    let spec = JobSpec { places: Law::Zones { zones }, ..job(Kinds::Read, true, size) };
    let places = starts(&spec, 100_000);
    for (share, from, to) in [(0.6, 0, 10), (0.3, 10, 30), (0.08, 30, 60), (0.02, 60, 100)] {
        let limits = percent(from) / KIB..percent(to) / KIB;
        let seen = places.iter().filter(|place| limits.contains(place)).count() as f64 / 1e5;
        assert!((seen - share).abs() < 0.007, "{share}: {seen}");
    }
}

#[test]
fn writes_carry_the_handles_of_their_rule() {
    let handles = |handles: Handles| {
        let spec = JobSpec { handles, ..job(Kinds::Write, false, 16 * KIB) };
        let drawn = pass(&mut Source::new(&spec, 1), 4);
        drawn.into_iter().map(|(_, draw)| draw.handle).collect::<Vec<_>>()
    };
    assert_eq!(handles(Handles::None), [0; 4]);
    assert_eq!(handles(Handles::RoundRobin { ids: vec![3, 5, 6] }), [3, 5, 6, 3]);
    let ranges = vec![(0, 4096, 2), (0, 8192, 1), (12_288, 16_384, 4)];
    assert_eq!(handles(Handles::Scheme { ranges }), [2, 1, 0, 4]);
}

#[test]
fn what_cannot_be_is_refused_with_its_path() {
    let space = Space { logical_bytes: 1 << 30, page_bytes: 4096, placement_ids: 2, zones: None };
    for (json, path, words) in [
        (r"[]", ".", "256"),
        (r#"[{"sise": 1}]"#, "[0].sise", "unknown field"),
        (r#"[{"size": 0}]"#, "[0].size", "1073741824"),
        (r#"[{"size": 4096, "offset": 1073741824}]"#, "[0].size", "1073741824"),
        (r#"[{"size": 4096, "depth": 0}]"#, "[0].depth", "65536"),
        (r#"[{"size": 4096, "align": [512, 100, 512]}]"#, "[0].sizes", "512"),
        (r#"[{"size": 512}]"#, "[0].sizes", "size of the job"),
        (r#"[{"size": 4096, "after": [0]}]"#, "[0].after", "before it"),
        (r#"[{"size": 4096, "is_time_based": true}]"#, "[0].runtime_ns", "above 0"),
        (
            r#"[{"size": 4096, "handles": {"by": "round_robin", "ids": [2]}}]"#,
            "[0].handles.ids",
            "0 to 1",
        ),
    ] {
        let error = JobSpec::resolve(json, space).expect_err(json);
        assert_eq!(error.path, path, "{json}: {error}");
        assert!(error.message.contains(words), "{json}: {error}");
    }
}
