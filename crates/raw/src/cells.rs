//! Reads of a chip from its cells: pages of a wordline share them, and the next one moves them.

use opennandlab_ecc::cell::SenseTable;
use opennandlab_ecc::channel::Rng;
use opennandlab_sim::cells::{self, CellModel, CellsConfig, Wordline};
use opennandlab_sim::config::{parse, ConfigError};
use opennandlab_sim::reliability::{RberConfig, Stress};
use serde_json::Value;

use crate::noise::{Noise, Pages, Place};

/// Senses of all blocks of a chip.
///
/// Pages of a block are on wordlines in turn, lower page first: page 7 of a TLC block is the middle
/// page of wordline 2. A wordline without a programmed page is erased. In one that is programmed in
/// part, random bits take the place of the other pages, as controllers fill a wordline that must be
/// programmed at once.
pub(crate) struct Cells {
    model: CellModel,
    /// The page type and stress of the last read, and its table.
    last: Option<((usize, Stress), SenseTable)>,
    /// Number of the next read, for read noise.
    reads: u64,
    seed: u64,
}

impl Cells {
    /// Cells of a `nand.cells` section without `blocks`, with the states of the error model.
    ///
    /// # Errors
    /// [`ConfigError`] at `cells`.
    pub(crate) fn new(section: &Value, model: &RberConfig, seed: u64) -> Result<Self, ConfigError> {
        if section.get("blocks").is_some() {
            let message = "is not for chips, all of whose blocks have cells; accepted: omitted";
            return Err(ConfigError::new("cells.blocks", message));
        }
        let RberConfig::States(states) = model else {
            let message = "need voltages; accepted: with reliability states";
            return Err(ConfigError::new("cells", message));
        };
        let config: CellsConfig =
            parse(&section.to_string()).map_err(|error| error.under("cells"))?;
        let model = CellModel::new(states.clone(), &config, seed);
        let model = model.map_err(|error| error.under("cells"))?;
        Ok(Self { model, last: None, reads: 0, seed })
    }

    /// The images of the pages of a wordline, scrambled; none if nothing of it is programmed.
    fn wordline(&self, at: cells::Place, pages: &Pages<'_>, bytes: usize) -> Option<Vec<Vec<u8>>> {
        let number = at.wordline;
        let bits = self.model.code().bits() as u32;
        let stored: Vec<Option<&[u8]>> = (number * bits..(number + 1) * bits).map(pages).collect();
        stored.iter().any(Option::is_some).then(|| {
            let image = |(page, stored): (u32, Option<&[u8]>)| {
                let Some(stored) = stored else {
                    let mut rng = Rng::frame(
                        self.seed,
                        u64::from(at.block) << 32 | u64::from(page),
                        at.erases.into(),
                    );
                    return (0..bytes).map(|_| rng.next_u64() as u8).collect();
                };
                let mut image = stored.to_vec();
                self.model.config().randomiser.apply(page, &mut image);
                image
            };
            (number * bits..).zip(stored.iter().copied()).map(image).collect()
        })
    }
}

impl Noise for Cells {
    fn disturb(&mut self, place: Place, stress: &Stress, pages: &Pages<'_>, page: &mut [u8]) {
        let code = self.model.code();
        let (bits, bytes) = (code.bits() as u32, page.len());
        let (wordline, page_type) = (place.page / bits, (place.page % bits) as usize);
        let at = |wordline| cells::Place { block: place.block, erases: place.erases, wordline };
        let programmed = |wordline| {
            let images = self.wordline(at(wordline), pages, bytes)?;
            let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
            Some(self.model.program(at(wordline), Wordline::of(&images, code)))
        };
        let own = programmed(wordline).unwrap_or_else(|| Wordline::erased(8 * bytes));
        let next: Vec<Option<Wordline>> =
            self.model.aggressors().map(|one| programmed(wordline + one.wordline)).collect();
        let next: Vec<Option<&Wordline>> = next.iter().map(Option::as_ref).collect();
        let shifts = self.model.shifts(at(wordline), 8 * bytes, &next);
        let asked = (page_type, *stress);
        let table = match self.last.take() {
            Some((before, table)) if before == asked => table,
            _ => {
                let mixture = self.model.mixture(stress, 1.0);
                SenseTable::new(&mixture, code.page(page_type), &self.model.default_levels())
            }
        };
        self.reads += 1;
        table.sense(self.model.key(at(wordline)), self.reads, own.states(), &shifts, page);
        self.last = Some((asked, table));
        if pages(place.page).is_some() {
            self.model.config().randomiser.apply(place.page, page);
        }
    }
}
