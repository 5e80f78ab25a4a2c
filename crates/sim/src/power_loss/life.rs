//! A drive that is cut again and again, and many of them.

use std::collections::BTreeMap;

use serde_json::{json, Value};

use super::check::{check_drive, Claims, Class, Fault, Reading, Return};
use super::host_log::{Base, HostLog};
use super::records::Records;
use super::recovery::{prepare, sound, Facts, Prepared, Recovered};
use super::rig::{Moment, Rig};
use super::workload::Pattern;
use crate::config::ConfigError;
use crate::device::{
    DeviceConfig, Mounting, PowerLossConfig, Remains, Request, Session, Simulation, TrimLog,
};
use crate::nand::WearOut;
use crate::rng::Rng;
use crate::units::Ns;

/// Requests between two cuts, about.
const REQUESTS_PER_CUT: u64 = 64;
/// Cuts after which the tables of the firmware are checked, and the recovery compared with one that
/// looks at every page.
const AUDIT_EVERY: u32 = 100;
/// Faults of a class of which a life keeps evidence.
const EVIDENCE_MAX: usize = 4;

/// Where a cut is aimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// Any time.
    Random,
    /// While a collection programs.
    Gc,
    /// While a block is erased.
    Erase,
    /// While the journal is written.
    Journal,
    /// While a checkpoint or a root is written.
    Checkpoint,
    /// While a later page of a wordline is programmed.
    UpperPage,
    /// While the write buffer is full.
    PlpDump,
    /// Any time, and again at a step of the recovery.
    Recovery,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Random,
        Self::Gc,
        Self::Erase,
        Self::Journal,
        Self::Checkpoint,
        Self::UpperPage,
        Self::PlpDump,
        Self::Recovery,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Gc => "gc",
            Self::Erase => "erase",
            Self::Journal => "journal",
            Self::Checkpoint => "checkpoint",
            Self::UpperPage => "upper_page",
            Self::PlpDump => "plp_dump",
            Self::Recovery => "recovery",
        }
    }

    /// The target of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    fn moment(self) -> Moment {
        match self {
            Self::Random | Self::Recovery => Moment::Any,
            Self::Gc => Moment::Moves,
            Self::Erase => Moment::Erase,
            Self::Journal => Moment::Journal,
            Self::Checkpoint => Moment::Checkpoint,
            Self::UpperPage => Moment::LaterPass,
            Self::PlpDump => Moment::FullMemory,
        }
    }
}

/// What is tried.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The drive.
    pub device: DeviceConfig,
    /// Patterns, taken in turns by the lives.
    pub patterns: Vec<Pattern>,
    /// Where cuts are aimed, taken in turns by the cuts of a life.
    pub targets: Vec<Target>,
    /// What the drive promises.
    pub claims: Claims,
    /// Cuts of a life.
    pub cuts_per_life: u32,
    /// Longest time to be ready.
    pub mount_limit: Ns,
    /// Decides everything that is drawn.
    pub seed: u64,
}

/// A campaign whose drive is written once, and copied for each life.
pub struct Life {
    campaign: Campaign,
    options: PowerLossConfig,
    first: Remains,
    base: Vec<Base>,
    program: Ns,
    /// Simulated time of about so many requests, by pattern.
    spans: BTreeMap<Pattern, Ns>,
}

/// What lives have shown, which adds up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Cuts.
    pub cuts: u64,
    /// Requests that were acknowledged.
    pub requests: u64,
    /// Logical pages that were read after a cut.
    pub pages_checked: u64,
    /// Recoveries compared with one that looks at every page.
    pub audits: u64,
    /// By number of the guarantee, cuts with a fault of it.
    pub violations: [u64; 11],
    /// By class, cuts with a fault of it, and the first.
    pub classes: BTreeMap<&'static str, (u64, u64)>,
    /// Cuts by target.
    pub targets: BTreeMap<&'static str, u64>,
    /// Sum and maximum of the time to be ready.
    pub mount_time: (u64, u64),
    /// What was interrupted and saved.
    pub torn_pages: u64,
    /// Earlier pages that were damaged.
    pub damaged_pages: u64,
    /// Earlier pages that were kept from damage.
    pub protected_pages: u64,
    /// Interrupted erases.
    pub half_erased: u64,
    /// Pages that capacitors saved.
    pub saved_pages: u64,
    /// Cuts after which the drive knew that its capacitors had not lasted.
    pub partial_saves: u64,
    /// Pages that the host wrote, that the flash programmed, records beside, and what kept earlier
    /// pages of wordlines safe.
    pub programs: [u64; 4],
    /// Time from request to acknowledgement of what was written or trimmed: sum in nanoseconds, and
    /// how many pages.
    pub ack_time: (u64, u64),
    /// Time from request to acknowledgement of flushes: sum in nanoseconds, and how many.
    pub flush_time: (u64, u64),
    /// Most pages that memory held at a cut.
    pub memory_pages_max: u64,
    /// Evidence: life, cut, class, fault in words.
    pub evidence: Vec<Value>,
    /// Simulator errors: tables that disagree.
    pub errors: Vec<String>,
}

impl Tally {
    /// Adds what another life has shown.
    pub fn add(&mut self, other: Self) {
        let before = self.cuts;
        self.cuts += other.cuts;
        self.requests += other.requests;
        self.pages_checked += other.pages_checked;
        self.audits += other.audits;
        for (mine, its) in self.violations.iter_mut().zip(other.violations) {
            *mine += its;
        }
        for (class, (count, first)) in other.classes {
            let known = self.classes.entry(class).or_insert((0, before + first));
            known.0 += count;
        }
        for (target, count) in other.targets {
            *self.targets.entry(target).or_default() += count;
        }
        self.mount_time.0 += other.mount_time.0;
        self.mount_time.1 = self.mount_time.1.max(other.mount_time.1);
        self.torn_pages += other.torn_pages;
        self.damaged_pages += other.damaged_pages;
        self.protected_pages += other.protected_pages;
        self.half_erased += other.half_erased;
        self.saved_pages += other.saved_pages;
        self.partial_saves += other.partial_saves;
        for (mine, its) in self.programs.iter_mut().zip(other.programs) {
            *mine += its;
        }
        self.ack_time.0 += other.ack_time.0;
        self.ack_time.1 += other.ack_time.1;
        self.flush_time.0 += other.flush_time.0;
        self.flush_time.1 += other.flush_time.1;
        self.memory_pages_max = self.memory_pages_max.max(other.memory_pages_max);
        self.evidence.extend(other.evidence);
        self.errors.extend(other.errors);
    }

    /// The same as a document.
    pub fn to_json(&self) -> Value {
        let classes: Vec<Value> = self
            .classes
            .iter()
            .map(|(name, (count, first))| json!({"class": name, "cuts": count, "first_cut": first}))
            .collect();
        let violations: BTreeMap<String, u64> =
            (1..=10).map(|number| (format!("G{number}"), self.violations[number])).collect();
        json!({
            "cuts": self.cuts,
            "requests": self.requests,
            "pages_checked": self.pages_checked,
            "audits": self.audits,
            "violations": violations,
            "classes": classes,
            "targets": self.targets,
            "recovery_ns": {"sum": self.mount_time.0, "max": self.mount_time.1},
            "torn_pages": self.torn_pages,
            "damaged_pages": self.damaged_pages,
            "protected_pages": self.protected_pages,
            "half_erased_blocks": self.half_erased,
            "saved_pages": self.saved_pages,
            "partial_saves": self.partial_saves,
            "host_pages": self.programs[0],
            "flash_pages": self.programs[1],
            "record_pages": self.programs[2],
            "guard_pages": self.programs[3],
            "ack_ns": {"sum": self.ack_time.0, "pages": self.ack_time.1},
            "flush_ns": {"sum": self.flush_time.0, "flushes": self.flush_time.1},
            "memory_pages_max": self.memory_pages_max,
            "evidence": self.evidence,
            "errors": self.errors,
        })
    }
}

impl Life {
    /// Writes the drive of a campaign: every page once, and half of them again at random. Blocks
    /// that are worn are used on: what a cut undoes of taking one out of use is not modelled.
    ///
    /// # Errors
    /// [`ConfigError`] for drives that cannot be cut from power.
    pub fn new(campaign: Campaign) -> Result<Self, ConfigError> {
        let mut device = campaign.device.clone();
        device.nand.wear_out = WearOut::Ignore;
        let timing = device.flash().timing();
        let options = device.power.clone().unwrap_or_default();
        let simulation = Simulation::new(device, campaign.seed);
        let mut session = Session::cuttable(simulation)?;
        let (pages, unit) = (session.logical_pages(), session.unit_bytes());
        let mut rng = Rng::stream(campaign.seed, "power.fill");
        let mut done = Vec::new();
        let mut write = |session: &mut Session, first: u32, count: u32| {
            let (offset, length) = (u64::from(first) * unit, u64::from(count) * unit);
            let request = Request::Zero { offset, length, is_fua: false, is_allocated: true };
            session.begin(Ns(0), 0, request, &mut done)
        };
        let mut outcome = Ok(crate::device::Begun::Done);
        for first in (0..pages).step_by(64) {
            outcome = outcome.and_then(|_| write(&mut session, first, 64.min(pages - first)));
        }
        for _ in 0..pages / 2 {
            let lpn = rng.below(u64::from(pages)) as u32;
            outcome = outcome.and_then(|_| write(&mut session, lpn, 1));
        }
        if outcome.is_err() {
            let message = "the drive finds no room while it is filled; accepted: more";
            return Err(ConfigError::new("ftl.over_provisioning_pct", message));
        }
        let first = session.shut_down();
        let program = Ns(timing.program.iter().map(|time| time.0).min().unwrap_or(0));
        let latest = first.latest(pages, None);
        let base = latest.iter().map(|it| Base { version: it.version, has_data: it.place > 0 });
        let mut life = Self {
            base: base.collect(),
            options,
            first,
            program,
            spans: BTreeMap::new(),
            campaign,
        };
        for pattern in life.campaign.patterns.clone() {
            let span = life.span_of(pattern);
            life.spans.insert(pattern, span);
        }
        Ok(life)
    }

    fn records(&self) -> Records {
        let device = &self.campaign.device;
        let geometry = device.geometry();
        let pages = self.base.len() as u32;
        Records::new(&self.options, pages, geometry.page_bytes, geometry.die_count, self.program)
    }

    /// Simulated time of about so many requests as lie between two cuts.
    fn span_of(&self, pattern: Pattern) -> Ns {
        let Ok((session, _)) = self.first.clone().mount(&Mounting::default()) else {
            return self.program;
        };
        let mut records = self.records();
        records.mounted(&session);
        let rng = Rng::stream(self.campaign.seed, "power.span");
        let mut rig = Rig::new(session, records, &self.options, self.base.clone(), pattern, rng);
        let mut end = Ns(self.program.0 * 16);
        while rig.acked() < REQUESTS_PER_CUT && end.0 < 1 << 50 {
            rig.run(end, Moment::Any, Ns(0), 0.0);
            end = Ns(end.0 + end.0 / 4);
        }
        rig.now()
    }

    /// Lives one life.
    pub fn live(&self, number: u64) -> Tally {
        let mut rng = Rng::stream(self.campaign.seed, &format!("power.life.{number}"));
        let patterns = &self.campaign.patterns;
        let pattern = patterns[(number % patterns.len() as u64) as usize];
        let mut tally = Tally::default();
        let mut base = self.base.clone();
        let Ok((mut session, _)) = self.first.clone().mount(&Mounting::default()) else {
            return tally;
        };
        let mut records = self.records();
        records.mounted(&session);
        for cut in 0..self.campaign.cuts_per_life {
            let before = (session.host_programs(), session.programmed());
            let pages_before = records.pages_written;
            let targets = &self.campaign.targets;
            // Lives begin at different places of the list.
            let target = targets[((number + u64::from(cut)) % targets.len() as u64) as usize];
            let span = self.spans[&pattern];
            let asking = Rng::from_seed(rng.next_u64());
            let mut rig = Rig::new(session, records, &self.options, base, pattern, asking);
            let end = Ns((span.0 as f64 * rng.unit()) as u64);
            let stay = match target {
                Target::Erase => self.erase_time(),
                Target::Checkpoint => rig.checkpoint_time(),
                _ => self.program,
            };
            let at = rig.run(end, target.moment(), stay, rng.unit());
            tally.requests += rig.acked();
            if rig.hangs() {
                tally.errors.push(format!("life {number}, cut {cut}: the drive hangs"));
            }
            if rig.broken_rules() > 0 {
                tally
                    .errors
                    .push(format!("life {number}, cut {cut}: an order of the flash is broken"));
            }
            let programs = rig.programs();
            tally.programs[0] += programs.0 - before.0;
            tally.programs[1] += programs.1 - before.1;
            let (guard_pages, flush_time) = rig.kept();
            tally.programs[3] += guard_pages;
            tally.flush_time.0 += flush_time.0;
            tally.flush_time.1 += flush_time.1;
            *tally.targets.entry(target.name()).or_default() += 1;
            let (aftermath, log) = rig.cut(at);
            for it in &log.asked {
                if let Some(acked) = it.acked {
                    tally.ack_time.0 += (acked - it.issued).0;
                    tally.ack_time.1 += 1;
                }
            }
            let in_memory = aftermath.in_memory.len() as u64;
            tally.memory_pages_max = tally.memory_pages_max.max(in_memory);
            let mut prepared = prepare(aftermath, &log, &self.options, self.program, &mut rng);
            let mut faults = Vec::new();
            let is_audit = cut % AUDIT_EVERY == AUDIT_EVERY - 1;
            let whole = (is_audit || target == Target::Recovery).then(|| {
                let mut whole = prepared.copy();
                whole.mounting.checkpoint = None;
                whole
            });
            if target == Target::Recovery {
                prepared.mounting.until = Some(rng.below(u64::from(prepared.steps())) as u32);
            }
            let recovered = mount(prepared);
            if let Some(whole) = whole {
                tally.audits += 1;
                faults.extend(self.differs(&recovered, &mount(whole)));
                if let Err(error) = recovered.session.audit_tables() {
                    tally.errors.push(format!("life {number}, cut {cut}: {error}"));
                }
            }
            self.judge(&recovered, &log, &mut faults);
            tally.pages_checked += self.base.len() as u64;
            let place = (number, cut, pattern, target, at);
            note(&mut tally, &recovered, &faults, place);
            // In the room of what was known before.
            base = log.base;
            base.clear();
            let known = recovered.session.known();
            base.extend(known.map(|(version, has_data)| Base { version, has_data }));
            (session, records) = (recovered.session, recovered.records);
            tally.programs[2] += records.pages_written - pages_before;
            tally.cuts += 1;
        }
        tally
    }

    fn erase_time(&self) -> Ns {
        self.campaign.device.flash().timing().erase
    }

    fn judge(&self, recovered: &Recovered, log: &HostLog, faults: &mut Vec<Fault>) {
        let ready = (!recovered.facts.is_dead).then_some(recovered.report.time);
        let back = Return { ready, limit: self.campaign.mount_limit };
        // A second recovery is held against this one elsewhere; a session answers as its flash is.
        let again: Option<fn(u32) -> Reading> = None;
        let look = recovered.session.look();
        let reading = |lpn| recovered.reading(&look, lpn);
        faults.extend(check_drive(log, self.campaign.claims, back, reading, again));
    }

    /// Two recoveries from the same cut answer alike.
    fn differs(&self, one: &Recovered, other: &Recovered) -> Option<Fault> {
        let looks = [one, other].map(|it| it.session.look());
        let differs = |&lpn: &u32| {
            let answers = (sound(&looks[0], lpn), sound(&looks[1], lpn));
            // What was trimmed is open where trims are not recorded.
            let is_open = self.options.trim_log == TrimLog::Volatile
                && [answers.0, answers.1].contains(&Reading::Empty);
            answers.0 != answers.1 && !is_open
        };
        let lpn = (0..self.base.len() as u32).find(differs)?;
        Some(Fault {
            guarantee: 9,
            class: Class::UnstableRead,
            lpn: Some(lpn),
            owed: 0,
            found: Some(sound(&looks[0], lpn)),
        })
    }
}

/// Mounts, again where the power failed on the way.
fn mount(prepared: Prepared) -> Recovered {
    let mut prepared = prepared;
    loop {
        match prepared.mount() {
            Ok(recovered) => return recovered,
            Err(left) => prepared = *left,
        }
    }
}

fn note(
    tally: &mut Tally,
    recovered: &Recovered,
    faults: &[Fault],
    (life, cut, pattern, target, at): (u64, u32, Pattern, Target, Ns),
) {
    let Facts { torn_pages, damaged_pages, protected_pages, half_erased, saved_pages, .. } =
        recovered.facts;
    tally.torn_pages += torn_pages;
    tally.damaged_pages += damaged_pages;
    tally.protected_pages += protected_pages;
    tally.half_erased += half_erased;
    tally.saved_pages += saved_pages;
    tally.partial_saves += u64::from(recovered.facts.is_partial_save);
    tally.mount_time.0 += recovered.report.time.0;
    tally.mount_time.1 = tally.mount_time.1.max(recovered.report.time.0);
    let mut guarantees: Vec<u8> = faults.iter().map(|fault| fault.guarantee).collect();
    guarantees.sort_unstable();
    guarantees.dedup();
    for number in guarantees {
        tally.violations[usize::from(number)] += 1;
    }
    let mut classes: Vec<Class> = faults.iter().map(|fault| fault.class).collect();
    classes.sort_unstable();
    classes.dedup();
    for class in classes {
        let cuts = tally.cuts;
        let known = tally.classes.entry(class.name()).or_insert((0, cuts));
        known.0 += 1;
        let kept = tally.evidence.iter().filter(|it| it["class"] == class.name()).count();
        let fault = faults.iter().find(|fault| fault.class == class);
        if let Some(fault) = fault.filter(|_| kept < EVIDENCE_MAX) {
            tally.evidence.push(json!({
                "life": life,
                "cut": cut,
                "workload": pattern.name(),
                "at": target.name(),
                "cut_ns": at.0,
                "class": class.name(),
                "guarantee": format!("G{}", fault.guarantee),
                "unit": fault.lpn,
                "owed_version": fault.owed,
                "found": fault.found.map(|found| found.to_string()),
            }));
        }
    }
}
