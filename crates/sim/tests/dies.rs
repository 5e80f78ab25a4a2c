//! Dies that work apart leave what they leave together, on any number of threads.

use crate::drawn;

use drawn::draw_device;
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::ftl::{Dealt, FlashSink, Ftl};
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::testing::CheckedFlash;
use opennandlab_sim::units::{BlockId, Lpn};
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

/// A drive under writes without time.
struct Bare {
    ftl: Ftl,
    flash: CheckedFlash,
}

impl Bare {
    fn new(config: &DeviceConfig, seed: u64) -> Self {
        let setup = config.pool_setup(seed);
        let media = config.fresh_media(seed);
        let ftl = Ftl::new(&config.ftl, &setup, &media);
        Self { ftl, flash: CheckedFlash::of_device(config, media) }
    }

    /// All that the drive is, as numbers.
    fn state(&self) -> Value {
        let media = self.flash.media();
        let blocks = 0..media.geometry().block_count();
        let erases: Vec<u32> = blocks.map(|block| media.erase_count(BlockId(block))).collect();
        let places: Vec<_> = (0..self.ftl.figures().logical_pages())
            .map(|lpn| self.ftl.find(Lpn(lpn)).map(|ppn| ppn.0))
            .collect();
        json!({
            "ftl": self.ftl.save().0, "erases": erases, "places": places,
            "mapped": self.ftl.figures().mapped_pages(),
            "counters": format!("{:?}", self.ftl.figures().counters()),
        })
    }
}

/// A fill, then pages at random.
fn pages(rng: &mut Rng, logical_pages: u32) -> Vec<u32> {
    let more = 3 * logical_pages.min(2000);
    let random = (0..more).map(|_| rng.below(u64::from(logical_pages)) as u32);
    (0..logical_pages).chain(random.collect::<Vec<_>>()).collect()
}

#[test]
fn lists_and_dies_apart_leave_what_single_writes_leave() {
    let mut split = 0;
    for case in 0..300 {
        let mut rng = Rng::stream(case, "dies");
        let config = draw_device(&mut rng, case % 2 == 0, false);
        let mut drives = [(); 3].map(|()| Bare::new(&config, case));
        let [one_by_one, as_list, apart] = &mut drives;
        let is_sound = config.nand.max_pe_cycles == Some(3000) && config.nand.failures.is_none();
        if one_by_one.ftl.traits().turns.is_none() || !is_sound {
            continue;
        }
        let pages = pages(&mut rng, one_by_one.ftl.figures().logical_pages());
        for &lpn in &pages {
            one_by_one.ftl.write(&mut one_by_one.flash, Lpn(lpn)).expect("room");
        }
        let (done, outcome) = as_list.ftl.write_list(&mut as_list.flash, &pages);
        assert_eq!((done, outcome), (pages.len(), Ok(())), "case {case}");
        assert!(as_list.state() == one_by_one.state(), "case {case}, as a list");
        let geometry = *apart.flash.media().geometry();
        if !apart.ftl.may_split(apart.flash.media(), None) {
            continue;
        }
        split += 1;
        let turns = apart.ftl.traits().turns.expect("they take turns");
        let mut dealt = Dealt::default();
        for pages in pages.chunks(1000) {
            let mut dies = apart.ftl.split();
            let split_at = dies.len() as u32 / 2;
            // The last first: they need not wait for each other.
            dealt.deal(pages, turns);
            for die in (split_at..geometry.die_count).chain(0..split_at) {
                let list = dealt.list(die);
                dies[die as usize].write_list(&mut apart.flash, list).expect("room");
            }
            apart.ftl.join(dies, pages.len() as u64);
        }
        assert!(apart.state() == one_by_one.state(), "case {case}, apart");
        apart.ftl.audit(apart.flash.media()).expect("the tables agree");
    }
    assert!(split > 20, "only {split} drives were taken apart");
}

#[test]
fn a_run_of_pages_written_apart_is_the_run() {
    for case in 0..100 {
        let mut rng = Rng::stream(case, "runs");
        let config = draw_device(&mut rng, false, false);
        let mut drives = [(); 2].map(|()| Bare::new(&config, case));
        let [together, apart] = &mut drives;
        let logical_pages = together.ftl.figures().logical_pages();
        if config.nand.max_pe_cycles != Some(3000)
            || !apart.ftl.may_split(apart.flash.media(), None)
        {
            continue;
        }
        for _ in 0..6 {
            let first = rng.below(u64::from(logical_pages)) as u32;
            let count = 1 + rng.below(u64::from(logical_pages - first)) as u32;
            together.ftl.write_run(&mut together.flash, Lpn(first), count).expect("room");
            let mut dies = apart.ftl.split();
            for die in dies.iter_mut().rev() {
                // Two runs, one behind the other.
                let middle = count / 2;
                let runs = [(0, first, middle), (middle, first + middle, count - middle)];
                for (before, first, count) in runs {
                    die.write_run(&mut apart.flash, before.into(), Lpn(first), count)
                        .expect("room");
                }
            }
            apart.ftl.join(dies, u64::from(count));
            assert!(apart.state() == together.state(), "case {case}");
        }
    }
}

/// The result of a preconditioned run.
fn result(device: &Value, workload: &Value, threads: usize) -> Value {
    let config = DeviceConfig::resolve(&device.to_string()).expect("a device");
    let mut drive = Simulation::new(config, 7);
    drive.set_threads(threads);
    let space = drive.space();
    let config = WorkloadConfig::resolve(&workload.to_string(), space).expect("a workload");
    drive.begin(config.job(space, 7));
    while !drive.advance(100_000).finished {}
    drive.audit().expect("the tables agree");
    json!([drive.outcome(), drive.image().len()])
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let nand = json!({
        "cell_type": "TLC", "channels": 3, "dies_per_channel": 2, "planes_per_die": 1,
        "blocks_per_plane": 60, "pages_per_block": 64, "max_pe_cycles": 3000,
        "stress": {"retention_h": 9000, "temperature_c": 40},
    });
    let devices = [
        json!({"nand": nand, "ftl": {"over_provisioning_pct": 0.2,
               "wear_leveling": {"kind": "static", "threshold": 2}}}),
        json!({"nand": nand, "ftl": {"over_provisioning_pct": 0.3, "gc_policy": "random",
               "write_frontiers": {"kind": "hot_cold", "fraction": 0.2},
               "parity": {"stripe": 8}}}),
    ];
    let workloads = [
        json!({"name": "w", "pattern": "random", "timed": false, "total": {"ios": 100_000},
               "precondition": [{"kind": "sequential_fill", "fills": 2}]}),
        json!({"name": "w", "pattern": "random", "total": {"ios": 2000}, "precondition":
               [{"kind": "sequential_fill", "fills": 1}, {"kind": "workload", "until": "steady"}]}),
    ];
    for device in &devices {
        for workload in &workloads {
            let one = result(device, workload, 1);
            for threads in [2, 5, 9] {
                assert!(result(device, workload, threads) == one, "{threads} threads");
            }
        }
    }
}

/// Runs that begin anew at the end of the drive, in chunks and across them.
#[test]
fn fills_do_not_depend_on_the_number_of_threads() {
    let device = json!({
        "nand": {"channels": 3, "dies_per_channel": 2, "planes_per_die": 1,
                 "blocks_per_plane": 200, "pages_per_block": 128, "max_pe_cycles": 3000},
        "ftl": {"over_provisioning_pct": 0.1, "wear_leveling": {"kind": "static", "threshold": 2}},
    });
    for (pages, ios) in [(1, 300_000), (7, 60_000), (32, 30_000)] {
        let workload = json!({
            "name": "w", "pattern": "sequential", "timed": false, "total": {"ios": ios},
            "block_size_bytes": pages * 4096, "samples": 3,
            "precondition": [{"kind": "workload", "drive_writes": 0.6}],
        });
        let one = result(&device, &workload, 1);
        for threads in [2, 5] {
            assert!(result(&device, &workload, threads) == one, "{pages} pages, {threads} threads");
        }
    }
}

/// All pages of a list lay in one die, which wore out in the middle of it: the rest of the list was
/// counted as written, and the run failed its own checks.
#[test]
fn a_die_that_takes_every_write_wears_out_as_by_single_writes() {
    let device = json!({
        "nand": {"channels": 16, "dies_per_channel": 4, "planes_per_die": 1,
                 "blocks_per_plane": 16, "pages_per_block": 16, "max_pe_cycles": 300},
        "ftl": {"over_provisioning_pct": 0.5},
    });
    // 64 dies: requests that begin at every 64th page all go to the first.
    let workload = json!({
        "name": "w", "pattern": "random", "timed": false, "total": {"ios": 400_000},
        "align_bytes": 64 * 4096, "precondition": [{"kind": "sequential_fill", "fills": 1}],
    });
    let result = result(&device, &workload, 2);
    assert_eq!(result[0]["state"]["worn_out"], true);
    assert_eq!(result[0]["checks"]["failures"], json!([]));
}
