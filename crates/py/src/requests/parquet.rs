//! Parquet (format version 2.9, Thrift's compact protocol): a group of rows for each piece.
//!
//! Every column is required and a page of plain values, compressed with zstd: columns of zeros and
//! of names that repeat take some bytes. So what a general library of this format knows beyond
//! that (levels, dictionaries, other encodings) is not needed.

use std::io;

use opennandlab_sim::timed::RequestRow;
use zstd::bulk::Compressor;

use super::columns::{transpose, Column, Content, Names, COLUMNS};
use super::output::{Format, Place};
use super::PACKING;

const MAGIC: &[u8] = b"PAR1";
// Values of the enumerations of the format.
const INT64: u64 = 2;
const BYTE_ARRAY: u64 = 6;
const REQUIRED: u64 = 0;
const UTF8: u64 = 0;
const PLAIN: u64 = 0;
const RLE: u64 = 3;
const ZSTD: u64 = 6;
const DATA_PAGE: u64 = 0;

/// See the module.
pub(super) struct Parquet {
    packer: Compressor<'static>,
    /// Of each column; kept for its memory.
    plain: Vec<Vec<u8>>,
    /// The description of each group, and the rows up to its end.
    groups: Vec<(Vec<u8>, u64)>,
}

impl Parquet {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { packer: Compressor::new(PACKING)?, plain: Vec::new(), groups: Vec::new() })
    }
}

impl Format for Parquet {
    fn head(&mut self) -> Vec<u8> {
        MAGIC.to_vec()
    }

    fn piece(&mut self, names: &Names, rows: &[RequestRow], place: Place) -> io::Result<Vec<u8>> {
        let count = rows.len() as u64;
        transpose(names, rows, &mut self.plain, |out, it| {
            out.extend_from_slice(&(it.len() as u32).to_le_bytes());
            out.extend_from_slice(it.as_bytes());
        });
        let (mut piece, mut chunks, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (column, plain) in COLUMNS.iter().zip(&self.plain) {
            let packed = self.packer.compress(plain)?;
            let values = Record::default().i32(1, count).i32(2, PLAIN).i32(3, RLE).i32(4, RLE);
            let header = Record::default()
                .i32(1, DATA_PAGE)
                .i32(2, plain.len() as u64)
                .i32(3, packed.len() as u64)
                .record(5, values)
                .done();
            let first = place.at + piece.len() as u64;
            let data = Record::default()
                .i32(1, type_of(column))
                .list(2, Kind::I32, vec![varint(zigzag(PLAIN))])
                .list(3, Kind::Binary, vec![text_of(&column.name)])
                .i32(4, ZSTD)
                .i64(5, count)
                .i64(6, (header.len() + plain.len()) as u64)
                .i64(7, (header.len() + packed.len()) as u64)
                .i64(9, first);
            chunks.push(Record::default().i64(2, first).record(3, data).done());
            bytes += (header.len() + plain.len()) as u64;
            piece.extend_from_slice(&header);
            piece.extend_from_slice(&packed);
        }
        let group = Record::default().list(1, Kind::Record, chunks).i64(2, bytes).i64(3, count);
        self.groups.truncate(place.pieces);
        let before = self.groups.last().map_or(0, |group| group.1);
        self.groups.push((group.done(), before + count));
        Ok(piece)
    }

    fn foot(&self, pieces: usize) -> Vec<u8> {
        let groups = &self.groups[..pieces];
        let root = Record::default().text(4, "requests").i32(5, COLUMNS.len() as u64).done();
        let mut schema = vec![root];
        schema.extend(COLUMNS.iter().map(|column| {
            let element =
                Record::default().i32(1, type_of(column)).i32(3, REQUIRED).text(4, &column.name);
            match column.content {
                Content::Text(_) => element.i32(6, UTF8).done(),
                Content::Number(_) | Content::Part(_) => element.done(),
            }
        }));
        let mut foot = Record::default()
            .i32(1, 2)
            .list(2, Kind::Record, schema)
            .i64(3, groups.last().map_or(0, |group| group.1))
            .list(4, Kind::Record, groups.iter().map(|group| group.0.clone()).collect())
            .text(6, concat!("opennandlab version ", env!("CARGO_PKG_VERSION")))
            .done();
        foot.extend_from_slice(&(foot.len() as u32).to_le_bytes());
        foot.extend_from_slice(MAGIC);
        foot
    }
}

fn type_of(column: &Column) -> u64 {
    match column.content {
        Content::Text(_) => BYTE_ARRAY,
        Content::Number(_) | Content::Part(_) => INT64,
    }
}

/// Types of fields in the compact protocol.
#[derive(Clone, Copy)]
enum Kind {
    I32 = 5,
    I64 = 6,
    Binary = 8,
    List = 9,
    Record = 12,
}

/// A record in the compact protocol; fields are added in the order of their numbers.
#[derive(Default)]
struct Record {
    bytes: Vec<u8>,
    last: u8,
}

impl Record {
    fn field(mut self, number: u8, kind: Kind, value: &[u8]) -> Self {
        self.bytes.push((number - self.last) << 4 | kind as u8);
        self.last = number;
        self.bytes.extend_from_slice(value);
        self
    }

    fn i32(self, number: u8, value: u64) -> Self {
        self.field(number, Kind::I32, &varint(zigzag(value)))
    }

    fn i64(self, number: u8, value: u64) -> Self {
        self.field(number, Kind::I64, &varint(zigzag(value)))
    }

    fn text(self, number: u8, value: &str) -> Self {
        self.field(number, Kind::Binary, &text_of(value))
    }

    fn record(self, number: u8, value: Self) -> Self {
        self.field(number, Kind::Record, &value.done())
    }

    fn list(self, number: u8, kind: Kind, values: Vec<Vec<u8>>) -> Self {
        let mut list = match values.len() {
            count @ 0..15 => vec![(count as u8) << 4 | kind as u8],
            count => [vec![0xf0 | kind as u8], varint(count as u64)].concat(),
        };
        list.extend(values.into_iter().flatten());
        self.field(number, Kind::List, &list)
    }

    fn done(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn text_of(text: &str) -> Vec<u8> {
    [varint(text.len() as u64), text.as_bytes().to_vec()].concat()
}

/// Of a number that is not negative.
fn zigzag(value: u64) -> u64 {
    value << 1
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
