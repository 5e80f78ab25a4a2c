//! Energy of what a drive does, against sums by hand and closed forms.
//!
//! ```text
//! reads of an idle drive    N (read + transfer)
//! writes of a fresh drive   rate x (program + transfer) / page, and what is drawn all the time
//! collection                A program + (A - 1) read + A erase / pages     per page of the host
//! ```
//! `A` is the write amplification.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::testing::{metrics, number, run};
use opennandlab_sim::timed::Observation;
use serde_json::{json, Value};

const READ: f64 = 30e-6;
const PROGRAM: f64 = 70e-6;
const ERASE: f64 = 200e-6;
const SLC_READ: f64 = 11e-6;
const SLC_PROGRAM: f64 = 20e-6;
/// Of a page of 4 KiB.
const TRANSFER: f64 = 4.0 * 80e-9;
const IDLE_DIE_W: f64 = 2.5e-3;

fn energy() -> Value {
    json!({"read_uj": 30, "program_uj": 70, "erase_uj": 200, "slc_read_uj": 11,
           "slc_program_uj": 20, "transfer_nj_per_kib": 80, "idle_mw": 2.5})
}

/// A drive of two dies on a channel each, with pages of 4 KiB.
fn device(change: impl Fn(&mut Value)) -> Value {
    let mut file = json!({
        "nand": {"cell_type": "TLC", "channels": 2, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 64, "pages_per_block": 64, "energy": energy(),
                 "timing": {"t_read_us": 50, "t_program_us": 600, "t_erase_us": 3000,
                            "bus_mt_s": 409.6}},
        "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 4},
        "ecc": {"algorithm": "none"},
    });
    change(&mut file);
    file
}

/// Random commands of `bytes`, a share of them reads, on a full drive.
fn random(read_pct: u32, bytes: u64, ios: u64) -> Value {
    json!({"pattern": "random", "read_pct": read_pct, "block_size_bytes": bytes, "queue_depth": 4,
           "total": {"ios": ios}, "precondition": [{"kind": "sequential_fill"}]})
}

/// A full drive that was overwritten at random.
fn aged(drive_writes: u32) -> Value {
    json!([{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": drive_writes}])
}

/// Joules of a cause.
fn joules(metrics: &Value, cause: &str) -> f64 {
    number(metrics, &format!("/power/joules/{cause}"))
}

/// Joules of a kind of operation for a reason; 0 where there are none.
fn of_source(metrics: &Value, kind: &str, source: &str) -> f64 {
    let of = &metrics["power"]["joules_by_source"][kind];
    of[source].as_f64().unwrap_or_else(|| {
        assert!(of.is_object() && of.get(source).is_none(), "{kind} of {source}: {of}");
        0.0
    })
}

/// Equal but for the order of additions.
fn expect(measured: f64, form: f64) {
    assert!((measured - form).abs() <= 1e-12 * form.abs(), "{measured} against {form}");
}

/// A count of operations by reason.
fn count(metrics: &Value, kind: &str, source: &str) -> f64 {
    number(metrics, &format!("/{kind}/{source}"))
}

#[test]
fn reads_of_an_idle_drive_cost_a_sense_and_a_transfer_each() {
    let found = metrics(&device(|_| ()), &random(100, 4096, 1000));
    expect(joules(&found, "array_reads"), 1000.0 * READ);
    expect(joules(&found, "transfers"), 1000.0 * TRANSFER);
    let seconds = number(&found, "/duration_s");
    expect(joules(&found, "idle_dies"), 2.0 * IDLE_DIE_W * seconds);
    let total = 1000.0 * (READ + TRANSFER) + 2.0 * IDLE_DIE_W * seconds;
    expect(joules(&found, "total"), total);
    assert_eq!((joules(&found, "programs"), joules(&found, "erases")), (0.0, 0.0));
    expect(number(&found, "/power/mean_w") * seconds, total);
    expect(number(&found, "/power/iops_per_w"), number(&found, "/iops/total") * seconds / total);
    let rate = number(&found, "/throughput_mb_s/total");
    expect(number(&found, "/power/mb_s_per_w"), rate * seconds / total);
    expect(number(&found, "/power/joules_per_host_gb"), total / (1000.0 * 4096e-9));
    for absent in ["controller", "commands", "host_transfers"] {
        assert!(found["power"]["joules"].get(absent).is_none(), "{absent}: {}", found["power"]);
    }
}

#[test]
fn writes_of_a_fresh_drive_draw_their_rate_times_the_energy_of_a_byte() {
    let writes = json!({"pattern": "sequential", "block_size_bytes": "64KiB", "queue_depth": 8,
                        "total": {"ios": 300}});
    let found = metrics(&device(|_| ()), &writes);
    let bytes_per_s = number(&found, "/throughput_mb_s/write") * 1e6;
    let dynamic = bytes_per_s * (PROGRAM + TRANSFER) / 4096.0;
    expect(number(&found, "/power/mean_w"), dynamic + 2.0 * IDLE_DIE_W);
    // Two dies that program all the time, but for the end of the run.
    let closed_form = 2.0 * (PROGRAM + TRANSFER) / (600e-6 + 10e-6) + 2.0 * IDLE_DIE_W;
    let mean = number(&found, "/power/mean_w");
    assert!((mean / closed_form - 1.0).abs() < 0.01, "{mean} W against {closed_form}");
}

#[test]
fn a_drive_that_collects_pays_for_its_amplification() {
    let mut workload = random(0, 4096, 60_000);
    workload["precondition"] = aged(2);
    let found = metrics(&device(|_| ()), &workload);
    let amplification = number(&found, "/waf");
    assert!(amplification > 1.5, "{amplification}");
    let host = 60_000.0;
    expect(joules(&found, "programs"), host * amplification * PROGRAM);
    expect(joules(&found, "array_reads"), host * (amplification - 1.0) * READ);
    expect(of_source(&found, "programs", "host"), host * PROGRAM);
    expect(of_source(&found, "array_reads", "gc"), count(&found, "programs", "gc") * READ);
    let erased = joules(&found, "erases") / ERASE;
    expect(erased, count(&found, "erases", "gc"));
    // An erase for each block that is filled; a few blocks are open or just filled at the ends.
    assert!((erased - host * amplification / 64.0).abs() <= 4.0, "{erased} erases");
    let transfers = host * (2.0 * amplification - 1.0) * TRANSFER;
    expect(joules(&found, "transfers"), transfers);
}

#[test]
fn the_controller_draws_while_it_waits_works_and_serves() {
    let power =
        json!({"idle_w": 0.5, "active_w": 2.0, "command_uj": 3.0, "host_nj_per_kib": 500.0});
    let file = device(|file| {
        file["nand"].as_object_mut().expect("a section").remove("energy");
        file["controller"] = json!({"power": &power});
    });
    // A command alone: 60 us of each read, which come at 2000 a second.
    let mut workload = random(100, 4096, 4000);
    let busy = metrics(&file, &workload);
    expect(joules(&busy, "controller"), 2.0 * number(&busy, "/duration_s"));
    expect(joules(&busy, "commands"), 4000.0 * 3e-6);
    expect(joules(&busy, "host_transfers"), 4000.0 * 4.0 * 500e-9);
    assert!(busy["power"].get("joules_by_source").is_none(), "{}", busy["power"]);
    assert!(busy["power"]["joules"].get("programs").is_none(), "{}", busy["power"]);
    workload["queue_depth"] = json!({"arrival": "poisson", "iops": 2000});
    let found = metrics(&file, &workload);
    let seconds = number(&found, "/duration_s");
    let active = (joules(&found, "controller") - 0.5 * seconds) / 1.5 / seconds;
    // Busy as long as one of two dies is: each serves half of the arrivals, at random, and is an
    // M/D/1 queue that is idle for 1 - rho of the time; the halves are independent. The standard
    // error over 4000 arrivals is below 1 %.
    let rho = 1000.0 * 60e-6;
    let form = 1.0 - (1.0 - rho) * (1.0 - rho);
    assert!((active / form - 1.0).abs() < 0.04, "{active} against {form}");
    let lazy = device(|file| file["controller"] = json!({"power": {"idle_w": 0.5}}));
    let found = metrics(&lazy, &workload);
    expect(joules(&found, "controller"), 0.5 * number(&found, "/duration_s"));
    let parts = found["power"]["joules"].as_object().expect("joules").iter();
    let sum: f64 = parts.filter(|(name, _)| *name != "total").filter_map(|it| it.1.as_f64()).sum();
    expect(joules(&found, "total"), sum);
}

#[test]
fn both_back_ends_count_alike() {
    let file = device(|file| {
        file["nand"]["failures"] = json!({"program": 1e-4, "erase": 1e-3});
        file["ftl"]["wear_leveling"] = json!({"kind": "static", "threshold": 3});
    });
    let mut workload = random(40, 3072, 30_000);
    workload["precondition"] = aged(1);
    let plain = metrics(&file, &workload);
    let watched = Observation { breakdown: true, ..Observation::default() };
    let full = run(&file, &workload, watched).outcome()["metrics"].take();
    assert_eq!(plain["power"], full["power"]);
    for (kind, sources) in [("array_reads", 3), ("programs", 3), ("erases", 2)] {
        let of = plain["power"]["joules_by_source"][kind].as_object().expect("reasons");
        assert!(of.len() >= sources, "{kind}: {of:?}");
    }
}

#[test]
fn planes_cost_as_many_pages() {
    for multi_plane in [false, true] {
        let file = device(|file| {
            file["nand"]["planes_per_die"] = json!(4);
            file["nand"]["multi_plane"] = json!(multi_plane);
        });
        let mut workload = random(100, 32768, 500);
        let found = metrics(&file, &workload);
        expect(joules(&found, "array_reads"), 500.0 * 8.0 * READ);
        workload = random(0, 32768, 4000);
        let found = metrics(&file, &workload);
        let programs: f64 = ["host", "gc"].map(|it| count(&found, "programs", it)).iter().sum();
        expect(joules(&found, "programs"), programs * PROGRAM);
        expect(joules(&found, "array_reads"), count(&found, "reads", "gc") * READ);
        // A wide block is a block of each plane.
        let planes = if multi_plane { 4.0 } else { 1.0 };
        expect(joules(&found, "erases"), count(&found, "erases", "gc") * planes * ERASE);
    }
}

#[test]
fn units_share_the_sense_and_the_program_of_their_page() {
    let file = device(|file| {
        file["nand"]["page_size_bytes"] = json!(16384);
        file["ftl"]["map_unit_bytes"] = json!(4096);
        file["ftl"]["write_frontiers"] = json!("host_gc");
    });
    let small = metrics(&file, &random(100, 4096, 500));
    expect(joules(&small, "array_reads"), 500.0 * READ);
    expect(joules(&small, "transfers"), 500.0 * TRANSFER);
    let mut workload = random(100, 16384, 500);
    let whole = metrics(&file, &workload);
    expect(joules(&whole, "array_reads"), 500.0 * READ);
    expect(joules(&whole, "transfers"), 2000.0 * TRANSFER);
    // Overwritten by whole pages, a victim keeps or loses pages as a whole.
    workload["read_pct"] = json!(0);
    workload["total"]["ios"] = json!(6000);
    let found = metrics(&file, &workload);
    let moved = count(&found, "reads", "gc");
    assert!(moved > 4000.0, "{moved} units moved");
    expect(joules(&found, "array_reads"), moved / 4.0 * READ);
    expect(of_source(&found, "programs", "host"), 6000.0 * PROGRAM);
    expect(of_source(&found, "programs", "gc"), moved / 4.0 * PROGRAM);
    // Overwritten by units, pages of a victim are live in part.
    let found = metrics(&file, &random(0, 4096, 20_000));
    let (moved, senses) = (count(&found, "reads", "gc"), joules(&found, "array_reads") / READ);
    assert!(senses > 1.05 * moved / 4.0 && senses < 0.95 * moved, "{senses} for {moved} units");
}

#[test]
fn reading_again_is_sensing_again() {
    let file = device(|file| {
        file["ecc"] = json!({"algorithm": "bch"});
        file["nand"]["rber_floor"] = json!(4e-3);
        file["nand"]["rber_ceil"] = json!(6e-3);
        file["controller"] = json!({"read_retry": {"step_count_max": 5, "rber_factor": 0.6}});
    });
    let found = metrics(&file, &random(100, 4096, 2000));
    let steps = number(&found, "/activity/retry_steps");
    assert!(steps > 500.0, "{steps} steps");
    expect(joules(&found, "array_reads"), (2000.0 + steps) * READ);
    expect(joules(&found, "transfers"), (2000.0 + steps) * TRANSFER);
}

#[test]
fn copyback_spares_the_transfers_only() {
    let file = device(|file| file["ftl"]["copyback"] = json!({"limit": 3}));
    let found = metrics(&file, &random(0, 4096, 20_000));
    let (moved, inside) = (count(&found, "programs", "gc"), number(&found, "/copyback_pages"));
    assert!(inside > 0.5 * moved && inside < moved, "{inside} of {moved}");
    expect(joules(&found, "array_reads"), moved * READ);
    expect(joules(&found, "programs"), (20_000.0 + moved) * PROGRAM);
    expect(joules(&found, "transfers"), (20_000.0 + 2.0 * (moved - inside)) * TRANSFER);
}

#[test]
fn blocks_of_one_bit_per_cell_have_their_own_energies() {
    let file = device(|file| {
        file["nand"]["pages_per_block"] = json!(66);
        file["ftl"]["write_frontiers"] = json!("host_gc");
        file["ftl"]["slc_cache"] =
            json!({"kind": "static", "blocks_per_die": 8, "when_full": "fold"});
    });
    let writes = json!({"pattern": "sequential", "block_size_bytes": "64KiB", "queue_depth": 8,
                        "total": {"ios": 300}});
    let found = metrics(&file, &writes);
    let folded = count(&found, "programs", "fold");
    assert!(folded > 1000.0, "{folded} pages folded");
    expect(of_source(&found, "programs", "host"), 4800.0 * SLC_PROGRAM);
    expect(of_source(&found, "programs", "fold"), folded * PROGRAM);
    expect(of_source(&found, "array_reads", "fold"), folded * SLC_READ);
    let erased = count(&found, "erases", "fold") + count(&found, "erases", "gc");
    expect(joules(&found, "erases"), erased * ERASE);
}

#[test]
fn superblocks_count_every_member_and_parity() {
    let file = device(|file| {
        file["nand"]["planes_per_die"] = json!(2);
        file["nand"]["multi_plane"] = json!(true);
        file["nand"]["dies_per_channel"] = json!(2);
        file["nand"]["program"] = json!({"kind": "one_shot", "t_wordline_us": 1500});
        file["nand"]["pages_per_block"] = json!(66);
        file["ftl"]["gc_reserve_blocks"] = json!(8);
        file["ftl"]["allocation"] = json!("superblock");
        file["ftl"]["parity"] = json!({"kind": "die_stripe"});
    });
    let found = metrics(&file, &random(0, 4096, 60_000));
    for source in ["host", "gc", "parity"] {
        let programs = count(&found, "programs", source);
        assert!(programs > 10_000.0, "{programs} programs of {source}");
        expect(of_source(&found, "programs", source), programs * PROGRAM);
    }
    expect(joules(&found, "array_reads"), count(&found, "reads", "gc") * READ);
    // Four dies of two planes.
    expect(joules(&found, "erases"), count(&found, "erases", "gc") * 8.0 * ERASE);
    let crossings = ["host", "gc", "parity"].map(|source| count(&found, "programs", source));
    let crossings = crossings.iter().sum::<f64>() + count(&found, "reads", "gc");
    // A program unit of each die may be in progress at either end: 6 pages.
    let measured = joules(&found, "transfers") / TRANSFER;
    assert!((measured - crossings).abs() <= 2.0 * 4.0 * 6.0, "{measured} against {crossings}");
}

#[test]
fn suspending_costs_nothing_more() {
    let found = |suspends: bool| {
        let file = device(|file| {
            file["controller"] = json!({"scheduler": "priority"});
            if suspends {
                file["controller"]["suspend"] = json!({});
            }
        });
        metrics(&file, &random(50, 4096, 5000))
    };
    let (waiting, suspending) = (found(false), found(true));
    assert!(number(&suspending, "/activity/suspensions") > 500.0, "{}", suspending["activity"]);
    for cause in ["programs", "erases"] {
        expect(joules(&suspending, cause), joules(&waiting, cause));
    }
}

#[test]
fn what_is_off_prints_nothing() {
    let off = device(|file| {
        file["nand"].as_object_mut().expect("a section").remove("energy");
    });
    let found = metrics(&off, &random(50, 4096, 100));
    assert!(found.get("power").is_none(), "{}", found["power"]);
    let mut untimed = random(50, 4096, 100);
    untimed["timed"] = json!(false);
    let found = metrics(&device(|_| ()), &untimed);
    assert!(found.get("power").is_none(), "an untimed run has no seconds: {}", found["power"]);
}

#[test]
fn energies_out_of_range_are_refused_by_key() {
    for (section, key, value, words) in [
        ("nand", "energy.read_uj", json!(-1), "-1 is out of range; accepted: 0 to 1e6"),
        ("nand", "energy.program_uj", json!(1.5e6), "accepted: 0 to 1e6"),
        ("nand", "energy.erase_uj", json!("much"), "much"),
        ("nand", "energy.slc_read_uj", json!(-0.5), "accepted: 0 to 1e6"),
        ("nand", "energy.slc_program_uj", json!(1e30), "accepted: 0 to 1e6"),
        ("nand", "energy.transfer_nj_per_kib", json!(-3), "accepted: 0 to 1e6"),
        ("nand", "energy.idle_mw", json!(-3), "accepted: 0 to 1e6"),
        ("controller", "power.idle_w", json!(-1), "accepted: 0 to 1e6"),
        ("controller", "power.active_w", json!(0.25), "idle_w to 1e6"),
        ("controller", "power.command_uj", json!(2e6), "accepted: 0 to 1e6"),
        ("controller", "power.host_nj_per_kib", json!(-2), "accepted: 0 to 1e6"),
    ] {
        let mut file = device(|file| file["controller"] = json!({"power": {"idle_w": 1}}));
        let (part, name) = key.split_once('.').expect("two parts");
        file[section][part][name] = value;
        let error = DeviceConfig::resolve(&file.to_string()).expect_err(key);
        assert_eq!(error.path, format!("{section}.{key}"), "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    let mut file = device(|_| ());
    file["nand"]["energy"] = json!({"read_uj": 1, "program_uj": 1});
    let error = DeviceConfig::resolve(&file.to_string()).expect_err("no erase_uj");
    assert!(error.message.contains("erase_uj"), "{error}");
}
