//! The ECC lab's side of the skin: channels, codes, and the frames that go through them.

pub(crate) mod bch;
pub(crate) mod channel;
mod codecs;
pub(crate) mod ldpc;
pub(crate) mod monte_carlo;

use opennandlab_sim::config::ConfigError;

use crate::doorway::Failure;

/// A refusal at a dotted path.
pub(crate) fn refused(path: &str, message: impl std::fmt::Display) -> Failure {
    Failure::Config(ConfigError::new(path, message.to_string()))
}
