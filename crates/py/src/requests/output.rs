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
    /// Some rows, at least one, for this place of the file; later pieces do not count any more.
    fn piece(&mut self, names: &Names, rows: &[RequestRow], place: Place) -> io::Result<Vec<u8>>;
    /// What the file ends with behind the first pieces.
    fn foot(&self, pieces: usize) -> Vec<u8>;
}

/// Where a piece is in its file.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Its first byte.
    pub(super) at: u64,
    /// Pieces before it.
    pub(super) pieces: usize,
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
    /// Of the invalid ones, as many as fit.
    pub(super) fn add(&mut self, names: &Names, rows: &[RequestRow]) {
        let mut left = if self.problem.is_some() { &[] } else { rows };
        let mut count = left.len();
        while count > 0 {
            let place = Place { at: self.end().0, pieces: self.ends.len() - 1 };
            let piece = self.format.piece(names, &left[..count], place);
            let is_written = self.append(piece, count as u64);
            if is_written {
                left = &left[count..];
            }
            // Behind the first that does not fit, half as many are tried.
            count = if self.problem.is_some() { count / 2 } else { left.len() };
        }
    }

    fn end(&self) -> (u64, u64) {
        self.ends.last().copied().unwrap_or_default()
    }

    fn append(&mut self, piece: io::Result<Vec<u8>>, count: u64) -> bool {
        let (at, rows) = self.end();
        let written = piece.and_then(|piece| {
            self.file.write_all(&piece)?;
            Ok(at + piece.len() as u64)
        });
        match written {
            Ok(end) => {
                self.ends.push((end, rows + count));
                true
            }
            Err(error) => {
                self.problem.get_or_insert(error);
                // If that fails, `finish` tries again.
                let _ = self.file.set_len(at).and_then(|()| self.file.seek(SeekFrom::Start(at)));
                false
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
