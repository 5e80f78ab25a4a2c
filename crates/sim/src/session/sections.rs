//! Parts of an image behind the contents of the pages, each with its name and a checksum.
//!
//! ```text
//! "ONLS" · name, 8 bytes · length u64 · CRC-32 of name and bytes u32 · bytes      little endian
//! ```
//! An image without a section is as if that held nothing. A damaged one is refused, and one whose
//! name is not known too, since its content would be lost.

use std::io::{self, Write};

/// How a section begins.
const WORD: &[u8; 4] = b"ONLS";
const NAME_BYTES: usize = 8;
const HEAD_BYTES: usize = WORD.len() + NAME_BYTES + 12;

fn padded(name: &str) -> [u8; NAME_BYTES] {
    std::array::from_fn(|place| name.as_bytes().get(place).copied().unwrap_or(0))
}

fn checksum(name: &[u8], bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(name);
    hasher.update(bytes);
    hasher.finalize()
}

/// Writes a section.
pub(super) fn write(file: &mut impl Write, name: &str, bytes: &[u8]) -> io::Result<()> {
    let name = padded(name);
    file.write_all(WORD)?;
    file.write_all(&name)?;
    file.write_all(&(bytes.len() as u64).to_le_bytes())?;
    file.write_all(&checksum(&name, bytes).to_le_bytes())?;
    file.write_all(bytes)
}

/// Takes the next section off the rest of an image: its name and its bytes.
pub(super) fn take<'a>(file: &mut &'a [u8]) -> Result<(String, &'a [u8]), String> {
    let all = *file;
    if !all.starts_with(WORD) || all.len() < HEAD_BYTES {
        return Err(format!("{} bytes too many after the contents", all.len()));
    }
    let (head, rest) = all.split_at(HEAD_BYTES);
    let (name, numbers) = head[WORD.len()..].split_at(NAME_BYTES);
    let text = String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
    let number = |from: usize, to: usize| {
        numbers[from..to].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
    };
    let length = usize::try_from(number(0, 8)).unwrap_or(usize::MAX);
    let Some((bytes, behind)) = rest.split_at_checked(length) else {
        return Err(format!("the section `{text}` is cut off: {} of {length} bytes", rest.len()));
    };
    if u64::from(checksum(name, bytes)) != number(8, 12) {
        return Err(format!("the section `{text}` is damaged: its checksum does not fit"));
    }
    *file = behind;
    Ok((text, bytes))
}
