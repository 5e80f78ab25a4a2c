//! Between frames one after another and lanes side by side.
//!
//! ```text
//!   frame 0: a0 a1 a2 …            bit 0: a0 b0 c0 …  (lanes)
//!   frame 1: b0 b1 b2 …    ◄──►    bit 1: a1 b1 c1 …
//! ```
//!
//! Blocks of 8 by 8 are turned in eight 64-bit words (the swaps of H. Warren, Hacker's Delight,
//! 2nd ed., 7-3, on bytes for LLRs and on bits for decisions).

#![allow(clippy::inline_always)]

use crate::ldpc::simd::{Row, LANES};

/// Spreads frames of 8-bit LLRs over lanes: row `sent[i]` gets LLR `i` of each frame.
#[inline(always)]
pub(super) fn read_bytes(llrs: &[i8], sent: &[u32], rows: &mut [Row]) {
    let bits = sent.len();
    for first in (0..bits).step_by(8) {
        let width = (bits - first).min(8);
        for group in (0..LANES).step_by(8) {
            let mut block = [0_u64; 8];
            for (lane, word) in block.iter_mut().enumerate() {
                let start = (group + lane) * bits + first;
                // Lanes beyond the last frame stay zero.
                if let Some(bytes) = llrs.get(start..start + width) {
                    *word = pack(bytes);
                }
            }
            turn_bytes(&mut block);
            for (&word, &column) in block.iter().zip(&sent[first..first + width]) {
                let lanes = &mut rows[column as usize].0[group..group + 8];
                for (lane, byte) in lanes.iter_mut().zip(word.to_le_bytes()) {
                    *lane = byte as i8;
                }
            }
        }
    }
}

#[inline(always)]
fn pack(bytes: &[i8]) -> u64 {
    if let Ok(bytes) = <&[i8; 8]>::try_from(bytes) {
        return u64::from_le_bytes(bytes.map(|byte| byte as u8));
    }
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte as u8))
}

/// Byte `j` of word `i` becomes byte `i` of word `j`.
#[inline(always)]
fn turn_bytes(block: &mut [u64; 8]) {
    for (distance, mask) in
        [(4, 0x0000_0000_ffff_ffff_u64), (2, 0x0000_ffff_0000_ffff), (1, 0x00ff_00ff_00ff_00ff)]
    {
        for low in 0..8 {
            if low & distance == 0 {
                let swap = (block[low] >> (8 * distance) ^ block[low + distance]) & mask;
                block[low] ^= swap << (8 * distance);
                block[low + distance] ^= swap;
            }
        }
    }
}

/// Writes decisions, a word of lanes per column, as one byte per sent bit, frame after frame.
#[inline(always)]
pub(super) fn write_bits(words: &[u64], sent: &[u32], out: &mut [u8]) {
    let bits = sent.len();
    let frames = out.len() / bits;
    for first in (0..bits).step_by(8) {
        let width = (bits - first).min(8);
        let mut columns = [0_u64; 8];
        for (word, &column) in columns.iter_mut().zip(&sent[first..first + width]) {
            *word = words[column as usize];
        }
        for group in (0..frames).step_by(8) {
            let mut block = 0;
            for (index, word) in columns.iter().enumerate() {
                block |= (word >> group & 0xff) << (8 * index);
            }
            let block = turn_bits(block);
            for lane in 0..(frames - group).min(8) {
                let spread = spread(block >> (8 * lane) & 0xff).to_le_bytes();
                let start = (group + lane) * bits + first;
                match <&mut [u8; 8]>::try_from(&mut out[start..start + width]) {
                    Ok(eight) => *eight = spread,
                    Err(_) => out[start..start + width].copy_from_slice(&spread[..width]),
                }
            }
        }
    }
}

/// Bit `j` of byte `i` becomes bit `i` of byte `j`.
#[inline(always)]
fn turn_bits(mut block: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa_u64), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let swap = (block ^ block >> shift) & mask;
        block ^= swap ^ swap << shift;
    }
    block
}

/// Bit `i` of a byte becomes byte `i`, 0 or 1.
#[inline(always)]
fn spread(byte: u64) -> u64 {
    let copies = byte * 0x0101_0101_0101_0101;
    let single = copies & 0x8040_2010_0804_0201;
    // A byte that is not zero carries into its highest bit.
    (single + 0x7f7f_7f7f_7f7f_7f7f) >> 7 & 0x0101_0101_0101_0101 | (single >> 7 & 1 << 56)
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
