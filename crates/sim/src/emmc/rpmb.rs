//! The replay protected memory block: frames, their authentication, and the write counter.
//!
//! ```text
//! bytes of a frame of 512, numbers big endian:
//!   0 stuff · 196 key or MAC (32) · 228 data (256) · 484 nonce (16) · 500 write counter (4)
//!   504 address (2) · 506 block count (2) · 508 result (2) · 510 request or response (2)
//! MAC = HMAC-SHA-256 of bytes 228 to 511 (284 of each frame, one after the other), in the last
//! ```
//! Source: JESD84-B51, 6.6 Replay Protected Memory Block.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::storage::SECTOR;

/// Bytes of data in a frame.
pub(super) const HALF: usize = 256;
const MAC_AT: usize = 196;
const DATA_AT: usize = 228;
const NONCE_AT: usize = 484;
const COUNTER_AT: usize = 500;
const ADDRESS_AT: usize = 504;
const COUNT_AT: usize = 506;
const RESULT_AT: usize = 508;
const TYPE_AT: usize = 510;

/// Result codes.
const OK: u16 = 0;
const GENERAL: u16 = 1;
const AUTHENTICATION: u16 = 2;
const COUNTER: u16 = 3;
const ADDRESS: u16 = 4;
const WRITE: u16 = 5;
const READ: u16 = 6;
const NO_KEY: u16 = 7;
/// The write counter has reached its end.
const EXPIRED: u16 = 0x80;

/// A frame.
pub(super) type Frame = [u8; SECTOR];

fn number(frame: &Frame, at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

fn put(frame: &mut Frame, at: usize, value: u16) {
    frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The last request of the host, which decides the answer to the next read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Asked {
    #[default]
    Nothing,
    Counter([u8; 16]),
    Data {
        nonce: [u8; 16],
        address: u16,
    },
    /// The result of a key or a write.
    Result {
        response: u16,
        result: u16,
        address: u16,
    },
}

/// Half sectors that an authenticated write brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Write {
    /// The first of them, of the partition.
    pub(super) half: u64,
    pub(super) bytes: Vec<u8>,
}

/// See the module.
pub(super) struct Rpmb {
    key: Option<[u8; 32]>,
    counter: u32,
    asked: Asked,
    /// Half sectors of the partition.
    halves: u64,
    /// Most half sectors of a write.
    write_max: usize,
    /// A write whose data is to be stored; the result follows from that.
    last: Asked,
    /// The counter counts a write that is still being stored.
    is_unsettled: bool,
}

impl Rpmb {
    pub(super) fn new(sectors: u64, counter: u32, write_max: usize) -> Self {
        Self {
            key: None,
            counter,
            asked: Asked::Nothing,
            halves: sectors * 2,
            write_max,
            last: Asked::Nothing,
            is_unsettled: false,
        }
    }

    /// The authentication of frames, before it is made or checked.
    fn authentication(&self, frames: &[Frame]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.as_ref()?).ok()?;
        for frame in frames {
            mac.update(&frame[DATA_AT..]);
        }
        Some(mac)
    }

    fn mac(&self, frames: &[Frame]) -> Option<[u8; 32]> {
        Some(self.authentication(frames)?.finalize().into_bytes().into())
    }

    fn is_authentic(&self, frames: &[Frame]) -> bool {
        let last = frames.last().map_or(&[][..], |it| &it[MAC_AT..DATA_AT]);
        self.authentication(frames).is_some_and(|mac| mac.verify_slice(last).is_ok())
    }

    fn flagged(&self, result: u16) -> u16 {
        if self.counter == u32::MAX {
            result | EXPIRED
        } else {
            result
        }
    }

    /// Takes frames that the host wrote; returns the data to store, if any. The caller then reports
    /// the outcome with [`Rpmb::stored`].
    pub(super) fn take(&mut self, frames: &[Frame], is_reliable: bool) -> Option<Write> {
        let first = frames.first()?;
        let kind = number(first, TYPE_AT);
        let is_one = frames.len() == 1;
        match kind {
            1 => {
                let result = if is_one && is_reliable && self.key.is_none() {
                    let mut key = [0; 32];
                    key.copy_from_slice(&first[MAC_AT..DATA_AT]);
                    self.key = Some(key);
                    OK
                } else if is_one && is_reliable {
                    WRITE
                } else {
                    GENERAL
                };
                self.last = Asked::Result { response: 0x0100, result, address: 0 };
                self.asked = Asked::Nothing;
            }
            2 if is_one => {
                self.asked = Asked::Counter(*first[NONCE_AT..].first_chunk().expect("16 are left"));
            }
            3 => return self.write(frames, is_reliable),
            4 if is_one => {
                self.asked = Asked::Data {
                    nonce: *first[NONCE_AT..].first_chunk().expect("16 are left"),
                    address: number(first, ADDRESS_AT),
                };
            }
            5 if is_one => self.asked = std::mem::take(&mut self.last),
            _ => {
                self.asked = Asked::Nothing;
                self.last = Asked::Result { response: kind << 8, result: GENERAL, address: 0 };
            }
        }
        None
    }

    fn write(&mut self, frames: &[Frame], is_reliable: bool) -> Option<Write> {
        let (first, last) = (frames.first()?, frames.last()?);
        let address = number(first, ADDRESS_AT);
        let counter = u32::from_be_bytes(*last[COUNTER_AT..].first_chunk().expect("12 are left"));
        let is_uniform = frames.iter().all(|frame| {
            number(frame, TYPE_AT) == 3
                && number(frame, ADDRESS_AT) == address
                && usize::from(number(frame, COUNT_AT)) == frames.len()
        });
        let is_inside = u64::from(address) + frames.len() as u64 <= self.halves;
        let result = if self.key.is_none() {
            NO_KEY
        } else if self.counter == u32::MAX {
            WRITE
        } else if !is_uniform || !is_reliable || !self.takes(frames.len()) {
            GENERAL
        } else if !is_inside {
            ADDRESS
        } else if !self.is_authentic(frames) {
            AUTHENTICATION
        } else if counter != self.counter {
            COUNTER
        } else {
            OK
        };
        let result = self.flagged(result);
        self.asked = Asked::Nothing;
        self.last = Asked::Result { response: 0x0300, result, address };
        let bytes = || frames.iter().flat_map(|it| it[DATA_AT..NONCE_AT].to_vec()).collect();
        (result == OK).then(|| Write { half: u64::from(address), bytes: bytes() })
    }

    /// Whether a write may have `halves` half sectors: 1, 2, and 32 if `EN_RPMB_REL_WR` allows it.
    fn takes(&self, halves: usize) -> bool {
        halves == 1 || halves == 2 || halves == self.write_max
    }

    /// The data that [`Rpmb::take`] returned is on the flash, or could not be written.
    pub(super) fn stored(&mut self, is_done: bool) {
        if is_done {
            self.counter += 1;
            self.is_unsettled = true;
        }
        let flagged = self.flagged(if is_done { OK } else { WRITE });
        if let Asked::Result { result, .. } = &mut self.last {
            *result = flagged;
        }
    }

    /// The half sectors that a read of `frames` frames needs.
    pub(super) fn wanted(&self, frames: usize) -> Option<(u64, u64)> {
        let Asked::Data { address, .. } = self.asked else { return None };
        let (first, count) = (u64::from(address), frames as u64);
        (first + count <= self.halves).then_some((first, count))
    }

    /// The frames that the host reads; `data` holds the half sectors of [`Rpmb::wanted`], `None` if
    /// they could not be read.
    pub(super) fn give(&mut self, frames: usize, data: Option<&[u8]>) -> Vec<Frame> {
        let mut made = vec![[0; SECTOR]; frames.max(1)];
        let asked = std::mem::take(&mut self.asked);
        let no_key = if self.key.is_none() { NO_KEY } else { OK };
        match asked {
            Asked::Nothing => put(&mut made[0], RESULT_AT, GENERAL),
            Asked::Counter(nonce) => {
                let frame = &mut made[0];
                put(frame, TYPE_AT, 0x0200);
                put(frame, RESULT_AT, self.flagged(no_key));
                if no_key == OK {
                    frame[NONCE_AT..COUNTER_AT].copy_from_slice(&nonce);
                    frame[COUNTER_AT..ADDRESS_AT].copy_from_slice(&self.counter.to_be_bytes());
                }
            }
            Asked::Data { nonce, address } => {
                let is_inside = u64::from(address) + frames as u64 <= self.halves;
                let result = match data {
                    _ if no_key != OK => no_key,
                    _ if !is_inside => ADDRESS,
                    None => READ,
                    Some(_) => OK,
                };
                for (place, frame) in made.iter_mut().enumerate() {
                    put(frame, TYPE_AT, 0x0400);
                    put(frame, RESULT_AT, self.flagged(result));
                    put(frame, ADDRESS_AT, address);
                    put(frame, COUNT_AT, frames as u16);
                    frame[NONCE_AT..COUNTER_AT].copy_from_slice(&nonce);
                    if let (OK, Some(bytes)) = (result, data) {
                        let half = &bytes[place * HALF..(place + 1) * HALF];
                        frame[DATA_AT..NONCE_AT].copy_from_slice(half);
                    }
                }
            }
            Asked::Result { response, result, address } => {
                let frame = &mut made[0];
                put(frame, TYPE_AT, response);
                put(frame, RESULT_AT, result);
                put(frame, ADDRESS_AT, address);
                if response == 0x0300 {
                    frame[COUNTER_AT..ADDRESS_AT].copy_from_slice(&self.counter.to_be_bytes());
                }
            }
        }
        // The answer to a key is not authenticated.
        if number(&made[0], TYPE_AT) != 0x0100 {
            if let (Some(mac), Some(last)) = (self.mac(&made), made.last_mut()) {
                last[MAC_AT..DATA_AT].copy_from_slice(&mac);
            }
        }
        made
    }

    /// The write has ended.
    pub(super) fn settle(&mut self) {
        self.is_unsettled = false;
    }

    /// The power goes: the last request is forgotten, and a running write does not count.
    pub(super) fn forget(&mut self) {
        (self.asked, self.last) = (Asked::Nothing, Asked::Nothing);
        self.counter -= u32::from(std::mem::take(&mut self.is_unsettled));
    }
}
