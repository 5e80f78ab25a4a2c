//! Reads bit by bit: data is made, encoded, damaged and decoded, codeword after codeword.
//!
//! ```text
//!   (LPN, page, erase count) ─hash─► data ─► encode ─► flip bits at the RBER ─► decode ─► compare
//! ```
//! Data follows from a hash of the logical page, of its physical page and of the erase count of the
//! block, which differ for every write; nothing is stored. Each flipped bit has a level, uniform in
//! 0 to 1: of the flips of the worst rung of the ladder, another keeps those with levels under its
//! share of the worst error rate. So errors of a better read are a part of those of a worse one,
//! and their number has the binomial distribution of the lower rate. Soft decisions draw the reads
//! of each cell, given whether its hard decision is wrong, from the sensing channel of two Gaussian
//! states.
//!
//! A decoder that ends at a wrong codeword has failed. Its outcomes agree with the tables and
//! formulas of the other mode (tested), and cost real decoding: see docs/ecc.md for the rate.

use std::collections::BTreeMap;

use opennandlab_ecc::bch::BchCode;
use opennandlab_ecc::cell::{Thresholds, TwoStates};
use opennandlab_ecc::ldpc::{quantise, Decoder, DecoderConfig, LdpcCode};
use opennandlab_ecc::PageCode;

use super::code::{Algorithm, EccConfig};
use super::fate::RungFate;
use crate::config::ConfigError;
use crate::rng::Rng;

/// Range of the error rates that a decoder receives: LLRs of 0 and of infinity are useless.
pub(super) const RBER_TOLD: (f64, f64) = (1e-12, 0.49);

/// The result of decoding a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The rung on which its last codeword was decoded; none when one never was.
    pub rung: Option<usize>,
    /// Codewords that never were.
    pub lost: u32,
}

/// A page that is to be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Seed of its data.
    pub data: u64,
    /// Seed of its noise.
    pub noise: u64,
    /// The number by which the caller knows what its stress gives.
    pub outcome: u32,
}

/// A flipped bit.
#[derive(Clone, Copy)]
struct Flip {
    position: u32,
    level: f64,
}

/// Codes and their memory.
enum Codec {
    Bch { full: Box<BchCode>, last: Box<BchCode> },
    Ldpc(Box<LdpcPages>),
}

/// See the module.
pub struct BitTrue {
    codec: Codec,
    codewords: u32,
    flips: Vec<Flip>,
}

impl BitTrue {
    /// Codecs for pages of this code.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `ecc` when there is no codec for the code.
    pub fn new(config: &EccConfig, page: &PageCode) -> Result<Self, ConfigError> {
        let refuse = |key: &str, problem: String| ConfigError::new(key, problem);
        let codec = match config.algorithm {
            Algorithm::None => {
                let message = "bit_true needs a code to decode; accepted: algorithm bch or ldpc";
                return Err(refuse("fidelity", message.into()));
            }
            Algorithm::Bch => {
                let [full, last] = bch_codes(config, page)?;
                Codec::Bch { full, last }
            }
            Algorithm::Ldpc => {
                let name = config.ldpc_code.as_deref().unwrap_or_default();
                let pages = LdpcPages::new(name, page.codewords_per_page() as usize)
                    .map_err(|problem| refuse("ldpc_code", problem))?;
                Codec::Ldpc(Box::new(pages))
            }
        };
        Ok(Self { codec, codewords: page.codewords_per_page(), flips: Vec::new() })
    }

    /// Whether there is a codec for pages of this code; builds nothing that takes long.
    ///
    /// # Errors
    /// As [`BitTrue::new`].
    pub fn check(config: &EccConfig, page: &PageCode) -> Result<(), ConfigError> {
        // The names of LDPC codes were checked with the page.
        if config.algorithm == Algorithm::Ldpc {
            return Ok(());
        }
        Self::new(config, page).map(|_| ())
    }

    /// Reads a page up the rungs of a ladder; the worst of them has this error rate.
    pub fn read(&mut self, page: Page, worst_rate: f64, rungs: &[RungFate]) -> Fate {
        match &mut self.codec {
            Codec::Bch { full, last } => {
                let mut data = Rng::from_seed(page.data);
                let (noise, flips) = (&mut Rng::from_seed(page.noise), &mut self.flips);
                let mut fate = Fate { rung: Some(0), lost: 0 };
                let mut word = BchWord::new(full);
                let mut decoder = full.decoder();
                for _ in 1..self.codewords {
                    draw_flips(noise, full.code_bits(), worst_rate, flips);
                    word.write(full, &mut data);
                    fate.add(word.rung(rungs, flips, &mut decoder));
                }
                let mut word = BchWord::new(last);
                let mut decoder = last.decoder();
                draw_flips(noise, last.code_bits(), worst_rate, flips);
                word.write(last, &mut data);
                fate.add(word.rung(rungs, flips, &mut decoder));
                fate
            }
            Codec::Ldpc(pages) => {
                let mut fate = Fate { rung: None, lost: 0 };
                pages.add(page, worst_rate);
                pages.decode(|_| rungs, |_, found| fate = found);
                fate
            }
        }
    }

    /// As [`BitTrue::read`] for a page whose fate is not needed at once, if pages gain from being
    /// decoded together.
    pub fn defer(&mut self, page: Page, worst_rate: f64) -> Deferred {
        match &mut self.codec {
            Codec::Bch { .. } => Deferred::DecodeNow,
            Codec::Ldpc(pages) => {
                if pages.add(page, worst_rate) {
                    Deferred::IsLast
                } else {
                    Deferred::Waits
                }
            }
        }
    }

    /// Decodes the deferred pages, in order, with the rungs of their outcomes.
    pub fn settle<'a>(
        &mut self,
        rungs_of: impl Fn(u32) -> &'a [RungFate],
        tell: impl FnMut(Page, Fate),
    ) {
        if let Codec::Ldpc(pages) = &mut self.codec {
            pages.decode(rungs_of, tell);
        }
    }
}

/// The outcome of [`BitTrue::defer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferred {
    /// It waits for others.
    Waits,
    /// It waits, and it is time to [`BitTrue::settle`].
    IsLast,
    /// Nothing: this code gains nothing from decoding pages together.
    DecodeNow,
}

impl Fate {
    /// A further codeword was decoded on this rung, or never.
    fn add(&mut self, rung: Option<usize>) {
        match (self.rung, rung) {
            (Some(before), Some(rung)) => self.rung = Some(before.max(rung)),
            _ => self.rung = None,
        }
        self.lost += u32::from(rung.is_none());
    }
}

/// The BCH codes of the words of a page: of all but the last, and of the last.
///
/// # Errors
/// [`ConfigError`] relative to `ecc`.
pub(super) fn bch_codes(
    config: &EccConfig,
    page: &PageCode,
) -> Result<[Box<BchCode>; 2], ConfigError> {
    let code = |data_bits: u32| config.words().codec(data_bits).map(Box::new);
    let last = page.last_data_bits();
    let full = if page.codewords_per_page() > 1 { page.code().data_bits_max() } else { last };
    Ok([code(full)?, code(last)?])
}

/// Draws which of `bits` bits are flipped at a rate, by the gaps between them.
fn draw_flips(noise: &mut Rng, bits: usize, rber: f64, flips: &mut Vec<Flip>) {
    flips.clear();
    if rber <= 0.0 {
        return;
    }
    let log_right = libm::log1p(-rber);
    let mut position = 0.0;
    loop {
        position += libm::floor(-noise.exponential() / log_right);
        if position >= bits as f64 {
            return;
        }
        flips.push(Flip { position: position as u32, level: noise.unit() });
        position += 1.0;
    }
}

/// A BCH codeword as it was sent and as it is received.
struct BchWord {
    data_bits: usize,
    sent: [Vec<u8>; 2],
    received: [Vec<u8>; 2],
}

impl BchWord {
    fn new(code: &BchCode) -> Self {
        let empty =
            [vec![0; code.data_bits().div_ceil(8)], vec![0; code.parity_bits().div_ceil(8)]];
        Self { data_bits: code.data_bits(), sent: empty.clone(), received: empty }
    }

    fn write(&mut self, code: &BchCode, data: &mut Rng) {
        let [sent, parity] = &mut self.sent;
        for bytes in sent.chunks_mut(8) {
            bytes.copy_from_slice(&data.next_u64().to_le_bytes()[..bytes.len()]);
        }
        let padding = sent.len() * 8 - self.data_bits;
        if let Some(byte) = sent.last_mut() {
            *byte &= 0xff << padding;
        }
        code.encode(sent, parity);
    }

    /// The first rung on which the word is decoded, if there is one.
    fn rung(
        &mut self,
        rungs: &[RungFate],
        flips: &[Flip],
        decoder: &mut opennandlab_ecc::bch::BchDecoder<'_>,
    ) -> Option<usize> {
        rungs.iter().position(|rung| self.is_decoded(flips, rung.share, decoder))
    }

    fn is_decoded(
        &mut self,
        flips: &[Flip],
        factor: f64,
        decoder: &mut opennandlab_ecc::bch::BchDecoder<'_>,
    ) -> bool {
        let [data, parity] = &mut self.received;
        data.copy_from_slice(&self.sent[0]);
        parity.copy_from_slice(&self.sent[1]);
        for flip in flips.iter().filter(|flip| flip.level < factor) {
            let position = flip.position as usize;
            let (bytes, place) = if position < self.data_bits {
                (&mut *data, position)
            } else {
                (&mut *parity, position - self.data_bits)
            };
            bytes[place >> 3] ^= 0x80 >> (place & 7);
        }
        decoder.decode(data, parity).is_ok() && *data == self.sent[0]
    }
}

/// Magnitudes of 8-bit LLRs and how often they occur, cumulated, of right and of wrong decisions.
struct SoftBins {
    right: Vec<(f64, i8)>,
    wrong: Vec<(f64, i8)>,
}

impl SoftBins {
    fn new(rber: f64, reads: u32) -> Option<Self> {
        let states = TwoStates::symmetric(rber).ok()?;
        let table = Thresholds::Best(reads as usize).table(&states).ok()?;
        let side = |is_right: bool| {
            // Of a bit 0: the other bit is its mirror image.
            let chosen: Vec<_> =
                table.bins.iter().filter(|bin| (bin.llr > 0.0) == is_right).collect();
            let total: f64 = chosen.iter().map(|bin| bin.if_zero).sum();
            let mut sum = 0.0;
            let steps = chosen.into_iter().map(|bin| {
                sum += bin.if_zero / total;
                (sum, magnitude(bin.llr.abs()))
            });
            steps.collect()
        };
        Some(Self { right: side(true), wrong: side(false) })
    }

    fn draw(bins: &[(f64, i8)], noise: &mut Rng) -> i8 {
        let share = noise.unit();
        let bin = bins.iter().find(|bin| share < bin.0).or(bins.last());
        bin.map_or(0, |bin| bin.1)
    }
}

/// An LLR of a decision as the decoder counts them.
pub(super) fn magnitude(llr: f64) -> i8 {
    let mut rounded = [0];
    quantise(&[llr as f32], &mut rounded);
    rounded[0]
}

/// A page that waits to be decoded.
#[derive(Clone, Copy)]
struct Waiting {
    page: Page,
    fate: Fate,
}

/// Pages of LDPC codewords, decoded together.
///
/// The decoder works on a batch of frames side by side and takes as long for one as for all. Every
/// codeword has its own noise, so that its fate does not depend on who is decoded with it.
struct LdpcPages {
    code: LdpcCode,
    decoder: Decoder,
    /// Codewords of a page.
    count: usize,
    soft: BTreeMap<(u64, u32), Option<SoftBins>>,
    info: Vec<u8>,
    waiting: Vec<Waiting>,
    /// Of the codewords of the waiting pages: sent bits, noise, wrong hard decisions.
    words: Vec<u8>,
    noises: Vec<Rng>,
    flips: Vec<Vec<Flip>>,
    llrs: Vec<i8>,
    hard: Vec<u8>,
    ok: Vec<bool>,
    iterations: Vec<u32>,
}

impl LdpcPages {
    fn new(name: &str, count: usize) -> Result<Self, String> {
        let code = LdpcCode::nand(name).map_err(|error| error.to_string())?;
        let decoder = Decoder::new(&code, &DecoderConfig::default());
        Ok(Self {
            decoder: decoder.map_err(|error| error.to_string())?,
            count,
            soft: BTreeMap::new(),
            info: vec![0; code.info_bits()],
            waiting: Vec::new(),
            words: Vec::new(),
            noises: Vec::new(),
            flips: Vec::new(),
            llrs: Vec::new(),
            hard: Vec::new(),
            ok: Vec::new(),
            iterations: Vec::new(),
            code,
        })
    }

    /// Encodes a page and draws its wrong bits; returns whether a batch is full.
    fn add(&mut self, page: Page, worst_rate: f64) -> bool {
        let (mut data, mut noise) = (Rng::from_seed(page.data), Rng::from_seed(page.noise));
        let bits = self.code.code_bits();
        let first = self.waiting.len() * self.count;
        let limit = first + self.count;
        if self.flips.len() < limit {
            self.flips.resize_with(limit, Vec::new);
            self.noises.resize_with(limit, || Rng::from_seed(0));
            self.words.resize(limit * bits, 0);
            self.llrs.resize(limit * bits, 0);
            self.hard.resize(limit * bits, 0);
            self.ok.resize(limit, false);
            self.iterations.resize(limit, 0);
        }
        for word in first..limit {
            for bits in self.info.chunks_mut(64) {
                let drawn = data.next_u64();
                bits.iter_mut().enumerate().for_each(|(at, bit)| *bit = (drawn >> at & 1) as u8);
            }
            self.code.encode(&self.info, &mut self.words[word * bits..(word + 1) * bits]);
            self.noises[word] = Rng::from_seed(noise.next_u64());
            draw_flips(&mut self.noises[word], bits, worst_rate, &mut self.flips[word]);
        }
        self.waiting.push(Waiting { page, fate: Fate { rung: Some(0), lost: 0 } });
        self.waiting.len() * self.count + self.count > self.decoder.batch()
    }

    /// Decodes the waiting pages, up the rungs of each, and passes their fates to `tell` in order.
    fn decode<'a>(
        &mut self,
        rungs_of: impl Fn(u32) -> &'a [RungFate],
        mut tell: impl FnMut(Page, Fate),
    ) {
        let bits = self.code.code_bits();
        let mut waiting = std::mem::take(&mut self.waiting);
        let mut left: Vec<usize> = (0..waiting.len() * self.count).collect();
        let rung_count = waiting.first().map_or(0, |first| rungs_of(first.page.outcome).len());
        for index in 0..rung_count {
            for (place, &word) in left.iter().enumerate() {
                let rung = &rungs_of(waiting[word / self.count].page.outcome)[index];
                self.receive(place, word, rung);
            }
            let count = left.len();
            self.decoder.decode_i8(
                &self.llrs[..count * bits],
                count,
                &mut self.hard[..count * bits],
                &mut self.ok[..count],
                &mut self.iterations[..count],
            );
            let mut place = 0;
            left.retain(|&word| {
                let hard = &self.hard[place * bits..(place + 1) * bits];
                place += 1;
                let is_wrong = hard != &self.words[word * bits..(word + 1) * bits];
                if !is_wrong {
                    waiting[word / self.count].fate.add(Some(index));
                }
                is_wrong
            });
            if left.is_empty() {
                break;
            }
        }
        for word in left {
            waiting[word / self.count].fate.add(None);
        }
        for Waiting { page, fate } in waiting.drain(..) {
            tell(page, fate);
        }
        self.waiting = waiting;
    }

    /// Fills the LLRs of a word as a rung sees it.
    fn receive(&mut self, place: usize, word: usize, rung: &RungFate) {
        let bits = self.code.code_bits();
        let sent = &self.words[word * bits..(word + 1) * bits];
        let llrs = &mut self.llrs[place * bits..(place + 1) * bits];
        let rate = rung.rate.clamp(RBER_TOLD.0, RBER_TOLD.1);
        let flips = self.flips[word].iter().filter(|flip| flip.level < rung.share);
        let noise = &mut self.noises[word];
        let bins = if rung.reads == 1 {
            None
        } else {
            let key = (rate.to_bits(), rung.reads);
            self.soft.entry(key).or_insert_with(|| SoftBins::new(rate, rung.reads)).as_ref()
        };
        if let Some(bins) = bins {
            for (llr, &bit) in llrs.iter_mut().zip(sent) {
                let size = SoftBins::draw(&bins.right, noise);
                *llr = if bit == 0 { size } else { -size };
            }
            for flip in flips {
                let size = SoftBins::draw(&bins.wrong, noise);
                let position = flip.position as usize;
                llrs[position] = if sent[position] == 0 { -size } else { size };
            }
        } else {
            let size = magnitude(libm::log((1.0 - rate) / rate)).max(1);
            for (llr, &bit) in llrs.iter_mut().zip(sent) {
                *llr = if bit == 0 { size } else { -size };
            }
            for flip in flips {
                let llr = &mut llrs[flip.position as usize];
                *llr = -*llr;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reads::config::{RetryConfig, SoftReadConfig};
    use crate::reads::fate::{Fates, Outcome};
    use crate::reads::recovery::Ladder;
    use crate::reliability::{RberModel, StateModel, Stress};

    /// Flash of one error rate.
    struct Flat(f64);

    impl RberModel for Flat {
        fn rber(&self, _stress: &Stress) -> f64 {
            self.0
        }
    }

    fn outcome(
        config: &EccConfig,
        bytes: u64,
        model: Box<dyn RberModel>,
        ladder: &Ladder,
    ) -> Outcome {
        let code = config.page_code(bytes).expect("a code");
        let stress = Stress { pe_cycles: 3000.0, retention_h: 1000.0, ..Stress::default() };
        Fates { model, code, ladder: ladder.clone(), stress, stripe: 0 }.outcome(&stress, 1.0)
    }

    /// A page with its own data and noise.
    fn numbered(number: u32) -> Page {
        Page {
            data: number.into(),
            noise: Rng::stream(5, "noise").next_u64() ^ u64::from(number) << 32,
            outcome: 0,
        }
    }

    /// Compares the shares of pages that need more than each rung with their probabilities.
    fn shares(config: &EccConfig, page_bytes: u64, rber: f64, ladder: &Ladder, pages: u32) {
        shares_of(
            config,
            page_bytes,
            &outcome(config, page_bytes, Box::new(Flat(rber)), ladder),
            pages,
        );
    }

    fn shares_of(config: &EccConfig, page_bytes: u64, outcome: &Outcome, pages: u32) {
        let page = config.page_code(page_bytes).expect("a code");
        let mut bits = BitTrue::new(config, &page).expect("a codec");
        let mut left = vec![0_u32; outcome.rungs.len()];
        for number in 0..pages {
            let fate = bits.read(numbered(number), outcome.worst_rate, &outcome.rungs);
            let limit = fate.rung.unwrap_or(left.len());
            left[..limit].iter_mut().for_each(|count| *count += 1);
            assert_eq!(fate.lost > 0, fate.rung.is_none());
        }
        let mut least = 1.0_f64;
        for (rung, &count) in outcome.rungs.iter().zip(&left) {
            least = least.min(rung.failure);
            let share = f64::from(count) / f64::from(pages);
            let deviation = (least * (1.0 - least) / f64::from(pages)).sqrt();
            // The table has its own noise: 100 errors a point, 10 %.
            let table = if config.algorithm == Algorithm::Ldpc { 0.3 * least } else { 0.0 };
            let gap = (share - least).abs();
            assert!(gap <= 4.5 * deviation + table, "{rung:?}: {share} is not {least}");
        }
    }

    #[test]
    fn bch_pages_fail_and_climb_as_the_formula_says() {
        let retry =
            RetryConfig { step_count_max: 2, rber_factor: Some(0.7), ..RetryConfig::default() };
        let ladder = Ladder::new(Some(&retry), None);
        // Two and a bit codewords of 223 bits; long ones, one of them shortened.
        shares(&EccConfig { bch_t: Some(2), ..EccConfig::default() }, 64, 4e-3, &ladder, 4000);
        let long = EccConfig { bch_m: Some(13), bch_t: Some(8), ..EccConfig::default() };
        shares(&long, 1536, 8e-4, &ladder, 2000);
        // Without errors nothing fails.
        shares(&EccConfig::default(), 4096, 0.0, &ladder, 3);
    }

    #[test]
    fn pages_climb_the_retry_table_of_the_states_also_where_a_step_is_worse() {
        let retry = RetryConfig { step_count_max: 4, ..RetryConfig::default() };
        let model = StateModel::default();
        let config = EccConfig { bch_m: Some(10), bch_t: Some(15), ..EccConfig::default() };
        // After six weeks the last step, made for a year, overshoots.
        let ladder = Ladder::for_device(Some(&retry), None, &model, 3000.0);
        let outcome = outcome(&config, 512, Box::new(model), &ladder);
        let rates: Vec<f64> = outcome.rungs.iter().map(|rung| rung.rate).collect();
        assert!(rates[3] < rates[0] && rates[3] < rates[4], "{rates:?}");
        shares_of(&config, 512, &outcome, 2000);
    }

    #[test]
    fn ldpc_pages_fail_and_climb_as_the_table_says() {
        let config =
            EccConfig { ldpc_code: Some("nand-1k-r0889".into()), ..EccConfig::of(Algorithm::Ldpc) };
        let soft = SoftReadConfig { reads: vec![3, 7], setup_us: 0.0 };
        let ladder = Ladder::new(None, Some(&soft));
        shares(&config, 1024, 8.2e-3, &ladder, 300);
        shares(&config, 1024, 1.75e-2, &ladder, 300);
    }

    #[test]
    fn the_same_seed_gives_the_same_fates() {
        let config = EccConfig { bch_t: Some(1), ..EccConfig::default() };
        let page = config.page_code(512).expect("a code");
        let run = || {
            let mut bits = BitTrue::new(&config, &page).expect("a codec");
            let outcome = outcome(&config, 512, Box::new(Flat(2e-3)), &Ladder::default());
            (0..200)
                .map(|number| bits.read(numbered(number), 2e-3, &outcome.rungs))
                .collect::<Vec<_>>()
        };
        let fates = run();
        assert_eq!(fates, run());
        assert!(fates.iter().any(|fate| fate.lost > 0));
        assert!(fates.iter().any(|fate| fate.rung == Some(0)));
    }
}
