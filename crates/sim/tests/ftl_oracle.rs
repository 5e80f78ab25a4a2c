//! Random commands on small drives of every make, beside a plain map and flash that refuses misuse.
//!
//! Each case is a seed: geometry, policy, open blocks, wear leveling, bad blocks and endurance are
//! drawn from it, then commands. A failure prints the case; `CASE=<number> cargo test -p
//! opennandlab-sim --features testing --test ftl_oracle` runs it alone.

use opennandlab_sim::device::DeviceConfig;
use opennandlab_sim::ftl::{FlashSink, Ftl};
use opennandlab_sim::nand::Media;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::testing::{CheckedFlash, Oracle};
use opennandlab_sim::units::{BlockId, Lpn};
use serde_json::{json, Value};

const CASES: u64 = 400;
const COMMANDS: u32 = 4000;

/// A device of up to four dies, drawn until it is one that can work.
fn draw_device(rng: &mut Rng) -> DeviceConfig {
    loop {
        let policies = [
            json!("greedy"),
            json!("cost_benefit"),
            json!({"kind": "cost_benefit", "age": "since_invalidation"}),
            json!("fifo"),
            json!("random"),
            json!({"kind": "d_choices", "d": 1 + rng.below(12)}),
            json!({"kind": "windowed_greedy", "window_blocks": 1 + rng.below(40)}),
        ];
        let frontiers =
            [json!("single"), json!("host_gc"), json!({"kind": "hot_cold", "fraction": 0.3})];
        let wear = [
            json!("none"),
            json!("dynamic"),
            json!({"kind": "static", "threshold": 1 + rng.below(8)}),
        ];
        let pages = [4, 7, 16, 64, 100][rng.below(5) as usize];
        let device = json!({
            "nand": {
                "channels": 1 + rng.below(2), "dies_per_channel": 1 + rng.below(2),
                "planes_per_die": 1,
                "blocks_per_plane": 8 + rng.below(24), "pages_per_block": pages,
                "max_pe_cycles": if rng.below(3) == 0 { 4 + rng.below(12) } else { 3000 },
                "factory_bad_block_ratio": ([0.0, 0.1][rng.below(2) as usize]),
            },
            "ftl": {
                "over_provisioning_pct": 0.1 + rng.unit(),
                "gc_policy": (policies[rng.below(7) as usize].clone()),
                "write_frontiers": (frontiers[rng.below(3) as usize].clone()),
                "wear_leveling": (wear[rng.below(3) as usize].clone()),
                "gc_reserve_blocks": 1 + rng.below(8),
            },
        });
        if let Ok(config) = DeviceConfig::resolve(&device.to_string()) {
            return config;
        }
    }
}

/// Runs one case; returns whether the drive wore out.
fn run_case(case: u64) -> bool {
    let mut rng = Rng::stream(case, "case");
    let config = draw_device(&mut rng);
    let setup = config.pool_setup(case);
    let media = Media::new(setup.geometry, &config.nand.bad_blocks_per_die(&setup.geometry), case);
    let mut ftl = Ftl::new(&config.ftl, &setup, &media);
    let mut flash = CheckedFlash::new(setup.geometry, media);
    let mut oracle = Oracle::default();
    let pages = u64::from(ftl.logical_pages());
    // Some cases leave most of the space alone after a fill, so that static data meets wear
    // leveling.
    let range = if rng.below(2) == 0 { pages } else { pages.div_ceil(4) };
    let mut is_worn_out = false;
    for lpn in 0..pages {
        is_worn_out |= oracle.write(&mut ftl, &mut flash, Lpn(lpn as u32)).is_err();
    }
    for _ in 0..COMMANDS {
        let lpn = Lpn(rng.below(range) as u32);
        match rng.below(20) {
            0 => oracle.trim(&mut ftl, lpn),
            1 => oracle.read(&mut ftl, &mut flash, lpn),
            _ => is_worn_out |= oracle.write(&mut ftl, &mut flash, lpn).is_err(),
        }
    }
    oracle.check(&ftl, &flash);
    let limit = config.nand.max_pe_cycles.expect("resolved");
    let blocks = (0..setup.geometry.block_count()).map(BlockId);
    let most_worn = blocks.map(|block| flash.media().erase_count(block)).max();
    assert!(most_worn <= Some(limit), "a block was erased {most_worn:?} times, rated {limit}");
    is_worn_out
}

#[test]
fn random_commands_agree_with_a_plain_map() {
    let only: Option<u64> = std::env::var("CASE").ok().and_then(|case| case.parse().ok());
    let mut worn_out = 0;
    for case in only.map_or(0..CASES, |case| case..case + 1) {
        let outcome = std::panic::catch_unwind(|| run_case(case));
        let is_worn_out =
            outcome.unwrap_or_else(|_| panic!("case {case}: repeat it with CASE={case}"));
        worn_out += u64::from(is_worn_out);
    }
    // The draw must reach the end of life in some cases and not in others.
    assert!(
        only.is_some() || (10..CASES / 2).contains(&worn_out),
        "{worn_out} of {CASES} wore out"
    );
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
    let pages = u64::from(ftl.logical_pages());
    let written = (0..100_000)
        .take_while(|_| oracle.write(&mut ftl, &mut flash, Lpn(rng.below(pages) as u32)).is_ok())
        .count();
    // 16 blocks of 5 cycles and 16 pages are 1280 programs at most, fewer than that written by the
    // host.
    assert!((300..1280).contains(&written), "{written} writes");
    assert!(oracle.write(&mut ftl, &mut flash, Lpn(0)).is_err());
    oracle.check(&ftl, &flash);
}
