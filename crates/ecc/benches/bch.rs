//! Rates of the BCH codec of one core, in information bits: 1 item is 1 bit of data.
//!
//! `cargo bench -p opennandlab-ecc --bench bch` prints them. Data and parity are received; errors
//! are at random places, and undone by the decoder, so they are put in again before each word,
//! which takes some nanoseconds.

use divan::counter::ItemsCount;
use divan::Bencher;
use opennandlab_ecc::bch::{BchCode, Path};
use opennandlab_ecc::bits;

fn main() {
    divan::main();
}

/// Field degree, errors corrected, bytes of data, errors injected.
#[derive(Clone, Copy)]
struct Case(u32, u32, usize, usize);

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(m, t, bytes, errors) = self;
        write!(f, "({m},{t}) {bytes} B, {errors} errors")
    }
}

const CASES: [Case; 9] = [
    Case(13, 8, 512, 0),
    Case(13, 8, 512, 1),
    Case(13, 8, 512, 8),
    Case(14, 40, 1024, 0),
    Case(14, 40, 1024, 40),
    Case(8, 4, 27, 0),
    Case(8, 4, 27, 4),
    Case(14, 72, 1024, 72),
    Case(13, 4, 512, 4),
];

/// Words that are decoded in turn.
const WORDS: usize = 64;

/// Error positions of each word, from a linear congruential generator.
fn positions(code: &BchCode, errors: usize) -> Vec<Vec<usize>> {
    let mut state = 42_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % code.code_bits()
    };
    let mut word = || {
        let mut positions = Vec::new();
        while positions.len() < errors {
            let position = next();
            if !positions.contains(&position) {
                positions.push(position);
            }
        }
        positions
    };
    (0..WORDS).map(|_| word()).collect()
}

fn decode(bencher: Bencher<'_, '_>, path: Path, Case(m, t, bytes, errors): Case) {
    let code = BchCode::with_path(path, m, t, Some(8 * bytes)).expect("a code");
    let mut data: Vec<u8> = (0..bytes).map(|i| (i * i + 7) as u8).collect();
    let mut parity = vec![0; code.parity_bytes()];
    code.encode(&data, &mut parity);
    let positions = positions(&code, errors);
    let mut decoder = code.decoder();
    bencher.counter(ItemsCount::new(WORDS * 8 * bytes)).bench_local(|| {
        for word in &positions {
            for &position in word {
                match position.checked_sub(8 * bytes) {
                    None => bits::flip(&mut data, position),
                    Some(index) => bits::flip(&mut parity, index),
                }
            }
            assert_eq!(decoder.decode(&mut data, &mut parity), Ok(errors));
        }
    });
}

#[divan::bench(args = CASES, sample_count = 25, sample_size = 1)]
fn decode_best(bencher: Bencher<'_, '_>, case: Case) {
    decode(bencher, Path::best(), case);
}

#[divan::bench(args = CASES, sample_count = 25, sample_size = 1)]
fn decode_avx2(bencher: Bencher<'_, '_>, case: Case) {
    if let Some(path) = Path::all().into_iter().find(|path| path.name() == "avx2") {
        decode(bencher, path, case);
    }
}

#[divan::bench(args = CASES, sample_count = 9, sample_size = 1)]
fn decode_portable(bencher: Bencher<'_, '_>, case: Case) {
    decode(bencher, Path::PORTABLE, case);
}

#[divan::bench(args = CASES, sample_count = 25, sample_size = 1)]
fn encode(bencher: Bencher<'_, '_>, Case(m, t, bytes, _): Case) {
    let code = BchCode::new(m, t, Some(8 * bytes)).expect("a code");
    let data: Vec<u8> = (0..bytes).map(|i| (i * i + 7) as u8).collect();
    let mut parity = vec![0; code.parity_bytes()];
    bencher.counter(ItemsCount::new(WORDS * 8 * bytes)).bench_local(|| {
        for _ in 0..WORDS {
            code.encode(divan::black_box(&data), &mut parity);
        }
        parity[0]
    });
}
