//! Requests as lines of a file, in the order of their arrival.
//!
//! A request ends when it is answered, and later ones may end before; those wait here until all in
//! front of them have ended. Many may wait behind one slow request.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::request::{Command, Request};

/// The first line of a record.
pub const HEADER: &str = "seq,conn,op,flags,off,len,t_arrive,t_target,t_reply\n";

/// Times of a request in nanoseconds since the server began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// It was read from the socket.
    pub arrive: u64,
    /// When the drive is done with it.
    pub target: u64,
    /// Its reply was handed to the socket.
    pub reply: u64,
}

/// See the module.
pub struct Recorder {
    file: Box<dyn Write + Send>,
    waiting: BTreeMap<u64, String>,
    next: u64,
    error: Option<io::Error>,
}

impl Recorder {
    /// A record that goes to `file`.
    ///
    /// # Errors
    /// Those of writing to the file.
    pub fn new(mut file: Box<dyn Write + Send>) -> io::Result<Self> {
        file.write_all(HEADER.as_bytes())?;
        Ok(Self { file, waiting: BTreeMap::new(), next: 0, error: None })
    }

    /// A request was answered.
    pub fn note(&mut self, sequence: u64, connection: u64, request: &Request, times: &Times) {
        let Request { command, flags, offset, length, .. } = *request;
        let (offset, length) = if command == Command::Flush { (0, 0) } else { (offset, length) };
        let op = command.name();
        let Times { arrive, target, reply } = times;
        let line = format!(
            "{sequence},{connection},{op},{flags},{offset},{length},{arrive},{target},{reply}\n"
        );
        self.put(sequence, line);
    }

    /// A request will never be answered: it is left out.
    pub fn skip(&mut self, sequence: u64) {
        self.put(sequence, String::new());
    }

    fn put(&mut self, sequence: u64, line: String) {
        self.waiting.insert(sequence, line);
        while let Some(line) = self.waiting.remove(&self.next) {
            self.next += 1;
            if self.error.is_none() {
                self.error = self.file.write_all(line.as_bytes()).err();
            }
        }
    }

    /// Ends the file; requests that were never answered are left out.
    ///
    /// # Errors
    /// The first error of writing to the file.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        for line in self.waiting.values() {
            self.file.write_all(line.as_bytes())?;
        }
        self.file.flush()
    }
}
