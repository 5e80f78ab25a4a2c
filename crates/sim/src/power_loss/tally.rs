//! The targets of cuts, and the sums of their findings.

use std::collections::BTreeMap;

use serde_json::{json, Value};

use super::rig::Moment;

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

    pub(super) fn moment(self) -> Moment {
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
    /// Interrupted pages that cannot be read.
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
    /// Pages that the host wrote, that the flash programmed, that hold records, and that keep
    /// earlier pages of wordlines safe.
    pub programs: [u64; 4],
    /// Time from request to acknowledgement of writes and trims: sum in nanoseconds, and number of
    /// pages.
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
