//! Frames by both engines: `gpu_check [FRAMES]`; counts are compared, rates printed.
//!
//! `tools/gpu_check.sh` builds and runs it. Exit code 1: counts differ, or there is no device.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use opennandlab_ecc::channel::{BitErrors, Channel};
use opennandlab_ecc::ldpc::{DecoderConfig, LdpcCode};
use opennandlab_ecc::monte_carlo::{
    run_chunk, Arithmetic, Codec, Codewords, Gpu, Ldpc, Tally, Task,
};

/// Codes, and an RBER at which some frames fail.
const CODES: [(&str, f64); 2] = [("nand-n1024-r0889", 5e-3), ("nand-4k-r090", 7e-3)];

fn main() -> ExitCode {
    let frames = std::env::args().nth(1).map_or(100_000, |text| text.parse().expect("frames"));
    for (name, rber) in CODES {
        if let Err(reason) = check(name, rber, frames) {
            eprintln!("{name}: {reason}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn check(name: &str, rber: f64, frames: u64) -> Result<(), String> {
    let code = LdpcCode::nand(name).map_err(|error| error.to_string())?;
    let ldpc = Ldpc::new(code, DecoderConfig::default(), Arithmetic::Int8);
    let codec = Arc::new(Codec::Soft(Box::new(ldpc.map_err(|error| error.to_string())?)));
    let channel = Channel::bsc(rber).map_err(|error| error.to_string())?;
    let (codewords, errors) = (Codewords::Random, BitErrors::Natural);
    let task = Task { channel, codewords, errors, seed: 42, point: 1 };
    let gpu = Gpu::new(&codec, &task)?;
    // The first launch sets up the device.
    gpu.run(0..codec.chunk_frames())?;
    let began = Instant::now();
    let mut on_gpu = Tally::default();
    for first in (0..frames).step_by(gpu.frames_max() as usize) {
        for tally in gpu.run(first..frames.min(first + gpu.frames_max()))? {
            on_gpu += tally;
        }
    }
    print_rate(name, "gpu, words encoded on one core", began, &codec, frames);
    let began = Instant::now();
    let on_cpu = on_all_cores(&codec, &task, frames);
    print_rate(name, "cpu, all cores", began, &codec, frames);
    println!("{name}: {on_cpu:?}");
    if on_gpu == on_cpu {
        Ok(())
    } else {
        Err(format!("the GPU counted otherwise: {on_gpu:?}"))
    }
}

fn on_all_cores(codec: &Codec, task: &Task, frames: u64) -> Tally {
    let (next, sum) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    let chunk = codec.chunk_frames();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| loop {
                let first = next.fetch_add(chunk, Ordering::Relaxed);
                if first >= frames {
                    return;
                }
                let tally = run_chunk(codec, task, first..frames.min(first + chunk));
                *sum.lock().expect("no thread panics") += tally;
            });
        }
    });
    sum.into_inner().expect("no thread panics")
}

fn print_rate(name: &str, engine: &str, began: Instant, codec: &Codec, frames: u64) {
    let per_s = frames as f64 / began.elapsed().as_secs_f64();
    let mbit_s = per_s * codec.info_bits() as f64 / 1e6;
    println!("{name}: {engine}: {per_s:.0} frames/s, {mbit_s:.0} Mbit/s of information");
}
