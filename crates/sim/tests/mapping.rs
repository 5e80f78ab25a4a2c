//! Ways to map next to a plain map: random commands on random devices, and figures in closed form.
//!
//! `CASE=<number> cargo test -p opennandlab-sim --features testing --test all mapping` runs one
//! case.

use crate::drawn;

use drawn::{draw_device, draw_mapping};
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::ftl::{FlashSink, Ftl, FtlCounters, FtlSnapshot, Pending, Volatile};
use opennandlab_sim::op::Source;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::testing::{metrics, number, CheckedFlash, Oracle};
use opennandlab_sim::units::Lpn;
use serde_json::{json, Value};

const CASES: u64 = 400;
const COMMANDS: u32 = 3000;

/// A device that is drawn, with a way to map that goes with it.
fn draw(rng: &mut Rng) -> DeviceConfig {
    loop {
        let mut device: Value = draw_device(rng, true, false).to_json();
        draw_mapping(rng, &mut device);
        device["ftl"]["compression"] = json!("none");
        if let Ok(config) = DeviceConfig::resolve(&device.to_string()) {
            return config;
        }
    }
}

fn run_case(case: u64, kinds: &mut std::collections::BTreeMap<String, u64>) {
    let mut rng = Rng::stream(case, "mapping");
    let config = draw(&mut rng);
    let setup = config.pool_setup(case);
    let media = config.fresh_media(case);
    let mut ftl = Ftl::new(&config.ftl, &setup, &media);
    let mut flash = CheckedFlash::of_device(&config, media);
    let mut oracle = Oracle::default();
    let pages = u64::from(ftl.figures().logical_pages());
    let mut is_worn_out = false;
    if rng.below(2) == 0 {
        for lpn in 0..pages {
            is_worn_out |= oracle.write(&mut ftl, &mut flash, Lpn(lpn as u32)).is_err();
        }
    }
    let mut command = 0;
    while command < COMMANDS {
        let lpn = rng.below(pages);
        match rng.below(20) {
            0 => {
                oracle.trim(&mut ftl, &mut flash, Lpn(lpn as u32));
            }
            1 => oracle.read(&mut ftl, &mut flash, Lpn(lpn as u32)),
            2 => ftl.complete(&mut flash, Pending::Merges),
            3 => {
                let first = lpn - lpn % 16;
                let count = (1 + rng.below(40)).min(pages - first);
                ftl.begin_request(count as u32);
                for lpn in first..first + count {
                    is_worn_out |= oracle.write(&mut ftl, &mut flash, Lpn(lpn as u32)).is_err();
                }
                ftl.begin_request(1);
                command += count as u32;
            }
            _ => is_worn_out |= oracle.write(&mut ftl, &mut flash, Lpn(lpn as u32)).is_err(),
        }
        command += 1;
        if command % 1000 == 0 {
            oracle.check(&ftl, &flash);
        }
    }
    oracle.check(&ftl, &flash);
    let text = serde_json::to_string(&ftl.save().0).expect("plain numbers");
    let snapshot: FtlSnapshot = serde_json::from_str(&text).expect("what was just written");
    let mut restored =
        Ftl::restore(&config.ftl, &setup, flash.media(), (&snapshot, &Volatile::default()))
            .expect("a snapshot of this");
    oracle.check(&restored, &flash);
    let again = serde_json::to_string(&restored.save().0).expect("plain numbers");
    assert_eq!(again, text, "the snapshot of a restored drive differs");
    let is_worn = setup.worn_limit < 100 || setup.failures.is_some();
    assert!(!is_worn_out || is_worn, "no room in a drive that is not worn: {}", config.to_json());
    // It continues.
    for _ in 0..500 {
        let lpn = Lpn(rng.below(pages) as u32);
        let written = oracle.write(&mut restored, &mut flash, lpn);
        assert!(written.is_ok() || is_worn);
    }
    oracle.check(&restored, &flash);
    let counters = ftl.figures().counters();
    let name = config.ftl.mapping.name();
    *kinds.entry(name.into()).or_default() += 1;
    let counted = &counters.mapping;
    if name == "dftl" {
        assert_eq!(
            counters.reads[Source::Map as usize],
            counted.misses - counted.unwritten + counted.update_reads + counted.moved
        );
        assert_eq!(
            counters.programs[Source::Map as usize],
            counted.update_programs + counted.moved
        );
    }
    assert!(counters.moves_agree(&FtlCounters::default()));
    *kinds.entry("merges".into()).or_default() += counted.full_merges;
    *kinds.entry("switches".into()).or_default() += counted.switch_merges;
    *kinds.entry("partial".into()).or_default() += counted.partial_merges;
    *kinds.entry("moved map pages".into()).or_default() += counted.moved;
    *kinds.entry("checkpoints".into()).or_default() += counted.checkpoints;
    *kinds.entry("superblocks".into()).or_default() +=
        u64::from(config.ftl.allocation.superblock().is_some());
}

#[test]
fn every_way_to_map_agrees_with_a_plain_map() {
    let only: Option<u64> = std::env::var("CASE").ok().and_then(|case| case.parse().ok());
    let mut kinds = std::collections::BTreeMap::new();
    for case in only.map_or(0..CASES, |case| case..case + 1) {
        let run = std::panic::AssertUnwindSafe(|| run_case(case, &mut kinds));
        let outcome = std::panic::catch_unwind(run);
        outcome.unwrap_or_else(|_| panic!("case {case}: repeat it with CASE={case}"));
    }
    println!("{kinds:?}");
    let met = |key: &str| kinds.get(key).copied().unwrap_or(0);
    let keys = [
        "dftl",
        "block",
        "bast",
        "fast",
        "merges",
        "switches",
        "partial",
        "superblocks",
        "moved map pages",
        "checkpoints",
    ];
    assert!(only.is_some() || keys.iter().all(|key| met(key) >= 20), "{kinds:?}");
}

/// One die of `data` blocks of data and some more, of `pages` pages.
fn device(data: u32, spare: u32, pages: u32, mapping: &Value) -> Value {
    json!({
        "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": data + spare, "pages_per_block": pages},
        "ftl": {"over_provisioning_pct": f64::from(spare) / f64::from(data), "mapping": mapping},
    })
}

fn random_writes(count: u64) -> Value {
    json!({"name": "random", "pattern": "random", "block_size_bytes": 4096, "timed": false,
           "precondition": [{"kind": "sequential_fill"}], "total": {"ios": count}})
}

#[test]
fn a_map_of_blocks_rewrites_a_block_for_each_page() {
    let found = metrics(&device(64, 2, 32, &json!("block")), &random_writes(20_000));
    assert_eq!((number(&found, "/waf"), number(&found, "/erases/gc")), (32.0, 20_000.0));
}

#[test]
fn bast_merges_as_often_as_its_closed_form_says() {
    for (data, logs, pages, expected) in [(256, 8, 64, 63.0), (64, 32, 16, 9.0)] {
        for replacement in ["fifo", "lru"] {
            let mapping = json!({"kind": "bast", "log_blocks": logs, "replacement": replacement});
            let found = metrics(&device(data, logs + 1, pages, &mapping), &random_writes(40_000));
            let waf = number(&found, "/waf");
            assert!((waf / expected - 1.0).abs() < 0.01, "{data} {logs} {replacement}: {waf}");
        }
    }
}

#[test]
fn fast_amplifies_as_simulations_of_others_do() {
    for (data, logs, pages, expected) in [(256, 8, 64, 23.1), (512, 16, 32, 17.17)] {
        let mapping = json!({"kind": "fast", "log_blocks": logs});
        let found = metrics(&device(data, logs + 2, pages, &mapping), &random_writes(60_000));
        let waf = number(&found, "/waf");
        assert!((waf / expected - 1.0).abs() < 0.02, "{data} {logs}: {waf}");
    }
}

/// A read takes the time of a sense and a transfer, and twice that where its entry is not cached.
#[test]
fn a_miss_costs_a_read_before_the_read() {
    let pages = 64 * 256;
    let mapping = json!({"kind": "dftl", "cache_bytes": 4 * pages / 4});
    let mut device = device(256, 64, 64, &mapping);
    device["nand"]["timing"] = json!({"t_read_us": 50, "t_program_us": 500, "t_erase_us": 3000,
                                      "bus_mt_s": 409.6});
    let reads = json!({"name": "reads", "pattern": "random", "read_pct": 100, "queue_depth": 1,
                       "precondition": [{"kind": "sequential_fill"}], "total": {"ios": 50_000}});
    let found = metrics(&device, &reads);
    let transfer_us = 4096.0 / 409.6;
    let misses = 1.0 - number(&found, "/mapping/hit_rate");
    // Uniform reads, a quarter of the entries: three in four miss.
    assert!((misses - 0.75).abs() < 0.01, "{misses}");
    let mean_us = number(&found, "/latency_us/read/mean");
    let expected_us = (50.0 + transfer_us) * (1.0 + misses);
    assert!((mean_us / expected_us - 1.0).abs() < 1e-3, "{mean_us} us, expected {expected_us}");
}

/// 64 map pages of 256 entries, each written by the fill, since the cache holds but one. By hand:
/// the fill writes 16 384 map units, the requests four each: 56 of 1000 in the end, 16 before.
#[test]
fn a_checkpoint_writes_the_next_map_pages_in_turn() {
    let mapping = json!({"kind": "dftl", "cache_bytes": 1024});
    let mut device = device(256, 64, 64, &mapping);
    device["ftl"]["map_unit_bytes"] = json!(1024);
    device["nand"]["page_size_bytes"] = json!(1024);
    let without = metrics(&device, &random_writes(10_000));
    assert!(without["mapping"].get("checkpoints").is_none());
    device["ftl"]["map_checkpoint"] = json!({"every_writes": 1000, "pages": 24});
    let found = metrics(&device, &random_writes(10_000));
    assert_eq!(found["mapping"]["checkpoints"], json!({"count": 40, "pages": 960}));
    assert!(number(&found, "/programs/map") > number(&without, "/programs/map"));
}

/// One die, commands alone, all entries cached: a write in 100 waits for 8 map pages, each of which
/// is sensed, transferred twice and programmed. Erases, of map blocks too, take next to no time.
#[test]
fn a_checkpoint_stalls_the_next_write() {
    let pages = 64 * 256;
    let mapping = json!({"kind": "dftl", "cache_bytes": 4 * pages});
    let mut device = device(256, 64, 64, &mapping);
    device["nand"]["timing"] = json!({"t_read_us": 50, "t_program_us": 500, "t_erase_us": 10,
                                      "bus_mt_s": 409.6});
    let writes = json!({"name": "writes", "pattern": "random", "queue_depth": 1,
                        "precondition": [{"kind": "sequential_fill"}], "total": {"ios": 1000}});
    let plain = number(&metrics(&device, &writes), "/latency_us/write/max");
    device["ftl"]["map_checkpoint"] = json!({"every_writes": 100, "pages": 8});
    let found = metrics(&device, &writes);
    let longest = number(&found, "/latency_us/write/max");
    let expected = plain + 8.0 * (50.0 + 10.0 + 10.0 + 500.0);
    assert!((longest / expected - 1.0).abs() < 0.02, "{longest} us, expected {expected}");
}

/// Two dies, commands alone, a map in RAM: of every 100 writes one finds its die programming half
/// of the 8 pages. The write before it took the time of the first of these.
#[test]
fn a_checkpoint_of_a_map_in_ram_takes_turns_on_the_dies() {
    let mut device = device(256, 64, 64, &json!("page"));
    device["nand"]["dies_per_channel"] = json!(2);
    device["nand"]["timing"] = json!({"t_read_us": 50, "t_program_us": 500, "t_erase_us": 10,
                                      "bus_mt_s": 409.6});
    device["ftl"]["allocation"] = json!("dynamic");
    let writes = json!({"name": "writes", "pattern": "random", "queue_depth": 1,
                        "precondition": [{"kind": "sequential_fill"}], "total": {"ios": 1000}});
    let count = |found: &Value| found.pointer("/programs/map").and_then(Value::as_u64);
    assert_eq!(count(&metrics(&device, &writes)), Some(0));
    device["ftl"]["map_checkpoint"] = json!({"every_writes": 100, "pages": 8});
    let found = metrics(&device, &writes);
    assert_eq!(count(&found), Some(80));
    let longest = number(&found, "/latency_us/write/max");
    let program = 10.0 + 500.0;
    let expected = (4.0 - 1.0) * program + program;
    assert!((longest / expected - 1.0).abs() < 0.02, "{longest} us, expected {expected}");
}

/// Sizes that do not fit, and keys that exclude each other, say so.
#[test]
fn what_does_not_go_together_is_refused() {
    let refusal = |mapping: &Value, changes: Value| {
        let mut device = device(256, 26, 64, mapping);
        opennandlab_sim::testing::merge(&mut device, &changes);
        DeviceConfig::resolve(&device.to_string()).expect_err("a refusal").to_string()
    };
    let bast = json!({"kind": "bast", "log_blocks": 8});
    let fast = json!({"kind": "fast", "log_blocks": 8});
    let small = json!({"kind": "dftl", "cache_bytes": 1000});
    let many = json!({"kind": "fast", "log_blocks": 25});
    let policy = json!({"kind": "python", "name": "m:P", "sha256": "0", "parameters": {}});
    let cases = [
        (&small, json!({}), "ftl.mapping.cache_bytes: 1000 bytes hold 250 entries"),
        // Not that write_frontiers should be host_gc, which is refused too.
        (
            &fast,
            json!({"ftl": {"slc_cache": {"kind": "dynamic"}, "write_frontiers": "single"}}),
            "ftl.slc_cache: a cache of single-bit blocks, which is folded by garbage collection",
        ),
        (
            &bast,
            json!({"ftl": {"collection": "steps", "write_frontiers": "single"}}),
            "ftl.collection: steps, which acts on garbage collection",
        ),
        (&many, json!({}), "needs 283 = 256 for data + 25 log + 2 to merge into"),
        (&bast, json!({"nand": {"dies_per_channel": 3}}), "2 left over; accepted: a multiple of 3"),
        (
            &fast,
            json!({"ftl": {"slc_cache": {"kind": "dynamic"}, "write_frontiers": "host_gc"}}),
            "ftl.slc_cache",
        ),
        (
            &bast,
            json!({"ftl": {"collection": {"kind": "steps"}, "write_frontiers": "host_gc"}}),
            "ftl.collection: steps",
        ),
        (&bast, json!({"ftl": {"allocation": "dynamic"}}), "ftl.allocation: dynamic"),
        (&bast, json!({"ftl": {"gc_policy": policy}}), "ftl.gc_policy"),
        (&fast, json!({"nand": {"failures": {"erase": 0.001}}}), "nand.failures"),
        (&fast, json!({"ftl": {"map_unit_bytes": 512}}), "ftl.map_unit_bytes"),
        (
            &json!("page"),
            json!({"ftl": {"map_checkpoint": {"every_writes": 100, "pages": 8}}}),
            "ftl.map_checkpoint: parts of a map with ftl.mapping page; accepted: none, ftl.map",
        ),
        (
            &json!({"kind": "dftl", "cache_bytes": 4096}),
            json!({"ftl": {"map_checkpoint": {"every_writes": 0, "pages": 8}}}),
            "ftl.map_checkpoint.every_writes: 0",
        ),
        (
            &json!({"kind": "dftl", "cache_bytes": 4096}),
            json!({"ftl": {"map_checkpoint": {"every_writes": 9, "pages": 0}}}),
            "ftl.map_checkpoint.pages: 0",
        ),
    ];
    for (mapping, changes, words) in cases {
        let text = refusal(mapping, changes);
        assert!(text.contains(words), "{text}, without {words}");
    }
}
