//! The kernel against the CPU engine, on this processor: frames.cu is compiled as C++.
//!
//! It shows the arithmetic of the kernel on a machine without a device; on one with a device,
//! `tools/gpu_check.sh` compares the counts.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use opennandlab_ecc::bch::BchCode;
use opennandlab_ecc::cell::{Thresholds, TwoStates};
use opennandlab_ecc::channel::{BitErrors, Channel};
use opennandlab_ecc::ldpc::{Algorithm, DecoderConfig, LdpcCode};
use opennandlab_ecc::monte_carlo::{
    run_chunk, Arithmetic, Codec, Codewords, Gpu, Launch, Ldpc, Outcome, Tables, Tally, Task,
};

/// The compiled kernel, or why there is none.
fn program() -> Result<&'static Path, &'static str> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = PROGRAM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gpu_kernel.cpp");
        // In the folder of the program of these tests, which may be written to.
        let target = std::env::current_exe().expect("this program").with_extension("frames");
        let done = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()))
            .args(["-std=c++17", "-O2", "-Wall", "-Werror", "-o"])
            .args([&target, &source])
            .output()
            .map_err(|error| format!("no C++ compiler: {error}"))?;
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Ok(target)
    });
    found.as_deref().map_err(String::as_str)
}

/// The kernel on this processor.
struct Host {
    program: &'static Path,
    tables: Tables,
}

impl Launch for Host {
    fn frames_max(&self) -> u64 {
        1 << 20
    }

    fn launch(&mut self, words: &[u8], first: u64, count: u32) -> Result<Vec<Outcome>, String> {
        let Tables { code, bins, borders, stream, frame_bytes } = &self.tables;
        let sizes = [code.len(), bins.len(), borders.len(), words.len()].map(|size| size as u64);
        let numbers = [*stream, first, count.into(), *frame_bytes];
        let mut input: Vec<u8> =
            sizes.iter().chain(&numbers).flat_map(|size| size.to_le_bytes()).collect();
        input.extend(code.iter().flat_map(|value| value.to_le_bytes()));
        input.extend(bins);
        input.extend(borders.iter().flat_map(|value| value.to_le_bytes()));
        input.extend(words);
        let pipe = || Stdio::piped();
        let mut child =
            Command::new(self.program).stdin(pipe()).stdout(pipe()).spawn().expect("it starts");
        child.stdin.take().expect("a pipe").write_all(&input).expect("it reads all");
        let done = child.wait_with_output().expect("it ends");
        assert!(done.status.success(), "{}", done.status);
        let values: Vec<u32> =
            done.stdout.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
        assert_eq!(values.len(), 4 * count as usize);
        Ok(values.as_chunks().0.to_vec())
    }
}

fn codec(code: LdpcCode, config: DecoderConfig) -> Arc<Codec> {
    let ldpc = Ldpc::new(code, config, Arithmetic::Int8).expect("a decoder");
    Arc::new(Codec::Soft(Box::new(ldpc)))
}

fn task(channel: Channel) -> Task {
    let errors = BitErrors::Natural;
    Task { channel, codewords: Codewords::Random, errors, seed: 42, point: 7 }
}

fn sensing(rber: f64, ratio: f64, reads: usize) -> Channel {
    let states = TwoStates::with_ratio(rber, ratio).expect("states");
    Channel::discrete(&states, &Thresholds::Best(reads).table(&states).expect("a table"))
}

/// Runs frames by both, in batches that end anywhere; returns the tally of all.
fn compare(codec: &Arc<Codec>, task: &Task, cuts: &[u64]) -> Option<Tally> {
    let program = program().map_err(|reason| println!("skipped: {reason}")).ok()?;
    let host = |tables| Ok(Box::new(Host { program, tables }) as Box<dyn Launch>);
    let gpu = Gpu::on(codec, task, host).expect("the kernel does this");
    let chunk = codec.chunk_frames();
    let mut sum = Tally::default();
    for pair in cuts.windows(2) {
        let tallies = gpu.run(pair[0]..pair[1]).expect("it runs");
        let mut first = pair[0];
        for tally in tallies {
            let limit = pair[1].min((first / chunk + 1) * chunk);
            assert_eq!(tally, run_chunk(codec, task, first..limit), "frames {first}..{limit}");
            sum += tally;
            first = limit;
        }
        assert_eq!(first, pair[1]);
    }
    Some(sum)
}

#[test]
fn the_kernel_counts_as_the_cpu_does() {
    let code = || LdpcCode::nand("nand-n1024-r0889").expect("a code");
    let bsc = Channel::bsc(9e-3).expect("a channel");
    let nms = DecoderConfig::default();
    let oms = DecoderConfig { algorithm: Algorithm::LayeredOms, ..nms };
    let rows = [
        (nms, bsc.clone()),
        (DecoderConfig { scale: 0.8, iterations: 3, ..nms }, sensing(1.5e-2, 1.0, 3)),
        (DecoderConfig { scale: 1.0, ..nms }, sensing(1.5e-2, 1.4, 7)),
        (oms, sensing(1.4e-2, 1.0, 7)),
        (DecoderConfig { stop: false, iterations: 5, ..oms }, bsc),
    ];
    for (config, channel) in rows {
        let codec = codec(code(), config);
        let task = task(channel);
        let Some(sum) = compare(&codec, &task, &[5, 130, 131, 900]) else { return };
        assert!(sum.frame_errors > 0 && sum.frame_errors < sum.frames, "{config:?}: {sum:?}");
        let zero = Task { codewords: Codewords::Zero, ..task };
        assert!(compare(&codec, &zero, &[0, 200]).is_some());
    }
}

#[test]
fn punctured_bits_and_checks_of_any_weight_count_the_same() {
    // A bit that is not sent, checks of two to five bits, bits of one to three checks.
    let text = "7 4 5\n1 3 0 2 0 -1 -1\n4 -1 2 -1 0 0 -1\n-1 2 1 0 -1 0 0\n0 1 4 2 -1 -1 0\n\
                1 1 1 0 1 1 1\n";
    let codec = codec(LdpcCode::from_qc(text).expect("a code"), DecoderConfig::default());
    let Some(sum) = compare(&codec, &task(sensing(4e-2, 1.0, 3)), &[0, 4000, 9000]) else {
        return;
    };
    assert!(sum.frame_errors > 100 && sum.undetected > 0, "{sum:?}");
}

#[test]
#[ignore = "a minute"]
fn a_hundred_thousand_frames_count_the_same() {
    let nms = DecoderConfig::default();
    // Small batches, which fit the cache: neighbouring threads have neighbouring bytes.
    let cuts: Vec<u64> = (0..=200).map(|step| step * 500).collect();
    let rows = [
        ("nand-n1024-r0889", sensing(1.3e-2, 1.0, 3), &cuts[..]),
        ("nand-4k-r090", Channel::bsc(8e-3).expect("a channel"), &[0, 64, 200, 336, 472]),
    ];
    for (name, channel, cuts) in rows {
        let codec = codec(LdpcCode::nand(name).expect("a code"), nms);
        let Some(sum) = compare(&codec, &task(channel), cuts) else { return };
        println!("{name}: {sum:?}");
        assert!(sum.frame_errors > 0 && sum.frame_errors < sum.frames, "{name}: {sum:?}");
    }
}

#[test]
fn what_the_kernel_does_not_do_is_refused() {
    let code = || LdpcCode::nand("nand-n1024-r0889").expect("a code");
    let bsc = task(Channel::bsc(9e-3).expect("a channel"));
    let reason = |codec: &Arc<Codec>, task: &Task| Gpu::new(codec, task).err().expect("refused");
    let config = DecoderConfig { algorithm: Algorithm::FloodingNms, ..DecoderConfig::default() };
    assert!(reason(&codec(code(), config), &bsc).contains("accepted: layered-nms"));
    let float = Ldpc::new(code(), DecoderConfig::default(), Arithmetic::Float32).expect("one");
    assert!(reason(&Arc::new(Codec::Soft(Box::new(float))), &bsc)
        .contains("accepted: an LDPC code with arithmetic int8"));
    let bch = BchCode::new(8, 4, None).expect("a code");
    assert!(reason(&Arc::new(Codec::Hard(Box::new(bch))), &bsc).contains("accepted: an LDPC code"));
    let codec = codec(code(), DecoderConfig::default());
    let awgn = task(Channel::awgn(4.0, 0.9).expect("a channel"));
    assert!(reason(&codec, &awgn).contains("accepted: bsc or sensing:N"));
    let stratum = Task { errors: BitErrors::Exactly(3), ..bsc.clone() };
    assert!(reason(&codec, &stratum).contains("the errors of the channel"));
    // A device that is found is used; else there is none, or none in this build.
    if let Err(reason) = Gpu::new(&codec, &bsc) {
        assert!(reason.starts_with("gpu"), "{reason}");
    }
}
