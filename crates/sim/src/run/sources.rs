//! Counts by the source of operations, as the result file has them.

use serde_json::{json, Map, Value};

use crate::op::{SOURCE_COUNT, SOURCE_NAMES};

/// The counts since `then`.
pub(super) fn difference<const N: usize>(now: &[u64; N], then: &[u64; N]) -> [u64; N] {
    std::array::from_fn(|index| now[index] - then[index])
}

/// Counts by source name, with the given names left out.
pub(super) fn counts(values: &[u64; SOURCE_COUNT], hidden: &[&str]) -> Value {
    let mut section = Map::new();
    for (name, value) in SOURCE_NAMES.iter().zip(values) {
        if !hidden.contains(name) {
            section.insert((*name).to_owned(), json!(value));
        }
    }
    Value::Object(section)
}
