//! Namespaces: the parts of the drive's addresses that hosts have as disks.
//!
//! ```text
//! bytes of the drive:  0 ── namespace 1 ──┬──── namespace 2 ────┬── … ── end
//!                                         start = whole map units
//! ```
//! All of them are in one endurance group, on one FTL. A drive whose configuration divides its dies
//! among namespaces has these; any other is divided by the shares that its server was given.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use opennandlab_serve::line::Line;
use opennandlab_sim::session::Session;
use serde_json::Value;

use crate::status::Status;

/// Every namespace, where a command may be of all.
pub(crate) const EVERY_NAMESPACE: u32 = u32::MAX;
/// Bytes of a block that a host may choose: the formats by number.
pub(crate) const FORMATS: [u32; 2] = [512, 4096];
/// Most namespaces of a drive, as many as its configuration may have.
const NAMESPACES_MAX: usize = 64;
/// How far shares may be from 100 % together: the rounding of as many sums.
const PERCENT_ERROR: f64 = 1e-6;
/// Map units that are examined under one lock.
const UNITS_TOGETHER: u64 = 1 << 14;

/// See the module.
pub(crate) struct Namespace {
    /// From 1 on; the FTL has it as tenant `id - 1`.
    pub(crate) id: u32,
    /// Bytes of the drive.
    pub(crate) bytes: Range<u64>,
    /// Of a map unit.
    unit_bytes: u64,
    /// It is all of the drive.
    is_whole: bool,
    /// Number of its format, which a command may change.
    format: AtomicU32,
    /// NGUID and UUID.
    pub(crate) names: [[u8; 16]; 2],
}

impl Namespace {
    /// Number of the format in use.
    pub(crate) fn format(&self) -> usize {
        self.format.load(Ordering::SeqCst) as usize
    }

    /// Gives it another format, by number; whether it had another one.
    pub(crate) fn set_format(&self, format: u32) -> bool {
        self.format.swap(format, Ordering::SeqCst) != format
    }

    /// Bytes of a block. A command asks once, since a host may format meanwhile.
    pub(crate) fn block_bytes(&self) -> u64 {
        u64::from(FORMATS[self.format()])
    }

    /// Bytes of all blocks of `block_bytes`.
    fn capacity(&self, block_bytes: u64) -> u64 {
        (self.bytes.end - self.bytes.start) / block_bytes * block_bytes
    }

    /// Its blocks.
    pub(crate) fn blocks(&self) -> u64 {
        let block_bytes = self.block_bytes();
        self.capacity(block_bytes) / block_bytes
    }

    /// First byte, in the drive, and length of a range of blocks.
    pub(crate) fn range(&self, first: u64, blocks: u64) -> Result<(u64, u64), Status> {
        let block_bytes = self.block_bytes();
        let limit = self.capacity(block_bytes) / block_bytes;
        let is_inside = first.checked_add(blocks).is_some_and(|end| end <= limit);
        is_inside
            .then(|| (self.bytes.start + first * block_bytes, blocks * block_bytes))
            .ok_or(Status::LBA_RANGE)
    }

    /// Its blocks that hold data. The lock of the drive is free now and then meanwhile.
    pub(crate) fn used(&self, line: &Line<'_>) -> u64 {
        let mapped_in = |range| line.drive(|session, _, _| session.mapped_bytes(range));
        let mapped: u64 = if self.is_whole {
            mapped_in(self.bytes.clone())
        } else {
            let step = UNITS_TOGETHER * self.unit_bytes;
            let starts = self.bytes.clone().step_by(step as usize);
            starts.map(|start| mapped_in(start..self.bytes.end.min(start + step))).sum()
        };
        mapped.div_ceil(self.block_bytes()).min(self.blocks())
    }
}

/// Where namespaces begin and end, for an image.
pub(crate) fn note(namespaces: &[Namespace]) -> Vec<[u64; 2]> {
    namespaces.iter().map(|it| [it.bytes.start, it.bytes.end]).collect()
}

/// The same of an image; empty if it makes no sense.
pub(crate) fn kept(note: &Value) -> Vec<Range<u64>> {
    let pairs: Vec<[u64; 2]> = serde_json::from_value(note.clone()).unwrap_or_default();
    pairs.into_iter().map(|[start, end]| start..end).collect()
}

/// The namespaces of a drive. `shares` is text such as `25%,75%`, and `kept` what the image of the
/// drive has, whose borders do not move: data would change hands. `names` makes the identifiers of
/// a number.
pub(crate) fn divide(
    session: &Session,
    (shares, kept): (Option<&str>, Option<Vec<Range<u64>>>),
    block_bytes: u32,
    names: impl Fn(u32) -> [[u8; 16]; 2],
) -> Result<Vec<Namespace>, String> {
    let (unit_bytes, capacity) = (session.unit_bytes(), session.capacity_bytes());
    let own = session.namespaces();
    let format = FORMATS.iter().position(|&bytes| bytes == block_bytes);
    let format = format.ok_or_else(|| format!("lba: {block_bytes}; accepted: 512, 4096"))? as u32;
    let ranges: Vec<_> = match shares {
        Some(shares) if !own.is_empty() => {
            return Err(format!(
                "namespaces: `{shares}`, for a drive that host.namespaces divides; accepted: \
                 nothing, for its own {}",
                own.len()
            ));
        }
        None if own.is_empty() => match &kept {
            Some(kept) => kept.clone(),
            None => std::iter::once(0..capacity).collect(),
        },
        None => {
            let bytes = |page: u32| u64::from(page) * unit_bytes;
            own.iter().map(|it| bytes(it.pages.start)..bytes(it.pages.end)).collect()
        }
        Some(shares) => parts(shares, capacity, whole_units(unit_bytes))?,
    };
    if kept.is_some_and(|kept| kept != ranges || kept.iter().any(|it| it.end > capacity)) {
        return Err(format!(
            "namespaces: `{}`, for a drive whose image has others; accepted: omitted, for those",
            shares.unwrap_or("host.namespaces")
        ));
    }
    if let Some(place) =
        ranges.iter().position(|it| it.end.saturating_sub(it.start) < FORMATS[1].into())
    {
        return Err(format!(
            "namespaces: `{}` leaves number {} without a block; accepted: larger shares",
            shares.unwrap_or("host.namespaces"),
            place + 1
        ));
    }
    let is_whole = ranges.len() == 1 && ranges[0] == (0..capacity);
    let made = (1..).zip(ranges).map(|(id, bytes)| Namespace {
        id,
        bytes,
        unit_bytes,
        is_whole,
        format: AtomicU32::new(format),
        names: names(id),
    });
    Ok(made.collect())
}

/// The least bytes that are whole blocks of every format and whole map units.
fn whole_units(unit_bytes: u64) -> u64 {
    let block = u64::from(FORMATS[1]);
    (1..=block).map(|count| count * unit_bytes).find(|bytes| bytes % block == 0).unwrap_or(block)
}

/// Shares of the drive that follow each other, each from a whole `grain` on.
fn parts(text: &str, capacity: u64, grain: u64) -> Result<Vec<Range<u64>>, String> {
    let refused = || {
        format!(
            "namespaces: `{text}`; accepted: 1 to {NAMESPACES_MAX} shares above 0 that are 100 % \
             together, such as 25%,75%"
        )
    };
    let share = |word: &str| word.trim().strip_suffix('%')?.trim_end().parse::<f64>().ok();
    let shares: Option<Vec<f64>> = text.split(',').map(share).collect();
    let shares = shares.filter(|shares| shares.iter().all(|&it| it > 0.0 && it.is_finite()));
    let shares = shares.filter(|shares| shares.len() <= NAMESPACES_MAX).ok_or_else(refused)?;
    if (shares.iter().sum::<f64>() - 100.0).abs() > PERCENT_ERROR {
        return Err(refused());
    }
    let mut sum = 0.0;
    let ends = shares.iter().map(|share| {
        sum += share;
        (capacity as f64 * (sum / 100.0) * (1.0 + 1e-12)) as u64 / grain * grain
    });
    let mut ends: Vec<u64> = ends.collect();
    // The last one has what the grain leaves.
    *ends.last_mut().expect("there is a share") = capacity;
    let starts = std::iter::once(0).chain(ends.clone());
    Ok(starts.zip(ends).map(|(start, end)| start..end.max(start)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_each_other_to_the_end() {
        let capacity = 1000 * 4096 + 512;
        assert_eq!(parts("100%", capacity, 4096), Ok(std::iter::once(0..capacity).collect()));
        let found = parts("25%, 75 %", capacity, 16384).expect("they are 100");
        assert_eq!(found, [0..62 * 16384, 62 * 16384..capacity]);
        let thirds = parts("33.3%,33.3%,33.4%", 3000 * 4096, 4096).expect("they are 100");
        assert_eq!(thirds[2], 1998 * 4096..3000 * 4096);
        assert_eq!(whole_units(4096), 4096);
        assert_eq!(whole_units(18 << 10), 9 << 12);
        assert_eq!(whole_units(512), 4096);
    }

    #[test]
    fn shares_that_are_not_100_are_refused() {
        let many = vec!["1%"; 100].join(",");
        for text in
            ["", "25,75", "25%,74%", "0%,100%", "-5%,105%", "nan%", "inf%", "50%;50%", &many]
        {
            let refused = parts(text, 1 << 30, 4096).expect_err(text);
            assert!(refused.contains(&format!("`{text}`; accepted: 1 to 64 shares")), "{refused}");
        }
    }
}
