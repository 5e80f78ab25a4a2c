//! Timelines: which operations of the flash serve which command, against drives on which that
//! follows from the addresses. Without superblocks page `n` of the host is on die `n % dies`.

use std::collections::{BTreeMap, BTreeSet};

use opennandlab_sim::testing::{number, run};
use opennandlab_sim::timed::Observation;
use opennandlab_sim::units::Ns;
use serde_json::{json, Value};

const DIES: u64 = 4;
const PAGE_BYTES: u64 = 4096;

/// A span: its process, name, arguments, and times in nanoseconds.
struct Span {
    process: u64,
    name: String,
    args: Value,
    from: u64,
    to: u64,
}

impl Span {
    /// A number among its arguments, if it has it.
    fn arg(&self, key: &str) -> Option<u64> {
        self.args.get(key)?.as_u64()
    }

    /// The commands that it names.
    fn commands(&self) -> Vec<u64> {
        let several = self.args["commands"].as_array();
        let several = several.map(|all| all.iter().filter_map(Value::as_u64).collect());
        several.unwrap_or_else(|| self.arg("command").into_iter().collect())
    }

    /// The pages of the host in it.
    fn pages(&self) -> std::ops::Range<u64> {
        let first = self.arg("offset_bytes").expect("an address");
        let limit = first + self.arg("size_bytes").expect("a size");
        first / PAGE_BYTES..limit.div_ceil(PAGE_BYTES)
    }
}

/// A run of which all is recorded: its metrics, the commands by number, and what the flash did.
struct Record {
    metrics: Value,
    commands: BTreeMap<u64, Span>,
    flash: Vec<Span>,
}

fn record(device: &Value, workload: &Value) -> Record {
    let timeline = Some((Ns(0), Ns(3_600_000_000_000)));
    let simulation = run(device, workload, Observation { timeline, ..Observation::default() });
    let document = simulation.timeline().expect("a timeline");
    assert_eq!(document["otherData"]["dropped_events"], 0);
    let ns = |us: &Value| (us.as_f64().expect("a time") * 1e3).round() as u64;
    let spans = document["traceEvents"].as_array().expect("events").iter();
    let spans = spans.filter(|event| event["ph"] == "X").map(|event| Span {
        process: event["pid"].as_u64().expect("a process"),
        name: event["name"].as_str().expect("a name").to_owned(),
        args: event["args"].clone(),
        from: ns(&event["ts"]),
        to: ns(&event["ts"]) + ns(&event["dur"]),
    });
    let (mut commands, mut flash) = (BTreeMap::new(), Vec::new());
    for span in spans {
        match span.process {
            1 | 2 | 5 => flash.push(span),
            6 => {
                let number = span.arg("command").expect("a command has a number");
                assert!(commands.insert(number, span).is_none(), "command {number} twice");
            }
            _ => {}
        }
    }
    // Each command has come, and they are numbered without a gap.
    assert!(commands.keys().copied().eq(0..commands.len() as u64));
    Record { metrics: simulation.outcome()["metrics"].take(), commands, flash }
}

impl Record {
    /// What the arrays of dies did for each command.
    fn arrays_by_command(&self) -> BTreeMap<u64, Vec<&Span>> {
        let mut found: BTreeMap<u64, Vec<&Span>> = BTreeMap::new();
        for span in self.flash.iter().filter(|span| span.process != 2) {
            for command in span.commands() {
                found.entry(command).or_default().push(span);
            }
        }
        found
    }

    /// Each operation on a die works for pages of the host on that die alone.
    fn holds_to_striping(&self) {
        for span in &self.flash {
            let die = span.arg("die").expect("a die");
            for command in span.commands() {
                let mut pages = self.commands[&command].pages();
                assert!(pages.any(|page| page % DIES == die), "{} of {command}", span.args);
            }
        }
    }
}

fn device(controller: &Value, ftl: &Value) -> Value {
    let mut device = json!({
        "nand": {"channels": 2, "dies_per_channel": 2, "planes_per_die": 1,
                 "blocks_per_plane": 32, "pages_per_block": 32},
        "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 2},
        "controller": controller,
        "host": {"command_overhead_us": 3},
    });
    for (key, value) in ftl.as_object().expect("keys") {
        device["ftl"][key] = value.clone();
    }
    device
}

fn workload(read_pct: u64, depth: u64, bytes: u64, ios: u64) -> Value {
    json!({"pattern": "random", "read_pct": read_pct, "queue_depth": depth,
           "block_size_bytes": bytes, "total": {"ios": ios},
           "precondition": [{"kind": "sequential_fill"}]})
}

#[test]
fn a_read_at_depth_1_has_one_sense_and_one_transfer_while_it_lasts() {
    for controller in [json!({}), json!({"scheduler": "priority"})] {
        let record = record(&device(&controller, &json!({})), &workload(100, 1, PAGE_BYTES, 500));
        assert_eq!(record.commands.len(), 500);
        record.holds_to_striping();
        let mut parts: BTreeMap<u64, Vec<&Span>> = BTreeMap::new();
        for span in &record.flash {
            let [command] = span.commands()[..] else { panic!("{}", span.args) };
            parts.entry(command).or_default().push(span);
        }
        for (number, command) in &record.commands {
            let [sense, transfer] = parts[number][..] else { panic!("command {number}") };
            assert_eq!([sense.process, transfer.process], [1, 2]);
            assert_eq!([sense.name.as_str(), command.name.as_str()], ["read", "read"]);
            assert_eq!(sense.args["operation"], transfer.args["operation"]);
            assert_eq!(sense.arg("die"), Some(command.pages().start % DIES));
            assert!(command.from <= sense.from && sense.to <= transfer.from);
            assert!(transfer.to <= command.to, "{number}");
        }
    }
}

#[test]
fn each_page_of_a_direct_write_is_programmed_while_the_command_lasts() {
    let record = record(&device(&json!({}), &json!({})), &workload(0, 4, 4 * PAGE_BYTES, 1000));
    record.holds_to_striping();
    let arrays = record.arrays_by_command();
    for (number, command) in &record.commands {
        let programs: Vec<_> = arrays[number].iter().filter(|it| it.name == "program").collect();
        let dies: BTreeSet<_> = programs.iter().map(|it| it.arg("die")).collect();
        assert_eq!(dies.len(), 4, "one on each die");
        assert_eq!(programs.len(), 4);
        assert!(programs.iter().all(|it| command.from <= it.from && it.to <= command.to));
    }
    // No command waits for moved pages.
    let moved = record.flash.iter().filter(|it| it.name.ends_with("(moved)"));
    assert!(moved.clone().count() > 100);
    assert!(moved.flat_map(Span::commands).next().is_none());
}

/// Each write of one page to a write buffer that absorbs is in one program, unless a later one has
/// taken its place or it waits at the end, and in none before it has begun.
fn each_buffered_write_is_programmed_once(device: &Value, workload: &Value) -> Record {
    let record = record(device, workload);
    record.holds_to_striping();
    let arrays = record.arrays_by_command();
    let mut named = 0;
    for (number, command) in &record.commands {
        let Some(spans) = arrays.get(number) else { continue };
        // One that padding completes is shown as one of moved pages.
        let programs: Vec<_> = spans.iter().filter(|it| it.name.starts_with("program")).collect();
        // A program that was suspended has several spans.
        let operations: BTreeSet<_> = programs.iter().map(|it| it.arg("operation")).collect();
        if command.name == "write" {
            assert_eq!(operations.len(), 1, "command {number}");
            assert!(programs.iter().all(|it| it.from >= command.from), "command {number}");
            named += 1;
        }
    }
    let writes = record.commands.values().filter(|it| it.name == "write").count() as f64;
    let absorbed = number(&record.metrics, "/host_pages/absorbed");
    // At the end half of the buffer may wait, and two pages for the rest of a word line of a die.
    let waits = device["ftl"]["write_buffer_pages"].as_f64().expect("pages") / 2.0;
    let missing = writes - absorbed - f64::from(named);
    assert!((0.0..=waits + 8.0).contains(&missing), "{writes}, {absorbed} absorbed, {named} named");
    record
}

#[test]
fn programs_of_a_write_buffer_name_the_last_command_of_each_page() {
    let buffer = json!({"write_buffer_pages": 64});
    let found = each_buffered_write_is_programmed_once(
        &device(&json!({}), &buffer),
        &workload(0, 1, PAGE_BYTES, 3000),
    );
    // They end before their data is on the flash.
    let arrays = found.arrays_by_command();
    let later = arrays.iter().filter(|(number, spans)| spans[0].from > found.commands[number].to);
    assert!(later.count() > 2000);
    let each_version = json!({"write_buffer_pages": 64, "write_buffer_absorbs": false});
    let hot = {
        let mut hot = workload(0, 2, PAGE_BYTES, 3000);
        hot["active_range_pct"] = json!(2.0);
        hot
    };
    for keys in [&each_version, &buffer, &json!({"write_buffer_pages": 1})] {
        each_buffered_write_is_programmed_once(&device(&json!({}), keys), &hot);
    }
}

#[test]
fn program_units_and_steps_and_suspensions_keep_the_names() {
    let mut device = device(
        &json!({"scheduler": "priority", "suspend": {}}),
        &json!({"write_buffer_pages": 64, "collection": "steps", "write_frontiers": "host_gc"}),
    );
    program_word_lines(&mut device);
    let mixed = workload(40, 8, PAGE_BYTES, 6000);
    let found = each_buffered_write_is_programmed_once(&device, &mixed);
    let programs = found.flash.iter().filter(|it| it.process == 1 && it.name == "program");
    assert!(programs.map(|it| it.commands().len()).max() == Some(3), "a word line holds three");
    assert!(number(&found.metrics, "/activity/suspensions") > 10.0);
}

/// Lets three pages be programmed together.
fn program_word_lines(device: &mut Value) {
    device["nand"]["cell_type"] = json!("TLC");
    device["nand"]["pages_per_block"] = json!(48);
    device["nand"]["program"] = json!({"kind": "one_shot", "t_wordline_us": 1500});
}

#[test]
fn programs_that_a_flush_waits_for_name_it_and_their_writes() {
    let mut device = device(&json!({}), &json!({}));
    program_word_lines(&mut device);
    let mut writes = workload(0, 4, PAGE_BYTES, 2000);
    writes["flush_every"] = json!(8);
    let record = record(&device, &writes);
    let arrays = record.arrays_by_command();
    let mut waited = 0;
    for (number, command) in &record.commands {
        let spans = arrays.get(number).map_or(&[][..], Vec::as_slice);
        if command.name == "write" {
            // At the end two pages may wait for the rest of their word line on each die.
            assert!(spans.len() == 1 || spans.is_empty() && *number > 1980, "write {number}");
            assert!(spans.iter().all(|it| it.from >= command.from));
            continue;
        }
        assert_eq!(command.args.as_object().map(serde_json::Map::len), Some(1), "no address");
        assert!(spans.iter().all(|it| command.from < it.to && it.to <= command.to), "{number}");
        waited += usize::from(!spans.is_empty());
    }
    assert!(waited > 100, "{waited} flushes waited for programs");
}

#[test]
fn commands_that_waited_outside_keep_their_numbers() {
    let mut device = device(&json!({}), &json!({}));
    device["host"]["queue_depth_max"] = json!(16);
    let record = record(
        &device,
        &json!({
            "pattern": "sequential", "read_pct": 100, "queue_depth": 64, "total": {"ios": 9000},
            "block_size_bytes": PAGE_BYTES, "precondition": [{"kind": "sequential_fill"}],
        }),
    );
    let space = record.commands.values().map(|it| it.pages().end).max().expect("commands");
    for (number, command) in &record.commands {
        assert_eq!(command.pages().start, number % space, "command {number}");
    }
}
