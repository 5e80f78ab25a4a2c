//! Random commands on small drives of every make, beside a plain map and flash that refuses misuse.
//!
//! Each case is a seed: geometry, policy, open blocks, wear leveling, bad blocks and endurance are
//! drawn from it, then commands. A failure prints the case; `CASE=<number> cargo test -p
//! opennandlab-sim --features testing --test all ftl_oracle` runs it alone.

use crate::drawn;

use drawn::draw_device;
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::ftl::{FlashSink, Ftl, FtlSnapshot, Pending, Volatile};
use opennandlab_sim::nand::Media;
use opennandlab_sim::op::Source;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::testing::{erases_max, CheckedFlash, Oracle};
use opennandlab_sim::units::{BlockId, DieId, Lpn, Ns};
use serde_json::{json, Value};

const CASES: u64 = 400;
const COMMANDS: u32 = 4000;

/// What the cases have met.
#[derive(Default)]
struct Met {
    worn_out: u64,
    copies: u64,
    folds: u64,
    parities: u64,
    retired_caches: u64,
    refreshed: u64,
    asked: u64,
    partial_programs: u64,
    placed: u64,
}

/// Runs one case, and adds what it has met.
fn run_case(case: u64, options: bool, met: &mut Met) {
    let mut rng = Rng::stream(case, "case");
    let config = draw_device(&mut rng, options, false);
    let setup = config.pool_setup(case);
    let media = config.fresh_media(case);
    let mut ftl = Ftl::new(&config.ftl, &setup, &media);
    let mut flash = CheckedFlash::of_device(&config, media);
    let mut oracle = Oracle::default();
    let pages = u64::from(ftl.figures().logical_pages());
    // Some cases leave most of the space alone after a fill, so that static data meets wear
    // leveling.
    let range = if rng.below(2) == 0 { pages } else { pages.div_ceil(4) };
    let mut is_worn_out = false;
    for lpn in 0..pages {
        is_worn_out |= oracle.write(&mut ftl, &mut flash, Lpn(lpn as u32)).is_err();
    }
    let mut own = Rng::stream(case, "refresh");
    if config.ftl.refresh.is_some() {
        ftl.refresh().start_clock(Ns(0));
    }
    for command in 0..COMMANDS {
        // Ten days in all; a drive without refresh has no use for a clock.
        let now = Ns(u64::from(command) * 216_000_000_000);
        flash.set_clock(config.ftl.refresh.as_ref().map(|_| now));
        if own.below(20) == 0 {
            let die = DieId(own.below(u64::from(setup.geometry.die_count)) as u32);
            ftl.refresh().at_once(&mut flash, die, now);
        }
        if own.below(50) == 0 {
            let block = own.below(u64::from(setup.geometry.block_count())) as u32;
            ftl.refresh().ask(flash.media(), BlockId(block), now);
        }
        let lpn = Lpn(rng.below(range) as u32);
        if !config.ftl.placement.is_none() {
            ftl.set_handle(own.below(config.ftl.placement.ids().into()) as u8);
            met.placed += 1;
        }
        match rng.below(20) {
            0 => oracle.trim(&mut ftl, &mut flash, lpn),
            1 => oracle.read(&mut ftl, &mut flash, lpn),
            2 if rng.below(4) == 0 => ftl.complete(&mut flash, Pending::Units),
            3 if rng.below(4) == 0 => ftl.complete(&mut flash, Pending::UnitsBehind(lpn)),
            _ => is_worn_out |= oracle.write(&mut ftl, &mut flash, lpn).is_err(),
        }
    }
    oracle.check(&ftl, &flash);
    for block in (0..setup.geometry.block_count()).map(BlockId) {
        let erases = flash.media().erase_count(block);
        let limit = erases_max(&setup, flash.media().mode(block));
        assert!(erases <= limit, "{block:?} was erased {erases} times, rated {limit}");
    }
    check_snapshot(&config, case, &ftl, &flash, &oracle);
    assert!(
        !is_worn_out || setup.worn_limit < 100 || setup.failures.is_some(),
        "no room in a drive that is not worn"
    );
    let counters = ftl.figures().counters();
    met.worn_out += u64::from(is_worn_out);
    met.copies += counters.copyback_pages;
    met.refreshed += counters.programs[Source::Refresh as usize];
    met.asked += counters.refreshed_by_rate;
    met.partial_programs += counters.partial_programs;
    met.folds += counters.programs[Source::Fold as usize];
    met.parities += counters.programs[Source::Parity as usize];
    met.retired_caches += u64::from(setup.worn_limit > 100) * counters.retired_blocks;
}

/// The state of a drive as plain numbers gives the drive back.
fn check_snapshot(
    config: &DeviceConfig,
    seed: u64,
    ftl: &Ftl,
    flash: &CheckedFlash,
    oracle: &Oracle,
) {
    let text = serde_json::to_string(&ftl.save().0).expect("plain numbers");
    let snapshot: FtlSnapshot = serde_json::from_str(&text).expect("what was just written");
    let setup = config.pool_setup(seed);
    let restored =
        Ftl::restore(&config.ftl, &setup, flash.media(), (&snapshot, &Volatile::default()))
            .expect("a snapshot that was just taken");
    oracle.check(&restored, flash);
    let again = serde_json::to_string(&restored.save().0).expect("plain numbers");
    assert_eq!(again, text, "the snapshot of a restored drive differs");
}

/// Runs all cases, or the one that is asked for; `None` then.
fn run_cases(options: bool) -> Option<Met> {
    let only: Option<u64> = std::env::var("CASE").ok().and_then(|case| case.parse().ok());
    let mut met = Met::default();
    for case in only.map_or(0..CASES, |case| case..case + 1) {
        let run = std::panic::AssertUnwindSafe(|| run_case(case, options, &mut met));
        let outcome = std::panic::catch_unwind(run);
        outcome.unwrap_or_else(|_| panic!("case {case}: repeat it with CASE={case}"));
    }
    // The draw must reach the end of life in some cases and not in others.
    assert!(
        only.is_some() || (10..CASES / 2).contains(&met.worn_out),
        "{} of {CASES} wore out",
        met.worn_out
    );
    only.is_none().then_some(met)
}

#[test]
fn random_commands_agree_with_a_plain_map() {
    run_cases(false);
}

#[test]
fn drives_of_every_make_agree_with_a_plain_map() {
    if let Some(met) = run_cases(true) {
        let Met { copies, folds, parities, retired_caches, refreshed, asked, .. } = met;
        let parts = met.partial_programs;
        let counts = [copies, folds, parities, retired_caches, refreshed, asked, parts, met.placed];
        let least = [100_000, 100_000, 20_000, 20, 100_000, 1000, 500, 100_000];
        assert!(
            counts.iter().zip(least).all(|(&count, least)| count > least),
            "copies, folds, parities, retired caches, refreshed, asked, parts, placed: {counts:?}"
        );
    }
}

/// What a drive must hold when it has worn out: the old data, and no write.
#[test]
fn a_worn_out_drive_refuses_writes_and_keeps_its_data() {
    let device: Value = json!({
        "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 16,
                 "pages_per_block": 16, "max_pe_cycles": 5},
        "ftl": {"over_provisioning_pct": 0.5},
    });
    let config = DeviceConfig::resolve(&device.to_string()).expect("a device");
    let setup = config.pool_setup(1);
    let media = Media::new(setup.geometry, &[0], 1);
    let mut ftl = Ftl::new(&config.ftl, &setup, &media);
    let mut flash = CheckedFlash::new(setup.geometry, media);
    let mut oracle = Oracle::default();
    let mut rng = Rng::stream(1, "case");
    let pages = u64::from(ftl.figures().logical_pages());
    let written = (0..100_000)
        .take_while(|_| oracle.write(&mut ftl, &mut flash, Lpn(rng.below(pages) as u32)).is_ok())
        .count();
    // 16 blocks of 5 cycles and 16 pages are 1280 programs at most, fewer than that written by the
    // host.
    assert!((300..1280).contains(&written), "{written} writes");
    assert!(oracle.write(&mut ftl, &mut flash, Lpn(0)).is_err());
    oracle.check(&ftl, &flash);
}

/// A drive with blocks for hot and for cold pages and static wear leveling ended with a panic: the
/// block of leveled data takes both kinds, so collecting it opened two blocks and gave back one,
/// and after a few of those in a row no erased block was left for the next.
#[test]
fn leveled_data_of_both_kinds_finds_room_when_it_is_collected() {
    let mut leveled = 0;
    for case in 0..48 {
        let (endurance, least_fills) = if case < 24 { (3000, 60) } else { (40, 8) };
        let policy = ["random", "greedy", "cost_benefit"][case as usize % 3];
        let device: Value = json!({
            "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                     "blocks_per_plane": 40 + 8 * (case % 4), "pages_per_block": 12,
                     "max_pe_cycles": endurance},
            "ftl": {"over_provisioning_pct": 0.28, "gc_policy": policy,
                    "write_frontiers": {"kind": "hot_cold", "fraction": 0.2},
                    "wear_leveling": {"kind": "static", "threshold": 1 + case % 5}},
        });
        let config = DeviceConfig::resolve(&device.to_string()).expect("a device");
        let setup = config.pool_setup(case);
        let media = Media::new(setup.geometry, &[0], case);
        let mut ftl = Ftl::new(&config.ftl, &setup, &media);
        let mut flash = CheckedFlash::of_device(&config, media);
        let mut oracle = Oracle::default();
        let mut rng = Rng::stream(case, "case");
        let pages = u64::from(ftl.figures().logical_pages());
        let written = (0..60 * pages)
            .take_while(|&write| {
                let lpn = if write < pages { write } else { rng.below(pages) };
                oracle.write(&mut ftl, &mut flash, Lpn(lpn as u32)).is_ok()
            })
            .count() as u64;
        oracle.check(&ftl, &flash);
        leveled += ftl.figures().counters().programs[Source::Wear as usize];
        let range = least_fills * pages..=60 * pages;
        assert!(range.contains(&written), "case {case}: {written} writes of {pages} pages");
    }
    assert!(leveled > 10_000, "{leveled} pages were leveled");
}
