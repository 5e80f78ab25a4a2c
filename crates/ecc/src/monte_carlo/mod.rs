//! Monte Carlo: how often a code fails on a channel, by trying.
//!
//! ```text
//!   codeword ──► channel ──► decoder ──► compare ──► Tally     one frame, a pure function of
//!   (frame / 16)  (frame)                            additive  (task, frame number)
//! ```
//!
//! [`run_chunk`] works off a range of frames. Each has its own stream of random numbers, so the
//! tally of a range is the sum of the tallies of its parts, whatever thread made them and however a
//! run was cut or continued. Threads, stopping rules and files are up to the caller.
//!
//! Codewords are random; [`CODEWORD_FRAMES`] consecutive frames share one, because the noise is
//! what varies and encoding a long code costs more than decoding it. For error rates beyond reach
//! a task can fix the number of wrong hard decisions ([`Task::errors`]): `FER = sum_w P(w) FER_w`
//! with `w` binomial, a stratified estimate without bias; `binomial_weights` gives the `P(w)`.

pub mod buffers;
mod codes;
mod gpu;
mod hard;
mod interval;
mod prepared;
mod soft;
#[cfg(test)]
mod toy;

use std::ops::Range;

use crate::channel::{mix, BitErrors, Channel, Rng};

pub use codes::{Arithmetic, Ldpc};
pub use gpu::{Gpu, Launch, Outcome, Tables};
pub use hard::{HardCode, HardDecoder};
pub use interval::{binomial_weights, confidence_interval};
pub use prepared::Prepared;
pub use soft::{SoftCode, SoftDecoder};

/// Consecutive frames that carry the same codeword.
pub const CODEWORD_FRAMES: u64 = 16;

/// A code with its decoder.
pub enum Codec {
    /// Hard decisions in packed bytes (BCH).
    Hard(Box<dyn HardCode>),
    /// LLRs (LDPC).
    Soft(Box<dyn SoftCode>),
}

impl Codec {
    /// Bits of a codeword that are sent.
    pub fn code_bits(&self) -> usize {
        match self {
            Self::Hard(code) => code.data_bits() + code.parity_bits(),
            Self::Soft(code) => code.code_bits(),
        }
    }

    /// Information bits of a codeword.
    pub fn info_bits(&self) -> usize {
        match self {
            Self::Hard(code) => code.data_bits(),
            Self::Soft(code) => code.info_bits(),
        }
    }

    /// Information bits per sent bit.
    pub fn rate(&self) -> f64 {
        self.info_bits() as f64 / self.code_bits() as f64
    }

    /// Frames of a chunk: about 2^19 sent bits, and whole batches of every decoder.
    pub fn chunk_frames(&self) -> u64 {
        ((1_u64 << 19) / self.code_bits().max(1) as u64).clamp(1, 4096).next_multiple_of(64)
    }
}

/// The information bits that are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codewords {
    /// Random information bits.
    Random,
    /// The codeword of zeros: no encoder is needed, and decoders that favour zeros look better
    /// than they are.
    Zero,
}

/// One point of a curve.
#[derive(Clone, Debug)]
pub struct Task {
    /// The channel at this point.
    pub channel: Channel,
    /// The information bits that are encoded.
    pub codewords: Codewords,
    /// How many hard decisions of a frame are wrong.
    pub errors: BitErrors,
    /// Seed of the run.
    pub seed: u64,
    /// Separates the points of a run, so that they share no noise.
    pub point: u64,
}

impl Task {
    fn noise(&self, frame: u64) -> Rng {
        let errors = match self.errors {
            BitErrors::Natural => 0,
            BitErrors::Exactly(count) => 1 + u64::from(count),
        };
        Rng::frame(self.seed, mix(self.point) ^ errors, frame)
    }

    /// What the frames of the natural channel have in common: the noise of frame `f` is the stream
    /// of this, xor `f`.
    fn noise_stream(&self) -> u64 {
        mix(mix(self.seed) ^ mix(self.point))
    }

    fn data(&self, word: u64) -> Rng {
        // Any stream that no noise has.
        Rng::frame(self.seed, mix(self.point ^ 0x636f_6465_776f_7264), word)
    }
}

/// The results of some frames. Tallies add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Frames tried.
    pub frames: u64,
    /// Frames with a wrong information bit after decoding.
    pub frame_errors: u64,
    /// Those among them that the decoder took for right.
    pub undetected: u64,
    /// Wrong information bits after decoding.
    pub bit_errors: u64,
    /// Frames that the decoder gave up.
    pub failures: u64,
    /// Wrong hard decisions before decoding, over all sent bits.
    pub channel_errors: u64,
    /// Iterations of an iterative decoder.
    pub iterations: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.frames += other.frames;
        self.frame_errors += other.frame_errors;
        self.undetected += other.undetected;
        self.bit_errors += other.bit_errors;
        self.failures += other.failures;
        self.channel_errors += other.channel_errors;
        self.iterations += other.iterations;
    }
}

/// Tries the frames of a range: a pure function of its arguments.
///
/// # Panics
/// When more errors are asked for than a codeword has bits.
pub fn run_chunk(codec: &Codec, task: &Task, frames: Range<u64>) -> Tally {
    match codec {
        Codec::Hard(code) => hard::run(code.as_ref(), task, frames),
        Codec::Soft(code) => soft::run(code.as_ref(), task, frames),
    }
}
