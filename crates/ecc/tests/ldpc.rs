//! LDPC codes from outside: words, ties, paths, and the codes of standards.
//!
//! What a decoder must never do is look better on the word of all zeros than on others, or give
//! another answer on another processor or next to other frames. Both are tested bit for bit here;
//! error rates against recorded curves are in `ldpc_curves.rs`. Matrices of standards are read from
//! `../shared/ecc/h` beside the repository; where that does not exist, their tests say so and pass.

use opennandlab_ecc::ldpc::{quantise, Algorithm, Decoder, DecoderConfig, LdpcCode, Path};
use proptest::prelude::*;

/// `SplitMix64`, enough for test data.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn bits(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.next() >> 63) as u8).collect()
    }

    /// About Gaussian: the sum of twelve uniform numbers.
    fn gauss(&mut self) -> f32 {
        let sum: f64 = (0..12).map(|_| (self.next() >> 11) as f64 / (1_u64 << 53) as f64).sum();
        (sum - 6.0) as f32
    }

    /// LLRs of the word of all zeros over a Gaussian channel.
    fn llrs(&mut self, count: usize, sigma: f32) -> Vec<f32> {
        (0..count).map(|_| 2.0 / (sigma * sigma) * (1.0 + sigma * self.gauss())).collect()
    }
}

/// Text of a matrix of a standard, or none, with a word about it.
fn shared(file: &str) -> Option<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/ecc/h/").to_owned() + file;
    let text = std::fs::read_to_string(path).ok();
    if text.is_none() {
        println!("skipped: ../shared/ecc/h/{file} is not here");
    }
    text
}

struct Answer {
    hard: Vec<u8>,
    ok: Vec<bool>,
    iterations: Vec<u32>,
}

impl Answer {
    fn of(frames: usize, bits: usize) -> Self {
        Self { hard: vec![7; frames * bits], ok: vec![false; frames], iterations: vec![9; frames] }
    }
}

fn decode_f32(decoder: &mut Decoder, llrs: &[f32], frames: usize) -> Answer {
    let mut answer = Answer::of(frames, llrs.len() / frames);
    let Answer { hard, ok, iterations } = &mut answer;
    decoder.decode_f32(llrs, frames, hard, ok, iterations);
    answer
}

fn decode_i8(decoder: &mut Decoder, llrs: &[i8], frames: usize) -> Answer {
    let mut answer = Answer::of(frames, llrs.len() / frames);
    let Answer { hard, ok, iterations } = &mut answer;
    decoder.decode_i8(llrs, frames, hard, ok, iterations);
    answer
}

fn config(algorithm: Algorithm, iterations: u32, stop: bool) -> DecoderConfig {
    DecoderConfig { algorithm, iterations, stop, ..DecoderConfig::default() }
}

fn short() -> LdpcCode {
    LdpcCode::nand("nand-n1024-r0889").expect("a code of ours")
}

#[test]
fn the_same_bits_on_every_path() {
    let code = short();
    let mut random = Random(1);
    let frames = 70;
    let floats = random.llrs(frames * code.code_bits(), 0.5);
    let mut bytes = vec![0; floats.len()];
    quantise(&floats, &mut bytes);
    for algorithm in Algorithm::ALL {
        for stop in [false, true] {
            let answers: Vec<[Answer; 2]> = Path::available()
                .into_iter()
                .map(|path| {
                    let config = config(algorithm, 6, stop);
                    let mut decoder = Decoder::with_path(&code, &config, path).expect("a decoder");
                    [
                        decode_f32(&mut decoder, &floats, frames),
                        decode_i8(&mut decoder, &bytes, frames),
                    ]
                })
                .collect();
            for answer in &answers {
                for (found, first) in answer.iter().zip(&answers[0]) {
                    assert_eq!(found.hard, first.hard, "{algorithm:?}");
                    assert_eq!(found.ok, first.ok, "{algorithm:?}");
                    assert_eq!(found.iterations, first.iterations, "{algorithm:?}");
                }
            }
            let failures = answers[0][1].ok.iter().filter(|&&ok| !ok).count();
            assert!(stop || failures > 0, "{algorithm:?}: noise too weak to test anything");
        }
    }
}

/// Many checks: where masks are words, answers and marks are kept instead of messages.
#[test]
fn both_forms_of_messages_decode_alike() {
    let code = LdpcCode::nand("nand-1k-r090").expect("a code of ours");
    let mut random = Random(11);
    let frames = 64;
    let mut bytes = vec![0; frames * code.code_bits()];
    quantise(&random.llrs(bytes.len(), 0.5), &mut bytes);
    for algorithm in [Algorithm::LayeredNms, Algorithm::LayeredOms] {
        let answers: Vec<Answer> = Path::available()
            .into_iter()
            .map(|path| {
                let config = config(algorithm, 4, false);
                let mut decoder = Decoder::with_path(&code, &config, path).expect("a decoder");
                // A batch before must leave nothing behind.
                decode_i8(&mut decoder, &bytes[..3 * code.code_bits()], 3);
                decode_i8(&mut decoder, &bytes, frames)
            })
            .collect();
        assert!(answers.iter().all(|answer| answer.hard == answers[0].hard), "{algorithm:?}");
        assert!(answers[0].hard.contains(&1), "noise too weak to test anything");
    }
}

#[test]
fn decided_frames_stay_for_any_number_of_iterations() {
    let code = short();
    let frames = 64;
    let mut random = Random(12);
    let mut bytes = vec![0; frames * code.code_bits()];
    quantise(&random.llrs(bytes.len(), 0.36), &mut bytes);
    for algorithm in [Algorithm::LayeredNms, Algorithm::LayeredOms] {
        for (scale, offset) in [(0.25, 4.0), (0.75, 0.5), (1.0, 0.0)] {
            let of = |iterations, stop| {
                let config = DecoderConfig { scale, offset, ..config(algorithm, iterations, stop) };
                let mut decoder = Decoder::new(&code, &config).expect("a decoder");
                decode_i8(&mut decoder, &bytes, frames)
            };
            let (stopped, fixed, long) = (of(20, true), of(20, false), of(200, false));
            let decided = stopped.ok.iter().filter(|&&ok| ok).count();
            assert!(decided > frames / 2, "{algorithm:?} {scale} {offset}: {decided} decided");
            for (frame, _) in stopped.ok.iter().enumerate().filter(|(_, &ok)| ok) {
                assert!(fixed.ok[frame] && long.ok[frame], "{algorithm:?} {scale} {offset}");
            }
        }
    }
}

#[test]
fn every_word_is_decoded_like_the_word_of_all_zeros() {
    let code = short();
    let (bits, frames) = (code.code_bits(), 64);
    let mut random = Random(2);
    let mut words = vec![0; frames * bits];
    for word in words.chunks_exact_mut(bits) {
        code.encode(&random.bits(code.info_bits()), word);
        assert!(code.matrix().is_codeword(word));
    }
    // Few steps, so that sums meet at zero often; no LLR is zero itself.
    let zeros: Vec<i8> =
        random.llrs(words.len(), 0.5).iter().map(|llr| if *llr > 0.0 { 5 } else { -5 }).collect();
    let turned: Vec<i8> =
        zeros.iter().zip(&words).map(|(&llr, &bit)| if bit == 1 { -llr } else { llr }).collect();
    for algorithm in Algorithm::ALL {
        let config = config(algorithm, 8, true);
        let mut decoder = Decoder::new(&code, &config).expect("a decoder");
        let of_zeros = decode_i8(&mut decoder, &zeros, frames);
        let of_words = decode_i8(&mut decoder, &turned, frames);
        assert_eq!(of_zeros.ok, of_words.ok, "{algorithm:?}");
        assert_eq!(of_zeros.iterations, of_words.iterations, "{algorithm:?}");
        let back: Vec<u8> = of_words.hard.iter().zip(&words).map(|(a, b)| a ^ b).collect();
        assert!(of_zeros.hard == back, "{algorithm:?}");
    }
}

#[test]
fn a_frame_does_not_see_its_neighbours() {
    let code = short();
    let mut random = Random(3);
    let frames = 64;
    let llrs = random.llrs(frames * code.code_bits(), 0.45);
    for algorithm in Algorithm::ALL {
        for stop in [false, true] {
            let config = config(algorithm, 5, stop);
            let mut decoder = Decoder::new(&code, &config).expect("a decoder");
            let together = decode_f32(&mut decoder, &llrs, frames);
            for (index, frame) in llrs.chunks_exact(code.code_bits()).enumerate().step_by(7) {
                let alone = decode_f32(&mut decoder, frame, 1);
                let bits = index * code.code_bits()..(index + 1) * code.code_bits();
                assert_eq!(alone.hard, together.hard[bits], "{algorithm:?} frame {index}");
                assert_eq!(alone.ok[0], together.ok[index]);
                assert_eq!(alone.iterations[0], together.iterations[index]);
            }
        }
    }
}

#[test]
fn a_flag_is_true_exactly_for_codewords() {
    let code = short();
    let mut random = Random(4);
    let frames = 128;
    let llrs = random.llrs(frames * code.code_bits(), 0.45);
    for algorithm in Algorithm::ALL {
        for stop in [false, true] {
            let mut decoder = Decoder::new(&code, &config(algorithm, 12, stop)).expect("a decoder");
            let answer = decode_f32(&mut decoder, &llrs, frames);
            for (word, ok) in answer.hard.chunks_exact(code.code_bits()).zip(&answer.ok) {
                assert_eq!(code.matrix().is_codeword(word), *ok, "{algorithm:?}");
            }
            assert!(answer.iterations.iter().all(|&count| count <= 12));
            if stop && algorithm == Algorithm::LayeredSpa {
                assert!(answer.ok.iter().filter(|&&ok| ok).count() > frames / 2);
            }
        }
    }
}

#[test]
fn few_errors_are_corrected_by_every_algorithm() {
    let code = short();
    let mut random = Random(5);
    let frames = 32;
    let bits = code.code_bits();
    let mut words = vec![0; frames * bits];
    for word in words.chunks_exact_mut(bits) {
        code.encode(&random.bits(code.info_bits()), word);
    }
    let mut llrs: Vec<i8> = words.iter().map(|&bit| if bit == 1 { -17 } else { 17 }).collect();
    for frame in llrs.chunks_exact_mut(bits) {
        let at = random.next() as usize % code.info_bits();
        frame[at] = -frame[at];
    }
    for algorithm in Algorithm::ALL {
        let mut decoder = Decoder::new(&code, &config(algorithm, 20, true)).expect("a decoder");
        let answer = decode_i8(&mut decoder, &llrs, frames);
        assert!(answer.ok.iter().all(|&ok| ok), "{algorithm:?}: {:?}", answer.ok);
        assert!(answer.hard == words, "{algorithm:?}");
    }
}

#[test]
fn a_decoder_refuses_what_it_cannot_do() {
    let code = short();
    let refused = |change: fn(&mut DecoderConfig)| {
        let mut config = DecoderConfig::default();
        change(&mut config);
        Decoder::new(&code, &config).expect_err("refused").to_string()
    };
    assert_eq!(refused(|c| c.iterations = 0), "0 iterations; accepted: 1 to 100000");
    assert_eq!(refused(|c| c.scale = 0.0), "scale 0 of min-sum; accepted: above 0, at most 1");
    assert_eq!(
        refused(|c| c.scale = f32::NAN),
        "scale NaN of min-sum; accepted: above 0, at most 1"
    );
    assert_eq!(
        refused(|c| c.offset = -1.0),
        "offset -1 of min-sum; accepted: 0 to 32, in units of LLR"
    );
    let unknown = Algorithm::from_name("spa").expect_err("refused").to_string();
    assert!(unknown.contains("accepted: layered-spa, flooding-spa"), "{unknown}");
    let unknown = LdpcCode::nand("nand-8k-r090").expect_err("refused").to_string();
    assert!(unknown.starts_with("no code is named `nand-8k-r090`; accepted: nand-n1024"));
    for algorithm in Algorithm::ALL {
        assert_eq!(Algorithm::from_name(algorithm.name()), Ok(algorithm));
    }
}

#[test]
fn codes_of_standards_have_their_published_sizes() {
    let sizes = [
        ("10GBPS-ETHERNET_1723_2048.alist", 2048, 1723, 325, Some(6)),
        ("WIMAX_480_576.alist", 576, 480, 96, None),
        ("WIMAX_288_576.alist", 576, 288, 288, None),
        ("WIFI_540_648.alist", 648, 540, 108, None),
        ("MACKAY_504_1008.alist", 1008, 504, 504, None),
        ("PureIRA_R_9_10_N16k_H.alist", 16640, 14976, 1664, None),
    ];
    for (file, code_bits, info_bits, rank, girth) in sizes {
        let Some(text) = shared(file) else { return };
        let code = LdpcCode::from_alist(&text).expect("a matrix of a standard");
        assert_eq!((code.code_bits(), code.info_bits()), (code_bits, info_bits), "{file}");
        assert_eq!(code.rank(), rank, "{file}");
        assert!(girth.is_none() || code.girth() == girth, "{file}: {:?}", code.girth());
        let mut word = vec![0; code_bits];
        let mut random = Random(6);
        let info = random.bits(info_bits);
        code.encode(&info, &mut word);
        assert!(code.matrix().is_codeword(&word), "{file}");
        for (&bit, &position) in info.iter().zip(code.info_positions()) {
            assert_eq!(word[position as usize], bit);
        }
    }
}

#[test]
fn punctured_bits_are_recovered_from_their_checks() {
    let Some(text) = shared("AR4JA_4096_8192.qc") else { return };
    let code = LdpcCode::from_qc(&text).expect("a matrix of CCSDS");
    assert_eq!((code.code_bits(), code.info_bits()), (8192, 4096));
    assert_eq!(code.matrix().column_count(), 10240);
    let mut random = Random(7);
    let mut word = vec![0; 8192];
    code.encode(&random.bits(4096), &mut word);
    // 0.45 dB of sigma better than the threshold of rate 1/2.
    let noise = random.llrs(8192, 0.72);
    let llrs: Vec<f32> =
        noise.iter().zip(&word).map(|(&llr, &bit)| if bit == 1 { -llr } else { llr }).collect();
    let mut bytes = vec![0; llrs.len()];
    quantise(&llrs, &mut bytes);
    for algorithm in [Algorithm::LayeredSpa, Algorithm::LayeredNms, Algorithm::FloodingNms] {
        let mut decoder = Decoder::new(&code, &config(algorithm, 60, true)).expect("a decoder");
        let answer = decode_f32(&mut decoder, &llrs, 1);
        assert!(answer.ok[0] && answer.hard == word, "{algorithm:?} in floats");
        let answer = decode_i8(&mut decoder, &bytes, 1);
        assert!(answer.ok[0] && answer.hard == word, "{algorithm:?} in 8 bits");
    }
}

proptest! {
    /// No text makes a reader panic, hang or ask for much memory.
    #[test]
    fn any_text_is_a_code_or_a_refusal(text in "[-0-9 \n#x]{0,200}") {
        let _ = LdpcCode::from_alist(&text);
        let _ = LdpcCode::from_qc(&text);
    }

    /// The same for texts that look like a matrix with a few numbers changed.
    #[test]
    fn damaged_matrices_are_codes_or_refusals(
        changes in prop::collection::vec((0_usize..44, -2_i64..9), 0..4),
        huge in prop::option::of((
            0_usize..44,
            prop::sample::select(vec![u64::MAX, 1 << 40, 1 << 31]),
        )),
    ) {
        let hamming = "7 3\n3 4\n1 1 1 2 2 2 3\n4 4 4\n1 0 0\n2 0 0\n3 0 0\n1 2 0\n1 3 0\n2 3 0\n\
                       1 2 3\n1 4 5 7\n2 4 6 7\n3 5 6 7\n";
        let small = "4 2 3\n0 1 -1 0\n2 -1 0 1\n1 1 1 0\n";
        for (text, read) in [
            (hamming, LdpcCode::from_alist as fn(&str) -> Result<LdpcCode, _>),
            (small, LdpcCode::from_qc),
        ] {
            let mut place = 0;
            let mut damaged = String::new();
            for line in text.lines() {
                for word in line.split(' ') {
                    let change = changes.iter().find(|(at, _)| *at == place);
                    let large = huge.filter(|(at, _)| *at == place);
                    damaged += &match (large, change) {
                        (Some((_, number)), _) => number.to_string(),
                        (None, Some((_, number))) => number.to_string(),
                        (None, None) => word.to_owned(),
                    };
                    damaged += " ";
                    place += 1;
                }
                damaged += "\n";
            }
            if let Ok(code) = read(&damaged) {
                let mut word = vec![0; code.code_bits()];
                code.encode(&vec![1; code.info_bits()], &mut word);
                let mut decoder = Decoder::new(&code, &DecoderConfig::default()).expect("default");
                let llrs: Vec<i8> = word.iter().map(|&bit| if bit == 1 { -9 } else { 9 }).collect();
                let answer = decode_i8(&mut decoder, &llrs, 1);
                prop_assert!(answer.hard.iter().all(|&bit| bit < 2));
            }
        }
    }
}
