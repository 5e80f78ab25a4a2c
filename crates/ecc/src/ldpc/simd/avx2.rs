//! 64 lanes as two registers of 256 bits.
//!
//! Every intrinsic here needs AVX2; `super::run` is the only way in, and asks the processor first.

use super::{Bytes, Hidden, Kernel, Row, LANES};
use core::arch::x86_64::{
    __m256i, _mm256_add_epi16, _mm256_adds_epi8, _mm256_and_si256, _mm256_avg_epu8,
    _mm256_blendv_epi8, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_load_si256, _mm256_max_epu8,
    _mm256_min_epu8, _mm256_movemask_epi8, _mm256_mullo_epi16, _mm256_or_si256, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_set1_epi8, _mm256_set_epi64x, _mm256_set_m128i,
    _mm256_shuffle_epi8, _mm256_slli_epi16, _mm256_srli_epi16, _mm256_store_si256,
    _mm256_storeu_si256, _mm256_sub_epi8, _mm256_subs_epi8, _mm256_subs_epu8, _mm256_unpackhi_epi8,
    _mm256_unpacklo_epi8, _mm256_xor_si256, _mm_loadu_si128, _mm_prefetch, _MM_HINT_T0,
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
fn scale_half(a: __m256i, factor: u16) -> __m256i {
    // SAFETY: see `Lanes`.
    unsafe {
        let twice = _mm256_set1_epi16((2 * factor) as i16);
        let round = _mm256_set1_epi16((factor + 255) as i16);
        let even = _mm256_and_si256(a, _mm256_set1_epi16(0xff));
        let odd = _mm256_srli_epi16::<8>(a);
        let even = _mm256_add_epi16(_mm256_mullo_epi16(even, twice), round);
        let odd = _mm256_add_epi16(_mm256_mullo_epi16(odd, twice), round);
        let odd = _mm256_slli_epi16::<8>(_mm256_srli_epi16::<9>(odd));
        _mm256_or_si256(_mm256_srli_epi16::<9>(even), odd)
    }
}

/// Byte `i` is -1 where bit `i` is one, else 0.
#[inline(always)]
fn spread(word: u32) -> __m256i {
    // SAFETY: see `Lanes`.
    unsafe {
        // Byte `i` of the word to bytes 8 i to 8 i + 7; a shuffle stays within its 16 bytes.
        let source = _mm256_set_epi64x(
            0x0303_0303_0303_0303,
            0x0202_0202_0202_0202,
            0x0101_0101_0101_0101,
            0,
        );
        let bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(word as i32), source);
        let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
        _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit)
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
    fn prefetch_for_write(row: &Row) {
        // SAFETY: see `Lanes`; a prefetch reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(row.0.as_ptr().cast()) }
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
    fn select(self, mask: Self::Mask, other: Self) -> Self {
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
    fn rounded_mean(self, other: Self) -> Self {
        lanewise!(_mm256_avg_epu8, self, other)
    }
    #[inline(always)]
    fn wrapping_sub(self, other: Self) -> Self {
        lanewise!(_mm256_sub_epi8, self, other)
    }
    #[inline(always)]
    fn sub_offset(self, offset: u8) -> Self {
        lanewise!(_mm256_subs_epu8, self, Self::splat(offset as i8))
    }
    #[inline(always)]
    fn scale(self, factor: u16) -> Self {
        Self(scale_half(self.0, factor), scale_half(self.1, factor))
    }
    #[inline(always)]
    fn from_quarters(chunks: [&[i8; 16]; 4]) -> Self {
        // SAFETY: see `Lanes`; a chunk is 16 bytes.
        unsafe {
            let chunk = |index: usize| _mm_loadu_si128(chunks[index].as_ptr().cast());
            Self(_mm256_set_m128i(chunk(1), chunk(0)), _mm256_set_m128i(chunk(3), chunk(2)))
        }
    }
    #[inline(always)]
    fn interleave(self, other: Self) -> (Self, Self) {
        let low = lanewise!(_mm256_unpacklo_epi8, self, other);
        (low, lanewise!(_mm256_unpackhi_epi8, self, other))
    }
    #[inline(always)]
    fn write_bits(word: u64, bytes: &mut [u8; LANES]) {
        let ones = Self::mask(word);
        let (low, high) = bytes.split_at_mut(LANES / 2);
        // SAFETY: see `Lanes`; there is room for 32 bytes each, at any place.
        unsafe {
            let one = _mm256_set1_epi8(1);
            _mm256_storeu_si256(low.as_mut_ptr().cast(), _mm256_and_si256(ones.0, one));
            _mm256_storeu_si256(high.as_mut_ptr().cast(), _mm256_and_si256(ones.1, one));
        }
    }
    #[inline(always)]
    fn word(mask: Self::Mask) -> u64 {
        // SAFETY: see `Lanes`.
        let (low, high) = unsafe { (_mm256_movemask_epi8(mask.0), _mm256_movemask_epi8(mask.1)) };
        u64::from(low as u32) | u64::from(high as u32) << 32
    }
    #[inline(always)]
    fn mask(word: u64) -> Self::Mask {
        Lanes(spread(word as u32), spread((word >> 32) as u32))
    }
}
