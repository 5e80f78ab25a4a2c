//! Plays recorded requests in a closed loop: each waits for the same event as when it was recorded.
//!
//! ```text
//! recorded   A ▓▓▓▓▓│ think │ B ▓▓▓│        B arrived `think` after the reply of A
//! played     A ▓▓▓▓▓▓▓▓▓▓▓│ think │ B ▓▓│   and so it does when A takes longer
//! ```
//! 1. The *dependency* of a request is the last reply of its stream before its arrival. The time
//!    from this reply to the arrival is kept: the request begins this long after the end of its
//!    dependency.
//! 2. A flush also waits for all writes, of any stream, that were answered before it arrived.
//! 3. A request without a dependency keeps its distance to the first request: it begins this long
//!    after the start of the play.
//!
//! Marks are requests without data that the drive never sees: they record when the application
//! began and ended something. Contents are not recorded, so writes carry none. Time between
//! requests is the time that the application, the file system and the way to the drive took in the
//! recording.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde_json::Value;

use super::request::{Begun, Done, Pace, Refusal, Request};
use super::session::Session;
use crate::config::ConfigError;
use crate::run::Simulation;
use crate::units::Ns;

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Data.
    Read,
    /// New data, done only when the flash holds it if `is_fua`.
    Write {
        /// Force unit access.
        is_fua: bool,
    },
    /// Bytes of no value any more.
    Trim,
    /// Earlier writes must be on the flash.
    Flush,
    /// Nothing: a point of time of the application.
    Mark,
}

/// One recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The kind of request.
    pub asked: Asked,
    /// The stream: requests of one stream wait for each other.
    pub stream: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 for flushes and marks.
    pub length: u64,
    /// When it came.
    pub arrive: Ns,
    /// When it was answered, not before it came.
    pub reply: Ns,
}

/// When a request began and ended, in the time of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// When it arrived at the drive.
    pub start: Ns,
    /// When it ended.
    pub end: Ns,
    /// The drive took no more writes.
    pub is_refused: bool,
}

/// The requests and the time that a request waits for.
#[derive(Default)]
struct Waiting {
    /// Requests that have not ended.
    count: u32,
    /// The earliest begin that follows from those that have.
    from: Ns,
    /// Time after the end of the dependency.
    think: Ns,
    dependency: Option<u32>,
    /// Requests that wait for this one.
    followers: Vec<u32>,
}

/// A drive on which records are played, one after the other.
pub struct Player {
    session: Session,
    now: Ns,
}

impl Player {
    /// Takes over a drive.
    ///
    /// # Errors
    /// [`ConfigError`] for drives that are no plain disks.
    pub fn new(simulation: Simulation) -> Result<Self, ConfigError> {
        Ok(Self { session: Session::new(simulation, Pace::Timed)?, now: Ns(0) })
    }

    /// Bytes that may be addressed.
    pub fn capacity_bytes(&self) -> u64 {
        self.session.capacity_bytes()
    }

    /// The activity of the drive since the session took it over, as [`Session::status`].
    pub fn status(&self) -> Value {
        self.session.status()
    }

    /// The drive at rest: data in memory is written to the flash.
    pub fn into_simulation(mut self) -> Simulation {
        self.session.settle();
        self.session.into_simulation()
    }

    /// When something happens next in the drive, unless a request comes before.
    pub fn next_at(&mut self) -> Option<Ns> {
        self.session.next_at()
    }

    /// Lets everything happen up to a time; requests that end go to `done`.
    pub fn advance(&mut self, until: Ns, done: &mut Vec<Done>) {
        self.now = self.now.max(until);
        self.session.advance(self.now, done);
    }

    /// Begins one request at a time, not before the last, for a caller who has the clock.
    ///
    /// # Errors
    /// [`ConfigError`] for a request that is empty or reaches beyond the drive.
    pub fn start(
        &mut self,
        token: u64,
        asked: Asked,
        range: (u64, u64),
        at: Ns,
        done: &mut Vec<Done>,
    ) -> Result<(), ConfigError> {
        let (offset, length) = range;
        let one = Recorded { asked, stream: 0, offset, length, arrive: at, reply: at };
        self.check(&[one])?;
        self.now = self.now.max(at);
        self.begin(self.now, token, &one, done);
        Ok(())
    }

    /// Plays a record to its last reply; the next one begins at this time.
    ///
    /// # Errors
    /// [`ConfigError`] for records that are not in the order of arrival, are answered before they
    /// come, or reach beyond the drive. Nothing was played then.
    pub fn play(&mut self, records: &[Recorded]) -> Result<Vec<Played>, ConfigError> {
        self.check(records)?;
        let mut waiting = waits(records, self.now);
        let mut played = vec![Played::default(); records.len()];
        let mut ready: BinaryHeap<Reverse<(Ns, u32)>> = waiting
            .iter()
            .enumerate()
            .filter(|(_, wait)| wait.count == 0)
            .map(|(index, wait)| Reverse((wait.from, index as u32)))
            .collect();
        let (mut left, mut done) = (records.len(), Vec::new());
        while left > 0 {
            let begin = ready.peek().map(|Reverse((at, _))| *at);
            let until = match (begin, self.session.next_at()) {
                (Some(begin), Some(next)) => begin.min(next),
                (one, other) => one.or(other).expect("what is left waits for what is under way"),
            };
            self.now = self.now.max(until);
            self.session.advance(until, &mut done);
            if done.is_empty() && begin == Some(until) {
                let Some(Reverse((at, index))) = ready.pop() else { continue };
                played[index as usize].start = at;
                self.begin(at, u64::from(index), &records[index as usize], &mut done);
            }
            for Done { token, at, refusal, .. } in done.drain(..) {
                let index = token as usize;
                left -= 1;
                self.now = self.now.max(at);
                let is_refused = refusal == Some(Refusal::WornOut);
                played[index] = Played { end: at, is_refused, ..played[index] };
                for follower in std::mem::take(&mut waiting[index].followers) {
                    let wait = &mut waiting[follower as usize];
                    let is_dependency = wait.dependency == Some(index as u32);
                    let think = if is_dependency { wait.think } else { Ns(0) };
                    wait.from = wait.from.max(at + think);
                    wait.count -= 1;
                    if wait.count == 0 {
                        ready.push(Reverse((wait.from, follower)));
                    }
                }
            }
        }
        Ok(played)
    }

    /// Begins a request; a request that ends at once goes to `done`.
    fn begin(&mut self, at: Ns, token: u64, record: &Recorded, done: &mut Vec<Done>) {
        let Recorded { offset, length, .. } = *record;
        let request = match record.asked {
            Asked::Read => Request::Read { offset, length },
            Asked::Write { is_fua } => Request::Zero { offset, length, is_fua, is_allocated: true },
            Asked::Trim => Request::Trim { offset, length },
            Asked::Flush => Request::Flush,
            Asked::Mark => {
                done.push(Done { token, at, refusal: None, place: None });
                return;
            }
        };
        let begun = self.session.begin(at, token, request, done);
        if begun != Ok(Begun::Running) {
            done.push(Done { token, at, refusal: begun.err(), place: None });
        }
        // Requests that take no time end before the clock moves.
        self.session.advance(at, done);
    }

    fn check(&self, records: &[Recorded]) -> Result<(), ConfigError> {
        let refuse = |index: usize, message: String| {
            Err(ConfigError::new("trace", format!("request {index}: {message}")))
        };
        let capacity = self.capacity_bytes();
        for (index, record) in records.iter().enumerate() {
            let Recorded { asked, offset, length, arrive, reply, .. } = *record;
            if index > 0 && arrive < records[index - 1].arrive {
                return refuse(index, "it comes before the one above it".to_owned());
            }
            if reply < arrive {
                return refuse(index, format!("answered at {} ns, before {}", reply.0, arrive.0));
            }
            if matches!(asked, Asked::Flush | Asked::Mark) {
                continue;
            }
            if length == 0 || offset.checked_add(length).is_none_or(|end| end > capacity) {
                return refuse(
                    index,
                    format!("{length} bytes at {offset}; accepted: 1 or more within {capacity}"),
                );
            }
        }
        Ok(())
    }
}

/// The dependencies of each request, by the rules above.
fn waits(records: &[Recorded], now: Ns) -> Vec<Waiting> {
    let mut waiting: Vec<Waiting> = records.iter().map(|_| Waiting::default()).collect();
    let Some(first) = records.first() else { return waiting };
    // The last reply of each stream before this request, and replies still to come, earliest first.
    let mut last: Vec<Option<u32>> = Vec::new();
    let mut replies: BinaryHeap<Reverse<(Ns, u32)>> = BinaryHeap::new();
    // Writes that were answered after the arrival of the last flush.
    let mut uncovered: Vec<u32> = Vec::new();
    let mut streams: Vec<u32> = records.iter().map(|record| record.stream).collect();
    streams.sort_unstable();
    streams.dedup();
    last.resize(streams.len(), None);
    let place = |stream: u32| streams.binary_search(&stream).expect("it is in the list");
    for (index, record) in records.iter().enumerate() {
        while let Some(&Reverse((reply, answered))) = replies.peek() {
            if reply > record.arrive {
                break;
            }
            replies.pop();
            let before = &records[answered as usize];
            last[place(before.stream)] = Some(answered);
            if matches!(before.asked, Asked::Write { .. }) {
                uncovered.push(answered);
            }
        }
        match last[place(record.stream)] {
            Some(dependency) => {
                let think = record.arrive - records[dependency as usize].reply;
                let wait = &mut waiting[index];
                (wait.dependency, wait.think, wait.count) = (Some(dependency), think, 1);
                waiting[dependency as usize].followers.push(index as u32);
            }
            None => waiting[index].from = now + (record.arrive - first.arrive),
        }
        if record.asked == Asked::Flush {
            for write in std::mem::take(&mut uncovered) {
                if waiting[index].dependency != Some(write) {
                    waiting[index].count += 1;
                    waiting[write as usize].followers.push(index as u32);
                }
            }
        }
        replies.push(Reverse((record.reply, index as u32)));
    }
    waiting
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::DeviceConfig;

    const DRIVE: &str = r#"{"nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
        "blocks_per_plane": 64, "pages_per_block": 64}, "ftl": {"over_provisioning_pct": 0.28}}"#;

    fn player() -> Player {
        Player::new(Simulation::new(DeviceConfig::resolve(DRIVE).unwrap(), 42)).unwrap()
    }

    fn request(asked: Asked, stream: u32, page: u64, arrive: u64, reply: u64) -> Recorded {
        let length = if matches!(asked, Asked::Flush | Asked::Mark) { 0 } else { 4096 };
        let (arrive, reply) = (Ns(arrive), Ns(reply));
        Recorded { asked, stream, offset: page * 4096, length, arrive, reply }
    }

    const WRITE: Asked = Asked::Write { is_fua: true };

    #[test]
    fn time_to_think_follows_the_end_of_the_dependency() {
        let records = [
            request(Asked::Mark, 0, 0, 1_000, 1_000),
            request(WRITE, 0, 1, 3_000, 4_000),
            request(WRITE, 0, 2, 9_000, 9_500),
            request(Asked::Mark, 0, 0, 9_600, 9_600),
        ];
        let mut player = player();
        for _ in 0..2 {
            let now = player.now;
            let played = player.play(&records).unwrap();
            assert_eq!(played[0], Played { start: now, end: now, is_refused: false });
            assert_eq!(played[1].start, now + Ns(2_000));
            assert!(played[1].end > played[1].start + Ns(100_000), "a program takes longer");
            assert_eq!(played[2].start, played[1].end + Ns(5_000));
            assert_eq!(played[3].end, played[2].end + Ns(100));
        }
    }

    #[test]
    fn a_flush_waits_for_the_writes_of_all_streams_that_were_answered() {
        let records = [
            request(WRITE, 1, 1, 0, 100),
            request(WRITE, 1, 2, 10, 200),
            request(WRITE, 1, 3, 20, 900),
            request(Asked::Flush, 2, 0, 300, 400),
        ];
        let played = player().play(&records).unwrap();
        // One die: they end one after the other. The third was not answered when the flush came.
        assert!(played[0].end < played[1].end && played[1].end < played[2].end);
        assert_eq!(played[3].start, played[1].end);
    }

    #[test]
    fn streams_do_not_wait_for_each_other() {
        let records = [
            request(WRITE, 1, 1, 0, 100),
            request(Asked::Mark, 2, 0, 500, 500),
            request(Asked::Mark, 1, 0, 500, 500),
        ];
        let played = player().play(&records).unwrap();
        assert_eq!(played[1].end, Ns(500));
        assert_eq!(played[2].end, played[0].end + Ns(400));
    }

    #[test]
    fn what_cannot_be_played_is_refused() {
        let beyond = request(WRITE, 0, 1 << 40, 0, 1);
        let early = request(WRITE, 0, 1, 5, 4);
        let back = [request(WRITE, 0, 1, 5, 6), request(WRITE, 0, 1, 4, 6)];
        for records in [&[beyond][..], &[early], &back] {
            assert_eq!(player().play(records).unwrap_err().path, "trace");
        }
        assert_eq!(player().play(&[]).unwrap(), []);
    }
}
