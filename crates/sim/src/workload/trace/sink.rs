//! The receiver of the requests while a trace is read.

use super::ops::Flags;
use super::TraceError;
use crate::op::HostOp;
use crate::units::Ns;

/// The receiver of the requests of a trace.
pub(crate) trait Sink {
    /// Takes a request; false if there is no memory for it, `name_bytes` of which names have.
    fn take(&mut self, event: &Event<'_>, name_bytes: u64) -> bool;

    /// The requests until now do not count.
    fn restart(&mut self);
}

/// A request in sectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'a> {
    /// By any clock.
    pub time: Ns,
    pub op: HostOp,
    /// Those that are kept.
    pub flags: Flags,
    /// First sector and count, both 0 of a flush; the count may be 0 of a reset.
    pub span: (u64, u32),
    pub volume_index: usize,
    /// As the trace has it; empty if it has none.
    pub process: &'a str,
}

/// A trace that was read, without its requests.
pub(crate) struct Scanned {
    pub format: &'static str,
    pub volumes: Vec<String>,
    pub skipped_lines: u64,
    pub request_count: u64,
    pub late_count: u64,
    /// Volumes whose requests the trace has a second time.
    pub repeated: Vec<String>,
    /// Line, or byte of a record, of the first request out of the order of time.
    pub first_late: Option<u64>,
    /// Of the volumes.
    pub name_bytes: u64,
    /// If there is no request.
    pub fault: Option<TraceError>,
    pub warnings: Vec<String>,
    pub rounded_warning: Option<String>,
}

impl Scanned {
    /// Warnings, with one of requests out of the order of time; `done` is the treatment.
    pub fn warnings(&self, source_name: &str, done: &str) -> Vec<String> {
        let (late_count, request_count) = (self.late_count, self.request_count);
        let late = (late_count > 0).then(|| {
            let were = if late_count == 1 { "was" } else { "were" };
            format!(
                "{source_name}: {late_count} of {request_count} requests {were} out of time \
                 order{done}"
            )
        });
        self.warnings.iter().cloned().chain(late).chain(self.rounded_warning.clone()).collect()
    }
}
