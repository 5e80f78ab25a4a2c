//! Between frames one after another and lanes side by side.
//!
//! ```text
//!   frame 0: a0 a1 a2 …            bit 0: a0 b0 c0 …  (lanes)
//!   frame 1: b0 b1 b2 …    ◄──►    bit 1: a1 b1 c1 …
//! ```
//!
//! Blocks of 8 by 8 are turned in 64-bit words (the swaps of H. Warren, Hacker's Delight, 2nd ed.,
//! 7-3, on bytes for LLRs and on bits for decisions), for all groups of eight lanes at once. A
//! strip of a cache line per frame is copied first: frames whose length is a power of two would
//! otherwise push each other out of the cache.

use crate::ldpc::simd::{Row, LANES};

/// Eight words, one for each group of eight lanes; operations go over the groups as one vector.
type Groups = [u64; 8];

/// Bits that are handled together: a cache line of each frame.
const STRIP: usize = 64;

/// Spreads frames of 8-bit LLRs over lanes: row `sent[i]` gets LLR `i` of each frame.
#[inline(always)]
pub(super) fn read_bytes(llrs: &[i8], sent: &[u32], rows: &mut [Row]) {
    let bits = sent.len();
    let mut strip = [[0_i8; STRIP]; LANES];
    for first in (0..bits).step_by(STRIP) {
        let width = (bits - first).min(STRIP);
        // Lanes beyond the last frame stay zero.
        for (line, frame) in strip.iter_mut().zip(llrs.chunks_exact(bits)) {
            line[..width].copy_from_slice(&frame[first..first + width]);
        }
        for (eight, columns) in sent[first..first + width].chunks(8).enumerate() {
            let mut block = [[0_u64; 8]; 8];
            for (lane, line) in strip.iter().enumerate() {
                let mut bytes = [0_u8; 8];
                for (byte, &llr) in bytes.iter_mut().zip(&line[8 * eight..8 * eight + 8]) {
                    *byte = llr as u8;
                }
                block[lane % 8][lane / 8] = u64::from_le_bytes(bytes);
            }
            turn_bytes(&mut block);
            for (groups, &column) in block.iter().zip(columns) {
                let row = &mut rows[column as usize].0;
                for (lanes, word) in row.chunks_exact_mut(8).zip(groups) {
                    for (lane, byte) in lanes.iter_mut().zip(word.to_le_bytes()) {
                        *lane = byte as i8;
                    }
                }
            }
        }
    }
}

/// Byte `j` of word `i` becomes byte `i` of word `j`, in each group.
#[inline(always)]
fn turn_bytes(block: &mut [Groups; 8]) {
    for (distance, mask) in
        [(4, 0x0000_0000_ffff_ffff_u64), (2, 0x0000_ffff_0000_ffff), (1, 0x00ff_00ff_00ff_00ff)]
    {
        for low in 0..8 {
            if low & distance == 0 {
                for group in 0..8 {
                    let (a, b) = (block[low][group], block[low + distance][group]);
                    let swap = (a >> (8 * distance) ^ b) & mask;
                    block[low][group] = a ^ swap << (8 * distance);
                    block[low + distance][group] = b ^ swap;
                }
            }
        }
    }
}

/// Writes decisions, a word of lanes per column, as one byte per sent bit, frame after frame.
#[inline(always)]
pub(super) fn write_bits(words: &[u64], sent: &[u32], out: &mut [u8]) {
    let bits = sent.len();
    let mut strip = [[0_u8; STRIP]; LANES];
    for first in (0..bits).step_by(STRIP) {
        let width = (bits - first).min(STRIP);
        for (eight, columns) in sent[first..first + width].chunks(8).enumerate() {
            let mut block = [0_u64; 8];
            for (index, &column) in columns.iter().enumerate() {
                // Byte `index` of block `g` holds the lanes of group `g`.
                let word = words[column as usize];
                for (group, block) in block.iter_mut().enumerate() {
                    *block |= (word >> (8 * group) & 0xff) << (8 * index);
                }
            }
            turn_bits(&mut block);
            for lane in 0..8 {
                let mut spreads = [0_u64; 8];
                for (spreaded, block) in spreads.iter_mut().zip(&block) {
                    *spreaded = spread(block >> (8 * lane) & 0xff);
                }
                for (group, spreaded) in spreads.iter().enumerate() {
                    strip[8 * group + lane][8 * eight..8 * eight + 8]
                        .copy_from_slice(&spreaded.to_le_bytes());
                }
            }
        }
        for (line, frame) in strip.iter().zip(out.chunks_exact_mut(bits)) {
            frame[first..first + width].copy_from_slice(&line[..width]);
        }
    }
}

/// Bit `j` of byte `i` becomes bit `i` of byte `j`, in each group.
#[inline(always)]
fn turn_bits(block: &mut Groups) {
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa_u64), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        for word in block.iter_mut() {
            let swap = (*word ^ *word >> shift) & mask;
            *word ^= swap ^ swap << shift;
        }
    }
}

/// Bit `i` of a byte becomes byte `i`, 0 or 1.
#[inline(always)]
fn spread(byte: u64) -> u64 {
    let two = byte | byte << 28;
    let four = (two | two << 14) & 0x0003_0003_0003_0003;
    (four | four << 7) & 0x0101_0101_0101_0101
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_for_any_number_of_frames() {
        for (bits, frames) in [(1, 1), (8, 64), (13, 5), (29, 63), (64, 64)] {
            let llrs: Vec<i8> = (0..bits * frames).map(|i| (i * 37 % 251) as u8 as i8).collect();
            let sent: Vec<u32> = (0..bits as u32).map(|column| 2 * column).collect();
            let mut rows = vec![Row([0; LANES]); 2 * bits];
            read_bytes(&llrs, &sent, &mut rows);
            let words: Vec<u64> = rows
                .iter()
                .map(|row| (0..LANES).map(|i| u64::from(row.0[i] < 0) << i).sum())
                .collect();
            for frame in 0..frames {
                for bit in 0..bits {
                    assert_eq!(rows[2 * bit].0[frame], llrs[frame * bits + bit]);
                }
            }
            let mut out = vec![9; bits * frames];
            write_bits(&words, &sent, &mut out);
            let expected: Vec<u8> = llrs.iter().map(|&llr| u8::from(llr < 0)).collect();
            assert_eq!(out, expected, "{frames} frames of {bits} bits");
        }
    }

    #[test]
    fn every_byte_is_spread() {
        for byte in 0..256_u64 {
            let expected = std::array::from_fn(|bit| (byte >> bit & 1) as u8);
            assert_eq!(spread(byte).to_le_bytes(), expected);
        }
    }
}
