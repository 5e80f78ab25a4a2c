//! Protection information of the data of a served drive, which detects wrong data.
//!
//! | kind   | stored in addition to the data             | detects                                |
//! |--------|--------------------------------------------|----------------------------------------|
//! | `none` | nothing                                    | nothing                                |
//! | `crc`  | page, version, CRC-32 of both and the data | changed bits, other pages, old data    |
//! | `dif`  | 8 bytes for each sector of 512 bytes       | changed bits; types 1, 2: other pages  |
//!
//! ```text
//! dif    0      guard: CRC-16 of the sector's data, polynomial 0x8BB7     all big endian
//!        2      application tag; 0xFFFF: the sector is not checked
//!        4      reference tag: low 32 bits of the LBA; type 2: of LBA + the tag of LBA 0;
//!               type 3: 0
//! ```
//! Protection information is that of T10 SBC-3, 4.22. Here the drive makes it, as one does whose
//! host sends none (RDPROTECT 0), so it covers the way from the drive's front to the flash and
//! back. Left out: the room that it takes in the spare area of the flash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::crc16::guard;
use super::unit::Version;
use crate::config::{ConfigError, NoKeys};
use crate::units::SECTOR_BYTES;

/// Bytes of protection information of a sector.
pub const INFORMATION_BYTES: usize = 8;
/// Application tag of sectors that are not checked.
const UNCHECKED: u16 = 0xFFFF;
const SECTOR: usize = SECTOR_BYTES as usize;

/// Protection of the data of a served drive on its way to the flash and back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Protection {
    /// Nothing: damaged data is returned without an error, and counted.
    None(NoKeys),
    /// A CRC-32 of logical page, version and data for each map unit.
    Crc(NoKeys),
    /// T10 protection information for each sector.
    Dif(Dif),
}

/// T10 protection information.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dif {
    /// 1: the reference tag is the LBA; 2: the LBA and `first_reference_tag`; 3: it is not checked.
    #[serde(rename = "type")]
    pub type_number: u8,
    /// Application tag of all sectors, 0 to 65534; default 0.
    #[serde(default)]
    pub application_tag: u16,
    /// With type 2, the reference tag of LBA 0; default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_reference_tag: Option<u32>,
}

impl Default for Protection {
    fn default() -> Self {
        Self::Crc(NoKeys {})
    }
}

impl Protection {
    /// Whether the key was left out, or has its default value.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses parameters that the standard does not have.
    ///
    /// # Errors
    /// [`ConfigError`] relative to the key.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Self::Dif(dif) = self else { return Ok(()) };
        if !(1..=3).contains(&dif.type_number) {
            let message = format!("{} is not a type of T10; accepted: 1, 2, 3", dif.type_number);
            return Err(ConfigError::new("type", message));
        }
        if dif.application_tag == UNCHECKED {
            let message = "65535 switches the check off; accepted: 0 to 65534";
            return Err(ConfigError::new("application_tag", message));
        }
        if dif.first_reference_tag.is_some() && dif.type_number != 2 {
            let message = format!("with type {}; accepted: only with type 2", dif.type_number);
            return Err(ConfigError::new("first_reference_tag", message));
        }
        Ok(())
    }

    /// Bytes that are stored for a unit of `unit_bytes` bytes of data.
    pub fn stored_bytes(&self, unit_bytes: usize) -> usize {
        match self {
            Self::Dif(_) => unit_bytes + unit_bytes / SECTOR * INFORMATION_BYTES,
            _ => unit_bytes,
        }
    }

    /// Whether a unit with bytes has a separate seal.
    pub(super) fn has_seals(&self) -> bool {
        matches!(self, Self::Crc(_))
    }

    /// Writes the protection information of new data of a page behind it; returns its seal, with
    /// `crc` the CRC-32 of logical page, version and data.
    pub(super) fn protect(&self, of: Version, stored: &mut [u8], unit_bytes: usize) -> u32 {
        match self {
            Self::None(_) => 0,
            Self::Crc(_) => checksum(of, stored),
            Self::Dif(dif) => {
                dif.seal(stored, dif.reference_tag(of.lpn, unit_bytes), unit_bytes);
                0
            }
        }
    }

    /// The seal of a unit in images: `seal` if the unit has bytes, else that of zeros; with `dif`
    /// the reference tag of its first sector.
    pub(super) fn seal_of(&self, of: Version, seal: Option<u32>, unit_bytes: usize) -> u32 {
        match self {
            Self::None(_) => 0,
            Self::Crc(_) => seal.unwrap_or_else(|| checksum(of, &[])),
            Self::Dif(dif) => dif.reference_tag(of.lpn, unit_bytes),
        }
    }

    /// Why the unit found on the flash (`found`) is not the `expected` page and version; `None` if
    /// it is. `stored` are its bytes and its seal, `None` for zeros.
    pub(super) fn problem(
        &self,
        found: Version,
        stored: Option<(&[u8], u32)>,
        expected: Version,
        unit_bytes: usize,
    ) -> Option<&'static str> {
        match self {
            Self::None(_) => None,
            Self::Crc(_) if found.lpn != expected.lpn => Some("the data is of another page"),
            Self::Crc(_) if found.version != expected.version => {
                Some("the data is of another version")
            }
            Self::Crc(_) => {
                let (bytes, seal) = stored?;
                (seal != checksum(expected, bytes))
                    .then_some("the checksum of the data does not fit")
            }
            Self::Dif(dif) => {
                let first = dif.reference_tag(expected.lpn, unit_bytes);
                match stored {
                    // Zeros have guards of zero, and tags that follow from the first.
                    None => (dif.reference_tag(found.lpn, unit_bytes) != first)
                        .then_some("a reference tag does not fit"),
                    Some((bytes, _)) => dif.problem(bytes, first, unit_bytes),
                }
            }
        }
    }
}

impl Dif {
    /// The reference tag of the first sector of a page; that of the next is one more.
    fn reference_tag(&self, lpn: u32, unit_bytes: usize) -> u32 {
        let lba = lpn.wrapping_mul((unit_bytes / SECTOR) as u32);
        match self.type_number {
            3 => 0,
            _ => lba.wrapping_add(self.first_reference_tag.unwrap_or(0)),
        }
    }

    fn next(&self, tag: u32) -> u32 {
        if self.type_number == 3 {
            tag
        } else {
            tag.wrapping_add(1)
        }
    }

    /// Writes the information of its sectors behind the data.
    fn seal(&self, stored: &mut [u8], first: u32, unit_bytes: usize) {
        let mut tag = first;
        let (data, information) = stored.split_at_mut(unit_bytes);
        let beside = information.chunks_exact_mut(INFORMATION_BYTES);
        for (sector, beside) in data.chunks_exact(SECTOR).zip(beside) {
            beside[..2].copy_from_slice(&guard(sector).to_be_bytes());
            beside[2..4].copy_from_slice(&self.application_tag.to_be_bytes());
            beside[4..].copy_from_slice(&tag.to_be_bytes());
            tag = self.next(tag);
        }
    }

    fn problem(&self, bytes: &[u8], first: u32, unit_bytes: usize) -> Option<&'static str> {
        let (data, information) = bytes.split_at_checked(unit_bytes)?;
        let mut expected = first;
        for (sector, beside) in
            data.chunks_exact(SECTOR).zip(information.chunks_exact(INFORMATION_BYTES))
        {
            let half = |place: usize| u16::from_be_bytes([beside[place], beside[place + 1]]);
            let tag = u32::from(half(4)) << 16 | u32::from(half(6));
            let is_checked = half(2) != UNCHECKED || self.type_number == 3 && tag != u32::MAX;
            if is_checked {
                if half(0) != guard(sector) {
                    return Some("a guard tag does not fit");
                }
                if half(2) != self.application_tag {
                    return Some("an application tag does not fit");
                }
                if self.type_number != 3 && tag != expected {
                    return Some("a reference tag does not fit");
                }
            }
            expected = self.next(expected);
        }
        None
    }
}

/// CRC-32 of logical page, version and bytes.
fn checksum(of: Version, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&of.lpn.to_le_bytes());
    hasher.update(&of.version.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(lpn: u32, version: u32) -> Version {
        Version { lpn, version }
    }

    fn stored(protection: &Protection, of: Version, data: &[u8]) -> (Vec<u8>, u32) {
        let mut bytes = data.to_vec();
        bytes.resize(protection.stored_bytes(data.len()), 0);
        let seal = protection.protect(of, &mut bytes, data.len());
        (bytes, seal)
    }

    fn dif(type_number: u8) -> Protection {
        let first_reference_tag = (type_number == 2).then_some(1000);
        Protection::Dif(Dif { type_number, application_tag: 7, first_reference_tag })
    }

    #[test]
    fn information_is_laid_out_as_in_the_standard() {
        let (bytes, _) = stored(&dif(2), version(3, 1), &[0xFF; 1024]);
        let crc = guard(&[0xFF; 512]).to_be_bytes();
        // LBA 6 and 7, and the tag of LBA 0.
        assert_eq!(bytes[1024..1032], [crc[0], crc[1], 0, 7, 0, 0, 3, 0xEE]);
        assert_eq!(bytes[1032..], [crc[0], crc[1], 0, 7, 0, 0, 3, 0xEF]);
    }

    /// Every changed bit of a unit, its protection information included, is detected, except in the
    /// reference tags of type 3.
    #[test]
    fn every_changed_bit_is_found_out() {
        for type_number in 1..=3 {
            let protection = dif(type_number);
            let (whole, seal) = stored(&protection, version(3, 1), &[5; 512]);
            let problem = |bytes: &[u8]| {
                protection.problem(version(3, 1), Some((bytes, seal)), version(3, 1), 512)
            };
            assert_eq!(problem(&whole), None);
            for bit in 0..whole.len() * 8 {
                let mut bytes = whole.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                let is_free = type_number == 3 && bit / 8 >= 516;
                assert_eq!(problem(&bytes).is_none(), is_free, "type {type_number}, bit {bit}");
            }
        }
    }

    #[test]
    fn units_of_other_pages_are_found_out_but_for_type_3() {
        for data in [None, Some([5; 4096])] {
            for (protection, finds_page, finds_version) in [
                (dif(1), true, false),
                (dif(2), true, false),
                (dif(3), false, false),
                (Protection::default(), true, true),
                (Protection::None(NoKeys {}), false, false),
            ] {
                let stored = data.map(|data| stored(&protection, version(4, 2), &data));
                let stored = stored.as_ref().map(|(bytes, seal)| (&bytes[..], *seal));
                let problem =
                    |as_of| protection.problem(version(4, 2), stored, as_of, 4096).is_some();
                assert!(!problem(version(4, 2)));
                assert_eq!(
                    (problem(version(5, 2)), problem(version(4, 3))),
                    (finds_page, finds_version)
                );
            }
        }
    }

    #[test]
    fn sectors_with_the_escape_are_not_checked() {
        let (mut bytes, seal) = stored(&dif(1), version(3, 1), &[5; 512]);
        bytes[514..516].fill(0xFF);
        bytes[0] = 6;
        let problem = |type_number, bytes: &[u8], as_of| {
            dif(type_number).problem(version(3, 1), Some((bytes, seal)), as_of, 512)
        };
        assert_eq!(problem(1, &bytes, version(9, 1)), None);
        // Type 3 asks for both tags.
        assert!(problem(3, &bytes, version(3, 1)).is_some());
        bytes[516..].fill(0xFF);
        assert_eq!(problem(3, &bytes, version(3, 1)), None);
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (dif, path) in [
            (Dif { type_number: 0, application_tag: 0, first_reference_tag: None }, "type"),
            (
                Dif { type_number: 1, application_tag: 65535, first_reference_tag: None },
                "application_tag",
            ),
            (
                Dif { type_number: 1, application_tag: 0, first_reference_tag: Some(1) },
                "first_reference_tag",
            ),
        ] {
            assert_eq!(Protection::Dif(dif).check().map_err(|it| it.path), Err(path.to_owned()));
        }
    }
}
