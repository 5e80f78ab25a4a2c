//! Write amplification of each namespace, in the measured part.

use serde_json::{json, Value};

use super::run::Baseline;
use super::sources::{counts, difference};
use crate::drive::Drive;
use crate::op::Source;

/// A row for each namespace, if the drive has some.
pub(super) fn metrics(drive: &Drive, start: &Baseline) -> Option<(String, Value)> {
    let now = drive.ftl.figures().partition_programs();
    if now.is_empty() {
        return None;
    }
    let names = drive.config.host.namespaces.iter().map(|it| &it.name);
    let rows = names.zip(now).zip(&start.namespaces).map(|((name, now), then)| {
        let programs = difference(now, then);
        let host = programs[Source::Host as usize];
        let all: u64 = programs.iter().sum();
        json!({
            "name": name,
            "programs": counts(&programs, &["merge", "rebuild"]),
            "waf": (host > 0).then(|| all as f64 / host as f64),
        })
    });
    Some(("namespaces".into(), rows.collect()))
}
