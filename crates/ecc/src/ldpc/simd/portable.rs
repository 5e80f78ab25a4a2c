//! 64 lanes as a plain array. The compiler makes of it what the target has.

use super::{Bytes, Hidden, Row, LANES};

#[derive(Clone, Copy)]
pub struct Lanes([i8; LANES]);

#[inline(always)]
fn map(a: [i8; LANES], b: [i8; LANES], f: impl Fn(i8, i8) -> i8) -> Lanes {
    let mut out = [0; LANES];
    // By index: the compiler makes vectors of this, and not of iterators over arrays.
    for lane in 0..LANES {
        out[lane] = f(a[lane], b[lane]);
    }
    Lanes(out)
}

impl Bytes for Lanes {
    /// 0 or -1 per lane.
    type Mask = [i8; LANES];

    #[inline(always)]
    fn load(row: &Row) -> Self {
        Self(row.0)
    }
    #[inline(always)]
    fn prefetch_for_write(_: &Row) {}
    #[inline(always)]
    fn store(self, row: &mut Row) {
        row.0 = self.0;
    }
    #[inline(always)]
    fn splat(value: i8) -> Self {
        Self([value; LANES])
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        map(self.0, other.0, i8::saturating_add)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        map(self.0, other.0, i8::saturating_sub)
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        map(self.0, other.0, |a, b| a ^ b)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        map(self.0, other.0, Ord::min)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        map(self.0, other.0, Ord::max)
    }
    #[inline(always)]
    fn negative(self, _: Hidden<Self>) -> Self::Mask {
        map(self.0, self.0, |a, _| a >> 7).0
    }
    #[inline(always)]
    fn magnitude(self, negative: Self::Mask, _: Hidden<Self>) -> Self {
        map(self.0, negative, |a, mask| a ^ mask)
    }
    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        map(self.0, other.0, |a, b| -i8::from(a == b)).0
    }
    #[inline(always)]
    fn select(self, mask: Self::Mask, other: Self) -> Self {
        let kept = map(self.0, mask, |a, mask| a & mask);
        let taken = map(other.0, mask, |b, mask| b & !mask);
        map(kept.0, taken.0, |a, b| a | b)
    }
    #[inline(always)]
    fn negate_if(self, mask: Self::Mask) -> Self {
        map(self.0, mask, |a, mask| (a ^ mask).wrapping_sub(mask))
    }
    #[inline(always)]
    fn rounded_mean(self, other: Self) -> Self {
        map(self.0, other.0, |a, b| ((u16::from(a as u8) + u16::from(b as u8) + 1) >> 1) as i8)
    }
    #[inline(always)]
    fn wrapping_sub(self, other: Self) -> Self {
        map(self.0, other.0, i8::wrapping_sub)
    }
    #[inline(always)]
    fn sub_offset(self, offset: u8) -> Self {
        map(self.0, self.0, |a, _| (a as u8).saturating_sub(offset) as i8)
    }
    #[inline(always)]
    fn scale(self, factor: u16) -> Self {
        map(self.0, self.0, |a, _| {
            let doubled = 2 * u16::from(a as u8) + 1;
            ((doubled * factor + 255) >> 9) as i8
        })
    }
    #[inline(always)]
    fn from_quarters(chunks: [&[i8; 16]; 4]) -> Self {
        let mut lanes = [0; LANES];
        for (quarter, chunk) in lanes.chunks_exact_mut(16).zip(chunks) {
            quarter.copy_from_slice(chunk);
        }
        Self(lanes)
    }
    #[inline(always)]
    fn interleave(self, other: Self) -> (Self, Self) {
        let mut halves = [[0; LANES]; 2];
        for quarter in (0..LANES).step_by(16) {
            for lane in 0..8 {
                for (half, lanes) in halves.iter_mut().enumerate() {
                    lanes[quarter + 2 * lane] = self.0[quarter + 8 * half + lane];
                    lanes[quarter + 2 * lane + 1] = other.0[quarter + 8 * half + lane];
                }
            }
        }
        (Self(halves[0]), Self(halves[1]))
    }
    #[inline(always)]
    fn write_bits(word: u64, bytes: &mut [u8; LANES]) {
        for (eight, byte) in bytes.chunks_exact_mut(8).zip(word.to_le_bytes()) {
            // Bit `i` becomes byte `i`: seven copies, moved by seven bits each.
            let byte = u64::from(byte);
            let two = byte | byte << 28;
            let four = (two | two << 14) & 0x0003_0003_0003_0003;
            let spread = (four | four << 7) & 0x0101_0101_0101_0101;
            eight.copy_from_slice(&spread.to_le_bytes());
        }
    }
    #[inline(always)]
    fn word(mask: Self::Mask) -> u64 {
        // Eight bytes at a time: their lowest bits are gathered by a product.
        let mut word = 0;
        for (index, bytes) in mask.chunks_exact(8).enumerate() {
            let mut packed = 0_u64;
            for (shift, &byte) in bytes.iter().enumerate() {
                packed |= u64::from(byte as u8 & 1) << (8 * shift);
            }
            word |= (packed.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index);
        }
        word
    }
    #[inline(always)]
    fn mask(word: u64) -> Self::Mask {
        let mut mask = [0; LANES];
        for lane in 0..LANES {
            mask[lane] = -((word >> lane & 1) as i8);
        }
        mask
    }
}
