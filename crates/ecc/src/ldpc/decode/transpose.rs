//! Between frames one after another and lanes side by side.
//!
//! ```text
//!   frame 0: a0 a1 a2 …            bit 0: a0 b0 c0 …  (lanes)
//!   frame 1: b0 b1 b2 …    ◄──►    bit 1: a1 b1 c1 …
//! ```
//!
//! Both go by strips of 64 bits, a cache line of each frame; the last strip of a longer word goes
//! back over the one before.
//!
//! In: strips are copied first, since frames whose length is a power of two push each other out of
//! the cache. Then sixteen vectors take sixteen LLRs of all frames, vector `i` those of frames `i`,
//! `i + 16`, `i + 32` and `i + 48`, and four rounds of pairing the bytes of vectors `i` and `i + 8`
//! turn them: a round rotates the binary digits of (vector, byte) by one place, so four swap both
//! halves.
//!
//! Out: 64 words of decisions are turned by exchanging one binary digit of the word's number for
//! one of the bit's (H. Warren, Hacker's Delight, 2nd ed., 7-3), highest first; words are written
//! back in pairs, so that the next digit is the highest and every round looks the same to vectors.

use super::tie;
use crate::ldpc::simd::{Bytes, Hidden, Row, LANES};

/// Bits of a strip.
const STRIP: usize = 64;

/// Bits that are turned together on their way in.
const BLOCK: usize = 16;

/// Spreads frames of 8-bit LLRs over lanes: row `sent[i]` gets LLR `i` of each frame, as the
/// half-integer of `half_integer`; others that of zero. Lanes beyond the last frame hold anything.
#[inline(always)]
pub(super) fn read_llrs<V: Bytes>(llrs: &[i8], sent: &[u32], rows: &mut [Row]) {
    let bits = sent.len();
    if bits < rows.len() {
        for (column, row) in (0..).zip(rows.iter_mut()) {
            row.0.fill(half_integer(0, tie(column)));
        }
    }
    let hidden = Hidden::<V>::new();
    let mut lines = [[0; STRIP]; LANES];
    let zero = V::splat(0);
    let (mut block, mut other) = ([zero; BLOCK], [zero; BLOCK]);
    for strip in (0..bits).step_by(STRIP) {
        let first = strip.min(bits.saturating_sub(STRIP));
        for (line, frame) in lines.iter_mut().zip(llrs.chunks_exact(bits)) {
            match frame[first..].first_chunk() {
                Some(chunk) => *line = *chunk,
                None => line[..bits].copy_from_slice(frame),
            }
        }
        for (index, columns) in sent[first..bits.min(first + STRIP)].chunks(BLOCK).enumerate() {
            for (lane, vector) in block.iter_mut().enumerate() {
                *vector = V::from_quarters([
                    &lines[lane].as_chunks().0[index],
                    &lines[lane + BLOCK].as_chunks().0[index],
                    &lines[lane + 2 * BLOCK].as_chunks().0[index],
                    &lines[lane + 3 * BLOCK].as_chunks().0[index],
                ]);
            }
            pair(&block, &mut other);
            pair(&other, &mut block);
            pair(&block, &mut other);
            pair(&other, &mut block);
            for (&vector, &column) in block.iter().zip(columns) {
                let tie = V::splat(i8::from(tie(column)));
                let moves = vector.sub(tie).negative(hidden);
                vector.sub(V::splat(1)).select(moves, vector).store(&mut rows[column as usize]);
            }
        }
    }
}

/// One round of four: the bytes of vectors `i` and `i + 8` in turn.
#[inline(always)]
fn pair<V: Bytes>(block: &[V; BLOCK], turned: &mut [V; BLOCK]) {
    for index in 0..BLOCK / 2 {
        let (low, high) = block[index].interleave(block[index + BLOCK / 2]);
        turned[2 * index] = low;
        turned[2 * index + 1] = high;
    }
}

/// The half-integer of a whole LLR, one away from zero; `tie` decides for zero.
#[inline(always)]
fn half_integer(llr: i8, tie: bool) -> i8 {
    if llr < i8::from(tie) {
        llr.saturating_sub(1)
    } else {
        llr
    }
}

/// Writes decisions, a word of lanes per column, as one byte per sent bit, frame after frame.
#[inline(always)]
pub(super) fn write_bits<V: Bytes>(words: &[u64], sent: &[u32], out: &mut [u8]) {
    let bits = sent.len();
    let mut block = [0; STRIP];
    for strip in (0..bits).step_by(STRIP) {
        let first = strip.min(bits.saturating_sub(STRIP));
        match adjacent(words, &sent[first..]) {
            Some(strip) => block = *strip,
            None => {
                for (word, &column) in block.iter_mut().zip(&sent[first..]) {
                    *word = words[column as usize];
                }
            }
        }
        turn_bits(&mut block);
        for (&word, frame) in block.iter().zip(out.chunks_exact_mut(bits)) {
            if let Some(bytes) = frame[first..].first_chunk_mut() {
                V::write_bits(word, bytes);
            } else {
                let mut bytes = [0; STRIP];
                V::write_bits(word, &mut bytes);
                frame.copy_from_slice(&bytes[..bits]);
            }
        }
    }
}

/// The words of the first 64 columns, if these are adjacent: most are, and vectors that are read as
/// they were written need not wait for words that were collected one by one.
#[inline(always)]
fn adjacent<'a>(words: &'a [u64], columns: &[u32]) -> Option<&'a [u64; STRIP]> {
    let columns = columns.first_chunk::<STRIP>()?;
    let (first, last) = (columns[0] as usize, columns[STRIP - 1] as usize);
    (last + 1 == first + STRIP).then(|| words[first..].first_chunk())?
}

/// Bit `j` of word `i` becomes bit `i` of word `j`.
#[inline(always)]
fn turn_bits(block: &mut [u64; STRIP]) {
    let mut other = [0; STRIP];
    exchange(block, &mut other, 32, 0x0000_0000_ffff_ffff);
    exchange(&other, block, 16, 0x0000_ffff_0000_ffff);
    exchange(block, &mut other, 8, 0x00ff_00ff_00ff_00ff);
    exchange(&other, block, 4, 0x0f0f_0f0f_0f0f_0f0f);
    exchange(block, &mut other, 2, 0x3333_3333_3333_3333);
    exchange(&other, block, 1, 0x5555_5555_5555_5555);
}

/// One round: the highest digit of the word's number for that of the bit's which `shift` is.
#[inline(always)]
fn exchange(block: &[u64; STRIP], turned: &mut [u64; STRIP], shift: u32, mask: u64) {
    for low in 0..STRIP / 2 {
        let (a, b) = (block[low], block[low + STRIP / 2]);
        let swap = (a >> shift ^ b) & mask;
        turned[2 * low] = a ^ swap << shift;
        turned[2 * low + 1] = b ^ swap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ldpc::simd::{run, Kernel, Path};

    /// Reads LLRs into rows and writes the signs of rows out again.
    struct ThereAndBack<'a> {
        llrs: &'a [i8],
        sent: &'a [u32],
        rows: &'a mut [Row],
        out: &'a mut [u8],
    }

    impl Kernel for ThereAndBack<'_> {
        #[inline(always)]
        fn run<V: Bytes>(self) {
            read_llrs::<V>(self.llrs, self.sent, self.rows);
            let word = |row: &Row| (0..LANES).map(|i| u64::from(row.0[i] < 0) << i).sum();
            let words: Vec<u64> = self.rows.iter().map(word).collect();
            write_bits::<V>(&words, self.sent, self.out);
        }
    }

    #[test]
    fn there_and_back_for_any_number_of_frames_on_every_path() {
        for path in Path::available() {
            for (bits, frames) in [(1, 1), (8, 64), (13, 5), (29, 63), (64, 64), (131, 64)] {
                let llrs: Vec<i8> =
                    (0..bits * frames).map(|i| (i * 37 % 256) as u8 as i8).collect();
                let sent: Vec<u32> = (0..bits as u32).map(|column| 2 * column).collect();
                let mut rows = vec![Row([0; LANES]); 2 * bits];
                let mut out = vec![9; bits * frames];
                let (rows_mut, out_mut) = (&mut rows, &mut out);
                let kernel =
                    ThereAndBack { llrs: &llrs, sent: &sent, rows: rows_mut, out: out_mut };
                run(path, kernel);
                for (index, &llr) in llrs.iter().enumerate() {
                    let (frame, bit) = (index / bits, index % bits);
                    let value = half_integer(llr, tie(sent[bit]));
                    assert_eq!(rows[2 * bit].0[frame], value, "{path:?}, {frames} of {bits}");
                    assert_eq!(out[index], u8::from(value < 0), "{path:?}, {frames} of {bits}");
                }
            }
        }
    }

    #[test]
    fn half_integers_are_symmetric() {
        for llr in -127..=127_i8 {
            // x represents x + 1/2: twice that, of an LLR and of its negative.
            let doubled = |llr, tie| 2 * i32::from(half_integer(llr, tie)) + 1;
            assert_eq!(doubled(llr, true), -doubled(-llr, false));
            assert_eq!(doubled(llr, false).abs(), 2 * i32::from(llr).abs() + 1);
        }
        assert_eq!(half_integer(-128, false), half_integer(-127, false));
    }

    #[test]
    fn bits_are_turned() {
        let mut block = std::array::from_fn(|i| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let old = block;
        turn_bits(&mut block);
        for (i, row) in old.iter().enumerate() {
            for (j, turned) in block.iter().enumerate() {
                assert_eq!(turned >> i & 1, row >> j & 1, "bit {j} of word {i}");
            }
        }
    }
}
