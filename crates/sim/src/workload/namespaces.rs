//! Namespaces of the drive as its hosts see them.

use std::ops::Range;

use crate::config::ConfigError;

/// A namespace as a host sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// Its logical pages among those of the drive.
    pub pages: Range<u32>,
}

impl Namespace {
    /// The first page of the namespace of this name, and the one after its last.
    ///
    /// # Errors
    /// The names that there are.
    pub fn find(all: &[Self], name: &str) -> Result<[u32; 2], ConfigError> {
        let found = all.iter().find(|it| it.name == name);
        let found = found.map(|it| [it.pages.start, it.pages.end]);
        found.ok_or_else(|| {
            let names: Vec<String> = all.iter().map(|it| format!("`{}`", it.name)).collect();
            let accepted = match names.len() {
                0 => "none, since the drive has no host.namespaces".to_owned(),
                _ => names.join(", "),
            };
            let message = format!("`{name}` is not a namespace of the drive; accepted: {accepted}");
            ConfigError::new("namespace", message)
        })
    }
}
