//! Namespaces that divide the flash: the key `host.namespaces`.
//!
//! What the keys mean on the dies of a drive is in `drive/namespaces`, the partitions that follow
//! in `ftl/config/partitions`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;

/// Most namespaces of a drive.
const NAMESPACES_MAX: usize = 64;

/// How far sizes may be from 100 % together: the rounding of as many sums.
const PERCENT_ERROR: f64 = 1e-6;

/// A part of the drive's range that is on some of its dies only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamespaceConfig {
    /// Its name, different for every namespace.
    pub name: String,
    /// Its share of the logical pages of the drive, in percent, above 0; those of all namespaces
    /// are 100 together. Left out, in all or none: its share of the blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_pct: Option<f64>,
    /// Its channels, from 0 on. Default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<Vec<u32>>,
    /// Its dies on each of these channels, from 0 on. The blocks of a die that several namespaces
    /// have are shared out evenly. Default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dies: Option<Vec<u32>>,
}

/// Refuses names and sizes that cannot be, whatever the drive is.
pub(super) fn check(namespaces: &[NamespaceConfig]) -> Result<(), ConfigError> {
    let refuse = |index: usize, key: &str, message: String| {
        Err(ConfigError::new(format!("namespaces[{index}].{key}"), message))
    };
    if namespaces.len() > NAMESPACES_MAX {
        let message =
            format!("{} namespaces; accepted: at most {NAMESPACES_MAX}", namespaces.len());
        return Err(ConfigError::new("namespaces", message));
    }
    for (index, one) in namespaces.iter().enumerate() {
        if one.name.trim().is_empty() {
            let message = format!("`{}`; accepted: text that is not blank", one.name);
            return refuse(index, "name", message);
        }
        if namespaces[..index].iter().any(|other| other.name == one.name) {
            let message = format!(
                "`{}` is the name of another namespace too; accepted: names that differ",
                one.name
            );
            return refuse(index, "name", message);
        }
        if one.size_pct.is_some() != namespaces[0].size_pct.is_some() {
            let message =
                "given for some namespaces and not for others; accepted: for all, or for \
                           none, which are then as large as their share of the blocks";
            return refuse(index, "size_pct", message.into());
        }
        if let Some(size) = one.size_pct.filter(|size| !(*size > 0.0 && *size <= 100.0)) {
            let message = format!("{size} is out of range; accepted: above 0, at most 100");
            return refuse(index, "size_pct", message);
        }
    }
    let sum: f64 = namespaces.iter().filter_map(|it| it.size_pct).sum();
    let is_given = namespaces.first().is_some_and(|it| it.size_pct.is_some());
    if is_given && (sum - 100.0).abs() > PERCENT_ERROR {
        let sizes: Vec<String> =
            namespaces.iter().filter_map(|it| Some(it.size_pct?.to_string())).collect();
        let message = format!("size_pct {} are {sum} together; accepted: 100", sizes.join(" + "));
        return Err(ConfigError::new("namespaces", message));
    }
    Ok(())
}
