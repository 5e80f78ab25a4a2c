//! Statistics of a drive's placement handles or streams, in the measured part.
//!
//! Events are those of the NVM Express Base Specification 2.1, 5.1.12.1.31, that can occur here:
//! Media Reallocated (80h) is one of data that was isolated initially, and Implicitly Modified
//! Reclaim Unit Handle (81h) one that the host has not caused: a program failed.

use serde_json::{json, Value};

use super::run::Baseline;
use crate::drive::{total, Drive};
use crate::ftl::{HandleCounts, Isolation, PlacementConfig};
use crate::op::Source;

/// The log of a drive that places data: statistics and events as the FDP log pages have them, and
/// the counts by handle.
pub(super) fn metrics(drive: &Drive, start: &Baseline, bytes: [u64; 2]) -> Option<(String, Value)> {
    let now = drive.ftl.figures().handle_counts();
    let mut counts: Vec<HandleCounts> =
        now.iter().zip(&start.handles).map(|(now, &then)| now.since(then)).collect();
    let (counters, then) = (drive.ftl.figures().counters(), &start.ftl);
    if let [only, _] = &mut counts[..] {
        let host = Source::Host as usize;
        only.host_pages = counters.programs[host] - then.programs[host];
    }
    section(drive, counts, bytes, total(&counters.erases) - total(&then.erases))
}

/// The same of these counts: by handle and of mixed data, bytes of the host and programmed, erases.
pub(crate) fn section(
    drive: &Drive,
    mut counts: Vec<HandleCounts>,
    [host_bytes, media_bytes]: [u64; 2],
    erases: u64,
) -> Option<(String, Value)> {
    let config = &drive.config.ftl.placement;
    let mixed = counts.pop()?;
    let geometry = &drive.geometry;
    let page_bytes = geometry.page_bytes;
    let unit_bytes = geometry.physical_pages_of(geometry.pages_per_block.into()) * page_bytes;
    let moved = |counts: &HandleCounts| {
        json!({
            "moved_bytes": counts.moved_pages * page_bytes,
            "reclaim_units_moved": counts.units_moved,
            "reclaim_units_erased": counts.units_erased,
        })
    };
    let by_id = (0..).zip(&counts).map(|(id, counts)| {
        let mut row = moved(counts);
        row["id"] = json!(id);
        row["host_bytes"] = json!(counts.host_pages * page_bytes);
        row["reclaim_units_opened"] = json!(counts.units_opened);
        row
    });
    let by_id: Vec<Value> = by_id.collect();
    if let PlacementConfig::Streams(_) = config {
        return Some(("streams".into(), json!({"streams": by_id, "mixed": moved(&mixed)})));
    }
    let sum = |of: fn(&HandleCounts) -> u64| counts.iter().map(of).sum::<u64>() + of(&mixed);
    let is_apart = config.isolation() == Isolation::Persistently;
    let fdp = json!({
        "host_bytes_with_metadata_written": host_bytes,
        "media_bytes_with_metadata_written": media_bytes,
        "media_bytes_erased": erases * unit_bytes,
        "reclaim_unit_bytes": unit_bytes,
        "events": {
            "implicitly_modified_reclaim_unit_handle": sum(|it| it.units_not_full),
            "media_reallocated": if is_apart { 0 } else { sum(|it| it.units_moved) },
        },
        "handles": by_id,
        "mixed": moved(&mixed),
    });
    Some(("fdp".into(), fdp))
}
