//! The same frames on a GPU: LDPC codes in 8 bits on channels of bins.
//!
//! ```text
//!   words of data ── this processor, all cores ──┐
//!   (frame / 16)                                  ├─► frames.cu, a thread per frame ──► tallies
//!   code, decoder, channel: `Tables` ────────────┘    channel, decoder, counts         by chunk
//! ```
//!
//! A frame is a function of its number here too, and `frames.cu` does the arithmetic of the CPU, so
//! that the counts are those of [`run_chunk`](super::run_chunk) to the last one, in whatever batches
//! they come. Who runs the kernel is a [`Launch`]: `cuda`, which the feature `gpu` brings, or in
//! tests this processor, for which the same file is C++.

#[cfg_attr(not(feature = "gpu"), path = "absent.rs")]
mod cuda;
#[cfg(test)]
mod host;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::soft::sent_word;
use super::{Arithmetic, BitErrors, Codec, Codewords, SoftCode, Tally, Task, CODEWORD_FRAMES};
use crate::channel::CELLS;
use crate::ldpc::quantise;

/// What became of a frame: wrong hard decisions, whether it ended as a codeword, iterations, wrong
/// information bits.
type Outcome = [u32; 4];

/// Runs the kernel.
trait Launch: Send {
    /// Frames that there is memory for.
    fn frames_max(&self) -> u64;
    /// Outcomes of `count` frames from `first` on; `words` are theirs, in a row.
    fn launch(&mut self, words: &[u8], first: u64, count: u32) -> Result<Vec<Outcome>, String>;
}

/// A code, its decoder and a channel as the kernel takes them.
struct Tables {
    /// Sizes and settings in the order of the kernel's `Code`; first edges of checks, columns of
    /// edges, columns of sent bits, positions of information bits.
    code: Vec<u32>,
    /// By bit the bin of each cell, then the decisions of the bins and their LLRs.
    bins: Vec<u8>,
    /// By bit the upper borders of the bins.
    borders: Vec<f64>,
    /// What all streams of noise have in common.
    stream: u64,
    /// Bytes that a frame takes.
    frame_bytes: u64,
}

impl Tables {
    /// # Errors
    /// When the kernel does not do this, with what it does.
    fn new(codec: &Codec, task: &Task) -> Result<Self, String> {
        let not = |what: &str, accepted: &str| format!("{what} runs on cpu; accepted: {accepted}");
        let Codec::Soft(soft) = codec else { return Err(not("BCH", "an LDPC code")) };
        let ldpc = soft.as_ldpc().ok_or_else(|| not("this code", "an LDPC code"))?;
        if ldpc.arithmetic != Arithmetic::Int8 {
            return Err(not("arithmetic in floats", "arithmetic int8"));
        }
        let [scale, offset, most] = ldpc.config.layered_rule().ok_or_else(|| {
            not(ldpc.config.algorithm.name(), "decoder layered-nms or layered-oms")
        })?;
        let bins = task.channel.bins().ok_or_else(|| not("this channel", "bsc or sensing:N"))?;
        if task.errors != BitErrors::Natural {
            return Err(not("a fixed number of errors", "those of the channel"));
        }
        let (code, matrix) = (&ldpc.code, ldpc.code.matrix());
        let (columns, edges) = (matrix.column_count(), matrix.edge_columns().len());
        let mut table: Vec<u32> = [
            matrix.row_count(),
            columns,
            code.code_bits(),
            code.info_bits(),
            word_bytes(soft.as_ref(), task.codewords),
            bins.llrs.len(),
        ]
        .map(|size| size as u32)
        .to_vec();
        table.extend([ldpc.config.iterations, ldpc.config.stop.into(), scale, offset, most]);
        for part in
            [matrix.starts(), matrix.edge_columns(), code.sent_columns(), code.info_positions()]
        {
            table.extend(part);
        }
        let mut rounded = vec![0; bins.llrs.len()];
        quantise(bins.llrs, &mut rounded);
        let mut bytes = Vec::with_capacity(2 * CELLS + 2 * rounded.len());
        bins.cells.iter().for_each(|cells| bytes.extend_from_slice(*cells));
        bytes.extend(bins.decided);
        bytes.extend(rounded.iter().map(|llr| llr.cast_unsigned()));
        let frame_bytes = columns + edges + size_of::<Outcome>() + code.code_bits() / 64;
        Ok(Self {
            code: table,
            bins: bytes,
            borders: bins.borders.concat(),
            stream: task.noise_stream(),
            frame_bytes: frame_bytes as u64,
        })
    }
}

/// Bytes of a word, or 0 where all frames have the same one.
fn word_bytes(code: &dyn SoftCode, codewords: Codewords) -> usize {
    match codewords {
        Codewords::Zero => 0,
        Codewords::Random => code.code_bits().div_ceil(8),
    }
}

/// A task on a GPU.
pub struct Gpu {
    codec: Arc<Codec>,
    task: Task,
    device: Mutex<Box<dyn Launch>>,
    frames_max: u64,
}

impl Gpu {
    /// Takes the first device.
    ///
    /// # Errors
    /// With the reason: a code or channel that runs on the CPU alone, a build without the feature
    /// `gpu`, no device.
    pub fn new(codec: &Arc<Codec>, task: &Task) -> Result<Self, String> {
        let tables = Tables::new(codec, task)?;
        Self::on(codec, task, Box::new(cuda::Cuda::new(tables)?))
    }

    fn on(codec: &Arc<Codec>, task: &Task, device: Box<dyn Launch>) -> Result<Self, String> {
        // Whole chunks, no more than keep all cores of a large device busy.
        let chunk = codec.chunk_frames();
        let frames_max = device.frames_max().min(1 << 18) / chunk * chunk;
        if frames_max == 0 {
            return Err(format!("the device has no memory for {chunk} frames of this code"));
        }
        let (codec, task, device) = (Arc::clone(codec), task.clone(), Mutex::new(device));
        Ok(Self { codec, task, device, frames_max })
    }

    /// Frames of a run at most: whole chunks.
    pub fn frames_max(&self) -> u64 {
        self.frames_max
    }

    /// The tallies of the chunks of a range (see [`Codec::chunk_frames`]); its first and last may be
    /// parts of one.
    ///
    /// # Errors
    /// With what the device says.
    ///
    /// # Panics
    /// For more than [`Gpu::frames_max`] frames.
    pub fn run(&self, frames: Range<u64>) -> Result<Vec<Tally>, String> {
        let count = frames.end.saturating_sub(frames.start);
        assert!(count <= self.frames_max, "{count} frames at once");
        if count == 0 {
            return Ok(Vec::new());
        }
        let words = self.words(&frames);
        let outcomes = {
            // Outcomes of a launch that panicked are not used; the next one writes all of its own.
            let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
            device.launch(&words, frames.start, count as u32)?
        };
        let chunk = self.codec.chunk_frames();
        let mut tallies: Vec<Tally> = Vec::new();
        for (frame, [wrong, ok, iterations, errors]) in frames.clone().zip(outcomes) {
            if frame == frames.start || frame.is_multiple_of(chunk) {
                tallies.push(Tally::default());
            }
            let tally = tallies.last_mut().expect("the first frame began one");
            *tally += Tally {
                frames: 1,
                frame_errors: u64::from(errors > 0),
                undetected: u64::from(errors > 0 && ok == 1),
                bit_errors: errors.into(),
                failures: u64::from(ok == 0),
                channel_errors: wrong.into(),
                iterations: iterations.into(),
            };
        }
        Ok(tallies)
    }

    /// The words of these frames, eight bits to a byte, lowest first.
    fn words(&self, frames: &Range<u64>) -> Vec<u8> {
        let Codec::Soft(code) = self.codec.as_ref() else { return Vec::new() };
        let bytes = word_bytes(code.as_ref(), self.task.codewords);
        if bytes == 0 {
            return vec![0; code.code_bits().div_ceil(8)];
        }
        let first = frames.start / CODEWORD_FRAMES;
        let count = ((frames.end - 1) / CODEWORD_FRAMES + 1 - first) as usize;
        let mut words = vec![0; count * bytes];
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = count.div_ceil(threads);
        std::thread::scope(|scope| {
            for (part, words) in words.chunks_mut(share * bytes).enumerate() {
                let from = first + (part * share) as u64;
                scope.spawn(move || {
                    let (mut info, mut sent) =
                        (vec![0; code.info_bits()], vec![0; code.code_bits()]);
                    for (number, packed) in (from..).zip(words.chunks_mut(bytes)) {
                        sent_word(code.as_ref(), &self.task, number, &mut info, &mut sent);
                        for (byte, bits) in packed.iter_mut().zip(sent.chunks(8)) {
                            *byte = bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit);
                        }
                    }
                });
            }
        });
        words
    }
}
