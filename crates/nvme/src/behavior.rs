//! Host Behavior Support: what a controller may do that older hosts do not expect.
//!
//! Source: NVM Express Base Specification 2.3, 5.2.26.1.14. Source ranges of copies that name their
//! namespace are used once a host has enabled them. The other fields are kept, without an effect.

use crate::bytes::{get, put_number};
use crate::status::Status;

/// Number of the feature.
pub(crate) const BEHAVIOR: u8 = 0x16;
const BYTES: usize = 512;
/// Place of the formats of source ranges that are enabled, and those that have to be: 2h to 4h.
const FORMATS: usize = 4;
const FORMATS_MASK: u16 = 0b1_1100;

/// See the module.
#[derive(Clone, Copy, Default)]
pub(crate) struct Behavior {
    /// Retries, telemetry, other blocks, dispersed namespaces.
    others: [u8; FORMATS],
    /// Bit n: source ranges of format n.
    formats: u16,
}

impl Behavior {
    /// That of the data of the feature.
    pub(crate) fn of(data: &[u8]) -> Result<Self, Status> {
        let data = data.get(..BYTES).ok_or(Status::SGL_LENGTH)?;
        let (others, formats) = (&data[..FORMATS], get(data, FORMATS, 2) as u16);
        let has_reserved = others.iter().any(|&byte| byte > 1)
            || formats >> 5 != 0
            || data[FORMATS + 2..].iter().any(|&byte| byte != 0);
        if has_reserved {
            return Err(Status::FIELD);
        }
        let others = std::array::from_fn(|place| others[place]);
        Ok(Self { others, formats: formats & FORMATS_MASK })
    }

    /// The data of the feature.
    pub(crate) fn data(self) -> Vec<u8> {
        let mut data = vec![0; BYTES];
        data[..FORMATS].copy_from_slice(&self.others);
        put_number(&mut data, FORMATS, 2, u64::from(self.formats));
        data
    }

    /// Whether source ranges may have this format, if there is one.
    pub(crate) fn enables(self, format: u32) -> bool {
        (self.formats | !FORMATS_MASK) >> format & 1 == 1
    }
}
