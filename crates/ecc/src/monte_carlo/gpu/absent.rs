//! In the place of `cuda` in a build without the feature `gpu`.

use super::{Launch, Outcome, Tables};

/// What there is none of.
pub(super) enum Cuda {}

impl Cuda {
    /// # Errors
    /// Always.
    pub fn new(_: Tables) -> Result<Self, String> {
        Err("gpu is not in this build; accepted: cpu, or a build with the feature gpu".into())
    }
}

impl Launch for Cuda {
    fn frames_max(&self) -> u64 {
        match *self {}
    }
    fn launch(&mut self, _: &[u8], _: u64, _: u32) -> Result<Vec<Outcome>, String> {
        match *self {}
    }
}
