//! One load of `benches/counts.json`, for counting instructions: `slope FILE LOAD COMMANDS`.
//!
//! `tools/slopes.py` runs it under callgrind, which counts what [`measured`] does: after the drive
//! was brought into its state, and after the first commands. Printed are the commands of that part,
//! and a digest of the whole run: the result and the image of the drive, without their
//! configurations, which grow by new keys.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::{Progress, Simulation};
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Operations of the flash and the host from one look at the progress to the next.
const OPS: u64 = 4096;

/// Share of the commands before those that are counted, and of those behind: one in 16.
const MARGIN: u64 = 16;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, name, commands] = &words[..] else { panic!("FILE LOAD COMMANDS") };
    let text = std::fs::read_to_string(file).expect("a file");
    let table: Value = serde_json::from_str(&text).expect("a table of loads");
    let load = &table["loads"][name];
    let commands: u64 = commands.parse().expect("a number");

    let drive = &table["drives"][load["drive"].as_str().expect("the name of a drive")];
    let device = DeviceConfig::resolve(&drive.to_string()).expect("a device");
    let mut simulation = Simulation::new(device, 42);
    let space = simulation.space();
    let mut workload = load["workload"].clone();
    workload["name"] = "slope".into();
    workload["total"] = serde_json::json!({ "ios": commands });
    let workload = WorkloadConfig::resolve(&workload.to_string(), space).expect("a workload");
    simulation.begin(workload.job(space, 42));

    let begun = advance(&mut simulation, |now| now.measured);
    let margin = commands / MARGIN;
    let first = advance(&mut simulation, |now| now.host_ios >= begun + margin);
    let last = measured(&mut simulation, begun + commands - margin);
    advance(&mut simulation, |_| false);
    println!("{{\"commands\": {}, \"digest\": \"{}\"}}", last - first, digest(&simulation));
}

/// Commands of the host up to the first look at which `is_there` holds, or the end.
fn advance(simulation: &mut Simulation, is_there: impl Fn(&Progress) -> bool) -> u64 {
    loop {
        let now = simulation.advance(OPS);
        if now.finished || is_there(&now) {
            return now.host_ios;
        }
    }
}

/// The part that is counted.
#[inline(never)]
fn measured(simulation: &mut Simulation, until: u64) -> u64 {
    advance(simulation, |now| now.host_ios >= until)
}

/// SHA-256 of the result and of the image, the first 16 digits.
fn digest(simulation: &Simulation) -> String {
    let mut outcome = simulation.outcome();
    let members = outcome.as_object_mut().expect("a document");
    members.retain(|key, _| key != "effective" && key != "workload");
    let image = simulation.image();
    let config = simulation.config().to_json().to_string();
    let at = image.windows(config.len()).position(|it| it == config.as_bytes());
    let tables = &image[at.expect("it holds its configuration") + config.len()..];
    let sum = Sha256::new().chain_update(outcome.to_string()).chain_update(tables).finalize();
    format!("{:016x}", sum.iter().take(8).fold(0, |all, &byte| all << 8 | u64::from(byte)))
}
