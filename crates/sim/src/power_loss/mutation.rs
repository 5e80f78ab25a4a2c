//! The judge on trial: faults of every class are put into answers that are right, one at a time.

use std::collections::BTreeMap;

use super::check::{check_drive, Claims, Class, MountOutcome, Reading};
use super::host_log::{HostLog, KnownPage, LoggedWrite};
use crate::rng::Rng;
use crate::units::Ns;

/// The result of the trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelfTest {
    /// Faults that were injected.
    pub injected: u64,
    /// Faults among them that were named, and no other fault with them.
    pub named: u64,
    /// Right answers, of which none may be called a fault.
    pub clean: u64,
    /// Right answers in which a fault was seen.
    pub false_alarms: u64,
    /// By class: injected and named.
    pub classes: BTreeMap<&'static str, (u64, u64)>,
}

const PAGES: u32 = 64;
/// Longest time from power to ready.
const LIMIT: Ns = Ns(1_000_000);

/// A log, and a correct drive: when it was ready, and its answers, twice.
struct Case {
    log: HostLog,
    ready: Option<Ns>,
    answers: Vec<Reading>,
    again: Vec<Reading>,
}

impl Case {
    /// The classes of faults that the judge finds, each once.
    fn classes(&self, claims: Claims) -> Vec<Class> {
        let back = MountOutcome { ready: self.ready, limit: LIMIT };
        let answer = |lpn: u32| self.answers[lpn as usize];
        let again = Some(|lpn: u32| self.again[lpn as usize]);
        let faults = check_drive(&self.log, claims, back, answer, again);
        let mut classes: Vec<Class> = faults.iter().map(|fault| fault.class).collect();
        classes.sort_unstable();
        classes.dedup();
        classes
    }
}

/// A run of a host that writes, trims and flushes; the drive answers with any version that it may.
fn right(rng: &mut Rng) -> Case {
    let base = (0..PAGES).map(|_| KnownPage { version: 2 + rng.below(5) as u32, has_data: true });
    let mut log = HostLog::new(base.collect());
    let mut versions: Vec<u32> = log.base.iter().map(|it| it.version).collect();
    // A third of the pages is not touched, and the others in the order of their numbers, so that
    // every version from the floor on keeps the order.
    let mut token = 0;
    for round in 0..6_u64 {
        for _ in 0..8 {
            let lpn = rng.below(u64::from(PAGES * 2 / 3)) as u32;
            versions[lpn as usize] += 1;
            token += 1;
            log.asked.push(LoggedWrite {
                lpn,
                version: versions[lpn as usize],
                is_trim: rng.below(6) == 0,
                token,
                issued: Ns(token * 10),
                acked: Some(Ns(token * 10 + 5)),
                is_covered: round < 5,
                is_fua: false,
            });
        }
    }
    // The newest versions survive: that is right under every claim.
    let answers: Vec<Reading> = (0..PAGES)
        .map(|lpn| {
            let last = log.asked.iter().rev().find(|it| it.lpn == lpn);
            match last {
                Some(it) if it.is_trim => Reading::Empty,
                Some(it) => data(lpn, it.version),
                None => data(lpn, log.base[lpn as usize].version),
            }
        })
        .collect();
    // A drive that needs all the time that it has is in time.
    let ready = Some(Ns(1 + rng.below(LIMIT.0)));
    Case { log, ready, again: answers.clone(), answers }
}

fn data(lpn: u32, version: u32) -> Reading {
    Reading::Data { lpn, version, is_torn: false }
}

/// Puts a fault into a case; `None` where this case has no place for it.
fn inject(case: &mut Case, class: Class, rng: &mut Rng) -> Option<()> {
    match class {
        Class::DeadDevice => case.ready = None,
        Class::SlowRecovery => case.ready = Some(Ns(LIMIT.0 + 1 + rng.below(LIMIT.0))),
        Class::UnstableRead => return inject_unstable(case, rng),
        _ => {
            inject_answer(case, class, rng)?;
            // A wrong answer is wrong each time.
            case.again.clone_from(&case.answers);
        }
    }
    Some(())
}

/// The second read of a page gives something else: another version, zeros, or an error, any of
/// which the first might have given.
fn inject_unstable(case: &mut Case, rng: &mut Rng) -> Option<()> {
    let lpn = rng.below(u64::from(PAGES)) as u32;
    let first = case.answers[lpn as usize];
    let other = match (first, rng.below(3)) {
        (Reading::Data { version, .. }, 0) => data(lpn, version - 1),
        (Reading::Data { .. }, 1) => Reading::Empty,
        (Reading::Empty, 0 | 1) => data(lpn, case.log.base[lpn as usize].version),
        _ => Reading::Error,
    };
    case.again[lpn as usize] = other;
    (other != first).then_some(())
}

/// Puts a fault of a class that shows in the answers into them, as above.
fn inject_answer(case: &mut Case, class: Class, rng: &mut Rng) -> Option<()> {
    let Case { log, answers, .. } = case;
    let last = |lpn: u32| log.asked.iter().rev().find(|it| it.lpn == lpn);
    let any = |rng: &mut Rng, fits: &dyn Fn(u32) -> bool| {
        let fitting: Vec<u32> = (0..PAGES).filter(|&lpn| fits(lpn)).collect();
        let count = fitting.len() as u64;
        (count > 0).then(|| fitting[rng.below(count.max(1)) as usize])
    };
    let has_data = |lpn: u32| matches!(answers[lpn as usize], Reading::Data { .. });
    let untouched = |lpn: u32| last(lpn).is_none();
    match class {
        Class::BitCorruption => {
            let lpn = any(rng, &has_data)?;
            answers[lpn as usize] = Reading::Garbage;
        }
        Class::ShornWrite => {
            let lpn = any(rng, &|lpn| has_data(lpn) && !untouched(lpn))?;
            let version = last(lpn)?.version;
            answers[lpn as usize] = Reading::Data { lpn, version, is_torn: true };
        }
        Class::FlyingWrite => {
            let lpn = any(rng, &has_data)?;
            let other = (lpn + 1 + rng.below(u64::from(PAGES - 1)) as u32) % PAGES;
            answers[lpn as usize] = data(other, 1);
        }
        Class::MetadataCorruption => {
            let lpn = any(rng, &untouched)?;
            answers[lpn as usize] = Reading::Empty;
        }
        Class::RetroactiveCorruption => {
            let lpn = any(rng, &untouched)?;
            answers[lpn as usize] = if rng.below(2) == 0 {
                Reading::Error
            } else {
                data(lpn, log.base[lpn as usize].version - 1)
            };
        }
        Class::LostFlushed => {
            let lpn = any(rng, &|lpn| last(lpn).is_some_and(|it| it.is_covered && !it.is_trim))?;
            answers[lpn as usize] = data(lpn, log.base[lpn as usize].version - 1);
        }
        Class::LostAcked | Class::UnserializableWrite => {
            // Acknowledged, not flushed, written once, and not the last of all.
            let end = log.asked.last()?.issued;
            let lpn = any(rng, &|lpn| {
                let writes = log.asked.iter().filter(|it| it.lpn == lpn).count();
                writes == 1
                    && last(lpn).is_some_and(|it| !it.is_covered && !it.is_trim && it.issued < end)
            })?;
            answers[lpn as usize] = data(lpn, log.base[lpn as usize].version);
            // Something later has survived.
            let gone = last(lpn)?.acked?;
            let later = log.asked.iter().any(|it| {
                !it.is_trim
                    && it.issued > gone
                    && answers[it.lpn as usize] == data(it.lpn, it.version)
            });
            if !later {
                return None;
            }
        }
        Class::PhantomTrim => {
            let lpn = any(rng, &|lpn| last(lpn).is_some_and(|it| it.is_covered && it.is_trim))?;
            answers[lpn as usize] = data(lpn, log.base[lpn as usize].version);
        }
        Class::DeadDevice | Class::SlowRecovery | Class::UnstableRead => return None,
    }
    Some(())
}

/// The claims under which a class is a fault.
fn claims_for(class: Class) -> Claims {
    let claims = Claims { honest_flush: true, rzat: true, ..Claims::default() };
    match class {
        Class::LostAcked => Claims { plp: true, ..claims },
        Class::UnserializableWrite => Claims { ordered: true, ..claims },
        _ => claims,
    }
}

/// Puts `count` faults in, of the classes in turns, and as many right answers.
pub fn self_test(seed: u64, count: u64) -> SelfTest {
    let mut rng = Rng::stream(seed, "power.self_test");
    let mut test = SelfTest::default();
    while test.injected < count {
        let class = Class::ALL[(test.injected % Class::ALL.len() as u64) as usize];
        let claims = claims_for(class);
        let mut case = right(&mut rng);
        test.clean += 1;
        test.false_alarms += u64::from(!case.classes(claims).is_empty());
        if inject(&mut case, class, &mut rng).is_none() {
            continue;
        }
        test.injected += 1;
        let is_named = case.classes(claims) == [class];
        test.named += u64::from(is_named);
        let known = test.classes.entry(class.name()).or_default();
        *known = (known.0 + 1, known.1 + u64::from(is_named));
    }
    test
}

#[cfg(test)]
mod tests {
    use super::super::check::check;
    use super::*;

    #[test]
    fn every_class_is_named_and_nothing_else() {
        let test = self_test(42, 12_000);
        assert_eq!((test.injected, test.false_alarms), (12_000, 0));
        let all = Class::ALL.map(|class| (class.name(), (1000, 1000)));
        assert_eq!(test.classes, all.into_iter().collect());
    }

    #[test]
    fn what_no_claim_promises_is_no_fault() {
        // Writes that were not flushed are lost, trims come back, and no order is kept.
        let mut log = HostLog::new(vec![KnownPage { version: 1, has_data: true }; 3]);
        let asked = |lpn, version, is_trim, at| LoggedWrite {
            lpn,
            version,
            is_trim,
            token: at,
            issued: Ns(at),
            acked: Some(Ns(at + 1)),
            is_covered: false,
            is_fua: false,
        };
        log.asked = vec![asked(0, 2, false, 0), asked(1, 2, false, 10), asked(2, 2, true, 20)];
        let answers = [data(0, 1), data(1, 2), data(2, 1)];
        let claims = Claims { honest_flush: true, ..Claims::default() };
        assert_eq!(check(&log, claims, |lpn| answers[lpn as usize]), []);
        let ordered = Claims { ordered: true, ..claims };
        let faults = check(&log, ordered, |lpn| answers[lpn as usize]);
        assert_eq!(faults.iter().map(|it| it.guarantee).collect::<Vec<_>>(), [10]);
        let kept = Claims { plp: true, ..claims };
        let faults = check(&log, kept, |lpn| answers[lpn as usize]);
        assert!(faults.iter().any(|it| (it.guarantee, it.lpn) == (2, Some(0))));
    }
}
