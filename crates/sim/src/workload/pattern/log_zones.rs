//! Zones that are written as logs: the requests of a log-structured store to a drive.
//!
//! The range is cut into zones of equal size. A number of them are open and take a request each in
//! turn, from their first byte to their last. A full zone is replaced by one that is drawn at
//! random among those that are not open; this is trimmed as a whole before its first request. The
//! rate falls if zones are smaller than the superblock of the drive, and if more are open than the
//! drive has open superblocks (Haas and co-authors, "SSD-iq").
//!
//! ```text
//! open: 2    zone 7  [##########··········]    request 1, 3, 5, …
//!            zone 2  [####················]    request 2, 4, 6, …   full: trim and open another
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Parameters;
use crate::config::{bytes_or_text, optional_bytes, size_schema, ConfigError};
use crate::op::{HostCommand, HostOp};
use crate::rng::Rng;
use crate::units::SECTOR_BYTES;
use crate::workload::addresses::{Addresses, Extent};
use crate::workload::check::refuse;
use crate::workload::synthetic::{Synthetic, SyntheticParts};
use crate::workload::Generator;

/// Zones open at once, at most.
const OPEN_MAX: u32 = 1024;

/// Parameters of `log_zones`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogZonesConfig {
    /// Bytes of a zone: a multiple of the request size. The rest of the range behind the last whole
    /// zone is not used.
    #[serde(deserialize_with = "bytes_or_text")]
    #[schemars(schema_with = "size_schema")]
    pub zone_bytes: u64,
    /// Bytes of a zone that are written, from its start: a multiple of the request size, at most
    /// the zone; default all of it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_bytes")]
    #[schemars(schema_with = "size_schema")]
    pub capacity_bytes: Option<u64>,
    /// Zones that are written in turn; 1 to 1024, below the number of zones; default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1024))]
    pub open: u32,
}

fn one() -> u32 {
    1
}

impl Parameters for LogZonesConfig {
    type Addresses = LogZones;

    fn check(&self, extent: Extent, request_sectors: &[u32]) -> Result<(), ConfigError> {
        let request_bytes = |sectors: u32| u64::from(sectors) * SECTOR_BYTES;
        let &[sectors] = request_sectors else {
            let message = "requests of several sizes; accepted: one size with log_zones";
            return Err(ConfigError::new("zone_bytes", message));
        };
        let bytes = request_bytes(sectors);
        // A trim of a zone is one command, of 32 bits of sectors.
        let limit = u64::from(u32::MAX) * SECTOR_BYTES;
        if self.zone_bytes == 0 || !self.zone_bytes.is_multiple_of(bytes) || self.zone_bytes > limit
        {
            let accepted = format!("a multiple of the {bytes} B of a request, at most {limit}");
            return Err(refuse("zone_bytes", self.zone_bytes, &accepted));
        }
        let capacity = self.capacity_bytes.unwrap_or(self.zone_bytes);
        if capacity == 0 || !capacity.is_multiple_of(bytes) || capacity > self.zone_bytes {
            let accepted = format!(
                "a multiple of the {bytes} B of a request, at most the {} B of a zone",
                self.zone_bytes
            );
            return Err(refuse("capacity_bytes", capacity, &accepted));
        }
        let zones = extent.sector_count * SECTOR_BYTES / self.zone_bytes;
        if !(1..=OPEN_MAX).contains(&self.open) || u64::from(self.open) >= zones {
            let accepted = format!(
                "1 to {OPEN_MAX}, and fewer than the {zones} zones of {} B in the active range",
                self.zone_bytes
            );
            return Err(refuse("open", self.open, &accepted));
        }
        Ok(())
    }

    fn compile(&self, _: u64) -> LogZones {
        let zone_sectors = self.zone_bytes / SECTOR_BYTES;
        let capacity_sectors = self.capacity_bytes.unwrap_or(self.zone_bytes) / SECTOR_BYTES;
        let open = Vec::new();
        LogZones { zone_sectors, capacity_sectors, open_count: self.open, open, turn: 0 }
    }

    fn generator(&self, parts: SyntheticParts, seed: u64) -> Box<dyn Generator> {
        Box::new(Trimming::new(Synthetic::new(self.compile(seed), parts), self.zone_bytes))
    }
}

/// The open zones, and whose turn it is.
#[derive(Clone, Debug)]
pub struct LogZones {
    zone_sectors: u64,
    capacity_sectors: u64,
    open_count: u32,
    /// First sector of each open zone, and sectors that it has taken; empty before the first
    /// request.
    open: Vec<(u64, u64)>,
    turn: usize,
}

/// Zones of the range, and the sectors of a request.
#[derive(Clone, Copy, Debug)]
pub struct Zones {
    count: u64,
    request_sectors: u64,
}

impl LogZones {
    /// A zone that is not open, from its first sector on.
    fn draw(&self, count: u64, rng: &mut Rng) -> (u64, u64) {
        loop {
            let first = rng.below(count) * self.zone_sectors;
            if !self.open.iter().any(|&(open, _)| open == first) {
                return (first, 0);
            }
        }
    }
}

impl Addresses for LogZones {
    type Span = Zones;

    fn span(&self, extent: Extent, request_sectors: u32) -> Zones {
        let count = extent.sector_count / self.zone_sectors;
        Zones { count, request_sectors: request_sectors.into() }
    }

    fn next(&mut self, span: &Zones, rng: &mut Rng) -> u64 {
        while self.open.len() < self.open_count as usize {
            let zone = self.draw(span.count, rng);
            self.open.push(zone);
        }
        let turn = self.turn;
        self.turn = (turn + 1) % self.open.len();
        if self.open[turn].1 == self.capacity_sectors {
            self.open[turn] = self.draw(span.count, rng);
        }
        let (first, written) = &mut self.open[turn];
        let sector = *first + *written;
        *written += span.request_sectors;
        sector
    }

    fn other(&self, _: &Zones, sector: u64, _: &mut Rng) -> u64 {
        sector
    }
}

/// The writes, with a trim before the first of each zone.
pub(crate) struct Trimming<G> {
    writes: G,
    zone_sectors: u64,
    drawn: Vec<HostCommand>,
    /// A write whose trim was the last of a batch.
    held: Option<HostCommand>,
}

impl<G: Generator> Trimming<G> {
    /// Puts trims before the writes to zones of `zone_bytes` bytes.
    pub(crate) fn new(writes: G, zone_bytes: u64) -> Self {
        let zone_sectors = zone_bytes / SECTOR_BYTES;
        Self { writes, zone_sectors, drawn: Vec::new(), held: None }
    }
}

impl<G: Generator> Generator for Trimming<G> {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        let limit = batch.len() + count;
        batch.extend(self.held.take());
        while batch.len() < limit {
            self.drawn.clear();
            self.writes.fill(&mut self.drawn, 1);
            let write = self.drawn[0];
            if write.sector.is_multiple_of(self.zone_sectors) {
                let sector_count = self.zone_sectors as u32;
                batch.push(HostCommand { op: HostOp::Trim, sector_count, ..write });
                if batch.len() == limit {
                    self.held = Some(write);
                    return;
                }
            }
            batch.push(write);
        }
    }

    fn retarget(&mut self, command: &mut HostCommand) {
        self.writes.retarget(command);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::size::SizeMix;
    use crate::workload::synthetic::OpMix;

    fn generator(zone_bytes: u64, open: u32) -> Box<dyn Generator> {
        let config = LogZonesConfig { zone_bytes, capacity_bytes: None, open };
        let extent = Extent { sector_count: 8 * 100 + 5, align_sectors: 8 };
        config.check(extent, &[8]).expect("zones of this size");
        let rng = || Rng::stream(1, "zones");
        let operations =
            OpMix { read_share: 0.0, read_trim_share: 0.0, trim: HostOp::Trim, rng: rng() };
        let sizes = SizeMix::new(&serde_json::from_str("4096").expect("a size"), rng());
        let parts = SyntheticParts {
            extent,
            zones: None,
            sizes,
            operations,
            arrivals: None,
            offsets: None,
            address_rng: rng(),
            retarget_rng: rng(),
        };
        config.generator(parts, 0)
    }

    #[test]
    fn zones_are_trimmed_and_written_from_end_to_end() {
        for open in [1, 2, 9] {
            let mut commands = Vec::new();
            generator(10 * 4096, open).fill(&mut commands, 5000);
            // By zone: sectors written since its trim; `None` before the first.
            let mut written: Vec<Option<u64>> = vec![None; 10];
            let mut trims = 0;
            for command in &commands {
                let zone = &mut written[command.sector as usize / 80];
                if command.op == HostOp::Trim {
                    assert_eq!((command.sector % 80, command.sector_count), (0, 80));
                    assert!(zone.is_none_or(|sectors| sectors == 80), "a zone that is open");
                    *zone = Some(0);
                    trims += 1;
                } else {
                    let sectors = zone.as_mut().expect("a zone is trimmed first");
                    assert_eq!(command.sector % 80, *sectors);
                    *sectors += 8;
                }
                let begun = written.iter().filter(|it| it.is_some_and(|it| it > 0 && it < 80));
                assert!(begun.count() <= open as usize);
            }
            assert!((450..=460).contains(&trims), "{trims} zones of 10 requests");
            assert!(written.iter().all(Option::is_some), "every zone had its turn");
        }
    }

    #[test]
    fn commands_do_not_depend_on_how_calls_are_cut() {
        let (mut whole, mut cut) = (Vec::new(), Vec::new());
        generator(5 * 4096, 3).fill(&mut whole, 1000);
        let mut one = generator(5 * 4096, 3);
        (0..1000).for_each(|_| one.fill(&mut cut, 1));
        assert_eq!(whole, cut);
    }

    #[test]
    fn zones_that_do_not_fit_are_refused() {
        let extent = Extent { sector_count: 800, align_sectors: 8 };
        let check = |zone_bytes, open, sizes: &[u32]| {
            LogZonesConfig { zone_bytes, capacity_bytes: None, open }
                .check(extent, sizes)
                .expect_err("a refusal")
        };
        assert!(check(4096 * 10, 10, &[8]).message.contains("fewer than the 10 zones"));
        assert!(check(4096 * 10, 0, &[8]).message.contains("1 to 1024"));
        assert!(check(5000, 1, &[8]).message.contains("a multiple of the 4096 B"));
        assert!(check(0, 1, &[8]).message.contains("a multiple of the 4096 B"));
        assert!(check(40960, 1, &[8, 16]).message.contains("one size"));
    }
}
