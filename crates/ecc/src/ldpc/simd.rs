//! The only file of this crate's LDPC part with `unsafe`: 64 lanes of 8 bits, and who may use them.
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
//! A value `x` in a lane stands for the half-integer x + 1/2 where [`Bytes::magnitude`] says so:
//! such numbers have a symmetric range (-127.5 to 127.5) in which saturation treats 0 and 1 alike,
//! and none is zero, so no decision is ever a tie.
#![allow(unsafe_code)]
// A call per operation would undo the reason for this file.
#![allow(clippy::inline_always, clippy::needless_range_loop, clippy::cast_possible_wrap)]

/// Frames that one pass decodes.
pub(crate) const LANES: usize = 64;

/// One 8-bit value for each of 64 frames.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row(pub [i8; LANES]);

/// How min-sum weakens a minimum before it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Weaken {
    /// Times a factor in units of 1/256, at most 256.
    Scale(u16),
    /// Less a whole number, not below zero.
    Offset(u8),
}

/// 64 lanes of 8 bits and the few operations of min-sum.
pub(crate) trait Bytes: Copy {
    /// One yes or no per lane.
    type Mask: Copy;
    /// Reads a row.
    fn load(row: &Row) -> Self;
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
    /// `self` where the mask says yes, else `other`.
    fn or_else(self, mask: Self::Mask, other: Self) -> Self;
    /// `-x` where the mask says yes; `x` is not -128.
    fn negate_if(self, mask: Self::Mask) -> Self;
    /// The message of a minimum that stands for x + 1/2, rounded to a whole number, halves down.
    fn weaken(self, by: Weaken) -> Self;
    /// Bit `i` is the yes of lane `i`.
    fn word(mask: Self::Mask) -> u64;
    /// Asks for a row that will be needed soon.
    fn prefetch(row: &Row);
}

/// Constants whose values the compiler does not know.
///
/// A comparison with a known zero becomes a move of sign bits, and -1 - x becomes a mask spread to
/// a vector: both are right and slow on AVX-512, where they take the port of the minima (the second
/// form doubled the time of a check). With these the operations stay as they are written.
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
    /// Does the work. Must be `#[inline(always)]`, and so must all that is worth it below.
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

/// Plain arrays. The compiler makes of them what the target has.
mod portable {
    use super::{Bytes, Hidden, Row, Weaken, LANES};

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
        fn or_else(self, mask: Self::Mask, other: Self) -> Self {
            let kept = map(self.0, mask, |a, mask| a & mask);
            let taken = map(other.0, mask, |b, mask| b & !mask);
            map(kept.0, taken.0, |a, b| a | b)
        }
        #[inline(always)]
        fn negate_if(self, mask: Self::Mask) -> Self {
            map(self.0, mask, |a, mask| (a ^ mask).wrapping_sub(mask))
        }
        #[inline(always)]
        fn weaken(self, by: Weaken) -> Self {
            match by {
                Weaken::Scale(scale) => map(self.0, self.0, |a, _| {
                    let doubled = 2 * u16::from(a as u8) + 1;
                    ((doubled * scale + 255) >> 9) as i8
                }),
                Weaken::Offset(offset) => {
                    map(self.0, self.0, |a, _| (a as u8).saturating_sub(offset) as i8)
                }
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
        fn prefetch(_: &Row) {}
    }
}

/// Two registers of 32 lanes.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Bytes, Hidden, Kernel, Row, Weaken};
    use core::arch::x86_64::{
        __m256i, _mm256_add_epi16, _mm256_adds_epi8, _mm256_and_si256, _mm256_blendv_epi8,
        _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_load_si256, _mm256_max_epu8, _mm256_min_epu8,
        _mm256_movemask_epi8, _mm256_mullo_epi16, _mm256_or_si256, _mm256_set1_epi16,
        _mm256_set1_epi8, _mm256_slli_epi16, _mm256_srli_epi16, _mm256_store_si256,
        _mm256_sub_epi8, _mm256_subs_epi8, _mm256_subs_epu8, _mm256_xor_si256, _mm_prefetch,
        _MM_HINT_T0,
    };

    /// Compiles a kernel for AVX2.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub fn run(kernel: impl Kernel) {
        kernel.run::<Lanes>();
    }

    /// Made only inside kernels that `super::run` has started on a processor with AVX2, so every
    /// intrinsic below may be executed.
    #[derive(Clone, Copy)]
    pub struct Lanes(__m256i, __m256i);

    macro_rules! lanewise {
        ($intrinsic:ident, $a:expr, $b:expr) => {{
            let (a, b) = ($a, $b);
            // SAFETY: see `Lanes`.
            unsafe { Lanes($intrinsic(a.0, b.0), $intrinsic(a.1, b.1)) }
        }};
    }

    #[inline(always)]
    fn scale_half(a: __m256i, scale: u16) -> __m256i {
        // SAFETY: see `Lanes`.
        unsafe {
            let factor = _mm256_set1_epi16((2 * scale) as i16);
            let round = _mm256_set1_epi16((scale + 255) as i16);
            let even = _mm256_and_si256(a, _mm256_set1_epi16(0xff));
            let odd = _mm256_srli_epi16::<8>(a);
            let even = _mm256_add_epi16(_mm256_mullo_epi16(even, factor), round);
            let odd = _mm256_add_epi16(_mm256_mullo_epi16(odd, factor), round);
            let odd = _mm256_slli_epi16::<8>(_mm256_srli_epi16::<9>(odd));
            _mm256_or_si256(_mm256_srli_epi16::<9>(even), odd)
        }
    }

    impl Bytes for Lanes {
        /// 0 or -1 per lane.
        type Mask = Lanes;

        #[inline(always)]
        fn load(row: &Row) -> Self {
            let start = (&raw const *row).cast::<__m256i>();
            // SAFETY: see `Lanes`; a row is 64 bytes, aligned to 64.
            unsafe { Self(_mm256_load_si256(start), _mm256_load_si256(start.add(1))) }
        }
        #[inline(always)]
        fn store(self, row: &mut Row) {
            let start = (&raw mut *row).cast::<__m256i>();
            // SAFETY: see `Lanes`; a row is 64 bytes, aligned to 64.
            unsafe {
                _mm256_store_si256(start, self.0);
                _mm256_store_si256(start.add(1), self.1);
            }
        }
        #[inline(always)]
        fn splat(value: i8) -> Self {
            // SAFETY: see `Lanes`.
            unsafe { Self(_mm256_set1_epi8(value), _mm256_set1_epi8(value)) }
        }
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            lanewise!(_mm256_adds_epi8, self, other)
        }
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            lanewise!(_mm256_subs_epi8, self, other)
        }
        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            lanewise!(_mm256_xor_si256, self, other)
        }
        #[inline(always)]
        fn min(self, other: Self) -> Self {
            lanewise!(_mm256_min_epu8, self, other)
        }
        #[inline(always)]
        fn max(self, other: Self) -> Self {
            lanewise!(_mm256_max_epu8, self, other)
        }
        #[inline(always)]
        fn negative(self, hidden: Hidden<Self>) -> Self::Mask {
            lanewise!(_mm256_cmpgt_epi8, hidden.zero, self)
        }
        #[inline(always)]
        fn magnitude(self, negative: Self::Mask, _: Hidden<Self>) -> Self {
            self.xor(negative)
        }
        #[inline(always)]
        fn equal(self, other: Self) -> Self::Mask {
            lanewise!(_mm256_cmpeq_epi8, self, other)
        }
        #[inline(always)]
        fn or_else(self, mask: Self::Mask, other: Self) -> Self {
            // SAFETY: see `Lanes`.
            unsafe {
                Self(
                    _mm256_blendv_epi8(other.0, self.0, mask.0),
                    _mm256_blendv_epi8(other.1, self.1, mask.1),
                )
            }
        }
        #[inline(always)]
        fn negate_if(self, mask: Self::Mask) -> Self {
            lanewise!(_mm256_sub_epi8, self.xor(mask), mask)
        }
        #[inline(always)]
        fn weaken(self, by: Weaken) -> Self {
            match by {
                Weaken::Scale(scale) => Self(scale_half(self.0, scale), scale_half(self.1, scale)),
                Weaken::Offset(offset) => {
                    lanewise!(_mm256_subs_epu8, self, Self::splat(offset as i8))
                }
            }
        }
        #[inline(always)]
        fn word(mask: Self::Mask) -> u64 {
            // SAFETY: see `Lanes`.
            let (low, high) =
                unsafe { (_mm256_movemask_epi8(mask.0), _mm256_movemask_epi8(mask.1)) };
            u64::from(low as u32) | u64::from(high as u32) << 32
        }
        #[inline(always)]
        fn prefetch(row: &Row) {
            // SAFETY: a prefetch of a live row reads no value and cannot fault.
            unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const row.0).cast()) }
        }
    }
}

/// One register of 64 lanes, masks in mask registers.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{Bytes, Hidden, Kernel, Row, Weaken};
    use core::arch::x86_64::{
        __m512i, __mmask64, _mm512_add_epi16, _mm512_adds_epi8, _mm512_and_si512,
        _mm512_cmpeq_epi8_mask, _mm512_cmpgt_epi8_mask, _mm512_load_si512, _mm512_mask_blend_epi8,
        _mm512_mask_sub_epi8, _mm512_max_epu8, _mm512_min_epu8, _mm512_mullo_epi16,
        _mm512_or_si512, _mm512_set1_epi16, _mm512_set1_epi8, _mm512_setzero_si512,
        _mm512_slli_epi16, _mm512_srli_epi16, _mm512_store_si512, _mm512_subs_epi8,
        _mm512_subs_epu8, _mm512_xor_si512, _mm_prefetch, _MM_HINT_T0,
    };

    /// Compiles a kernel for AVX-512.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub fn run(kernel: impl Kernel) {
        kernel.run::<Lanes>();
    }

    /// Made only inside kernels that `super::run` has started on a processor with AVX-512, so
    /// every intrinsic below may be executed.
    #[derive(Clone, Copy)]
    pub struct Lanes(__m512i);

    impl Bytes for Lanes {
        type Mask = __mmask64;

        #[inline(always)]
        fn load(row: &Row) -> Self {
            // SAFETY: see `Lanes`; a row is 64 bytes, aligned to 64.
            unsafe { Self(_mm512_load_si512((&raw const row.0).cast())) }
        }
        #[inline(always)]
        fn store(self, row: &mut Row) {
            // SAFETY: see `Lanes`; a row is 64 bytes, aligned to 64.
            unsafe { _mm512_store_si512((&raw mut row.0).cast(), self.0) }
        }
        #[inline(always)]
        fn splat(value: i8) -> Self {
            // SAFETY: see `Lanes`.
            unsafe { Self(_mm512_set1_epi8(value)) }
        }
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            // SAFETY: see `Lanes`.
            unsafe { Self(_mm512_adds_epi8(self.0, other.0)) }
        }
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            // SAFETY: see `Lanes`.
            unsafe { Self(_mm512_subs_epi8(self.0, other.0)) }
        }
        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            // SAFETY: see `Lanes`.
            unsafe { Self(_mm512_xor_si512(self.0, other.0)) }
        }
        #[inline(always)]
        fn min(self, other: Self) -> Self {
            // SAFETY: see `Lanes`.
            unsafe { Self(_mm512_min_epu8(self.0, other.0)) }
        }
        #[inline(always)]
        fn max(self, other: Self) -> Self {
            // SAFETY: see `Lanes`.
            unsafe { Self(_mm512_max_epu8(self.0, other.0)) }
        }
        #[inline(always)]
        fn negative(self, hidden: Hidden<Self>) -> Self::Mask {
            // SAFETY: see `Lanes`.
            unsafe { _mm512_cmpgt_epi8_mask(hidden.zero.0, self.0) }
        }
        #[inline(always)]
        fn magnitude(self, negative: Self::Mask, hidden: Hidden<Self>) -> Self {
            // -1 - x is the complement of x.
            // SAFETY: see `Lanes`.
            unsafe { Self(_mm512_mask_sub_epi8(self.0, negative, hidden.minus_one.0, self.0)) }
        }
        #[inline(always)]
        fn equal(self, other: Self) -> Self::Mask {
            // SAFETY: see `Lanes`.
            unsafe { _mm512_cmpeq_epi8_mask(self.0, other.0) }
        }
        #[inline(always)]
        fn or_else(self, mask: Self::Mask, other: Self) -> Self {
            // SAFETY: see `Lanes`.
            unsafe { Self(_mm512_mask_blend_epi8(mask, other.0, self.0)) }
        }
        #[inline(always)]
        fn negate_if(self, mask: Self::Mask) -> Self {
            // SAFETY: see `Lanes`.
            unsafe { Self(_mm512_mask_sub_epi8(self.0, mask, _mm512_setzero_si512(), self.0)) }
        }
        #[inline(always)]
        fn weaken(self, by: Weaken) -> Self {
            // SAFETY: see `Lanes`.
            unsafe {
                match by {
                    Weaken::Scale(scale) => {
                        let factor = _mm512_set1_epi16((2 * scale) as i16);
                        let round = _mm512_set1_epi16((scale + 255) as i16);
                        let even = _mm512_and_si512(self.0, _mm512_set1_epi16(0xff));
                        let odd = _mm512_srli_epi16::<8>(self.0);
                        let even = _mm512_add_epi16(_mm512_mullo_epi16(even, factor), round);
                        let odd = _mm512_add_epi16(_mm512_mullo_epi16(odd, factor), round);
                        let odd = _mm512_slli_epi16::<8>(_mm512_srli_epi16::<9>(odd));
                        Self(_mm512_or_si512(_mm512_srli_epi16::<9>(even), odd))
                    }
                    Weaken::Offset(offset) => {
                        Self(_mm512_subs_epu8(self.0, _mm512_set1_epi8(offset as i8)))
                    }
                }
            }
        }
        #[inline(always)]
        fn word(mask: Self::Mask) -> u64 {
            mask
        }
        #[inline(always)]
        fn prefetch(row: &Row) {
            // SAFETY: a prefetch of a live row reads no value and cannot fault.
            unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const row.0).cast()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation on every pair of values, folded into rows that paths must agree on.
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
                        a.or_else(mask, b),
                        low.negate_if(a.negative(hidden)),
                        low.weaken(Weaken::Scale(value as u8 as u16 + 1)),
                        low.weaken(Weaken::Offset(value as u8)),
                    ];
                    for out in outs {
                        let mut row = Row([0; LANES]);
                        out.store(&mut row);
                        self.0.push(row);
                    }
                    let words = [V::word(mask), V::word(a.negative(hidden))];
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
        assert_eq!(outputs[0].len(), 4 * 256 * 10);
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
        run(Path::Portable, Weakened(Weaken::Scale(256), &mut row));
        assert_eq!(row.0[..4], [0, 1, 2, 3]);
        run(Path::Portable, Weakened(Weaken::Offset(2), &mut row));
        assert_eq!(row.0[..5], [0, 0, 0, 1, 2]);
    }
}
