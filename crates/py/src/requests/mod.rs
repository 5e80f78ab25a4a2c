//! Rows of requests as a file, written during the run.
//!
//! ```text
//! run ── full batch ──► thread: columns of a format ──► file, in pieces
//!   ◄── its memory ──────
//! ```
//! One batch is filled while another is written, so a run takes the memory of two, however long it
//! is. A file that cannot grow any more, as on a full disk, ends with the last piece that fits; the
//! run is not disturbed.

mod arrow;
mod columns;
mod csv;
mod output;
mod parquet;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{channel, sync_channel, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use opennandlab_sim::run::{Progress, Simulation};
use opennandlab_sim::timed::RequestRow;

pub(crate) use columns::Names;
pub(crate) use output::Kept;
use output::{Format, Output};

/// Level of zstd: the fastest of those that pack well.
const PACKING: i32 = 1;

/// Where the rows of a run go.
pub(crate) struct Recorder {
    /// Without rows; kept for its memory.
    spare: Vec<RequestRow>,
    full: SyncSender<Vec<RequestRow>>,
    written: Receiver<Vec<RequestRow>>,
    thread: JoinHandle<Kept>,
    /// Rows handed on.
    offered: u64,
    /// Operations and commands of the run.
    work: u64,
}

impl Recorder {
    /// Begins a file at `path`, which must exist; its ending decides the format.
    ///
    /// # Errors
    /// When the file cannot be opened, or the ending is unknown.
    pub(crate) fn begin(path: &Path, ending: &str, names: Names) -> io::Result<Self> {
        let format: Box<dyn Format> = match ending {
            "csv" => Box::new(csv::Csv::plain()),
            "csv.zst" => Box::new(csv::Csv::packed()?),
            "parquet" => Box::new(parquet::Parquet::new()?),
            "arrow" => Box::new(arrow::Arrow::default()),
            other => {
                return Err(io::Error::other(format!("{other} is not an ending of such a file")))
            }
        };
        let mut output = Output::new(File::options().write(true).open(path)?, format);
        // Without room: a batch waits here until the one before it is written.
        let (full, batches) = sync_channel::<Vec<RequestRow>>(0);
        let (back, written) = channel();
        let thread = thread::Builder::new().name("requests".into()).spawn(move || {
            for batch in batches {
                output.add(&names, &batch);
                // Fails for the last ones, whose memory is not needed.
                let _ = back.send(batch);
            }
            output.finish()
        })?;
        Ok(Self { spare: Vec::new(), full, written, thread, offered: 0, work: 0 })
    }

    /// Runs about `ops` operations further, and hands on each batch that is full.
    pub(crate) fn advance(&mut self, drive: &mut Simulation, ops: u64) -> Progress {
        let mut left = ops;
        loop {
            let progress = drive.advance(left);
            let work = progress.host_ios + progress.flash_ops;
            left = left.saturating_sub(work - std::mem::replace(&mut self.work, work));
            if !drive.has_full_batch() {
                return progress;
            }
            self.take(drive);
            if left == 0 {
                return progress;
            }
        }
    }

    /// Hands on the rows that wait in a drive.
    fn take(&mut self, drive: &mut Simulation) {
        let mut batch = std::mem::take(&mut self.spare);
        drive.swap_requests(&mut batch);
        self.offered += batch.len() as u64;
        // Fails only if the thread has panicked, which `finish` reports.
        let _ = self.full.send(batch);
        self.spare = self.written.try_recv().unwrap_or_default();
    }

    /// Ends the file with the rows that are left: its rows, and the number of rows that there were.
    pub(crate) fn finish(mut self, drive: &mut Simulation) -> (Kept, u64) {
        self.take(drive);
        drop(self.full);
        let panicked = |_| Kept { rows: None, problem: Some("the writer failed".into()) };
        (self.thread.join().unwrap_or_else(panicked), self.offered)
    }
}
