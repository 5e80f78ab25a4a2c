//! The requests that change the drive, with their bytes, in the order in which the drive receives
//! them: the possible contents of the disk after a loss of power are computed from this file.
//!
//! ```text
//! head    "ONLCAPT" 1 · capacity u64 · unit bytes u32 · 0 u32                     little endian
//! entry   kind u8 · command u8 · flags u16 · errno u32 · sequence u64 · offset u64
//!         · length u32 · connection u32 · time u64 [· bytes of a write]
//! ```
//! Kinds: 1 begun, 2 answered, 3 power off, 4 power on. Commands are those of the protocol: 1
//! write, 3 flush, 4 trim, 6 zeroes; reads are left out. A request is answered here before its
//! reply is sent, so a client never knows of an answer that is not here. Times are of the monotonic
//! clock of the machine, in nanoseconds, so other programs can compare theirs. A file that was cut
//! off is good up to its last whole entry.

use std::io::{self, Write};

use crate::request::{Command, Errno, Request};

/// The first bytes of a file.
const MAGIC: &[u8; 8] = b"ONLCAPT\x01";

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The drive received the request.
    Begun = 1,
    /// The drive completed the request.
    Answered = 2,
    /// The power failed.
    Off = 3,
    /// The drive is back.
    On = 4,
}

/// See the module.
pub struct Capture {
    file: Box<dyn Write + Send>,
    error: Option<io::Error>,
}

/// The number of a command that changes the drive.
fn number(command: Command) -> Option<u8> {
    match command {
        Command::Write => Some(1),
        Command::Flush => Some(3),
        Command::Trim => Some(4),
        Command::WriteZeroes => Some(6),
        _ => None,
    }
}

impl Capture {
    /// Starts the file of a drive with a capacity of `capacity` bytes.
    ///
    /// # Errors
    /// Those of writing to the file.
    pub fn new(mut file: Box<dyn Write + Send>, capacity: u64, unit: u32) -> io::Result<Self> {
        file.write_all(MAGIC)?;
        file.write_all(&capacity.to_le_bytes())?;
        file.write_all(&u64::from(unit).to_le_bytes())?;
        Ok(Self { file, error: None })
    }

    /// Something happened to a request.
    pub fn note(
        &mut self,
        kind: Kind,
        (sequence, connection): (u64, u64),
        (request, errno): (&Request, Errno),
        at: u64,
        data: &[u8],
    ) {
        let Some(command) = number(request.command) else { return };
        let (offset, length) = match request.command {
            Command::Flush => (0, 0),
            _ => (request.offset, request.length),
        };
        let head = entry(kind, command, request.flags, errno as u32, sequence);
        self.write(&head);
        self.write(&offset.to_le_bytes());
        self.write(&length.to_le_bytes());
        self.write(&(connection as u32).to_le_bytes());
        self.write(&at.to_le_bytes());
        if kind == Kind::Begun && request.command == Command::Write {
            self.write(data);
        }
    }

    /// Something happened to the supply.
    pub fn note_power(&mut self, kind: Kind, at: u64) {
        self.write(&entry(kind, 0, 0, 0, 0));
        self.write(&[0; 16]);
        self.write(&at.to_le_bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.file.write_all(bytes).err();
        }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The first error of writing to the file.
    pub fn finish(mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.file.flush(),
        }
    }
}

fn entry(kind: Kind, command: u8, flags: u16, errno: u32, sequence: u64) -> [u8; 16] {
    let mut head = [0; 16];
    (head[0], head[1]) = (kind as u8, command);
    head[2..4].copy_from_slice(&flags.to_le_bytes());
    head[4..8].copy_from_slice(&errno.to_le_bytes());
    head[8..].copy_from_slice(&sequence.to_le_bytes());
    head
}
