//! Drawing the commands of a cell, and taking sequential streams in turn.
//!
//! Size, address and operation have separate random streams, and a command is always drawn as a
//! whole: the commands do not depend on how `fill` is called.

use super::places::{Range, Slice, Starts};
use super::{Cell, CellPattern, SkewLaw};
use crate::op::{HostCommand, HostOp};
use crate::rng::Rng;
use crate::units::{Ns, SECTOR_BYTES};
use crate::workload::addresses::{Addresses, Extent};
use crate::workload::load::Arrivals;
use crate::workload::pattern::hot_cold::HotCold;
use crate::workload::pattern::log_zones::LogZones;
use crate::workload::pattern::permutation::{Permutation, ShuffleKeys};
use crate::workload::pattern::zipf::Zipf;
use crate::workload::pattern::Parameters;
use crate::workload::size::SizeMix;
use crate::workload::Generator;

/// How addresses follow each other.
enum Places {
    /// Starts by size.
    Random(Vec<Starts>),
    /// The slice, and the place at which the stream is.
    Sequential(Slice, u64),
    /// Popular starts, by size.
    Zipf(Spanned<Zipf>),
    /// Starts that are used and starts that are not, by size.
    Static(Spanned<HotCold>),
    /// Open zones.
    Logs(Spanned<LogZones>),
    /// Starts in an order without repeats.
    Shuffled(Shuffled),
}

/// A pattern of workloads, and its spans by size.
struct Spanned<A: Addresses> {
    addresses: A,
    spans: Vec<A::Span>,
}

impl<A: Addresses> Spanned<A> {
    fn new(addresses: A, extent: Extent, sizes: &SizeMix) -> Self {
        let spans = sizes.sector_counts.iter().map(|&it| addresses.span(extent, it)).collect();
        Self { addresses, spans }
    }

    #[inline]
    fn next(&mut self, size: usize, rng: &mut Rng) -> u64 {
        self.addresses.next(&self.spans[size], rng)
    }
}

/// Every `step`-th start of a shuffle.
struct Shuffled {
    order: Permutation,
    count: u64,
    next: u64,
    step: u64,
    align_sectors: u64,
}

impl Shuffled {
    #[inline]
    fn next(&mut self) -> u64 {
        let place = self.order.apply(self.next) * self.align_sectors;
        self.next = (self.next + self.step) % self.count;
        place
    }
}

impl Places {
    fn random(cell: &Cell, sizes: &SizeMix) -> Self {
        let (spec, extent) = (&cell.spec, cell.extent());
        if let Some(skew) = &spec.skew {
            return match skew.law {
                SkewLaw::Zipf => {
                    Self::Zipf(Spanned::new(skew.zipf().compile(skew.seed), extent, sizes))
                }
                SkewLaw::Static => {
                    Self::Static(Spanned::new(skew.written().compile(skew.seed), extent, sizes))
                }
            };
        }
        if let Some(logs) = &spec.logs {
            return Self::Logs(Spanned::new(logs.compile(0), extent, sizes));
        }
        Self::Random(sizes.sector_counts.iter().map(|&it| cell.starts(it)).collect())
    }
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
    /// When commands are made, in an open loop.
    pub arrivals: Option<Arrivals>,
}

impl Drawing {
    pub fn new(cell: &Cell, thread: u32, stream: impl Fn(&str) -> Rng) -> Self {
        let spec = &cell.spec;
        let sizes = SizeMix::new(&spec.block_bytes, stream("size"));
        let places = match spec.pattern {
            CellPattern::Random => Places::random(cell, &sizes),
            CellPattern::Shuffled => {
                let extent = cell.extent();
                let count = extent.starts(sizes.sector_counts[0]);
                let mut rng = Rng::stream(spec.active_range.seed, "cell.order");
                Places::Shuffled(Shuffled {
                    order: Permutation::over(count, ShuffleKeys::draw(&mut rng)),
                    count,
                    next: u64::from(thread) % count,
                    step: u64::from(spec.threads),
                    align_sectors: extent.align_sectors,
                })
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
            arrivals: None,
        }
    }

    /// The same as the only thread: all that is shuffled.
    pub fn alone(mut self) -> Self {
        if let Places::Shuffled(shuffled) = &mut self.places {
            (shuffled.next, shuffled.step) = (0, 1);
        }
        self
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
            Places::Zipf(zipf) => zipf.next(size, &mut self.address_rng),
            Places::Static(written) => written.next(size, &mut self.address_rng),
            Places::Logs(logs) => logs.next(size, &mut self.address_rng),
            Places::Shuffled(shuffled) => shuffled.next(),
        };
        let op = if self.read_share <= 0.0 {
            HostOp::Write
        } else if self.read_share >= 1.0 || self.op_rng.unit() < self.read_share {
            HostOp::Read
        } else {
            HostOp::Write
        };
        let sector = self.range.sector_at(place);
        let arrival = self.arrivals.as_mut().map_or(Ns(0), Arrivals::next);
        HostCommand { arrival, tenant: self.thread, ..HostCommand::new(op, sector, sector_count) }
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
