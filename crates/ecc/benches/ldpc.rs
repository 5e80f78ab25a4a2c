//! Rates of the LDPC decoders: information bits per second of one core, decoding only.
//!
//! `cargo bench -p opennandlab-ecc --bench ldpc` prints them as items (bits) per second. Ten fixed
//! iterations of layered normalised min-sum in 8 bits unless a row says otherwise; the work does
//! not depend on the LLRs then. Codes of standards are read from `../shared/ecc/h` next to the
//! repository where that exists, and left out elsewhere.

use divan::counter::ItemsCount;
use divan::Bencher;
use opennandlab_ecc::ldpc::{Algorithm, Decoder, DecoderConfig, LdpcCode, Path};

fn main() {
    divan::main();
}

/// One of our own codes by name, or a matrix of the shared folder by file name.
fn code(name: &str) -> Option<LdpcCode> {
    if name.starts_with("nand-") {
        return LdpcCode::nand(name).ok();
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/ecc/h/");
    let text = std::fs::read_to_string(format!("{folder}{name}.alist")).ok()?;
    LdpcCode::from_alist(&text).ok()
}

/// LLRs of noise: signs and sizes by a multiplicative hash.
fn llrs(count: usize) -> Vec<i8> {
    let hash = |index: usize| (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57;
    (0..count).map(|index| 12 - (hash(index) % 16) as i8).collect()
}

fn decode(bencher: Bencher, name: &str, config: DecoderConfig, path: Path) {
    let Some(code) = code(name) else { return };
    if !Path::available().contains(&path) {
        return;
    }
    let mut decoder = Decoder::with_path(&code, &config, path).expect("a decoder");
    let frames = decoder.batch();
    let input = llrs(frames * code.code_bits());
    let mut hard = vec![0; input.len()];
    let (mut ok, mut iterations) = (vec![false; frames], vec![0; frames]);
    bencher.counter(ItemsCount::new(frames * code.info_bits())).bench_local(|| {
        decoder.decode_i8(&input, frames, &mut hard, &mut ok, &mut iterations);
    });
}

fn ten_fixed(algorithm: Algorithm) -> DecoderConfig {
    DecoderConfig { algorithm, iterations: 10, stop: false, ..DecoderConfig::default() }
}

const CODES: [&str; 6] = [
    "WIMAX_480_576",
    "10GBPS-ETHERNET_1723_2048",
    "nand-n1024-r0889",
    "nand-1k-r090",
    "nand-4k-r090",
    "nand-4k-r080",
];

/// The goals: 500, 350 and 300 Mbit/s for the first two and the 4 KiB code at 0.90.
#[divan::bench(args = CODES)]
fn layered_min_sum(bencher: Bencher, name: &str) {
    decode(bencher, name, ten_fixed(Algorithm::LayeredNms), Path::best());
}

/// The same on narrower vectors.
#[divan::bench(args = [Path::Portable, Path::Avx2, Path::Avx512], sample_count = 20)]
fn layered_min_sum_by_path(bencher: Bencher, path: Path) {
    decode(bencher, "nand-1k-r090", ten_fixed(Algorithm::LayeredNms), path);
}

/// The other algorithms.
#[divan::bench(args = Algorithm::ALL, sample_count = 10)]
fn by_algorithm(bencher: Bencher, algorithm: Algorithm) {
    decode(bencher, "nand-1k-r090", ten_fixed(algorithm), Path::best());
}

/// Encoding, one frame.
#[divan::bench(args = ["10GBPS-ETHERNET_1723_2048", "nand-4k-r090"])]
fn encode(bencher: Bencher, name: &str) {
    let Some(code) = code(name) else { return };
    let info = vec![1; code.info_bits()];
    let mut word = vec![0; code.code_bits()];
    bencher
        .counter(ItemsCount::new(code.info_bits()))
        .bench_local(|| code.encode(&info, &mut word));
}

/// Building a code from its name or its text.
#[divan::bench(args = ["10GBPS-ETHERNET_1723_2048", "PureIRA_R_9_10_N16k_H", "nand-4k-r090"],
               sample_count = 5)]
fn build(bencher: Bencher, name: &str) {
    if code(name).is_some() {
        bencher.bench_local(|| code(name));
    }
}
