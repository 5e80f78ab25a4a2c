//! Where the requests of a process go, and how long they are.
//!
//! Positions are relative to the begin of the range. One map of free blocks serves all directions,
//! and a request is cut to the free hole at its place, as in fio. Every kind of draw has its own
//! stream; those of a pass are the same in each one, unless the job asks for others.

use super::free_map::FreeMap;
use super::law::Ranked;
use super::{Handles, JobSpec, Kinds, Law, Sizes, READ, TRIM, WRITE};
use crate::rng::Rng;

/// A request: its place from the begin of the range on, its bytes, and its placement id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draw {
    pub(crate) at: u64,
    pub(crate) bytes: u64,
    pub(crate) handle: u8,
}

/// The streams of a pass.
struct Streams {
    place: Rng,
    size: Rng,
    mix: Rng,
    order: Rng,
    handle: Rng,
}

impl Streams {
    fn of(name: &str, seed: u64) -> Self {
        let stream = |kind: &str| Rng::stream(seed, &format!("fio.{name}.{kind}"));
        Self {
            place: stream("place"),
            size: stream("size"),
            mix: stream("mix"),
            order: stream("order"),
            handle: stream("handle"),
        }
    }
}

/// See the module.
pub(crate) struct Source {
    spec: JobSpec,
    seed: u64,
    streams: Streams,
    map: Option<FreeMap>,
    /// Places by popularity, for each direction.
    ranked: [Option<Ranked>; 3],
    /// Begin of the piece of a strided job; else 0.
    piece: u64,
    piece_bytes: u64,
    /// Begin and end of the last request of each direction.
    last: [Option<(u64, u64)>; 3],
    /// The next place of ascending requests.
    next: [u64; 3],
    /// Requests until a new place.
    until_new: u32,
    /// The next handle of those that take turns.
    turn: usize,
}

impl Source {
    /// The source of a process before its first pass.
    pub(crate) fn new(spec: &JobSpec, seed: u64) -> Self {
        let room = spec.stride.map_or(spec.size, |stride| stride.range.min(spec.size));
        let has_map = spec.is_random && spec.has_map && spec.places == Law::Uniform;
        let ranked = |kind: usize| {
            let count = places(spec, kind).max(1);
            Ranked::new(&spec.places, count).filter(|_| spec.is_random)
        };
        Self {
            seed,
            streams: Streams::of(&spec.name, seed),
            map: has_map.then(|| FreeMap::new(room / map_unit(spec))),
            ranked: [READ, WRITE, TRIM].map(ranked),
            piece: 0,
            piece_bytes: 0,
            last: [None; 3],
            next: [0; 3],
            until_new: spec.new_place_every,
            turn: 0,
            spec: spec.clone(),
        }
    }

    /// A new pass begins, with the queue empty.
    pub(crate) fn begin_pass(&mut self) {
        if self.spec.repeats {
            self.streams = Streams::of(&self.spec.name, self.seed);
        }
        (self.piece, self.piece_bytes) = (0, 0);
        self.restart();
    }

    fn restart(&mut self) {
        self.next = [self.piece; 3];
        self.last = [None; 3];
        if let Some(map) = &mut self.map {
            map.reset();
        }
    }

    /// The direction of the next request.
    pub(crate) fn kind(&mut self) -> usize {
        match self.spec.kinds {
            Kinds::Read => READ,
            Kinds::Write => WRITE,
            Kinds::Trim => TRIM,
            Kinds::Mixed => {
                let drawn = 1 + self.streams.mix.below(100);
                usize::from(drawn > u64::from(self.spec.read_pct))
            }
            Kinds::TrimWrite => {
                let start = |kind: usize| self.last[kind].map(|(start, _)| start);
                if start(WRITE) == start(TRIM) {
                    TRIM
                } else {
                    WRITE
                }
            }
        }
    }

    /// The next request of a direction; `None` when the pass has no place for it.
    pub(crate) fn draw(&mut self, kind: usize) -> Option<Draw> {
        self.step_piece(kind);
        let repeats = self.spec.kinds == Kinds::TrimWrite && self.spec.is_random && kind == WRITE;
        let (at, bytes, takes) = if repeats {
            // A trim came before, or this would be one.
            let (start, end) = self.last[TRIM]?;
            (start, end - start, false)
        } else {
            let (at, is_random) = self.place(kind)?;
            if at.checked_sub(self.piece).is_none_or(|at| at >= self.spec.size) {
                return None;
            }
            let by = match (self.spec.sizes_by_place, is_random) {
                (false, _) => kind,
                (true, true) => WRITE,
                (true, false) => READ,
            };
            (at, self.size(by, at)?, is_random)
        };
        let bytes = if takes { self.take(at, bytes) } else { bytes };
        self.last[kind] = Some((at, at + bytes));
        if kind == TRIM {
            // A trim at the place of the last pair is no pair yet.
            self.last[WRITE] = self.last[WRITE].filter(|&(start, _)| start != at);
        }
        self.next[kind] = at + bytes;
        self.piece_bytes += bytes;
        let handle = if kind == WRITE { self.handle(at) } else { 0 };
        Some(Draw { at, bytes, handle })
    }

    /// Goes to the next piece of a strided job when this one is done.
    fn step_piece(&mut self, kind: usize) {
        let Some(stride) = self.spec.stride else { return };
        if self.piece_bytes >= stride.size {
            self.piece_bytes = 0;
            self.piece += stride.range + stride.skip;
            if self.spec.offset + self.piece >= self.spec.reach {
                self.piece = 0;
            }
            self.next[kind] = self.piece;
        }
        if self.next[kind] >= self.piece + stride.range {
            self.next[kind] = self.piece;
        }
        if self.piece_bytes.is_multiple_of(stride.range) {
            self.restart();
        }
    }

    /// A place, and whether it was drawn.
    fn place(&mut self, kind: usize) -> Option<(u64, bool)> {
        self.until_new -= 1;
        let is_new = self.until_new == 0;
        if is_new {
            self.until_new = self.spec.new_place_every;
        }
        if !is_new && self.spec.repeats_place {
            return Some((self.last[kind].map_or(self.piece, |(start, _)| start), false));
        }
        if self.spec.is_random && is_new && self.is_random(kind) {
            return self.random(kind).map(|at| (at, true));
        }
        match self.ascending(kind) {
            Some(at) => Some((at, false)),
            None if self.spec.is_random => self.random(kind).map(|at| (at, false)),
            None => None,
        }
    }

    fn is_random(&mut self, kind: usize) -> bool {
        let share = self.spec.random_pct[kind];
        share == 100 || self.streams.order.below(100) < u64::from(share)
    }

    /// The place behind the last one; in a strided job it counts from the piece on.
    fn ascending(&mut self, kind: usize) -> Option<u64> {
        let spec = &self.spec;
        let wraps = spec.is_time_based || (spec.writes() && spec.io_size > spec.size);
        if self.next[kind] >= spec.size && wraps {
            self.next[kind] = self.piece;
        }
        let first = spec.offset + self.piece;
        if spec.offset + self.next[kind] >= spec.reach {
            return None;
        }
        let at = self.next[kind] - self.piece;
        let back = || spec.size.checked_add_signed(spec.skip);
        let found = if spec.skip == 0 {
            Some(at)
        } else if at == 0 {
            // Descending from the begin of a file starts there; else fio takes the length of the
            // range for the place of its end in the file.
            if spec.skip > 0 || first == 0 || first == spec.size {
                Some(0)
            } else {
                let end = spec.size.checked_sub(first);
                end.and_then(|end| end.checked_add_signed(spec.skip)).or_else(back)
            }
        } else {
            let moved = at.checked_add_signed(spec.skip);
            match moved.filter(|&it| it < spec.reach) {
                Some(at) => Some(at),
                None if spec.skip > 0 => Some(first),
                None => back(),
            }
        };
        found.map(|at| self.piece + at)
    }

    fn random(&mut self, kind: usize) -> Option<u64> {
        let block = self.block(kind).or_else(|| {
            if !self.spec.is_time_based {
                return None;
            }
            self.restart();
            self.block(kind)
        })?;
        Some(self.piece + block * self.spec.align[kind])
    }

    /// The number of a random place.
    fn block(&mut self, kind: usize) -> Option<u64> {
        let rng = &mut self.streams.place;
        let align = self.spec.align[kind];
        let count = places(&self.spec, kind);
        if let Some(ranked) = &self.ranked[kind] {
            return Some(ranked.draw(rng));
        }
        if count == 0 {
            return None;
        }
        let Law::Zones { zones } = &self.spec.places else {
            let block = rng.below(count);
            let Some(map) = &self.map else { return Some(block) };
            let units = (align / map_unit(&self.spec)).max(1);
            return Some(map.next_free(block * units)? / units);
        };
        if zones[kind].is_empty() {
            return Some(rng.below(count));
        }
        let mut drawn = 1 + self.streams.order.below(100) as u32;
        let zone = zones[kind].iter().find(|&&(share, ..)| {
            let is_here = drawn <= share;
            drawn = drawn.saturating_sub(share);
            is_here
        });
        let &(_, from, to) = zone.or(zones[kind].last())?;
        let (first, limit) = (from / align, (to / align).min(count));
        (limit > first).then(|| first + rng.below(limit - first))
    }

    /// Takes the blocks of a request out of the map: the bytes that are left of it.
    fn take(&mut self, at: u64, bytes: u64) -> u64 {
        let unit = map_unit(&self.spec);
        let Some(map) = &mut self.map else { return bytes };
        let taken = map.take((at - self.piece) / unit, bytes.div_ceil(unit));
        // A place between taken blocks, of a direction with another alignment.
        bytes.min(taken.max(1) * unit)
    }

    /// The bytes of a request; `None` if none fits behind its place.
    fn size(&mut self, kind: usize, at: u64) -> Option<u64> {
        let Sizes { min, max, split } = &self.spec.sizes[kind];
        if min == max {
            // A request of one size may cross the end of the range, not that of the file.
            return (self.spec.offset + at + min <= self.spec.reach).then_some(*min);
        }
        let room = self.spec.size.saturating_sub(at);
        // A smallest size without a share is never drawn.
        let has_fitting = split.iter().any(|&(bytes, share)| share > 0 && bytes <= room);
        if room < *min || !(split.is_empty() || has_fitting) {
            return None;
        }
        loop {
            let bytes = if split.is_empty() {
                let drawn = self.streams.size.unit() * *max as f64;
                let bytes = min + drawn as u64;
                (bytes - bytes % min).min(*max)
            } else {
                // Percents are compared as fio does: one that does not fit leaves it to the next.
                let drawn = self.streams.size.unit() * 100.0;
                let mut sum = 0.0;
                let fits = split.iter().find(|&&(bytes, share)| {
                    sum += f64::from(share);
                    share > 0 && drawn <= sum && bytes <= room
                });
                let last = split.iter().rev().find(|&&(_, share)| share > 0);
                fits.or(last).map_or(*min, |&(bytes, _)| bytes - bytes % min)
            };
            if bytes <= room {
                return Some(bytes);
            }
        }
    }

    fn handle(&mut self, at: u64) -> u8 {
        match &self.spec.handles {
            Handles::None => 0,
            Handles::RoundRobin { ids } => {
                let id = ids[self.turn % ids.len()];
                self.turn += 1;
                id
            }
            Handles::Random { ids } => ids[self.streams.handle.below(ids.len() as u64) as usize],
            Handles::Scheme { ranges } => {
                let at = self.spec.offset + at;
                let range = ranges.iter().find(|(from, to, _)| (*from..*to).contains(&at));
                range.map_or(0, |&(.., id)| id)
            }
        }
    }
}

/// Bytes of a block of the map: of the smallest request.
fn map_unit(spec: &JobSpec) -> u64 {
    let used: &[usize] = match spec.kinds {
        Kinds::Read => &[READ],
        Kinds::Write => &[WRITE],
        Kinds::Trim => &[TRIM],
        Kinds::Mixed => &[READ, WRITE],
        Kinds::TrimWrite => &[WRITE, TRIM],
    };
    used.iter().map(|&kind| spec.sizes[kind].min).min().unwrap_or(1)
}

/// Random places of a direction.
fn places(spec: &JobSpec, kind: usize) -> u64 {
    let room = spec.stride.map_or(spec.size, |stride| stride.range.min(spec.size));
    let align = spec.align[kind];
    (room - spec.sizes[kind].min.saturating_sub(align).min(room)) / align
}
