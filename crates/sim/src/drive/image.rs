//! A drive as bytes, to be saved and loaded.
//!
//! ```text
//! offset  bytes  field
//!      0      8  "ONLIMAGE"
//!      8      4  format version, little endian; its highest bit: contents follow the body
//!     12      8  length of the body, little endian
//!     20      4  CRC-32 of the body, little endian
//!     24      …  body (postcard): device config as JSON text, media, FTL tables
//! ```
//! Stored are the media (out-of-band areas, erase counts, bad blocks, what superblocks are made
//! of, cell modes, copyback depths) and the order of things in the FTL; the map is rebuilt from
//! them and audited. Not stored: the write buffer (volatile), random streams (they belong to the
//! run), counters. Nor how often an open page was programmed in part: the next program of it counts
//! as its last.

use serde::{Deserialize, Serialize};

use super::config::DeviceConfig;
use super::drive::Drive;
use crate::ftl::{Ftl, FtlSnapshot, Volatile};
use crate::nand::{BlockTables, Media};

const MAGIC: Magic = Magic { word: *b"ONLIMAGE", version: 7, flags: HAS_CONTENTS };
const HEADER_BYTES: usize = 24;
/// Numbers behind a body that are put there together.
const NUMBERS_AT_ONCE: usize = 1024;
/// Flag next to the version: after the body follow the page contents of a served drive.
const HAS_CONTENTS: u32 = 1 << 31;
/// How the contents of a served drive begin, behind its image.
pub(crate) const CONTENTS_WORD: &[u8; 8] = b"ONLBYTES";

/// Why bytes are no usable device image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The first bytes are not those of an image.
    #[error("not a device image: it does not start with {word}")]
    Foreign {
        /// How it should start.
        word: String,
    },
    /// Written by a newer version.
    #[error("image format {found} is newer than this version reads (up to {known})")]
    Newer {
        /// Format of the file.
        found: u32,
        /// Format that this version reads.
        known: u32,
    },
    /// Written by an older version, whose tables lack what drives hold now.
    #[error(
        "image format {found} is older than this version reads ({known}): make the image again"
    )]
    Older {
        /// Format of the file.
        found: u32,
        /// Format that this version reads.
        known: u32,
    },
    /// Bytes are missing, or there are too many.
    #[error(
        "the image is cut off or has grown: {found} bytes of body, its header says {expected}"
    )]
    Length {
        /// Bytes after the header.
        found: u64,
        /// Bytes that the header promises.
        expected: u64,
    },
    /// Bytes have changed.
    #[error("the image is damaged: checksum {found:08x}, its header says {expected:08x}")]
    Checksum {
        /// Of the body as it is.
        found: u32,
        /// Of the body as it was written.
        expected: u32,
    },
    /// The contents that the header announces after the body are missing.
    #[error(
        "the image is cut off: what its pages hold, which its header announces after byte {end}, \
         is missing"
    )]
    Contents {
        /// Where the body ends.
        end: u64,
    },
    /// The checksum fits, but the content contradicts itself.
    #[error("the image contradicts itself: {0}")]
    Content(String),
}

#[derive(Serialize, Deserialize)]
struct Body {
    config: String,
    oob: Vec<u32>,
    blocks: BlockTables,
    ftl: FtlSnapshot,
}

pub(crate) fn save(drive: &Drive) -> Vec<u8> {
    let body = Body {
        config: drive.config.to_json().to_string(),
        oob: drive.media.oob.to_vec(),
        blocks: drive.media.tables(),
        ftl: drive.ftl.save().0,
    };
    seal(&MAGIC, &body, &[])
}

/// The image of a drive that is followed by the contents of its pages.
pub(crate) fn save_before_contents(drive: &Drive) -> Vec<u8> {
    let mut bytes = save(drive);
    bytes[8..12].copy_from_slice(&(MAGIC.version | HAS_CONTENTS).to_le_bytes());
    bytes
}

/// The drive and the checksum of its image.
pub(crate) fn load(bytes: &[u8], seed: u64) -> Result<(Drive, u32), ImageError> {
    let contents = contents_of(bytes);
    let alone = &bytes[..bytes.len() - contents.map_or(0, <[u8]>::len)];
    let (body, rest, checksum) = open(&MAGIC, alone)?;
    if promises_contents(bytes) && contents.is_none() {
        return Err(ImageError::Contents { end: bytes.len() as u64 });
    }
    if !rest.is_empty() {
        return Err(ImageError::Content(format!("{} bytes too many", rest.len())));
    }
    assemble(body, seed).map(|drive| (drive, checksum)).map_err(ImageError::Content)
}

fn promises_contents(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC.word) && bytes[11] & (HAS_CONTENTS >> 24) as u8 != 0
}

/// The bytes after an image, if they are the contents of a served drive (`session/image.rs`).
pub(crate) fn contents_of(bytes: &[u8]) -> Option<&[u8]> {
    let length = bytes.get(12..20)?.try_into().map(u64::from_le_bytes).ok()?;
    let end = usize::try_from(length).ok()?.checked_add(HEADER_BYTES)?;
    bytes.get(end..).filter(|rest| rest.starts_with(CONTENTS_WORD))
}

/// How a format begins.
pub(super) struct Magic {
    pub(super) word: [u8; 8],
    pub(super) version: u32,
    /// Flag bits next to the version that may be set.
    pub(super) flags: u32,
}

/// A body and the numbers that follow it, 4 bytes each, with their header.
pub(super) fn seal<T: Serialize>(magic: &Magic, body: &T, tail: &[u32]) -> Vec<u8> {
    let header = vec![0; HEADER_BYTES];
    let mut bytes = postcard::to_extend(body, header).expect("plain numbers always serialise");
    bytes.reserve_exact(size_of_val(tail));
    // A few at a time: a copy of all that grows as it goes would take the memory twice.
    let mut buffer = [0; 4 * NUMBERS_AT_ONCE];
    for numbers in tail.chunks(NUMBERS_AT_ONCE) {
        for (place, number) in buffer.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&buffer[..size_of_val(numbers)]);
    }
    let body = &bytes[HEADER_BYTES..];
    let (length, checksum) = (body.len() as u64, crc32fast::hash(body));
    bytes[..8].copy_from_slice(&magic.word);
    bytes[8..12].copy_from_slice(&magic.version.to_le_bytes());
    bytes[12..20].copy_from_slice(&length.to_le_bytes());
    bytes[20..24].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The body, the bytes that follow it, and the checksum of both.
pub(super) fn open<'a, T: Deserialize<'a>>(
    magic: &Magic,
    bytes: &'a [u8],
) -> Result<(T, &'a [u8], u32), ImageError> {
    if bytes.len() < HEADER_BYTES || bytes[..8] != magic.word {
        let word = String::from_utf8_lossy(&magic.word).into_owned();
        return Err(ImageError::Foreign { word });
    }
    let number =
        |first: usize| u32::from_le_bytes(std::array::from_fn(|index| bytes[first + index]));
    let (found, known) = (number(8) & !magic.flags, magic.version);
    if found > known {
        return Err(ImageError::Newer { found, known });
    }
    if found < known {
        return Err(ImageError::Older { found, known });
    }
    let body = &bytes[HEADER_BYTES..];
    let expected = u64::from(number(12)) | u64::from(number(16)) << 32;
    if body.len() as u64 != expected {
        return Err(ImageError::Length { found: body.len() as u64, expected });
    }
    let checksum = crc32fast::hash(body);
    if checksum != number(20) {
        return Err(ImageError::Checksum { found: checksum, expected: number(20) });
    }
    let (body, rest) =
        postcard::take_from_bytes(body).map_err(|error| ImageError::Content(error.to_string()))?;
    Ok((body, rest, checksum))
}

fn assemble(body: Body, seed: u64) -> Result<Drive, String> {
    let config = DeviceConfig::resolve(&body.config).map_err(|error| error.to_string())?;
    let setup = config.pool_setup(seed);
    let media = Media::restore(setup.geometry, config.superblocks(), body.blocks);
    let fits = media.filter(|media| media.oob.len() == body.oob.len());
    let mut media = fits.ok_or("the media tables are of another geometry")?;
    media.oob.copy_from_slice(&body.oob);
    let ftl = Ftl::restore(&config.ftl, &setup, &media, (&body.ftl, &Volatile::default()))?;
    Ok(Drive::assemble(config, media, ftl, seed))
}
