//! Cells against values from outside: closed forms, and samples within 4.5 standard deviations.

use super::config::Coupling;
use super::valley::{changed, Calibrate};
use super::*;
use crate::reliability::state_presets::CellPreset::{self, Mlc, Qlc, Slc, Tlc};
use crate::reliability::{RberModel, StateModel, Stress};
use crate::rng::Rng;
use opennandlab_ecc::cell::{Counted, Mixture, ReadLevels};
use serde_json::json;

/// Bytes of a page: 16 KiB and spare area.
const BYTES: usize = 16_384 + 1952;

fn stress(pe_cycles: f64, retention_h: f64) -> Stress {
    Stress { pe_cycles, retention_h, ..Stress::default() }
}

fn config(text: serde_json::Value) -> CellsConfig {
    serde_json::from_value(text).unwrap()
}

fn model(preset: CellPreset, keys: serde_json::Value) -> CellModel {
    CellModel::new(StateModel::preset(preset), &config(keys), 42).unwrap()
}

fn plain(preset: CellPreset) -> CellModel {
    model(preset, json!({}))
}

/// Rates of the page types at the default levels.
fn rates(model: &CellModel, cells: &Mixture, levels: &ReadLevels) -> Vec<f64> {
    let code = model.code();
    (0..code.bits()).map(|page| cells.rber(code.page(page), levels)).collect()
}

fn close(ours: &[f64], theirs: &[f64], relative: f64) {
    assert_eq!(ours.len(), theirs.len());
    for (our, their) in ours.iter().zip(theirs) {
        assert!((our / their - 1.0).abs() < relative, "{ours:?} {theirs:?}");
    }
}

/// The same cells with one shift alone: that of aggressors in a state.
fn beside(cells: &Mixture, aggressor: usize) -> Mixture {
    let shift = cells.shifts()[aggressor];
    let one = opennandlab_ecc::cell::Shift { weight: 1.0, ..shift };
    Mixture::new(*cells.states(), vec![one])
}

/// Random wordlines of a block, read back.
struct Block<'a> {
    model: &'a CellModel,
    cells: Mixture,
    wordlines: Vec<Wordline>,
    pages: Vec<Vec<Vec<u8>>>,
    place: Place,
}

impl<'a> Block<'a> {
    fn new(model: &'a CellModel, stress: &Stress, count: usize, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "pages");
        let mut random =
            |_| (0..BYTES / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect::<Vec<u8>>();
        let bits = model.code().bits();
        let pages = (0..count).map(|_| (0..bits).map(&mut random).collect()).collect();
        Self::with(model, stress, pages, seed as u32)
    }

    fn with(model: &'a CellModel, stress: &Stress, pages: Vec<Vec<Vec<u8>>>, block: u32) -> Self {
        let place = Place { block, erases: stress.pe_cycles as u32, wordline: 0 };
        let wordlines = (0..).zip(&pages).map(|(wordline, pages)| {
            let pages: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
            model.program(Place { wordline, ..place }, Wordline::of(&pages, model.code()))
        });
        let wordlines = wordlines.collect();
        Self { model, cells: model.mixture(stress, 1.0), wordlines, pages, place }
    }

    fn place(&self, wordline: usize) -> Place {
        Place { wordline: wordline as u32, ..self.place }
    }

    fn shifts(&self, wordline: usize) -> Vec<u8> {
        let of = |one: Coupling| self.wordlines.get(wordline + one.wordline as usize);
        let neighbours: Vec<Option<&Wordline>> = self.model.aggressors().map(of).collect();
        self.model.shifts(self.place(wordline), 8 * BYTES, &neighbours)
    }

    fn read(&self, wordline: usize, page_type: usize, levels: &ReadLevels, read: u64) -> Vec<u8> {
        let table = self.model.table(&self.cells, page_type, levels);
        let mut out = vec![0; BYTES];
        let states = self.wordlines[wordline].states();
        table.sense(
            self.model.key(self.place(wordline)),
            read,
            states,
            &self.shifts(wordline),
            &mut out,
        );
        out
    }

    /// Errors of a page type over these wordlines, and how many there should be.
    fn count(
        &self,
        page_type: usize,
        levels: &ReadLevels,
        of: impl Iterator<Item = usize>,
    ) -> Counted {
        let table = self.model.table(&self.cells, page_type, levels);
        let mut sum = Counted::default();
        for wordline in of {
            let found = self.read(wordline, page_type, levels, 0);
            let errors = changed(&found, &self.pages[wordline][page_type]);
            let expected =
                table.expected(self.wordlines[wordline].states(), &self.shifts(wordline));
            sum.add(&Counted { errors, ..expected });
        }
        sum
    }
}

/// Whether a count agrees with a rate.
fn agrees(counted: &Counted, rate: f64) {
    let bits = counted.bits as f64;
    let z = (counted.errors as f64 - bits * rate) / (bits * rate * (1.0 - rate)).sqrt();
    assert!(z.abs() < 4.5, "{counted:?} for {rate:e}: z {z}");
    assert!(counted.z().abs() < 4.5, "{counted:?}: z {}", counted.z());
}

/// Cells, cycles, hours; rates of cells and of their states.
type Known = (CellPreset, f64, f64, &'static [f64], &'static [f64]);

#[test]
fn rates_are_those_computed_elsewhere() {
    let table: [Known; 5] = [
        (Mlc, 3000.0, 8760.0, &[5.503e-4, 2.395e-3], &[5.502e-4, 2.392e-3]),
        (Tlc, 0.0, 0.0, &[6.921e-4, 1.384e-3, 2.309e-3], &[6.985e-4, 1.397e-3, 2.329e-3]),
        (Tlc, 3000.0, 0.0, &[2.995e-3, 5.989e-3, 1.039e-2], &[2.998e-3, 5.997e-3, 1.040e-2]),
        (Tlc, 3000.0, 8760.0, &[6.129e-3, 2.655e-2, 6.160e-2], &[6.129e-3, 2.655e-2, 6.160e-2]),
        (
            Qlc,
            0.0,
            0.0,
            &[2.205e-3, 2.598e-3, 2.598e-3, 1.948e-3],
            &[2.359e-3, 2.782e-3, 2.782e-3, 2.086e-3],
        ),
    ];
    for (preset, pe_cycles, hours, cells, states) in table {
        let (model, stress) = (plain(preset), stress(pe_cycles, hours));
        close(&rates(&model, &model.mixture(&stress, 1.0), &model.default_levels()), cells, 1e-3);
        let rate =
            |page: usize| model.states().rber(&Stress { page_type: Some(page as u8), ..stress });
        close(&(0..states.len()).map(rate).collect::<Vec<_>>(), states, 1e-3);
    }
}

#[test]
fn moves_have_the_variances_computed_elsewhere() {
    let variance = |preset, keys: serde_json::Value, ratio: f64| {
        let model = model(preset, keys);
        let cells = model.mixture(&Stress::default(), 1.0);
        cells.shifts().iter().map(|one| one.weight * one.by * one.by).sum::<f64>() / ratio / ratio
    };
    for (preset, value) in [(Slc, 0.49), (Mlc, 1.58), (Tlc, 5.6175), (Qlc, 21.634_375)] {
        close(&[variance(preset, json!({}), 0.02)], &[value], 1e-9);
    }
    close(&[variance(Mlc, json!({"program": "two_step"}), 0.02)], &[0.3725], 1e-9);
    close(&[variance(Tlc, json!({"program": "foggy_fine"}), 0.02)], &[0.233], 1e-3);
    // Of several, in bins.
    let both = json!({"coupling": [0.02, {"bitline": -1, "ratio": 0.01}]});
    close(&[variance(Tlc, both, 1.0)], &[5.6175 * 5e-4], 2e-3);
}

#[test]
fn neighbours_change_the_mean_rate_as_computed_elsewhere() {
    let model = plain(Tlc);
    for (pe_cycles, values) in [
        (3000.0, [6.457e-3, 7.856e-3, 5.657e-3, 7.476e-3]),
        (0.0, [1.462e-3, 2.108e-3, 1.093e-3, 1.947e-3]),
    ] {
        let cells = model.mixture(&stress(pe_cycles, 0.0), 1.0);
        let of = |aggressor| model.mean_rber(&beside(&cells, aggressor));
        close(&[model.mean_rber(&cells), of(0), of(3), of(7)], &values, 1e-3);
    }
}

#[test]
fn zeros_without_a_randomiser_have_their_own_rates() {
    let model = plain(Tlc);
    let zeros = vec![vec![vec![0; BYTES]; 3]; 9];
    for (hours, values) in [(0.0, [7e-13, 1.510e-2, 7.06e-3]), (8760.0, [4e-10, 9.7e-4, 6.40e-2])] {
        let block = Block::with(&model, &stress(3000.0, hours), zeros.clone(), 0);
        assert!(block.wordlines[0].states().iter().all(|&state| state == 5));
        for (page_type, rate) in values.into_iter().enumerate() {
            let counted = block.count(page_type, &model.default_levels(), 0..8);
            // To the digits given.
            close(&[counted.expected / counted.bits as f64], &[rate], 0.07);
            assert!(counted.z().abs() < 4.5, "{counted:?}");
            assert!(page_type > 0 || counted.errors == 0);
        }
    }
}

#[test]
fn scrambled_data_of_any_kind_has_the_rates_of_random_data() {
    let model = plain(Tlc);
    let stress = stress(3000.0, 8760.0);
    let cells = model.mixture(&stress, 1.0);
    let values = rates(&model, &cells, &model.default_levels());
    for (randomiser, fill) in
        [(Randomiser::Prbs15, 0), (Randomiser::Prbs15, 0xff), (Randomiser::Hash, 0)]
    {
        let page = |number: u32| {
            let mut page = vec![fill; BYTES];
            randomiser.apply(number, &mut page);
            page
        };
        let wordline = |one: u32| (0..3).map(|kind| page(3 * one + kind)).collect();
        let block = Block::with(&model, &stress, (0..33).map(wordline).collect(), 0);
        for (page_type, &rate) in values.iter().enumerate() {
            agrees(&block.count(page_type, &model.default_levels(), 0..32), rate);
        }
    }
}

#[test]
fn sampled_rates_are_the_analytic_ones() {
    for (preset, pe_cycles, hours) in
        [(Tlc, 3000.0, 8760.0), (Qlc, 0.0, 0.0), (Mlc, 3000.0, 8760.0)]
    {
        let (model, stress) = (plain(preset), stress(pe_cycles, hours));
        let block = Block::new(&model, &stress, 56, 7);
        for (page_type, rate) in
            rates(&model, &block.cells, &model.default_levels()).into_iter().enumerate()
        {
            agrees(&block.count(page_type, &model.default_levels(), 0..55), rate);
        }
    }
}

#[test]
fn the_last_wordline_of_an_open_block_is_worse() {
    let model = plain(Tlc);
    let fresh = stress(3000.0, 0.0);
    let mut sum = Counted::default();
    for seed in 0..8 {
        let block = Block::new(&model, &fresh, 1, seed);
        (0..3).for_each(|page| sum.add(&block.count(page, &model.default_levels(), 0..1)));
    }
    agrees(&sum, 7.856e-3);
    let closed = model.mean_rber(&model.mixture(&fresh, 1.0));
    assert!((7.856e-3 / closed - 1.22).abs() < 0.005, "{closed}");
}

#[test]
fn better_levels_trade_errors_for_others() {
    let model = plain(Tlc);
    let stress = stress(3000.0, 8760.0);
    let block = Block::new(&model, &stress, 24, 3);
    let best = model.states().states(&stress).best_levels();
    for (page_type, repeated) in [0.672, 0.686, 0.641].into_iter().enumerate() {
        let (mut errors, mut again) = (0, 0);
        for wordline in 0..23 {
            let data = &block.pages[wordline][page_type];
            let first = block.read(wordline, page_type, &model.default_levels(), 0);
            let later = block.read(wordline, page_type, &best, 1);
            for (data, (first, later)) in data.iter().zip(first.iter().zip(&later)) {
                errors += (data ^ later).count_ones();
                again += ((data ^ first) & (data ^ later)).count_ones();
            }
        }
        let share = f64::from(again) / f64::from(errors);
        let sd = (repeated * (1.0 - repeated) / f64::from(errors)).sqrt();
        assert!((share - repeated).abs() < 4.5 * sd + 5e-4, "page {page_type}: {share} {repeated}");
    }
}

#[test]
fn cells_between_two_reads_change() {
    let model = plain(Tlc);
    let block = Block::new(&model, &stress(3000.0, 0.0), 16, 5);
    let default = model.default_levels();
    for (offset, values) in
        [(-0.2, [1.088e-2, 2.177e-2, 3.613e-2]), (0.2, [1.088e-2, 2.176e-2, 3.843e-2])]
    {
        let moved = default.moved(&[offset; 7]);
        for (page_type, rate) in values.into_iter().enumerate() {
            let one = |wordline| {
                let read = |levels| block.read(wordline, page_type, levels, 0);
                changed(&read(&default), &read(&moved))
            };
            let (count, bits) = ((0..15).map(one).sum::<u64>() as f64, 15.0 * 8.0 * BYTES as f64);
            let sd = (bits * rate * (1.0 - rate)).sqrt();
            // The rates are given to four digits.
            assert!(
                (count - bits * rate).abs() < 4.5 * sd + 5e-6 * bits,
                "{page_type}: {}",
                count / bits
            );
        }
    }
}

#[test]
fn ones_are_as_frequent_as_computed_elsewhere() {
    let model = plain(Tlc);
    let block = Block::new(&model, &stress(3000.0, 8760.0), 24, 11);
    for (page_type, share) in [0.504_66, 0.477_27, 0.464_34].into_iter().enumerate() {
        let ones = |wordline| -> u64 {
            let page = block.read(wordline, page_type, &model.default_levels(), 0);
            page.iter().map(|byte| u64::from(byte.count_ones())).sum()
        };
        let (count, bits) = ((0..23).map(ones).sum::<u64>() as f64, 23.0 * 8.0 * BYTES as f64);
        let z = (count - bits * share) / (bits * share * (1.0 - share)).sqrt();
        assert!(z.abs() < 4.5, "page {page_type}: {} z {z}", count / bits);
    }
}

#[test]
fn width_factors_are_those_computed_elsewhere() {
    let model = plain(Tlc);
    let stress = stress(3000.0, 0.0);
    for (scale, width) in [(0.5, 0.9001), (1.0, 1.0), (1.5, 1.0748), (2.0, 1.1383)] {
        let found = model.width_factor(&stress, scale);
        assert!((found - width).abs() < 6e-5, "{scale}: {found}");
        let rate = |w| model.mean_rber(&model.mixture(&stress, w));
        assert!((rate(found) / rate(1.0) / scale - 1.0).abs() < 1e-6);
    }
    // If no width gives the rate, the nearest one does.
    assert!(model.width_factor(&stress, 1e-30) > 0.0);
    assert!(model.width_factor(&stress, 1e6) <= 10.0);
}

#[test]
fn the_chip_misreads_its_own_first_bit() {
    for (sigma, rate) in [(0.2, 2.07e-6), (0.25, 1.14e-4)] {
        let [zero, one] = super::model::misreads((-1.4, 1.5 * sigma), (0.9, sigma));
        close(&[0.5 * (zero + one)], &[rate], 3e-3);
    }
    // At a wear at which they can be counted: the cell is in a wrong state.
    let model = model(Mlc, json!({"program": "two_step"}));
    let worn = stress(60_000.0, 0.0);
    let block = Block::new(&model, &worn, 8, 1);
    let mut wrong = Counted::default();
    for (wordline, pages) in block.wordlines.iter().zip(&block.pages) {
        wrong.bits += 8 * BYTES as u64;
        wrong.errors += changed(&wordline.page(model.code(), 0), &pages[0]);
        assert_eq!(wordline.page(model.code(), 1), pages[1], "the second bit is as written");
    }
    let rate = model.misreads(worn.pe_cycles).iter().sum::<f64>() / 2.0;
    assert!(rate > 1e-5, "{rate:e}");
    let bits = wrong.bits as f64;
    assert!((wrong.errors as f64 - bits * rate).abs() < 4.5 * (bits * rate).sqrt(), "{wrong:?}");
    assert!(plain(Mlc).misreads(60_000.0).iter().sum::<f64>() <= 0.0);
}

#[test]
fn reads_tell_as_much_as_computed_elsewhere() {
    let (tlc, qlc) = (plain(Tlc), plain(Qlc));
    let year = stress(3000.0, 8760.0);
    for (model, stress, page, values) in [
        (&tlc, year, 2, &[(1, 0.883_11), (3, 0.927_79), (7, 0.936_26)][..]),
        (&qlc, Stress::default(), 2, &[(1, 0.973_95), (3, 0.987_04)][..]),
    ] {
        let levels = model.states().states(&stress).best_levels();
        let cells = model.mixture(&stress, 1.0);
        for &(reads, information) in values {
            let table = cells.best_table(model.code().page(page), &levels, reads).unwrap();
            let ours = table.mutual_information;
            assert!((ours - information).abs() < 6e-6, "{reads} reads: {ours}");
        }
    }
}

#[test]
fn valleys_are_found_as_well_as_computed_elsewhere() {
    let model = plain(Tlc);
    let stress = stress(3000.0, 8760.0);
    let (search, default) = (Calibrate::default(), model.default_levels());
    assert_eq!(search.reads(), 16);
    let best = model.states().states(&stress).best_levels().at()[6] - default.at()[6];
    assert!((best + 0.3602).abs() < 1e-4, "{best}");
    let found: Vec<f64> = (0..40)
        .map(|seed| {
            let block = Block::new(&model, &stress, 2, seed);
            let read = |offset| {
                let mut offsets = [0.0; 7];
                offsets[6] = offset;
                block.read(0, 2, &default.moved(&offsets), 0)
            };
            search.valley_of(&search.offsets().into_iter().map(read).collect::<Vec<_>>())
        })
        .collect();
    let mean = found.iter().sum::<f64>() / 40.0;
    let sd = (found.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>() / 39.0).sqrt();
    assert!((mean + 0.3596).abs() < 4.5 * 0.0067 / 40_f64.sqrt() + 0.001, "{mean}");
    // The standard deviation of a standard deviation of 40 is a ninth of it.
    assert!((sd / 0.0067 - 1.0).abs() < 4.5 / 9.0, "{sd}");
}

#[test]
fn keys_that_cannot_be_are_refused_with_what_can() {
    let refusal = |preset, keys: serde_json::Value| match serde_json::from_value(keys.clone()) {
        Err(error) => error.to_string(),
        Ok(config) => match CellModel::new(StateModel::preset(preset), &config, 1) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{keys} was accepted"),
        },
    };
    for (preset, keys, words) in [
        (Tlc, json!({"blocks": 0}), &["`0`", "1 or more, or all"][..]),
        (Tlc, json!({"blocks": "some"}), &["some", "1 or more, or all"]),
        (Tlc, json!({"blocks": 1.5}), &["1.5", "1 or more, or all"]),
        (Tlc, json!({"coupling": [0.08]}), &["coupling", "0.08", "below 0.07"]),
        (Tlc, json!({"coupling": [0.07, 0.07]}), &["coupling", "below 0.7", "times them"]),
        (Tlc, json!({"coupling": [0.6]}), &["coupling[0].ratio", "0.6", "0 to 0.5"]),
        (Tlc, json!({"coupling": [-0.1]}), &["coupling[0].ratio", "-0.1", "0 to 0.5"]),
        (Tlc, json!({"coupling": vec![0.01; 9]}), &["coupling", "9", "up to 8"]),
        (
            Tlc,
            json!({"coupling": [{"wordline": 0, "ratio": 0.01}]}),
            &["[0].wordline", "0", "1 to 8"],
        ),
        (
            Tlc,
            json!({"coupling": [{"bitline": 9, "ratio": 0.01}]}),
            &["[0].bitline", "9", "-8 to 8"],
        ),
        (Tlc, json!({"coupling": [{"bitline": 1}]}), &["ratio"]),
        (Tlc, json!({"coupling": [{"ratio": 0.01, "place": 1}]}), &["place", "wordline"]),
        (Tlc, json!({"program": "two_step"}), &["program", "two_step", "one_shot or foggy_fine"]),
        (Mlc, json!({"program": "foggy_fine"}), &["program", "foggy_fine", "one_shot or two_step"]),
        (Slc, json!({"program": "two_step"}), &["program", "two_step", "one_shot with"]),
        (Tlc, json!({"program": "fast"}), &["fast", "one_shot"]),
        (Tlc, json!({"read_noise": 1.0}), &["read_noise", "1", "0 to 0.9"]),
        (Tlc, json!({"tail": {"student": 2.0}}), &["tail.student", "2", "2.1 to 1000"]),
        (Tlc, json!({"tail": "heavy"}), &["heavy", "student"]),
        (Tlc, json!({"randomiser": "prbs31"}), &["prbs31", "prbs15"]),
        (Tlc, json!({"block": 1}), &["block", "blocks"]),
    ] {
        let message = refusal(preset, keys.clone());
        assert!(words.iter().all(|word| message.contains(word)), "{keys}: {message}");
    }
    let all = config(json!({"blocks": "all"}));
    assert_eq!(json!(all)["blocks"], "all");
    assert!(all.check_blocks(1).is_ok() && CellsConfig::default().check_blocks(9).is_ok());
    let many = config(json!({"blocks": 65})).check_blocks(63).unwrap_err();
    assert!(many.path == "blocks" && many.message.contains("1 to 63"), "{many}");
    let two_step = config(json!({"program": "two_step"}));
    assert!(two_step.check_passes(2).is_ok() && all.check_passes(1).is_ok());
    let other = two_step.check_passes(3).unwrap_err();
    assert!(other.path == "program" && other.message.contains("mlc"), "{other}");
}

#[test]
fn searches_that_cannot_be_are_refused() {
    for (step, span, path) in
        [(0.0, 0.75, "step"), (f64::NAN, 0.75, "step"), (0.05, 0.1, "span"), (0.01, 5.0, "span")]
    {
        assert_eq!(Calibrate { step, span }.check().unwrap_err().path, path);
    }
    assert!(Calibrate::default().check().is_ok());
    // Counts without a valley are answered within the span.
    let search = Calibrate::default();
    for changed in [vec![0; 15], (0..15).collect(), (0..15).rev().collect::<Vec<u64>>()] {
        let found = search.valley(&changed);
        assert!((-0.6..=0.15).contains(&found), "{found}");
    }
    let mut flat = [9; 15];
    flat[6..13].fill(0);
    assert!((search.valley(&flat) + 0.125).abs() < 1e-12, "the middle of a flat valley");
}
