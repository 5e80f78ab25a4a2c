//! The addresses of a cell: the active range, in one piece or in segments, and where requests of
//! one size may start in it.
//!
//! ```text
//!  capacity  |····▒▒▒▒··▒▒▒▒·········▒▒▒▒··|·····   segments in the active part, ascending
//!  range         |▒▒▒▒▒▒▒▒▒▒▒▒|                     the segments side by side; zones and
//!  zones         |A|B |   C   |                     slices are parts of it
//! ```
//! No request crosses the end of the range or of its segment. A request belongs to the zone in
//! which it starts.

use super::{
    refuse, ActiveRange, CellZone, ConfigError, Rng, Space, MIX_ALIGN_BYTES, SEGMENTS_MAX,
};
use crate::units::SECTOR_BYTES;

/// Sums of shares written in decimals differ from 1 by rounding only.
const SUM_TOLERANCE: f64 = 1e-9;
/// Sectors of the unit in which segments are placed.
const UNIT: u64 = MIX_ALIGN_BYTES / SECTOR_BYTES;

/// The active range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// First sector of each segment, ascending.
    firsts: Vec<u64>,
    segment_sectors: u64,
}

impl Range {
    /// The range of an address space.
    ///
    /// # Errors
    /// [`ConfigError`] when it is empty, or its segments do not fit.
    pub fn new(range: &ActiveRange, space: Space) -> Result<Self, ConfigError> {
        if !(range.share > 0.0 && range.share <= 1.0) {
            return Err(refuse("active_range.share", range.share, "above 0, at most 1"));
        }
        // All of it is exact at any capacity; a part is rounded down to whole units.
        let sectors = if range.share >= 1.0 {
            space.logical_bytes / SECTOR_BYTES
        } else {
            (space.logical_bytes as f64 * range.share) as u64 / MIX_ALIGN_BYTES * UNIT
        };
        if sectors < UNIT {
            let accepted = "a part that holds at least 4096 B";
            return Err(refuse("active_range.share", range.share, accepted));
        }
        let Some(amount) = range.amount_bytes else {
            return Ok(Self { firsts: vec![0], segment_sectors: sectors });
        };
        if !(1..=SEGMENTS_MAX).contains(&range.segments) {
            return Err(refuse("active_range.segments", range.segments, "1 to 65536"));
        }
        let count = u64::from(range.segments);
        let units = amount / MIX_ALIGN_BYTES / count;
        if units == 0 || units * count > sectors / UNIT {
            let accepted = format!(
                "{} to {} B, for {count} segments of whole 4096 B in {} B",
                count * MIX_ALIGN_BYTES,
                sectors * SECTOR_BYTES,
                sectors * SECTOR_BYTES
            );
            return Err(refuse("active_range.amount_bytes", amount, &accepted));
        }
        Ok(Self {
            firsts: spread(count, units, sectors / UNIT, range.seed),
            segment_sectors: units * UNIT,
        })
    }

    /// Sectors of the range.
    pub fn sector_count(&self) -> u64 {
        self.segment_sectors * self.firsts.len() as u64
    }

    /// Sectors of each segment.
    pub fn segment_sectors(&self) -> u64 {
        self.segment_sectors
    }

    /// The sector at a place of the range.
    #[inline]
    pub fn sector_at(&self, place: u64) -> u64 {
        if let [first] = self.firsts[..] {
            return first + place;
        }
        self.firsts[(place / self.segment_sectors) as usize] + place % self.segment_sectors
    }

    /// The place of a sector of the range.
    pub fn place_of(&self, sector: u64) -> u64 {
        let segment = self.firsts.partition_point(|&first| first <= sector) - 1;
        segment as u64 * self.segment_sectors + sector - self.firsts[segment]
    }

    #[cfg(test)]
    pub fn firsts(&self) -> &[u64] {
        &self.firsts
    }
}

/// First sectors of equal segments at random places, ascending, with gaps between them if there is
/// room for gaps.
///
/// Places of the gaps before each segment are drawn uniformly and sorted: every arrangement is
/// equally likely.
fn spread(count: u64, units: u64, units_in_all: u64, seed: u64) -> Vec<u64> {
    let mut rng = Rng::stream(seed, "cell.segments");
    let slack = units_in_all - count * units;
    let gap = u64::from(slack >= count - 1);
    let free = slack - gap * (count - 1);
    let mut places: Vec<u64> = (0..count).map(|_| rng.below(free + 1)).collect();
    places.sort_unstable();
    (0..).zip(places).map(|(index, place)| (place + index * (units + gap)) * UNIT).collect()
}

/// Refuses shares that are none, or do not sum to 1.
pub(super) fn check_zones(zones: &[CellZone]) -> Result<(), ConfigError> {
    for (index, zone) in zones.iter().enumerate() {
        for (name, share, low) in [
            ("range_share", zone.range_share, f64::MIN_POSITIVE),
            ("access_share", zone.access_share, 0.0),
        ] {
            if !(low..=1.0).contains(&share) {
                return Err(refuse(&format!("zones[{index}].{name}"), share, "a share up to 1"));
            }
        }
    }
    let sum = |part: fn(&CellZone) -> f64| zones.iter().map(part).sum::<f64>();
    for (name, sum) in [
        ("range_share", sum(|zone| zone.range_share)),
        ("access_share", sum(|zone| zone.access_share)),
    ] {
        if !zones.is_empty() && (sum - 1.0).abs() > SUM_TOLERANCE {
            let message = format!("`{name}` sums to {sum}; accepted: a sum of 1");
            return Err(ConfigError::new("zones", message));
        }
    }
    Ok(())
}

/// The starts of requests of one size.
#[derive(Clone, Debug)]
pub(super) struct Starts {
    segment_count: u64,
    /// Starts in a segment.
    per_segment: u64,
    segment_sectors: u64,
    align_sectors: u64,
    /// Zones: draws below the limit go to this one or an earlier one; its first start and how many
    /// there are. Empty: uniform.
    zones: Vec<(f64, u64, u64)>,
}

impl Starts {
    pub fn new(range: &Range, sectors: u32, align_sectors: u64, zones: &[CellZone]) -> Self {
        let per_segment = (range.segment_sectors - u64::from(sectors)) / align_sectors + 1;
        let mut starts = Self {
            segment_count: range.firsts.len() as u64,
            per_segment,
            segment_sectors: range.segment_sectors,
            align_sectors,
            zones: Vec::with_capacity(zones.len()),
        };
        let (mut part, mut share, mut first) = (0.0, 0.0, 0);
        for (index, zone) in zones.iter().enumerate() {
            part += zone.range_share;
            share += zone.access_share;
            let is_last = index + 1 == zones.len();
            let limit = if is_last { starts.count() } else { starts.below(part, range) };
            starts.zones.push((share, first, limit.saturating_sub(first)));
            first = limit;
        }
        starts
    }

    fn count(&self) -> u64 {
        self.segment_count * self.per_segment
    }

    /// Number of starts below a part of the range.
    fn below(&self, part: f64, range: &Range) -> u64 {
        let place = (part * range.sector_count() as f64).round() as u64;
        let (segment, rest) = (place / self.segment_sectors, place % self.segment_sectors);
        let within = rest.div_ceil(self.align_sectors).min(self.per_segment);
        (segment * self.per_segment + within).min(self.count())
    }

    /// Refuses zones in which no request can start.
    pub fn check_zones(&self, zones: &[CellZone]) -> Result<(), ConfigError> {
        match self.zones.iter().position(|&(_, _, count)| count == 0) {
            None => Ok(()),
            Some(index) => {
                let path = format!("zones[{index}].range_share");
                let accepted = "a part of the range with room for a request";
                Err(refuse(&path, zones[index].range_share, accepted))
            }
        }
    }

    /// Place in the range of the next request.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let index = if self.zones.is_empty() {
            rng.below(self.count())
        } else {
            // The last limit is 1 up to rounding: scaling by it leaves no gap at the end.
            let last = self.zones.len() - 1;
            let point = rng.unit() * self.zones[last].0;
            let zone = self.zones.iter().position(|zone| point < zone.0).unwrap_or(last);
            let (_, first, count) = self.zones[zone];
            first + rng.below(count)
        };
        if self.segment_count == 1 {
            return index * self.align_sectors;
        }
        let (segment, start) = (index / self.per_segment, index % self.per_segment);
        segment * self.segment_sectors + start * self.align_sectors
    }
}

/// The part of the range that one sequential stream goes round in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub first: u64,
    pub limit: u64,
}

impl Slice {
    /// The next start of a request whose stream is at `place`: there, or behind the end of the
    /// segment, or at the start of the slice. `None` if the slice has no room for it at all.
    #[inline]
    pub fn next_place(&self, range: &Range, place: u64, sectors: u64) -> Option<u64> {
        let mut place = place.max(self.first);
        // Twice round every segment is more than enough.
        for _ in 0..2 * range.firsts.len() + 2 {
            if place + sectors > self.limit {
                place = self.first;
                if place + sectors > self.limit {
                    return None;
                }
            }
            let room = range.segment_sectors - place % range.segment_sectors;
            if sectors <= room {
                return Some(place);
            }
            place += room;
        }
        None
    }
}
