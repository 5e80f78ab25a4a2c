//! Features of a controller: numbers that a host sets and gets.

use std::time::Instant;

use crate::behavior::{Behavior, BEHAVIOR};
use crate::bytes::{get, put_number};
use crate::status::Status;

pub(crate) const TEMPERATURE: u8 = 0x04;
pub(crate) const ERROR_RECOVERY: u8 = 0x05;
pub(crate) const WRITE_CACHE: u8 = 0x06;
pub(crate) const QUEUES: u8 = 0x07;
pub(crate) const EVENTS: u8 = 0x0b;
pub(crate) const TIMESTAMP: u8 = 0x0e;
pub(crate) const KEEP_ALIVE: u8 = 0x0f;
/// Which combination of command sets is in use.
pub(crate) const COMMAND_SETS: u8 = 0x19;
pub(crate) const HOST_ID: u8 = 0x81;

/// Composite temperature that a drive warns at, and at which it is in danger, in kelvins: assumed.
pub(crate) const WARNING_K: u16 = 343;
pub(crate) const CRITICAL_K: u16 = 353;

/// I/O queues of a controller.
pub(crate) const QUEUES_MAX: u32 = 8;

/// Features that are a number without an effect here: identifier and value at first.
/// Arbitration, power management (the one state is 0), temperature, error recovery, events,
/// thermal management.
const STORED: [(u8, u32); 6] = [
    (0x01, 0),
    (0x02, 0),
    (TEMPERATURE, WARNING_K as u32),
    (ERROR_RECOVERY, 0),
    (EVENTS, 0),
    (0x10, 0),
];

/// See the module.
pub(crate) struct Features {
    stored: [u32; STORED.len()],
    /// Granted: queues for submission and completion, each less one.
    queues: u32,
    pub(crate) keep_alive_ms: u32,
    /// Milliseconds that the host has set, and when.
    timestamp: (u64, Instant),
    is_timestamp_set: bool,
    /// Behavior that the host supports.
    pub(crate) behavior: Behavior,
}

impl Default for Features {
    fn default() -> Self {
        Self {
            stored: STORED.map(|(_, value)| value),
            queues: granted(QUEUES_MAX - 1, QUEUES_MAX - 1),
            keep_alive_ms: 0,
            timestamp: (0, Instant::now()),
            is_timestamp_set: false,
            behavior: Behavior::default(),
        }
    }
}

/// Whether a feature is a number without an effect.
pub(crate) fn is_stored(id: u8) -> bool {
    place(id).is_some()
}

fn place(id: u8) -> Option<usize> {
    STORED.iter().position(|&(stored, _)| stored == id)
}

fn granted(submission: u32, completion: u32) -> u32 {
    submission.min(QUEUES_MAX - 1) | completion.min(QUEUES_MAX - 1) << 16
}

/// Whether a threshold is the upper one of the drive's sensor, or of all sensors.
pub(crate) fn is_of_sensor(value: u32) -> bool {
    matches!(value >> 16, 0 | 0xf)
}

impl Features {
    /// Which events the host wants.
    pub(crate) fn events(&self) -> u32 {
        place(EVENTS).map_or(0, |place| self.stored[place])
    }

    /// I/O queues that the host may connect.
    pub(crate) fn queue_count(&self) -> u32 {
        (self.queues & 0xffff) + 1
    }

    /// The time that the host has set, as logs have it.
    pub(crate) fn time(&self) -> [u8; 8] {
        let (set, at) = self.timestamp;
        let mut data = [0; 8];
        put_number(&mut data, 0, 6, set + at.elapsed().as_millis() as u64);
        // Its origin: set by the host, or the reset.
        data[6] = u8::from(self.is_timestamp_set) << 1;
        data
    }

    /// Sets a feature that this holds; the first dword of the completion.
    pub(crate) fn set(&mut self, id: u8, value: u32, data: &[u8]) -> Result<u32, Status> {
        match id {
            QUEUES if value & 0xffff == 0xffff || value >> 16 == 0xffff => Err(Status::FIELD),
            QUEUES => {
                self.queues = granted(value & 0xffff, value >> 16);
                Ok(self.queues)
            }
            KEEP_ALIVE => {
                self.keep_alive_ms = value;
                Ok(0)
            }
            TIMESTAMP if data.len() < 8 => Err(Status::SGL_LENGTH),
            TIMESTAMP => {
                self.timestamp = (get(data, 0, 6), Instant::now());
                self.is_timestamp_set = true;
                Ok(0)
            }
            BEHAVIOR => {
                self.behavior = Behavior::of(data)?;
                Ok(0)
            }
            HOST_ID => Err(Status::NOT_CHANGEABLE),
            0x02 if value & 0x1f != 0 => Err(Status::FIELD),
            TEMPERATURE if !is_of_sensor(value) => Err(Status::FIELD),
            TEMPERATURE => {
                self.stored[place(id).ok_or(Status::FIELD)?] = value & 0xffff;
                Ok(0)
            }
            _ => {
                self.stored[place(id).ok_or(Status::FIELD)?] = value;
                Ok(0)
            }
        }
    }

    /// The present value of a feature that this holds, and its data.
    pub(crate) fn get(&self, id: u8) -> Result<(u32, Vec<u8>), Status> {
        match id {
            QUEUES => Ok((self.queues, Vec::new())),
            KEEP_ALIVE => Ok((self.keep_alive_ms, Vec::new())),
            TIMESTAMP => Ok((0, self.time().to_vec())),
            BEHAVIOR => Ok((0, self.behavior.data())),
            _ => Ok((self.stored[place(id).ok_or(Status::FIELD)?], Vec::new())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_granted_up_to_a_limit() {
        let mut features = Features::default();
        assert_eq!(features.set(QUEUES, 0x0003_0001, &[]), Ok(0x0003_0001));
        assert_eq!(features.queue_count(), 2);
        assert_eq!(features.set(QUEUES, 0x00ff_00ff, &[]), Ok(0x0007_0007));
        assert_eq!(features.set(QUEUES, 0xffff, &[]), Err(Status::FIELD));
        assert_eq!(features.set(0x1d, 0, &[]), Err(Status::FIELD));
        // The lower limit is another one.
        assert_eq!(features.set(TEMPERATURE, 0x0010_010e, &[]), Err(Status::FIELD));
        assert_eq!(features.set(HOST_ID, 0, &[]), Err(Status::NOT_CHANGEABLE));
    }

    #[test]
    fn features_are_kept_as_they_were_set() {
        let mut features = Features::default();
        for (id, value) in [(0x01, 7), (TEMPERATURE, 300), (EVENTS, 0x100), (KEEP_ALIVE, 5000)] {
            assert_eq!(features.set(id, value, &[]), Ok(0));
            assert_eq!(features.get(id), Ok((value, Vec::new())));
        }
        let (_, data) = features.get(TIMESTAMP).expect("there is one");
        assert_eq!(data[6], 0);
        features.set(TIMESTAMP, 0, &[0, 0, 0, 0, 1, 0, 0, 0]).expect("8 bytes");
        let (_, data) = features.get(TIMESTAMP).expect("there is one");
        assert_eq!((data[4], data[6]), (1, 2));
    }
}
