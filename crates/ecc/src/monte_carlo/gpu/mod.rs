//! The same frames on a GPU: LDPC codes in 8 bits on channels of bins.
//!
//! ```text
//!   words of data, encoded here ─────┐
//!   (frame / 16)                     ├─► frames.cu, a thread per frame ──► tallies by chunk
//!   code, decoder, channel: Tables ──┘   channel, decoder, counts
//! ```
//!
//! A frame is a function of its number here too, and `frames.cu` does the arithmetic of the CPU:
//! counts are exactly those of [`run_chunk`](super::run_chunk), at any size of the batches. A
//! [`Launch`] runs the kernel: a device, in builds with the feature `gpu`, or in tests the CPU, for
//! which the same file is C++.

#[cfg_attr(not(feature = "gpu"), path = "absent.rs")]
mod cuda;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::soft::sent_word;
use super::{BitErrors, Codec, Codewords, SoftCode, Tally, Task, CODEWORD_FRAMES};
use crate::channel::CELLS;
use crate::ldpc::quantise;

/// The most frames of a batch; all cores of a large device are busy with fewer.
const FRAMES_MAX: u64 = 1 << 18;

/// The result of a frame: wrong hard decisions, 1 if it ended as a codeword, iterations, wrong
/// information bits.
pub type Outcome = [u32; 4];

/// Runs the kernel.
pub trait Launch: Send {
    /// Frames that there is memory for.
    fn frames_max(&self) -> u64;
    /// Outcomes of `count` frames from `first` on; `words` are the words of these, in a row.
    ///
    /// # Errors
    /// With the message of the device.
    fn launch(&mut self, words: &[u8], first: u64, count: u32) -> Result<Vec<Outcome>, String>;
}

/// A code, its decoder and a channel in the form that the kernel takes.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Sizes and settings in the order of the kernel's `Code`; first edges of checks, columns of
    /// edges, columns of sent bits, positions of information bits.
    pub code: Vec<u32>,
    /// By bit the bin of each cell, then the decisions of the bins and their LLRs.
    pub bins: Vec<u8>,
    /// By bit the upper borders of the bins.
    pub borders: Vec<f64>,
    /// Common to the noise of all frames.
    pub stream: u64,
    /// Memory of a frame, bytes.
    pub frame_bytes: u64,
}

impl Tables {
    /// # Errors
    /// For a code, decoder or channel that the kernel does not do, with those that it does.
    fn new(codec: &Codec, task: &Task) -> Result<Self, String> {
        let not = |what: &str, accepted: &str| {
            format!("{what} is not for the engine gpu; accepted: {accepted}")
        };
        let Codec::Soft(soft) = codec else { return Err(not("BCH", "an LDPC code")) };
        let (code, config) = soft
            .ldpc_int8()
            .ok_or_else(|| not("decoding in floats", "an LDPC code with arithmetic int8"))?;
        let [scale, offset, most] = config
            .layered_rule()
            .ok_or_else(|| not(config.algorithm.name(), "layered-nms or layered-oms"))?;
        let bins = task.channel.bins().ok_or_else(|| not("this channel", "bsc or sensing:N"))?;
        if task.errors != BitErrors::Natural {
            return Err(not("a fixed number of errors", "the errors of the channel"));
        }
        let matrix = code.matrix();
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
        table.extend([config.iterations, config.stop.into(), scale, offset, most]);
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
    /// With the reason: a code, decoder or channel that the kernel does not do, a build without the
    /// feature `gpu`, no device.
    pub fn new(codec: &Arc<Codec>, task: &Task) -> Result<Self, String> {
        Self::on(codec, task, |tables| Ok(Box::new(cuda::Cuda::new(tables)?)))
    }

    /// Takes what `device` makes of the tables.
    ///
    /// # Errors
    /// As [`Gpu::new`].
    pub fn on(
        codec: &Arc<Codec>,
        task: &Task,
        device: impl FnOnce(Tables) -> Result<Box<dyn Launch>, String>,
    ) -> Result<Self, String> {
        let device = device(Tables::new(codec, task)?)?;
        let chunk = codec.chunk_frames();
        let frames_max = device.frames_max().min(FRAMES_MAX) / chunk * chunk;
        if frames_max == 0 {
            return Err(format!("gpu: the device has no memory for {chunk} frames of this code"));
        }
        let (codec, task, device) = (Arc::clone(codec), task.clone(), Mutex::new(device));
        Ok(Self { codec, task, device, frames_max })
    }

    /// Frames of a run at most: whole chunks.
    pub fn frames_max(&self) -> u64 {
        self.frames_max
    }

    /// The tallies of the chunks of a range; the first and the last may be parts of one, see
    /// [`Codec::chunk_frames`].
    ///
    /// # Errors
    /// With the message of the device.
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
            // A launch that panicked leaves nothing that the next one reads.
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
        let (mut info, mut sent) = (vec![0; code.info_bits()], vec![0; code.code_bits()]);
        for (number, packed) in (first..).zip(words.chunks_mut(bytes)) {
            sent_word(code.as_ref(), &self.task, number, &mut info, &mut sent);
            for (byte, bits) in packed.iter_mut().zip(sent.chunks(8)) {
                *byte = bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit);
            }
        }
        words
    }
}
