//! A cache of single-bit blocks of a fixed part and of erased blocks up to a limit: how much it
//! takes, what folding costs, and what is refused.

use opennandlab_sim::device::DeviceConfig;
use opennandlab_sim::ftl::{FlashSink, Ftl};
use opennandlab_sim::nand::{CellMode, Media};
use opennandlab_sim::op::Source;
use opennandlab_sim::testing::CheckedFlash;
use opennandlab_sim::units::Lpn;
use serde_json::{json, Value};

/// 22 rows of 4 KiB at one bit per cell, in each of two dies.
const BLOCK_OF_EACH_DIE: u64 = 2 * 22 * 4096;

fn device(cache: &Value) -> Value {
    json!({
        "nand": {"cell_type": "TLC", "channels": 2, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 60, "pages_per_block": 66, "page_size_bytes": 4096},
        "ftl": {"over_provisioning_pct": 0.4, "gc_reserve_blocks": 4, "write_frontiers": "host_gc",
                "collection": {"kind": "steps"},
                "idle_collection": {"after_us": 100, "spare_blocks_goal": 4}, "slc_cache": cache},
    })
}

struct Bare {
    ftl: Ftl,
    flash: CheckedFlash,
}

impl Bare {
    fn new(cache: &Value) -> Self {
        let config = DeviceConfig::resolve(&device(cache).to_string()).expect("a device");
        let media = Media::new(config.geometry(), &[0, 0], 1);
        let ftl = Ftl::new(&config.ftl, &config.pool_setup(1), &media);
        Self { ftl, flash: CheckedFlash::of_device(&config, media) }
    }

    /// Writes a page; whether it went to a block of one bit per cell.
    fn write(&mut self, lpn: u32) -> bool {
        self.ftl.write(&mut self.flash, Lpn(lpn)).expect("room");
        let ppn = self.ftl.find(Lpn(lpn)).expect("it was written");
        let media = self.flash.media();
        media.mode(media.geometry().block_of(ppn)) == CellMode::Slc
    }
}

#[test]
fn an_empty_drive_takes_the_fixed_part_and_the_limit_and_then_writes_densely() {
    for (fixed, dynamic) in [(3, 5), (2, 0), (0, 7)] {
        let mut drive = Bare::new(&json!({
            "kind": "hybrid", "static_bytes": fixed * BLOCK_OF_EACH_DIE,
            "dynamic_bytes_max": dynamic * BLOCK_OF_EACH_DIE, "fold": "idle",
        }));
        let cached = (0..2000).take_while(|&lpn| drive.write(lpn)).count() as u64;
        assert_eq!(cached * 4096, (fixed + dynamic) * BLOCK_OF_EACH_DIE, "{fixed} + {dynamic}");
        assert!((2000..2500).all(|lpn| !drive.write(lpn)), "no pause, and so no block is free");
        drive.ftl.audit(drive.flash.media()).expect("the tables agree");
    }
}

#[test]
fn a_drive_that_folds_when_full_writes_every_page_twice() {
    let mut drive = Bare::new(&json!({
        "kind": "hybrid", "static_bytes": 2 * BLOCK_OF_EACH_DIE,
        "dynamic_bytes_max": 4 * BLOCK_OF_EACH_DIE,
    }));
    let pages = drive.ftl.logical_pages();
    let fills = 4;
    for lpn in (0..fills).flat_map(|_| 0..pages) {
        assert!(drive.write(lpn), "all writes pass the cache");
    }
    let programs = drive.ftl.counters().programs;
    let host = u64::from(fills * pages);
    assert_eq!(programs[Source::Host as usize], host);
    // All but what is cached has been folded; overwritten in order, closed blocks die whole.
    let in_cache = 2 * 6 * 22;
    let folded = programs[Source::Fold as usize];
    assert!((host - 2 * in_cache..=host).contains(&folded), "{folded} of {host}");
    assert_eq!(programs[Source::Gc as usize], 0);
    drive.ftl.audit(drive.flash.media()).expect("the tables agree");
}

#[test]
fn guests_give_way_when_the_drive_fills_up() {
    // The limit is more than the spare blocks: a full drive keeps what `min_erased_blocks` leaves.
    let mut drive = Bare::new(&json!({
        "kind": "hybrid", "dynamic_bytes_max": 50 * BLOCK_OF_EACH_DIE, "fold": "full",
    }));
    let pages = drive.ftl.logical_pages();
    let mut cached = 0;
    for lpn in (0..3).flat_map(|_| 0..pages) {
        cached += u32::from(drive.write(lpn));
    }
    assert!(cached > pages, "{cached} of {} writes", 3 * pages);
    drive.ftl.audit(drive.flash.media()).expect("the tables agree");
}

#[test]
fn caches_that_cannot_be_are_refused_with_the_arithmetic() {
    let huge = 61 * BLOCK_OF_EACH_DIE;
    for (cache, path, words) in [
        (json!({"kind": "hybrid"}), "ftl.slc_cache", "a block of each die at one bit"),
        (json!({"kind": "hybrid", "dynamic_bytes_max": huge}), "ftl.slc_cache", "1.081e7"),
        (
            json!({"kind": "hybrid", "static_bytes": 40 * BLOCK_OF_EACH_DIE}),
            "ftl.slc_cache.static_bytes",
            "40 cache",
        ),
        (
            json!({"kind": "hybrid", "static_bytes": 1 << 20, "max_pe_cycles": 0}),
            "ftl.slc_cache.max_pe_cycles",
            "1 or more",
        ),
    ] {
        let error = DeviceConfig::resolve(&device(&cache).to_string()).expect_err("a refusal");
        assert_eq!(error.path, path, "{cache}: {}", error.message);
        assert!(error.message.contains(words), "{cache}: {}", error.message);
    }
    let mut file = device(&json!({"kind": "hybrid", "static_bytes": 1 << 20, "fold": "both"}));
    file["ftl"]["idle_collection"] = Value::Null;
    let error = DeviceConfig::resolve(&file.to_string()).expect_err("a refusal");
    assert_eq!(error.path, "ftl.slc_cache.fold");
    assert!(error.message.contains("no pauses"), "{}", error.message);
}
