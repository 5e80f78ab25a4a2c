//! What a timed stage, or the window of a cell, drew from the supply: `metrics.power`.
//!
//! ```text
//! joules = sum over causes of count x energy      counts: [`Work`], or counters of the FTL
//!        + idle power x duration                  mean_w = joules / duration
//! ```
//! Nothing is added up while the stage runs: it is the difference of two looks. All operations that
//! a stage issued count, also those that ended after its last command was complete; they are the
//! ones that `metrics.programs` counts. A command that is suspended costs nothing more.

use serde_json::{json, Map, Value};

use crate::controller::{PowerConfig, Work};
use crate::drive::Drive;
use crate::ftl::FtlCounters;
use crate::nand::EnergyConfig;
use crate::op::{Source, SOURCE_COUNT, SOURCE_NAMES};
use crate::timed::TimedStage;
use crate::units::Ns;

/// What a stage has done until the completion of a command.
#[derive(Clone, Default)]
pub(super) struct Effort {
    /// Of the dies; `None` if the device does not state their energies.
    work: Option<Work>,
    /// When the last command completed, and how much of that time commands were outstanding.
    at: Ns,
    busy: Ns,
    commands: u64,
    host_bytes: u64,
}

impl Effort {
    /// Whether the device states its consumption.
    pub(super) fn is_known(drive: &Drive) -> bool {
        drive.config.flash().energy.is_some() || drive.config.controller.power.is_some()
    }

    /// Looks at a stage, which began with these counters of the FTL.
    pub(super) fn of(drive: &Drive, stage: &TimedStage, start: &FtlCounters) -> Self {
        let ledger = &stage.host.ledger;
        let plain = || plain_work(drive, start, &stage.clockwork.backend.memory_reads());
        let has_energy = drive.config.flash().energy.is_some();
        Self {
            work: has_energy.then(|| stage.work().cloned().unwrap_or_else(plain)),
            at: ledger.tally.last_completion,
            busy: ledger.busy(),
            commands: ledger.tally.served_commands.iter().sum(),
            host_bytes: ledger.tally.served_bytes[..2].iter().sum(),
        }
    }
}

/// See the module. Joules, by what took them.
#[derive(Default)]
pub(super) struct Consumed {
    /// Kinds of array operations, by reason.
    arrays: Vec<(&'static str, [f64; SOURCE_COUNT])>,
    /// Everything else.
    others: Vec<(&'static str, f64)>,
    seconds: f64,
    commands: u64,
    host_bytes: u64,
}

impl Consumed {
    /// What a stage drew between two looks at it; `None` if the device states neither its energies
    /// nor its power.
    pub(super) fn between(drive: &Drive, then: &Effort, now: &Effort) -> Option<Self> {
        if !Effort::is_known(drive) {
            return None;
        }
        let mut consumed = Self {
            seconds: (now.at - then.at).as_seconds(),
            commands: now.commands - then.commands,
            host_bytes: now.host_bytes - then.host_bytes,
            ..Self::default()
        };
        if let (Some(energy), Some(work)) = (&drive.config.flash().energy, &now.work) {
            let work = then.work.as_ref().map_or_else(|| work.clone(), |before| work.since(before));
            consumed.add_flash(energy, &work, drive);
        }
        if let Some(power) = &drive.config.controller.power {
            consumed.add_controller(power, (now.busy - then.busy).as_seconds());
        }
        Some(consumed)
    }

    fn add_flash(&mut self, energy: &EnergyConfig, work: &Work, drive: &Drive) {
        let flash = drive.config.flash_geometry();
        let pages_per_slot =
            f64::from(flash.flash_pages_per_block()) / f64::from(flash.pages_per_block);
        let by_mode = |counts: &[[u64; SOURCE_COUNT]; 2], uj: [f64; 2]| {
            let joules =
                |source| (0..2).map(|mode| counts[mode][source] as f64 * uj[mode]).sum::<f64>();
            std::array::from_fn(|source| joules(source) * 1e-6)
        };
        let reads = by_mode(&work.sensed, energy.reads_uj());
        let programs = energy.programs_uj().map(|uj| uj * pages_per_slot);
        let programs = by_mode(&work.programmed, programs);
        let erases = work.erased.map(|blocks| blocks as f64 * energy.erase_uj * 1e-6);
        self.arrays = vec![("array_reads", reads), ("programs", programs), ("erases", erases)];
        let kib = drive.config.flash().page_size_bytes as f64 / 1024.0 * pages_per_slot;
        let transfers = work.crossings as f64 * kib * energy.transfer_nj_per_kib * 1e-9;
        let idle = f64::from(flash.die_count) * energy.idle_mw * 1e-3 * self.seconds;
        self.others.extend([("transfers", transfers), ("idle_dies", idle)]);
    }

    fn add_controller(&mut self, power: &PowerConfig, busy_s: f64) {
        let idle = power.idle_w * (self.seconds - busy_s);
        let commands = self.commands as f64 * power.command_uj * 1e-6;
        let kib = self.host_bytes as f64 / 1024.0;
        self.others.extend([
            ("controller", idle + power.active_w() * busy_s),
            ("commands", commands),
            ("host_transfers", kib * power.host_nj_per_kib * 1e-9),
        ]);
    }

    /// `{joules, joules_by_source, mean_w, iops_per_w, mb_s_per_w, joules_per_host_gb}`.
    pub(super) fn to_json(&self) -> Value {
        let mut joules = Map::new();
        let mut by_source = Map::new();
        let mut total = 0.0;
        for (name, parts) in &self.arrays {
            let sum: f64 = parts.iter().sum();
            let named = SOURCE_NAMES.iter().zip(parts).filter(|(_, &part)| part > 0.0);
            let named = named.map(|(source, part)| ((*source).to_owned(), json!(part)));
            by_source.insert((*name).into(), Value::Object(named.collect()));
            joules.insert((*name).into(), json!(sum));
            total += sum;
        }
        for &(name, part) in &self.others {
            joules.insert(name.into(), json!(part));
            total += part;
        }
        joules.insert("total".into(), json!(total));
        let over = |amount: f64, below: f64| (below > 0.0).then_some(amount / below);
        let gigabytes = self.host_bytes as f64 * 1e-9;
        let mut section = json!({
            "joules": joules,
            "mean_w": over(total, self.seconds),
            // Rates over mean power: the duration is in both.
            "iops_per_w": over(self.commands as f64, total),
            "mb_s_per_w": over(gigabytes * 1e3, total),
            "joules_per_host_gb": over(total, gigabytes),
        });
        if !by_source.is_empty() {
            section["joules_by_source"] = Value::Object(by_source);
        }
        section
    }
}

/// What the dies did on the plain back end, which joins nothing and has one kind of blocks.
fn plain_work(drive: &Drive, then: &FtlCounters, from_memory: &[u64; SOURCE_COUNT]) -> Work {
    let now = drive.ftl.figures().counters();
    let since = |now: &[u64; SOURCE_COUNT], then: &[u64; SOURCE_COUNT]| {
        std::array::from_fn(|source| now[source] - then[source])
    };
    let none = [0; SOURCE_COUNT];
    let asked: [u64; SOURCE_COUNT] = since(&now.reads, &then.reads);
    let sensed = std::array::from_fn(|source| asked[source] - from_memory[source]);
    let programmed = since(&now.programs, &then.programs);
    let mut erased = since(&now.erases, &then.erases);
    erased[Source::Gc as usize] += now.failed_erases - then.failed_erases;
    let crossings = sensed.iter().chain(&programmed).sum();
    Work { sensed: [sensed, none], programmed: [programmed, none], erased, crossings }
}
