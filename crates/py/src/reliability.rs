//! Error models as Python asks them: a stress per element, a table per page type.
//!
//! A model crosses as the JSON of a device file's `reliability` section; stresses as equally long
//! lists, because a curve has hundreds of points. Ranges are checked here once, so that models may
//! take them for granted.

use opennandlab_ecc::BetaBinomial;
use opennandlab_sim::config::{name_or_mapping, ConfigError};
use opennandlab_sim::device::DeviceConfig;
use opennandlab_sim::reads::Algorithm;
use opennandlab_sim::reliability::arrhenius::{acceleration, TEMPERATURE_C_RANGE};
use opennandlab_sim::reliability::layers::LayerProfile;
use opennandlab_sim::reliability::levels::ReadLevels;
use opennandlab_sim::reliability::llr::SensedPage;
use opennandlab_sim::reliability::retry::retry_table;
use opennandlab_sim::reliability::{RberConfig, StateModel, Stress};
use pyo3::prelude::*;
use serde_json::{json, Value};

use crate::doorway::{doorway, Failure};

/// Cycles, hours, temperature and reads, as Python hands them over.
type Point = (f64, f64, f64, f64);

/// More cycles, hours or reads than any flash sees; products of them still fit a float.
const AMOUNT_MAX: f64 = 1e12;

/// Fills the defaults of a `reliability` section given as JSON, and checks it.
#[pyfunction]
pub(crate) fn resolve_reliability(py: Python<'_>, text: &str) -> PyResult<String> {
    doorway(py, || {
        let model = parsed(text)?;
        Ok(json!(model).to_string())
    })
}

/// Names of the page types that a model tells apart, lower page first.
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
    doorway(py, || {
        let model = state_model(model)?;
        let states = model.states(&stress(point)?);
        Ok(json!({
            "mean": states.mean(),
            "sigma": states.sigma(),
            "default_levels": model.default_levels().at(),
            "best_levels": states.best_levels().at(),
            "page_of_level": model.gray_code.page_of_level(),
            "gray_code": model.gray_code,
            "page_types": model.gray_code.page_types(),
        })
        .to_string())
    })
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
        let model = state_model(model)?;
        check_page_type(&model, page_type)?;
        let states = model.states(&stress(point)?);
        let levels = chosen_levels(&model, levels)?;
        let code = model.gray_code;
        let page = SensedPage { states: &states, code, page_type, levels: &levels };
        let table = match offsets {
            Some(offsets) => page.table(&offsets)?,
            None => page.best_table(reads)?,
        };
        let bins: Vec<Value> = table
            .bins
            .iter()
            .map(|bin| {
                let sensed: String = bin.sensed.iter().map(u8::to_string).collect();
                json!({
                    "sensed": sensed,
                    "p_if_0": bin.if_zero,
                    "p_if_1": bin.if_one,
                    "llr": bin.llr,
                })
            })
            .collect();
        Ok(json!({
            "offsets": table.offsets,
            "bins": bins,
            "mutual_information": table.mutual_information(),
            "rber": table.rber(),
        })
        .to_string())
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
        let model = state_model(model)?;
        let stress = stress(point)?;
        let table = retry_table(&model, &self::stress(horizon)?, steps)?;
        let default = model.default_levels();
        let rates = |levels: &ReadLevels| -> Vec<f64> {
            (0..model.bits()).map(|page| model.rber_at(&stress, page, levels)).collect()
        };
        let rows: Vec<Value> = table
            .iter()
            .map(|step| {
                json!({
                    "retention_h": step.retention_h,
                    "offsets": step.offsets,
                    "rber": rates(&default.moved(&step.offsets)),
                })
            })
            .collect();
        let best = model.states(&stress).best_levels();
        Ok(json!({
            "page_types": model.gray_code.page_types(),
            "default_levels": default.at(),
            "default_rber": rates(&default),
            "best_levels": best.at(),
            "best_rber": rates(&best),
            "steps": rows,
        })
        .to_string())
    })
}

/// Hours at one temperature that an hour at another stands for.
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
    doorway(py, || {
        let config = DeviceConfig::resolve(device)?;
        let model = config.reliability.clone().unwrap_or_else(|| {
            use opennandlab_sim::reliability::{WearKeys, Weibull};
            RberConfig::Weibull(Weibull::for_device(&WearKeys {
                rber_floor: Some(config.nand.rber_floor),
                rber_ceil: Some(config.nand.rber_ceil),
                max_pe_cycles: f64::from(config.nand.max_pe_cycles.unwrap_or(1)),
            }))
        });
        Ok(json!(model).to_string())
    })
}

/// The code of a device's pages: lengths and how many bits a codeword corrects.
#[pyfunction]
pub(crate) fn page_code(py: Python<'_>, device: &str) -> PyResult<String> {
    doorway(py, || {
        let config = DeviceConfig::resolve(device)?;
        let correctable = match config.ecc.algorithm {
            Algorithm::None => Some(0),
            Algorithm::Bch => Some(config.ecc.bch_t),
            Algorithm::Ldpc => None,
        };
        let page = config
            .ecc
            .page_code(config.nand.page_size_bytes, u64::MAX)
            .map_err(|error| error.under("ecc"))?;
        Ok(json!({
            "codewords": page.codewords_per_page(),
            "correctable": correctable,
            "data_bits": page.code().data_bits_max().min(page.page_bits()),
            "last_data_bits": page.last_data_bits(),
            "page_bits": page.page_bits(),
            "parity_bits": page.code().parity_bits(),
        })
        .to_string())
    })
}

/// Failure probability of a codeword and data errors per bit at error rates, by the device's table
/// and with as many reads as its controller makes at most.
#[pyfunction]
pub(crate) fn codeword_failures(
    py: Python<'_>,
    device: &str,
    rates: Vec<f64>,
) -> PyResult<Vec<(f64, f64)>> {
    doorway(py, || {
        if let Some(rate) = rates.iter().find(|rate| !(0.0..=0.5).contains(*rate)) {
            let message = format!("{rate} is out of range; accepted: 0 to 0.5");
            return Err(ConfigError::new("rates", message).into());
        }
        let config = DeviceConfig::resolve(device)?;
        let page = config
            .ecc
            .page_code(config.nand.page_size_bytes, u64::MAX)
            .map_err(|error| error.under("ecc"))?;
        let soft = config.controller.soft_read.as_ref();
        let reads = soft.and_then(|soft| soft.reads.last()).map_or(1, |&reads| u32::from(reads));
        let outcome = |rate: f64| {
            let code = page.code();
            let failure = if reads == 1 {
                code.failure_probability(code.data_bits_max(), rate)
            } else {
                code.soft_failure_probability(code.data_bits_max(), rate, reads).unwrap_or(1.0)
            };
            (failure, page.uber_after(rate, reads))
        };
        Ok(rates.into_iter().map(outcome).collect())
    })
}

fn parsed(text: &str) -> Result<RberConfig, Failure> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let model: RberConfig = name_or_mapping(&mut reader)
        .map_err(|error| ConfigError::new("reliability", error.to_string()))?;
    model.check().map_err(|error| error.under("reliability"))?;
    Ok(model)
}

fn state_model(text: &str) -> Result<StateModel, Failure> {
    match parsed(text)? {
        RberConfig::States(model) => Ok(model),
        other => {
            let kind = json!(other)["kind"].as_str().unwrap_or_default().to_owned();
            let message = format!("`{kind}` has no threshold-voltage states; accepted: states");
            Err(ConfigError::new("reliability.kind", message).into())
        }
    }
}

fn stress((pe_cycles, retention_h, temperature_c, reads): Point) -> Result<Stress, ConfigError> {
    for (path, value) in [("pe", pe_cycles), ("retention_h", retention_h), ("reads", reads)] {
        check((0.0..=AMOUNT_MAX).contains(&value), path, value, "0 to 1e12")?;
    }
    check_temperature("temperature_c", temperature_c)?;
    Ok(Stress { pe_cycles, retention_h, temperature_c, reads, page_type: None })
}

fn chosen_levels(model: &StateModel, levels: Option<Vec<f64>>) -> Result<ReadLevels, ConfigError> {
    let Some(at) = levels else { return Ok(model.default_levels()) };
    let count = model.gray_code.states() - 1;
    let rises = at.windows(2).all(|pair| pair[0] < pair[1]);
    if at.len() != count || !rises || at.iter().any(|level| !level.is_finite()) {
        let message = format!("{at:?} is not usable; accepted: {count} rising voltages, in gaps");
        return Err(ConfigError::new("levels", message));
    }
    Ok(ReadLevels::new(&at))
}

fn check_page_type(model: &StateModel, page_type: usize) -> Result<(), ConfigError> {
    if page_type < model.bits() {
        return Ok(());
    }
    let message = format!("{page_type} is not usable; accepted: 0 to {}", model.bits() - 1);
    Err(ConfigError::new("page_type", message))
}

fn check_temperature(path: &str, value: f64) -> Result<(), ConfigError> {
    check(TEMPERATURE_C_RANGE.contains(&value), path, value, "-55 to 200 degrees Celsius")
}

fn check(is_good: bool, path: &str, value: f64, accepted: &str) -> Result<(), ConfigError> {
    if is_good {
        return Ok(());
    }
    Err(ConfigError::new(path, format!("{value} is not usable; accepted: {accepted}")))
}
