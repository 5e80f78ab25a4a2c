//! Copy: ranges to another place of the same namespace or, once the host has enabled that, of
//! another one. The data does not go over the wire, but it is read from the flash and written again
//! by one write, in the time of the model.
//!
//! Source: NVM Express NVM Command Set Specification 1.2, 3.3.2 (command 19h, formats 0h and 2h;
//! 1h and 3h belong to protection information on the wire).

use std::ops::Range;

use opennandlab_serve::line::Line;
use opennandlab_sim::session::Refusal;

use crate::behavior::Behavior;
use crate::bytes::{get, put_number};
use crate::command::Entry;
use crate::namespaces::Namespace;
use crate::status::Status;
use crate::target::Target;

/// Bytes of a source range.
const RANGE_BYTES: usize = 32;
/// Most bytes of a command, and of a range of it.
const BYTES_MAX: u64 = 1 << 20;
/// Source ranges of a command.
const RANGES_MAX: usize = 128;
/// Source ranges that name their namespace.
const OF_NAMESPACES: u32 = 2;
/// Bit n: source ranges of format n.
const FORMATS: u64 = 1 | 1 << OF_NAMESPACES;
/// Of optional commands: Copy, as one write, and faster than reads and writes of the host.
pub(crate) const COMMANDS: u64 = 1 << 8 | 1 << 9 | 1 << 10;

/// What a copy reads, and where in the drive it writes.
pub(crate) struct Copy {
    pub(crate) sources: Vec<Range<u64>>,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl Copy {
    /// The command of an entry to a namespace, and its source ranges.
    pub(crate) fn of(
        (target, namespace): (&Target, &Namespace),
        behavior: Behavior,
        entry: &Entry,
        data: &[u8],
    ) -> Result<Self, Status> {
        let (count, format) = ((entry.dword(12) & 0xff) as usize + 1, entry.dword(12) >> 8 & 0xf);
        if FORMATS >> format & 1 == 0 || !behavior.enables(format) {
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
            let source = match format {
                OF_NAMESPACES => target.namespace(get(bytes, 0, 4) as u32)?,
                _ => namespace,
            };
            if source.format() != namespace.format() {
                return Err(Status::INCOMPATIBLE);
            }
            let (offset, length) = source.range(first, blocks)?;
            total += length;
            if total > BYTES_MAX {
                return Err(Status::COPY_SIZE);
            }
            sources.push(offset..offset + length);
        }
        let blocks = total / namespace.block_bytes();
        let first = get(&entry.0, 40, 8);
        let (offset, length) = namespace.range(first, blocks)?;
        let overlaps = |it: &Range<u64>| it.start < offset + length && offset < it.end;
        if format == OF_NAMESPACES && sources.iter().any(overlaps) {
            return Err(Status::OVERLAP);
        }
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
