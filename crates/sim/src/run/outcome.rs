//! The measured part as the result file states it: metrics, series, checks, warnings.
//!
//! Every figure is a difference of counters between the start and the end of the measured stage;
//! nothing of the preconditioning enters. Figures that were not measured are `null`, never zero.

use opennandlab_ecc::monte_carlo::confidence_interval;
use serde_json::{json, Map, Value};

use super::energy::{Consumed, Effort};
use super::run::{Baseline, Run};
use super::series::{Series, Wear};
use super::sources::{counts, difference};
use super::{losses, namespaces, reclaim_units};
use crate::drive::{health, zones, Drive};
use crate::host::arbitration::ArbitrationConfig;
use crate::host::latency::LatencyBook;
use crate::op::{HostOp, Source, HOST_OP_KINDS, SOURCE_COUNT};
use crate::reads::{Algorithm, ErrorFigures};
use crate::timed::TimedStage;
use crate::units::SECTOR_BYTES;

/// Little's law must hold to this, relative.
const LITTLES_LAW_TOLERANCE: f64 = 1e-3;

/// Observed uncorrectable reads from which the observation is stated instead of the analytic mean.
const OBSERVED_MIN: u64 = 10;

/// The measured part up to now.
struct Measured<'a> {
    drive: &'a Drive,
    start: &'a Baseline,
    timed: Option<&'a TimedStage>,
    errors: ErrorFigures,
}

/// The document without the entries that only the caller knows (tool, seed, digest).
pub(crate) fn document(drive: &Drive, run: &Run, origin: &Value) -> Value {
    let mut state = Map::new();
    state.insert("origin".into(), origin.clone());
    state.insert("steps".into(), json!(run.records));
    state.insert("worn_out".into(), json!(drive.is_worn_out));
    let mut warnings = run.warnings();
    if drive.is_worn_out {
        warnings
            .push("the drive is worn out: too few good blocks are left, writes are refused".into());
    }
    if drive.config.nand.faults.iter().any(|fault| fault.of_unit().is_some()) {
        warnings.push("nand.faults: units are damaged only in drives that are served".into());
    }
    let mut document = json!({
        "effective": drive.config.effective(),
        "workload": run.resolved,
        "state": state,
    });
    if let (Some(start), Some((series, timed))) = (&run.baseline, run.measured()) {
        let errors = drive.errors.figures_since(&start.tally);
        let measured = Measured { drive, start, timed, errors };
        document["metrics"] = measured.metrics();
        if let Some(pages) = run.merged_pages {
            document["metrics"]["trace_pages"] = json!(pages);
        }
        document["series"] = Series::to_json(series);
        document["checks"] = measured.checks(run.is_measured_done());
        warnings.extend(measured.warnings());
        warnings.splice(0..0, losses::warning(drive, start));
    }
    document["complete"] = json!(run.is_measured_done());
    document["warnings"] = json!(warnings);
    document
}

impl Measured<'_> {
    fn programs(&self) -> [u64; SOURCE_COUNT] {
        difference(&self.drive.ftl.figures().counters().programs, &self.start.ftl.programs)
    }

    fn erases(&self) -> [u64; SOURCE_COUNT] {
        difference(&self.drive.ftl.figures().counters().erases, &self.start.ftl.erases)
    }

    fn reads(&self) -> [u64; SOURCE_COUNT] {
        difference(&self.drive.ftl.figures().counters().reads, &self.start.ftl.reads)
    }

    /// Bytes that the host read, wrote, trimmed.
    fn host_bytes(&self) -> [u64; HOST_OP_KINDS] {
        difference(&self.drive.host.sectors, &self.start.host.sectors)
            .map(|count| count * SECTOR_BYTES)
    }

    fn nand_bytes_written(&self) -> u64 {
        let geometry = &self.drive.geometry;
        geometry.physical_pages_of(self.programs().iter().sum()) * geometry.page_bytes
    }

    fn seconds(&self) -> Option<f64> {
        self.timed
            .map(|stage| stage.host.ledger.tally.last_completion.as_seconds())
            .filter(|&seconds| seconds > 0.0)
    }

    fn metrics(&self) -> Value {
        let [read_bytes, written_bytes, trimmed_bytes, _] = self.host_bytes();
        let wear = Wear::of(self.drive);
        let (counters, start) = (self.drive.ftl.figures().counters(), &self.start.ftl);
        let waf =
            (written_bytes > 0).then(|| self.nand_bytes_written() as f64 / written_bytes as f64);
        let erases = self.erases();
        let mut metrics = json!({
            "waf": waf,
            "host_bytes_written": written_bytes,
            "nand_bytes_written": self.nand_bytes_written(),
            "host_bytes_read": read_bytes,
            "host_bytes_trimmed": trimmed_bytes,
            "host_pages": self.host_pages(),
            "programs": counts(&self.programs(), &["merge", "rebuild"]),
            "reads": counts(&self.reads(), &["pad"]),
            "erases": counts(&erases, &self.sources_without_erases()),
            "gc_cycles": erases[1],
            "gc_pages_moved": self.programs()[1],
            "copyback_pages": counters.copyback_pages - start.copyback_pages,
            "retired_blocks": counters.retired_blocks - start.retired_blocks,
            "free_blocks": self.drive.ftl.figures().erased_blocks(),
            "wear": { "min": wear.min, "max": wear.max, "mean": wear.mean, "stddev": wear.stddev },
            "wl_stddev": wear.stddev,
            "tbw_tb": self.tbw_tb(&wear, waf),
            "lifetime_days": self.lifetime_days(&wear),
        });
        let section = metrics.as_object_mut().expect("an object was built");
        if self.drive.config.ftl.refresh.is_some() {
            let by_age = counters.refreshed_by_age - start.refreshed_by_age;
            let by_rber = counters.refreshed_by_rate - start.refreshed_by_rate;
            section.insert(
                "refresh".into(),
                json!({"blocks": by_age + by_rber, "by_age": by_age, "by_rber": by_rber}),
            );
        }
        if let Some(mapping) = self.mapping() {
            section.insert("mapping".into(), mapping);
        }
        if self.drive.config.nand.partial_programs.is_some() {
            let programs = counters.partial_programs - start.partial_programs;
            section.insert("partial_programs".into(), json!(programs));
        }
        if self.drive.patrol.is_some() {
            let reads = counters.patrol_reads - start.patrol_reads;
            section.insert("patrol".into(), json!({"reads": reads}));
        }
        if self.drive.config.nand.failures.is_some() {
            let failed = |now: u64, before: u64| json!(now - before);
            section.insert(
                "failures".into(),
                json!({
                    "program": failed(counters.failed_programs, start.failed_programs),
                    "erase": failed(counters.failed_erases, start.failed_erases),
                }),
            );
        }
        section.extend(health::section(self.drive));
        section.extend(self.error_metrics());
        if let Some(lost) = losses::metrics(self.drive, self.start, self.timed) {
            section.insert("lost_reads".into(), lost);
        }
        section.extend(self.timed_metrics());
        section.extend(self.tenant_metrics());
        section.extend(self.power_metrics());
        let bytes = [written_bytes, self.nand_bytes_written()];
        section.extend(reclaim_units::metrics(self.drive, self.start, bytes));
        section.extend(namespaces::metrics(self.drive, self.start));
        section.extend(zones::metrics(self.drive, &self.start.zones));
        metrics
    }

    /// Figures of a map that is not in RAM, or of a map of blocks.
    fn mapping(&self) -> Option<Value> {
        let ftl = &self.drive.config.ftl;
        let counters = self.drive.ftl.figures().counters().mapping.since(self.start.ftl.mapping);
        if ftl.mapping.is_page() || ftl.mapping.zoned().is_some() {
            return None;
        }
        if !ftl.mapping.merges() {
            let hits = counters.lookups - counters.misses;
            let rate = (counters.lookups > 0).then(|| hits as f64 / counters.lookups as f64);
            let mut section = json!({
                "kind": ftl.mapping.name(),
                "lookups": counters.lookups,
                "hits": hits,
                "misses": counters.misses,
                "hit_rate": rate,
                "unwritten": counters.unwritten,
                "dirty_evictions": counters.dirty_evictions,
                "batched_entries": counters.batched_entries,
                "reads": {
                    "miss": counters.misses - counters.unwritten,
                    "update": counters.update_reads,
                    "moved": counters.moved,
                },
                "programs": {"update": counters.update_programs, "moved": counters.moved},
                "blocks": self.drive.ftl.figures().map_blocks(),
            });
            if ftl.map_checkpoint.is_some() {
                section["checkpoints"] = json!({
                    "count": counters.checkpoints,
                    "pages": counters.checkpoint_pages,
                });
            }
            return Some(section);
        }
        Some(json!({
            "kind": ftl.mapping.name(),
            "merges": {
                "switch": counters.switch_merges,
                "partial": counters.partial_merges,
                "full": counters.full_merges,
            },
            "log_blocks": ftl.mapping.log_blocks().unwrap_or(0),
        }))
    }

    /// Sources for which this drive never erases.
    fn sources_without_erases(&self) -> Vec<&'static str> {
        let mut hidden = vec!["host", "merge", "parity", "pad", "rebuild"];
        if self.drive.config.ftl.mapping.dftl().is_none() {
            hidden.push("map");
        }
        if self.drive.config.ftl.refresh.is_none() {
            hidden.push("refresh");
        }
        hidden
    }

    fn host_pages(&self) -> Value {
        let (now, then) = (&self.drive.host, &self.start.host);
        let mut pages = json!({
            "written": (now.page_writes - then.page_writes)
                - (now.refused_page_writes - then.refused_page_writes),
            "absorbed": now.absorbed_pages - then.absorbed_pages,
            "buffer_trimmed": now.buffer_trimmed_pages - then.buffer_trimmed_pages,
            "buffer_read": now.buffer_read_pages - then.buffer_read_pages,
            "unmapped_read": now.unmapped_read_pages - then.unmapped_read_pages,
            "rejected": now.rejected_pages - then.rejected_pages,
        });
        // Figures that only some devices and workloads have are left out for others.
        if self.drive.config.host.read_cache.is_some() {
            pages["read_cache_hits"] = json!(now.read_cache_hits - then.read_cache_hits);
        }
        if self.drive.config.host.read_ahead_bytes.is_some() {
            pages["read_ahead"] = json!(now.ahead_pages - then.ahead_pages);
            pages["read_ahead_hits"] = json!(now.ahead_hits - then.ahead_hits);
        }
        let [flushes, fua_writes] = self.durable_commands();
        if flushes > 0 {
            pages["flushed"] = json!(now.flushed_pages - then.flushed_pages);
            pages["flush_commands"] = json!(flushes);
        }
        if fua_writes > 0 {
            pages["fua_commands"] = json!(fua_writes);
        }
        pages
    }

    /// Flush commands, and writes with force unit access.
    fn durable_commands(&self) -> [u64; 2] {
        let (now, then) = (&self.drive.host, &self.start.host);
        let flush = HostOp::Flush.index();
        [now.commands[flush] - then.commands[flush], now.fua_writes - then.fua_writes]
    }

    /// Energy and power that the drive drew; timed runs only, of devices that state their
    /// consumption.
    fn power_metrics(&self) -> Option<(String, Value)> {
        let done = Effort::of(self.drive, self.timed?, &self.start.ftl);
        let consumed = Consumed::between(self.drive, &Effort::default(), &done)?;
        Some(("power".into(), consumed.to_json()))
    }

    /// Figures of each host, when several share the drive.
    fn tenant_metrics(&self) -> Map<String, Value> {
        let mut section = Map::new();
        if let Some(tenants) = self.timed.and_then(|stage| stage.host.ledger.tenants.as_deref()) {
            section.insert("tenants".into(), tenants.to_json(self.seconds()));
            section.insert("fairness".into(), tenants.fairness());
        }
        section
    }

    fn error_metrics(&self) -> Map<String, Value> {
        let figures = &self.errors;
        let any = figures.reads > 0;
        let is_observed = figures.uncorrectable >= OBSERVED_MIN;
        let mean_rate = figures.uncorrectable_mean / figures.reads.max(1) as f64;
        let observed_rate = figures.uncorrectable as f64 / figures.reads.max(1) as f64;
        let rate = if is_observed { observed_rate } else { mean_rate };
        let correction_pct = 100.0 * figures.corrected_bits / figures.reads.max(1) as f64;
        let analytic = self.analytic_method();
        let mut section = Map::new();
        section.insert("ecc_correction_rate_pct".into(), json!(any.then_some(correction_pct)));
        section.insert("uncorrectable_reads".into(), json!(figures.uncorrectable));
        section.insert("uncorrectable_read_rate".into(), json!(any.then_some(rate)));
        let method = if is_observed { "observed" } else { analytic };
        section.insert("uncorrectable_read_rate_method".into(), json!(any.then_some(method)));
        let (uber, interval, method) = self.uber();
        section.insert("uber".into(), json!(any.then_some(uber)));
        section.insert("uber_interval".into(), json!(any.then_some(interval)));
        section.insert("uber_method".into(), json!(any.then_some(method)));
        let limit = self.drive.config.ecc.reliability_class.uber_max();
        let margin = any.then(|| figures.margin(self.drive.errors.fates(), limit)).flatten();
        section.insert("ecc_margin".into(), json!(margin));
        section.insert("recovery".into(), self.recovery());
        if let Some(cells) = figures.cells(self.drive.errors.fates().page_types()) {
            section.insert("cells".into(), cells);
        }
        if self.drive.errors.page_types().tells_pages() || self.drive.config.nand.stress.is_some() {
            let errors = &self.drive.errors;
            let mut raw_errors = figures.raw_errors(errors.fates().page_types());
            if let Some(reads) = errors.reads_per_page_max() {
                raw_errors["reads_per_page_max"] = json!(reads);
            }
            section.insert("raw_errors".into(), raw_errors);
        }
        section
    }

    /// The source of probabilities that were not observed.
    fn analytic_method(&self) -> &'static str {
        match self.drive.config.ecc.algorithm {
            Algorithm::Ldpc if self.errors.extrapolated_reads > 0 => "extrapolated",
            Algorithm::Ldpc => "table",
            Algorithm::None | Algorithm::Bch => "analytic",
        }
    }

    /// Data errors per bit read, their interval, and how they were found: observed if enough
    /// codewords were decoded bit by bit and lost, else from the model, without an interval.
    fn uber(&self) -> (f64, [f64; 2], &'static str) {
        let figures = &self.errors;
        if figures.lost_codewords >= OBSERVED_MIN {
            let bits = figures.decoded_bits;
            let (low, high) = confidence_interval(figures.lost_codewords, bits);
            return (figures.lost_codewords as f64 / bits as f64, [low, high], "observed");
        }
        (figures.uber, [figures.uber; 2], self.analytic_method())
    }

    /// Page reads by the recovery step that corrected them.
    fn recovery(&self) -> Value {
        let figures = &self.errors;
        let rungs =
            self.drive.errors.fates().ladder().rungs().iter().zip(&figures.recovered).skip(1);
        let mut retry = Vec::new();
        let mut soft = Map::new();
        let mut calibrated = None;
        for (rung, &count) in rungs {
            if rung.searching > 0 {
                calibrated = Some(count);
            } else if rung.reads == 1 {
                retry.push(count);
            } else {
                soft.insert(rung.reads.to_string(), json!(count));
            }
        }
        let others =
            figures.recovered.iter().sum::<u64>() + figures.rebuilt + figures.uncorrectable;
        let mut found = json!({
            "first_read": figures.reads.saturating_sub(others),
            "retry": retry,
            "soft": soft,
            "rebuilt": figures.rebuilt,
            "uncorrectable": figures.uncorrectable,
        });
        if let Some(count) = calibrated {
            found["calibrated"] = json!(count);
        }
        let retry = self.drive.config.controller.read_retry.as_ref();
        if retry.is_some_and(|retry| retry.remember) {
            found["remembered"] = json!(figures.remembered);
            found["default_levels"] = json!(figures.recovered[0]);
        }
        found
    }

    fn timed_metrics(&self) -> Map<String, Value> {
        let mut section = Map::new();
        let seconds = self.seconds();
        let [read, written, ..] =
            self.timed.map_or([0; HOST_OP_KINDS], |stage| stage.host.ledger.tally.served_bytes);
        let megabytes = |bytes: u64| seconds.map(|seconds| bytes as f64 * 1e-6 / seconds);
        section.insert(
            "throughput_mb_s".into(),
            json!({"read": megabytes(read), "write": megabytes(written),
                   "total": megabytes(read + written)}),
        );
        let commands =
            self.timed.map_or([0; HOST_OP_KINDS], |stage| stage.host.ledger.tally.served_commands);
        let rate = |count: u64| seconds.map(|seconds| count as f64 / seconds);
        let mut iops = json!({"read": rate(commands[0]), "write": rate(commands[1]),
                              "trim": rate(commands[2]), "total": rate(commands.iter().sum())});
        if commands[3] > 0 {
            iops["flush"] = json!(rate(commands[3]));
        }
        section.insert("iops".into(), iops);
        section.insert("duration_s".into(), json!(seconds));
        section.insert(
            "latency_us".into(),
            json!(self.timed.and_then(|stage| stage
                .host
                .ledger
                .latencies
                .as_deref()
                .map(LatencyBook::to_json))),
        );
        section.insert(
            "outstanding_mean".into(),
            json!(self.timed.and_then(|stage| stage.host.ledger.outstanding_mean())),
        );
        // Keys of drives with the full back end, and of runs that are watched.
        // A drive that has it only because it is watched keeps the figures of one that is not.
        let is_watched_only = !self.drive.config.needs_full();
        let activity = self.timed.and_then(TimedStage::activity);
        if let Some(activity) = activity.filter(|_| !is_watched_only) {
            section.insert("activity".into(), activity);
        }
        if let Some(breakdown) = self.timed.and_then(|stage| stage.host.ledger.breakdown()) {
            section.insert("breakdown".into(), breakdown.to_json());
        }
        if let Some(apart) = self.timed.and_then(|stage| stage.host.ledger.latency_by_collection())
        {
            section.insert("latency_by_collection".into(), apart);
        }
        section
    }

    /// `physical capacity * PE limit * wear efficiency / WAF` in 10^12 bytes; efficiency is mean
    /// over maximum wear.
    fn tbw_tb(&self, wear: &Wear, waf: Option<f64>) -> Option<f64> {
        let waf = waf.filter(|&waf| waf > 0.0)?;
        let capacity =
            self.drive.config.physical_pages() as f64 * self.drive.geometry.page_bytes as f64;
        let cycles = f64::from(self.drive.config.nand.max_pe_cycles?);
        (wear.max > 0).then(|| capacity * 1e-12 * cycles * wear.mean / f64::from(wear.max) / waf)
    }

    /// Cycles that all blocks together can take, over erases per simulated day, times mean over
    /// maximum wear.
    fn lifetime_days(&self, wear: &Wear) -> Option<f64> {
        let erases = self.erases().iter().sum::<u64>();
        let days = self.seconds()? / 86_400.0;
        if erases == 0 || wear.max == 0 {
            return None;
        }
        let cycles = f64::from(self.drive.config.nand.max_pe_cycles?)
            * self.drive.ftl.figures().good_blocks() as f64;
        Some(cycles / (erases as f64 / days) * wear.mean / f64::from(wear.max))
    }

    /// Self-checks. Each must hold in every run; one that fails means that the figures cannot be
    /// trusted.
    fn checks(&self, is_complete: bool) -> Value {
        let (now, then) = (&self.drive.host, &self.start.host);
        let issued = self.timed.map_or_else(
            || difference(&now.commands, &then.commands).iter().sum(),
            |stage| stage.host.ledger.tally.issued,
        );
        let served = self.timed.map_or(issued, |stage| stage.host.ledger.tally.served);
        let error = self.timed.map(|stage| stage.host.ledger.littles_law_error());
        let pending = self.timed.map_or(0, TimedStage::pending_ops);
        let accepted = self.programs()[0]
            + (now.absorbed_pages - then.absorbed_pages)
            + (now.buffer_trimmed_pages - then.buffer_trimmed_pages)
            + (now.rejected_pages - then.rejected_pages)
            + self.drive.buffered_pages() as u64;
        let offered = now.page_writes - then.page_writes + self.start.buffered_pages;
        // An interrupted run must answer at once; the audit examines every page.
        let audit = if is_complete { self.drive.ftl.audit(&self.drive.media) } else { Ok(()) };
        let audited = if is_complete { "passed" } else { "not run: the result is partial" };
        let moved = self.drive.ftl.figures().counters().moves_agree(&self.start.ftl);
        let (violations, unaccounted) = self.timed.map_or((0, 0), TimedStage::violations);
        let littles_law_holds =
            !is_complete || error.is_none_or(|error| error <= LITTLES_LAW_TOLERANCE);
        let tenants = self.timed.and_then(|stage| stage.host.ledger.tenants.as_deref());
        let accounts_agree = tenants.is_none_or(|book| book.served() == served);
        let all_served = !is_complete || (issued == served && pending == 0);
        let program_identity = accepted == offered && moved;
        json!({
            "issued": issued,
            "served": served,
            "littles_law_error": error,
            "program_identity": program_identity,
            "map_audit": audit.as_ref().map_or_else(Clone::clone, |()| audited.into()),
            "flash_violations": violations,
            "passed": all_served
                && accounts_agree
                && littles_law_holds
                && program_identity
                && audit.is_ok()
                && violations == 0 && unaccounted == 0,
            "failures": failures([
                (!all_served, format!("{issued} issued, {served} served, {pending} left over")),
                (!accounts_agree, "the tenants' commands are not those of the drive".into()),
                (!littles_law_holds, format!("Little's law is off by {:e}", error.unwrap_or(0.0))),
                (accepted != offered, format!("{offered} pages offered, {accepted} accounted for")),
                (violations > 0, format!("{violations} operations broke the rules of the flash")),
                (unaccounted > 0, format!("the time of {unaccounted} commands is not accounted")),
                (!moved, "pages read and programmed by collections differ".into()),
                (audit.is_err(), format!("map audit: {}", audit.err().unwrap_or_default())),
            ]),
        })
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let [read_bytes, written_bytes, ..] = self.host_bytes();
        if written_bytes > 0 && self.erases()[1] == 0 {
            warnings.push(
                "GC did not run in the measured part: its effect on latency was not measured"
                    .into(),
            );
        }
        let waiting = self.drive.buffered_pages();
        if waiting > 0 && written_bytes > 0 {
            warnings.push(format!(
                "{waiting} pages still wait in the write buffer: their programs are not counted"
            ));
        }
        warnings.extend(self.sharing_warnings());
        warnings.extend(zones::warning(self.drive, &self.start.zones));
        if self.errors.extrapolated_reads > 0 {
            warnings.push(format!(
                "the error rate of {} of {} page reads lies below the measured frame error rates \
                 of the LDPC code: uber and what follows from it are extrapolated",
                self.errors.extrapolated_reads, self.errors.reads
            ));
        }
        for (name, z) in self.errors.cells_that_differ(self.drive.errors.fates().page_types()) {
            warnings.push(format!(
                "cells of {name} pages have a different number of errors than their states \
                 predict: {z:.1} standard deviations"
            ));
        }
        warnings.extend(self.drive.config.cell_warning());
        warnings.extend(self.errors.lost_cells_warning());
        warnings.extend(self.drive.config.stress_warnings());
        warnings.extend(self.drive.config.plane_warning());
        warnings.extend(self.drive.config.split_warning());
        let parts =
            self.drive.ftl.figures().counters().partial_programs - self.start.ftl.partial_programs;
        let is_padded = self.programs()[Source::Pad as usize] + parts > 0;
        let has_write_back = self.drive.buffer_capacity() > 0 || is_padded;
        let kinds = ["flush commands", "writes with force unit access"];
        for (kind, count) in kinds.into_iter().zip(self.durable_commands()) {
            if count > 0 && !has_write_back {
                warnings.push(format!(
                    "{count} {kind} had no effect: without a write-back cache every write \
                     completes in the flash"
                ));
            }
        }
        let unmapped = self.drive.host.unmapped_read_pages - self.start.host.unmapped_read_pages;
        if unmapped > 0 && read_bytes > 0 {
            warnings.push(format!(
                "{unmapped} page reads hit pages that were never written: they took no flash time"
            ));
        }
        warnings
    }
}

impl Measured<'_> {
    /// Warnings about arbitration settings that had no effect.
    fn sharing_warnings(&self) -> Vec<String> {
        let Some((stage, tenants)) =
            self.timed.and_then(|stage| Some((stage, stage.host.ledger.tenants.as_ref()?)))
        else {
            return Vec::new();
        };
        let mut warnings = Vec::new();
        let arbitration = self.drive.config.host.arbitration();
        if stage.never_arbitrated() {
            warnings.push(
                "arbitration had no effect: the drive accepted every command at once; lower \
                 host.queue_depth_max"
                    .into(),
            );
        }
        if tenants.has_priorities()
            && !matches!(arbitration, Some(ArbitrationConfig::WeightedRoundRobin(_)))
        {
            warnings.push(
                "the priorities of the tenants had no effect: they belong to \
                 host.protocol {kind: nvme, arbitration: weighted_round_robin}"
                    .into(),
            );
        }
        warnings
    }
}

fn failures<const N: usize>(list: [(bool, String); N]) -> Vec<String> {
    list.into_iter().filter(|(failed, _)| *failed).map(|(_, text)| text).collect()
}
