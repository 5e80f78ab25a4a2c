//! Zones: the range is cut into pieces, each with its own share of the requests.
//!
//! The `zoned` distribution of fio, in fractions: `zones: [{fraction: 0.1, share: 0.6}, …]`, from
//! low to high addresses. Fractions sum to 1, shares sum to 1. Inside a zone every start is equally
//! likely. `hot_cold` is the case of two zones, kept apart because it needs no search.
//!
//! ```text
//! zones of 5, 15, 80 %   |A|-B-|-------C-------|
//! shift 0.85             |B|-------C-------|A|B|   what passes the end begins at 0
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Parameters;
use crate::config::ConfigError;
use crate::rng::Rng;
use crate::workload::addresses::{Addresses, Extent};
use crate::workload::check::refuse;

/// Sums of fractions written in decimals differ from 1 by rounding only.
const SUM_TOLERANCE: f64 = 1e-9;

/// Parameters of `zoned`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZonedConfig {
    /// The zones, from low to high addresses; 1 to 4096 of them.
    #[schemars(length(min = 1, max = 4096))]
    pub zones: Vec<ZoneConfig>,
    /// Where the first zone begins, as a part of the active range; what passes the end of the range
    /// continues at its start. 0 to below 1; default 0.
    #[serde(default, skip_serializing_if = "crate::config::is_default")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub shift: f64,
}

/// One zone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneConfig {
    /// Part of the active range; above 0, at most 1. All zones together: 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fraction: f64,
    /// Part of the requests; 0 to 1. All zones together: 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: f64,
}

impl Parameters for ZonedConfig {
    type Addresses = Zoned;

    fn check(&self, extent: Extent, request_sectors: &[u32]) -> Result<(), ConfigError> {
        if !(1..=4096).contains(&self.zones.len()) {
            return Err(refuse("zones", format!("{} zones", self.zones.len()), "1 to 4096 zones"));
        }
        for (index, zone) in self.zones.iter().enumerate() {
            if !(zone.fraction > 0.0 && zone.fraction <= 1.0) {
                let path = format!("zones[{index}].fraction");
                return Err(refuse(&path, zone.fraction, "above 0, at most 1"));
            }
            if !(0.0..=1.0).contains(&zone.share) {
                return Err(refuse(&format!("zones[{index}].share"), zone.share, "0 to 1"));
            }
        }
        let sum = |part: fn(&ZoneConfig) -> f64| self.zones.iter().map(part).sum::<f64>();
        for (name, sum) in [("fractions", sum(|z| z.fraction)), ("shares", sum(|z| z.share))] {
            if (sum - 1.0).abs() > SUM_TOLERANCE {
                let message = format!("the {name} sum to `{sum}`; accepted: a sum of 1");
                return Err(ConfigError::new("zones", message));
            }
        }
        if !(0.0..1.0).contains(&self.shift) {
            return Err(refuse("shift", self.shift, "0 to below 1"));
        }
        let compiled = self.compile(0);
        // Every size is tried: rounding may leave a zone empty for one of them only.
        let empty_zone = request_sectors.iter().find_map(|&sectors| {
            compiled.span(extent, sectors).zones.iter().position(|zone| zone.count == 0)
        });
        match empty_zone {
            None => Ok(()),
            Some(piece) => Err(self.without_room(piece)),
        }
    }

    fn compile(&self, _: u64) -> Zoned {
        Zoned { zones: self.pieces().into_iter().map(|(_, zone)| zone).collect() }
    }
}

impl ZonedConfig {
    /// The zones from low to high addresses, with their numbers; one that passes the end is two.
    fn pieces(&self) -> Vec<(usize, ZoneConfig)> {
        let (mut start, mut before, mut behind) = (self.shift, Vec::new(), Vec::new());
        for (index, zone) in self.zones.iter().enumerate() {
            let room = 1.0 - start;
            if room <= SUM_TOLERANCE {
                before.push((index, *zone));
            } else if zone.fraction <= room + 2.0 * SUM_TOLERANCE {
                behind.push((index, *zone));
            } else {
                let part = |fraction| ZoneConfig {
                    fraction,
                    share: zone.share * (fraction / zone.fraction),
                };
                behind.push((index, part(room)));
                before.push((index, part(zone.fraction - room)));
            }
            start += zone.fraction;
        }
        before.append(&mut behind);
        before
    }

    fn without_room(&self, piece: usize) -> ConfigError {
        let (index, zone) = self.pieces()[piece];
        let message = format!(
            "`{}` of the active range has no room for a request; accepted: at least one",
            zone.fraction
        );
        ConfigError::new(format!("zones[{index}].fraction"), message)
    }
}

/// Draws the zone, then the place.
#[derive(Clone, Debug)]
pub struct Zoned {
    zones: Vec<ZoneConfig>,
}

/// The zones for one request size.
#[derive(Clone, Debug)]
pub struct Zones {
    zones: Vec<Zone>,
    align_sectors: u64,
}

#[derive(Clone, Copy, Debug)]
struct Zone {
    /// Requests with a draw below this go to this zone or an earlier one.
    share_limit: f64,
    first: u64,
    count: u64,
}

impl Addresses for Zoned {
    type Span = Zones;

    fn span(&self, extent: Extent, request_sectors: u32) -> Zones {
        let count = extent.starts(request_sectors);
        let (mut fraction, mut share, mut first) = (0.0, 0.0, 0);
        let last = self.zones.len() - 1;
        let zones = self.zones.iter().enumerate().map(|(index, zone)| {
            fraction += zone.fraction;
            share += zone.share;
            // Ends are rounded to the nearest start; the last zone takes the rest.
            let end = ((fraction * count as f64).round() as u64).min(count);
            let limit = if index == last { count } else { end };
            let compiled = Zone { share_limit: share, first, count: limit - first };
            first = limit;
            compiled
        });
        Zones { zones: zones.collect(), align_sectors: extent.align_sectors }
    }

    #[inline]
    fn next(&mut self, span: &Zones, rng: &mut Rng) -> u64 {
        self.other(span, 0, rng)
    }

    #[inline]
    fn other(&self, span: &Zones, _: u64, rng: &mut Rng) -> u64 {
        // The last limit is 1 up to rounding: scaling by it leaves no gap at the end.
        let last = span.zones.len() - 1;
        let point = rng.unit() * span.zones[last].share_limit;
        let index = span.zones.partition_point(|zone| zone.share_limit <= point).min(last);
        let zone = &span.zones[index];
        (zone.first + rng.below(zone.count)) * span.align_sectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zoned(zones: &[(f64, f64)]) -> ZonedConfig {
        let zone = |&(fraction, share): &(f64, f64)| ZoneConfig { fraction, share };
        ZonedConfig { zones: zones.iter().map(zone).collect(), shift: 0.0 }
    }

    #[test]
    fn shares_and_places_follow_the_definition() {
        let config = zoned(&[(0.5, 0.1), (0.1, 0.6), (0.2, 0.0), (0.2, 0.3)]);
        let extent = Extent { sector_count: 800, align_sectors: 8 };
        config.check(extent, &[8]).unwrap();
        let mut addresses = config.compile(0);
        let span = addresses.span(extent, 8);
        let mut rng = Rng::stream(1, "test");
        let draws = 400_000_u32;
        let mut counts = [0_u32; 100];
        for _ in 0..draws {
            counts[addresses.next(&span, &mut rng) as usize / 8] += 1;
        }
        let share = |place| match place {
            0..50 => 0.1 / 50.0,
            50..60 => 0.6 / 10.0,
            60..80 => 0.0,
            _ => 0.3 / 20.0,
        };
        assert!(counts[60..80].iter().all(|&count| count == 0), "a share of 0 is never hit");
        // Chi-square with 79 degrees of freedom: mean 79, deviation 12.6.
        let chi_square: f64 = (0..100)
            .filter(|&place| share(place) > 0.0)
            .map(|place| {
                let expected = share(place) * f64::from(draws);
                (f64::from(counts[place]) - expected).powi(2) / expected
            })
            .sum();
        assert!((79.0 - 57.0..79.0 + 57.0).contains(&chi_square), "{chi_square}");
    }

    #[test]
    fn shifted_zones_pass_the_end_of_the_range() {
        let groups = [(0.05, 0.5), (0.15, 0.3), (0.8, 0.2)];
        let extent = Extent { sector_count: 160, align_sectors: 8 };
        for steps in 0_u32..20 {
            let config = ZonedConfig { shift: f64::from(steps) / 20.0, ..zoned(&groups) };
            config.check(extent, &[8]).unwrap();
            let mut addresses = config.compile(0);
            let span = addresses.span(extent, 8);
            let mut rng = Rng::stream(1, "test");
            let draws = 40_000;
            let mut counts = [0_u32; 20];
            for _ in 0..draws {
                counts[addresses.next(&span, &mut rng) as usize / 8] += 1;
            }
            for place in 0..20 {
                let share = match place {
                    0 => 0.5,
                    1..4 => 0.1,
                    _ => 0.2 / 16.0,
                };
                let (count, mean) = (counts[(place + steps as usize) % 20], share * 40_000.0);
                assert!(
                    (f64::from(count) - mean).abs() < 6.0 * f64::sqrt(mean),
                    "{steps} {place} {count}"
                );
            }
        }
        for shift in [-0.05, 1.0, f64::NAN] {
            let config = ZonedConfig { shift, ..zoned(&groups) };
            let error = config.check(extent, &[8]).unwrap_err();
            assert!(error.to_string().starts_with("shift: "), "{error}");
        }
    }

    #[test]
    fn sums_other_than_one_and_empty_zones_are_refused() {
        let extent = Extent { sector_count: 800, align_sectors: 8 };
        for zones in [
            &[(0.5, 0.5), (0.4, 0.5)][..],
            &[(0.5, 0.5), (0.5, 0.6)],
            &[(0.999, 0.5), (0.001, 0.5)],
            &[(0.0, 0.5), (1.0, 0.5)],
            &[(0.5, -0.5), (0.5, 1.5)],
            &[(0.5, f64::NAN), (0.5, 0.5)],
            &[],
        ] {
            assert!(zoned(zones).check(extent, &[8]).is_err(), "{zones:?}");
        }
        // 6 starts leave nothing between 0.45 and 0.55, 5 starts do.
        let narrow = zoned(&[(0.45, 0.4), (0.1, 0.2), (0.45, 0.4)]);
        let extent_of = |sector_count| Extent { sector_count, align_sectors: 1 };
        narrow.check(extent_of(6), &[2]).unwrap();
        assert!(narrow.check(extent_of(6), &[1, 2]).is_err());
        zoned(&[(0.1, 0.2), (0.2, 0.1), (0.7, 0.7)]).check(extent, &[8]).unwrap();
    }
}
