//! Places of the volumes of a trace on one device.
//!
//! ```text
//!  concat   |volume a     |volume b  |volume c |     each begins at a page, or at a zone
//!  overlay  |a, b and c                |
//!  one      |b         |
//! ```
//!
//! Requests beyond the device are refused, wrapped or scaled ([`Beyond`]). Invariant: a translated
//! request is inside the device and keeps its length, unless it is longer than the whole device.
//! Scaling maps page numbers, not sectors: requests aligned to a page stay aligned, and order is
//! kept.

use super::{Beyond, ReplayConfig};
use crate::config::ConfigError;
use crate::op::HostOp;
use crate::units::SECTOR_BYTES;
use crate::workload::trace::{Trace, TraceRecord};
use crate::workload::Space;

/// Most names listed in a message.
const NAMES_MAX: usize = 12;

/// The compiled mapping.
#[derive(Clone, Debug)]
pub(in crate::workload) struct Layout {
    /// First sector of each volume, `None` for those left out.
    volume_starts: Vec<Option<u64>>,
    device_sectors: u64,
    page_sectors: u64,
    /// Sectors that the volumes span.
    trace_sectors: u64,
    beyond: Beyond,
    part: Part,
}

/// The part of a drive that a trace goes to.
#[derive(Clone, Copy, Debug)]
pub(in crate::workload) struct Part {
    /// The space that it is.
    pub space: Space,
    /// Its first sector on the drive.
    pub first_sector: u64,
    /// Its name in messages, with its verb.
    pub name: &'static str,
    /// A remedy for one that is too small.
    pub remedy: &'static str,
}

impl Part {
    /// All of it.
    pub fn whole(space: Space) -> Self {
        Self { space, first_sector: 0, name: "the device", remedy: "a larger device" }
    }
}

impl Layout {
    pub fn new(trace: &Trace, config: &ReplayConfig, part: Part) -> Result<Self, ConfigError> {
        let space = part.space;
        let page_sectors = (space.page_bytes / SECTOR_BYTES).max(1);
        let ends = trace.volume_ends();
        let (volume_starts, trace_sectors) = match config.volumes.as_str() {
            "overlay" => {
                (vec![Some(0); ends.len()], ends.iter().copied().max().unwrap_or_default())
            }
            "concat" => {
                let zone_sectors = space.zones.map(|zones| zones.zone_bytes / SECTOR_BYTES);
                concatenated(&ends, zone_sectors.unwrap_or(page_sectors))?
            }
            name => one_volume(trace, &ends, name)?,
        };
        let device_sectors = space.logical_bytes / SECTOR_BYTES;
        let layout = Self {
            volume_starts,
            device_sectors,
            page_sectors,
            trace_sectors,
            beyond: config.beyond,
            part,
        };
        if config.beyond == Beyond::Error && trace_sectors > device_sectors {
            return Err(layout.too_large(trace, space));
        }
        Ok(layout)
    }

    /// The indices of the volumes that are not left out.
    pub fn volumes(&self) -> impl Iterator<Item = usize> + '_ {
        let starts = self.volume_starts.iter().enumerate();
        starts.filter_map(|(index, start)| start.map(|_| index))
    }

    /// The same for one volume alone.
    pub fn only(&self, volume: usize) -> Self {
        let kept = |(index, start): (usize, &Option<u64>)| start.filter(|_| index == volume);
        let volume_starts = self.volume_starts.iter().enumerate().map(kept).collect();
        Self { volume_starts, ..self.clone() }
    }

    /// Whether addresses of the trace may become others.
    pub fn moves(&self) -> bool {
        match self.beyond {
            Beyond::Fit => self.trace_sectors != self.device_sectors,
            _ => self.trace_sectors > self.device_sectors,
        }
    }

    /// First sector of the record, its volume laid out; `None` when that is left out.
    pub fn start(&self, record: &TraceRecord) -> Option<u64> {
        Some(self.volume_starts[record.volume_index()]? + record.sector)
    }

    /// First sector and length of the record on the drive; `None` when its volume is left out.
    pub fn place(&self, record: &TraceRecord) -> Option<(u64, u32)> {
        let start = self.start(record)?;
        if record.op() == HostOp::Flush {
            return Some((0, 0));
        }
        let count = u64::from(record.sector_count).min(self.device_sectors);
        let sector = match self.beyond {
            Beyond::Error => start,
            Beyond::Wrap => start % self.device_sectors,
            Beyond::Scale | Beyond::Fit => self.scaled(start),
        };
        // The bound is `start + count <= device`; a request that would cross it is moved back.
        let sector = sector.min(self.device_sectors - count);
        Some((self.part.first_sector + sector, count as u32))
    }

    /// Describes the change to requests beyond the device.
    pub fn warning(&self, trace: &Trace) -> Option<String> {
        if !self.moves() {
            return None;
        }
        let (name, (trace_bytes, device_bytes)) = (self.part.name, self.sizes());
        let text = match self.beyond {
            Beyond::Error => return None,
            Beyond::Wrap => {
                let is_beyond = |record: &&TraceRecord| {
                    self.volume_starts[record.volume_index()]
                        .is_some_and(|start| start + record.sector_end() > self.device_sectors)
                };
                let count = trace.records().iter().filter(is_beyond).count();
                format!(
                    "{count} of {} requests lay beyond it and were wrapped",
                    trace.records().len()
                )
            }
            Beyond::Scale | Beyond::Fit => {
                let factor = device_bytes as f64 / trace_bytes as f64;
                let factor =
                    if factor < 1e-3 { format!("{factor:.3e}") } else { format!("{factor:.6}") };
                format!("page numbers were scaled by {factor}")
            }
        };
        let is_cut = |record: &&TraceRecord| {
            self.volume_starts[record.volume_index()].is_some()
                && u64::from(record.sector_count) > self.device_sectors
        };
        let cut = match trace.records().iter().filter(is_cut).count() {
            0 => String::new(),
            1 => format!("; 1 request was longer than {name} and was cut to its size"),
            count => {
                format!("; {count} requests were longer than {name} and were cut to its size")
            }
        };
        let sizes = format!("the trace spans {trace_bytes} B, {name} has {device_bytes} B");
        Some(format!("{sizes}: {text}{cut}"))
    }

    fn scaled(&self, start: u64) -> u64 {
        if !self.moves() {
            return start;
        }
        let device_pages = u128::from(self.device_sectors / self.page_sectors);
        let trace_pages = u128::from(self.trace_sectors.div_ceil(self.page_sectors)).max(1);
        let page = u128::from(start / self.page_sectors) * device_pages / trace_pages;
        page as u64 * self.page_sectors + start % self.page_sectors
    }

    fn sizes(&self) -> (u128, u128) {
        let bytes = |sectors: u64| u128::from(sectors) * u128::from(SECTOR_BYTES);
        (bytes(self.trace_sectors), bytes(self.device_sectors))
    }

    fn too_large(&self, trace: &Trace, space: Space) -> ConfigError {
        let (trace_bytes, device_bytes) = self.sizes();
        let used = self.volume_starts.iter().flatten().count();
        let volumes = if used > 1 { format!(" over {used} volumes") } else { String::new() };
        let others = match trace.volumes() {
            [_] => String::new(),
            names => {
                format!(" another choice of `volumes` (overlay, or one of {}),", some_of(names))
            }
        };
        let moved = match space.zones {
            None => " `wrap` (modulo), `scale` or `fit` (shrink page numbers),",
            Some(_) => "",
        };
        let or = if moved.is_empty() && others.is_empty() { "" } else { " or" };
        let message = format!(
            "{} reaches byte {}{volumes}, {} holds {device_bytes} B; \
             accepted:{moved}{others}{or} {}",
            trace.source_name(),
            trace_bytes - 1,
            self.part.name,
            self.part.remedy,
        );
        ConfigError::new("beyond", message)
    }
}

fn concatenated(ends: &[u64], align_sectors: u64) -> Result<(Vec<Option<u64>>, u64), ConfigError> {
    let mut starts = Vec::with_capacity(ends.len());
    let (mut next, mut span) = (0_u64, 0);
    for &end in ends {
        starts.push(Some(next));
        let limits = next
            .checked_add(end)
            .and_then(|limit| Some((limit, limit.checked_next_multiple_of(align_sectors)?)));
        let Some(limits) = limits else {
            let message =
                "the volumes together exceed 2^64 sectors; accepted: overlay, or one volume";
            return Err(ConfigError::new("volumes", message));
        };
        (span, next) = limits;
    }
    Ok((starts, span))
}

fn one_volume(
    trace: &Trace,
    ends: &[u64],
    name: &str,
) -> Result<(Vec<Option<u64>>, u64), ConfigError> {
    let Some(chosen) = trace.volumes().iter().position(|volume| volume == name) else {
        let names = some_of(trace.volumes());
        let message = format!("`{name}` is not in the trace; accepted: concat, overlay, {names}");
        return Err(ConfigError::new("volumes", message));
    };
    let starts = (0..ends.len()).map(|index| (index == chosen).then_some(0)).collect();
    Ok((starts, ends[chosen]))
}

fn some_of(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
