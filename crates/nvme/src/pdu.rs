//! Protocol data units: their common header, and those that a controller sends.
//!
//! ```text
//! type u8 · flags u8 · header length u8 · data offset u8 · length u32 · … [digest] [data [digest]]
//! ```
//! Source: NVMe over TCP Transport Specification, 3.6.

use crate::bytes::{get, put, put_number};
use crate::command::Entry;
use crate::digest::crc32c;
use crate::status::Status;

/// Bytes of the common header.
pub(crate) const HEAD_BYTES: usize = 8;
/// Bytes of a digest.
pub(crate) const DIGEST_BYTES: usize = 4;
/// Most bytes of data in one PDU of a host.
pub(crate) const H2C_BYTES_MAX: u32 = 128 << 10;
/// Most bytes of data in a capsule.
pub(crate) const CAPSULE_BYTES_MAX: u32 = 16 << 10;

const IC_REQUEST: u8 = 0;
const IC_RESPONSE: u8 = 1;
const HOST_TERMINATES: u8 = 2;
const TERMINATE: u8 = 3;
const COMMAND: u8 = 4;
const RESPONSE: u8 = 5;
const H2C_DATA: u8 = 6;
const C2H_DATA: u8 = 7;
const R2T: u8 = 9;

const IC_BYTES: u8 = 128;
const COMMAND_BYTES: u8 = 72;
const DATA_HEAD_BYTES: u8 = 24;

const HEADER_DIGEST: u8 = 1;
const DATA_DIGEST: u8 = 2;
const LAST: u8 = 4;
const SUCCESS: u8 = 8;

/// Why a connection ends: the status of a termination request, and where in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fatal {
    pub(crate) status: u16,
    pub(crate) offset: u32,
}

impl Fatal {
    const fn header(offset: u32) -> Self {
        Self { status: 1, offset }
    }

    pub(crate) const SEQUENCE: Self = Self { status: 2, offset: 0 };
    pub(crate) const DIGEST: Self = Self { status: 3, offset: 0 };
    pub(crate) const RANGE: Self = Self { status: 4, offset: 0 };
    pub(crate) const LIMIT: Self = Self { status: 5, offset: 0 };
    pub(crate) const VERSION: Self = Self { status: 6, offset: 8 };
}

/// What a host sends after its first PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Command,
    Data,
    Terminates,
}

/// A PDU whose header makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    /// Bytes of the header without its digest.
    pub(crate) header: usize,
    /// Bytes of its data without their digest.
    pub(crate) data: usize,
    /// Whether it is the last with data of its command.
    pub(crate) is_last: bool,
}

/// Which PDUs carry digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digests {
    pub(crate) header: bool,
    pub(crate) data: bool,
}

/// The digests that the first PDU of a host asks for.
pub(crate) fn initialize(bytes: &[u8; IC_BYTES as usize]) -> Result<Digests, Fatal> {
    if bytes[0] != IC_REQUEST {
        return Err(Fatal::SEQUENCE);
    }
    if bytes[2] != IC_BYTES || get(bytes, 4, 4) != u64::from(IC_BYTES) {
        return Err(Fatal::header(if bytes[2] == IC_BYTES { 4 } else { 2 }));
    }
    if get(bytes, 8, 2) != 0 {
        return Err(Fatal::VERSION);
    }
    Ok(Digests { header: bytes[11] & 1 != 0, data: bytes[11] & 2 != 0 })
}

/// The answer to it.
pub(crate) fn initialized(digests: Digests) -> Vec<u8> {
    let mut bytes = head(IC_RESPONSE, IC_BYTES, 0);
    bytes[11] = u8::from(digests.header) | u8::from(digests.data) << 1;
    put_number(&mut bytes, 12, 4, u64::from(H2C_BYTES_MAX));
    bytes
}

impl Digests {
    fn header_bytes(self) -> usize {
        if self.header {
            DIGEST_BYTES
        } else {
            0
        }
    }

    /// Reads the common header.
    pub(crate) fn shape(self, bytes: [u8; HEAD_BYTES]) -> Result<Shape, Fatal> {
        let [kind, flags, header, data_offset, ..] = bytes;
        let length = get(&bytes, 4, 4) as usize;
        let (kind, expected, most) = match kind {
            COMMAND => (Kind::Command, COMMAND_BYTES, CAPSULE_BYTES_MAX),
            H2C_DATA => (Kind::Data, DATA_HEAD_BYTES, H2C_BYTES_MAX),
            // The header of the PDU that the host did not like.
            HOST_TERMINATES => (Kind::Terminates, DATA_HEAD_BYTES, 128),
            IC_REQUEST => return Err(Fatal::SEQUENCE),
            _ => return Err(Fatal::header(0)),
        };
        if header != expected {
            return Err(Fatal::header(2));
        }
        let header = usize::from(header);
        if kind == Kind::Terminates {
            let data = length.checked_sub(header).filter(|&data| data <= most as usize);
            let data = data.ok_or(Fatal::header(4))?;
            return Ok(Shape { kind, header, data, is_last: true });
        }
        if (flags & HEADER_DIGEST != 0) != self.header {
            return Err(Fatal::header(1));
        }
        let begin = header + self.header_bytes();
        let Some(behind) = length.checked_sub(begin) else { return Err(Fatal::header(4)) };
        let is_last = flags & LAST != 0;
        if behind == 0 {
            return Ok(Shape { kind, header, data: 0, is_last });
        }
        if usize::from(data_offset) != begin {
            return Err(Fatal::header(3));
        }
        if (flags & DATA_DIGEST != 0) != self.data {
            return Err(Fatal::header(1));
        }
        let digest = if self.data { DIGEST_BYTES } else { 0 };
        match behind.checked_sub(digest) {
            None | Some(0) => Err(Fatal::header(4)),
            Some(data) if data > most as usize => Err(Fatal::LIMIT),
            Some(data) => Ok(Shape { kind, header, data, is_last }),
        }
    }

    /// The first bytes of a PDU with 24 bytes of header; `data` follow, with their digest.
    fn head(self, kind: u8, flags: u8, data: u32) -> [u8; DATA_HEAD_BYTES as usize] {
        let flags = flags | if self.header { HEADER_DIGEST } else { 0 };
        let length = u32::from(DATA_HEAD_BYTES) + self.header_bytes() as u32 + data;
        let mut bytes = [0; DATA_HEAD_BYTES as usize];
        put(&mut bytes, 0, &[kind, flags, DATA_HEAD_BYTES, 0]);
        put_number(&mut bytes, 4, 4, length.into());
        bytes
    }

    /// Adds a header and its digest to a reply.
    fn add(self, header: &[u8], reply: &mut Vec<u8>) {
        reply.extend_from_slice(header);
        if self.header {
            reply.extend_from_slice(&crc32c(header).to_le_bytes());
        }
    }

    /// Asks for the data of a command.
    pub(crate) fn ready(self, id: u16, tag: u16, length: u32) -> Vec<u8> {
        let mut bytes = self.head(R2T, 0, 0);
        put_number(&mut bytes, 8, 2, u64::from(id));
        put_number(&mut bytes, 10, 2, u64::from(tag));
        put_number(&mut bytes, 16, 4, u64::from(length));
        let mut reply = Vec::with_capacity(bytes.len() + DIGEST_BYTES);
        self.add(&bytes, &mut reply);
        reply
    }

    /// Adds the header of all data of a command; [`Digests::data_end`] goes behind the data. With
    /// `is_success` no completion follows.
    pub(crate) fn data_head(self, id: u16, length: u32, is_success: bool, reply: &mut Vec<u8>) {
        let flags = LAST | if is_success { SUCCESS } else { 0 };
        let digest = if self.data { DIGEST_BYTES as u32 } else { 0 };
        let flags = flags | if self.data { DATA_DIGEST } else { 0 };
        let mut bytes = self.head(C2H_DATA, flags, length + digest);
        bytes[3] = DATA_HEAD_BYTES + self.header_bytes() as u8;
        put_number(&mut bytes, 8, 2, u64::from(id));
        put_number(&mut bytes, 16, 4, u64::from(length));
        self.add(&bytes, reply);
    }

    /// Adds the digest of data that begins at `start`.
    pub(crate) fn data_end(self, reply: &mut Vec<u8>, start: usize) {
        if self.data {
            let digest = crc32c(&reply[start..]);
            reply.extend(digest.to_le_bytes());
        }
    }

    /// Adds a completion.
    pub(crate) fn response(self, completion: &[u8; 16], reply: &mut Vec<u8>) {
        let mut bytes = self.head(RESPONSE, 0, 0);
        put(&mut bytes, 8, completion);
        self.add(&bytes, reply);
    }
}

/// A header of zeros but for its first 8 bytes, which have the length of all that follows.
fn head(kind: u8, header: u8, data: u32) -> Vec<u8> {
    let mut bytes = vec![0; usize::from(header)];
    put(&mut bytes, 0, &[kind, 0, header, 0]);
    put_number(&mut bytes, 4, 4, u64::from(header) + u64::from(data));
    bytes
}

/// A completion queue entry.
pub(crate) fn completion(entry: &Entry, queue: (u16, u16), first: u64, status: Status) -> [u8; 16] {
    let mut bytes = [0; 16];
    put_number(&mut bytes, 0, 8, first);
    put_number(&mut bytes, 8, 2, u64::from(queue.1));
    put_number(&mut bytes, 10, 2, u64::from(queue.0));
    put_number(&mut bytes, 12, 2, u64::from(entry.id()));
    put_number(&mut bytes, 14, 2, u64::from(status.field()));
    bytes
}

/// The last PDU before a connection is closed, with the header that was no good.
pub(crate) fn terminate(fatal: Fatal, bad: &[u8]) -> Vec<u8> {
    let bad = &bad[..bad.len().min(usize::from(IC_BYTES))];
    let mut bytes = head(TERMINATE, DATA_HEAD_BYTES, bad.len() as u32);
    put_number(&mut bytes, 8, 2, u64::from(fatal.status));
    put_number(&mut bytes, 10, 4, u64::from(fatal.offset));
    bytes.extend(bad);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(version: u16, digests: u8) -> [u8; 128] {
        let mut bytes = [0; 128];
        put(&mut bytes, 0, &[0, 0, 128, 0, 128]);
        put_number(&mut bytes, 8, 2, u64::from(version));
        bytes[11] = digests;
        bytes
    }

    #[test]
    fn a_connection_is_initialized_with_the_digests_that_were_asked_for() {
        for asked in 0..4 {
            let digests = initialize(&request(0, asked)).expect("a sound request");
            let bytes = initialized(digests);
            let mut expected = vec![1, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, asked, 0, 0, 2, 0];
            expected.resize(128, 0);
            assert_eq!(bytes, expected);
        }
        assert_eq!(initialize(&request(1, 0)), Err(Fatal::VERSION));
        let mut command = request(0, 0);
        command[0] = 4;
        assert_eq!(initialize(&command), Err(Fatal::SEQUENCE));
        command[0] = 0;
        command[4] = 127;
        assert_eq!(initialize(&command), Err(Fatal::header(4)));
    }

    #[test]
    fn headers_are_read_as_they_are_laid_out() {
        let plain = Digests::default();
        let both = Digests { header: true, data: true };
        let shape = |kind, data| Ok(Shape { kind, header: 72, data, is_last: false });
        assert_eq!(plain.shape([4, 0, 72, 72, 72, 0, 0, 0]), shape(Kind::Command, 0));
        assert_eq!(plain.shape([4, 0, 72, 72, 72, 16, 0, 0]), shape(Kind::Command, 4096));
        assert_eq!(both.shape([4, 3, 72, 76, 80, 16, 0, 0]), shape(Kind::Command, 4096));
        assert_eq!(both.shape([4, 1, 72, 76, 76, 0, 0, 0]), shape(Kind::Command, 0));
        let bad = [
            ([4, 0, 72, 72, 71, 0, 0, 0], Fatal::header(4)),
            ([4, 0, 24, 72, 72, 0, 0, 0], Fatal::header(2)),
            ([4, 0, 72, 76, 72, 16, 0, 0], Fatal::header(3)),
            ([4, 1, 72, 76, 76, 0, 0, 0], Fatal::header(1)),
            ([4, 0, 72, 72, 255, 255, 255, 255], Fatal::LIMIT),
            ([6, 4, 24, 24, 25, 0, 2, 0], Fatal::LIMIT),
            ([5, 0, 24, 24, 24, 0, 0, 0], Fatal::header(0)),
            ([0, 0, 128, 0, 128, 0, 0, 0], Fatal::SEQUENCE),
        ];
        for (bytes, fatal) in bad {
            assert_eq!(plain.shape(bytes), Err(fatal), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_sent_is_as_long_as_it_says() {
        for digests in [Digests::default(), Digests { header: true, data: true }] {
            let mut reply = Vec::new();
            digests.data_head(7, 4096, false, &mut reply);
            let start = reply.len();
            assert_eq!(start, usize::from(reply[3]));
            reply.extend([1; 4096]);
            digests.data_end(&mut reply, start);
            assert_eq!(reply.len() as u64, get(&reply, 4, 4));
            assert_eq!((get(&reply, 8, 2), get(&reply, 16, 4)), (7, 4096));
            let asks = digests.ready(7, 9, 512);
            assert_eq!(asks.len() as u64, get(&asks, 4, 4));
            assert_eq!((asks[0], get(&asks, 10, 2), get(&asks, 16, 4)), (9, 9, 512));
        }
        let ends = terminate(Fatal::RANGE, &[6; 24]);
        assert_eq!((ends.len(), ends[0], ends[4], ends[8]), (48, 3, 48, 4));
    }
}
