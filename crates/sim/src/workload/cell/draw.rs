//! Drawing the commands of a cell, and taking sequential streams in turn.
//!
//! Size, address and operation each have a stream of randomness of their own, and a command is
//! always drawn whole: what comes does not depend on how `fill` is called.

use super::places::{Range, Slice, Starts};
use super::{Cell, CellPattern};
use crate::op::{HostCommand, HostOp};
use crate::rng::Rng;
use crate::units::SECTOR_BYTES;
use crate::workload::size::SizeMix;
use crate::workload::Generator;

/// How addresses follow each other.
enum Places {
    /// Starts by size.
    Random(Vec<Starts>),
    /// The slice, and the place at which the stream is.
    Sequential(Slice, u64),
}

/// The commands of one thread, or of all random ones.
pub(super) struct Drawing {
    range: Range,
    places: Places,
    sizes: SizeMix,
    read_share: f64,
    address_rng: Rng,
    op_rng: Rng,
    thread: u8,
}

impl Drawing {
    pub fn new(cell: &Cell, thread: u32, stream: impl Fn(&str) -> Rng) -> Self {
        let spec = &cell.spec;
        let sizes = SizeMix::new(&spec.block_bytes, stream("size"));
        let places = match spec.pattern {
            CellPattern::Random => {
                Places::Random(sizes.sector_counts.iter().map(|&it| cell.starts(it)).collect())
            }
            CellPattern::Sequential => {
                let slice = cell.slice(thread);
                Places::Sequential(slice, slice.first + spec.start_bytes / SECTOR_BYTES)
            }
        };
        Self {
            range: cell.range.clone(),
            places,
            sizes,
            read_share: spec.read_pct / 100.0,
            address_rng: stream("address"),
            op_rng: stream("op"),
            thread: thread as u8,
        }
    }

    #[inline]
    fn next(&mut self) -> HostCommand {
        let size = self.sizes.draw();
        let sector_count = self.sizes.sector_counts[size];
        let place = match &mut self.places {
            Places::Random(starts) => starts[size].draw(&mut self.address_rng),
            Places::Sequential(slice, next) => {
                let place = slice.next_place(&self.range, *next, sector_count.into());
                let place = place.expect("resolve has looked for room in every slice");
                *next = place + u64::from(sector_count);
                place
            }
        };
        let op = if self.read_share <= 0.0 {
            HostOp::Write
        } else if self.read_share >= 1.0 || self.op_rng.unit() < self.read_share {
            HostOp::Read
        } else {
            HostOp::Write
        };
        let sector = self.range.sector_at(place);
        HostCommand { tenant: self.thread, ..HostCommand::new(op, sector, sector_count) }
    }
}

impl Generator for Drawing {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        batch.extend((0..count).map(|_| self.next()));
    }

    fn retarget(&mut self, _: &mut HostCommand) {
        unreachable!("a cell trims nothing");
    }
}

/// Threads in turn, a command each.
pub(super) struct Turns {
    threads: Vec<Drawing>,
    next: usize,
}

impl Turns {
    pub fn new(threads: Vec<Drawing>) -> Self {
        Self { threads, next: 0 }
    }
}

impl Generator for Turns {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        for _ in 0..count {
            batch.push(self.threads[self.next].next());
            self.next = (self.next + 1) % self.threads.len();
        }
    }

    fn retarget(&mut self, _: &mut HostCommand) {
        unreachable!("a cell trims nothing");
    }
}
