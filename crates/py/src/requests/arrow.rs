//! An Arrow file (IPC format, metadata version 5): a record batch for each piece.
//!
//! Its descriptions are `FlatBuffers`: tables that refer to values behind them. Numbers are signed,
//! as in Parquet; no value is missing. Nothing is compressed, so that a reader can map the file.

use std::io;

use opennandlab_sim::timed::RequestRow;

use super::columns::{transpose, Column, Content, Names, COLUMNS};
use super::output::{Format, Place};

const MAGIC: &[u8] = b"ARROW1";
/// Buffers and descriptions begin at a multiple of this.
const ALIGN: usize = 8;
// Values of the enumerations of the format.
const VERSION: u8 = 4;
const SCHEMA: u8 = 1;
const RECORD_BATCH: u8 = 3;
const INT: u8 = 2;
const UTF8: u8 = 5;

/// See the module.
#[derive(Default)]
pub(super) struct Arrow {
    /// Of each column; kept for its memory.
    columns: Vec<Vec<u8>>,
    /// Of each batch: its place in the file, bytes of its description, bytes of its body.
    blocks: Vec<[u64; 3]>,
}

impl Format for Arrow {
    fn head(&mut self) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        pad(&mut head);
        head.extend(message(SCHEMA, schema(), 0));
        head
    }

    fn piece(&mut self, names: &Names, rows: &[RequestRow], place: Place) -> io::Result<Vec<u8>> {
        let (mut body, mut buffers, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        let mut end_buffer = |body: &mut Vec<u8>, from: usize| {
            buffers.extend([from as u64, (body.len() - from) as u64]);
            pad(body);
        };
        let text = |out: &mut Vec<u8>, it: &str| out.extend_from_slice(it.as_bytes());
        transpose(names, rows, &mut self.columns, text);
        for (column, values) in COLUMNS.iter().zip(&self.columns) {
            nodes.extend([rows.len() as u64, 0]);
            let from = body.len();
            end_buffer(&mut body, from);
            if let Content::Text(of) = column.content {
                let lengths = rows.iter().map(|row| of(names, row).len() as u32);
                let ends =
                    lengths.scan(0, |end, length| Some(std::mem::replace(end, *end + length)));
                body.extend(ends.flat_map(u32::to_le_bytes));
                body.extend((values.len() as u32).to_le_bytes());
                end_buffer(&mut body, from);
            }
            let from = body.len();
            body.extend_from_slice(values);
            end_buffer(&mut body, from);
        }
        let count = (rows.len() as u64).to_le_bytes();
        let batch = vec![Flat::Scalar(count.to_vec()), structs(&nodes, 16), structs(&buffers, 16)];
        let mut piece = message(RECORD_BATCH, Flat::Table(batch), body.len() as u64);
        self.blocks.truncate(place.pieces);
        self.blocks.push([place.at, piece.len() as u64, body.len() as u64]);
        piece.append(&mut body);
        Ok(piece)
    }

    fn foot(&self, pieces: usize) -> Vec<u8> {
        let mut foot = [u32::MAX.to_le_bytes(), [0; 4]].concat();
        let blocks: Vec<u64> = self.blocks[..pieces].iter().flatten().copied().collect();
        let index = finished(Flat::Table(vec![
            Flat::Scalar(vec![VERSION, 0]),
            schema(),
            structs(&[], 24),
            structs(&blocks, 24),
        ]));
        foot.extend_from_slice(&index);
        foot.extend((index.len() as u32).to_le_bytes());
        foot.extend_from_slice(MAGIC);
        foot
    }
}

fn schema() -> Flat {
    let field = |column: &Column| {
        let (kind, of_kind) = match column.content {
            Content::Text(_) => (UTF8, vec![]),
            Content::Number(_) | Content::Part(_) => {
                (INT, vec![Flat::Scalar(vec![64, 0, 0, 0]), Flat::Scalar(vec![1])])
            }
        };
        Flat::Table(vec![
            Flat::Text(column.name.clone()),
            Flat::Scalar(vec![0]),
            Flat::Scalar(vec![kind]),
            Flat::Table(of_kind),
            Flat::Absent,
            Flat::Tables(vec![]),
        ])
    };
    Flat::Table(vec![Flat::Absent, Flat::Tables(COLUMNS.iter().map(field).collect())])
}

/// A description with its length before it, which ends where its body begins.
fn message(kind: u8, header: Flat, body_bytes: u64) -> Vec<u8> {
    let description = finished(Flat::Table(vec![
        Flat::Scalar(vec![VERSION, 0]),
        Flat::Scalar(vec![kind]),
        header,
        Flat::Scalar(body_bytes.to_le_bytes().to_vec()),
    ]));
    let mut message = [u32::MAX.to_le_bytes(), (description.len() as u32).to_le_bytes()].concat();
    message.extend_from_slice(&description);
    message
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(ALIGN), 0);
}

fn structs(words: &[u64], size: usize) -> Flat {
    Flat::Structs(
        words.len() * ALIGN / size,
        words.iter().flat_map(|it| it.to_le_bytes()).collect(),
    )
}

/// What a `FlatBuffer` is made of.
enum Flat {
    /// The default of its field.
    Absent,
    /// A number of 1, 2, 4 or 8 bytes.
    Scalar(Vec<u8>),
    Text(String),
    Table(Vec<Flat>),
    Tables(Vec<Flat>),
    /// How many, and their bytes.
    Structs(usize, Vec<u8>),
}

/// The bytes of a root, a multiple of 8.
fn finished(root: Flat) -> Vec<u8> {
    let mut out = vec![0; 4];
    refer(&mut out, 0, root);
    pad(&mut out);
    out
}

/// Appends a value, and lets the four bytes at `place` refer to it.
fn refer(out: &mut Vec<u8>, place: usize, value: Flat) {
    pad(out);
    let mut children = Vec::new();
    let begin = match value {
        Flat::Absent | Flat::Scalar(_) => unreachable!("stands in its table"),
        Flat::Text(text) => {
            out.extend((text.len() as u32).to_le_bytes());
            out.extend(text.bytes().chain([0]));
            out.len() - text.len() - 5
        }
        Flat::Structs(count, bytes) => {
            out.extend([[0; 4], (count as u32).to_le_bytes()].concat());
            out.extend_from_slice(&bytes);
            out.len() - bytes.len() - 4
        }
        Flat::Tables(tables) => {
            let begin = out.len();
            out.extend((tables.len() as u32).to_le_bytes());
            for table in tables {
                children.push((out.len(), table));
                out.extend([0; 4]);
            }
            begin
        }
        Flat::Table(fields) => table(out, fields, &mut children),
    };
    out[place..place + 4].copy_from_slice(&((begin - place) as u32).to_le_bytes());
    for (place, child) in children {
        refer(out, place, child);
    }
}

/// Appends a table behind the places of its fields; those that refer to a value are returned.
fn table(out: &mut Vec<u8>, fields: Vec<Flat>, children: &mut Vec<(usize, Flat)>) -> usize {
    let places_at = out.len();
    out.resize(places_at + 4 + 2 * fields.len(), 0);
    pad(out);
    let begin = out.len();
    out.extend(((begin - places_at) as u32).to_le_bytes());
    for (index, field) in fields.into_iter().enumerate() {
        let bytes = match field {
            Flat::Absent => continue,
            Flat::Scalar(bytes) => bytes,
            _ => {
                out.resize(out.len().next_multiple_of(4), 0);
                children.push((out.len(), field));
                vec![0; 4]
            }
        };
        out.resize(out.len().next_multiple_of(bytes.len()), 0);
        let place = (out.len() - begin) as u16;
        out[places_at + 4 + 2 * index..][..2].copy_from_slice(&place.to_le_bytes());
        out.extend(bytes);
    }
    let sizes = [(begin - places_at) as u16, (out.len() - begin) as u16];
    for (index, size) in sizes.into_iter().enumerate() {
        out[places_at + 2 * index..][..2].copy_from_slice(&size.to_le_bytes());
    }
    begin
}
