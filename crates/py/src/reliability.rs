//! Error models as Python asks them: a stress per element, a table per page type.
//!
//! A model crosses as the JSON of a device file's `reliability` section; stresses as equally long
//! lists, because a curve has hundreds of points.

use opennandlab_ecc::BetaBinomial;
use opennandlab_sim::cells::experiment::Experiment;
use opennandlab_sim::config::ConfigError;
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::reliability::arrhenius::acceleration;
use opennandlab_sim::reliability::layers::LayerProfile;
use opennandlab_sim::reliability::questions::{
    self, check, check_temperature, parsed, parsed_states, stress, SoftReads,
};
use opennandlab_sim::reliability::Stress;
use pyo3::prelude::*;
use serde_json::json;

use crate::doorway::doorway;

/// Cycles, hours, temperature and reads, as Python hands them over.
type Point = (f64, f64, f64, f64);

/// Fills the defaults of a `reliability` section given as JSON, and checks it.
#[pyfunction]
pub(crate) fn resolve_reliability(py: Python<'_>, text: &str) -> PyResult<String> {
    doorway(py, || {
        let model = parsed(text)?;
        Ok(json!(model).to_string())
    })
}

/// Names of the page types that a model distinguishes, lower page first.
#[pyfunction]
pub(crate) fn page_types(py: Python<'_>, model: &str) -> PyResult<Vec<&'static str>> {
    doorway(py, || Ok(parsed(model)?.build().page_types().to_vec()))
}

/// Raw bit error rate at each stress.
#[pyfunction]
#[pyo3(signature = (model, points, page_type=None))]
pub(crate) fn rber(
    py: Python<'_>,
    model: &str,
    points: Vec<Point>,
    page_type: Option<u8>,
) -> PyResult<Vec<f64>> {
    doorway(py, || {
        let model = parsed(model)?.build();
        points
            .into_iter()
            .map(|point| Ok(model.rber(&Stress { page_type, ..stress(point)? })))
            .collect()
    })
}

/// Means and widths of the states under stress, and the read levels: default and best.
#[pyfunction]
pub(crate) fn states(py: Python<'_>, model: &str, point: Point) -> PyResult<String> {
    doorway(py, || Ok(questions::states(&parsed_states(model)?, &stress(point)?).to_string()))
}

/// LLR table of a page type: 1, 3 or 7 reads at the best offsets, or at given ones.
#[pyfunction]
#[pyo3(signature = (model, point, page_type, reads, offsets=None, levels=None))]
pub(crate) fn llr_table(
    py: Python<'_>,
    model: &str,
    point: Point,
    page_type: usize,
    reads: usize,
    offsets: Option<Vec<f64>>,
    levels: Option<Vec<f64>>,
) -> PyResult<String> {
    doorway(py, || {
        let soft = SoftReads { page_type, reads, offsets, levels };
        let table = questions::llr_table(&parsed_states(model)?, &stress(point)?, &soft)?;
        Ok(table.to_string())
    })
}

/// Read-retry steps until a horizon, each with the error rates of a page under stress read with it.
#[pyfunction]
pub(crate) fn retry_steps(
    py: Python<'_>,
    model: &str,
    horizon: Point,
    steps: usize,
    point: Point,
) -> PyResult<String> {
    doorway(py, || {
        let (model, point) = (parsed_states(model)?, stress(point)?);
        Ok(questions::retry_steps(&model, &stress(horizon)?, steps, &point)?.to_string())
    })
}

/// What follows from the states alone for cells under stress, by page type.
#[pyfunction]
pub(crate) fn cells_analytic(
    py: Python<'_>,
    model: &str,
    point: Point,
    plan: &str,
    information: bool,
) -> PyResult<String> {
    doorway(py, || {
        Ok(Experiment::new(model, stress(point)?, plan)?.analytic(information).to_string())
    })
}

/// Counts of wordlines that are programmed, stressed and read, cell by cell.
#[pyfunction]
pub(crate) fn cells_counted(
    py: Python<'_>,
    model: &str,
    point: Point,
    plan: &str,
    first: u32,
    count: u32,
) -> PyResult<String> {
    doorway(py, || Ok(Experiment::new(model, stress(point)?, plan)?.run(first, count).to_string()))
}

/// The hours at one temperature that have the effect of an hour at another.
#[pyfunction]
pub(crate) fn arrhenius(py: Python<'_>, ea_ev: f64, from_c: f64, to_c: f64) -> PyResult<f64> {
    doorway(py, || {
        check((0.0..=3.0).contains(&ea_ev), "ea", ea_ev, "0 to 3 eV")?;
        check_temperature("from", from_c)?;
        check_temperature("to", to_c)?;
        Ok(acceleration(ea_ev, from_c, to_c))
    })
}

/// Factors of the error rate, one for each layer of a stack, with mean 1.
#[pyfunction]
pub(crate) fn layer_factors(py: Python<'_>, layers: u32, swing: f64) -> PyResult<Vec<f64>> {
    doorway(py, || Ok(LayerProfile::new(layers, swing)?.factors()))
}

/// Probability that more than `t` of `n` bits are wrong, at each mean error rate, when the rates of
/// pages have a relative standard deviation of `cv`.
#[pyfunction]
pub(crate) fn beta_binomial_tail(
    py: Python<'_>,
    n: u32,
    t: u32,
    means: Vec<f64>,
    cv: f64,
) -> PyResult<Vec<f64>> {
    doorway(py, || {
        means
            .into_iter()
            .map(|mean| {
                let errors = BetaBinomial::new(n, mean, cv)
                    .map_err(|error| ConfigError::new("cv", error.to_string()))?;
                Ok(errors.tail(t))
            })
            .collect()
    })
}

/// The model that a device reads with, as JSON, whether by its own section or by its wear keys.
#[pyfunction]
pub(crate) fn device_reliability(py: Python<'_>, device: &str) -> PyResult<String> {
    doorway(py, || Ok(json!(DeviceConfig::resolve(device)?.rber_config()).to_string()))
}

/// The code of a device's pages: lengths and how many bits a codeword corrects.
#[pyfunction]
pub(crate) fn page_code(py: Python<'_>, device: &str) -> PyResult<String> {
    doorway(py, || Ok(DeviceConfig::resolve(device)?.codewords()?.to_string()))
}

/// Failure probability of a codeword and data errors per bit at error rates, by the device's table
/// and with as many reads as its controller makes at most.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // a list of Python has no slice to borrow
pub(crate) fn codeword_failures(
    py: Python<'_>,
    device: &str,
    rates: Vec<f64>,
) -> PyResult<Vec<(f64, f64)>> {
    doorway(py, || Ok(DeviceConfig::resolve(device)?.codeword_failures(&rates)?))
}
