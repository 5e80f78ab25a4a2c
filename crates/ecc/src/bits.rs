//! Bits in bytes: the one place that knows their order.
//!
//! A stream of bits is packed with the first bit in the most significant bit of the first byte, and
//! its last byte is filled up with zeros. [`reverse_in_bytes`] changes to the other order, in which
//! the least significant bit of a byte comes first.

/// Bytes that hold `bits` bits.
pub fn bytes_of(bits: usize) -> usize {
    bits.div_ceil(8)
}

/// Reverses the order of the bits within every byte.
///
/// ```
/// let mut bytes = [0x01, 0xb0];
/// opennandlab_ecc::bits::reverse_in_bytes(&mut bytes);
/// assert_eq!(bytes, [0x80, 0x0d]);
/// ```
pub fn reverse_in_bytes(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = byte.reverse_bits();
    }
}

/// The bit at `index` of a stream.
///
/// # Panics
/// When the stream is shorter.
pub fn bit(bytes: &[u8], index: usize) -> bool {
    bytes[index / 8] & (0x80 >> (index % 8)) != 0
}

/// Inverts the bit at `index` of a stream.
///
/// # Panics
/// When the stream is shorter.
pub fn flip(bytes: &mut [u8], index: usize) {
    bytes[index / 8] ^= 0x80 >> (index % 8);
}

/// Sets the bits after the first `bits` to zero, up to the end of `bytes`.
pub fn clear_behind(bytes: &mut [u8], bits: usize) {
    let whole = bits / 8;
    if !bits.is_multiple_of(8) {
        bytes[whole] &= !(0xff >> (bits % 8));
    }
    bytes[bytes_of(bits)..].fill(0);
}

/// Writes the bits of `more` behind the first `at` bits of `stream`, which are followed by zeros.
/// With `swap_bits`, the least significant bit of each byte of `more` comes first.
///
/// Of the bits that do not fit into `stream` nothing is kept.
///
/// ```
/// let mut stream = [0b1010_0000, 0];
/// opennandlab_ecc::bits::append(&mut stream, 3, &[0b1100_0001], false);
/// assert_eq!(stream, [0b1011_1000, 0b0010_0000]);
/// ```
pub fn append(stream: &mut [u8], at: usize, more: &[u8], swap_bits: bool) {
    let (whole, shift) = (at / 8, at % 8);
    let room = &mut stream[whole..];
    for (index, &byte) in more.iter().enumerate() {
        let byte = if swap_bits { byte.reverse_bits() } else { byte };
        if let Some(first) = room.get_mut(index) {
            *first |= byte >> shift;
        }
        if shift != 0 {
            if let Some(second) = room.get_mut(index + 1) {
                *second = byte << (8 - shift);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_appended_in_two_parts_is_the_same_stream() {
        let bits: Vec<bool> = (0..61).map(|i| (i * i + i / 3) % 5 < 2).collect();
        let pack = |bits: &[bool]| {
            let mut bytes = vec![0; bytes_of(bits.len())];
            for (index, _) in bits.iter().enumerate().filter(|(_, &bit)| bit) {
                flip(&mut bytes, index);
            }
            bytes
        };
        for cut in 0..=bits.len() {
            let mut stream = vec![0; bytes_of(bits.len())];
            let first = pack(&bits[..cut]);
            stream[..first.len()].copy_from_slice(&first);
            append(&mut stream, cut, &pack(&bits[cut..]), false);
            assert_eq!(stream, pack(&bits), "cut at {cut}");
        }
    }

    #[test]
    fn clearing_keeps_the_front() {
        let mut bytes = [0xff; 3];
        clear_behind(&mut bytes, 11);
        assert_eq!(bytes, [0xff, 0b1110_0000, 0]);
        assert!(bit(&bytes, 10) && !bit(&bytes, 11));
        clear_behind(&mut bytes, 8);
        assert_eq!(bytes, [0xff, 0, 0]);
    }
}
