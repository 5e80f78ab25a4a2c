//! Rates of the simulator: host writes, pages and flash operations per second of one core.
//!
//! `cargo bench -p opennandlab-sim` prints them; `docs/performance.md` records them with the
//! machine. Every drive is brought to the state that is measured before the clock starts.

use divan::counter::ItemsCount;
use divan::Bencher;
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

fn main() {
    divan::main();
}

/// A drive of `pages` physical pages of 4 KiB, 256 per block, 7 % over-provisioning, on `dies`
/// dies.
fn device(pages: u64, channels: u64, dies_per_channel: u64) -> Value {
    json!({
        "nand": {
            "channels": channels, "dies_per_channel": dies_per_channel, "planes_per_die": 1,
            "blocks_per_plane": pages / 256 / channels / dies_per_channel, "pages_per_block": 256,
            "timing": {"t_read_us": 50, "t_program_us": 600, "t_erase_us": 3500, "bus_mt_s": 409.6},
        },
        "ftl": {"gc_reserve_blocks": channels * dies_per_channel},
    })
}

fn simulation(device: &Value) -> Simulation {
    Simulation::new(DeviceConfig::resolve(&device.to_string()).expect("a device"), 42)
}

fn run(simulation: &mut Simulation, workload: &Value) -> u64 {
    let space = simulation.space();
    let config = WorkloadConfig::resolve(&workload.to_string(), space).expect("a workload");
    simulation.begin(config.job(space, 42));
    loop {
        let progress = simulation.advance(u64::MAX);
        if progress.finished {
            return progress.flash_ops;
        }
    }
}

fn random_writes(ios: u64) -> Value {
    json!({"name": "random", "pattern": "random", "timed": false, "total": {"ios": ios}})
}

fn fill() -> Value {
    json!({"name": "fill", "pattern": "sequential", "block_size_bytes": "128KiB", "timed": false,
           "total": {"drive_writes": 1}})
}

/// Host writes per second, uniform 4 KiB, greedy, steady.
#[divan::bench(args = [1 << 20, 8 << 20, 64 << 20], sample_count = 5, sample_size = 1)]
fn untimed_uniform(bencher: Bencher, pages: u64) {
    let mut drive = simulation(&device(pages, 1, 1));
    run(&mut drive, &fill());
    run(&mut drive, &random_writes(pages * 3 / 2));
    let writes: u64 = 8_000_000;
    bencher
        .counter(ItemsCount::new(writes))
        .bench_local(|| run(&mut drive, &random_writes(writes)));
}

/// The same on the dies of the 32 GiB preset, on so many threads.
#[divan::bench(args = [1, 2], sample_count = 5, sample_size = 1)]
fn untimed_uniform_16_dies(bencher: Bencher, threads: usize) {
    let mut drive = simulation(&device(8 << 20, 8, 2));
    drive.set_threads(threads);
    run(&mut drive, &fill());
    run(&mut drive, &random_writes(12 << 20));
    let writes: u64 = 8_000_000;
    bencher
        .counter(ItemsCount::new(writes))
        .bench_local(|| run(&mut drive, &random_writes(writes)));
}

/// Pages per second of a sequential fill of a drive of 16 dies that is full, on so many threads.
#[divan::bench(args = [1, 2], sample_count = 5, sample_size = 1)]
fn untimed_fill_16_dies(bencher: Bencher, threads: usize) {
    let mut drive = simulation(&device(16 << 20, 8, 2));
    drive.set_threads(threads);
    run(&mut drive, &fill());
    let pages = drive.space().logical_bytes / 4096;
    bencher.counter(ItemsCount::new(pages)).bench_local(|| run(&mut drive, &fill()));
}

/// Commands per second of 70 % reads and 30 % writes, uniform 4 KiB, greedy.
#[divan::bench(args = [1 << 20, 8 << 20], sample_count = 5, sample_size = 1)]
fn untimed_mixed(bencher: Bencher, pages: u64) {
    let mut drive = simulation(&device(pages, 1, 1));
    run(&mut drive, &fill());
    run(&mut drive, &random_writes(pages * 3 / 2));
    let ios: u64 = 8_000_000;
    let mut workload = random_writes(ios);
    workload["read_pct"] = json!(70);
    bencher.counter(ItemsCount::new(ios)).bench_local(|| run(&mut drive, &workload));
}

/// Host writes per second with open blocks for hot and for cold pages, of which the hot fifth takes
/// four fifths of the writes.
#[divan::bench(args = [1 << 20, 8 << 20], sample_count = 5, sample_size = 1)]
fn untimed_hot_cold(bencher: Bencher, pages: u64) {
    let mut shape = device(pages, 1, 1);
    shape["ftl"]["write_frontiers"] = json!({"kind": "hot_cold", "fraction": 0.2});
    let mut drive = simulation(&shape);
    run(&mut drive, &fill());
    let workload = |ios: u64| {
        let mut workload = random_writes(ios);
        workload["pattern"] = json!({"kind": "hot_cold", "fraction": 0.2, "share": 0.8});
        workload
    };
    run(&mut drive, &workload(pages * 3 / 2));
    let writes: u64 = 8_000_000;
    bencher.counter(ItemsCount::new(writes)).bench_local(|| run(&mut drive, &workload(writes)));
}

/// Host writes per second on 16 dies behind a write buffer of 1024 pages.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn untimed_buffered_16_dies(bencher: Bencher) {
    let mut shape = device(8 << 20, 8, 2);
    shape["ftl"]["write_buffer_pages"] = json!(1024);
    let mut drive = simulation(&shape);
    run(&mut drive, &fill());
    run(&mut drive, &random_writes(12 << 20));
    let writes: u64 = 8_000_000;
    bencher
        .counter(ItemsCount::new(writes))
        .bench_local(|| run(&mut drive, &random_writes(writes)));
}

/// Pages per second of a sequential fill of a drive that is full.
#[divan::bench(args = [1 << 20, 8 << 20], sample_count = 5, sample_size = 1)]
fn untimed_fill(bencher: Bencher, pages: u64) {
    let mut drive = simulation(&device(pages, 1, 1));
    run(&mut drive, &fill());
    let pages = drive.space().logical_bytes / 4096;
    bencher.counter(ItemsCount::new(pages)).bench_local(|| run(&mut drive, &fill()));
}

/// I/O per second at queue depth 32 on 8 dies without GC, read percentage given.
#[divan::bench(args = [0, 100], sample_count = 5, sample_size = 1)]
fn timed_without_gc(bencher: Bencher, read_pct: u64) {
    let mut shape = device(8 << 20, 8, 1);
    shape["ftl"]["over_provisioning_pct"] = json!(3.0);
    let ios: u64 = 1_000_000;
    let workload = json!({"name": "timed", "pattern": "random", "read_pct": read_pct,
                          "queue_depth": 32,
                          "total": {"ios": ios}});
    bencher
        .counter(ItemsCount::new(ios))
        .with_inputs(|| {
            let mut drive = simulation(&shape);
            run(&mut drive, &fill());
            drive
        })
        .bench_local_values(|mut drive| run(&mut drive, &workload));
}

/// The same reads with two dies on each of four channels, so that dies wait for their channel.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn timed_reads_on_shared_channels(bencher: Bencher) {
    let mut drive = simulation(&device(8 << 20, 4, 2));
    run(&mut drive, &fill());
    let ios: u64 = 1_000_000;
    let workload = json!({"name": "timed", "pattern": "random", "read_pct": 100, "queue_depth": 32,
                          "total": {"ios": ios}});
    bencher.counter(ItemsCount::new(ios)).bench_local(|| run(&mut drive, &workload));
}

/// Flash operations per second in GC, queue depth 32, on 8 dies with channels of their own, or two
/// to a channel.
#[divan::bench(args = [(8, 1), (4, 2)], sample_count = 5, sample_size = 1)]
fn timed_in_gc(bencher: Bencher, (channels, dies_per_channel): (u64, u64)) {
    let mut drive = simulation(&device(8 << 20, channels, dies_per_channel));
    run(&mut drive, &fill());
    run(&mut drive, &random_writes(12 << 20));
    let workload = json!({"name": "timed", "pattern": "random", "queue_depth": 32,
                          "total": {"ios": 1_000_000}});
    let flash_ops = run(&mut drive, &workload);
    bencher.counter(ItemsCount::new(flash_ops)).bench_local(|| run(&mut drive, &workload));
}

/// I/O per second at queue depth 32 through everything that stands between host and flash: link,
/// cores, a write cache; half reads.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn timed_through_the_host_path(bencher: Bencher) {
    let mut shape = device(8 << 20, 8, 1);
    shape["ftl"]["over_provisioning_pct"] = json!(3.0);
    shape["host"] = json!({"link": "pcie3x4", "command_cost_us": 1, "cores": 4,
                           "write_cache": {"pages": 256, "policy": "lru"}});
    let ios: u64 = 1_000_000;
    let workload = json!({"name": "timed", "pattern": "random", "read_pct": 50,
                          "queue_depth": 32, "total": {"ios": ios}});
    bencher
        .counter(ItemsCount::new(ios))
        .with_inputs(|| {
            let mut drive = simulation(&shape);
            run(&mut drive, &fill());
            drive
        })
        .bench_local_values(|mut drive| run(&mut drive, &workload));
}

/// A device of 8 channels x 4 dies on the full back end: host reads before writes before
/// collection, out of order across dies.
fn full(pages: u64) -> Value {
    let mut shape = device(pages, 8, 4);
    shape["controller"]["scheduler"] = json!("priority");
    shape
}

/// I/O per second at queue depth 256 on 32 dies without GC on the full back end, read percentage
/// given.
#[divan::bench(args = [0, 50, 100], sample_count = 5, sample_size = 1)]
fn full_without_gc(bencher: Bencher, read_pct: u64) {
    let mut shape = full(8 << 20);
    shape["ftl"]["over_provisioning_pct"] = json!(3.0);
    let ios: u64 = 1_000_000;
    let workload = json!({"name": "timed", "pattern": "random", "read_pct": read_pct,
                          "queue_depth": 256, "total": {"ios": ios}});
    bencher
        .counter(ItemsCount::new(ios))
        .with_inputs(|| {
            let mut drive = simulation(&shape);
            run(&mut drive, &fill());
            drive
        })
        .bench_local_values(|mut drive| run(&mut drive, &workload));
}

/// Flash operations per second in GC, queue depth 256, on 32 dies of the full back end.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn full_in_gc(bencher: Bencher) {
    let mut drive = simulation(&full(8 << 20));
    run(&mut drive, &fill());
    run(&mut drive, &random_writes(12 << 20));
    let workload = json!({"name": "timed", "pattern": "random", "queue_depth": 256,
                          "total": {"ios": 1_000_000}});
    let flash_ops = run(&mut drive, &workload);
    bencher.counter(ItemsCount::new(flash_ops)).bench_local(|| run(&mut drive, &workload));
}

/// The same with pages written to the least busy die, and with collections in steps.
#[divan::bench(args = ["dynamic", "steps"], sample_count = 5, sample_size = 1)]
fn full_in_gc_with(bencher: Bencher, option: &str) {
    let mut shape = full(8 << 20);
    if option == "dynamic" {
        shape["ftl"]["allocation"] = json!("dynamic");
    } else {
        shape["ftl"]["collection"] = json!({"kind": "steps"});
        shape["ftl"]["write_frontiers"] = json!({"kind": "host_gc"});
    }
    let mut drive = simulation(&shape);
    run(&mut drive, &fill());
    run(&mut drive, &random_writes(12 << 20));
    let workload = json!({"name": "timed", "pattern": "random", "queue_depth": 256,
                          "total": {"ios": 1_000_000}});
    let flash_ops = run(&mut drive, &workload);
    bencher.counter(ItemsCount::new(flash_ops)).bench_local(|| run(&mut drive, &workload));
}
