//! A file of pieces that is valid whenever it ends with one.
//!
//! ```text
//! head │ piece │ piece │ … │ foot          what cannot grow any more:   head │ piece │ foot
//! ```
//! Where not even the foot fits behind the last piece, it is written over it: that place on the
//! disk is ours already.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use opennandlab_sim::timed::RequestRow;

use super::columns::Names;

/// How rows become bytes.
pub(super) trait Format: Send {
    /// What the file begins with.
    fn head(&mut self) -> Vec<u8>;
    /// Some rows, at least one, for this place of the file.
    fn piece(&mut self, names: &Names, rows: &[RequestRow], at: u64) -> io::Result<Vec<u8>>;
    /// What the file ends with behind the first pieces.
    fn foot(&self, pieces: usize) -> Vec<u8>;
}

/// What a file holds that is ended.
pub(crate) struct Kept {
    /// Rows; `None`: it is no valid file.
    pub(crate) rows: Option<u64>,
    /// Why it does not hold all of them.
    pub(crate) problem: Option<String>,
}

/// See the module.
pub(super) struct Output {
    file: File,
    format: Box<dyn Format>,
    /// Where the head and each piece end, and the rows up to there.
    ends: Vec<(u64, u64)>,
    problem: Option<io::Error>,
}

impl Output {
    /// An empty file.
    pub(super) fn new(file: File, format: Box<dyn Format>) -> Self {
        let mut output = Self { file, format, ends: Vec::new(), problem: None };
        let head = output.format.head();
        output.append(Ok(head), 0);
        output
    }

    /// Adds rows, unless some could not be written before.
    pub(super) fn add(&mut self, names: &Names, rows: &[RequestRow]) {
        if rows.is_empty() || self.problem.is_some() {
            return;
        }
        let piece = self.format.piece(names, rows, self.end().0);
        self.append(piece, rows.len() as u64);
    }

    fn end(&self) -> (u64, u64) {
        self.ends.last().copied().unwrap_or_default()
    }

    fn append(&mut self, piece: io::Result<Vec<u8>>, count: u64) {
        let (at, rows) = self.end();
        let written = piece.and_then(|piece| {
            self.file.write_all(&piece)?;
            Ok(at + piece.len() as u64)
        });
        match written {
            Ok(end) => self.ends.push((end, rows + count)),
            Err(error) => {
                self.problem = Some(error);
                // If that fails, `finish` tries again.
                let _ = self.file.set_len(at);
            }
        }
    }

    /// Ends the file with as many of its pieces as leave room for its foot.
    pub(super) fn finish(mut self) -> Kept {
        while let Some(&(end, rows)) = self.ends.last() {
            match self.close(end) {
                Ok(()) => {
                    let problem = self.problem.map(|error| reason(&error));
                    return Kept { rows: Some(rows), problem };
                }
                Err(error) => {
                    self.problem.get_or_insert(error);
                    self.ends.pop();
                }
            }
        }
        Kept { rows: None, problem: self.problem.map(|error| reason(&error)) }
    }

    fn close(&mut self, end: u64) -> io::Result<()> {
        let foot = self.format.foot(self.ends.len() - 1);
        self.file.seek(SeekFrom::Start(end))?;
        self.file.write_all(&foot)?;
        self.file.set_len(end + foot.len() as u64)?;
        self.file.sync_all()
    }
}

/// The error of the system without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
