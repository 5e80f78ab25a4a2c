//! How large the requests are: one size, or a distribution of sizes.
//!
//! A distribution is a map from size to weight, `{4KiB: 40, 8KiB: 40, 16KiB: 20}`. Weights need
//! not sum to anything: the share of a size is its weight over the sum. Sizes are kept in
//! ascending order, so that the order of keys in a file cannot change a result.

use schemars::generate::SchemaGenerator;
use schemars::{json_schema, JsonSchema, Schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::check::{refuse, whole_from, whole_sectors};
use crate::config::ConfigError;
use crate::rng::Rng;
use crate::units::{parse_bytes, SECTOR_BYTES};

/// Largest request accepted, in bytes. Generous: block layers split far below it.
const BLOCK_BYTES_MAX: u64 = 1 << 30;

/// The declared sizes: ascending, never empty, each with its weight.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockSizes {
    choices: Vec<(u64, f64)>,
}

impl BlockSizes {
    /// Every request has this size.
    pub fn one(bytes: u64) -> Self {
        Self { choices: vec![(bytes, 1.0)] }
    }

    /// Sizes with their weights, in any order.
    ///
    /// # Errors
    /// When there is none, or one is named twice.
    pub fn of(mut choices: Vec<(u64, f64)>) -> Result<Self, String> {
        choices.sort_by_key(|&(bytes, _)| bytes);
        if let Some(pair) = choices.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(format!("{} bytes are named twice", pair[0].0));
        }
        if choices.is_empty() {
            return Err("no size; accepted: at least one with its weight".to_owned());
        }
        Ok(Self { choices })
    }

    /// The smallest size in bytes: the default alignment of addresses.
    pub fn bytes_min(&self) -> u64 {
        self.choices[0].0
    }

    /// The largest size in bytes.
    pub fn bytes_max(&self) -> u64 {
        self.choices[self.choices.len() - 1].0
    }

    /// The sizes in sectors, ascending.
    pub fn sector_counts(&self) -> Vec<u32> {
        self.choices.iter().map(|choice| (choice.0 / SECTOR_BYTES) as u32).collect()
    }

    /// Mean size in bytes.
    pub fn bytes_mean(&self) -> f64 {
        let weight: f64 = self.choices.iter().map(|choice| choice.1).sum();
        self.choices.iter().map(|&(bytes, share)| bytes as f64 * share).sum::<f64>() / weight
    }

    /// The sizes with those below `bytes_min` raised to it.
    #[must_use]
    pub(crate) fn at_least(&self, bytes_min: u64) -> Self {
        let mut choices: Vec<(u64, f64)> = Vec::with_capacity(self.choices.len());
        for &(bytes, weight) in &self.choices {
            let bytes = bytes.max(bytes_min);
            match choices.last_mut() {
                Some(last) if last.0 == bytes => last.1 += weight,
                _ => choices.push((bytes, weight)),
            }
        }
        Self { choices }
    }

    pub(crate) fn check(&self, path: &str) -> Result<(), ConfigError> {
        for &(bytes, weight) in &self.choices {
            whole_sectors(path, bytes)?;
            if bytes > BLOCK_BYTES_MAX {
                return Err(refuse(path, bytes, "512 B to 1 GiB"));
            }
            if !(weight > 0.0 && weight.is_finite()) {
                let path = format!("{path}.{bytes}");
                return Err(refuse(&path, weight, "a positive weight"));
            }
        }
        Ok(())
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let Value::Object(map) = value else {
            return Ok(Self::one(one_size(value)?));
        };
        if map.is_empty() {
            return Err("the map is empty; accepted: at least one `size: weight`".to_owned());
        }
        let mut choices = Vec::with_capacity(map.len());
        for (key, weight) in map {
            let weight = weight.as_f64().ok_or_else(|| {
                format!("`{weight}` is not a valid weight of {key}; accepted: a positive number")
            })?;
            choices.push((parse_bytes(key)?, weight));
        }
        Self::of(choices)
    }
}

fn one_size(value: &Value) -> Result<u64, String> {
    match value {
        Value::String(text) => parse_bytes(text),
        other => whole_from(other).ok_or_else(|| {
            format!(
                "`{other}` is not a valid size; accepted: bytes such as 4096, text such as 4KiB, \
                 or a map of size to weight such as {{4KiB: 40, 16KiB: 60}}"
            )
        }),
    }
}

impl<'de> Deserialize<'de> for BlockSizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for BlockSizes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.choices[..] {
            [(bytes, _)] => serializer.serialize_u64(bytes),
            _ => serializer.collect_map(self.choices.iter().map(|&(b, w)| (b.to_string(), w))),
        }
    }
}

impl JsonSchema for BlockSizes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BlockSizes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 512, "maximum": BLOCK_BYTES_MAX },
                { "type": "string" },
                {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": { "type": "number", "exclusiveMinimum": 0 },
                },
            ],
        })
    }
}

/// The sizes compiled for drawing.
#[derive(Clone, Debug)]
pub(crate) struct SizeMix {
    /// Sectors of each size.
    pub sector_counts: Vec<u32>,
    /// Cumulative share of each size; the last is unreachable by construction of the search.
    limits: Vec<f64>,
    rng: Rng,
}

impl SizeMix {
    /// Compiles checked `sizes`, drawing from `rng`.
    pub fn new(sizes: &BlockSizes, rng: Rng) -> Self {
        let weight: f64 = sizes.choices.iter().map(|choice| choice.1).sum();
        let mut sum = 0.0;
        let cumulate = |&(_, share): &(u64, f64)| {
            sum += share;
            sum / weight
        };
        Self {
            limits: sizes.choices.iter().map(cumulate).collect(),
            sector_counts: sizes.sector_counts(),
            rng,
        }
    }

    /// Index of the size of the next request. A single size costs no randomness.
    pub fn draw(&mut self) -> usize {
        let last = self.limits.len() - 1;
        if last == 0 {
            return 0;
        }
        let point = self.rng.unit();
        self.limits[..last].iter().position(|&limit| point < limit).unwrap_or(last)
    }

    /// Index of the size with this number of sectors.
    pub fn index_of(&self, sector_count: u32) -> Option<usize> {
        self.sector_counts.iter().position(|&count| count == sector_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_distribution_is_sorted_and_keeps_its_weights() {
        let sizes = BlockSizes::from_value(&json!({"16KiB": 20, "4096": 40, "8k": 40})).unwrap();
        assert_eq!(sizes.choices, [(4096, 40.0), (8192, 40.0), (16384, 20.0)]);
        // 0.4 x 4 + 0.4 x 8 + 0.2 x 16 KiB: the OLTP mix averages 8 KiB.
        assert!((sizes.bytes_mean() - 8192.0).abs() < 1e-9);
        let text = serde_json::to_value(&sizes).unwrap();
        assert_eq!(BlockSizes::from_value(&text).unwrap(), sizes);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for bad in [json!(0), json!(1000), json!("2GiB"), json!({"4KiB": 0}), json!({"4KiB": -1})] {
            let sizes = BlockSizes::from_value(&bad).unwrap();
            assert!(sizes.check("block_size_bytes").is_err(), "{bad}");
        }
        for bad in [json!({}), json!({"4KiB": 1, "4096": 1}), json!(-1), json!([4096]), json!("x")]
        {
            assert!(BlockSizes::from_value(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_drawn_by_weight() {
        let sizes = BlockSizes::from_value(&json!({"512": 1, "4KiB": 6, "8KiB": 3})).unwrap();
        let mut mix = SizeMix::new(&sizes, Rng::stream(1, "test"));
        let mut counts = [0_u32; 3];
        for _ in 0..100_000 {
            counts[mix.draw()] += 1;
        }
        // Standard deviations are 95, 155 and 145: within 4.5 of them.
        assert!(counts[0].abs_diff(10_000) < 427, "{counts:?}");
        assert!(counts[1].abs_diff(60_000) < 697, "{counts:?}");
        assert!(counts[2].abs_diff(30_000) < 652, "{counts:?}");
    }
}
