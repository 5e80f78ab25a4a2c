//! The command queue of 5.1: tasks that wait until the host has them executed.
//!
//! Source: JESD84-B51, 6.6 Command Queuing, and the tables of CMD44 to CMD48. A task of this card
//! is ready as soon as it is queued; the order in which real drives serve waiting tasks is not
//! public.

use super::registers::QUEUE_DEPTH;

/// A task: CMD44 and CMD45.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) is_read: bool,
    pub(super) is_reliable: bool,
    pub(super) blocks: u64,
    /// The first sector of the partition.
    pub(super) sector: u64,
}

/// See the module.
#[derive(Default)]
pub(super) struct Queue {
    tasks: [Option<Task>; QUEUE_DEPTH as usize],
    /// CMD44 came, and CMD45 not yet.
    begun: Option<(usize, Task)>,
}

/// The task that bits 20 to 16 of an argument name.
pub(super) fn id_of(argument: u32) -> usize {
    (argument >> 16 & 0x1f) as usize
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.tasks.iter().all(Option::is_none) && self.begun.is_none()
    }

    /// CMD44; false for a task that waits already, and one without blocks.
    pub(super) fn begin(&mut self, argument: u32) -> bool {
        let (id, blocks) = (id_of(argument), u64::from(argument & 0xffff));
        if self.tasks[id].is_some() || blocks == 0 {
            return false;
        }
        let task = Task {
            is_read: argument >> 30 & 1 == 1,
            is_reliable: argument >> 31 == 1,
            blocks,
            sector: 0,
        };
        self.begun = Some((id, task));
        true
    }

    /// The task that CMD44 began, for CMD45.
    pub(super) fn begun(&mut self) -> Option<(usize, Task)> {
        self.begun.take()
    }

    pub(super) fn add(&mut self, id: usize, task: Task) {
        self.tasks[id] = Some(task);
    }

    /// Takes a task to execute it.
    pub(super) fn take(&mut self, id: usize, is_read: bool) -> Option<Task> {
        self.tasks[id].take_if(|task| task.is_read == is_read)
    }

    /// The queue status register: a bit for each task that is ready.
    pub(super) fn status(&self) -> u32 {
        let bits = self.tasks.iter().enumerate().filter(|(_, task)| task.is_some());
        bits.fold(0, |bits, (id, _)| bits | 1 << id)
    }

    /// CMD48; false for an operation that does not exist, or a task that does not.
    pub(super) fn discard(&mut self, argument: u32) -> bool {
        match argument & 0xf {
            1 => {
                *self = Self::default();
                true
            }
            2 => self.tasks[id_of(argument)].take().is_some(),
            _ => false,
        }
    }
}
