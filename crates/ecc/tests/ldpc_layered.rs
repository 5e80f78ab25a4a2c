//! The fast layered decoder against a slow one, bit for bit.
//!
//! The slow one takes its arithmetic from the description, in whole numbers of half a step: one
//! frame, one check at a time, each message by a search over the other edges. Matrices are random:
//! checks of one to many bits, neighbours with and without bits in common. Their number decides
//! which form of messages the fast one keeps, so one matrix is large.

use opennandlab_ecc::ldpc::{Algorithm, Decoder, DecoderConfig, LdpcCode, Path};

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Distinct numbers below `limit`.
    fn some(&mut self, count: usize, limit: usize) -> Vec<usize> {
        let mut some = std::collections::BTreeSet::new();
        while some.len() < count {
            some.insert(self.below(limit));
        }
        some.into_iter().collect()
    }
}

/// The alist text of a matrix by rows.
fn alist(columns: usize, rows: &[Vec<usize>]) -> String {
    let mut lists = vec![Vec::new(); columns];
    for (row, list) in rows.iter().enumerate() {
        for &column in list {
            lists[column].push(row);
        }
    }
    let line = |numbers: &[usize]| {
        let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        words.join(" ") + "\n"
    };
    let weights = |lists: &[Vec<usize>]| lists.iter().map(Vec::len).collect::<Vec<_>>();
    let most = |lists: &[Vec<usize>]| weights(lists).into_iter().max().unwrap_or(0);
    let mut text = line(&[columns, rows.len()]) + &line(&[most(&lists), most(rows)]);
    text += &(line(&weights(&lists)) + &line(&weights(rows)));
    for list in lists.iter().chain(rows) {
        text += &line(&list.iter().map(|index| index + 1).collect::<Vec<_>>());
    }
    text
}

/// Largest value of a posterior and of an extrinsic value, in halves: 127.5.
const LIMIT: i32 = 255;

/// A message for the least magnitude of the others, in halves; whole steps.
fn message(least: i32, config: &DecoderConfig) -> i32 {
    let by_offset = config.algorithm == Algorithm::LayeredOms;
    let offset = (config.offset * 3.0).round() as i32;
    let factor = (config.scale * 256.0).round() as i32;
    let weakened = |halves: i32| {
        if by_offset {
            ((halves - 1) / 2 - offset).max(0)
        } else {
            // Halves of a step are rounded down.
            (halves * factor + 255).div_euclid(512)
        }
    };
    // The largest M that a bit at the limit answers again: M <= s (L - M), or M <= L - M - o.
    let steady = |most: &i32| {
        let rest = LIMIT - 2 * most;
        if by_offset {
            2 * most <= rest - 2 * offset
        } else {
            512 * most <= factor * rest
        }
    };
    let most = (0..=42).rev().find(steady).unwrap_or(0);
    weakened(least).min(most)
}

/// Decisions of one frame after fixed iterations.
fn slowly(rows: &[Vec<usize>], llrs: &[i8], config: &DecoderConfig) -> Vec<u8> {
    let halves = |(column, &llr): (usize, &i8)| match llr {
        0 if (column as u32).wrapping_mul(0x9e37_79b9) >> 31 == 1 => -1,
        0 => 1,
        _ => 2 * i32::from(llr.max(-127)) + i32::from(llr.signum()),
    };
    let mut posteriors: Vec<i32> = llrs.iter().enumerate().map(halves).collect();
    let mut messages: Vec<Vec<i32>> = rows.iter().map(|row| vec![0; row.len()]).collect();
    for _ in 0..config.iterations {
        for (row, messages) in rows.iter().zip(&mut messages) {
            let extrinsics: Vec<i32> = row
                .iter()
                .zip(messages.iter())
                .map(|(&column, sent)| (posteriors[column] - 2 * sent).clamp(-LIMIT, LIMIT))
                .collect();
            for (edge, sent) in messages.iter_mut().enumerate() {
                let others = || extrinsics.iter().enumerate().filter(|(other, _)| *other != edge);
                let least = others().map(|(_, value)| value.abs()).min().unwrap_or(LIMIT);
                let sign: i32 = others().map(|(_, value)| value.signum()).product();
                *sent = sign * message(least, config);
            }
            for ((&column, extrinsic), sent) in row.iter().zip(&extrinsics).zip(messages.iter()) {
                posteriors[column] = (extrinsic + 2 * sent).clamp(-LIMIT, LIMIT);
            }
        }
    }
    posteriors.iter().map(|&posterior| u8::from(posterior < 0)).collect()
}

/// Compares all paths with the slow decoder on one matrix; how many decisions were not those of
/// the channel.
fn compare(columns: usize, rows: &[Vec<usize>], random: &mut Random, frames: usize) -> usize {
    let code = LdpcCode::from_alist(&alist(columns, rows)).expect("a code");
    let llrs: Vec<i8> = (0..frames * columns).map(|_| (random.below(90) as i8) - 20).collect();
    let mut changed = 0;
    for (algorithm, scale, offset) in [
        (Algorithm::LayeredNms, 0.75, 0.0),
        (Algorithm::LayeredNms, 0.3, 0.0),
        (Algorithm::LayeredNms, 1.0, 0.0),
        (Algorithm::LayeredOms, 1.0, 0.5),
        (Algorithm::LayeredOms, 1.0, 20.0),
    ] {
        let iterations = 1 + random.below(4) as u32;
        let config = DecoderConfig { algorithm, iterations, scale, offset, stop: false };
        let expected: Vec<u8> =
            llrs.chunks_exact(columns).flat_map(|frame| slowly(rows, frame, &config)).collect();
        for path in Path::available() {
            let mut decoder = Decoder::with_path(&code, &config, path).expect("a decoder");
            let mut hard = vec![7; llrs.len()];
            let (mut ok, mut counts) = (vec![false; frames], vec![0; frames]);
            // Twice: a batch must leave nothing behind.
            for _ in 0..2 {
                decoder.decode_i8(&llrs, frames, &mut hard, &mut ok, &mut counts);
                assert!(hard == expected, "{path:?} {config:?}");
            }
        }
        changed +=
            expected.iter().zip(&llrs).filter(|(&bit, &llr)| (bit == 1) != (llr < 0)).count();
    }
    changed
}

#[test]
fn random_matrices_are_decoded_as_described() {
    let mut random = Random(21);
    let mut changed = 0;
    for _ in 0..30 {
        let columns = 20 + random.below(120);
        let checks = 3 + random.below(columns / 3);
        let mut rows: Vec<Vec<usize>> = Vec::new();
        let mut degree = 2;
        for _ in 0..checks {
            // Mostly as many edges as before, so that there are runs of checks that do not meet.
            if random.below(3) == 0 {
                degree = 1 + random.below(11);
            }
            rows.push(random.some(degree, columns));
        }
        let frames = 1 + random.below(3);
        changed += compare(columns, &rows, &mut random, frames);
    }
    assert!(changed > 1000, "only {changed} bits were changed by their checks");
}

#[test]
fn many_checks_are_decoded_as_described() {
    let mut random = Random(22);
    let columns = 4000;
    let degrees = [9, 9, 9, 10];
    let rows: Vec<Vec<usize>> =
        (0..1900).map(|check| random.some(degrees[check / 40 % 4], columns)).collect();
    let edges: usize = rows.iter().map(Vec::len).sum();
    assert!(edges > 16_384, "{edges} messages are kept as they are");
    assert!(compare(columns, &rows, &mut random, 1) > 1000);
}
