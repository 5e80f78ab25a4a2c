//! The codec as a whole, against facts from outside, against itself on other paths, and against
//! every error pattern of small codes.

use super::*;

/// SplitMix64 (Steele, Lea and Flood, 2014): enough randomness for test patterns.
pub(super) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }

    /// Different positions in ascending order.
    pub fn positions(&mut self, count: usize, end: usize) -> Vec<u32> {
        let mut positions = Vec::new();
        while positions.len() < count {
            let position = self.below(end) as u32;
            if !positions.contains(&position) {
                positions.push(position);
            }
        }
        positions.sort_unstable();
        positions
    }
}

fn flip(code: &BchCode, data: &mut [u8], parity: &mut [u8], position: u32) {
    let (bytes, index) = match (position as usize).checked_sub(code.data_bits()) {
        None => (data, position as usize),
        Some(index) => (parity, index),
    };
    bits::flip(bytes, if code.swap_bits() { index ^ 7 } else { index });
}

/// A random word with the unused bits of its last data byte 0.
fn word(code: &BchCode, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let mut data = random.bytes(code.data_bytes());
    if code.swap_bits() {
        bits::reverse_in_bytes(&mut data);
    }
    bits::clear_behind(&mut data, code.data_bits());
    if code.swap_bits() {
        bits::reverse_in_bytes(&mut data);
    }
    let mut parity = vec![0; code.parity_bytes()];
    code.encode(&data, &mut parity);
    (data, parity)
}

/// Injects the errors and expects the decoder to find exactly them.
fn expect_corrected(
    decoder: &mut BchDecoder<'_>,
    code: &BchCode,
    (data, parity): &(Vec<u8>, Vec<u8>),
    errors: &[u32],
) {
    let (mut received, mut received_parity) = (data.clone(), parity.clone());
    for &position in errors {
        flip(code, &mut received, &mut received_parity, position);
    }
    let outcome = decoder.decode(&mut received, &mut received_parity);
    let name = (code.m(), code.t(), code.data_bits(), code.path());
    assert_eq!(outcome, Ok(errors.len()), "{name:?}: {errors:?}");
    assert_eq!(decoder.positions(), errors, "{name:?}");
    assert_eq!((&received, &received_parity), (data, parity), "{name:?}: {errors:?}");
}

/// 1 + the product over parity bits of a division by hand: the textbook's shift register.
fn parity_by_hand(code: &BchCode, data: &[u8]) -> Vec<u8> {
    let generator: Vec<bool> = code.generator().collect();
    let mut register = vec![false; code.parity_bits()];
    for index in 0..code.data_bits() {
        let feedback = bits::bit(data, index) ^ register[0];
        register.rotate_left(1);
        *register.last_mut().unwrap() = false;
        for (cell, &tap) in register.iter_mut().zip(&generator[1..]) {
            *cell ^= feedback && tap;
        }
    }
    let mut parity = vec![0; code.parity_bytes()];
    for (index, _) in register.iter().enumerate().filter(|(_, &bit)| bit) {
        bits::flip(&mut parity, index);
    }
    parity
}

#[test]
fn parity_is_that_of_the_shift_register() {
    let mut random = Random(1);
    for (m, t, data_bits) in [
        (5, 1, None),
        (5, 7, None),
        (6, 3, Some(17)),
        (8, 4, Some(216)),
        (8, 4, Some(1)),
        (9, 28, Some(33)),
        (13, 8, Some(4096)),
        (13, 16, Some(4101)),
        (14, 72, Some(4095)),
        (16, 64, Some(8192)),
    ] {
        for path in Path::available() {
            let code = BchCode::with_path(path, m, t, data_bits).unwrap();
            let (data, parity) = word(&code, &mut random);
            assert_eq!(parity, parity_by_hand(&code, &data), "m={m} t={t} {data_bits:?} {path:?}");
            let swapped = code.clone().with_swap_bits(true);
            let (mut data, mut swapped_parity) = word(&swapped, &mut random);
            bits::reverse_in_bytes(&mut data);
            bits::reverse_in_bytes(&mut swapped_parity);
            assert_eq!(swapped_parity, parity_by_hand(&code, &data), "m={m} t={t} swapped");
        }
    }
}

#[test]
fn the_parity_of_a_published_controller() {
    // Samsung S5PV210 user manual, NAND controller: 16-bit ECC of 512 bytes of FF (m = 13, t = 16)
    // is the complement of this.
    let complement = [
        0x9a, 0xd7, 0xef, 0x91, 0x88, 0x80, 0xfb, 0xf7, 0x06, 0x3a, 0x5c, 0x9f, 0x49, 0x24, 0xd0,
        0x75, 0x02, 0xe3, 0x59, 0xe0, 0xe4, 0xbc, 0x1e, 0x20, 0x70, 0x2e,
    ];
    let code = BchCode::new(13, 16, Some(4096)).unwrap();
    let mut parity = vec![0; code.parity_bytes()];
    code.encode(&[0xff; 512], &mut parity);
    assert_eq!(parity, complement.map(|byte: u8| !byte));
}

#[test]
fn every_pattern_of_small_codes() {
    // (31, 21) and (31, 16) of Lin & Costello, table 6.4, and shortened ones: all patterns of up to
    // t errors are corrected; every pattern of t + 1 is refused or goes to a true codeword.
    for path in Path::available() {
        for (t, data_bits) in [(1, 26), (2, 21), (2, 9), (3, 16), (3, 4), (5, 3)] {
            let code = BchCode::with_path(path, 5, t, Some(data_bits)).unwrap();
            let sent = word(&code, &mut Random(u64::from(t)));
            let mut decoder = code.decoder();
            let n = code.code_bits();
            let mut patterns = vec![Vec::new()];
            for _ in 0..t {
                expect_all(&mut decoder, &code, &sent, &patterns);
                patterns = extend(&patterns, n);
            }
            expect_all(&mut decoder, &code, &sent, &patterns);
            for errors in extend(&patterns, n).iter().step_by(if t > 3 { 17 } else { 1 }) {
                expect_codeword_or_refusal(&mut decoder, &code, &sent, errors);
            }
        }
    }
}

fn extend(patterns: &[Vec<u32>], n: usize) -> Vec<Vec<u32>> {
    let longer = |pattern: &Vec<u32>| {
        let pattern = pattern.clone();
        let next = pattern.last().map_or(0, |last| last + 1);
        (next..n as u32).map(move |position| [&pattern[..], &[position]].concat())
    };
    patterns.iter().flat_map(longer).collect()
}

fn expect_all(
    decoder: &mut BchDecoder<'_>,
    code: &BchCode,
    sent: &(Vec<u8>, Vec<u8>),
    patterns: &[Vec<u32>],
) {
    for errors in patterns {
        expect_corrected(decoder, code, sent, errors);
    }
}

/// Whether the decoder took the word for another one; asserts that its output is a codeword.
fn expect_codeword_or_refusal(
    decoder: &mut BchDecoder<'_>,
    code: &BchCode,
    (data, parity): &(Vec<u8>, Vec<u8>),
    errors: &[u32],
) -> bool {
    let (mut received, mut received_parity) = (data.clone(), parity.clone());
    for &position in errors {
        flip(code, &mut received, &mut received_parity, position);
    }
    let before = (received.clone(), received_parity.clone());
    match decoder.decode(&mut received, &mut received_parity) {
        Ok(count) => {
            assert!(count <= code.t() as usize && count == decoder.positions().len());
            let mut parity = vec![0; code.parity_bytes()];
            code.encode(&received, &mut parity);
            assert_eq!(parity, received_parity, "{errors:?} went to no codeword");
            true
        }
        Err(error) => {
            assert_eq!(error.t, code.t());
            assert_eq!((received, received_parity), before, "a refused word was changed");
            assert!(decoder.positions().is_empty());
            false
        }
    }
}

#[test]
fn random_errors_on_every_path() {
    let mut random = Random(7);
    for (m, t, data_bits) in [
        (5, 3, None),
        (6, 10, None),
        (7, 9, Some(30)),
        (8, 4, Some(216)),
        (9, 28, None),
        (10, 4, Some(971)),
        (11, 30, None),
        (12, 5, Some(2048)),
        (13, 8, Some(4096)),
        (14, 40, Some(8192)),
        (15, 72, None),
        (16, 64, Some(16384)),
    ] {
        for path in Path::available() {
            for swap_bits in [false, true] {
                let code = BchCode::with_path(path, m, t, data_bits).unwrap();
                let code = code.with_swap_bits(swap_bits);
                let mut decoder = code.decoder();
                let sent = word(&code, &mut random);
                for count in (0..=t as usize).step_by(1 + t as usize / 12).chain([t as usize]) {
                    let errors = random.positions(count, code.code_bits());
                    expect_corrected(&mut decoder, &code, &sent, &errors);
                }
                for _ in 0..3 {
                    let errors = random.positions(t as usize + 2, code.code_bits());
                    expect_codeword_or_refusal(&mut decoder, &code, &sent, &errors);
                }
            }
        }
    }
}

#[test]
fn paths_agree_on_random_words() {
    // Far from any codeword too: the same answer, the same bytes.
    let mut random = Random(11);
    for (m, t, data_bits) in [(5, 2, 21), (6, 2, 51), (8, 2, 100), (8, 4, 216), (13, 3, 500)] {
        let codes: Vec<BchCode> = Path::available()
            .into_iter()
            .map(|path| BchCode::with_path(path, m, t, Some(data_bits)).unwrap())
            .collect();
        let mut decoders: Vec<_> = codes.iter().map(BchCode::decoder).collect();
        let mut decoded = 0;
        for _ in 0..2000 {
            let data = random.bytes(codes[0].data_bytes());
            let parity = random.bytes(codes[0].parity_bytes());
            let outcomes: Vec<_> = decoders
                .iter_mut()
                .map(|decoder| {
                    let (mut data, mut parity) = (data.clone(), parity.clone());
                    let outcome = decoder.decode(&mut data, &mut parity);
                    (outcome, data, parity, decoder.positions().to_vec())
                })
                .collect();
            assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "m={m} t={t}");
            decoded += usize::from(outcomes[0].0.is_ok());
        }
        assert!(m == 13 || decoded > 20, "m={m} t={t}: {decoded} words decoded");
    }
}

#[test]
fn words_beyond_t_are_miscorrected_at_the_theoretical_rate() {
    // 27 bytes with t = 4: C(248, 4) / 2^32 and the smaller terms, 3.65 %. 512 bytes with t = 3:
    // C(4135, 3) / 2^39, 2.14 %. The tolerance is five standard deviations of the count.
    let mut random = Random(23);
    for (m, t, data_bits, theory) in [(8, 4, 216, 0.0365), (13, 3, 4096, 0.0214)] {
        let code = BchCode::new(m, t, Some(data_bits)).unwrap();
        assert!((code.miscorrection_probability() / theory - 1.0).abs() < 0.01);
        let mut decoder = code.decoder();
        for count in [t as usize + 1, t as usize + 2, 2 * t as usize + 3] {
            let sent = word(&code, &mut random);
            let words = 20_000;
            let wrong = (0..words)
                .filter(|_| {
                    let errors = random.positions(count, code.code_bits());
                    expect_codeword_or_refusal(&mut decoder, &code, &sent, &errors)
                })
                .count() as f64;
            let expected = f64::from(words) * code.miscorrection_probability();
            let tolerance = 5.0 * expected.sqrt();
            assert!((wrong - expected).abs() < tolerance, "m={m}, {count} errors: {wrong}");
        }
    }
}

#[test]
fn theory_of_miscorrection() {
    // 1000 bytes, m = 13, t = 8: about (8104 / 8192)^8 / 8!.
    let code = BchCode::new(13, 8, Some(8000)).unwrap();
    let power = (8104.0_f64 / 8192.0).powi(8);
    assert!((code.miscorrection_probability() / (power / 40320.0) - 1.0).abs() < 0.01);
    // A perfect code decodes every word: t = 1 without shortening.
    let perfect = BchCode::new(5, 1, None).unwrap();
    assert!((perfect.miscorrection_probability() - 1.0).abs() < 1e-12);
    // 255 bits, t = 4, as the table of analytic failures has it.
    let failure = BchCode::new(8, 4, None).unwrap().failure_probability(1e-3);
    assert!((failure / 7.016_88e-6 - 1.0).abs() < 1e-5);
}

#[test]
fn impossible_codes_are_refused() {
    let message = |m, t, data_bits| BchCode::new(m, t, data_bits).unwrap_err().to_string();
    assert_eq!(message(4, 1, None), "field degree m = 4 is not supported; accepted: 5 to 16");
    assert_eq!(message(8, 0, None), "t = 0 corrects nothing; accepted: 1 to 127 for m = 8");
    assert_eq!(message(8, 4, Some(0)), "0 data bits do not fit; accepted: 1 to 223");
    assert_eq!(message(8, 4, Some(224)), "224 data bits do not fit; accepted: 1 to 223");
    assert!(message(16, 32768, None).contains("leaves no data bits"));
    assert!(message(13, 8, Some(usize::MAX)).contains("accepted: 1 to 8087"));
}

#[test]
fn the_largest_codes_can_be_built() {
    // One data bit: the repetition code, whose word is all ones or all zeros.
    for (m, t) in [(5, 15), (8, 127), (10, 511), (12, 2047)] {
        let code = BchCode::new(m, t, None).unwrap();
        assert_eq!((code.data_bits(), code.code_bits()), (1, (1 << m) - 1));
        let mut random = Random(3);
        let mut decoder = code.decoder();
        let sent = (vec![0x80], vec![0xff; code.parity_bytes()]);
        let mut parity = vec![0; code.parity_bytes()];
        code.encode(&sent.0, &mut parity);
        let clear = code.parity_bytes() * 8 - code.parity_bits();
        assert!(parity.iter().rev().skip(1).all(|&byte| byte == 0xff));
        assert_eq!(*parity.last().unwrap(), 0xff << clear);
        let sent = (sent.0, parity);
        let errors = random.positions(t as usize, code.code_bits());
        expect_corrected(&mut decoder, &code, &sent, &errors);
    }
}

/// 10^5 patterns of up to t errors for each code of the drives; `cargo test --release --
/// --ignored`.
#[test]
#[ignore = "minutes without optimisation"]
fn a_hundred_thousand_patterns_of_each_code() {
    for (m, t, data_bits) in [
        (8, 2, 232),
        (8, 4, 216),
        (10, 4, 976),
        (13, 4, 4096),
        (13, 8, 4096),
        (13, 16, 4096),
        (14, 24, 8192),
        (14, 40, 8192),
        (14, 72, 8192),
        (15, 72, 16384),
        (16, 64, 32768),
    ] {
        for path in Path::available() {
            let code = BchCode::with_path(path, m, t, Some(data_bits)).unwrap();
            let mut random = Random(u64::from(m * t));
            let mut decoder = code.decoder();
            let mut sent = word(&code, &mut random);
            for pattern in 0..100_000 {
                if pattern % 100 == 0 {
                    sent = word(&code, &mut random);
                }
                // Half of the patterns have t errors, the hardest case.
                let any = random.below(t as usize + 1);
                let count = if pattern % 2 == 0 { t as usize } else { any };
                let errors = random.positions(count, code.code_bits());
                expect_corrected(&mut decoder, &code, &sent, &errors);
            }
        }
    }
}
