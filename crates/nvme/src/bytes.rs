//! Numbers in bytes, little endian, at the offsets that the specifications give.

/// A number of `count` bytes, at most 8.
pub(crate) fn get(bytes: &[u8], offset: usize, count: usize) -> u64 {
    bytes[offset..offset + count].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// Puts bytes in their place.
pub(crate) fn put(page: &mut [u8], offset: usize, bytes: &[u8]) {
    page[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// Puts the low `count` bytes of a number in their place.
pub(crate) fn put_number(page: &mut [u8], offset: usize, count: usize, number: u64) {
    put(page, offset, &number.to_le_bytes()[..count]);
}

/// Puts text in a field that spaces fill.
pub(crate) fn put_text(page: &mut [u8], offset: usize, count: usize, text: &str) {
    page[offset..offset + count].fill(b' ');
    let bytes = text.as_bytes();
    put(page, offset, &bytes[..bytes.len().min(count)]);
}
