//! A served drive that may lose its power: the notes of its firmware for that, and the effects of a
//! cut and the next start.
//!
//! ```text
//! session ── cut ──► flash ─ physics of interrupted operations ─► mount ─► session, and pages that
//!    │ trims, versions: on the flash                                     give errors afterwards
//! ```
//! The options of `power` that change what a flush, a trim, an acknowledgement and a cut of a
//! program mean work as in a simulated campaign. Those that make the drive believe wrong records
//! are refused: there the answers are laid over those of a sound drive, and here pages have bytes.
//! Trims are recorded when they arrive, and the mount examines every page, so a start takes longer
//! than with a checkpoint.

use std::collections::BTreeSet;
use std::sync::Arc;

use opennandlab_sim::config::ConfigError;
use opennandlab_sim::drive::{
    FlushBehaviour, MapOrder, Mounting, Plp, PowerLossConfig, SeqReorder, SubpageWrite, TrimLog,
};
use opennandlab_sim::nand::Unit;
use opennandlab_sim::power_loss::{brown_out, interrupt_operations, pages_saved, CutEffects};
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::Session;
use opennandlab_sim::units::{Lpn, Ns};
use serde_json::{json, Value};

/// The newest write or trim of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    version: u32,
    sequence: u64,
    is_trim: bool,
}

/// See the module.
pub struct Supply {
    config: PowerLossConfig,
    /// Time of the fastest program.
    program: Ns,
    rng: Rng,
    newest: Vec<Newest>,
    /// By page, the version of its newest trim.
    trims: Vec<u32>,
    /// Pages whose newest data is gone, and which the drive knows to have had some.
    unreadable: BTreeSet<u32>,
    cuts: u64,
    facts: CutEffects,
    partial_saves: u64,
    mount_max: Ns,
}

impl Supply {
    /// A drive that may lose power, mounted from its flash.
    ///
    /// # Errors
    /// [`ConfigError`] for drives that cannot be cut, and options that a served drive has not.
    ///
    /// # Panics
    /// Never: a mount that is not cut completed.
    pub fn new(
        simulation: Simulation,
        image: &[u8],
        seed: u64,
    ) -> Result<(Session, Self), ConfigError> {
        let device = simulation.config().clone();
        let config = device.power.clone().unwrap_or_default();
        check(&config)?;
        let program = device.flash().timing().program.iter().copied().min().unwrap_or(Ns(0));
        let mut session = Session::cuttable(simulation)?;
        session.load_contents(image).map_err(|error| ConfigError::new("image", error))?;
        let pages = session.logical_pages() as usize;
        let versions = session.known().map(|(version, _)| version).collect();
        let mounting = Mounting { versions, ..Mounting::default() };
        let mounted = session.shut_down().mount(&mounting);
        let Ok((session, _)) = mounted else { unreachable!("nothing interrupts this mount") };
        let supply = Self {
            config,
            program,
            rng: Rng::stream(seed, "serve.power"),
            newest: vec![Newest::default(); pages],
            trims: vec![0; pages],
            unreadable: BTreeSet::new(),
            cuts: 0,
            facts: CutEffects::default(),
            partial_saves: 0,
            mount_max: Ns(0),
        };
        Ok((session, supply))
    }

    /// Whether a flush is answered at once, and not done.
    pub fn ignores_flushes(&self) -> bool {
        self.config.flush == FlushBehaviour::Ignored
    }

    /// Whether a write completes only on the flash.
    pub fn writes_through(&self) -> bool {
        self.config.seq_reorder == SeqReorder::InOrder && !self.config.has_capacitors()
    }

    /// Whether a page of a range cannot be read.
    pub fn is_unreadable(&self, pages: std::ops::Range<u64>) -> bool {
        !self.unreadable.is_empty()
            && self.unreadable.range(pages.start as u32..pages.end as u32).next().is_some()
    }

    /// A request is begun that writes these pages, or trims those of them that are held.
    pub fn note(
        &mut self,
        session: &Session,
        pages: std::ops::Range<u64>,
        (sequence, is_trim): (u64, bool),
    ) {
        for page in pages {
            let page = page as u32;
            self.unreadable.remove(&page);
            let version = session.version(Lpn(page));
            let newest = &mut self.newest[page as usize];
            if version > newest.version {
                *newest = Newest { version, sequence, is_trim };
                if is_trim {
                    self.trims[page as usize] = version;
                }
            }
        }
    }

    /// All data is purged, and with it the pages whose data was lost.
    pub fn forget_losses(&mut self) {
        self.unreadable.clear();
    }

    /// The power fails at a time up to which the drive has worked, and comes back. Returns the
    /// drive and how long it takes until it is ready.
    pub fn cut(&mut self, session: Session, at: Ns) -> (Session, Ns) {
        let versions: Vec<u32> = session.known().map(|(version, _)| version).collect();
        let (mut remains, mut running, in_memory) = session.cut(at);
        brown_out(&mut running, Ns::from_us(self.config.ramp_us));
        let struck = interrupt_operations(&mut remains, &running, &self.config, &mut self.rng);
        let units = remains.units_per_page();
        let pages = pages_saved(self.config.plp, at, self.program, units);
        let is_complete = self.save(&mut remains.saved, in_memory, pages);
        let keeps_trims = self.config.trim_log == TrimLog::Persistent
            || self.config.has_capacitors() && is_complete;
        let trims = if keeps_trims { Arc::new(self.trims.clone()) } else { Arc::default() };
        let mounting =
            Mounting { trims, versions, suspects: struck.suspects, ..Mounting::default() };
        let mounted = remains.mount(&mounting);
        let Ok((session, report)) = mounted else { unreachable!("nothing interrupts this mount") };
        self.unreadable.extend(struck.unreadable);
        self.newest.fill(Newest::default());
        self.cuts += 1;
        self.facts.torn_pages += struck.facts.torn_pages;
        self.facts.damaged_pages += struck.facts.damaged_pages;
        self.facts.protected_pages += struck.facts.protected_pages;
        self.facts.half_erased += struck.facts.half_erased;
        self.partial_saves += u64::from(!is_complete);
        self.mount_max = self.mount_max.max(report.time);
        (session, report.time)
    }

    /// Saves the newest copies of pages in memory, oldest first, at most `pages`, since the
    /// capacitors last no longer; returns whether all were saved.
    fn save(
        &mut self,
        saved: &mut Vec<Unit>,
        mut in_memory: Vec<Unit>,
        pages: Option<usize>,
    ) -> bool {
        let Some(pages) = pages else { return true };
        let newest = |unit: &Unit| self.newest[unit.lpn as usize];
        // Copies that are moved still have their old place, and overwritten ones are not needed.
        in_memory.retain(|unit| newest(unit).version == unit.version && !newest(unit).is_trim);
        in_memory.sort_by_key(|unit| (newest(unit).sequence, unit.lpn));
        in_memory.dedup_by_key(|unit| unit.lpn);
        let is_complete = in_memory.len() <= pages;
        in_memory.truncate(pages);
        self.facts.saved_pages += in_memory.len() as u64;
        saved.extend(in_memory);
        is_complete
    }

    /// Losses of power.
    pub fn cuts(&self) -> u64 {
        self.cuts
    }

    /// What the drive counts: `{unsafe_shutdowns, …}`.
    pub fn status(&self) -> Value {
        json!({
            "unsafe_shutdowns": self.cuts,
            "capacitor_failures": self.partial_saves,
            "torn_pages": self.facts.torn_pages,
            "damaged_pages": self.facts.damaged_pages,
            "protected_pages": self.facts.protected_pages,
            "half_erased_blocks": self.facts.half_erased,
            "saved_pages": self.facts.saved_pages,
            "ready_us_max": self.mount_max.0 as f64 / 1e3,
        })
    }
}

/// Options of a served drive.
fn check(config: &PowerLossConfig) -> Result<(), ConfigError> {
    let refused = |key: &str, accepted: &str| {
        let message = format!(
            "a served drive whose power is cut knows only `{accepted}`; `power run --config` knows \
             the others"
        );
        Err(ConfigError::new(format!("power.{key}"), message))
    };
    if matches!(config.flush, FlushBehaviour::Delayed { .. }) {
        return refused("flush", "honest, ignored");
    }
    if matches!(config.plp, Plp::Capacitor { charge_ms, .. } if charge_ms > 0.0) {
        return refused("plp.charge_ms", "0");
    }
    if !config.journal_crc {
        return refused("journal_crc", "true");
    }
    if !config.root_pairs {
        return refused("root_pairs", "true");
    }
    if config.map_order != MapOrder::DataBeforeMap {
        return refused("map_order", "data_before_map");
    }
    if config.subpage_write != SubpageWrite::FullPage {
        return refused("subpage_write", "full_page");
    }
    Ok(())
}
