//! Received frames, kept ready: to measure the speed of decoding and of nothing else.

use super::hard::Frame;
use super::soft::Batch;
use super::{Codec, HardCode, HardDecoder, SoftCode, SoftDecoder, Task};

/// The fewest rounds of [`Prepared::time`].
const ROUNDS_MIN: usize = 5;

/// Frames after the channel, and a decoder.
pub struct Prepared<'a> {
    kind: Kind<'a>,
    frames: usize,
}

enum Kind<'a> {
    Hard { decoder: Box<dyn HardDecoder + 'a>, received: Vec<(Vec<u8>, Vec<u8>)>, scratch: Frame },
    Soft { decoder: Box<dyn SoftDecoder + 'a>, batch: Batch },
}

impl<'a> Prepared<'a> {
    /// The first `frames` frames of a task.
    pub fn new(codec: &'a Codec, task: &Task, frames: usize) -> Self {
        let kind = match codec {
            Codec::Hard(code) => Self::hard(code.as_ref(), task, frames),
            Codec::Soft(code) => Self::soft(code.as_ref(), task, frames),
        };
        Self { kind, frames }
    }

    fn hard(code: &'a dyn HardCode, task: &Task, frames: usize) -> Kind<'a> {
        let mut scratch = Frame::new(code);
        let received = (0..frames as u64)
            .map(|frame| {
                scratch.receive(code, task, frame);
                (scratch.data.clone(), scratch.parity.clone())
            })
            .collect();
        Kind::Hard { decoder: code.decoder(), received, scratch }
    }

    fn soft(code: &'a dyn SoftCode, task: &Task, frames: usize) -> Kind<'a> {
        let mut batch = Batch::new(code, frames);
        batch.receive(code, task, 0..frames as u64);
        Kind::Soft { decoder: code.decoder(), batch }
    }

    /// Decodes all frames once; returns how many the decoder did not give up.
    pub fn decode(&mut self) -> usize {
        match &mut self.kind {
            Kind::Hard { decoder, received, scratch } => received
                .iter()
                .filter(|(data, parity)| {
                    scratch.data.copy_from_slice(data);
                    scratch.parity.copy_from_slice(parity);
                    decoder.decode(&mut scratch.data, &mut scratch.parity).is_some()
                })
                .count(),
            Kind::Soft { decoder, batch } => {
                let Batch { llrs, hard, ok, iterations, .. } = batch;
                decoder.decode(llrs, hard, ok, iterations);
                ok.iter().filter(|&&is_word| is_word).count()
            }
        }
    }

    /// Decodes over and over, in up to `rounds` rounds of at least `seconds` each: frames and
    /// seconds of each round. `now` returns the time in seconds; this crate has no clock.
    ///
    /// # Errors
    /// Those of `now`.
    pub fn time<E>(
        &mut self,
        rounds: usize,
        seconds: f64,
        mut now: impl FnMut() -> Result<f64, E>,
    ) -> Result<Vec<(u64, f64)>, E> {
        let limit = seconds * rounds as f64;
        let mut times = Vec::with_capacity(rounds);
        let mut total = 0.0;
        // A pass may take longer than a round should: then there are fewer of them.
        while times.len() < rounds && (times.len() < ROUNDS_MIN || total < limit) {
            let (began, mut done, mut elapsed) = (now()?, 0, 0.0);
            while elapsed < seconds {
                self.decode();
                done += self.frames as u64;
                elapsed = now()? - began;
            }
            total += elapsed;
            times.push((done, elapsed));
        }
        Ok(times)
    }

    /// Frames of a call of [`Self::decode`].
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Mean iterations of the last call, of an iterative decoder.
    pub fn iterations_mean(&self) -> Option<f64> {
        match &self.kind {
            Kind::Hard { .. } => None,
            Kind::Soft { batch, .. } => {
                let sum: u64 = batch.iterations.iter().map(|&count| u64::from(count)).sum();
                Some(sum as f64 / batch.iterations.len().max(1) as f64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{task, HardRepetition, SoftRepetition};
    use super::*;
    use crate::channel::Channel;

    #[test]
    fn frames_can_be_decoded_again_and_again() {
        for codec in [
            Codec::Hard(Box::new(HardRepetition { copies: 5 })),
            Codec::Soft(Box::new(SoftRepetition { copies: 5 })),
        ] {
            let task = task(Channel::bsc(0.1).unwrap());
            let mut prepared = Prepared::new(&codec, &task, 100);
            assert_eq!((prepared.decode(), prepared.decode(), prepared.frames()), (100, 100, 100));
            let iterations = prepared.iterations_mean();
            assert_eq!(iterations.is_some(), matches!(codec, Codec::Soft(_)));
        }
    }

    #[test]
    fn rounds_last_as_long_as_asked_and_grow_fewer_when_a_pass_is_longer() {
        let codec = Codec::Hard(Box::new(HardRepetition { copies: 5 }));
        let task = task(Channel::bsc(0.1).unwrap());
        let mut prepared = Prepared::new(&codec, &task, 10);
        // A clock that moves by `tick` whenever it is read, so that a pass takes that long.
        let mut times = |tick: f64, rounds: usize| {
            let mut reading = 0.0;
            let now = || -> Result<f64, ()> {
                reading += tick;
                Ok(reading)
            };
            prepared.time(rounds, 1.0, now).unwrap()
        };
        assert_eq!(times(0.25, 8), vec![(40, 1.0); 8]);
        assert_eq!(times(4.0, 40).len(), 10);
        assert_eq!(times(100.0, 25).len(), ROUNDS_MIN);
        assert_eq!(prepared.time(5, 1.0, || Err("no clock")), Err("no clock"));
    }
}
