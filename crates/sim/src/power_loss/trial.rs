//! One cut of a drive: traffic, the power fails, the drive comes back, and is judged.

use serde_json::json;

use super::check::{check_changed, Claims, Class, Fault, MountOutcome, Reading};
use super::host_log::{HostLog, KnownPage};
use super::records::Records;
use super::recovery::{prepare, sound, CutEffects, Prepared, Recovered};
use super::rig::{Moment, Rig, Subject};
use super::tally::{ClassCuts, Pages, Tally};
use super::target::Target;
use super::workload::Pattern;
use crate::drive::{DeviceConfig, PowerLossConfig, TrimLog};
use crate::reads::ReadMemory;
use crate::rng::Rng;
use crate::session::Session;
use crate::units::Ns;

/// Faults of a class of which a tally keeps evidence.
const EVIDENCE_MAX: usize = 4;

/// The course of events until a cut.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// The number of the life, and of the cut in it.
    pub(super) life: u64,
    pub(super) cut: u32,
    pub(super) pattern: Pattern,
    pub(super) target: Target,
    pub(super) until: Until,
    /// The share of the drive, from its first page on, that is written.
    pub(super) share: f64,
}

/// How long the host works.
#[derive(Clone, Copy)]
pub(super) enum Until {
    /// At most this time.
    Within(Ns),
    /// Until a number of requests, drawn below this one, were acknowledged.
    Requests(u64),
}

/// The state after a cut, apart from the drive.
pub(super) struct Left {
    /// How long it had power.
    pub(super) powered: Ns,
    /// The state of the reads of the flash at that time.
    pub(super) reads: Option<ReadMemory>,
    /// Pages that the recovery programmed.
    pub(super) recovered_pages: u64,
}

/// See the module.
pub(super) struct Trial<'a> {
    device: &'a DeviceConfig,
    options: &'a PowerLossConfig,
    claims: Claims,
    mount_limit: Ns,
    /// Cuts after which the tables of the firmware are checked, all pages are judged, not only
    /// those that may have changed, and the recovery is compared with one that reads every page.
    audit_every: u32,
    /// Time of the shortest program.
    program: Ns,
}

impl<'a> Trial<'a> {
    pub(super) fn new(
        device: &'a DeviceConfig,
        options: &'a PowerLossConfig,
        claims: Claims,
        mount_limit: Ns,
        audit_every: u32,
    ) -> Self {
        let timing = device.flash().timing();
        let program = Ns(timing.program.iter().map(|time| time.0).min().unwrap_or(0));
        Self { device, options, claims, mount_limit, audit_every, program }
    }

    /// Time of the shortest program.
    pub(super) fn program(&self) -> Ns {
        self.program
    }

    /// A drive that was just mounted, or is to be treated so: its records begin again.
    pub(super) fn subject(&self, session: Session, base: Vec<KnownPage>) -> Subject {
        let geometry = self.device.geometry();
        let (page_bytes, dies) = (geometry.page_bytes, geometry.die_count);
        let pages = base.len() as u32;
        let mut records = Records::new(self.options, pages, page_bytes, dies, self.program);
        records.mounted(&session);
        Subject { session, records, base }
    }

    /// Simulated time of about `count` requests.
    pub(super) fn span_of(&self, subject: Subject, pattern: Pattern, rng: Rng, count: u64) -> Ns {
        let pages = subject.base.len() as u32;
        let mut rig = Rig::new(subject, self.options, pattern, pages, rng);
        let mut end = Ns(self.program.0 * 16);
        while rig.acked() < count && end.0 < 1 << 50 {
            rig.run(end, Moment::Any, Ns(0), 0.0);
            end = Ns(end.0 + end.0 / 4);
        }
        rig.now()
    }

    /// Cuts a drive, and gives it back when it has come back.
    pub(super) fn cut(
        &self,
        subject: Subject,
        how: How,
        rng: &mut Rng,
        tally: &mut Tally,
    ) -> Subject {
        self.cut_with(subject, how, rng, tally, |_| None).0
    }

    /// The same, with what the cut left; `reads` is asked just before the cut.
    pub(super) fn cut_with(
        &self,
        subject: Subject,
        how: How,
        rng: &mut Rng,
        tally: &mut Tally,
        reads: impl Fn(&Session) -> Option<ReadMemory>,
    ) -> (Subject, Left) {
        let How { life, cut, pattern, target, .. } = how;
        let before = Pages {
            host: subject.session.host_programs(),
            flash: subject.session.programmed(),
            record: subject.records.pages_written,
            guard: 0,
        };
        let checkpoint = subject.session.mounted_checkpoint();
        let asking = Rng::from_seed(rng.next_u64());
        let pages = (subject.base.len() as f64 * how.share) as u32;
        let mut rig = Rig::new(subject, self.options, pattern, pages.max(1), asking);
        let end = match how.until {
            Until::Within(span) => Ns((span.0 as f64 * rng.unit()) as u64),
            Until::Requests(count) => self.worked_off(&mut rig, rng.below(count), rng.unit()),
        };
        let stay = match target {
            Target::Erase => self.device.flash().timing().erase,
            Target::Checkpoint => rig.checkpoint_and_root_time(),
            _ => self.program,
        };
        let at = rig.run(end, target.moment(), stay, rng.unit());
        note_traffic(tally, &mut rig, before, how);
        let reads = reads(rig.session());
        let (aftermath, log) = rig.cut(at);
        for it in &log.asked {
            if let Some(acked) = it.acked {
                tally.acks.note(acked - it.issued);
            }
        }
        let in_memory = aftermath.in_memory.len() as u64;
        tally.memory_pages_max = tally.memory_pages_max.max(in_memory);
        let prepared = prepare(aftermath, &log, self.options, self.program, rng);
        let is_audit = cut % self.audit_every == self.audit_every - 1;
        let (mut recovered, unstable) =
            self.recover(prepared, how, is_audit, log.base.len(), rng, tally);
        recovered.read_marked();
        let changed = recovered.changed(&log, &checkpoint);
        let found = self.judge(&recovered, &log, changed.into_iter());
        if is_audit && found != self.judge(&recovered, &log, 0..log.base.len() as u32) {
            let what = "a check of all pages finds other faults than one of those that changed";
            tally.errors.push(format!("life {life}, cut {cut}: {what}"));
        }
        let faults: Vec<Fault> = unstable.into_iter().chain(found).collect();
        tally.pages_checked += log.base.len() as u64;
        note(tally, &recovered, &faults, how, at);
        // Reuses the memory of the old base.
        let mut base = log.base;
        base.clear();
        let known = recovered.session.known();
        base.extend(known.map(|(version, has_data)| KnownPage { version, has_data }));
        let recovered_pages = recovered.report.programmed_pages;
        let subject = Subject { session: recovered.session, records: recovered.records, base };
        tally.pages.record += subject.records.pages_written - before.record;
        tally.cuts += 1;
        (subject, Left { powered: at, reads, recovered_pages })
    }

    /// Mounts, and compares with a mount that reads every page if there is an audit or the
    /// power fails again: the fault if they differ.
    fn recover(
        &self,
        mut prepared: Prepared,
        how: How,
        is_audit: bool,
        pages: usize,
        rng: &mut Rng,
        tally: &mut Tally,
    ) -> (Recovered, Option<Fault>) {
        let How { life, cut, target, .. } = how;
        let whole = (is_audit || target == Target::Recovery).then(|| {
            let mut whole = prepared.copy();
            whole.mounting.checkpoint = None;
            whole
        });
        if target == Target::Recovery {
            prepared.mounting.until = Some(rng.below(u64::from(prepared.steps())) as u32);
        }
        let recovered = mount(prepared);
        let Some(whole) = whole else { return (recovered, None) };
        tally.audits += 1;
        let unstable = self.differs(&recovered, &mount(whole), pages);
        if let Err(error) = recovered.session.audit_tables() {
            tally.errors.push(format!("life {life}, cut {cut}: {error}"));
        }
        (recovered, unstable)
    }

    /// Lets the host work until `count` requests are acknowledged, and a share of a program longer.
    fn worked_off(&self, rig: &mut Rig, count: u64, share: f64) -> Ns {
        let mut end = Ns(0);
        let mut patience = 1 << 16;
        while rig.acked() < count && patience > 0 {
            end = Ns(end.0 + self.program.0);
            patience -= 1;
            rig.run(end, Moment::Any, Ns(0), 0.0);
        }
        Ns(end.0 + (self.program.0 as f64 * share) as u64)
    }

    fn judge(
        &self,
        recovered: &Recovered,
        log: &HostLog,
        pages: impl Iterator<Item = u32>,
    ) -> Vec<Fault> {
        let ready = (!recovered.facts.is_dead).then_some(recovered.report.time);
        let back = MountOutcome { ready, limit: self.mount_limit };
        // A second recovery is compared with this one elsewhere; a session answers as its flash is.
        let again: Option<fn(u32) -> Reading> = None;
        let view = recovered.session.map_view();
        let reading = |lpn| recovered.reading(&view, lpn);
        check_changed(log, self.claims, back, pages, reading, again)
    }

    /// Two recoveries from the same cut answer alike.
    fn differs(&self, one: &Recovered, other: &Recovered, pages: usize) -> Option<Fault> {
        let views = [one, other].map(|it| it.session.map_view());
        let differs = |&lpn: &u32| {
            let answers = (sound(&views[0], lpn), sound(&views[1], lpn));
            // Trimmed pages may differ if trims are not recorded.
            let is_open = self.options.trim_log == TrimLog::Volatile
                && [answers.0, answers.1].contains(&Reading::Empty);
            answers.0 != answers.1 && !is_open
        };
        let lpn = (0..pages as u32).find(differs)?;
        Some(Fault {
            guarantee: 9,
            class: Class::UnstableRead,
            lpn: Some(lpn),
            owed: 0,
            found: Some(sound(&views[0], lpn)),
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

/// Adds the traffic before a cut; `before` are the pages of the drive before it.
fn note_traffic(tally: &mut Tally, rig: &mut Rig, before: Pages, how: How) {
    let How { life, cut, target, .. } = how;
    tally.requests += rig.acked();
    let mut error = |what: &str| tally.errors.push(format!("life {life}, cut {cut}: {what}"));
    if rig.hangs() {
        error("the drive hangs");
    }
    if rig.broken_rules() > 0 {
        error("an order of the flash is broken");
    }
    tally.pages.host += rig.session().host_programs() - before.host;
    tally.pages.flash += rig.session().programmed() - before.flash;
    tally.pages.guard += rig.guard_pages();
    tally.flushes.add(rig.flushes());
    *tally.targets.entry(target.name()).or_default() += 1;
}

/// Adds the effects of a cut and the faults after it.
fn note(tally: &mut Tally, recovered: &Recovered, faults: &[Fault], how: How, at: Ns) {
    let CutEffects { torn_pages, damaged_pages, protected_pages, half_erased, saved_pages, .. } =
        recovered.facts;
    tally.torn_pages += torn_pages;
    tally.damaged_pages += damaged_pages;
    tally.protected_pages += protected_pages;
    tally.half_erased += half_erased;
    tally.saved_pages += saved_pages;
    tally.partial_saves += u64::from(recovered.facts.is_partial_save);
    tally.mounts.sum_ns += recovered.report.time.0;
    tally.mounts.max_ns = tally.mounts.max_ns.max(recovered.report.time.0);
    let mut guarantees: Vec<u8> = faults.iter().map(|fault| fault.guarantee).collect();
    guarantees.sort_unstable();
    guarantees.dedup();
    for number in guarantees {
        *tally.violations.entry(number).or_default() += 1;
    }
    let mut classes: Vec<Class> = faults.iter().map(|fault| fault.class).collect();
    classes.sort_unstable();
    classes.dedup();
    for class in classes {
        let first_cut = tally.cuts;
        tally.classes.entry(class.name()).or_insert(ClassCuts { cuts: 0, first_cut }).cuts += 1;
        let kept = tally.evidence.iter().filter(|it| it["class"] == class.name()).count();
        let fault = faults.iter().find(|fault| fault.class == class);
        if let Some(fault) = fault.filter(|_| kept < EVIDENCE_MAX) {
            tally.evidence.push(json!({
                "life": how.life,
                "cut": how.cut,
                "workload": how.pattern.name(),
                "at": how.target.name(),
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
