//! Copy: ranges of a namespace to another place in it. The data does not go over the wire, but it
//! is read from the flash and written again, in the time of the model.
//!
//! Source: NVM Command Set Specification 1.0: command 19h, source ranges of format 0.

use std::ops::Range;

use opennandlab_serve::line::Line;
use opennandlab_sim::session::Refusal;

use crate::bytes::{get, put_number};
use crate::command::Entry;
use crate::namespaces::Namespace;
use crate::status::Status;

/// Bytes of a source range.
const RANGE_BYTES: usize = 32;
/// Most bytes of a command, and of a range of it.
const BYTES_MAX: u64 = 1 << 20;
/// Source ranges of a command.
const RANGES_MAX: usize = 128;
/// Bit n: source ranges of format n.
const FORMATS: u64 = 1;

/// What a copy reads, and where in the drive it writes.
pub(crate) struct Copy {
    pub(crate) sources: Vec<Range<u64>>,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl Copy {
    /// The command of an entry and its source ranges.
    pub(crate) fn of(namespace: &Namespace, entry: &Entry, data: &[u8]) -> Result<Self, Status> {
        let (count, format) = ((entry.dword(12) & 0xff) as usize + 1, entry.dword(12) >> 8 & 0xf);
        if FORMATS >> format & 1 == 0 {
            return Err(Status::FIELD);
        }
        if count > RANGES_MAX {
            return Err(Status::COPY_SIZE);
        }
        if data.len() < count * RANGE_BYTES {
            return Err(Status::SGL_LENGTH);
        }
        let (mut sources, mut total) = (Vec::with_capacity(count), 0);
        for bytes in data.chunks_exact(RANGE_BYTES).take(count) {
            let (first, blocks) = (get(bytes, 8, 8), get(bytes, 16, 2) + 1);
            let (offset, length) = namespace.range(first, blocks)?;
            total += length;
            if total > BYTES_MAX {
                return Err(Status::COPY_SIZE);
            }
            sources.push(offset..offset + length);
        }
        let blocks = total / namespace.block_bytes();
        let first = get(&entry.0, 40, 8);
        let (offset, length) = namespace.range(first, blocks)?;
        Ok(Self { sources, offset, length: length as u32 })
    }

    /// The data, as it is now.
    pub(crate) fn data(&self, line: &Line<'_>) -> Result<Vec<u8>, Refusal> {
        let mut data = vec![0; self.length as usize];
        line.drive(|session, _, _| {
            let mut rest = &mut data[..];
            for source in &self.sources {
                let (here, behind) = rest.split_at_mut((source.end - source.start) as usize);
                session.read(source.start, here)?;
                rest = behind;
            }
            Ok(())
        })
        .map(|()| data)
    }
}

/// Puts the limits of copies: in the page of a controller the formats, in that of a namespace
/// how much.
pub(crate) fn announce(namespace: Option<&Namespace>, page: &mut [u8]) {
    let Some(namespace) = namespace else { return put_number(page, 534, 2, FORMATS) };
    let blocks = BYTES_MAX / namespace.block_bytes();
    put_number(page, 74, 2, blocks);
    put_number(page, 76, 4, blocks);
    put_number(page, 80, 1, RANGES_MAX as u64 - 1);
}
