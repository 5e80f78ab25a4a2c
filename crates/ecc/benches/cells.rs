//! Rates of senses of a wordline of one core, in cells: 1 item is 1 cell.
//!
//! `cargo bench -p opennandlab-ecc --bench cells` prints them, next to a bare loop that hashes the
//! same cells and compares each with one threshold.

use divan::counter::ItemsCount;
use divan::{black_box, Bencher};
use opennandlab_ecc::cell::{
    Mixture, PageBits, RankKey, ReadLevels, SenseTable, Shift, States, Tail,
};

fn main() {
    divan::main();
}

/// Cells of a page of 16 KiB and 1952 bytes of spare area.
const CELLS: usize = 8 * (16_384 + 1952);

/// TLC pages of the reflected code.
const PAGES: [[u8; 8]; 3] =
    [[1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 1, 1], [1, 0, 0, 1, 1, 0, 0, 1]];

/// States and shifts of random data, and the table of a page type.
fn wordline(page: usize, read_noise: f64) -> (SenseTable, Vec<u8>, Vec<u8>) {
    let mut sigma = [0.2; 8];
    sigma[0] = 0.3;
    let states = States::new(&[-1.4, 0.0, 1.0, 2.0, 2.95, 3.9, 4.85, 5.8], &sigma);
    let shifts = (0..8).map(|k| Shift { by: 0.02 * f64::from(k) - 0.07, weight: 0.125 }).collect();
    let mixture = Mixture::new(states, shifts).with(Tail::Normal, read_noise);
    let levels = ReadLevels::new(&[-0.55, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5]);
    let draw = |key: u64| {
        let key = RankKey::of(&[key]);
        (0..CELLS as u32).map(|cell| (key.rank(cell) >> 29) as u8).collect::<Vec<u8>>()
    };
    (SenseTable::new(&mixture, PageBits::new(PAGES[page]), &levels), draw(1), draw(2))
}

#[divan::bench]
fn bare_loop(bencher: Bencher) {
    let key = RankKey::of(&[3]);
    bencher.counter(ItemsCount::new(CELLS)).bench(|| {
        let threshold = black_box(1 << 29);
        (0..CELLS as u32).filter(|&cell| key.rank(cell) >= threshold).count()
    });
}

#[divan::bench(args = [0, 1, 2])]
fn sense(bencher: Bencher, page: usize) {
    let (table, states, shifts) = wordline(page, 0.0);
    let mut out = vec![0; CELLS / 8];
    bencher
        .counter(ItemsCount::new(CELLS))
        .bench_local(|| table.sense(RankKey::of(&[3]), 0, &states, &shifts, &mut out));
}

#[divan::bench]
fn sense_with_read_noise(bencher: Bencher) {
    let (table, states, shifts) = wordline(2, 0.05);
    let mut out = vec![0; CELLS / 8];
    bencher
        .counter(ItemsCount::new(CELLS))
        .bench_local(|| table.sense(RankKey::of(&[3]), 7, &states, &shifts, &mut out));
}
