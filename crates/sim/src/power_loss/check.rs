//! The judge: compares the answers of the drive after a cut with the log of the host.
//!
//! For each page the log gives a floor: the newest version that the drive owes. Without capacitors
//! that is the newest one that a flush covers, with them the newest acknowledged one; if nothing of
//! this run is owed, the version that the page held before. Any version from the floor on that was
//! issued is right, an older one is lost data, and anything else is no data of this page.

use super::host_log::{HostLog, LoggedWrite};
use crate::drive::{FlushBehaviour, PowerLossConfig, SeqReorder, TrimLog};
use crate::units::Ns;

/// The answer of a drive to a read of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Zeros.
    Empty,
    /// A record: whose it is, and which.
    Data {
        /// The logical page that it was written to.
        lpn: u32,
        /// The write of that page that it is of.
        version: u32,
        /// A part of it is of another version.
        is_torn: bool,
    },
    /// An error.
    Error,
    /// No record, and no error.
    Garbage,
}

impl std::fmt::Display for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => f.write_str("zeros"),
            Self::Error => f.write_str("an error"),
            Self::Garbage => f.write_str("no record"),
            Self::Data { lpn, version, is_torn } => {
                let torn = if *is_torn { ", in part" } else { "" };
                write!(f, "version {version} of unit {lpn}{torn}")
            }
        }
    }
}

/// The promises of the drive in addition to the guarantees that every drive gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each promise is made or not
pub struct Claims {
    /// A flush means that all writes acknowledged before it are safe.
    pub honest_flush: bool,
    /// The acknowledgement alone means that a write is safe.
    pub plp: bool,
    /// A write survives only with those that were acknowledged before it was issued.
    pub ordered: bool,
    /// Trimmed pages read as zeros, also after a cut.
    pub rzat: bool,
}

impl Claims {
    /// The claims that follow from the options of a drive.
    pub fn of(options: &PowerLossConfig) -> Self {
        Self {
            honest_flush: options.flush == FlushBehaviour::Honest,
            plp: options.has_capacitors(),
            ordered: options.seq_reorder == SeqReorder::InOrder,
            rzat: options.trim_log == TrimLog::Persistent,
        }
    }
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The data that was read is no record.
    BitCorruption,
    /// A part of a record is of another version.
    ShornWrite,
    /// A record of another address.
    FlyingWrite,
    /// A later write survived, an earlier one did not.
    UnserializableWrite,
    /// Pages that the host did not write in this run are gone.
    MetadataCorruption,
    /// The drive does not come back.
    DeadDevice,
    /// A write that was flushed in this run is gone.
    LostFlushed,
    /// A write that was acknowledged is gone, of a drive with capacitors.
    LostAcked,
    /// Data is gone that was safe before the run, and was not being written.
    RetroactiveCorruption,
    /// The drive took longer than its limit.
    SlowRecovery,
    /// Two reads, or two recoveries, disagree.
    UnstableRead,
    /// A trimmed page has data.
    PhantomTrim,
}

impl Class {
    /// All, in the order of reports.
    pub const ALL: [Self; 12] = [
        Self::BitCorruption,
        Self::ShornWrite,
        Self::FlyingWrite,
        Self::UnserializableWrite,
        Self::MetadataCorruption,
        Self::DeadDevice,
        Self::LostFlushed,
        Self::LostAcked,
        Self::RetroactiveCorruption,
        Self::SlowRecovery,
        Self::UnstableRead,
        Self::PhantomTrim,
    ];

    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::BitCorruption => "bit_corruption",
            Self::ShornWrite => "shorn_write",
            Self::FlyingWrite => "flying_write",
            Self::UnserializableWrite => "unserializable_write",
            Self::MetadataCorruption => "metadata_corruption",
            Self::DeadDevice => "dead_device",
            Self::LostFlushed => "lost_flushed",
            Self::LostAcked => "lost_acked",
            Self::RetroactiveCorruption => "retroactive_corruption",
            Self::SlowRecovery => "slow_recovery",
            Self::UnstableRead => "unstable_read",
            Self::PhantomTrim => "phantom_trim",
        }
    }
}

/// A promise that was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Number of the guarantee.
    pub guarantee: u8,
    /// Kind.
    pub class: Class,
    /// The page; `None` of the drive as a whole.
    pub lpn: Option<u32>,
    /// The version that was owed.
    pub owed: u32,
    /// The answer to the read of the page.
    pub found: Option<Reading>,
}

/// Why a version is owed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum By {
    /// The page held it before.
    #[default]
    Base,
    Flush,
    Acknowledgement,
}

/// The versions of a page with which the drive may answer.
#[derive(Clone, Copy, Debug, Default)]
struct Owed {
    floor: u32,
    floor_has_data: bool,
    /// Highest version that was issued.
    ceiling: u32,
    /// Whether anything was issued in this run.
    is_touched: bool,
    /// The reason why it is the floor.
    by: By,
    /// A trim was issued at or behind the floor: zeros are right.
    may_be_empty: bool,
}

/// How a drive came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountOutcome {
    /// From power to ready; `None` when it never was.
    pub ready: Option<Ns>,
    /// The longest time that is no fault.
    pub limit: Ns,
}

/// Faults of a drive as a whole and of all pages: `reading` returns the first read of each page,
/// `again` the second; `None` if the second is not compared with the first.
pub fn check_drive(
    log: &HostLog,
    claims: Claims,
    back: MountOutcome,
    reading: impl Fn(u32) -> Reading,
    again: Option<impl Fn(u32) -> Reading>,
) -> Vec<Fault> {
    check_changed(log, claims, back, 0..log.base.len() as u32, reading, again)
}

/// The same of pages that may have changed, in their order, if all others are known to be as before
/// and without requests.
pub(super) fn check_changed(
    log: &HostLog,
    claims: Claims,
    back: MountOutcome,
    changed: impl Iterator<Item = u32>,
    reading: impl Fn(u32) -> Reading,
    again: Option<impl Fn(u32) -> Reading>,
) -> Vec<Fault> {
    let whole = |class| Fault { guarantee: 9, class, lpn: None, owed: 0, found: None };
    let Some(ready) = back.ready else { return vec![whole(Class::DeadDevice)] };
    let mut faults = Vec::new();
    if ready > back.limit {
        faults.push(whole(Class::SlowRecovery));
    }
    if let Some(again) = again {
        let mut pages = 0..log.base.len() as u32;
        faults.extend(pages.find(|&lpn| reading(lpn) != again(lpn)).map(|lpn| Fault {
            lpn: Some(lpn),
            found: Some(again(lpn)),
            ..whole(Class::UnstableRead)
        }));
    }
    check_pages(log, claims, changed, &reading, &mut faults);
    faults
}

/// Faults of all pages: `reading` answers for each.
pub fn check(log: &HostLog, claims: Claims, reading: impl Fn(u32) -> Reading) -> Vec<Fault> {
    let mut faults = Vec::new();
    check_pages(log, claims, 0..log.base.len() as u32, &reading, &mut faults);
    faults
}

fn check_pages(
    log: &HostLog,
    claims: Claims,
    pages: impl Iterator<Item = u32>,
    reading: &impl Fn(u32) -> Reading,
    faults: &mut Vec<Fault>,
) {
    let asked = log.by_page();
    for lpn in pages {
        let (base, found) = (log.base[lpn as usize], reading(lpn));
        let as_before = Reading::Data { lpn, version: base.version, is_torn: false };
        if base.has_data && found == as_before && !asked.has(lpn) {
            continue;
        }
        let mut owed = Owed {
            floor: base.version,
            floor_has_data: base.has_data,
            ceiling: base.version,
            may_be_empty: !base.has_data,
            ..Owed::default()
        };
        for place in asked.of(lpn) {
            note_asked(&mut owed, &log.asked[place], claims);
        }
        if let Some((guarantee, class)) = judge(lpn, owed, claims, found) {
            let fault =
                Fault { guarantee, class, lpn: Some(lpn), owed: owed.floor, found: Some(found) };
            faults.push(fault);
        }
    }
    judge_order(log, claims, reading, faults);
}

fn note_asked(owed: &mut Owed, asked: &LoggedWrite, claims: Claims) {
    owed.is_touched = true;
    owed.ceiling = owed.ceiling.max(asked.version);
    let by_flush = asked.is_covered && claims.honest_flush;
    let is_owed = by_flush || asked.acked.is_some() && claims.plp;
    if is_owed && asked.version >= owed.floor {
        owed.floor = asked.version;
        owed.floor_has_data = !asked.is_trim;
        owed.by = if by_flush { By::Flush } else { By::Acknowledgement };
        owed.may_be_empty = asked.is_trim;
    } else if asked.is_trim && asked.version >= owed.floor {
        owed.may_be_empty = true;
    }
}

fn judge(lpn: u32, owed: Owed, claims: Claims, found: Reading) -> Option<(u8, Class)> {
    let lost = |owed: Owed| match owed.by {
        By::Flush => (1, Class::LostFlushed),
        By::Acknowledgement => (2, Class::LostAcked),
        By::Base if owed.is_touched => (1, Class::RetroactiveCorruption),
        By::Base => (7, Class::RetroactiveCorruption),
    };
    match found {
        Reading::Garbage => Some((6, Class::BitCorruption)),
        Reading::Data { is_torn: true, .. } => Some((4, Class::ShornWrite)),
        Reading::Data { lpn: other, .. } if other != lpn => Some((5, Class::FlyingWrite)),
        Reading::Data { version, .. } if version > owed.ceiling => Some((5, Class::FlyingWrite)),
        Reading::Data { version, .. } if version >= owed.floor && owed.floor_has_data => None,
        // The floor is a trim.
        Reading::Data { version, .. } if !owed.floor_has_data => {
            (version <= owed.floor && claims.rzat).then_some((1, Class::PhantomTrim))
        }
        // A trimmed page may hold any data that it has held.
        Reading::Data { .. } if owed.may_be_empty && !claims.rzat => None,
        Reading::Empty if owed.may_be_empty => None,
        Reading::Empty if !owed.is_touched => Some((7, Class::MetadataCorruption)),
        Reading::Data { .. } | Reading::Empty => Some(lost(owed)),
        Reading::Error if owed.may_be_empty && !owed.floor_has_data => None,
        Reading::Error => Some((if owed.is_touched { 1 } else { 7 }, Class::RetroactiveCorruption)),
    }
}

/// Judges the order in time of the surviving and the missing writes.
fn judge_order(
    log: &HostLog,
    claims: Claims,
    reading: &impl Fn(u32) -> Reading,
    faults: &mut Vec<Fault>,
) {
    let survives = |asked: &LoggedWrite| match reading(asked.lpn) {
        Reading::Data { lpn, version, .. } => lpn == asked.lpn && version >= asked.version,
        // A trim of this run, which is looked up in the log below.
        Reading::Empty => {
            log.asked
                .iter()
                .any(|it| it.lpn == asked.lpn && it.is_trim && it.version >= asked.version)
                || !log.base[asked.lpn as usize].has_data && asked.version == 0
        }
        Reading::Error | Reading::Garbage => false,
    };
    if !(claims.ordered || faults.iter().any(|fault| fault.class == Class::LostFlushed)) {
        return;
    }
    let (kept, missing): (Vec<&LoggedWrite>, Vec<&LoggedWrite>) =
        log.asked.iter().partition(|asked| survives(asked));
    let last_kept = kept.iter().filter(|it| !it.is_trim).map(|it| it.issued).max();
    let Some(last_kept) = last_kept else { return };
    let early = |it: &&&LoggedWrite| it.acked.is_some_and(|acked| acked < last_kept) && !it.is_trim;
    if claims.honest_flush {
        if let Some(gone) = missing.iter().filter(early).find(|it| it.is_covered) {
            faults.push(Fault {
                guarantee: 8,
                class: Class::LostFlushed,
                lpn: Some(gone.lpn),
                owed: gone.version,
                found: None,
            });
        }
    }
    if claims.ordered {
        if let Some(gone) = missing.iter().find(early) {
            faults.push(Fault {
                guarantee: 10,
                class: Class::UnserializableWrite,
                lpn: Some(gone.lpn),
                owed: gone.version,
                found: None,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::host_log::KnownPage;
    use super::*;

    const CLAIMS: Claims = Claims { honest_flush: true, plp: false, ordered: false, rzat: true };

    const NONE: [u8; 0] = [];

    fn wrote(lpn: u32, version: u32, at: u64) -> LoggedWrite {
        let (issued, acked) = (Ns(at), Some(Ns(at + 5)));
        LoggedWrite { lpn, version, token: at, issued, acked, ..LoggedWrite::default() }
    }

    fn covered(asked: LoggedWrite) -> LoggedWrite {
        LoggedWrite { is_covered: true, ..asked }
    }

    fn data(lpn: u32, version: u32) -> Reading {
        Reading::Data { lpn, version, is_torn: false }
    }

    /// Four pages of version 1; guarantees that a drive with these answers has broken.
    fn broken(asked: &[LoggedWrite], claims: Claims, answers: [Reading; 4]) -> Vec<u8> {
        let mut log = HostLog::new(vec![KnownPage { version: 1, has_data: true }; 4]);
        log.asked = asked.to_vec();
        let back = MountOutcome { ready: Some(Ns(7)), limit: Ns(7) };
        let reading = |lpn: u32| answers[lpn as usize];
        let faults = check_drive(&log, claims, back, reading, Some(reading));
        let mut numbers: Vec<u8> = faults.iter().map(|fault| fault.guarantee).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Each guarantee with an answer that keeps it and one that does not.
    #[test]
    fn every_guarantee_is_told_by_its_number() {
        let [zero, one, two, three] = [0, 1, 2, 3].map(|lpn| data(lpn, 1));
        let plp = Claims { plp: true, ..CLAIMS };
        let ordered = Claims { ordered: true, ..CLAIMS };
        // G1: a flush covers version 3, so newer is right, and older is not.
        let flushed = [covered(wrote(0, 2, 0)), covered(wrote(0, 3, 10)), wrote(0, 4, 20)];
        assert_eq!(broken(&flushed, CLAIMS, [data(0, 3), one, two, three]), NONE);
        assert_eq!(broken(&flushed, CLAIMS, [data(0, 4), one, two, three]), NONE);
        assert_eq!(broken(&flushed, CLAIMS, [data(0, 2), one, two, three]), [1]);
        // G2: acknowledged writes are owed only by a drive with capacitors.
        let acked = [wrote(0, 2, 0)];
        assert_eq!(broken(&acked, CLAIMS, [zero, one, two, three]), NONE);
        assert_eq!(broken(&acked, plp, [zero, one, two, three]), [2]);
        // G3: a write in progress is old or new, and nothing else.
        let under_way = [LoggedWrite { acked: None, ..wrote(0, 2, 0) }];
        for version in [1, 2] {
            assert_eq!(broken(&under_way, plp, [data(0, version), one, two, three]), NONE);
        }
        assert_eq!(broken(&under_way, plp, [Reading::Empty, one, two, three]), [1]);
        // G4: no unit is torn; a request of two units may be there in part.
        let wide = [wrote(0, 2, 0), wrote(1, 2, 0)];
        let torn = Reading::Data { lpn: 0, version: 2, is_torn: true };
        assert_eq!(broken(&wide, CLAIMS, [data(0, 2), one, two, three]), NONE);
        assert_eq!(broken(&wide, CLAIMS, [torn, one, two, three]), [4]);
        // G5: no data of another address, and none that was never written.
        assert_eq!(broken(&wide, CLAIMS, [data(1, 1), one, two, three]), [5]);
        assert_eq!(broken(&wide, CLAIMS, [data(0, 3), one, two, three]), [5]);
        // G6: no damage without an error.
        assert_eq!(broken(&wide, CLAIMS, [zero, one, two, Reading::Garbage]), [6]);
        // G7: pages that were not written are as before.
        for answer in [Reading::Empty, Reading::Error, data(3, 0)] {
            assert_eq!(broken(&wide, CLAIMS, [zero, one, two, answer]), [7]);
        }
        // G8: a write behind the flush survives without one that it covers.
        let behind = [covered(wrote(0, 2, 0)), wrote(1, 2, 20)];
        assert_eq!(broken(&behind, CLAIMS, [data(0, 2), data(1, 2), two, three]), NONE);
        assert_eq!(broken(&behind, CLAIMS, [zero, data(1, 2), two, three]), [1, 8]);
        // G10: the same without a flush, if order is promised, and only then.
        let bare = [wrote(0, 2, 0), wrote(1, 2, 20)];
        assert_eq!(broken(&bare, CLAIMS, [zero, data(1, 2), two, three]), NONE);
        assert_eq!(broken(&bare, ordered, [zero, data(1, 2), two, three]), [10]);
        assert_eq!(broken(&bare, ordered, [data(0, 2), one, two, three]), NONE);
        // Requests in progress at the same time have no order.
        let beside = [wrote(0, 2, 0), wrote(1, 2, 3)];
        assert_eq!(broken(&beside, ordered, [zero, data(1, 2), two, three]), NONE);
    }

    /// G9: the drive comes back, in time, and reads of a page agree.
    #[test]
    fn a_drive_as_a_whole_is_judged() {
        let log = HostLog::new(vec![KnownPage { version: 1, has_data: true }; 2]);
        let first = |lpn: u32| data(lpn, 1);
        let classes = |ready: Option<Ns>, again: fn(u32) -> Reading| {
            let back = MountOutcome { ready, limit: Ns(100) };
            let faults = check_drive(&log, CLAIMS, back, first, Some(again));
            assert!(faults.iter().all(|fault| fault.guarantee == 9));
            faults.iter().map(|fault| (fault.class, fault.lpn)).collect::<Vec<_>>()
        };
        assert!(classes(Some(Ns(100)), first).is_empty());
        assert_eq!(classes(None, first), [(Class::DeadDevice, None)]);
        assert_eq!(classes(Some(Ns(101)), first), [(Class::SlowRecovery, None)]);
        let differs: fn(u32) -> Reading = |lpn| data(lpn, 1 - lpn);
        assert_eq!(classes(Some(Ns(1)), differs), [(Class::UnstableRead, Some(1))]);
    }
}
