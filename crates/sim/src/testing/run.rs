//! Whole runs of devices and workloads that are given as JSON.

use serde_json::Value;

use crate::drive::DeviceConfig;
use crate::run::Simulation;
use crate::timed::Observation;
use crate::workload::WorkloadConfig;

/// A run from beginning to end, with seed 42.
///
/// # Panics
/// When a file is refused, or a check of the run failed.
pub fn run(device: &Value, workload: &Value, observation: Observation) -> Simulation {
    let device = DeviceConfig::resolve(&device.to_string()).expect("a device");
    let mut simulation = Simulation::new(device, 42);
    let space = simulation.space();
    let workload = WorkloadConfig::resolve(&workload.to_string(), space).expect("a workload");
    simulation.observe(observation);
    simulation.begin(workload.job(space, 42));
    while !simulation.advance(1 << 40).finished {}
    let checks = &simulation.outcome()["checks"];
    assert_eq!(checks["passed"], true, "{checks}");
    simulation
}

/// The metrics of a run.
///
/// # Panics
/// As [`run`].
pub fn metrics(device: &Value, workload: &Value) -> Value {
    run(device, workload, Observation::default()).outcome()["metrics"].take()
}

/// A number in metrics, by its JSON pointer.
///
/// # Panics
/// When there is none.
pub fn number(metrics: &Value, path: &str) -> f64 {
    metrics.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {metrics}"))
}

/// Puts the keys of a document into another, section by section.
pub fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}
