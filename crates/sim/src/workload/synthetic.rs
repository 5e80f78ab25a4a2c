//! The generator behind every pattern: size, address, operation and arrival of each request.
//!
//! Each of the four has its own stream of randomness, and a request is always drawn whole; so
//! commands do not depend on how `fill` calls are cut, and a change of the read share does not
//! move a single address.
//! `fill` is called per batch through `dyn`; the loop inside is compiled once per pattern, with a
//! short form for the case that decides the speed of preconditioning: one size, no clock.

use super::addresses::{Addresses, Extent};
use super::alignment::{room_of, Offsets};
use super::load::Arrivals;
use super::size::SizeMix;
use super::{Generator, ZoneSpace};
use crate::op::{HostCommand, HostOp};
use crate::rng::Rng;
use crate::units::Ns;

/// Which operations, in which shares.
#[derive(Clone, Debug)]
pub(crate) struct OpMix {
    /// Draws below this read.
    pub read_share: f64,
    /// Draws below this, that do not read, trim.
    pub read_trim_share: f64,
    /// The operation of trims.
    pub trim: HostOp,
    /// The stream of the draws.
    pub rng: Rng,
}

impl OpMix {
    /// The same without its reads: the ratio of writes to trims stays.
    pub fn without_reads(self) -> Self {
        let trims = self.read_trim_share - self.read_share;
        let read_trim_share = trims / (1.0 - self.read_share).max(f64::MIN_POSITIVE);
        Self { read_share: 0.0, read_trim_share, ..self }
    }

    /// The same without reads; if nothing writes, writes alone, since preconditioning counts
    /// written bytes.
    pub fn with_writes(self) -> Self {
        let is_written = self.read_trim_share < 1.0;
        let only_writes = Self { read_share: 0.0, read_trim_share: 0.0, ..self.clone() };
        if is_written {
            self.without_reads()
        } else {
            only_writes
        }
    }

    /// The operation of every request, when there is only one.
    fn constant(&self) -> Option<HostOp> {
        if self.read_share >= 1.0 {
            Some(HostOp::Read)
        } else if self.read_trim_share <= 0.0 {
            Some(HostOp::Write)
        } else if self.read_trim_share >= 1.0 && self.read_share <= 0.0 {
            Some(self.trim)
        } else {
            None
        }
    }

    fn draw(&mut self) -> HostOp {
        self.constant().unwrap_or_else(|| self.draw_mixed())
    }

    /// As [`OpMix::draw`] if there is more than one operation; without a branch.
    #[inline]
    fn draw_mixed(&mut self) -> HostOp {
        let point = self.rng.unit();
        let place = usize::from(point >= self.read_share)
            + usize::from(point >= self.read_share.max(self.read_trim_share));
        [HostOp::Read, self.trim, HostOp::Write][place]
    }
}

/// Everything but the pattern.
pub(crate) struct SyntheticParts {
    pub extent: Extent,
    /// Those of the drive, if it has some.
    pub zones: Option<ZoneSpace>,
    pub sizes: SizeMix,
    pub operations: OpMix,
    /// `None` in closed loops.
    pub arrivals: Option<Arrivals>,
    /// Where requests smaller than a page start in it; `None` if at its start.
    pub offsets: Option<Offsets>,
    pub address_rng: Rng,
    pub retarget_rng: Rng,
}

/// Draws commands for one pattern, for ever.
pub(crate) struct Synthetic<A: Addresses> {
    addresses: A,
    spans: Vec<A::Span>,
    parts: SyntheticParts,
}

impl<A: Addresses> Synthetic<A> {
    pub fn new(addresses: A, parts: SyntheticParts) -> Self {
        let page_sectors = parts.offsets.as_ref().map_or(0, Offsets::page_sectors);
        let span = |&sectors| addresses.span(parts.extent, room_of(sectors, page_sectors));
        let spans = parts.sizes.sector_counts.iter().map(span).collect();
        Self { addresses, spans, parts }
    }

    /// Requests of one size without a clock.
    fn fill_plain(
        &mut self,
        batch: &mut Vec<HostCommand>,
        count: usize,
        mut op: impl FnMut() -> HostOp,
    ) {
        // Copies on the stack: the compiler keeps them in registers while it writes the batch.
        let mut rng = self.parts.address_rng.clone();
        let mut addresses = self.addresses.clone();
        let span = &self.spans[0];
        let sector_count = self.parts.sizes.sector_counts[0];
        batch.extend((0..count).map(|_| {
            let sector = addresses.next(span, &mut rng);
            HostCommand::new(op(), sector, sector_count)
        }));
        self.parts.address_rng = rng;
        self.addresses = addresses;
    }

    fn fill_mixed(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        let parts = &mut self.parts;
        batch.extend((0..count).map(|_| {
            let size = parts.sizes.draw();
            let sector_count = parts.sizes.sector_counts[size];
            let offset = parts.offsets.as_mut().map_or(0, |it| it.draw(sector_count));
            let place = self.addresses.next(&self.spans[size], &mut parts.address_rng);
            HostCommand {
                arrival: parts.arrivals.as_mut().map_or(Ns(0), Arrivals::next),
                sector: place + offset,
                sector_count,
                ..HostCommand::new(parts.operations.draw(), 0, 0)
            }
        }));
    }
}

impl<A: Addresses> Generator for Synthetic<A> {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        let parts = &self.parts;
        let is_plain = self.spans.len() == 1 && parts.arrivals.is_none() && parts.offsets.is_none();
        match self.parts.operations.constant() {
            Some(op) if is_plain => self.fill_plain(batch, count, || op),
            None if is_plain => {
                let mut operations = self.parts.operations.clone();
                self.fill_plain(batch, count, || operations.draw_mixed());
                self.parts.operations = operations;
            }
            _ => self.fill_mixed(batch, count),
        }
    }

    fn writes_whole_pages(&self, page_sectors: u32) -> bool {
        let parts = &self.parts;
        parts.operations.constant() == Some(HostOp::Write)
            && parts.sizes.sector_counts == [page_sectors]
            && parts.arrivals.is_none()
            && parts.offsets.is_none()
            && parts.extent.align_sectors.is_multiple_of(u64::from(page_sectors))
    }

    fn fill_pages(&mut self, lpns: &mut Vec<u32>, count: usize, page_sectors: u32) {
        let mut rng = self.parts.address_rng.clone();
        let mut addresses = self.addresses.clone();
        let span = &self.spans[0];
        let shift = page_sectors.trailing_zeros();
        let mut all = 0;
        lpns.extend((0..count).map(|_| {
            let sector = addresses.next(span, &mut rng);
            all |= sector;
            (sector >> shift) as u32
        }));
        assert!(all & u64::from(page_sectors - 1) == 0, "a request begins inside a page");
        self.parts.address_rng = rng;
        self.addresses = addresses;
    }

    fn retarget(&mut self, command: &mut HostCommand) {
        // A command of a foreign size was never ours: it keeps its address.
        if let Some(size) = self.parts.sizes.index_of(command.sector_count) {
            let rng = &mut self.parts.retarget_rng;
            command.sector = self.addresses.other(&self.spans[size], command.sector, rng);
            if let Some(offsets) = &self.parts.offsets {
                command.sector += offsets.draw_from(command.sector_count, rng);
            }
        }
    }
}
