//! The sums of the findings of many cuts.

use std::collections::BTreeMap;

use serde_json::{json, Value};

use crate::units::Ns;

/// Cuts with a fault of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCuts {
    /// How many.
    pub cuts: u64,
    /// The first of them, counted from 0.
    pub first_cut: u64,
}

/// Pages that were programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// Written by the host.
    pub host: u64,
    /// Programmed by the flash.
    pub flash: u64,
    /// Of the journal, checkpoints and roots.
    pub record: u64,
    /// Copied or left empty to keep earlier pages of wordlines safe.
    pub guard: u64,
}

/// Times of mounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MountTimes {
    /// Sum in nanoseconds.
    pub sum_ns: u64,
    /// The longest in nanoseconds.
    pub max_ns: u64,
}

/// Times from request to acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Sum in nanoseconds.
    pub sum_ns: u64,
    /// How many were added.
    pub count: u64,
}

impl Latency {
    /// Adds one time.
    pub(super) fn note(&mut self, time: Ns) {
        self.add(Self { sum_ns: time.0, count: 1 });
    }

    /// Adds the times of `other`.
    pub(super) fn add(&mut self, other: Self) {
        self.sum_ns += other.sum_ns;
        self.count += other.count;
    }
}

/// Guarantees, numbered from 1; see docs/power-loss.md.
const GUARANTEES: u8 = 10;

/// The findings of lives, which add up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Cuts.
    pub cuts: u64,
    /// Requests that were acknowledged.
    pub requests: u64,
    /// Logical pages that were read after a cut.
    pub pages_checked: u64,
    /// Recoveries compared with one that examines every page.
    pub audits: u64,
    /// By number of the guarantee, cuts with a fault of it.
    pub violations: BTreeMap<u8, u64>,
    /// By class of faults.
    pub classes: BTreeMap<&'static str, ClassCuts>,
    /// Cuts by target.
    pub targets: BTreeMap<&'static str, u64>,
    /// Times from a cut until the drive is ready.
    pub mounts: MountTimes,
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
    /// Pages that were programmed.
    pub pages: Pages,
    /// Writes and trims, by logical page.
    pub acks: Latency,
    /// Flushes.
    pub flushes: Latency,
    /// Most pages that memory held at a cut.
    pub memory_pages_max: u64,
    /// Evidence: life, cut, class, fault in words.
    pub evidence: Vec<Value>,
    /// Simulator errors: tables that disagree.
    pub errors: Vec<String>,
}

impl Tally {
    /// Adds the findings of another life, whose cuts are counted after these.
    pub fn add(&mut self, other: Self) {
        let before = self.cuts;
        self.cuts += other.cuts;
        self.requests += other.requests;
        self.pages_checked += other.pages_checked;
        self.audits += other.audits;
        for (guarantee, cuts) in other.violations {
            *self.violations.entry(guarantee).or_default() += cuts;
        }
        for (class, found) in other.classes {
            let first_cut = before + found.first_cut;
            self.classes.entry(class).or_insert(ClassCuts { cuts: 0, first_cut }).cuts +=
                found.cuts;
        }
        for (target, count) in other.targets {
            *self.targets.entry(target).or_default() += count;
        }
        self.mounts.sum_ns += other.mounts.sum_ns;
        self.mounts.max_ns = self.mounts.max_ns.max(other.mounts.max_ns);
        self.torn_pages += other.torn_pages;
        self.damaged_pages += other.damaged_pages;
        self.protected_pages += other.protected_pages;
        self.half_erased += other.half_erased;
        self.saved_pages += other.saved_pages;
        self.partial_saves += other.partial_saves;
        self.pages.host += other.pages.host;
        self.pages.flash += other.pages.flash;
        self.pages.record += other.pages.record;
        self.pages.guard += other.pages.guard;
        self.acks.add(other.acks);
        self.flushes.add(other.flushes);
        self.memory_pages_max = self.memory_pages_max.max(other.memory_pages_max);
        self.evidence.extend(other.evidence);
        self.errors.extend(other.errors);
    }

    /// The tally in the form of the documents of campaigns.
    pub fn to_json(&self) -> Value {
        let classes: Vec<Value> = self
            .classes
            .iter()
            .map(|(name, ClassCuts { cuts, first_cut })| {
                json!({"class": name, "cuts": cuts, "first_cut": first_cut})
            })
            .collect();
        let cuts_of = |guarantee| self.violations.get(&guarantee).copied().unwrap_or(0);
        let violations: BTreeMap<String, u64> =
            (1..=GUARANTEES).map(|number| (format!("G{number}"), cuts_of(number))).collect();
        json!({
            "cuts": self.cuts,
            "requests": self.requests,
            "pages_checked": self.pages_checked,
            "audits": self.audits,
            "violations": violations,
            "classes": classes,
            "targets": self.targets,
            "recovery_ns": {"sum": self.mounts.sum_ns, "max": self.mounts.max_ns},
            "torn_pages": self.torn_pages,
            "damaged_pages": self.damaged_pages,
            "protected_pages": self.protected_pages,
            "half_erased_blocks": self.half_erased,
            "saved_pages": self.saved_pages,
            "partial_saves": self.partial_saves,
            "host_pages": self.pages.host,
            "flash_pages": self.pages.flash,
            "record_pages": self.pages.record,
            "guard_pages": self.pages.guard,
            "ack_ns": {"sum": self.acks.sum_ns, "pages": self.acks.count},
            "flush_ns": {"sum": self.flushes.sum_ns, "flushes": self.flushes.count},
            "memory_pages_max": self.memory_pages_max,
            "evidence": self.evidence,
            "errors": self.errors,
        })
    }
}
