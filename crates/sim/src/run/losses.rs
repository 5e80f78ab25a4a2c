//! Reads that gave no data: their section of the result, and the warning that is listed first.
//!
//! A page that no step of recovery corrects is a number, not an error: the run continues, and rates
//! and latencies count the read as served. Devices without a code (`ecc: none`) leave correction
//! out: every bit error is uncorrectable there, and no warning is given.

use serde_json::{json, Value};

use super::run::Baseline;
use crate::drive::Drive;
use crate::op::{HostOp, Source, SOURCE_COUNT, SOURCE_NAMES};
use crate::timed::TimedStage;

/// Pages that were lost, by who asked for them; and pages that the host read.
fn pages(drive: &Drive, start: &Baseline) -> ([u64; SOURCE_COUNT], u64) {
    if !drive.tells_losses() {
        return ([0; SOURCE_COUNT], 0);
    }
    let (now, then) = (&drive.errors.tally().uncorrectable, &start.tally.uncorrectable);
    let host = Source::Host as usize;
    let reads = drive.ftl.figures().counters().reads[host] - start.ftl.reads[host];
    (std::array::from_fn(|source| now[source] - then[source]), reads)
}

/// The section `lost_reads`; `None` while nothing is lost.
pub(super) fn metrics(
    drive: &Drive,
    start: &Baseline,
    timed: Option<&TimedStage>,
) -> Option<Value> {
    let (pages, reads) = pages(drive, start);
    let named: serde_json::Map<_, _> = SOURCE_NAMES
        .iter()
        .zip(pages)
        .filter(|&(_, count)| count > 0)
        .map(|(name, count)| ((*name).to_owned(), json!(count)))
        .collect();
    if named.is_empty() {
        return None;
    }
    let share = |count: u64, of: u64| (of > 0).then(|| count as f64 / of as f64);
    let mut section = json!({
        "pages": named,
        "host_page_reads": reads,
        "host_page_share": share(pages[Source::Host as usize], reads),
    });
    if let Some(stage) = timed {
        let (count, latencies) = stage.host.ledger.lost_reads().unwrap_or_default();
        section["commands"] = json!(count);
        section["command_share"] =
            json!(share(count, stage.host.ledger.tally.served_commands[HostOp::Read.index()]));
        section["latency_us"] = latencies;
    }
    Some(section)
}

/// The warning, if there is something to warn of.
pub(super) fn warning(drive: &Drive, start: &Baseline) -> Option<String> {
    let (pages, reads) = pages(drive, start);
    let (host, all) = (pages[Source::Host as usize], pages.iter().sum::<u64>());
    let others = format!("{} pages that the drive moved, completed or looked up", all - host);
    if host == 0 {
        return (all > 0).then(|| format!("data lost: {others} could not be corrected"));
    }
    let share = 100.0 * host as f64 / reads.max(1) as f64;
    let others = if all > host { format!(", nor {others}") } else { String::new() };
    Some(format!(
        "data lost: {host} of {reads} page reads of the host ({share:.3} %) could not be corrected \
         by any step of recovery{others}; throughput and latency count them as served, \
         metrics.lost_reads has them apart"
    ))
}
