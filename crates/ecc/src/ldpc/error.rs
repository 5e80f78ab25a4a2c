//! Faults of a parity-check matrix, of the name of a code or of the settings of a decoder.
//!
//! Every refusal reports the fault, its line if it has one, and the accepted input. A frame that
//! cannot be decoded is not an error: it is a flag in the answer of the decoder.

/// Why there is no such LDPC code. Nothing was built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatrixError {
    /// The text of a matrix does not have the required format.
    #[error("line {line}: {message}")]
    Line {
        /// Line of the text, from 1.
        line: usize,
        /// The text that was found, and the accepted input.
        message: String,
    },
    /// The matrix as a whole cannot be used.
    #[error("{message}")]
    Matrix {
        /// The property that was found, and the accepted input.
        message: String,
    },
    /// No built-in code has this name.
    #[error("no code is named `{name}`; accepted: {accepted}")]
    Name {
        /// The name asked for.
        name: String,
        /// All names, separated by commas.
        accepted: String,
    },
}

impl MatrixError {
    pub(crate) fn line(line: usize, message: impl Into<String>) -> Self {
        Self::Line { line, message: message.into() }
    }

    pub(crate) fn matrix(message: impl Into<String>) -> Self {
        Self::Matrix { message: message.into() }
    }
}

/// Why a decoder cannot be built from its settings.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecoderError {
    /// No decoder has this name.
    #[error("no decoder is named `{name}`; accepted: {accepted}")]
    Name {
        /// The name asked for.
        name: String,
        /// All names, separated by commas.
        accepted: String,
    },
    /// A number of iterations outside 1 to `iterations_max`.
    #[error("{iterations} iterations; accepted: 1 to {iterations_max}")]
    Iterations {
        /// The refused number.
        iterations: u32,
        /// Largest accepted number.
        iterations_max: u32,
    },
    /// A factor that does not weaken messages.
    #[error("scale {scale} of min-sum; accepted: above 0, at most 1")]
    Scale {
        /// The refused factor.
        scale: f32,
    },
    /// An offset that does not weaken messages.
    #[error("offset {offset} of min-sum; accepted: 0 to {offset_max}, in units of LLR")]
    Offset {
        /// The refused offset.
        offset: f32,
        /// Largest accepted offset.
        offset_max: f32,
    },
    /// The processor lacks the instructions that were asked for.
    #[error("this processor has no {path}; accepted: {accepted}")]
    Path {
        /// The path asked for.
        path: &'static str,
        /// The paths of this processor.
        accepted: String,
    },
}
