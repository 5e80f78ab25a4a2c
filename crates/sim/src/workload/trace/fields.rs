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

/// The fields of a CSV line, blanks around them removed.
pub(crate) fn commas(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.bytes().position(|byte| byte == b',');
        rest = end.map(|end| &text[end + 1..]);
        let field = end.map_or(text, |end| &text[..end]);
        let is_bare = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_graphic);
        let (first, last) = (field.as_bytes().first(), field.as_bytes().last());
        Some(if is_bare(first) && is_bare(last) { field } else { field.trim() })
    })
}

/// Exactly `N` fields of a CSV line.
pub(crate) fn comma_fields<const N: usize>(text: &str) -> Result<[&str; N], String> {
    let mut result = [""; N];
    exactly(commas(text), &mut result, N, "comma-separated")?;
    Ok(result)
}

/// Puts `wanted` fields into a list that has room for them; returns their number.
#[inline]
pub(crate) fn exactly<'a>(
    fields: impl Iterator<Item = &'a str>,
    slots: &mut [&'a str],
    wanted: usize,
    kind: &str,
) -> Result<usize, String> {
    let mut count = 0;
    for field in fields {
        if let Some(slot) = slots.get_mut(count) {
            *slot = field;
        }
        count += 1;
    }
    if count == wanted {
        Ok(count)
    } else {
        Err(format!("{count} {kind} fields instead of {wanted}"))
    }
}

/// A whole number.
#[inline]
pub(crate) fn number(name: &str, text: &str) -> Result<u64, String> {
    match digits(text.as_bytes()) {
        Some(value) => Ok(value),
        None => Err(no_number(name, text)),
    }
}

/// The value of decimal digits and nothing else; `None` beyond 64 bits.
#[inline]
pub(crate) fn digits(bytes: &[u8]) -> Option<u64> {
    let mut value: u64 = 0;
    // Of 19 digits no value is beyond 64 bits; eight at a time are quicker than one by one.
    let (first, last) = bytes.split_at(bytes.len().min(19));
    let (eights, rest) = first.as_chunks::<8>();
    for eight in eights {
        value = value * 100_000_000 + eight_digits(*eight)?;
    }
    for &byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    for &byte in last {
        let digit = byte.wrapping_sub(b'0');
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        if digit > 9 {
            return None;
        }
    }
    (!bytes.is_empty()).then_some(value)
}

/// The value of eight digits: pairs, then fours, then all are added up in one word.
#[inline]
fn eight_digits(bytes: [u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(bytes);
    let (zeros, upper) = (0x3030_3030_3030_3030, 0xf0f0_f0f0_f0f0_f0f0);
    // The upper half of each byte is 3, also after 6 was added.
    if word & upper != zeros || word.wrapping_add(0x0606_0606_0606_0606) & upper != zeros {
        return None;
    }
    let ones = word - zeros;
    let pairs = (ones * 10 + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
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
        assert_eq!(number("n", "000000000000000000000012"), Ok(12));
        let text = "12345678901234567890";
        for count in 1..=text.len() {
            assert_eq!(number("n", &text[..count]).ok(), text[..count].parse().ok());
            for bad in ["/", ":", " ", "a", "\u{b0}"] {
                let text = format!("{}{bad}{}", &text[..count - 1], &text[count..]);
                assert!(number("n", &text).is_err(), "{text}");
            }
        }
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
