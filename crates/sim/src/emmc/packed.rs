//! The header of a packed command: the first block of its data.
//!
//! ```text
//! byte 0 VERSION 1 · byte 1 R/W: 1 read, 2 write · byte 2 entries · from byte 8: 8 bytes each,
//!        argument of CMD23 · argument of CMD18 or CMD25                        little endian
//! ```
//! Source: JESD84-B51, 6.6 Packed commands.

use super::registers::PACKED_MAX;
use super::storage::SECTOR;

/// Bits of the argument of CMD23.
pub(super) const RELIABLE: u32 = 1 << 31;
/// See [`RELIABLE`].
pub(super) const PACKED: u32 = 1 << 30;

/// A command in a packed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) blocks: u64,
    pub(super) is_reliable: bool,
    pub(super) address: u32,
}

/// A header that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packed {
    pub(super) is_read: bool,
    pub(super) entries: Vec<Entry>,
}

impl Packed {
    pub(super) fn blocks(&self) -> u64 {
        self.entries.iter().map(|entry| entry.blocks).sum()
    }
}

/// Reads a header.
///
/// # Errors
/// The number of the wrong entry, from 1; 0 if the header itself is wrong.
pub(super) fn parse(header: &[u8; SECTOR]) -> Result<Packed, u8> {
    let [version, direction, count] = [header[0], header[1], header[2]];
    if version != 1 || !(1..=2).contains(&direction) || !(1..=PACKED_MAX).contains(&count) {
        return Err(0);
    }
    let word = |at: usize| u32::from_le_bytes(*header[at..].first_chunk().expect("it has 512"));
    let mut entries = Vec::new();
    for place in 1..=usize::from(count) {
        let (command, address) = (word(8 * place), word(8 * place + 4));
        let blocks = u64::from(command & 0xffff);
        // No packed command in a packed one, and none without end.
        if blocks == 0 || command & PACKED != 0 {
            return Err(place as u8);
        }
        entries.push(Entry { blocks, is_reliable: command & RELIABLE != 0, address });
    }
    Ok(Packed { is_read: direction == 1, entries })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_drivers_write_it() {
        // Two writes: 8 blocks, reliable, at 0x1000; 16 blocks at 0x2000.
        let mut header = [0; SECTOR];
        let words = [0x0002_0201, 0, 0x8000_0008u32, 0x1000, 16, 0x2000];
        for (at, word) in words.iter().enumerate() {
            header[4 * at..4 * at + 4].copy_from_slice(&u32::to_le_bytes(*word));
        }
        let packed = parse(&header).expect("it is right");
        assert!(!packed.is_read && packed.blocks() == 24);
        assert_eq!(packed.entries[0], Entry { blocks: 8, is_reliable: true, address: 0x1000 });
        header[0] = 2;
        assert_eq!(parse(&header), Err(0));
        header[0] = 1;
        header[16] = 0;
        assert_eq!(parse(&header), Err(2));
    }
}
