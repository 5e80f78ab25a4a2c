//! A chip in a laboratory: wordlines are programmed with known data, stressed, read and counted.
//!
//! ```text
//!   data ─► randomiser ─► wordlines ─► stress ─► reads at levels ─► errors, ones, changed cells
//!                                                     └─ a level in steps ─► valleys
//! ```
//!
//! It runs in parts, so that a caller can show how far it is: counts of parts add up. The
//! expected number of errors follows from the states and neighbours that the cells really have, so
//! it holds for any data.

use opennandlab_ecc::cell::{CellPage, Counted, Mixture, ReadLevels, READS_WITH_BEST_THRESHOLDS};
use serde::Deserialize;
use serde_json::{json, Value};

use super::valley::{changed, Calibrate};
use super::{CellModel, CellsConfig, Place, Wordline};
use crate::config::{parse, ConfigError};
use crate::reliability::questions::parsed_states;
use crate::reliability::Stress;
use crate::rng::Rng;

/// Bytes of a page at most: 64 KiB and as much spare area.
const BYTES_MAX: usize = 1 << 17;
/// Reads at moved levels at most, and how far.
const OFFSETS_MAX: usize = 64;
const OFFSET_MAX: f64 = 2.0;

/// What pages are written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Data {
    Random,
    Zeros,
    Ones,
}

/// Levels around which pages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Levels {
    Default,
    Best,
}

/// Data, reads and cells of an experiment.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    cells: CellsConfig,
    seed: u64,
    bytes: usize,
    data: Data,
    /// Whether each wordline is the last that is programmed in its block.
    open: bool,
    levels: Levels,
    /// Further reads with all levels moved; neighbouring ones are compared.
    offsets: Vec<f64>,
    /// Whether the valley of every level is searched for.
    valleys: bool,
}

/// See the module.
pub struct Experiment {
    plan: Plan,
    model: CellModel,
    stress: Stress,
    cells: Mixture,
    levels: ReadLevels,
}

impl Experiment {
    /// A model with states as JSON, and a plan as JSON.
    ///
    /// # Errors
    /// [`ConfigError`] with the key of either, its value and the accepted range.
    pub fn new(model: &str, stress: Stress, plan: &str) -> Result<Self, ConfigError> {
        let states = parsed_states(model)?;
        let plan: Plan = parse(plan)?;
        let refuse = |path: &str, value: String, accepted: &str| {
            Err(ConfigError::new(path, format!("{value} is not usable; accepted: {accepted}")))
        };
        if !(1..=BYTES_MAX).contains(&plan.bytes) {
            return refuse("bytes", plan.bytes.to_string(), "1 to 131072");
        }
        let rises = plan.offsets.windows(2).all(|pair| pair[0] < pair[1]);
        let is_in = |offset: &f64| offset.abs() <= OFFSET_MAX;
        if plan.offsets.len() > OFFSETS_MAX || !rises || !plan.offsets.iter().all(is_in) {
            let value = format!("{:?}", plan.offsets);
            return refuse("offsets", value, "up to 64 in rising order, -2 to 2 gaps");
        }
        let model =
            CellModel::new(states, &plan.cells, plan.seed).map_err(|error| error.under("cells"))?;
        let cells = model.mixture(&stress, 1.0);
        let levels = match plan.levels {
            Levels::Default => model.default_levels(),
            Levels::Best => model.states().states(&stress).best_levels(),
        };
        Ok(Self { plan, model, stress, cells, levels })
    }

    /// What follows from the states alone, by page type: error rates of cells, with random
    /// neighbours, and of the model; with `information`, that of 1, 3 and 7 reads of both.
    pub fn analytic(&self, information: bool) -> Value {
        let code = self.model.code();
        let states = self.model.states().states(&self.stress);
        let pages = (0..code.bits()).map(|page_type| {
            let (bits, levels) = (code.page(page_type), &self.levels);
            let page = CellPage { states: &states, bits, levels };
            let told = READS_WITH_BEST_THRESHOLDS.iter().filter(|_| information).map(|&reads| {
                let bits_told = |table: Result<opennandlab_ecc::cell::LlrTable, _>| {
                    table.map(|table| table.mutual_information).ok()
                };
                json!({
                    "reads": reads,
                    "cells": bits_told(self.cells.best_table(bits, levels, reads)),
                    "plain": bits_told(page.best_table(reads)),
                })
            });
            json!({
                "page_type": code.page_types()[page_type],
                "cells": self.cells.rber(bits, levels),
                "plain": page.rber(),
                "information": told.collect::<Vec<_>>(),
            })
        });
        json!(pages.collect::<Vec<_>>())
    }

    /// Counts of `count` wordlines from `first` on, which are a separate block.
    pub fn run(&self, first: u32, count: u32) -> Value {
        let reach = self.model.aggressors().map(|one| one.wordline).max().unwrap_or(0);
        let last = if self.plan.open { count } else { count + reach };
        let block = Block {
            of: self,
            place: Place { block: first, erases: self.stress.pe_cycles as u32, wordline: 0 },
            wordlines: (0..last).map(|wordline| self.written(first, wordline)).collect(),
            count: count as usize,
        };
        let bits = self.model.code().bits();
        json!({
            "pages": (0..bits).map(|page_type| block.page(page_type)).collect::<Vec<_>>(),
            "valleys": if self.plan.valleys { block.valleys() } else { Vec::new() },
        })
    }

    /// The page images of a wordline, and its cells.
    fn written(&self, first: u32, wordline: u32) -> (Vec<Vec<u8>>, Wordline) {
        let Plan { seed, bytes, data, ref cells, .. } = self.plan;
        let code = self.model.code();
        let pages: Vec<Vec<u8>> = (0..code.bits() as u32)
            .map(|page_type| {
                let number = first.wrapping_add(wordline).wrapping_mul(4) + page_type;
                let mut page = match data {
                    Data::Zeros => vec![0; bytes],
                    Data::Ones => vec![0xff; bytes],
                    Data::Random => {
                        let mut random = Rng::stream(seed, &format!("cells.{number}"));
                        let words =
                            (0..bytes.div_ceil(8)).flat_map(|_| random.next_u64().to_le_bytes());
                        words.take(bytes).collect()
                    }
                };
                cells.randomiser.apply(number, &mut page);
                page
            })
            .collect();
        let images: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
        let place = Place { block: first, erases: self.stress.pe_cycles as u32, wordline };
        let cells = self.model.program(place, Wordline::of(&images, code));
        (pages, cells)
    }
}

/// Programmed wordlines, of which the first `count` are read.
struct Block<'a> {
    of: &'a Experiment,
    place: Place,
    wordlines: Vec<(Vec<Vec<u8>>, Wordline)>,
    count: usize,
}

impl Block<'_> {
    fn shifts(&self, wordline: usize) -> Vec<u8> {
        let neighbour = |further: u32| {
            let open = self.of.plan.open;
            self.wordlines.get(wordline + further as usize).filter(|_| !open)
        };
        let model = &self.of.model;
        let neighbours: Vec<Option<&Wordline>> =
            model.aggressors().map(|one| neighbour(one.wordline).map(|(_, cells)| cells)).collect();
        let place = Place { wordline: wordline as u32, ..self.place };
        model.shifts(place, 8 * self.of.plan.bytes, &neighbours)
    }

    /// Reads a page of each wordline at several levels: `each` is called with the wordline, its
    /// shifts and the pages as they are read.
    fn read(
        &self,
        page_type: usize,
        levels: &[ReadLevels],
        mut each: impl FnMut(usize, &[u8], &[Vec<u8>]),
    ) {
        let Experiment { model, cells, plan, .. } = self.of;
        let tables: Vec<_> =
            levels.iter().map(|levels| model.table(cells, page_type, levels)).collect();
        for wordline in 0..self.count {
            let (shifts, states) = (self.shifts(wordline), self.wordlines[wordline].1.states());
            let key = model.key(Place { wordline: wordline as u32, ..self.place });
            let pages: Vec<Vec<u8>> = (0..)
                .zip(&tables)
                .map(|(read, table)| {
                    let mut page = vec![0; plan.bytes];
                    table.sense(key, read, states, &shifts, &mut page);
                    page
                })
                .collect();
            each(wordline, &shifts, &pages);
        }
    }

    /// Errors, ones and changed cells of a page type.
    fn page(&self, page_type: usize) -> Value {
        let Experiment { model, cells, levels, plan, stress, .. } = self.of;
        let count = levels.at().len();
        let moved = plan.offsets.iter().map(|&offset| levels.moved(&vec![offset; count]));
        let all: Vec<ReadLevels> = std::iter::once(*levels).chain(moved).collect();
        let table = model.table(cells, page_type, levels);
        let misreads = model.misreads(stress.pe_cycles);
        let (mut sum, mut ones) = (Counted::default(), 0);
        let mut differ = vec![0; plan.offsets.len().saturating_sub(1)];
        self.read(page_type, &all, |wordline, shifts, pages| {
            let (written, stored) = &self.wordlines[wordline];
            let written = &written[page_type];
            let mut found = table.expected(stored.states(), shifts);
            found.errors = changed(&pages[0], written);
            if page_type == 0 {
                let high = changed(written, &vec![0; plan.bytes]) as f64;
                for (share, cells) in misreads.into_iter().zip([found.bits as f64 - high, high]) {
                    found.expected += share * cells;
                    found.variance += share * cells;
                }
            }
            sum.add(&found);
            ones += changed(&pages[0], &vec![0; plan.bytes]);
            for (count, pair) in differ.iter_mut().zip(pages[1..].windows(2)) {
                *count += changed(&pair[0], &pair[1]);
            }
        });
        json!({
            "bits": sum.bits,
            "errors": sum.errors,
            "expected": sum.expected,
            "variance": sum.variance,
            "ones": ones,
            "changed": differ,
        })
    }

    /// The valleys that are found from each wordline, level by level.
    fn valleys(&self) -> Vec<Value> {
        let Experiment { model, stress, cells, .. } = self.of;
        let (default, search) = (model.default_levels(), Calibrate::default());
        let best = model.states().states(stress).best_levels();
        let code = model.code();
        let level = |number: usize, &page_type: &u8| {
            let moved = |offset: f64| {
                let mut offsets = vec![0.0; default.at().len()];
                offsets[number] = offset;
                default.moved(&offsets)
            };
            let rate = |offset: f64| cells.rber(code.page(page_type.into()), &moved(offset));
            let least = best.at()[number] - default.at()[number];
            let levels: Vec<ReadLevels> = search.offsets().into_iter().map(moved).collect();
            let (mut found, mut excess) = (Vec::new(), Vec::new());
            self.read(page_type.into(), &levels, |_, _, pages| {
                let valley = search.valley_of(pages);
                excess.push(rate(valley) / rate(least) - 1.0);
                found.push(valley);
            });
            json!({
                "level": number + 1,
                "page_type": code.page_types()[usize::from(page_type)],
                "best": least,
                "found": found,
                "excess": excess,
            })
        };
        code.page_of_level().iter().enumerate().map(|(number, page)| level(number, page)).collect()
    }
}
