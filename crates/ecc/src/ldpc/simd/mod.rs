//! The only folder of the LDPC part with `unsafe`: 64 lanes of 8 bits, and who may use them.
//!
//! ```text
//!   lane      0   1   2  ...  63         a lane is a frame; a Row holds one bit's (or one edge's)
//!   Row      -3  17  -1  ...  40         value in 64 frames, and is one cache line
//! ```
//!
//! A [`Kernel`] is written once over the trait [`Bytes`]. [`run`] compiles it three times, for
//! AVX-512, for AVX2 and for any machine, and calls the one that its [`Path`] names; kernels that
//! use plain arrays only profit too, since the compiler vectorises them with the wider registers.
//! All three give the same bits: the operations are exact on integers, and floating-point code is
//! compiled without fused or reordered operations everywhere.
//!
//! For [`Bytes::magnitude`] and the methods that refer to it, a value `x` in a lane represents the
//! half-integer x + 1/2: such numbers have a symmetric range (-127.5 to 127.5) in which saturation
//! treats 0 and 1 alike, and none is zero, so no decision is ever a tie.
#![allow(unsafe_code)]
// A call per operation would undo the reason for this file.
#![allow(clippy::inline_always, clippy::needless_range_loop, clippy::cast_possible_wrap)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod linked;
mod portable;

pub(crate) use linked::Linked;

/// Frames that one pass decodes.
pub(crate) const LANES: usize = 64;

/// One 8-bit value for each of 64 frames.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row(pub [i8; LANES]);

/// How min-sum weakens a minimum before it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Weaken {
    /// Times 0.75, the usual factor: `Scale(192)` in a quarter of the time.
    ThreeQuarters,
    /// Times a factor in units of 1/256, at most 256.
    Scale(u16),
    /// Less a whole number, not below zero.
    Offset(u8),
}

impl Weaken {
    /// The largest message that a bit whose posterior is at its limit keeps for ever.
    ///
    /// With messages of at most M and a posterior cut at L = 127.5, the extrinsic value of such a
    /// bit is at least L - M. Its checks answer M again, so that nothing moves, while M is no more
    /// than that value weakened: M <= s (L - M), or M <= L - M - o. The posterior is cut and does
    /// not hold the sum of larger messages: subtracting them would flip its sign.
    pub fn steady_max(self) -> u8 {
        match self {
            Self::ThreeQuarters => Self::Scale(192).steady_max(),
            Self::Scale(scale) => (u32::from(scale) * 255 / (2 * (u32::from(scale) + 256))) as u8,
            Self::Offset(offset) => (255_u8.saturating_sub(offset.saturating_mul(2))) / 4,
        }
    }
}

/// 64 lanes of 8 bits and the few operations of min-sum.
pub(crate) trait Bytes: Copy {
    /// One yes or no per lane.
    type Mask: Copy;
    /// Reads a row.
    fn load(row: &Row) -> Self;
    /// Prefetches a row that is written soon: a store into a line that is not in the cache would
    /// wait for the line.
    fn prefetch_for_write(row: &Row);
    /// Writes a row.
    fn store(self, row: &mut Row);
    /// The same value in all lanes.
    fn splat(value: i8) -> Self;
    /// Signed saturating sum.
    fn add(self, other: Self) -> Self;
    /// Signed saturating difference.
    fn sub(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, other: Self) -> Self;
    /// Smaller of two magnitudes.
    fn min(self, other: Self) -> Self;
    /// Larger of two magnitudes.
    fn max(self, other: Self) -> Self;
    /// Lanes below zero.
    fn negative(self, hidden: Hidden<Self>) -> Self::Mask;
    /// |x + 1/2| - 1/2, which is x or its complement; `negative` is that of `self`.
    fn magnitude(self, negative: Self::Mask, hidden: Hidden<Self>) -> Self;
    /// Lanes that are equal.
    fn equal(self, other: Self) -> Self::Mask;
    /// `self` in lanes whose mask is set, else `other`.
    fn select(self, mask: Self::Mask, other: Self) -> Self;
    /// `-x` in lanes whose mask is set; `x` is not -128.
    fn negate_if(self, mask: Self::Mask) -> Self;
    /// Half of the sum of two magnitudes, rounded up.
    fn rounded_mean(self, other: Self) -> Self;
    /// Wrapping difference.
    fn wrapping_sub(self, other: Self) -> Self;
    /// `(2 x + 1) factor / 512`, rounded to a whole number, halves down.
    fn scale(self, factor: u16) -> Self;
    /// Unsigned saturating difference.
    fn sub_offset(self, offset: u8) -> Self;
    /// The message of a minimum x + 1/2, stored as x, rounded to a whole number, halves down.
    #[inline(always)]
    fn weaken(self, by: Weaken) -> Self {
        match by {
            Weaken::ThreeQuarters => {
                // With n = x + 1, 3 (x + 1/2) / 4 rounds to 3 n / 4 rounded down, which is n less
                // n / 4 rounded up, and that is half of half of n, rounded up twice.
                let (next, zero) = (self.wrapping_sub(Self::splat(-1)), Self::splat(0));
                next.wrapping_sub(next.rounded_mean(zero).rounded_mean(zero))
            }
            Weaken::Scale(factor) => self.scale(factor),
            Weaken::Offset(offset) => self.sub_offset(offset),
        }
    }
    /// Sixteen lanes each from four places.
    fn from_quarters(chunks: [&[i8; 16]; 4]) -> Self;
    /// In each quarter of sixteen lanes: the lower eight of both in turn, then the upper eight.
    fn interleave(self, other: Self) -> (Self, Self);
    /// Byte `i` becomes bit `i` of the word, 0 or 1.
    fn write_bits(word: u64, bytes: &mut [u8; LANES]);
    /// Bit `i` is set if the mask of lane `i` is.
    fn word(mask: Self::Mask) -> u64;
    /// The mask of lane `i` is set if bit `i` of the word is.
    fn mask(word: u64) -> Self::Mask;
}

/// Constants whose values the compiler does not know.
///
/// A comparison with a known zero becomes a move of sign bits, and -1 - x becomes a mask spread to
/// a vector: both are right and slow on AVX-512, since they need the execution port of the minima
/// (the second form doubled the time of a check). With these the operations stay as they are
/// written.
#[derive(Clone, Copy)]
pub(crate) struct Hidden<V> {
    /// 0 in all lanes.
    zero: V,
    /// -1 in all lanes.
    minus_one: V,
}

impl<V: Bytes> Hidden<V> {
    #[inline(always)]
    pub fn new() -> Self {
        let [zero, minus_one] = std::hint::black_box([Row([0; LANES]), Row([-1; LANES])]);
        Self { zero: V::load(&zero), minus_one: V::load(&minus_one) }
    }
}

/// A computation that [`run`] compiles for each instruction set.
pub(crate) trait Kernel {
    /// Does the work. Must be `#[inline(always)]`, and so must each function that it calls with
    /// `V`: one that is not inlined is compiled without the instruction set.
    fn run<V: Bytes>(self);
}

/// The instruction set that a decoder uses; the results are the same bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// No more than the compiler's target.
    Portable,
    /// 256-bit vectors.
    Avx2,
    /// 512-bit vectors.
    Avx512,
}

impl Path {
    /// The paths of this processor, slowest first.
    pub fn available() -> Vec<Self> {
        [Self::Portable, Self::Avx2, Self::Avx512]
            .into_iter()
            .filter(|path| path.is_available())
            .collect()
    }

    /// The fastest path of this processor.
    pub fn best() -> Self {
        Self::available().last().copied().unwrap_or(Self::Portable)
    }

    /// `portable`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx2")
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn is_available(self) -> bool {
        self == Self::Portable
    }
}

/// Runs a kernel on the instruction set of a path.
///
/// # Panics
/// When the processor lacks the path; decoders refuse that when they are made.
pub(crate) fn run(path: Path, kernel: impl Kernel) {
    assert!(path.is_available(), "{path:?} on a processor without it");
    match path {
        Path::Portable => kernel.run::<portable::Lanes>(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the assertion above has asked the processor for the features of this function.
        Path::Avx2 => unsafe { avx2::run(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Path::Avx512 => unsafe { avx512::run(kernel) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => kernel.run::<portable::Lanes>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arithmetic, `interleave` and the masks on every pair of values, as rows that paths must
    /// agree on. Tests of `transpose` cover `from_quarters` and `write_bits`.
    struct AllPairs<'a>(&'a mut Vec<Row>);

    impl Kernel for AllPairs<'_> {
        #[inline(always)]
        fn run<V: Bytes>(self) {
            let hidden = Hidden::<V>::new();
            let ramp = Row(std::array::from_fn(|lane| lane as i8));
            for offset in (0..256).step_by(64) {
                let a = Row(ramp.0.map(|lane| lane.wrapping_add(offset as u8 as i8)));
                let a = V::load(&a);
                for value in i8::MIN..=i8::MAX {
                    let b = V::splat(value);
                    let (low, high) = (
                        a.magnitude(a.negative(hidden), hidden),
                        b.magnitude(b.negative(hidden), hidden),
                    );
                    let mask = low.equal(high);
                    let outs = [
                        a.add(b),
                        a.sub(b),
                        a.xor(b),
                        low.min(high),
                        low.max(high),
                        a.select(mask, b),
                        low.negate_if(a.negative(hidden)),
                        low.weaken(Weaken::Scale(u16::from(value as u8) + 1)),
                        low.weaken(Weaken::Offset(value as u8)),
                        low.weaken(Weaken::ThreeQuarters),
                        a.rounded_mean(b),
                        a.wrapping_sub(b),
                        a.interleave(b).0,
                        a.interleave(b).1,
                    ];
                    for out in outs {
                        let mut row = Row([0; LANES]);
                        out.store(&mut row);
                        self.0.push(row);
                    }
                    let words = [V::word(V::mask(V::word(mask))), V::word(a.negative(hidden))];
                    let bytes = words.map(|word| word.to_le_bytes().map(|byte| byte as i8));
                    self.0.push(Row(std::array::from_fn(|lane| bytes[lane / 8 % 2][lane % 8])));
                }
            }
        }
    }

    #[test]
    fn every_path_does_the_same_to_every_pair() {
        let outputs: Vec<Vec<Row>> = Path::available()
            .into_iter()
            .map(|path| {
                let mut rows = Vec::new();
                run(path, AllPairs(&mut rows));
                rows
            })
            .collect();
        assert_eq!(outputs[0].len(), 4 * 256 * 15);
        assert!(outputs.iter().all(|rows| *rows == outputs[0]));
    }

    #[test]
    fn weakening_rounds_half_integers() {
        struct Weakened<'a>(Weaken, &'a mut Row);
        impl Kernel for Weakened<'_> {
            fn run<V: Bytes>(self) {
                let magnitudes = Row(std::array::from_fn(|lane| lane as i8));
                V::load(&magnitudes).weaken(self.0).store(self.1);
            }
        }
        let mut row = Row([0; LANES]);
        // 0.75 times 0.5, 1.5, 2.5, 3.5, 4.5, 5.5 is 0.375, 1.125, 1.875, 2.625, 3.375, 4.125.
        run(Path::Portable, Weakened(Weaken::Scale(192), &mut row));
        assert_eq!(row.0[..6], [0, 1, 2, 3, 3, 4]);
        let scaled = row;
        for path in Path::available() {
            run(path, Weakened(Weaken::ThreeQuarters, &mut row));
            assert_eq!(row, scaled, "{path:?}");
        }
        run(Path::Portable, Weakened(Weaken::Scale(256), &mut row));
        assert_eq!(row.0[..4], [0, 1, 2, 3]);
        run(Path::Portable, Weakened(Weaken::Offset(2), &mut row));
        assert_eq!(row.0[..5], [0, 0, 0, 1, 2]);
    }
}
