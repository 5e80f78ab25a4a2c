//! Comma-separated values (RFC 4180, lines end with LF), plain or with a zstd frame for each piece.
//!
//! A name that a spreadsheet would take for a formula has an apostrophe before it.

use std::io;

use opennandlab_sim::timed::RequestRow;
use zstd::bulk::Compressor;

use super::columns::{Content, Names, COLUMNS};
use super::output::{Format, Place};
use super::PACKING;

/// See the module.
pub(super) struct Csv {
    packer: Option<Compressor<'static>>,
}

impl Csv {
    pub(super) fn plain() -> Self {
        Self { packer: None }
    }

    pub(super) fn packed() -> io::Result<Self> {
        Ok(Self { packer: Some(Compressor::new(PACKING)?) })
    }

    fn packed_if(&mut self, text: Vec<u8>) -> io::Result<Vec<u8>> {
        match &mut self.packer {
            Some(packer) => packer.compress(&text),
            None => Ok(text),
        }
    }
}

impl Format for Csv {
    fn head(&mut self) -> Vec<u8> {
        let names: Vec<_> = COLUMNS.iter().map(|column| column.name.as_str()).collect();
        let line = names.join(",") + "\n";
        self.packed_if(line.into_bytes()).expect("a short text can be compressed")
    }

    fn piece(&mut self, names: &Names, rows: &[RequestRow], _: Place) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let mut digits = itoa::Buffer::new();
        for row in rows {
            for column in COLUMNS.iter() {
                let number = match column.content {
                    Content::Number(of) => of(row),
                    Content::Part(index) => row.parts.0[index],
                    Content::Text(of) => {
                        push_name(&mut text, of(names, row));
                        continue;
                    }
                };
                text.extend_from_slice(digits.format(number).as_bytes());
                text.push(b',');
            }
            text.pop();
            text.push(b'\n');
        }
        self.packed_if(text)
    }

    fn foot(&self, _: usize) -> Vec<u8> {
        Vec::new()
    }
}

/// A name and a comma.
fn push_name(text: &mut Vec<u8>, name: &str) {
    let is_formula = name.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
        || name.starts_with(['\t', '\r', '\n']);
    if is_formula || name.contains(['"', ',', '\n', '\r']) {
        let quoted = name.replace('"', "\"\"");
        let before = if is_formula { "'" } else { "" };
        text.extend_from_slice(format!("\"{before}{quoted}\"").as_bytes());
    } else {
        text.extend_from_slice(name.as_bytes());
    }
    text.push(b',');
}
