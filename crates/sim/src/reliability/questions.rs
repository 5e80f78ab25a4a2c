//! What the command line and Python ask of error models: answers with every number of a page.
//!
//! A model comes as the JSON of a device file's `reliability` section; ranges of stresses are
//! checked here once, so that models may take them for granted.

use opennandlab_ecc::cell::{CellError, CellPage, ReadLevels};
use serde_json::{json, Value};

use super::arrhenius::TEMPERATURE_C_RANGE;
use super::{RberConfig, StateModel, Stress};
use crate::config::{name_or_mapping, ConfigError};

/// More cycles, hours or reads than any flash sees; products of them still fit a float.
const AMOUNT_MAX: f64 = 1e12;

/// The model of a `reliability` section given as JSON, checked.
///
/// # Errors
/// [`ConfigError`] under `reliability`.
pub fn parsed(text: &str) -> Result<RberConfig, ConfigError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let model: RberConfig = name_or_mapping(&mut reader)
        .map_err(|error| ConfigError::new("reliability", error.to_string()))?;
    model.check().map_err(|error| error.under("reliability"))?;
    Ok(model)
}

/// The same where only a model with states will do.
///
/// # Errors
/// [`ConfigError`] under `reliability`.
pub fn parsed_states(text: &str) -> Result<StateModel, ConfigError> {
    match parsed(text)? {
        RberConfig::States(model) => Ok(model),
        other => {
            let kind = json!(other)["kind"].as_str().unwrap_or_default().to_owned();
            let message = format!("`{kind}` has no threshold-voltage states; accepted: states");
            Err(ConfigError::new("reliability.kind", message))
        }
    }
}

/// The stress of cycles, hours, degrees Celsius and reads per page.
///
/// # Errors
/// [`ConfigError`] with the key that is out of range.
pub fn stress(
    (pe_cycles, retention_h, temperature_c, reads): (f64, f64, f64, f64),
) -> Result<Stress, ConfigError> {
    for (path, value) in [("pe", pe_cycles), ("retention_h", retention_h), ("reads", reads)] {
        check((0.0..=AMOUNT_MAX).contains(&value), path, value, "0 to 1e12")?;
    }
    check_temperature("temperature_c", temperature_c)?;
    Ok(Stress { pe_cycles, retention_h, temperature_c, reads, page_type: None })
}

/// Refuses a temperature that the Arrhenius law is not asked for.
///
/// # Errors
/// [`ConfigError`] at `path`.
pub fn check_temperature(path: &str, value: f64) -> Result<(), ConfigError> {
    check(TEMPERATURE_C_RANGE.contains(&value), path, value, "-55 to 200 degrees Celsius")
}

/// Refuses `value` unless it is good; `accepted` names the range in words.
///
/// # Errors
/// [`ConfigError`] at `path`.
pub fn check(is_good: bool, path: &str, value: f64, accepted: &str) -> Result<(), ConfigError> {
    if is_good {
        return Ok(());
    }
    Err(ConfigError::new(path, format!("{value} is not usable; accepted: {accepted}")))
}

/// Means and widths of the states under stress, and the read levels: default and best.
pub fn states(model: &StateModel, stress: &Stress) -> Value {
    let states = model.states(stress);
    json!({
        "mean": states.mean(),
        "sigma": states.sigma(),
        "default_levels": model.default_levels().at(),
        "best_levels": states.best_levels().at(),
        "page_of_level": model.gray_code.page_of_level(),
        "gray_code": model.gray_code,
        "page_types": model.gray_code.page_types(),
    })
}

/// How a page is read several times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SoftReads {
    /// Page type, 0 the lower page.
    pub page_type: usize,
    /// Reads: 1, 3 or 7.
    pub reads: usize,
    /// How far the levels are moved for each read, gaps; none: those with the most information.
    pub offsets: Option<Vec<f64>>,
    /// The levels, gaps; none: those of fresh flash.
    pub levels: Option<Vec<f64>>,
}

/// LLR table of a page type.
///
/// # Errors
/// [`ConfigError`] for page types, reads, offsets or levels that does not exist.
pub fn llr_table(
    model: &StateModel,
    stress: &Stress,
    soft: &SoftReads,
) -> Result<Value, ConfigError> {
    if soft.page_type >= model.bits() {
        let message =
            format!("{} is not usable; accepted: 0 to {}", soft.page_type, model.bits() - 1);
        return Err(ConfigError::new("page_type", message));
    }
    let states = model.states(stress);
    let levels = chosen_levels(model, soft.levels.as_deref())?;
    let bits = model.gray_code.page(soft.page_type);
    let page = CellPage { states: &states, bits, levels: &levels };
    let table = match &soft.offsets {
        Some(offsets) => page.table(offsets),
        None => page.best_table(soft.reads),
    };
    let table = table.map_err(|error| match error {
        CellError::Reads { reads } => {
            ConfigError::new("reads", format!("{reads} is not usable; accepted: 1, 3 or 7"))
        }
        other => ConfigError::new("offsets", other.to_string()),
    })?;
    let bins: Vec<Value> = table
        .bins
        .iter()
        .map(|bin| {
            let sensed: String = bin.sensed.iter().map(u8::to_string).collect();
            json!({
                "sensed": sensed, "p_if_0": bin.if_zero, "p_if_1": bin.if_one, "llr": bin.llr,
            })
        })
        .collect();
    Ok(json!({
        "offsets": table.reads,
        "bins": bins,
        "mutual_information": table.mutual_information,
        "rber": table.rber(),
    }))
}

/// Read-retry steps until a horizon, each with the error rates of a page under stress read with it.
///
/// # Errors
/// [`ConfigError`] for no steps or more than 64.
pub fn retry_steps(
    model: &StateModel,
    horizon: &Stress,
    steps: usize,
    stress: &Stress,
) -> Result<Value, ConfigError> {
    let table = model.retry_steps(horizon, steps)?;
    let default = model.default_levels();
    let rates = |levels: &ReadLevels| -> Vec<f64> {
        (0..model.bits()).map(|page| model.rber_at(stress, page, levels)).collect()
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
    let best = model.states(stress).best_levels();
    Ok(json!({
        "page_types": model.gray_code.page_types(),
        "default_levels": default.at(),
        "default_rber": rates(&default),
        "best_levels": best.at(),
        "best_rber": rates(&best),
        "steps": rows,
    }))
}

fn chosen_levels(model: &StateModel, levels: Option<&[f64]>) -> Result<ReadLevels, ConfigError> {
    let Some(at) = levels else { return Ok(model.default_levels()) };
    let count = model.gray_code.states() - 1;
    let rises = at.windows(2).all(|pair| pair[0] < pair[1]);
    if at.len() != count || !rises || at.iter().any(|level| !level.is_finite()) {
        let message = format!("{at:?} is not usable; accepted: {count} rising voltages, in gaps");
        return Err(ConfigError::new("levels", message));
    }
    Ok(ReadLevels::new(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aged() -> Stress {
        stress((3000.0, 8760.0, 40.0, 0.0)).expect("in range")
    }

    #[test]
    fn answers_have_the_numbers_of_the_model() {
        let model = parsed_states(r#""states""#).expect("the default");
        let soft = SoftReads { page_type: 2, reads: 3, ..SoftReads::default() };
        let table = llr_table(&model, &aged(), &soft).expect("a table");
        assert_eq!(table["bins"].as_array().map(Vec::len), Some(6));
        let rber = model.rber_at(&aged(), 2, &model.default_levels());
        let once = llr_table(&model, &aged(), &SoftReads { reads: 1, ..soft }).expect("a table");
        assert!((once["rber"].as_f64().expect("a number") / rber - 1.0).abs() < 1e-12);
        let steps = retry_steps(&model, &aged(), 4, &aged()).expect("4 steps");
        let rate = |value: &Value| value[2].as_f64().expect("a rate");
        assert!((rate(&steps["default_rber"]) / rber - 1.0).abs() < 1e-12);
        assert!((rate(&steps["steps"][3]["rber"]) / rate(&steps["best_rber"]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_cannot_be_asked_is_refused_by_its_key() {
        let model = StateModel::default();
        let refused = |soft: SoftReads| llr_table(&model, &aged(), &soft).unwrap_err().path;
        let reads = SoftReads { reads: 3, ..SoftReads::default() };
        assert_eq!(refused(SoftReads { page_type: 3, ..reads.clone() }), "page_type");
        assert_eq!(refused(SoftReads { reads: 2, ..reads.clone() }), "reads");
        assert_eq!(
            refused(SoftReads { offsets: Some(vec![0.1, 0.0]), ..reads.clone() }),
            "offsets"
        );
        assert_eq!(refused(SoftReads { levels: Some(vec![1.0]), ..reads }), "levels");
        assert_eq!(stress((0.0, -1.0, 40.0, 0.0)).unwrap_err().path, "retention_h");
        assert_eq!(stress((0.0, 0.0, 300.0, 0.0)).unwrap_err().path, "temperature_c");
        assert_eq!(parsed_states(r#""kim""#).unwrap_err().path, "reliability.kind");
    }
}
