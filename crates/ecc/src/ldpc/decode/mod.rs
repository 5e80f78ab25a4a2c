//! Decoders: LLRs of 64 frames in, bits and flags out.
//!
//! ```text
//!   frame major            a row per bit, a lane per frame          frame major
//!   LLRs ── transpose ──►  begin ─► sweep ─► decide ─► syndrome ──►  bits, ok, iterations
//!                                     ▲──────────────────┘  until `iterations`, or all are words
//! ```
//!
//! An [`Engine`] holds the messages of a batch and does one iteration (`sweep`) in all its lanes.
//! The code that all of them share is here: loading, the syndrome of packed decisions, freezing a
//! frame at the iteration that made it a codeword, and writing the bits. The answer for a frame
//! does not depend on the other frames of its batch.
//!
//! | algorithm | LLRs as `f32` | LLRs as `i8` |
//! |---|---|---|
//! | sum-product | `float`, φ in 32-bit floats | the same, after division by [`LLR_UNITS`] |
//! | min-sum | `float` | `layered` and `flooding`, in 8 bits |
//! | Gallager B | `gallager_b`, one bit per message | the same |
//! | weighted bit flipping | `bit_flip` | the same, in their own units |

// A call per operation would undo what `simd::run` is for; loops over lanes by index become
// vectors, loops over iterators often do not; ties of min-sum are exact; bytes are LLRs and back.
#![allow(clippy::inline_always, clippy::needless_range_loop)]
#![allow(clippy::float_cmp, clippy::cast_possible_wrap)]

mod bit_flip;
mod check;
mod float;
mod flooding;
mod gallager_b;
mod layered;
mod quantise;
mod transpose;

use super::error::DecoderError;
use super::matrix::ParityMatrix;
use super::simd::{self, Bytes, Kernel, Path, Weaken, LANES};
use super::LdpcCode;

use bit_flip::BitFlip;
use float::{CheckRule, Float, Order};
use flooding::Flooding;
use gallager_b::GallagerB;
use layered::Layered;

pub use quantise::{quantise, LLR_UNITS};

/// The largest offset of min-sum, in units of LLR.
const OFFSET_MAX: f32 = 32.0;

/// Iterations that anybody waits for.
const ITERATIONS_MAX: u32 = 100_000;

/// How a decoder passes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Sum-product, checks one after another, each on the newest posteriors.
    LayeredSpa,
    /// Sum-product, all checks on the posteriors of the last iteration.
    FloodingSpa,
    /// Min-sum times a factor, layered.
    LayeredNms,
    /// Min-sum times a factor, flooding.
    FloodingNms,
    /// Min-sum less an offset, layered.
    LayeredOms,
    /// Min-sum less an offset, flooding.
    FloodingOms,
    /// Majority votes of single bits.
    GallagerB,
    /// The least trusted bit is flipped, one per iteration.
    WeightedBitFlip,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::LayeredSpa,
        Self::FloodingSpa,
        Self::LayeredNms,
        Self::FloodingNms,
        Self::LayeredOms,
        Self::FloodingOms,
        Self::GallagerB,
        Self::WeightedBitFlip,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::LayeredSpa => "layered-spa",
            Self::FloodingSpa => "flooding-spa",
            Self::LayeredNms => "layered-nms",
            Self::FloodingNms => "flooding-nms",
            Self::LayeredOms => "layered-oms",
            Self::FloodingOms => "flooding-oms",
            Self::GallagerB => "gallager-b",
            Self::WeightedBitFlip => "weighted-bit-flip",
        }
    }

    /// The algorithm of a name.
    ///
    /// # Errors
    /// [`DecoderError::Name`] with the names there are.
    pub fn from_name(name: &str) -> Result<Self, DecoderError> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name).ok_or_else(|| {
            let accepted = Self::ALL.map(Self::name).join(", ");
            DecoderError::Name { name: name.to_owned(), accepted }
        })
    }

    fn is_offset(self) -> bool {
        matches!(self, Self::LayeredOms | Self::FloodingOms)
    }

    fn is_min_sum(self) -> bool {
        self.is_offset() || matches!(self, Self::LayeredNms | Self::FloodingNms)
    }

    fn order(self) -> Order {
        match self {
            Self::FloodingSpa | Self::FloodingNms | Self::FloodingOms => Order::Flooding,
            _ => Order::Layered,
        }
    }
}

/// The configuration of a decoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecoderConfig {
    /// How messages are passed.
    pub algorithm: Algorithm,
    /// Iterations, at most or exactly.
    pub iterations: u32,
    /// Factor of normalised min-sum, above 0 and at most 1; in 8 bits a multiple of 1/256.
    pub scale: f32,
    /// Offset of offset min-sum in units of LLR, 0 to 32; in 8 bits a multiple of 1/3.
    pub offset: f32,
    /// Whether a frame stops at the first iteration that makes it a codeword.
    pub stop: bool,
}

impl Default for DecoderConfig {
    /// Layered normalised min-sum, factor 0.75, 20 iterations, stopping; offset 0.5 for others.
    fn default() -> Self {
        Self {
            algorithm: Algorithm::LayeredNms,
            iterations: 20,
            scale: 0.75,
            offset: 0.5,
            stop: true,
        }
    }
}

impl DecoderConfig {
    fn check(&self) -> Result<(), DecoderError> {
        if self.iterations == 0 || self.iterations > ITERATIONS_MAX {
            let iterations_max = ITERATIONS_MAX;
            return Err(DecoderError::Iterations { iterations: self.iterations, iterations_max });
        }
        if !(self.scale > 0.0 && self.scale <= 1.0) {
            return Err(DecoderError::Scale { scale: self.scale });
        }
        if !(self.offset >= 0.0 && self.offset <= OFFSET_MAX) {
            return Err(DecoderError::Offset { offset: self.offset, offset_max: OFFSET_MAX });
        }
        Ok(())
    }

    fn weaken(&self) -> Weaken {
        if self.algorithm.is_offset() {
            Weaken::Offset((self.offset * LLR_UNITS).round() as u8)
        } else {
            match ((self.scale * 256.0).round() as u16).max(1) {
                192 => Weaken::ThreeQuarters,
                scale => Weaken::Scale(scale),
            }
        }
    }

    /// Of layered min-sum in 8 bits: factor in units of 1/256, offset in steps, largest message.
    pub(crate) fn layered_rule(&self) -> Option<[u32; 3]> {
        let weaken = self.weaken();
        let (scale, offset) = match weaken {
            Weaken::ThreeQuarters => (192, 0),
            Weaken::Scale(scale) => (scale, 0),
            Weaken::Offset(offset) => (256, offset),
        };
        matches!(self.algorithm, Algorithm::LayeredNms | Algorithm::LayeredOms)
            .then(|| [scale.into(), offset.into(), layered::most(weaken).into()])
    }

    fn check_rule(&self) -> CheckRule {
        if self.algorithm.is_offset() {
            CheckRule::Offset(self.offset)
        } else if self.algorithm.is_min_sum() {
            CheckRule::Scale(self.scale)
        } else {
            CheckRule::SumProduct
        }
    }
}

/// The parts of a code that all engines share.
#[derive(Clone, Debug)]
struct Graph {
    /// First edge of each check, and one past the last.
    starts: Vec<u32>,
    /// Column of each edge.
    columns: Vec<u32>,
    /// Column of each sent bit.
    sent: Vec<u32>,
    column_count: usize,
    row_weight_max: usize,
}

impl Graph {
    fn new(code: &LdpcCode) -> Self {
        let matrix: &ParityMatrix = code.matrix();
        Self {
            starts: matrix.starts().to_vec(),
            columns: matrix.edge_columns().to_vec(),
            sent: code.sent_columns().to_vec(),
            column_count: matrix.column_count(),
            row_weight_max: matrix.rows().map(<[u32]>::len).max().unwrap_or(0),
        }
    }

    /// First and one past the last edge of each check.
    #[inline(always)]
    fn rows(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.starts.windows(2).map(|pair| (pair[0] as usize, pair[1] as usize))
    }

    /// Lanes in which any check fails.
    #[inline(always)]
    fn unsatisfied(&self, hard: &[u64]) -> u64 {
        let mut failed = 0;
        for (first, limit) in self.rows() {
            // Four at a time, so that one need not wait for the other.
            let (fours, rest) = self.columns[first..limit].as_chunks::<4>();
            let mut parity = 0;
            for four in fours {
                let [a, b, c, d] = four.map(|column| hard[column as usize]);
                parity ^= (a ^ b) ^ (c ^ d);
            }
            for &column in rest {
                parity ^= hard[column as usize];
            }
            failed |= parity;
        }
        failed
    }
}

/// An LLR as it comes in.
trait Llr: Copy {
    fn is_negative(self) -> bool;
    fn is_zero(self) -> bool;
}

impl Llr for f32 {
    #[inline(always)]
    fn is_negative(self) -> bool {
        self < 0.0
    }
    #[inline(always)]
    fn is_zero(self) -> bool {
        self == 0.0
    }
}

impl Llr for i8 {
    #[inline(always)]
    fn is_negative(self) -> bool {
        self < 0
    }
    #[inline(always)]
    fn is_zero(self) -> bool {
        self == 0
    }
}

/// What a bit without any evidence is taken for: a pattern that favours neither value, the same in
/// all lanes, so that no code looks better on the word of all zeros than on others.
#[inline(always)]
fn tie(column: u32) -> bool {
    column.wrapping_mul(0x9e37_79b9) >> 31 != 0
}

/// The messages of one batch of frames.
///
/// Who calls: [`Batch`], `begin` once and then `sweep` for each iteration; `decide` after any of
/// them. All methods are inlined into a function that is compiled for each instruction set.
trait Engine {
    /// The form of LLR that it works on.
    type Llr: Llr;
    /// Frames of a batch, at most 64.
    const LANES: usize;
    /// Takes the channel's LLRs, frame major; lanes beyond `frames` hold anything.
    fn begin<V: Bytes>(&mut self, graph: &Graph, llrs: &[Self::Llr], frames: usize);
    /// One iteration.
    fn sweep<V: Bytes>(&mut self, graph: &Graph);
    /// The decision on each column, a frame per bit of the words.
    fn decide<V: Bytes>(&self, graph: &Graph, hard: &mut [u64]);
}

/// Decisions of a batch: those of the running iteration, and the final ones.
#[derive(Clone, Debug)]
struct Decisions {
    hard: Vec<u64>,
    kept: Vec<u64>,
}

/// One batch on its way through an engine.
struct Batch<'a, E: Engine> {
    engine: &'a mut E,
    graph: &'a Graph,
    decisions: &'a mut Decisions,
    llrs: &'a [E::Llr],
    config: &'a DecoderConfig,
    out: Output<'a>,
}

/// Where the answers of a batch go: a frame each.
struct Output<'a> {
    hard: &'a mut [u8],
    ok: &'a mut [bool],
    iterations: &'a mut [u32],
}

impl<E: Engine> Kernel for Batch<'_, E> {
    #[inline(always)]
    fn run<V: Bytes>(mut self) {
        let frames = self.out.ok.len();
        self.engine.begin::<V>(self.graph, self.llrs, frames);
        // Lanes without a frame count as finished from the start.
        let mut open = u64::MAX >> (LANES - frames);
        self.out.ok.fill(false);
        self.out.iterations.fill(self.config.iterations);
        let mut iteration = 0;
        loop {
            if self.config.stop || iteration == self.config.iterations {
                self.engine.decide::<V>(self.graph, &mut self.decisions.hard);
                let satisfied = open & !self.graph.unsatisfied(&self.decisions.hard);
                let is_last = iteration == self.config.iterations;
                self.keep(if is_last { open } else { satisfied });
                self.report(satisfied, iteration);
                open &= !satisfied;
                if open == 0 || is_last {
                    break;
                }
            }
            self.engine.sweep::<V>(self.graph);
            iteration += 1;
        }
        transpose::write_bits::<V>(&self.decisions.kept, &self.graph.sent, self.out.hard);
    }
}

impl<E: Engine> Batch<'_, E> {
    /// Makes the current decisions of these lanes final.
    #[inline(always)]
    fn keep(&mut self, lanes: u64) {
        if lanes == 0 {
            return;
        }
        for (kept, &hard) in self.decisions.kept.iter_mut().zip(&self.decisions.hard) {
            *kept = (*kept & !lanes) | (hard & lanes);
        }
    }

    fn report(&mut self, satisfied: u64, iteration: u32) {
        let mut lanes = satisfied;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            self.out.ok[lane] = true;
            self.out.iterations[lane] = iteration;
            lanes &= lanes - 1;
        }
    }
}

/// The engines that a decoder has already needed.
#[derive(Debug, Default)]
struct Engines {
    layered: Option<Layered>,
    flooding: Option<Flooding>,
    float: Option<Float>,
    gallager_b: Option<GallagerB>,
    bit_flip: Option<BitFlip>,
    /// 8-bit LLRs as floats.
    converted: Vec<f32>,
}

/// A decoder for one code: tables, messages and decisions, allocated once.
///
/// ```
/// use opennandlab_ecc::ldpc::{Decoder, DecoderConfig, LdpcCode};
/// let code = LdpcCode::nand("nand-n1024-r0889")?;
/// let mut decoder = Decoder::new(&code, &DecoderConfig::default())?;
/// let mut llrs = vec![20_i8; code.code_bits()];
/// llrs[7] = -20;
/// let mut bits = vec![0; code.code_bits()];
/// let (mut ok, mut iterations) = ([false], [0]);
/// decoder.decode_i8(&llrs, 1, &mut bits, &mut ok, &mut iterations);
/// assert!(ok[0] && bits.iter().all(|&bit| bit == 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    graph: Graph,
    config: DecoderConfig,
    path: Path,
    decisions: Decisions,
    engines: Engines,
}

impl Decoder {
    /// A decoder on the fastest instructions of this processor.
    ///
    /// # Errors
    /// [`DecoderError`] for iterations, a factor or an offset outside their ranges.
    pub fn new(code: &LdpcCode, config: &DecoderConfig) -> Result<Self, DecoderError> {
        Self::with_path(code, config, Path::best())
    }

    /// A decoder on given instructions; its answers are those of any other.
    ///
    /// # Errors
    /// As [`Decoder::new`], and [`DecoderError::Path`] when the processor lacks them.
    pub fn with_path(
        code: &LdpcCode,
        config: &DecoderConfig,
        path: Path,
    ) -> Result<Self, DecoderError> {
        config.check()?;
        if !path.is_available() {
            let names: Vec<&str> = Path::available().into_iter().map(Path::name).collect();
            return Err(DecoderError::Path { path: path.name(), accepted: names.join(", ") });
        }
        let graph = Graph::new(code);
        let empty = vec![0; graph.column_count];
        let decisions = Decisions { hard: empty.clone(), kept: empty };
        Ok(Self { graph, config: *config, path, decisions, engines: Engines::default() })
    }

    /// Frames that are decoded together; calls with a multiple of it waste no lane.
    pub fn batch(&self) -> usize {
        LANES
    }

    /// The configuration of this decoder.
    pub fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// Decodes LLRs in 32-bit floats (positive: 0 is more likely; NaN is not accepted).
    ///
    /// `llrs` and `hard` hold `frames` words of sent bits one after another, `ok` and `iterations`
    /// a value per frame: whether all checks are satisfied, and the iterations it took.
    ///
    /// # Panics
    /// When a slice has another length.
    pub fn decode_f32(
        &mut self,
        llrs: &[f32],
        frames: usize,
        hard: &mut [u8],
        ok: &mut [bool],
        iterations: &mut [u32],
    ) {
        assert_eq!(ok.len(), frames, "flags of {frames} frames");
        let out = &mut Output { hard, ok, iterations };
        let (graph, config) = (&self.graph, &self.config);
        match config.algorithm {
            Algorithm::GallagerB => {
                let engine = self.engines.gallager_b.get_or_insert_with(|| GallagerB::new(graph));
                let mut engine = gallager_b::OnLlr::<f32>::new(engine);
                each_batch(&mut engine, graph, config, self.path, &mut self.decisions, llrs, out);
            }
            Algorithm::WeightedBitFlip => {
                let engine = self.engines.bit_flip.get_or_insert_with(|| BitFlip::new(graph));
                each_batch(engine, graph, config, self.path, &mut self.decisions, llrs, out);
            }
            _ => {
                let engine = self.engines.float.get_or_insert_with(|| {
                    Float::new(graph, config.algorithm.order(), config.check_rule())
                });
                each_batch(engine, graph, config, self.path, &mut self.decisions, llrs, out);
            }
        }
    }

    /// Decodes LLRs in 8 bits (positive: 0 is more likely; -128 is taken as -127).
    ///
    /// Slices as in [`Decoder::decode_f32`]. Min-sum works in 8 bits throughout; the others
    /// convert, see [`LLR_UNITS`].
    ///
    /// # Panics
    /// When a slice has another length.
    pub fn decode_i8(
        &mut self,
        llrs: &[i8],
        frames: usize,
        hard: &mut [u8],
        ok: &mut [bool],
        iterations: &mut [u32],
    ) {
        assert_eq!(ok.len(), frames, "flags of {frames} frames");
        let (graph, config) = (&self.graph, &self.config);
        let weaken = config.weaken();
        match config.algorithm {
            Algorithm::LayeredNms | Algorithm::LayeredOms => {
                let path = self.path;
                let engine =
                    self.engines.layered.get_or_insert_with(|| Layered::new(graph, weaken, path));
                let out = &mut Output { hard, ok, iterations };
                each_batch(engine, graph, config, self.path, &mut self.decisions, llrs, out);
            }
            Algorithm::FloodingNms | Algorithm::FloodingOms => {
                let engine =
                    self.engines.flooding.get_or_insert_with(|| Flooding::new(graph, weaken));
                let out = &mut Output { hard, ok, iterations };
                each_batch(engine, graph, config, self.path, &mut self.decisions, llrs, out);
            }
            Algorithm::GallagerB => {
                let engine = self.engines.gallager_b.get_or_insert_with(|| GallagerB::new(graph));
                let mut engine = gallager_b::OnLlr::<i8>::new(engine);
                let out = &mut Output { hard, ok, iterations };
                each_batch(&mut engine, graph, config, self.path, &mut self.decisions, llrs, out);
            }
            Algorithm::LayeredSpa | Algorithm::FloodingSpa | Algorithm::WeightedBitFlip => {
                let mut converted = std::mem::take(&mut self.engines.converted);
                converted.clear();
                converted.extend(llrs.iter().map(|&llr| f32::from(llr.max(-127)) / LLR_UNITS));
                self.decode_f32(&converted, frames, hard, ok, iterations);
                self.engines.converted = converted;
            }
        }
    }
}

/// Cuts frames into batches of the engine's size.
fn each_batch<E: Engine>(
    engine: &mut E,
    graph: &Graph,
    config: &DecoderConfig,
    path: Path,
    decisions: &mut Decisions,
    llrs: &[E::Llr],
    out: &mut Output<'_>,
) {
    let bits = graph.sent.len();
    let frames = out.ok.len();
    assert_eq!(llrs.len(), frames * bits, "LLRs of {frames} frames of {bits} bits");
    assert_eq!(out.hard.len(), frames * bits, "bits of {frames} frames of {bits} bits");
    assert_eq!(out.iterations.len(), frames, "iterations of {frames} frames");
    let inputs = llrs.chunks(E::LANES * bits);
    let hards = out.hard.chunks_mut(E::LANES * bits);
    let flags = out.ok.chunks_mut(E::LANES).zip(out.iterations.chunks_mut(E::LANES));
    for ((llrs, hard), (ok, iterations)) in inputs.zip(hards).zip(flags) {
        let out = Output { hard, ok, iterations };
        simd::run(path, Batch { engine: &mut *engine, graph, decisions, llrs, config, out });
    }
}
