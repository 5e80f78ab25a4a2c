//! Times of page operations, one or one per page type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time of a page operation: one number, or one per page type (row of the page modulo the list's
/// length).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(into = "serde_json::Value")]
#[schemars(with = "PageTimesSchema")]
pub struct PageTimes(pub Vec<f64>);

/// Documentation only: the two spellings of [`PageTimes`].
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum PageTimesSchema {
    One(f64),
    PerPageType(Vec<f64>),
}

impl From<PageTimes> for serde_json::Value {
    fn from(times: PageTimes) -> Self {
        match times.0.as_slice() {
            [one] => serde_json::json!(one),
            many => serde_json::json!(many),
        }
    }
}

impl<'de> Deserialize<'de> for PageTimes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let list = match &value {
            serde_json::Value::Array(items) => items.clone(),
            other => vec![other.clone()],
        };
        list.iter().map(serde_json::Value::as_f64).collect::<Option<Vec<_>>>().map(Self).ok_or_else(
            || {
                serde::de::Error::custom(format!(
                    "`{value}` is not a valid page time; accepted: microseconds as a number, or a \
                     list with one number per page type"
                ))
            },
        )
    }
}
