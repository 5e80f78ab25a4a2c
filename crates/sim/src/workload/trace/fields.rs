//! Fields of a line: numbers without floats, and messages that quote the text safely.
//!
//! Times become whole nanoseconds straight from their decimals: a float of seconds since 1970 is
//! already off by 100 ns.

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
    match digits(text.as_bytes()) {
        Some(value) => Ok(value),
        None => Err(no_number(name, text)),
    }
}

/// The value of decimal digits and nothing else; `None` beyond 64 bits.
pub(crate) fn digits(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    let mut value: u64 = 0;
    for &byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

#[cold]
fn no_number(name: &str, text: &str) -> String {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return format!("{name} {} is not a whole number", quote(text));
    }
    format!("{name} {} is not a whole number up to {}", quote(text), u64::MAX)
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
    time(text, 1_000_000_000)
        .ok_or_else(|| format!("{name} {} is not a time in seconds such as 0.026214", quote(text)))
}

/// A time such as `12` or `0.026214` in units of `unit_ns`, at most a second; parts of a
/// nanosecond are dropped. `None` for anything else, and beyond 2^64 ns.
pub(crate) fn time(text: &str, unit_ns: u64) -> Option<Ns> {
    debug_assert!(unit_ns <= 1_000_000_000, "{unit_ns} ns");
    let bytes = text.as_bytes();
    let Some(point) = bytes.iter().position(|&byte| byte == b'.') else {
        return digits(bytes)?.checked_mul(unit_ns).map(Ns);
    };
    let decimals = &bytes[point + 1..];
    // The tenth decimal of a second is less than a nanosecond.
    let (counted, dropped) = decimals.split_at(decimals.len().min(9));
    if !dropped.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let fraction_ns = digits(counted)? * unit_ns / 10_u64.pow(counted.len() as u32);
    digits(&bytes[..point])?.checked_mul(unit_ns)?.checked_add(fraction_ns).map(Ns)
}

/// The part of `text` from `first` to the end of `last`, which are slices of it.
pub(crate) fn between<'a>(text: &'a str, first: &str, last: &str) -> &'a str {
    let offset = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    &text[offset(first)..offset(last) + last.len()]
}

/// Whether the line is the header of a table whose first column has one of these names.
pub(crate) fn is_header(text: &str, first_columns: &[&str]) -> bool {
    // Data begin with a digit: the common case is decided by one byte.
    if text.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
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
