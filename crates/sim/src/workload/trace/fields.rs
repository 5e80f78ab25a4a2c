//! Fields of a line: numbers without floats, and messages that quote the text safely.
//!
//! Times become whole nanoseconds straight from their decimals: a float of seconds since 1970 is
//! already off by 100 ns.

use crate::op::HostOp;
use crate::units::{Ns, SECTOR_BYTES};

/// The text in backquotes, control characters escaped, cut after 40 characters.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        quoted.push('…');
    }
    format!("`{quoted}`")
}

/// Exactly `N` fields of a CSV line, blanks around them removed.
pub(crate) fn comma_fields<const N: usize>(text: &str) -> Result<[&str; N], String> {
    exactly(text.split(',').map(str::trim), "comma-separated")
}

/// Exactly `N` fields of a line separated by blanks.
pub(crate) fn blank_fields<const N: usize>(text: &str) -> Result<[&str; N], String> {
    exactly(text.split_ascii_whitespace(), "blank-separated")
}

fn exactly<'a, const N: usize>(
    fields: impl Iterator<Item = &'a str>,
    kind: &str,
) -> Result<[&'a str; N], String> {
    let mut result = [""; N];
    let mut count = 0;
    for field in fields {
        if let Some(slot) = result.get_mut(count) {
            *slot = field;
        }
        count += 1;
    }
    if count == N {
        Ok(result)
    } else {
        Err(format!("{count} {kind} fields instead of {N}"))
    }
}

/// A whole number.
pub(crate) fn number(name: &str, text: &str) -> Result<u64, String> {
    // `parse` alone would take a leading plus.
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{name} {} is not a whole number", quote(text)));
    }
    text.parse().map_err(|_| format!("{name} {} is above 2^64", quote(text)))
}

/// A whole number of units, as bytes or nanoseconds.
pub(crate) fn scaled(name: &str, text: &str, factor: u64) -> Result<u64, String> {
    let count = number(name, text)?;
    count.checked_mul(factor).ok_or_else(|| format!("{name} {} is too large", quote(text)))
}

/// A number of sectors, in bytes.
pub(crate) fn sectors(name: &str, text: &str) -> Result<u64, String> {
    scaled(name, text, SECTOR_BYTES)
}

/// Seconds such as `12` or `0.026214`; digits beyond the ninth decimal are dropped.
pub(crate) fn seconds(name: &str, text: &str) -> Result<Ns, String> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let refuse = || format!("{name} {} is not a time in seconds such as 0.026214", quote(text));
    if decimals.is_empty() || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refuse());
    }
    let whole_ns = scaled(name, whole, 1_000_000_000).map_err(|_| refuse())?;
    let digits = &decimals[..decimals.len().min(9)];
    let fraction: u64 = digits.parse().map_err(|_| refuse())?;
    let fraction_ns = fraction * 10_u64.pow(9 - digits.len() as u32);
    whole_ns.checked_add(fraction_ns).map(Ns).ok_or_else(refuse)
}

/// The operation a letter or word stands for: `R`, `w`, `Read`, …
pub(crate) fn word_op(text: &str) -> Result<HostOp, String> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("r") || is("read") {
        Ok(HostOp::Read)
    } else if is("w") || is("write") {
        Ok(HostOp::Write)
    } else if is("d") || is("t") || is("trim") || is("discard") || is("unmap") {
        Ok(HostOp::Trim)
    } else {
        Err(format!("{} is not an operation; accepted: R, W, D", quote(text)))
    }
}

/// Whether the line is the header of a table whose first column has this name.
pub(crate) fn is_header(text: &str, first_columns: &[&str]) -> bool {
    let first = text.split(',').next().unwrap_or_default().trim();
    first_columns.iter().any(|column| first.eq_ignore_ascii_case(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact() {
        assert_eq!(seconds("t", "0.026214"), Ok(Ns(26_214_000)));
        assert_eq!(seconds("t", "1538323200"), Ok(Ns(1_538_323_200_000_000_000)));
        assert_eq!(seconds("t", "3.1234567899"), Ok(Ns(3_123_456_789)));
        for bad in ["", ".", "1.", ".5", "-1", "1e3", "1.5.2", "1,5", "99999999999", "+1", "1.-5"] {
            assert!(seconds("t", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_refuse_what_parse_would_take() {
        assert_eq!(number("n", "18446744073709551615"), Ok(u64::MAX));
        for bad in ["+1", "-1", "", " 1", "1_000", "0x10", "18446744073709551616", "١"] {
            assert!(number("n", bad).is_err(), "{bad}");
        }
        assert!(sectors("n", "36028797018963968").is_err(), "2^55 sectors are 2^64 bytes");
    }

    #[test]
    fn quoted_text_is_short_and_printable() {
        assert_eq!(quote("a\tb\u{1b}"), "`a\\tb\\u{1b}`");
        assert_eq!(quote(&"x".repeat(50)), format!("`{}…`", "x".repeat(40)));
    }
}
