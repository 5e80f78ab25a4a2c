//! Commands of a host to a drive with zones: writes at write pointers, appends, reads, resets.
//!
//! A trim of a whole zone resets it. What a zone does not take is refused with its status: the
//! command completes at once, nothing has changed, and it is counted.

use serde_json::{json, Map, Value};

use super::drive::{CommandSink, Drive, Front};
use crate::ftl::zones::{
    AreaCounts, ZoneCounts, ZoneReport, ZoneRequest, ZoneState, ZoneStatus, Zones, COMMAND_NAMES,
    STATUS_COUNT,
};
use crate::ftl::NoRoom;
use crate::op::{HostCommand, HostOp};
use crate::units::Lpn;

/// Commands carried out, and refused by status.
type Statuses = [u64; 1 + STATUS_COUNT];

/// Zones of which every row is reported, at most.
const ROWS_MAX: u32 = 1 << 16;

/// The zones of a drive: states at the end, counts of the measured part, and the report.
pub(crate) fn metrics(drive: &Drive, start: &ZoneCounts) -> Option<(String, Value)> {
    let zones = drive.ftl.zones()?;
    let (limits, counts) = (zones.limits(), zones.counts());
    let states = [
        ZoneState::Empty,
        ZoneState::ImplicitlyOpen,
        ZoneState::ExplicitlyOpen,
        ZoneState::Closed,
        ZoneState::Full,
        ZoneState::ReadOnly,
        ZoneState::Offline,
    ];
    let name = |state: ZoneState| json!(state).as_str().unwrap_or_default().to_owned();
    let number = |state| zones.reports().filter(|row| row.state == state).count();
    let by_state: Map<String, Value> =
        states.into_iter().map(|state| (name(state), json!(number(state)))).collect();
    let refused: Map<String, Value> = ZoneStatus::ALL
        .into_iter()
        .map(|status| (status, counts.refused[status as usize] - start.refused[status as usize]))
        .filter(|&(_, count)| count > 0)
        .map(|(status, count)| (status.to_string(), json!(count)))
        .collect();
    let page_bytes = drive.geometry.page_bytes;
    let row = |row: ZoneReport| {
        json!({
            "zone": row.zone,
            "state": name(row.state),
            "start_bytes": u64::from(row.start) * page_bytes,
            "written_bytes": u64::from(row.write_pointer - row.start) * page_bytes,
        })
    };
    let report = limits.zone_count <= ROWS_MAX;
    let [appended, moved] = [0, 1].map(|at| counts.appended[at] - start.appended[at]);
    let host_waf = (appended > 0).then(|| (appended + moved) as f64 / appended as f64);
    let mut section = json!({
        "count": limits.zone_count,
        "zone_bytes": u64::from(limits.zone_pages) * page_bytes,
        "capacity_bytes": u64::from(limits.capacity_pages) * page_bytes,
        "states": by_state,
        "commands": commands(counts, start),
        "appended_bytes": appended * page_bytes,
        "moved_bytes": moved * page_bytes,
        "host_waf": host_waf,
        "resets": counts.resets - start.resets,
        "closed_for_others": counts.closed_for_others - start.closed_for_others,
        "refused": refused,
        "report": report.then(|| zones.reports().map(row).collect::<Vec<_>>()),
    });
    if limits.area.is_some() {
        section["zrwa"] = areas(zones, start.area, page_bytes);
    }
    Some(("zones".into(), section))
}

/// The areas of zones: those in use and their pages at the end, and the fate of pages in the
/// measured part.
fn areas(zones: &Zones, start: AreaCounts, page_bytes: u64) -> Value {
    let counts = zones.counts().area;
    json!({
        "in_use": zones.area_count(),
        "held_bytes": zones.kept() as u64 * page_bytes,
        "overwritten_bytes": (counts.overwritten - start.overwritten) * page_bytes,
        "dropped_bytes": (counts.dropped - start.dropped) * page_bytes,
        "filled_bytes": (counts.filled - start.filled) * page_bytes,
    })
}

/// Commands since the start, by name and status; those that did not come are left out.
fn commands(counts: &ZoneCounts, start: &ZoneCounts) -> Value {
    let rows = counts.commands.iter().zip(&start.commands).zip(COMMAND_NAMES);
    let row = |((now, then), name): ((&Statuses, &Statuses), &str)| {
        let statuses = ZoneStatus::ALL.iter().map(ToString::to_string);
        let names = std::iter::once("Successful Completion".to_owned()).chain(statuses);
        let counted = names.zip(now.iter().zip(then).map(|(now, then)| now - then));
        let kept: Map<String, Value> = counted
            .filter(|&(_, count)| count > 0)
            .map(|(status, count)| (status, json!(count)))
            .collect();
        (name.to_owned(), Value::Object(kept))
    };
    let rows = rows.map(row).filter(|(_, row)| row.as_object().is_some_and(|row| !row.is_empty()));
    Value::Object(rows.collect())
}

/// What zones refused in the measured part, for the warnings.
pub(crate) fn warning(drive: &Drive, start: &ZoneCounts) -> Option<String> {
    let counts = drive.ftl.zones()?.counts();
    let refused = |status: &ZoneStatus| {
        let place = *status as usize;
        (counts.refused[place] - start.refused[place], *status)
    };
    let (count, status) = ZoneStatus::ALL.iter().map(refused).max_by_key(|&(count, _)| count)?;
    (count > 0).then(|| {
        format!("zones refused commands, {count} of them with {status}: see metrics.zones.refused")
    })
}

impl Front<'_> {
    /// Carries out a command but for a flush.
    ///
    /// # Errors
    /// [`NoRoom::WornOut`] when a die has no erased block for a zone.
    #[inline(never)]
    pub(super) fn apply_to_zone<S: CommandSink>(
        &mut self,
        sink: &mut S,
        command: &HostCommand,
    ) -> Result<(), NoRoom> {
        let pages = self.pages(command);
        let request = ZoneRequest {
            op: command.op,
            first: Lpn(pages.start),
            count: pages.end - pages.start,
            is_whole: pages.clone().all(|page| self.covers(command, page)),
            tag: command.tag,
        };
        let before = self.area_counts();
        let outcome = self.ftl.zone(sink, &request);
        let kept = self.note_areas(before, &request);
        let Ok(done) = outcome else {
            self.host.sectors[command.op.index()] -= u64::from(command.sector_count);
            self.host.asides.refuse(command, u64::from(command.sector_count));
            return Ok(());
        };
        if command.op == HostOp::Read {
            for page in pages {
                if self.ftl.zones().is_some_and(|zones| zones.keeps(page)) {
                    self.host.buffer_read_pages += 1;
                } else {
                    self.read_page(sink, Lpn(page), self.part(command, page));
                }
            }
        }
        let is_kept = kept.is_some();
        if command.op.writes() {
            self.host.fua_writes += u64::from(command.is_fua);
            let is_counted = done.is_ok() || is_kept;
            self.host.page_writes += if is_counted { u64::from(request.count) } else { 0 };
        }
        if let Some(waiting) = kept {
            (0..request.count).for_each(|_| sink.buffered(waiting));
        }
        done.map_err(|refused| {
            // Memory has the data of an area, though the flash does not take it.
            if command.op.writes() && !is_kept {
                self.refuse_in_zone(command, refused)
            } else {
                refused.1
            }
        })
    }

    fn area_counts(&self) -> AreaCounts {
        self.ftl.zones().map_or_else(AreaCounts::default, |zones| zones.counts().area)
    }

    /// Counts what a command did to the areas of zones; for a write to a zone with an area, the
    /// number of pages that wait in all of them.
    fn note_areas(&mut self, before: AreaCounts, request: &ZoneRequest) -> Option<usize> {
        let zones = self.ftl.zones().filter(|zones| zones.limits().area.is_some())?;
        let now = zones.counts().area;
        self.host.absorbed_pages += now.overwritten - before.overwritten;
        self.host.buffer_trimmed_pages += now.dropped - before.dropped;
        let (zone, _) = zones.locate(request.first.0).ok()?;
        (request.op == HostOp::Write && zones.has_area(zone)).then(|| zones.kept())
    }

    /// Refuses the rest of a write: a die had no erased block after `done` pages of it.
    fn refuse_in_zone(&mut self, command: &HostCommand, (done, no_room): (u32, NoRoom)) -> NoRoom {
        self.host.page_writes += u64::from(done) + 1;
        self.host.rejected_pages += 1;
        self.refuse(command, self.first_page(command).0 + done);
        no_room
    }
}
