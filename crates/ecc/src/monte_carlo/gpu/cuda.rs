//! The kernel on a device of CUDA: libraries are loaded and the kernel is compiled at run time.
#![allow(unsafe_code)]

use std::sync::Arc;

use cudarc::driver::{
    sys, CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::{self, CompileOptions};

use super::{Launch, Outcome, Tables};

const KERNEL: &str = include_str!("frames.cu");

/// Threads of a block.
const BLOCK: u32 = 128;

/// The first device, with the tables and memory for a batch.
pub(super) struct Cuda {
    stream: Arc<CudaStream>,
    kernel: CudaFunction,
    code: CudaSlice<u32>,
    bins: CudaSlice<u8>,
    borders: CudaSlice<f64>,
    tables: Tables,
    frames_max: u64,
}

impl Cuda {
    /// # Errors
    /// With the reason: no driver, no compiler, no device, no memory.
    pub fn new(tables: Tables) -> Result<Self, String> {
        // SAFETY: both only load a library by its name, whose initialisers are NVIDIA's.
        let (driver, compiler) =
            unsafe { (sys::is_culib_present(), nvrtc::sys::is_culib_present()) };
        if !driver {
            return Err("gpu needs an NVIDIA driver, and libcuda was not found".into());
        }
        if !compiler {
            return Err("gpu needs the CUDA compiler, and libnvrtc was not found".into());
        }
        // Products and sums are rounded one by one, as on this processor.
        let options = CompileOptions { fmad: Some(false), ..CompileOptions::default() };
        let compiled = nvrtc::compile_ptx_with_opts(KERNEL, options)
            .map_err(|error| format!("gpu: the kernel was rejected: {error}"))?;
        Self::load(compiled, tables).map_err(|error| format!("gpu: {error}"))
    }

    fn load(compiled: nvrtc::Ptx, tables: Tables) -> Result<Self, DriverError> {
        let context = CudaContext::new(0)?;
        let stream = context.default_stream();
        let kernel = context.load_module(compiled)?.load_function("frames")?;
        let code = stream.clone_htod(&tables.code)?;
        let bins = stream.clone_htod(&tables.bins)?;
        let borders = stream.clone_htod(&tables.borders)?;
        let (free, _) = context.mem_get_info()?;
        // A quarter stays free: for the driver, and for what else runs there.
        let frames_max = free as u64 / 4 * 3 / tables.frame_bytes;
        Ok(Self { stream, kernel, code, bins, borders, tables, frames_max })
    }

    fn try_launch(
        &self,
        words: &[u8],
        first: u64,
        count: u32,
    ) -> Result<Vec<Outcome>, DriverError> {
        let stream = &self.stream;
        let words = stream.clone_htod(words)?;
        // SAFETY: bytes of any value are values; the kernel writes all that it reads.
        let mut scratch =
            unsafe { stream.alloc::<u8>((self.tables.frame_bytes * u64::from(count)) as usize)? };
        let mut out = stream.alloc_zeros::<u32>(count as usize * size_of::<Outcome>() / 4)?;
        let grid = LaunchConfig {
            grid_dim: (count.div_ceil(BLOCK), 1, 1),
            block_dim: (BLOCK, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut arguments = stream.launch_builder(&self.kernel);
        arguments.arg(&self.code).arg(&self.bins).arg(&self.borders).arg(&words);
        arguments.arg(&mut scratch).arg(&mut out).arg(&self.tables.stream).arg(&first).arg(&count);
        // SAFETY: number, order and types of the arguments are those of `frames` in frames.cu; the
        // buffers have the sizes that it derives from the table `code` and from `count`.
        unsafe { arguments.launch(grid)? };
        let out = stream.clone_dtoh(&out)?;
        // Memory that is given back before the wait is free after it.
        drop((words, scratch));
        stream.synchronize()?;
        Ok(out.as_chunks().0.to_vec())
    }
}

impl Launch for Cuda {
    fn frames_max(&self) -> u64 {
        self.frames_max
    }

    fn launch(&mut self, words: &[u8], first: u64, count: u32) -> Result<Vec<Outcome>, String> {
        self.try_launch(words, first, count).map_err(|error| format!("gpu: {error}"))
    }
}
