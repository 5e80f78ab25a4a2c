//! Rates of the BCH codec of one core, in information bits: 1 item is 1 bit of data.
//!
//! `cargo bench -p opennandlab-ecc --bench bch` prints them. Each word is decoded from data and
//! parity, with errors injected at random places. The decoder corrects in place, so the errors are
//! injected again before each word, which takes some nanoseconds.

use divan::counter::ItemsCount;
use divan::Bencher;
use opennandlab_ecc::bch::{BchCode, Path};
use opennandlab_ecc::bits;

fn main() {
    divan::main();
}

#[derive(Clone, Copy)]
struct Case {
    field_degree: u32,
    correctable: u32,
    data_bytes: usize,
    error_count: usize,
}

impl Case {
    const fn new(
        field_degree: u32,
        correctable: u32,
        data_bytes: usize,
        error_count: usize,
    ) -> Self {
        Self { field_degree, correctable, data_bytes, error_count }
    }

    fn code(self, path: Path) -> BchCode {
        let Self { field_degree, correctable, data_bytes, .. } = self;
        BchCode::with_path(path, field_degree, correctable, Some(8 * data_bytes)).expect("a code")
    }

    fn data(self) -> Vec<u8> {
        (0..self.data_bytes).map(|i| (i * i + 7) as u8).collect()
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { field_degree, correctable, data_bytes, error_count } = self;
        write!(f, "({field_degree},{correctable}) {data_bytes} B, {error_count} errors")
    }
}

/// By field degree, errors corrected and errors injected.
const CASES: [Case; 9] = [
    Case::new(8, 4, 27, 0),
    Case::new(8, 4, 27, 4),
    Case::new(13, 4, 512, 4),
    Case::new(13, 8, 512, 0),
    Case::new(13, 8, 512, 1),
    Case::new(13, 8, 512, 8),
    Case::new(14, 40, 1024, 0),
    Case::new(14, 40, 1024, 40),
    Case::new(14, 72, 1024, 72),
];

/// Words that are decoded in turn.
const WORDS: usize = 64;

/// Error positions of each word, from a linear congruential generator: the one of MMIX (D. E.
/// Knuth, "The Art of Computer Programming", volume 2, 3.3.4).
fn positions(code: &BchCode, error_count: usize) -> Vec<Vec<usize>> {
    let mut state = 42_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % code.code_bits()
    };
    let mut word = || {
        let mut positions = Vec::new();
        while positions.len() < error_count {
            let position = next();
            if !positions.contains(&position) {
                positions.push(position);
            }
        }
        positions
    };
    (0..WORDS).map(|_| word()).collect()
}

fn decode(bencher: Bencher<'_, '_>, path: Path, case: Case) {
    let code = case.code(path);
    let mut data = case.data();
    let mut parity = vec![0; code.parity_bytes()];
    code.encode(&data, &mut parity);
    let positions = positions(&code, case.error_count);
    let mut decoder = code.decoder();
    bencher.counter(ItemsCount::new(WORDS * 8 * case.data_bytes)).bench_local(|| {
        for word in &positions {
            for &position in word {
                match position.checked_sub(8 * case.data_bytes) {
                    None => bits::flip(&mut data, position),
                    Some(index) => bits::flip(&mut parity, index),
                }
            }
            assert_eq!(decoder.decode(&mut data, &mut parity), Ok(case.error_count));
        }
    });
}

#[divan::bench(args = CASES, sample_count = 25, sample_size = 1)]
fn decode_best(bencher: Bencher<'_, '_>, case: Case) {
    decode(bencher, Path::best(), case);
}

/// Without a row on machines that lack AVX2.
#[divan::bench(args = CASES, sample_count = 25, sample_size = 1)]
fn decode_avx2(bencher: Bencher<'_, '_>, case: Case) {
    if let Some(path) = Path::available().into_iter().find(|path| path.name() == "avx2") {
        decode(bencher, path, case);
    }
}

#[divan::bench(args = CASES, sample_count = 9, sample_size = 1)]
fn decode_portable(bencher: Bencher<'_, '_>, case: Case) {
    decode(bencher, Path::PORTABLE, case);
}

#[divan::bench(args = CASES, sample_count = 25, sample_size = 1)]
fn encode(bencher: Bencher<'_, '_>, case: Case) {
    let code = case.code(Path::best());
    let data = case.data();
    let mut parity = vec![0; code.parity_bytes()];
    bencher.counter(ItemsCount::new(WORDS * 8 * case.data_bytes)).bench_local(|| {
        for _ in 0..WORDS {
            code.encode(divan::black_box(&data), &mut parity);
        }
        parity[0]
    });
}
