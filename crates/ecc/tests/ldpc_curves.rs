//! Frame error rates against recorded curves: does the decoder correct what others' decoders do?
//!
//! The recorded points are those of AFF3CT's error rate references (Gaussian channel, about 100
//! frame errors each) and a table of quantised sensing that was measured with AFF3CT's decoder. A
//! point is met within 0.1 dB, or a factor of 1.35 at 100 errors. Random words are sent, so that
//! nothing can hide behind the word of all zeros.
//!
//! The quick rows always run, in a few seconds. `cargo test --release -p opennandlab-ecc --test
//! ldpc_curves -- --ignored --nocapture` measures all rows and prints the table; `LDPC_ROWS` takes
//! a part of a row's name. Matrices are read from `../shared/ecc/h` next to the repository; where
//! that does not exist, the tests say so and pass.

use opennandlab_ecc::ldpc::{quantise, Algorithm, Decoder, DecoderConfig, LdpcCode};

/// `SplitMix64` with Gaussian numbers by Box and Muller.
struct Random {
    state: u64,
    spare: Option<f32>,
}

impl Random {
    fn new(seed: u64) -> Self {
        Self { state: seed, spare: None }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn gauss(&mut self) -> f32 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let draw = self.next();
        let radius = ((draw >> 32) as f32 + 0.5) * (0.5_f32).powi(32);
        let angle = draw as u32 as f32 * (std::f32::consts::TAU * (0.5_f32).powi(32));
        let length = (-2.0 * radius.ln()).sqrt();
        let (sin, cos) = angle.sin_cos();
        self.spare = Some(length * sin);
        length * cos
    }
}

/// How LLRs come about; states are at +1 (a 0) and -1 (a 1).
enum Channel {
    /// Gaussian noise of this width, LLRs as they are.
    Gauss { sigma: f32 },
    /// Each bit is wrong with this probability.
    Symmetric { p: f32 },
    /// Gaussian states read at thresholds, an LLR per bin from the lowest up.
    Sensing { sigma: f32, thresholds: Vec<f32>, llrs: Vec<f32> },
}

impl Channel {
    /// Eb/N0 in dB per information bit.
    fn awgn(decibel: f64, rate: f64) -> Self {
        let ratio = 10_f64.powf(decibel / 10.0);
        Self::Gauss { sigma: (1.0 / (2.0 * rate * ratio)).sqrt() as f32 }
    }

    /// Thresholds at multiples of `spacing` around 0.
    fn sensing(sigma: f64, reads: i32, spacing: f64) -> Self {
        if reads == 0 {
            return Self::Gauss { sigma: sigma as f32 };
        }
        let thresholds: Vec<f64> = (0..reads).map(|i| f64::from(i - reads / 2) * spacing).collect();
        let below = |x: f64, mean: f64| 0.5 * libm::erfc((mean - x) / sigma / 2_f64.sqrt());
        let mut edges = vec![f64::NEG_INFINITY];
        edges.extend(&thresholds);
        edges.push(f64::INFINITY);
        let llrs = edges.windows(2).map(|bin| {
            let mass = |mean: f64| below(bin[1], mean) - below(bin[0], mean);
            (mass(1.0) / mass(-1.0)).ln() as f32
        });
        Self::Sensing {
            sigma: sigma as f32,
            llrs: llrs.collect(),
            thresholds: thresholds.iter().map(|&x| x as f32).collect(),
        }
    }

    /// LLR of one sent bit.
    fn llr(&self, bit: u8, random: &mut Random) -> f32 {
        let sign = 1.0 - 2.0 * f32::from(bit);
        match self {
            Self::Gauss { sigma } => 2.0 / (sigma * sigma) * (sign + sigma * random.gauss()),
            Self::Symmetric { p } => {
                let wrong = (random.next() >> 40) as f32 * (0.5_f32).powi(24) < *p;
                ((1.0 - p) / p).ln() * if wrong { -sign } else { sign }
            }
            Self::Sensing { sigma, thresholds, llrs } => {
                let level = sign + sigma * random.gauss();
                llrs[thresholds.iter().filter(|&&threshold| level > threshold).count()]
            }
        }
    }
}

/// Form of the LLRs that the decoder gets.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Float,
    Bytes,
}

/// Sends random words until enough information words were wrong; errors and frames.
fn measure(
    code: &LdpcCode,
    config: &DecoderConfig,
    channel: &Channel,
    form: Form,
    limits: (u64, u64),
    seed: u64,
) -> (u64, u64) {
    let mut random = Random::new(seed);
    let mut decoder = Decoder::new(code, config).expect("a decoder");
    let (batch, bits) = (decoder.batch(), code.code_bits());
    let mut words = vec![0; batch * bits];
    let mut info = vec![0; code.info_bits()];
    let mut llrs = vec![0.0; words.len()];
    let mut bytes = vec![0; words.len()];
    let mut hard = vec![0; words.len()];
    let (mut ok, mut iterations) = (vec![false; batch], vec![0; batch]);
    let (mut errors, mut frames) = (0, 0);
    // A word may be sent many times: only the noise must be new.
    for word in words.chunks_exact_mut(bits) {
        for bit in &mut info {
            *bit = (random.next() >> 63) as u8;
        }
        code.encode(&info, word);
    }
    while errors < limits.0 && frames < limits.1 {
        for (llr, &bit) in llrs.iter_mut().zip(&words) {
            *llr = channel.llr(bit, &mut random);
        }
        if form == Form::Float {
            decoder.decode_f32(&llrs, batch, &mut hard, &mut ok, &mut iterations);
        } else {
            quantise(&llrs, &mut bytes);
            decoder.decode_i8(&bytes, batch, &mut hard, &mut ok, &mut iterations);
        }
        for (word, found) in words.chunks_exact(bits).zip(hard.chunks_exact(bits)) {
            let wrong = |&at: &u32| word[at as usize] != found[at as usize];
            errors += u64::from(code.info_positions().iter().any(wrong));
        }
        frames += batch as u64;
    }
    (errors, frames)
}

/// A recorded point.
struct Row {
    file: &'static str,
    algorithm: Algorithm,
    iterations: u32,
    scale: f32,
    point: Point,
    fer: f64,
    /// Whether it takes seconds only.
    quick: bool,
}

/// Where on its curve.
enum Point {
    /// Eb/N0 in dB; the FER changes by this factor in 0.1 dB here, read off the recorded curve.
    Awgn {
        decibel: f64,
        factor_per_tenth: f64,
    },
    Symmetric(f64),
    /// Sigma, reads (0: unquantised), spacing.
    Sensing(f64, i32, f64),
}

const WIMAX: &str = "WIMAX_480_576";
const HALF: &str = "WIMAX_288_576";
const WIFI: &str = "WIFI_540_648";
const ETHERNET: &str = "10GBPS-ETHERNET_1723_2048";
const MACKAY: &str = "MACKAY_504_1008";
const IRA: &str = "PureIRA_R_9_10_N16k_H";

fn awgn(
    file: &'static str,
    (algorithm, iterations, scale): (Algorithm, u32, f32),
    points: &[(f64, f64, f64)],
) -> Vec<Row> {
    let row = |&(decibel, fer, factor_per_tenth): &(f64, f64, f64)| Row {
        file,
        algorithm,
        iterations,
        scale,
        point: Point::Awgn { decibel, factor_per_tenth },
        fer,
        quick: fer > 3e-2,
    };
    points.iter().map(row).collect()
}

/// Points of the Gaussian channel: Eb/N0, FER, and the recorded slope in factors per 0.1 dB.
fn awgn_rows() -> Vec<Row> {
    use Algorithm::{FloodingNms, FloodingSpa, GallagerB, LayeredNms, LayeredSpa};
    [
        awgn(
            WIMAX,
            (LayeredSpa, 40, 1.0),
            &[(4.0, 6.03e-3, 1.76), (4.5, 3.10e-4, 1.65), (5.0, 2.72e-5, 1.57)],
        ),
        awgn(
            WIFI,
            (LayeredSpa, 10, 1.0),
            &[(4.0, 8.95e-3, 1.66), (4.5, 4.76e-4, 1.88), (5.0, 1.92e-5, 1.9)],
        ),
        awgn(
            WIFI,
            (LayeredSpa, 40, 1.0),
            &[(4.0, 4.4e-3, 1.7), (4.5, 1.2e-4, 1.9), (5.0, 4.0e-6, 1.9)],
        ),
        awgn(
            WIFI,
            (LayeredNms, 10, 1.0),
            &[(4.0, 3.6e-2, 1.7), (4.5, 1.8e-3, 1.9), (5.0, 4.8e-5, 2.0)],
        ),
        awgn(ETHERNET, (FloodingSpa, 100, 1.0), &[(3.6, 1.0e-2, 2.8), (4.0, 7.3e-5, 4.0)]),
        awgn(ETHERNET, (FloodingNms, 30, 0.5), &[(3.75, 4.5e-3, 3.2), (4.0, 1.7e-4, 5.0)]),
        awgn(
            HALF,
            (FloodingSpa, 100, 1.0),
            &[(2.0, 1.7e-2, 1.8), (2.5, 7.6e-4, 1.85), (3.0, 4.0e-5, 1.7)],
        ),
        awgn(
            MACKAY,
            (GallagerB, 200, 1.0),
            &[(6.75, 6.8e-4, 1.2), (7.5, 1.6e-4, 1.25), (8.5, 1.1e-5, 1.35)],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn symmetric_rows() -> Vec<Row> {
    let row = |&(p, fer): &(f64, f64)| Row {
        file: HALF,
        algorithm: Algorithm::LayeredNms,
        iterations: 100,
        scale: 0.825,
        point: Point::Symmetric(p),
        fer,
        quick: false,
    };
    [(0.06, 1.2e-2), (0.05, 1.1e-3), (0.04, 5.9e-5)].iter().map(row).collect()
}

/// Sigma, reads, spacing, FER.
type SensingPoint = (f64, i32, f64, f64);

/// Points of sensing; layered normalised min-sum 0.75, 20 iterations.
fn sensing_rows() -> Vec<Row> {
    let points: [(&str, &[SensingPoint]); 3] = [
        (
            ETHERNET,
            &[
                (0.429_858, 1, 1.0, 0.011_66),
                (0.422_722, 1, 1.0, 0.003_28),
                (0.415_125, 1, 1.0, 0.000_593_8),
                (0.486_914, 3, 0.355, 0.015_34),
                (0.476_888, 3, 0.345, 0.002_117),
                (0.471_682, 3, 0.34, 0.000_595_6),
                (0.496_502, 7, 0.2, 0.008_615),
                (0.486_914, 7, 0.195, 0.001_189),
                (0.481_961, 7, 0.19, 0.000_332_9),
                (0.496_502, 0, 1.0, 0.003_516),
                (0.486_914, 0, 1.0, 0.000_341_8),
            ],
        ),
        (
            WIMAX,
            &[
                (0.415_125, 1, 1.0, 0.030_87),
                (0.398_066, 1, 1.0, 0.009_071),
                (0.377_064, 1, 1.0, 0.001_414),
                (0.476_888, 3, 0.345, 0.028_15),
                (0.460_810, 3, 0.33, 0.007_842),
                (0.443_041, 3, 0.315, 0.001_495),
                (0.486_914, 7, 0.195, 0.012_39),
                (0.471_682, 7, 0.185, 0.003_133),
                (0.455_107, 7, 0.175, 0.000_652_7),
                (0.486_914, 0, 1.0, 0.006_768),
                (0.471_682, 0, 1.0, 0.001_116),
                (0.455_107, 0, 1.0, 1.7e-4),
            ],
        ),
        (
            IRA,
            &[
                (0.402_614, 1, 1.0, 0.008_815),
                (0.466_329, 3, 0.335, 0.455_4),
                (0.460_810, 3, 0.33, 0.122_6),
                (0.455_107, 3, 0.325, 0.013_5),
                (0.476_888, 7, 0.19, 0.490_4),
                (0.471_682, 7, 0.185, 0.148_8),
                (0.466_329, 7, 0.185, 0.018_09),
            ],
        ),
    ];
    let mut rows = Vec::new();
    for (file, list) in points {
        rows.extend(list.iter().map(|&(sigma, reads, spacing, fer)| Row {
            file,
            algorithm: Algorithm::LayeredNms,
            iterations: 20,
            scale: 0.75,
            point: Point::Sensing(sigma, reads, spacing),
            fer,
            quick: file == WIMAX && fer > 1e-2,
        }));
    }
    rows
}

impl Row {
    fn name(&self) -> String {
        let point = match self.point {
            Point::Awgn { decibel, .. } => format!("{decibel} dB"),
            Point::Symmetric(p) => format!("p = {p}"),
            Point::Sensing(sigma, 0, _) => format!("sigma {sigma} unquantised"),
            Point::Sensing(sigma, reads, _) => format!("sigma {sigma} reads {reads}"),
        };
        format!("{} {} {} it, {point}", self.file, self.algorithm.name(), self.iterations)
    }

    fn channel(&self, rate: f64) -> Channel {
        match self.point {
            Point::Awgn { decibel, .. } => Channel::awgn(decibel, rate),
            Point::Symmetric(p) => Channel::Symmetric { p: p as f32 },
            Point::Sensing(sigma, reads, spacing) => Channel::sensing(sigma, reads, spacing),
        }
    }

    /// The largest factor between our FER and the recorded one: 0.1 dB or 1.35.
    fn tolerance(&self) -> f64 {
        match self.point {
            Point::Awgn { factor_per_tenth, .. } => factor_per_tenth.max(1.35),
            _ => 1.35,
        }
    }

    /// Our FER over the recorded one, and a line of the table; none without the matrix.
    fn measure(&self, form: Form, errors: u64) -> Option<(f64, String)> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/ecc/h/");
        let text = std::fs::read_to_string(format!("{folder}{}.alist", self.file)).ok()?;
        let code = LdpcCode::from_alist(&text).expect("a matrix of a standard");
        let config = DecoderConfig {
            algorithm: self.algorithm,
            iterations: self.iterations,
            scale: self.scale,
            stop: true,
            ..DecoderConfig::default()
        };
        let channel = self.channel(code.rate());
        let frames_max = (3.0 * errors as f64 / self.fer) as u64;
        let (errors, frames) = measure(&code, &config, &channel, form, (errors, frames_max), 42);
        let fer = errors as f64 / frames as f64;
        let arithmetic = if form == Form::Bytes { "8 bits" } else { "floats" };
        let line = format!(
            "| {} | {arithmetic} | {:.3e} | {fer:.3e} | {:.2} | {errors} |",
            self.name(),
            self.fer,
            fer / self.fer
        );
        Some((fer / self.fer, line))
    }
}

fn rows() -> Vec<Row> {
    awgn_rows().into_iter().chain(symmetric_rows()).chain(sensing_rows()).collect()
}

/// The largest factors of 8 bits below and above a recorded rate.
///
/// No record is of 8-bit arithmetic: all are of floats, so the limits add what rounding does to
/// what statistics do. Upwards that is a fifth, and twice the rate at most. Downwards it is none,
/// but where the factor is 1: plain min-sum trusts its minima too much, and messages that are cut
/// and rounded down act as an offset, which is better (0.53 to 0.70 of the recorded rate; 0.86 at
/// least elsewhere). At 5 dB, though, these lose 2.5 times as many frames: that row fails.
fn eight_bit_limits(row: &Row) -> (f64, f64) {
    let below = if row.scale > 0.99 { 2.0 } else { row.tolerance() };
    (below, (row.tolerance() * 1.2).min(2.0))
}

/// Measures rows; fails where they leave the tolerance.
fn check(rows: &[Row], forms: &[Form], errors: u64) {
    let mut missed = Vec::new();
    for row in rows {
        for &form in forms {
            if form == Form::Bytes && !row.algorithm.name().contains("ms") {
                continue;
            }
            let Some((ratio, line)) = row.measure(form, errors) else {
                println!("skipped: ../shared/ecc/h/{}.alist is not here", row.file);
                continue;
            };
            println!("{line}");
            // The record's own 100 errors and ours add up to 28 % at two sigma, within 1.35.
            let (below, above) = match form {
                Form::Float => (row.tolerance(), row.tolerance()),
                Form::Bytes => eight_bit_limits(row),
            };
            if ratio > above || ratio < 1.0 / below {
                missed.push(line);
            }
        }
    }
    assert!(missed.is_empty(), "out of tolerance:\n{}", missed.join("\n"));
}

#[test]
fn the_quick_points_are_met() {
    let quick: Vec<Row> = rows().into_iter().filter(|row| row.quick).collect();
    check(&quick, &[Form::Float, Form::Bytes], 100);
}

#[test]
#[ignore = "minutes; run in release with --nocapture for the table"]
fn every_point_is_met() {
    let part = std::env::var("LDPC_ROWS").unwrap_or_default();
    let chosen: Vec<Row> = rows().into_iter().filter(|row| row.name().contains(&part)).collect();
    println!(
        "| row | arithmetic | recorded | measured | ratio | errors |\n|---|---|---|---|---|---|"
    );
    check(&chosen, &[Form::Float, Form::Bytes], 100);
}

/// Without the stop, decided frames must outlast all iterations: their posteriors sit at the limit
/// of 8 bits, where a message must not take off more than it has added.
fn eight_bits_last(decibel: f64, errors: u64) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/ecc/h/WIMAX_480_576.alist");
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: ../shared/ecc/h/{WIMAX}.alist is not here");
        return;
    };
    let code = LdpcCode::from_alist(&text).expect("a matrix of a standard");
    let channel = Channel::awgn(decibel, code.rate());
    for iterations in [10, 50] {
        let rate = |form, stop| {
            let config = DecoderConfig { iterations, stop, ..DecoderConfig::default() };
            let (wrong, frames) = measure(&code, &config, &channel, form, (errors, u64::MAX), 7);
            let fer = wrong as f64 / frames as f64;
            println!("{decibel} dB, {iterations} iterations, stop {stop}: {fer:.3e}, {wrong}");
            fer
        };
        let floats = rate(Form::Float, false);
        let (fixed, stopped) = (rate(Form::Bytes, false), rate(Form::Bytes, true));
        assert!(fixed / floats < 1.35, "{decibel} dB, {iterations} iterations: {fixed:e}");
        assert!(fixed / stopped < 1.1, "{fixed:e} without and {stopped:e} with the stop");
    }
}

#[test]
fn eight_bits_need_no_stop() {
    eight_bits_last(4.0, 60);
}

#[test]
#[ignore = "a minute; run in release"]
fn eight_bits_need_no_stop_at_4_5_db() {
    eight_bits_last(4.5, 60);
}
