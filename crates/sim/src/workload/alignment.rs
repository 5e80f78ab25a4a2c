//! Where requests start: at multiples of one number of bytes, or as hosts with pages of 4 KiB send
//! them.
//!
//! ```text
//! natural   4 KiB and more   |--------|--------|      a page that the pattern draws
//!           512 B to 3.5 KiB |..xx....|........|      any sector of it, which may reach the next
//! ```
//! The pattern decides the page, so that hot places are those of requests of all sizes.

use std::borrow::Cow;

use schemars::generate::SchemaGenerator;
use schemars::{json_schema, JsonSchema, Schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::config::bytes_or_text;
use crate::rng::Rng;

/// Requests below this start at any sector, others at its multiples.
pub(crate) const NATURAL_BYTES: u64 = 4096;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// Multiples of this number of bytes.
    Bytes(u64),
    /// By the size of the request.
    Natural,
}

impl Alignment {
    /// Bytes of which the places of the pattern are multiples.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Natural => NATURAL_BYTES,
        }
    }
}

impl<'de> Deserialize<'de> for Alignment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) if text == "natural" => Ok(Self::Natural),
            value if value.is_number() || value.is_string() => {
                let refused = |text| D::Error::custom(format!("{text}; or natural"));
                bytes_or_text(value).map(Self::Bytes).map_err(refused)
            }
            other => Err(D::Error::custom(format!(
                "`{other}` is not a valid alignment; accepted: bytes such as 4096, text such as \
                 4KiB, or natural"
            ))),
        }
    }
}

impl Serialize for Alignment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bytes(bytes) => serializer.serialize_u64(*bytes),
            Self::Natural => serializer.serialize_str("natural"),
        }
    }
}

impl JsonSchema for Alignment {
    fn schema_name() -> Cow<'static, str> {
        "Alignment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "const": "natural" },
                { "type": "integer", "minimum": 1 },
                { "type": "string" },
            ],
        })
    }
}

/// Draws the sector of a page at which a request smaller than it starts.
pub(crate) struct Offsets {
    page_sectors: u32,
    rng: Rng,
}

impl Offsets {
    /// Those in pages of this number of sectors; `None` for 0.
    pub fn within(page_sectors: u32, rng: Rng) -> Option<Self> {
        (page_sectors > 0).then_some(Self { page_sectors, rng })
    }

    /// Sectors of a page.
    pub fn page_sectors(&self) -> u32 {
        self.page_sectors
    }

    /// The distance of a request of this number of sectors from the start of its page.
    pub fn draw(&mut self, sectors: u32) -> u64 {
        drawn(self.page_sectors, sectors, &mut self.rng)
    }

    /// The same from another stream.
    pub fn draw_from(&self, sectors: u32, rng: &mut Rng) -> u64 {
        drawn(self.page_sectors, sectors, rng)
    }
}

fn drawn(page_sectors: u32, sectors: u32, rng: &mut Rng) -> u64 {
    if sectors < page_sectors {
        rng.below(page_sectors.into())
    } else {
        0
    }
}

/// Sectors that a request takes at most from the start of its page, if this is drawn.
pub(crate) fn room_of(sectors: u32, page_sectors: u32) -> u32 {
    if sectors < page_sectors {
        sectors + page_sectors - 1
    } else {
        sectors
    }
}
