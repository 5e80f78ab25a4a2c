//! Picking the live pages of a block out of its out-of-band areas: the inner loop of collections.

/// Values of a word.
pub const WORD: usize = 64;

/// Copies those of the values whose bit is set to the front of `values_out`, and their positions,
/// counted from `first`, to the front of `positions_out`; returns how many.
///
/// Bit `i` of `bits[w]` selects the value `64 w + i`.
///
/// # Panics
/// When an output has no room for all values and one word more (whole words are stored, and the
/// position advances by the number of their set bits).
#[inline]
pub fn gather(
    bits: &[u64],
    values: &[u32],
    first: u32,
    values_out: &mut [u32],
    positions_out: &mut [u32],
) -> usize {
    let room = values.len() + WORD;
    assert!(values_out.len() >= room && positions_out.len() >= room);
    assert!(values.len() <= WORD * bits.len());
    #[cfg(target_arch = "x86_64")]
    if values.len().is_multiple_of(WORD) && has_avx512() {
        // SAFETY: the processor has what the function needs, and the lengths were checked above.
        return unsafe { gather_avx512(bits, values, first, values_out, positions_out) };
    }
    gather_portable(bits, values, first, values_out, positions_out)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("bmi2")
}

/// Every value is stored and the place moves on only if its bit is set: no branch to mispredict.
fn gather_portable(
    bits: &[u64],
    values: &[u32],
    first: u32,
    values_out: &mut [u32],
    positions_out: &mut [u32],
) -> usize {
    let mut count = 0;
    for ((word, start), &bits) in values.chunks(WORD).zip((first..).step_by(WORD)).zip(bits) {
        for (bit, &value) in word.iter().enumerate() {
            values_out[count] = value;
            positions_out[count] = start + bit as u32;
            count += (bits >> bit & 1) as usize;
        }
    }
    count
}

/// As [`gather`], sixteen values at a time.
///
/// # Safety
/// The processor has AVX-512F, POPCNT and BMI2; the lengths are as [`gather`] demands, and the
/// values are whole words.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt,bmi2")]
unsafe fn gather_avx512(
    bits: &[u64],
    values: &[u32],
    first: u32,
    values_out: &mut [u32],
    positions_out: &mut [u32],
) -> usize {
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_loadu_si512, _mm512_maskz_compress_epi32, _mm512_set1_epi32,
        _mm512_setr_epi32, _mm512_storeu_si512,
    };
    let sixteen = _mm512_set1_epi32(16);
    let steps = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut positions = _mm512_add_epi32(_mm512_set1_epi32(first.cast_signed()), steps);
    let mut count = 0;
    for (word, &bits) in values.chunks_exact(WORD).zip(bits) {
        for lane in 0..WORD / 16 {
            let mask = (bits >> (16 * lane)) as u16;
            // SAFETY: lane < 4, so the load stays in the word. `count` is at most the number of
            // values before this lane, and the outputs have room for a word beyond all values.
            unsafe {
                let lanes = _mm512_loadu_si512(word.as_ptr().add(16 * lane).cast());
                let live = _mm512_maskz_compress_epi32(mask, lanes);
                _mm512_storeu_si512(values_out.as_mut_ptr().add(count).cast(), live);
                let places = _mm512_maskz_compress_epi32(mask, positions);
                _mm512_storeu_si512(positions_out.as_mut_ptr().add(count).cast(), places);
            }
            positions = _mm512_add_epi32(positions, sixteen);
            count += mask.count_ones() as usize;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_gather_pick_the_values_whose_bits_are_set() {
        let mut rng = crate::rng::Rng::stream(1, "gather");
        for case in 0..2000 {
            let words = 1 + case % 4;
            let values: Vec<u32> = (0..WORD * words).map(|_| rng.below(1 << 32) as u32).collect();
            let count = if case % 5 == 0 { rng.below(values.len() as u64) } else { u64::MAX };
            let count = values.len().min(count as usize);
            let bits: Vec<u64> = (0..words)
                .map(|word| {
                    let rare = rng.below(1 << 32) | rng.below(1 << 32) << 32;
                    let bits = [rare, !0, 0, rare | rng.below(1 << 32) << 16][(case + word) % 4];
                    match count.saturating_sub(WORD * word) {
                        0 => 0,
                        left if left < WORD => bits & ((1 << left) - 1),
                        _ => bits,
                    }
                })
                .collect();
            let picked: Vec<usize> =
                (0..count).filter(|place| bits[place / WORD] >> (place % WORD) & 1 == 1).collect();
            for gather in [gather, gather_portable] {
                let mut out = [vec![0; count + WORD], vec![0; count + WORD]];
                let [values_out, positions_out] = &mut out;
                let found = gather(&bits, &values[..count], 128, values_out, positions_out);
                assert_eq!(found, picked.len());
                for (index, &place) in picked.iter().enumerate() {
                    let got = (out[0][index], out[1][index]);
                    assert_eq!(got, (values[place], 128 + place as u32));
                }
            }
        }
    }
}
