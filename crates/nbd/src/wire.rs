//! The bytes of the protocol: numbers, requests of the transmission phase, replies.
//!
//! Source: the NBD protocol document, sections "Transmission", "Values" and "Structured replies".
//! All numbers are big endian.

use opennandlab_serve::request::{Command, Errno, Request, DF, FUA, NO_HOLE, REQ_ONE};
use opennandlab_sim::session::Extent;

/// "NBDMAGIC", which a server begins with.
pub const MAGIC: u64 = 0x4e42_444d_4147_4943;
/// "IHAVEOPT", before options.
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// Before replies to options.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const SIMPLE_MAGIC: u32 = 0x6744_6698;
const STRUCTURED_MAGIC: u32 = 0x668e_33ef;

/// Bytes of a request without its data.
pub const REQUEST_BYTES: usize = 28;
/// Most bytes that a request may read or write: the largest block size that is announced.
pub use opennandlab_serve::line::DATA_BYTES_MAX;

/// Flags of the export: it has flags, and takes flushes, FUA, trims and zeroes; it may be used on
/// several connections; replies may be asked for in one piece; pages may be fetched ahead.
pub const EXPORT_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8 | 1 << 10;
/// Flag of the export: writes are refused.
pub const READ_ONLY: u16 = 1 << 1;
/// Flag of the export: replies in one piece can be asked for; only with structured replies.
pub const SEND_DF: u16 = 1 << 7;

fn command(number: u16) -> Command {
    match number {
        0 => Command::Read,
        1 => Command::Write,
        2 => Command::Disconnect,
        3 => Command::Flush,
        4 => Command::Trim,
        5 => Command::Cache,
        6 => Command::WriteZeroes,
        7 => Command::BlockStatus,
        other => Command::Unknown(other),
    }
}

/// Reads a request; `None` when these bytes are none.
pub fn request(bytes: &[u8; REQUEST_BYTES]) -> Option<Request> {
    (number(bytes, 0, 4) == u64::from(REQUEST_MAGIC)).then(|| Request {
        flags: number(bytes, 4, 2) as u16,
        command: command(number(bytes, 6, 2) as u16),
        cookie: number(bytes, 8, 8),
        offset: number(bytes, 16, 8),
        length: number(bytes, 24, 4) as u32,
    })
}

/// A big-endian number of `count` bytes.
pub(crate) fn number(bytes: &[u8], first: usize, count: usize) -> u64 {
    bytes[first..first + count].iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// Checks a request before anything is done.
pub fn check(request: &Request, bytes: u64, is_read_only: bool) -> Errno {
    let allowed = match request.command {
        Command::Read => DF | FUA,
        Command::WriteZeroes => FUA | NO_HOLE,
        Command::BlockStatus => REQ_ONE | FUA,
        // FUA may come with any command, and means nothing for most.
        _ => FUA,
    };
    let changes = matches!(request.command, Command::Write | Command::Trim | Command::WriteZeroes);
    match request.command {
        Command::Unknown(_) => return Errno::NotSupported,
        Command::Flush | Command::Disconnect => return Errno::Ok,
        _ => {}
    }
    let is_inside =
        request.offset.checked_add(u64::from(request.length)).is_some_and(|limit| limit <= bytes);
    let has_data = matches!(request.command, Command::Read | Command::Write);
    if request.flags & !allowed != 0 || request.length == 0 {
        Errno::Inval
    } else if changes && is_read_only {
        Errno::Perm
    } else if !is_inside {
        let grows = matches!(request.command, Command::Write | Command::WriteZeroes);
        if grows {
            Errno::NoSpace
        } else {
            Errno::Inval
        }
    } else if has_data && request.length > DATA_BYTES_MAX {
        Errno::Inval
    } else {
        Errno::Ok
    }
}

/// Whether a connection has structured replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replies {
    /// An error number, and data of fixed length.
    #[default]
    Simple,
    /// Chunks that carry their type.
    Structured,
}

/// Bytes of the largest head of a reply to a read.
pub const READ_HEAD_BYTES: usize = 28;

/// The head of a reply to a read that went well; the data follows.
pub fn read_head(replies: Replies, request: &Request, to: &mut Vec<u8>) {
    match replies {
        Replies::Simple => simple(Errno::Ok, request.cookie, to),
        Replies::Structured => {
            // One chunk with its offset, and the last.
            chunk(1, request.cookie, 8 + request.length, to);
            to.extend(request.offset.to_be_bytes());
        }
    }
}

/// The reply to a request that has no data, or that failed.
pub fn reply(replies: Replies, request: &Request, errno: Errno, to: &mut Vec<u8>) {
    let needs_chunk = matches!(request.command, Command::Read | Command::BlockStatus);
    if needs_chunk && replies == Replies::Structured && errno != Errno::Ok {
        chunk(1 << 15 | 1, request.cookie, 6, to);
        to.extend((errno as u32).to_be_bytes());
        to.extend(0u16.to_be_bytes());
    } else {
        simple(errno, request.cookie, to);
    }
}

/// The reply to a question for extents.
pub fn block_status(request: &Request, extents: &[Extent], to: &mut Vec<u8>) {
    chunk(5, request.cookie, 4 + 8 * extents.len() as u32, to);
    to.extend(CONTEXT_ID.to_be_bytes());
    for &Extent { bytes, is_hole } in extents {
        to.extend((bytes as u32).to_be_bytes());
        to.extend(if is_hole { 3u32 } else { 0 }.to_be_bytes());
    }
}

/// The number of the one metadata context, `base:allocation`.
pub const CONTEXT_ID: u32 = 1;

fn simple(errno: Errno, cookie: u64, to: &mut Vec<u8>) {
    to.extend(SIMPLE_MAGIC.to_be_bytes());
    to.extend((errno as u32).to_be_bytes());
    to.extend(cookie.to_be_bytes());
}

fn chunk(kind: u16, cookie: u64, length: u32, to: &mut Vec<u8>) {
    to.extend(STRUCTURED_MAGIC.to_be_bytes());
    to.extend(1u16.to_be_bytes());
    to.extend(kind.to_be_bytes());
    to.extend(cookie.to_be_bytes());
    to.extend(length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(offset: u64, length: u32) -> Request {
        Request { command: Command::Read, flags: 0, cookie: 7, offset, length }
    }

    #[test]
    fn requests_are_read_as_the_document_lays_them_out() {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[..4].copy_from_slice(&[0x25, 0x60, 0x95, 0x13]);
        bytes[5] = 1;
        bytes[7] = 6;
        bytes[15] = 9;
        bytes[22] = 2;
        bytes[26] = 16;
        let expected = Request {
            command: Command::WriteZeroes,
            flags: FUA,
            cookie: 9,
            offset: 512,
            length: 4096,
        };
        assert_eq!(request(&bytes), Some(expected));
        bytes[3] ^= 1;
        assert_eq!(request(&bytes), None);
    }

    #[test]
    fn what_lies_beyond_the_end_is_refused() {
        assert_eq!(check(&read(0, 4096), 4096, false), Errno::Ok);
        assert_eq!(check(&read(1, 4096), 4096, false), Errno::Inval);
        assert_eq!(check(&read(u64::MAX, 4096), 4096, false), Errno::Inval);
        assert_eq!(check(&read(0, 0), 4096, false), Errno::Inval);
        let write = Request { command: Command::Write, ..read(4096, 1) };
        assert_eq!(check(&write, 4096, false), Errno::NoSpace);
        assert_eq!(check(&write, 8192, true), Errno::Perm);
        let long = Request { length: DATA_BYTES_MAX + 1, ..read(0, 1) };
        assert_eq!(check(&long, 1 << 40, false), Errno::Inval);
        let trim = Request { command: Command::Trim, ..long };
        assert_eq!(check(&trim, 1 << 40, false), Errno::Ok);
    }

    #[test]
    fn replies_are_as_long_as_they_say() {
        let mut to = Vec::new();
        read_head(Replies::Structured, &read(512, 4096), &mut to);
        assert_eq!((to.len(), number(&to, 16, 4), number(&to, 20, 8)), (28, 4104, 512));
        to.clear();
        reply(Replies::Structured, &read(0, 1), Errno::Io, &mut to);
        assert_eq!((to.len(), number(&to, 16, 4), number(&to, 20, 4)), (26, 6, 5));
        to.clear();
        let extents = [true, false].map(|is_hole| Extent { bytes: 4096, is_hole });
        block_status(&read(0, 8192), &extents, &mut to);
        assert_eq!((to.len() as u64, number(&to, 28, 4)), (20 + number(&to, 16, 4), 3));
    }
}
