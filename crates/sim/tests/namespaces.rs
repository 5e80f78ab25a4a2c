//! Namespaces on some of the dies: one on half of the channels is the drive of these channels, with
//! and without time; data stays in its partition; what cannot be is refused.

use std::num::NonZero;

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::ftl::{FlashSink, Ftl};
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::testing::{CheckedFlash, Oracle};
use opennandlab_sim::timed::{Observation, RequestRow};
use opennandlab_sim::units::Lpn;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

/// A drive with two dies on each of its channels, with these keys changed.
fn file(channels: u32, changes: &Value) -> Value {
    let mut document = json!({
        "nand": {"channels": channels, "dies_per_channel": 2, "planes_per_die": 1,
                 "blocks_per_plane": 32, "pages_per_block": 32},
        "ftl": {"over_provisioning_pct": 0.25},
        "host": {},
    });
    for (section, keys) in changes.as_object().expect("sections") {
        for (key, value) in keys.as_object().expect("keys") {
            document[section][key] = value.clone();
        }
    }
    document
}

fn device(file: &Value) -> DeviceConfig {
    DeviceConfig::resolve(&file.to_string()).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The same with its channels in two namespaces, every second one each.
fn divided(channels: u32, changes: &Value) -> DeviceConfig {
    let mut file = file(channels, changes);
    let of = |first: u32| (first..channels).step_by(2).collect::<Vec<_>>();
    file["host"]["namespaces"] =
        json!([{"name": "even", "channels": of(0)}, {"name": "odd", "channels": of(1)}]);
    device(&file)
}

/// A run: the rows of its requests by tenant, in order, and its outcome.
fn run(config: DeviceConfig, workload: &Value) -> (Vec<Vec<[u64; 5]>>, Value) {
    let mut simulation = Simulation::new(config, 42);
    simulation.observe(Observation { requests_every: NonZero::new(1), ..Observation::default() });
    let (space, namespaces) = (simulation.space(), simulation.config().namespaces());
    let workload = WorkloadConfig::resolve_in(&workload.to_string(), space, &namespaces);
    let workload = workload.unwrap_or_else(|error| panic!("{error}"));
    simulation.begin(workload.job(space, 42));
    let (mut rows, mut all): (Vec<RequestRow>, Vec<Vec<[u64; 5]>>) = Default::default();
    loop {
        let is_over = simulation.advance(10_000).finished;
        simulation.swap_requests(&mut rows);
        for row in &rows {
            let (tenant, command) = (usize::from(row.command.tenant), row.command);
            all.resize(all.len().max(tenant + 1), Vec::new());
            let first = namespaces.get(tenant).map_or(0, |it| u64::from(it.pages.start));
            let sector = command.sector - first * space.page_bytes / 512;
            let [arrival, completion] = [row.arrival.0, row.completion.0];
            all[tenant].push([
                command.op.index() as u64,
                sector,
                command.sector_count.into(),
                arrival,
                completion,
            ]);
        }
        if is_over && rows.is_empty() {
            break;
        }
    }
    let outcome = simulation.outcome();
    assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
    simulation.audit().expect("the tables are sound");
    (all, outcome)
}

/// Two tenants on disjoint channels, with a link that takes no time: each has the latencies, to the
/// nanosecond, and the counts that it has alone on a drive of its channels.
#[test]
fn a_namespace_on_half_of_the_channels_is_half_of_the_drive() {
    let cases = [
        ("plain", json!({}), "write"),
        ("reserve", json!({"ftl": {"gc_reserve_blocks": 16, "gc_policy": "fifo"}}), "write"),
        ("order", json!({"ftl": {"allocation": "DCP", "write_frontiers": "host_gc"}}), "mixed"),
        ("planes", json!({"nand": {"planes_per_die": 2, "multi_plane": true}}), "mixed"),
        (
            "units",
            json!({"nand": {"page_size_bytes": 16384}, "ftl": {"map_unit_bytes": 4096}}),
            "mixed",
        ),
        (
            "steps",
            json!({"ftl": {"collection": {"kind": "steps"}, "write_frontiers": "host_gc"},
                   "controller": {"scheduler": {"kind": "priority"}}}),
            "mixed",
        ),
    ];
    for (name, changes, kind) in cases {
        let tenant = |name: &str, depth: u32| {
            let reads = if kind == "mixed" { 30 } else { 0 };
            json!({"name": name, "queue_depth": depth, "read_pct": reads,
                   "trim_pct": reads / 10, "block_size_bytes": {"4096": 3, "16384": 1}})
        };
        let tenants = [tenant("one", 3), tenant("other", 16)];
        let workload = |tenants: &[Value]| {
            json!({"tenants": tenants, "total": {"seconds": 2},
                   "precondition": [{"kind": "sequential_fill", "fills": 2}]})
        };
        let mut placed = tenants.clone();
        placed[0]["namespace"] = json!("even");
        placed[1]["namespace"] = json!("odd");
        let (together, outcome) = run(divided(4, &changes), &workload(&placed));
        let mut of_half = changes.clone();
        if let Some(reserve) = changes["ftl"]["gc_reserve_blocks"].as_u64() {
            of_half["ftl"]["gc_reserve_blocks"] = json!(reserve / 2);
        }
        let mut programs = 0;
        for (index, tenant) in tenants.iter().enumerate() {
            let (alone, half) =
                run(device(&file(2, &of_half)), &workload(std::slice::from_ref(tenant)));
            assert_eq!(together[index].len(), alone[0].len(), "{name}");
            let first = together[index].iter().zip(&alone[0]).position(|(one, other)| one != other);
            assert_eq!(first, None, "{name}");
            let (own, all) = (&outcome["metrics"]["namespaces"][index], &half["metrics"]);
            // Steps of a collection go on until the last request of the drive.
            let goes_on = name == "steps";
            let counts = if goes_on { &own["programs"]["host"] } else { &own["programs"] };
            let expected = if goes_on { &all["programs"]["host"] } else { &all["programs"] };
            assert_eq!(counts, expected, "{name}");
            assert!(all["programs"]["gc"].as_u64() > Some(100), "{name}: {}", all["programs"]);
            let waf = own["waf"].as_f64().expect("something was written");
            let alone = all["waf"].as_f64().expect("as here");
            assert!(goes_on || (waf - alone).abs() < 1e-12, "{name}: {waf}");
            programs += all["programs"]["host"].as_u64().expect("a count");
            for key in ["iops", "latency_us", "throughput_mb_s", "served"] {
                let own = &outcome["metrics"]["tenants"][index][key];
                // A rate is over the time until the last request of the drive.
                let is_rate = key != "latency_us" && key != "served";
                assert!(is_rate || *own == half["metrics"]["tenants"][0][key], "{name}: {key}");
            }
            let effective = &outcome["effective"]["namespaces"][index];
            for key in ["logical_pages", "reserve_blocks", "spare_factor_effective"] {
                assert_eq!(effective[key], half["effective"][key], "{name}: {key}");
            }
        }
        assert_eq!(outcome["metrics"]["programs"]["host"].as_u64(), Some(programs), "{name}");
    }
}

/// A drive under writes without time.
struct Bare {
    ftl: Ftl,
    flash: CheckedFlash,
    oracle: Oracle,
}

impl Bare {
    fn new(config: &DeviceConfig) -> Self {
        let media = config.fresh_media(7);
        let ftl = Ftl::new(&config.ftl, &config.pool_setup(7), &media);
        Self { ftl, flash: CheckedFlash::of_device(config, media), oracle: Oracle::default() }
    }

    fn write(&mut self, lpn: u32) {
        self.oracle.write(&mut self.ftl, &mut self.flash, Lpn(lpn)).expect("there is room");
    }
}

/// Without time: writes to two namespaces in any mixture leave in each what they leave on a drive
/// of its blocks. Namespaces on the same dies have half of the blocks of each.
#[test]
fn a_mixture_leaves_in_each_namespace_what_it_leaves_alone() {
    let both = json!([{"name": "even"}, {"name": "odd"}]);
    let shared = file(4, &json!({"host": {"namespaces": both}}));
    let halved = file(4, &json!({"nand": {"blocks_per_plane": 16}}));
    let windowed = json!({"ftl": {"gc_policy": {"kind": "windowed_greedy", "window_blocks": 8}}});
    let cases = [
        (divided(4, &json!({})), device(&file(2, &json!({})))),
        (divided(6, &windowed), device(&file(3, &windowed))),
        (device(&shared), device(&halved)),
    ];
    for (whole, half) in cases {
        let namespaces = whole.namespaces();
        let pages = half.logical_pages();
        assert!(namespaces.iter().all(|it| it.pages.len() as u32 == pages));
        let (mut rng, mut drive) = (Rng::stream(3, "mixture"), Bare::new(&whole));
        let mut alone = [Bare::new(&half), Bare::new(&half)];
        for turn in 0..20 * pages {
            let own = if turn < 2 * pages { turn % 2 } else { u32::from(rng.below(3) > 0) };
            let lpn = if turn < 2 * pages { turn / 2 } else { rng.below(u64::from(pages)) as u32 };
            drive.write(namespaces[own as usize].pages.start + lpn);
            alone[own as usize].write(lpn);
        }
        drive.oracle.check(&drive.ftl, &drive.flash);
        for (own, drive_alone) in drive.ftl.figures().partition_programs().iter().zip(&alone) {
            assert_eq!(own, &drive_alone.ftl.figures().counters().programs);
            assert!(own[1] > 2 * u64::from(pages), "{own:?}");
        }
    }
}

/// Up to four namespaces on any channels and dies, of any sizes that fit.
fn draw(rng: &mut Rng) -> Value {
    let mut changes = json!({"nand": {"blocks_per_plane": 32 + rng.below(8),
                                      "planes_per_die": 1 + rng.below(2),
                                      "pages_per_block": 4 + rng.below(8)},
                             "ftl": {"over_provisioning_pct": 0.7}});
    let some = |rng: &mut Rng, count: u64| {
        let list: Vec<u64> = (0..count).filter(|_| rng.below(2) == 0).collect();
        if list.is_empty() {
            vec![rng.below(count)]
        } else {
            list
        }
    };
    let namespaces: Vec<Value> = (0..=rng.below(4))
        .map(|index| {
            let name = format!("n{index}");
            json!({"name": name, "channels": some(rng, 3), "dies": some(rng, 2)})
        })
        .collect();
    changes["host"] = json!({ "namespaces": namespaces });
    changes
}

#[test]
fn data_stays_on_the_blocks_of_its_namespace_and_survives_a_save() {
    let (mut shared, mut refused) = (0, 0);
    for case in 0..120 {
        let mut rng = Rng::stream(case, "namespaces");
        let file = file(3, &draw(&mut rng));
        let Ok(config) = DeviceConfig::resolve(&file.to_string()) else {
            refused += 1;
            continue;
        };
        let again = DeviceConfig::resolve(&config.to_json().to_string());
        assert_eq!(again.as_ref(), Ok(&config), "case {case}");
        let setup = config.pool_setup(7);
        let partitions = setup.partitions.clone().expect("there are namespaces");
        let geometry = config.geometry();
        shared += u32::from(partitions.has_shared_dies(&geometry));
        let mut drive = Bare::new(&config);
        let pages = config.logical_pages();
        assert_eq!(config.namespaces().last().map(|it| it.pages.end), Some(pages));
        for turn in 0..6 * pages {
            match rng.below(10) {
                0 => {
                    let lpn = Lpn(rng.below(pages.into()) as u32);
                    drive.oracle.trim(&mut drive.ftl, &mut drive.flash, lpn);
                }
                _ if turn < pages => drive.write(turn),
                _ => drive.write(rng.below(pages.into()) as u32),
            }
        }
        drive.oracle.check(&drive.ftl, &drive.flash);
        let (snapshot, volatile) = drive.ftl.save();
        let media = drive.flash.media();
        let ftl = Ftl::restore(&config.ftl, &setup, media, (&snapshot, &volatile));
        let ftl = ftl.unwrap_or_else(|error| panic!("case {case}: {error}"));
        for (partition, namespace) in partitions.parts.iter().zip(config.namespaces()) {
            for lpn in namespace.pages.map(Lpn) {
                assert_eq!(ftl.find(lpn), drive.ftl.find(lpn), "case {case}");
                let Some(ppn) = ftl.find(lpn) else { continue };
                let block = geometry.block_of(ppn).0;
                let mut own = partition.pools.iter().map(|&pool| &partitions.blocks[pool as usize]);
                assert!(own.any(|blocks| blocks.contains(&block)), "case {case}, {lpn:?}");
            }
        }
        drive.ftl = ftl;
        (0..pages).for_each(|lpn| drive.write(lpn));
        drive.oracle.check(&drive.ftl, &drive.flash);
    }
    assert!(shared > 20 && refused < 60, "{shared} shared, {refused} refused");
}

#[test]
fn what_cannot_be_is_refused_with_key_and_value() {
    let on = |namespaces: Value| json!({"host": {"namespaces": namespaces}});
    let two = || on(json!([{"name": "a", "channels": [0]}, {"name": "b", "channels": [1]}]));
    let with = |section: &str, key: &str, value: Value| {
        let mut changes = two();
        changes[section][key] = value;
        changes
    };
    let shared = |section: &str, key: &str, value: Value| {
        let mut changes = on(json!([{"name": "a"}, {"name": "b"}]));
        changes[section][key] = value;
        changes
    };
    let superblock = json!({"kind": "superblock"});
    let cases = [
        (on(json!([{"name": " "}])), "host.namespaces[0].name", "not blank"),
        (on(json!([{"name": "a"}, {"name": "a"}])), "host.namespaces[1].name", "`a`"),
        (on(json!([{"name": "a", "channels": [2]}])), "host.namespaces[0].channels", "0 to 1"),
        (on(json!([{"name": "a", "channels": []}])), "host.namespaces[0].channels", "empty"),
        (on(json!([{"name": "a", "dies": [1, 1]}])), "host.namespaces[0].dies", "1 is given twice"),
        (on(json!([{"name": "a", "dies": [7]}])), "host.namespaces[0].dies", "7, in a drive of 2"),
        (
            on(json!([{"name": "a", "size_pct": 60}, {"name": "b", "size_pct": 30}])),
            "host.namespaces",
            "60 + 30 are 90 together; accepted: 100",
        ),
        (
            on(json!([{"name": "a", "size_pct": 50}, {"name": "b"}])),
            "host.namespaces[1].size_pct",
            "for all, or for none",
        ),
        (on(json!([{"name": "a", "size_pct": 0}])), "host.namespaces[0].size_pct", "above 0"),
        (
            on(json!([{"name": "a", "channels": [0], "size_pct": 70},
                      {"name": "b", "channels": [1], "size_pct": 30}])),
            "host.namespaces[0].size_pct",
            "70",
        ),
        (with("ftl", "mapping", json!("block")), "ftl.mapping", "page"),
        (with("ftl", "allocation", json!("dynamic")), "ftl.allocation", "dynamic"),
        (with("ftl", "allocation", superblock), "ftl.allocation", "superblock"),
        (with("ftl", "parity", json!({"stripe": 8})), "ftl.parity", "none"),
        (
            with("ftl", "write_frontiers", json!({"kind": "hot_cold", "fraction": 0.2})),
            "ftl.write_frontiers",
            "hot_cold",
        ),
        (
            shared("nand", "factory_bad_block_ratio", json!(0.01)),
            "nand.factory_bad_block_ratio",
            "0.01",
        ),
        (shared("ftl", "fill_timeout_us", json!(50)), "ftl.fill_timeout_us", "share a die"),
    ];
    for (changes, path, words) in cases {
        let file = file(2, &changes);
        let error = DeviceConfig::resolve(&file.to_string()).expect_err("it is refused");
        assert_eq!(error.path, path, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    let config = device(&file(2, &two()));
    let workload = json!({"total": {"ios": 1}, "tenants": [{"namespace": "c"}]}).to_string();
    let refused = WorkloadConfig::resolve_in(&workload, config.space(), &config.namespaces());
    let error = refused.expect_err("there is no c");
    assert_eq!(error.path, "tenants[0].namespace");
    assert!(error.message.contains("`c`") && error.message.contains("`a`, `b`"), "{error}");
}
