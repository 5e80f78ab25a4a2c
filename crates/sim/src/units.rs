//! Units and addresses as types, so that a page number is never passed for a block number.
//!
//! Public signatures use these newtypes; a bare integer is a count. Time is whole nanoseconds:
//! a float clock would make the order of events depend on rounding.

use serde::{Deserialize, Serialize};

macro_rules! newtype {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize,
            Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);
    };
}

newtype!(
    /// A point in simulated time, or a span of it, in nanoseconds.
    Ns(u64)
);
newtype!(
    /// A logical page number: what the host addresses, in units of the flash page.
    Lpn(u32)
);
newtype!(
    /// A physical page number: `block << page_bits | page index`, see `Geometry`.
    Ppn(u32)
);
newtype!(
    /// A block number of the whole device: `die * blocks_per_die + block of the die`.
    BlockId(u32)
);
newtype!(
    /// A die number of the whole device: `channel + channels * die of the channel`.
    DieId(u32)
);

/// Bytes of the smallest host address unit. All commands are in whole sectors.
pub const SECTOR_BYTES: u64 = 512;

impl std::ops::Add for Ns {
    type Output = Self;
    fn add(self, span: Self) -> Self {
        Self(self.0 + span.0)
    }
}

impl std::ops::Sub for Ns {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        Self(self.0 - earlier.0)
    }
}

impl Ns {
    /// Converts nanoseconds, rounded half up; a negative number gives zero. The library's rounding
    /// is a function call on processors that have no instruction for it.
    #[inline]
    pub fn rounded(ns: f64) -> Self {
        let whole = ns as u64;
        Self(whole.saturating_add(u64::from(ns - whole as f64 >= 0.5)))
    }

    /// Nearest whole nanosecond of `us` microseconds.
    pub fn from_us(us: f64) -> Self {
        Self::rounded(us * 1e3)
    }

    /// Converts days to the nearest whole nanosecond.
    pub fn from_days(days: f64) -> Self {
        Self::rounded(days * 86_400e9)
    }

    /// The span in seconds, for reports.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

/// Reads a size such as `4096`, `4k`, `4KiB`, `1 GiB` or `2 GB`.
///
/// `k M G T` alone and with `iB` are powers of 1024 (as fio reads block sizes), with `B` powers of
/// 1000 (as drives state capacities).
///
/// # Errors
/// A sentence that names the text and the accepted forms.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let refuse = || {
        format!(
            "`{text}` is not a valid size; accepted: bytes as an integer, or a number with \
             k M G T, KiB MiB GiB TiB (1024), kB MB GB TB (1000)"
        )
    };
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let split = compact.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(compact.len());
    let (number, unit) = compact.split_at(split);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(refuse()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(refuse);
    }
    let value = number.parse::<f64>().map_err(|_| refuse())? * factor as f64;
    // 2^63: beyond it the product is no longer an exact byte count.
    if value.fract() == 0.0 && value < 9.2e18 {
        Ok(value as u64)
    } else {
        Err(refuse())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_are_rounded_as_the_library_does() {
        let mut rng = crate::rng::Rng::stream(1, "rounding");
        let drawn = (0..10_000).map(|_| f64::from_bits(rng.below(u64::MAX)));
        let halves = (0..100).map(|half| f64::from(half) / 2.0);
        let edges = [0.499_999_999_999_999_94, -0.7, -3.0, 4_503_599_627_370_497.5, 1.8e19, 1e30];
        for ns in drawn.chain(halves).chain(edges).chain([f64::NAN, f64::INFINITY]) {
            assert_eq!(Ns::rounded(ns), Ns(ns.round() as u64), "{ns}");
        }
    }

    #[test]
    fn sizes_follow_storage_usage() {
        // fio reads 4k as 4096; drives sell GB as 10^9.
        assert_eq!(parse_bytes("4k"), Ok(4096));
        assert_eq!(parse_bytes("4KiB"), Ok(4096));
        assert_eq!(parse_bytes("1 GiB"), Ok(1 << 30));
        assert_eq!(parse_bytes("2GB"), Ok(2_000_000_000));
        assert_eq!(parse_bytes("1.5MiB"), Ok(1_572_864));
        for bad in ["", "x", "4q", "-1", "1.0001B", "99999999999T", "1e3"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }
}
