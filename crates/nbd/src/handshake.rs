//! The options of a client, answered: "fixed newstyle" negotiation as a function of bytes.
//!
//! ```text
//! greeting ► client flags ► option, option, … ► EXPORT_NAME or GO ► transmission
//! ```
//! Every option that is not known is answered so (`REP_ERR_UNSUP`), as the protocol demands. There
//! is one export, under any of its names: the empty one and that of the drive.

use crate::wire::{number, Replies, CONTEXT_ID, EXPORT_FLAGS, MAGIC, OPTION_MAGIC};
use crate::wire::{DATA_BYTES_MAX, OPTION_REPLY_MAGIC, READ_ONLY, SEND_DF};

/// Most bytes of the data of an option; names are at most 4096 bytes long.
pub const OPTION_BYTES_MAX: u32 = 16 << 10;

const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const INFO: u32 = 6;
const GO: u32 = 7;
const STRUCTURED_REPLY: u32 = 8;
const LIST_META_CONTEXT: u32 = 9;
const SET_META_CONTEXT: u32 = 10;

const ACK: u32 = 1;
const SERVER: u32 = 2;
const REP_INFO: u32 = 3;
const META_CONTEXT: u32 = 4;
const UNSUPPORTED: u32 = 1 << 31 | 1;
const INVALID: u32 = 1 << 31 | 3;
const UNKNOWN: u32 = 1 << 31 | 6;

const CONTEXT: &[u8] = b"base:allocation";

/// The disk that is exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name; the empty name is accepted too.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
    /// Writes are refused.
    pub is_read_only: bool,
}

/// What follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another option.
    Option,
    /// Requests.
    Transmission,
    /// The end, after the answer was sent.
    Close,
}

/// The properties that client and server have agreed upon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// `EXPORT_NAME` is answered without 124 zeros.
    is_without_zeros: bool,
    /// How requests are answered.
    pub replies: Replies,
    /// The client may ask for extents.
    pub has_extents: bool,
}

/// The first bytes of a server: it is of the fixed newstyle and can leave out zeros.
pub fn greeting() -> Vec<u8> {
    let mut bytes = MAGIC.to_be_bytes().to_vec();
    bytes.extend(OPTION_MAGIC.to_be_bytes());
    bytes.extend(3u16.to_be_bytes());
    bytes
}

impl Handshake {
    /// What a client answers to the greeting; `None` when it knows other flags than we do.
    pub fn new(client_flags: [u8; 4]) -> Option<Self> {
        let flags = u32::from_be_bytes(client_flags);
        (flags & !3 == 0).then(|| Self { is_without_zeros: flags & 2 != 0, ..Self::default() })
    }

    /// The number of an option and the bytes of its data; `None` when these bytes are no head of
    /// one, or it is too long.
    pub fn option_head(head: &[u8; 16]) -> Option<(u32, u32)> {
        let length = number(head, 12, 4) as u32;
        let is_sound = number(head, 0, 8) == OPTION_MAGIC && length <= OPTION_BYTES_MAX;
        is_sound.then(|| (number(head, 8, 4) as u32, length))
    }

    /// Answers an option.
    pub fn answer(&mut self, option: u32, data: &[u8], export: &Export, to: &mut Vec<u8>) -> Next {
        let is_ours = |name: &[u8]| name.is_empty() || name == export.name.as_bytes();
        match option {
            EXPORT_NAME if !is_ours(data) => return Next::Close,
            EXPORT_NAME => {
                to.extend(export.bytes.to_be_bytes());
                to.extend(self.flags(export).to_be_bytes());
                if !self.is_without_zeros {
                    to.extend([0; 124]);
                }
                return Next::Transmission;
            }
            ABORT => {
                say(option, ACK, &[], to);
                return Next::Close;
            }
            LIST | STRUCTURED_REPLY if !data.is_empty() => say(option, INVALID, &[], to),
            LIST => {
                let mut entry = (export.name.len() as u32).to_be_bytes().to_vec();
                entry.extend(export.name.as_bytes());
                say(option, SERVER, &entry, to);
                say(option, ACK, &[], to);
            }
            INFO | GO => match info_wanted(data) {
                None => say(option, INVALID, &[], to),
                Some((name, _)) if !is_ours(name) => say(option, UNKNOWN, &[], to),
                Some((_, wanted)) => {
                    self.inform(option, &wanted, export, to);
                    say(option, ACK, &[], to);
                    if option == GO {
                        return Next::Transmission;
                    }
                }
            },
            STRUCTURED_REPLY => {
                self.replies = Replies::Structured;
                say(option, ACK, &[], to);
            }
            LIST_META_CONTEXT | SET_META_CONTEXT => self.contexts(option, data, is_ours, to),
            _ => say(option, UNSUPPORTED, &[], to),
        }
        Next::Option
    }

    fn flags(&self, export: &Export) -> u16 {
        let read_only = if export.is_read_only { READ_ONLY } else { 0 };
        let one_piece = if self.replies == Replies::Structured { SEND_DF } else { 0 };
        EXPORT_FLAGS | read_only | one_piece
    }

    /// The size always, block sizes always too, name and description where asked for.
    fn inform(&self, option: u32, wanted: &[u16], export: &Export, to: &mut Vec<u8>) {
        let mut size = vec![0, 0];
        size.extend(export.bytes.to_be_bytes());
        size.extend(self.flags(export).to_be_bytes());
        say(option, REP_INFO, &size, to);
        let mut blocks = vec![0, 3];
        for size in [512u32, 4096, DATA_BYTES_MAX] {
            blocks.extend(size.to_be_bytes());
        }
        say(option, REP_INFO, &blocks, to);
        for (kind, text) in [(1, export.name.as_str()), (2, "a simulated flash drive")] {
            if wanted.contains(&kind) {
                let mut info = kind.to_be_bytes().to_vec();
                info.extend(text.as_bytes());
                say(option, REP_INFO, &info, to);
            }
        }
    }

    fn contexts(
        &mut self,
        option: u32,
        data: &[u8],
        is_ours: impl Fn(&[u8]) -> bool,
        to: &mut Vec<u8>,
    ) {
        if option == SET_META_CONTEXT {
            self.has_extents = false;
        }
        let Some((name, queries)) = context_queries(data) else {
            return say(option, INVALID, &[], to);
        };
        if self.replies != Replies::Structured && option == SET_META_CONTEXT {
            return say(option, INVALID, &[], to);
        }
        if !is_ours(name) {
            return say(option, UNKNOWN, &[], to);
        }
        // To list, nothing or a namespace means all of it.
        let lists = option == LIST_META_CONTEXT;
        let is_listed = lists && (queries.is_empty() || queries.contains(&&b"base:"[..]));
        if is_listed || queries.contains(&CONTEXT) {
            let id = if lists { 0 } else { CONTEXT_ID };
            let mut context = id.to_be_bytes().to_vec();
            context.extend(CONTEXT);
            say(option, META_CONTEXT, &context, to);
            self.has_extents |= !lists;
        }
        say(option, ACK, &[], to);
    }
}

fn say(option: u32, kind: u32, data: &[u8], to: &mut Vec<u8>) {
    to.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    to.extend(option.to_be_bytes());
    to.extend(kind.to_be_bytes());
    to.extend((data.len() as u32).to_be_bytes());
    to.extend(data);
}

/// A length and this number of bytes, and the bytes that follow.
fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_at_checked(4)?;
    rest.split_at_checked(number(length, 0, 4) as usize)
}

/// The name of an export, and what a client wants to know of it.
fn info_wanted(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let (name, rest) = text(data)?;
    let (count, rest) = rest.split_at_checked(2)?;
    let wanted = rest.chunks_exact(2).map(|pair| number(pair, 0, 2) as u16).collect::<Vec<_>>();
    (rest.len() == 2 * number(count, 0, 2) as usize).then_some((name, wanted))
}

/// The name of an export, and the contexts that a client asks for.
fn context_queries(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let (name, rest) = text(data)?;
    let (count, mut rest) = rest.split_at_checked(4)?;
    let mut queries = Vec::new();
    for _ in 0..number(count, 0, 4) {
        let (query, behind) = text(rest)?;
        queries.push(query);
        rest = behind;
    }
    rest.is_empty().then_some((name, queries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn export() -> Export {
        Export { name: "drive".into(), bytes: 1 << 30, is_read_only: false }
    }

    /// The kinds of the replies in an answer, which must be whole.
    fn kinds(mut bytes: &[u8]) -> Vec<u32> {
        let mut kinds = Vec::new();
        while !bytes.is_empty() {
            assert_eq!(number(bytes, 0, 8), OPTION_REPLY_MAGIC);
            kinds.push(number(bytes, 12, 4) as u32);
            bytes = &bytes[20 + number(bytes, 16, 4) as usize..];
        }
        kinds
    }

    #[test]
    fn go_tells_size_and_blocks() {
        let mut handshake = Handshake::new([0, 0, 0, 3]).expect("known flags");
        let mut to = Vec::new();
        let data = [0, 0, 0, 0, 0, 1, 0, 3];
        assert_eq!(handshake.answer(GO, &data, &export(), &mut to), Next::Transmission);
        assert_eq!(kinds(&to), [REP_INFO, REP_INFO, ACK]);
        assert_eq!(number(&to, 22, 8), 1 << 30);
        assert_eq!(Handshake::new([0, 0, 0, 4]), None);
    }

    #[test]
    fn extents_need_structured_replies() {
        let mut handshake = Handshake::default();
        let mut data = vec![0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 15];
        data.extend(CONTEXT);
        let answer = |handshake: &mut Handshake, option, data: &[u8]| {
            let mut to = Vec::new();
            assert_eq!(handshake.answer(option, data, &export(), &mut to), Next::Option);
            kinds(&to)
        };
        assert_eq!(answer(&mut handshake, SET_META_CONTEXT, &data), [INVALID]);
        assert_eq!(answer(&mut handshake, STRUCTURED_REPLY, &[]), [ACK]);
        assert_eq!(answer(&mut handshake, SET_META_CONTEXT, &data), [META_CONTEXT, ACK]);
        assert!(handshake.has_extents);
        assert_eq!(answer(&mut handshake, 77, &[]), [UNSUPPORTED]);
    }

    proptest! {
        #[test]
        fn any_bytes_get_whole_answers(
            options in prop::collection::vec(
                (0u32..12, prop::collection::vec(any::<u8>(), 0..64)), 0..8,
            )
        ) {
            let mut handshake = Handshake::default();
            for (option, data) in options {
                let mut to = Vec::new();
                let next = handshake.answer(option, &data, &export(), &mut to);
                if option == EXPORT_NAME {
                    prop_assert!(to.is_empty() || next == Next::Transmission);
                } else {
                    prop_assert!(!kinds(&to).is_empty());
                }
            }
        }
    }
}
