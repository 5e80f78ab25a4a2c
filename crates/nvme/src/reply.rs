//! Completions, alone or behind the data that they complete.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use opennandlab_serve::answer::{Answer, Fault};
use opennandlab_serve::request::Errno;
use opennandlab_sim::session::Refusal;

use crate::command::Entry;
use crate::failures::Failures;
use crate::pdu::{completion, Digests};
use crate::status::{Outcome, Status};

/// What a completion needs to know of its command.
#[derive(Clone)]
pub(crate) struct Ticket {
    pub(crate) failures: Arc<Failures>,
    pub(crate) entry: Entry,
    pub(crate) digests: Digests,
    /// Queue and its head.
    pub(crate) queue: (u16, u16),
    /// Without flow control of the queue, data that went well needs no completion.
    pub(crate) is_brief: bool,
}

impl Ticket {
    /// Adds the completion to a reply.
    pub(crate) fn complete(&self, outcome: Outcome, reply: &mut Vec<u8>) {
        let (first, status) = match outcome {
            Ok(first) => (first, Status::OK),
            Err(status) => (0, status),
        };
        if status != Status::OK {
            self.failures.note(self.queue.0, &self.entry, status);
        }
        let bytes = completion(&self.entry, self.queue, first, status);
        self.digests.response(&bytes, reply);
    }

    /// The completion alone.
    pub(crate) fn completed(&self, outcome: Outcome) -> Vec<u8> {
        let mut reply = Vec::new();
        self.complete(outcome, &mut reply);
        reply
    }

    /// Data, and the completion.
    pub(crate) fn with_data(&self, first: u32, data: &[u8]) -> Vec<u8> {
        let mut reply = Vec::new();
        if !data.is_empty() {
            self.digests.data_head(self.entry.id(), data.len() as u32, false, &mut reply);
            let start = reply.len();
            reply.extend(data);
            self.digests.data_end(&mut reply, start);
        }
        self.complete(Ok(u64::from(first)), &mut reply);
        reply
    }
}

/// The end of a command of several requests: that of the last of them.
pub(crate) struct Joint {
    left: AtomicU32,
    status: Mutex<Status>,
}

impl Joint {
    pub(crate) fn new(parts: u32) -> Self {
        Self { left: AtomicU32::new(parts), status: Mutex::new(Status::OK) }
    }

    /// A request has ended; the status of the command if it was the last.
    fn end(&self, status: Status) -> Option<Status> {
        let mut joint = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        if *joint == Status::OK {
            *joint = status;
        }
        (self.left.fetch_sub(1, Ordering::SeqCst) == 1).then_some(*joint)
    }
}

/// What a request is for.
pub(crate) enum Purpose {
    /// Its data goes to the host.
    Read,
    /// Its data is examined alone.
    Verify,
    /// It is compared with this.
    Compare(Vec<u8>),
    /// It has no data.
    Change,
    /// It writes the data of these bytes of the drive.
    Copy(Vec<Range<u64>>),
    /// The same, and the host learns the block that its data begins at.
    Append {
        /// Bytes of a block.
        block_bytes: u64,
        /// That block, when it is known.
        block: u64,
    },
    /// The same, and there are others for the same command.
    Part(Arc<Joint>),
}

/// The reply to a request of the drive.
pub(crate) struct Reply {
    pub(crate) ticket: Ticket,
    pub(crate) purpose: Purpose,
    /// Bytes of a read.
    pub(crate) length: u32,
}

/// The status for a fault of the drive.
pub(crate) fn status(fault: Fault) -> Status {
    match fault {
        Fault::Checked(Errno::Ok) => Status::OK,
        Fault::Checked(_) => Status::FIELD,
        Fault::Drive(Refusal::WornOut) => Status::WRITE_PROTECTED,
        Fault::Drive(Refusal::Purging { mark }) => Status::of_purge(mark),
        Fault::Drive(Refusal::Zone(status)) => Status::of_zone(status),
        Fault::Drive(Refusal::Uncorrectable) => Status::UNRECOVERED,
        Fault::Drive(Refusal::Media(error)) => match error.what {
            "a guard tag does not fit" => Status::GUARD,
            "an application tag does not fit" => Status::APPLICATION_TAG,
            "a reference tag does not fit" => Status::REFERENCE_TAG,
            _ => Status::UNRECOVERED,
        },
    }
}

impl Answer for Reply {
    fn head(&mut self, reply: &mut Vec<u8>) {
        if matches!(self.purpose, Purpose::Read) {
            let Ticket { digests, entry, is_brief, .. } = &self.ticket;
            digests.data_head(entry.id(), self.length, *is_brief, reply);
        }
    }

    fn placed(&mut self, byte: u64) {
        if let Purpose::Append { block_bytes, block } = &mut self.purpose {
            *block = byte / *block_bytes;
        }
    }

    fn sources(&self) -> &[Range<u64>] {
        match &self.purpose {
            Purpose::Copy(sources) => sources,
            _ => &[],
        }
    }

    fn end(&mut self, outcome: Result<(), Fault>, reply: &mut Vec<u8>, start: usize) {
        let mut status = outcome.map_or_else(status, |()| Status::OK);
        let is_sound = status == Status::OK;
        match &self.purpose {
            Purpose::Read if is_sound => {
                let data = reply.len() - self.length as usize;
                self.ticket.digests.data_end(reply, data);
                if self.ticket.is_brief {
                    return;
                }
            }
            Purpose::Compare(expected) if is_sound => {
                if reply[start..] != expected[..] {
                    status = Status::COMPARE;
                }
                reply.truncate(start);
            }
            Purpose::Verify => reply.truncate(start),
            Purpose::Part(joint) => match joint.end(status) {
                None => return,
                Some(joint) => status = joint,
            },
            _ => {}
        }
        let first = if let Purpose::Append { block, .. } = self.purpose { block } else { 0 };
        let outcome = if status == Status::OK { Ok(first) } else { Err(status) };
        self.ticket.complete(outcome, reply);
    }
}
