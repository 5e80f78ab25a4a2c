//! Generators: commands do not depend on how calls are cut, stay inside the active range, keep the
//! declared shares, and are the same on every machine (golden first commands). The device is 1 GiB
//! of 4 KiB pages.

use std::fmt::Write;

use opennandlab_sim::op::{HostCommand, HostOp};
use opennandlab_sim::workload::{Generator, Space, WorkloadConfig};
use proptest::prelude::*;

const SPACE: Space =
    Space { logical_bytes: 1 << 30, page_bytes: 4096, placement_ids: 0, zones: None };

const PATTERNS: [&str; 6] = [
    r#""sequential""#,
    r#""random""#,
    r#"{"kind": "hot_cold", "fraction": 0.1, "share": 0.9}"#,
    r#"{"kind": "zipf", "theta": 1.1}"#,
    r#"{"kind": "zipf", "theta": 0.5, "shuffle": false}"#,
    r#"{"kind": "zoned",
        "zones": [{"fraction": 0.3, "share": 0.6}, {"fraction": 0.7, "share": 0.4}]}"#,
];

/// Next to the pattern: the plain loop, and the loop of everything else.
const SHAPES: [&str; 4] = [
    "",
    r#", "read_pct": 40, "trim_pct": 10, "block_size_bytes": {"512": 1, "4KiB": 2, "12KiB": 1}"#,
    r#", "queue_depth": {"arrival": "poisson", "iops": 1e5}, "trim_pct": 5, "trim_target": "mapped",
       "active_range_pct": 33.3, "align_bytes": 8192"#,
    r#", "block_size_bytes": {"512": 2, "3584": 1, "4KiB": 1}, "align_bytes": "natural""#,
];

fn config(pattern: &str, shape: &str) -> WorkloadConfig {
    let json = format!(r#"{{"total": {{"ios": 1}}, "pattern": {pattern}{shape}}}"#);
    WorkloadConfig::resolve(&json, SPACE).unwrap_or_else(|error| panic!("{json}: {error}"))
}

fn draw(generator: &mut dyn Generator, cuts: &[usize]) -> Vec<HostCommand> {
    let mut commands = Vec::new();
    for &cut in cuts {
        generator.fill(&mut commands, cut);
    }
    commands
}

fn first(pattern: &str, shape: &str, count: usize) -> Vec<HostCommand> {
    draw(config(pattern, shape).generator(SPACE, 42).as_mut(), &[count])
}

/// Nothing is written next to the sources: a failure prints its case.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(64))]

    /// Slicing must never change results: the device cuts batches as it likes.
    #[test]
    fn cuts_do_not_change_commands(
        seed: u64,
        cuts in prop::collection::vec(0_usize..40, 0..30),
        pattern in prop::sample::select(&PATTERNS[..]),
        shape in prop::sample::select(&SHAPES[..]),
    ) {
        let config = config(pattern, shape);
        let whole = draw(config.generator(SPACE, seed).as_mut(), &[cuts.iter().sum()]);
        prop_assert_eq!(draw(config.generator(SPACE, seed).as_mut(), &cuts), whole);
    }

    /// Redraws of trims use their own stream: they may come between any two commands.
    #[test]
    fn retargets_do_not_change_commands(
        seed: u64,
        pattern in prop::sample::select(&PATTERNS[..]),
        shape in prop::sample::select(&SHAPES[..]),
    ) {
        let config = config(pattern, shape);
        let undisturbed = draw(config.generator(SPACE, seed).as_mut(), &[200]);
        let mut generator = config.generator(SPACE, seed);
        let mut commands = Vec::new();
        let extent = (SPACE.logical_bytes as f64 * config.active_range_pct / 100.0) as u64 / 512;
        for _ in 0..200 {
            generator.fill(&mut commands, 1);
            let mut moved = *commands.last().unwrap();
            generator.retarget(&mut moved);
            prop_assert_eq!(moved.sector_count, commands.last().unwrap().sector_count);
            prop_assert!(moved.sector + u64::from(moved.sector_count) <= extent);
        }
        prop_assert_eq!(commands, undisturbed);
    }

    /// Any capacity, size and alignment: inside the active range, aligned, time in order.
    #[test]
    fn commands_stay_inside_the_active_range(
        seed: u64,
        pages in 4_u64..5_000,
        odd_sectors in 0_u64..8,
        align in 1_u64..5,
        size in 1_u64..12,
        percent in 50.0_f64..100.0,
        pattern in prop::sample::select(&PATTERNS[..]),
    ) {
        let logical_bytes = pages * 4096 + odd_sectors * 512;
        let space = Space { logical_bytes, page_bytes: 4096, placement_ids: 0, zones: None };
        let json = format!(
            r#"{{"total": {{"ios": 1}}, "pattern": {pattern}, "align_bytes": {}, "trim_pct": 30,
                "active_range_pct": {percent}, "block_size_bytes": {{"{}": 1, "512": 1}}}}"#,
            align * 512,
            (size + 1) * 512
        );
        let Ok(config) = WorkloadConfig::resolve(&json, space) else { return Ok(()) };
        let extent = (space.logical_bytes as f64 * percent / 100.0) as u64 / 512;
        for command in draw(config.generator(space, seed).as_mut(), &[300]) {
            prop_assert!(command.sector + u64::from(command.sector_count) <= extent, "{command:?}");
            if !pattern.contains("sequential") {
                prop_assert_eq!(command.sector % align, 0);
            }
        }
    }
}

#[test]
fn every_start_of_every_size_is_reached() {
    // 10 pages, aligned to pages: 10 starts of one page, 8 of three pages, 2 of nine.
    let space = Space { logical_bytes: 10 * 4096, page_bytes: 4096, placement_ids: 0, zones: None };
    for pattern in &PATTERNS[1..] {
        let json = format!(
            r#"{{"total": {{"ios": 1}}, "pattern": {pattern},
                "block_size_bytes": {{"4096": 1, "12288": 1, "36864": 1}}}}"#
        );
        let config = WorkloadConfig::resolve(&json, space).unwrap();
        let mut starts = std::collections::BTreeSet::new();
        for command in draw(config.generator(space, 1).as_mut(), &[20_000]) {
            starts.insert((command.sector_count / 8, command.sector / 8));
        }
        let count = |pages| starts.iter().filter(|start| start.0 == pages).count();
        assert_eq!([count(1), count(3), count(9)], [10, 8, 2], "{pattern}");
    }
}

/// Map units that a request touches, counted, against the closed form of uniform starts: a part of
/// a page crosses into the next unit from `sectors - 1` of the unit's sectors, whole pages are
/// counted place by place. The sizes are those of JEDEC JESD219, enterprise.
#[test]
fn natural_starts_touch_as_many_units_as_uniform_ones() {
    let mut sizes: Vec<(u64, f64)> = (1..8).map(|sectors| (sectors, 1.0)).collect();
    sizes[0].1 = 4.0;
    sizes.extend([(8, 67.0), (16, 10.0), (32, 7.0), (64, 3.0), (128, 3.0)]);
    let weights: f64 = sizes.iter().map(|size| size.1).sum();
    let listed: Vec<String> =
        sizes.iter().map(|(sectors, weight)| format!("\"{}\": {weight}", 512 * sectors)).collect();
    let shape =
        format!(r#", "block_size_bytes": {{{}}}, "align_bytes": "natural""#, listed.join(", "));
    let commands = first(r#""random""#, &shape, 400_000);
    let is_natural = |it: &HostCommand| it.sector_count < 8 || it.sector.is_multiple_of(8);
    assert!(commands.iter().all(is_natural));
    assert!(commands.iter().any(|it| it.sector % 8 == 5));
    for (unit, published) in [(8, 1.99625), (16, 1.4981), (32, 1.2491), (128, 1.0623)] {
        let of = |sectors: u64| {
            let step = if sectors < 8 { 1 } else { 8 };
            let places = (0..unit).step_by(step);
            let touched: u64 = places.clone().map(|at| (at + sectors).div_ceil(unit)).sum();
            touched as f64 / places.count() as f64
        };
        let mean = |of: &dyn Fn(u64) -> f64| {
            sizes.iter().map(|&(sectors, weight)| weight * of(sectors)).sum::<f64>() / weights
        };
        let expected = mean(&of);
        assert!((expected - published).abs() < 1e-4, "{unit}: {expected}");
        let touched: u64 = commands
            .iter()
            .map(|it| (it.sector + u64::from(it.sector_count)).div_ceil(unit) - it.sector / unit)
            .sum();
        let found = touched as f64 / commands.len() as f64;
        // Five standard errors of a mean: requests of 128 sectors touch at most 16 units.
        let error = 5.0 * (mean(&|sectors| of(sectors).powi(2)) / 4e5).sqrt();
        assert!((found - expected).abs() < error, "{unit}: {found} for {expected}");
    }
}

#[test]
fn uniform_starts_fit_a_chi_square() {
    let space =
        Space { logical_bytes: 1000 * 4096, page_bytes: 4096, placement_ids: 0, zones: None };
    let config = WorkloadConfig::resolve(r#"{"total": {"ios": 1}}"#, space).unwrap();
    let mut counts = [0_u32; 1000];
    for command in draw(config.generator(space, 7).as_mut(), &[1_000_000]) {
        counts[command.sector as usize / 8] += 1;
    }
    // 999 degrees of freedom: deviation 44.7.
    let chi_square: f64 = counts.iter().map(|&n| (f64::from(n) - 1e3).powi(2) / 1e3).sum();
    assert!((chi_square - 999.0).abs() < 4.5 * 44.7, "{chi_square}");
}

#[test]
fn operations_keep_their_shares_and_addresses_do_not_move() {
    let mixed = first(r#""random""#, r#", "read_pct": 70, "trim_pct": 10"#, 100_000);
    let share = |op| mixed.iter().filter(|command| command.op == op).count() as f64 / 1e5;
    for (op, expected) in [(HostOp::Read, 0.7), (HostOp::Trim, 0.1), (HostOp::Write, 0.2)] {
        let deviation = (expected * (1.0_f64 - expected) / 1e5).sqrt();
        assert!((share(op) - expected).abs() < 4.5 * deviation, "{op:?} {}", share(op));
    }
    let plain = first(r#""random""#, "", 100_000);
    assert!(mixed.iter().zip(&plain).all(|(a, b)| a.sector == b.sector));
    for (shape, op) in [
        (r#", "read_pct": 100"#, HostOp::Read),
        (r#", "trim_pct": 100"#, HostOp::Trim),
        (r#", "trim_pct": 100, "trim_target": "mapped""#, HostOp::TrimMapped),
    ] {
        assert!(first(r#""random""#, shape, 1000).iter().all(|command| command.op == op));
    }
    // 30 + 70 leaves nothing to write, not even once in 2^64.
    let none_left = first(r#""random""#, r#", "read_pct": 30, "trim_pct": 70"#, 100_000);
    assert!(none_left.iter().all(|command| command.op != HostOp::Write));
}

#[test]
fn preconditioning_writes_the_same_hot_places_in_another_order() {
    let config = WorkloadConfig::resolve(
        r#"{"total": {"ios": 1}, "pattern": {"kind": "zipf", "theta": 1.5}, "read_pct": 50,
            "precondition": [{"kind": "workload", "drive_writes": 1},
                             {"kind": "workload", "drive_writes": 1}]}"#,
        SPACE,
    )
    .unwrap();
    let job = config.job(SPACE, 42);
    let mut drawn: Vec<Vec<HostCommand>> = Vec::new();
    for mut stage in job.precondition.into_iter().chain(job.measured) {
        drawn.push(draw(stage.loads[0].generator.as_mut(), &[20_000]));
    }
    assert!(drawn[0].iter().chain(&drawn[1]).all(|command| command.op == HostOp::Write));
    let hottest = |commands: &[HostCommand]| {
        let mut counts = std::collections::BTreeMap::new();
        for command in commands {
            *counts.entry(command.sector).or_insert(0) += 1;
        }
        counts.into_iter().max_by_key(|&(_, count)| count).map(|(sector, _)| sector)
    };
    assert_eq!(hottest(&drawn[0]), hottest(&drawn[2]));
    let sectors = |index: usize| drawn[index].iter().map(|c| c.sector).collect::<Vec<_>>();
    assert_ne!(sectors(0), sectors(2));
    assert_ne!(sectors(0), sectors(1));
}

/// First commands with seed 42, a line per pattern and shape: operation, sector, `+` sectors, `@`
/// ns. A change of any of these changes every result: bump the model version with it.
const GOLDEN: &str = "\
W0+8@0 W8+8@0 W16+8@0 W24+8@0 W32+8@0
W492992+8@0 W1360448+8@0 W768272+8@0 W268600+8@0 W912528+8@0
W136040+8@0 W26856+8@0 W44248+8@0 W68704+8@0 W151328+8@0
W1576080+8@0 W1657968+8@0 W1816512+8@0 W753432+8@0 W967936+8@0
W1228112+8@0 W260144+8@0 W843424+8@0 W1595008+8@0 W670616+8@0
W408128+8@0 W80576+8@0 W132752+8@0 W206128+8@0 W454008+8@0
W492994+24@0 W1360443+8@0 W768271+8@0 W268597+24@0 R912518+24@0
W332384+8@3258 W350176+8@3556 W531936+8@10177 W259488+8@14147 W160624+8@16708
";

#[test]
fn first_commands_are_golden() {
    let mut text = String::new();
    for (pattern, shape) in
        PATTERNS.iter().map(|pattern| (pattern, 0)).chain([(&PATTERNS[1], 1), (&PATTERNS[3], 2)])
    {
        let letter = |op| match op {
            HostOp::Read => 'R',
            HostOp::Write => 'W',
            HostOp::Trim => 'T',
            HostOp::TrimMapped => 'M',
            HostOp::Flush => 'F',
            HostOp::Zone(_) => 'Z',
        };
        for c in first(pattern, SHAPES[shape], 5) {
            let (op, at) = (letter(c.op), c.arrival.0);
            write!(text, "{op}{}+{}@{at} ", c.sector, c.sector_count).unwrap();
        }
        text = text.trim_end().to_owned() + "\n";
    }
    assert_eq!(text, GOLDEN, "\n{text}");
}
