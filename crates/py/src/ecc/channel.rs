//! Channels, LLR tables and limits for Python. A channel comes as JSON:
//! `{kind, reads, thresholds, spacing, sigma_ratio, llr_rber}`, all but `kind` optional.

use opennandlab_ecc::cell::{CellError, LlrTable, Thresholds, TwoStates};
use opennandlab_ecc::channel::{self, Channel, Sensing};
use opennandlab_ecc::monte_carlo;
use pyo3::prelude::*;
use serde_json::{json, Value};

use super::refused;
use crate::doorway::{doorway, Failure};

/// What a channel is, apart from the point.
pub(super) struct Spec {
    kind: String,
    thresholds: Thresholds,
    sigma_ratio: f64,
    llr_rber: Option<f64>,
}

impl Spec {
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let value: Value = serde_json::from_str(text).map_err(|error| refused("channel", error))?;
        let number = |key: &str| value[key].as_f64();
        let reads = value["reads"].as_u64().map(|reads| reads as usize);
        let given: Option<Vec<f64>> = value["thresholds"]
            .as_array()
            .map(|list| list.iter().map(|item| item.as_f64().unwrap_or(f64::NAN)).collect());
        let thresholds = match (given, number("spacing")) {
            (Some(given), _) => Thresholds::Given(given),
            (None, Some(spacing)) => Thresholds::Spaced(reads.unwrap_or(0), spacing),
            (None, None) => Thresholds::Best(reads.unwrap_or(1)),
        };
        Ok(Self {
            kind: value["kind"].as_str().unwrap_or_default().to_owned(),
            thresholds,
            sigma_ratio: number("sigma_ratio").unwrap_or(1.0),
            llr_rber: number("llr_rber"),
        })
    }

    fn states(&self, rber: f64) -> Result<TwoStates, Failure> {
        TwoStates::with_ratio(rber, self.sigma_ratio).map_err(|error| match error {
            CellError::SigmaRatio { .. } => refused("sigma_ratio", error),
            _ => refused("rber", error),
        })
    }

    /// The states that the controller takes the cells to be in.
    fn believed(&self, states: TwoStates) -> Result<TwoStates, Failure> {
        match self.llr_rber {
            Some(rber) => TwoStates::with_ratio(rber, self.sigma_ratio)
                .map_err(|error| refused("llr_rber", error)),
            None => Ok(states),
        }
    }

    fn table(&self, rber: f64) -> Result<(TwoStates, LlrTable), Failure> {
        let states = self.states(rber)?;
        let table = self.thresholds.table(&states).map_err(|error| refused("thresholds", error))?;
        Ok((states, self.believed(states)?.believe(table)))
    }

    /// The channel at a point of a curve: an RBER, or an Eb/N0 in dB for a code of `rate`.
    pub(super) fn at(&self, x: f64, rate: f64) -> Result<Channel, Failure> {
        match self.kind.as_str() {
            "awgn" => Channel::awgn(x, rate).map_err(|error| refused("points", error)),
            "unquantised" => {
                let states = self.states(x)?;
                Ok(Channel::gaussian(states, self.believed(states)?))
            }
            "bsc" | "sensing" => {
                let (states, table) = self.table(x)?;
                Ok(Channel::discrete(&states, &table))
            }
            other => Err(refused("channel", format!("unknown channel `{other}`"))),
        }
    }
}

/// The LLR table of a channel at an RBER, as JSON.
#[pyfunction]
pub(crate) fn ecc_llr_table(py: Python<'_>, channel: &str, rber: f64) -> PyResult<String> {
    doorway(py, || {
        let (states, table) = Spec::parse(channel)?.table(rber)?;
        let probabilities = [0, 1].map(|bit| table.probabilities(bit).collect::<Vec<_>>());
        Ok(json!({
            "rber": rber,
            "reads": table.reads.len(),
            "sigma": states.sigma(),
            "thresholds": table.reads,
            "llrs": table.llrs().collect::<Vec<_>>(),
            "probabilities": probabilities,
            "mutual_information": table.mutual_information,
        })
        .to_string())
    })
}

/// Shannon limits of a code rate: RBER and Eb/N0 in dB for 1, 3, 7 reads and unquantised, as JSON.
#[pyfunction]
pub(crate) fn ecc_limits(py: Python<'_>, rate: f64) -> PyResult<String> {
    doorway(py, || {
        let both = |sensing: Sensing| -> Result<Value, Failure> {
            let fail = |error| refused("rate", error);
            Ok(json!({
                "rber": channel::rber_limit(rate, sensing).map_err(fail)?,
                "ebn0_db": channel::ebn0_db_limit(rate, sensing).map_err(fail)?,
            }))
        };
        Ok(json!({
            "1": both(Sensing::Reads(1))?,
            "3": both(Sensing::Reads(3))?,
            "7": both(Sensing::Reads(7))?,
            "unquantised": both(Sensing::Unquantised)?,
        })
        .to_string())
    })
}

/// Clopper and Pearson's 95 % interval of `errors` among `trials`.
#[pyfunction]
pub(crate) fn ecc_interval(py: Python<'_>, errors: u64, trials: u64) -> PyResult<(f64, f64)> {
    doorway(py, || Ok(monte_carlo::confidence_interval(errors, trials)))
}

/// Binomial probabilities of `first..limit` wrong bits of `n`.
#[pyfunction]
pub(crate) fn ecc_weights(
    py: Python<'_>,
    n: u32,
    first: u32,
    limit: u32,
    p: f64,
) -> PyResult<Vec<f64>> {
    doorway(py, || Ok(monte_carlo::binomial_weights(n, first, limit, p)))
}

/// `P(X > t)`, X binomial (n, p), exact to twelve digits.
#[pyfunction]
pub(crate) fn ecc_tail(py: Python<'_>, n: u32, t: u32, p: f64) -> PyResult<f64> {
    doorway(py, || Ok(opennandlab_ecc::binomial_tail(n, t, p)))
}
