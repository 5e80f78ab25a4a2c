//! Campaigns of power cuts: names come in, counts go out as JSON.

use opennandlab_sim::config::ConfigError;
use opennandlab_sim::power_loss::{
    check, self_test, Campaign, Claims, HostLog, KnownPage, Life, LoggedWrite, Pattern, Reading,
    Tally, Target,
};
use opennandlab_sim::units::Ns;
use pyo3::prelude::*;
use serde_json::json;

use crate::config::Device;
use crate::doorway::{doorway, Failure};

/// A drive that lives through cuts, once for each number of a life.
#[pyclass(frozen)]
pub(crate) struct PowerCampaign {
    life: Life,
}

#[pymethods]
impl PowerCampaign {
    /// Writes the drive. Names of workloads and targets as on the command line; claims in the order
    /// honest flush, capacitors, ordered, zeros after trim.
    #[new]
    #[pyo3(signature = (device, workloads, targets, claims, cuts_per_life, mount_limit_us, seed))]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // called from Python
    fn new(
        py: Python<'_>,
        device: &Device,
        workloads: Vec<String>,
        targets: Vec<String>,
        claims: (bool, bool, bool, bool),
        cuts_per_life: u32,
        mount_limit_us: f64,
        seed: u64,
    ) -> PyResult<Self> {
        let device = device.config.clone();
        doorway(py, || {
            let patterns =
                workloads.iter().map(|name| pattern_of(name)).collect::<Result<_, _>>()?;
            let targets = targets.iter().map(|name| target_of(name)).collect::<Result<_, _>>()?;
            let (honest_flush, plp, ordered, rzat) = claims;
            let campaign = Campaign {
                device,
                patterns,
                targets,
                claims: Claims { honest_flush, plp, ordered, rzat },
                cuts_per_life,
                mount_limit: Ns::from_us(mount_limit_us),
                seed,
            };
            Ok(Self { life: Life::new(campaign)? })
        })
    }

    /// Simulates `count` lives from number `first` on; returns their findings, as JSON.
    fn live(&self, py: Python<'_>, first: u64, count: u64) -> PyResult<String> {
        doorway(py, || {
            let mut tally = Tally::default();
            (first..first + count).for_each(|number| tally.add(self.life.live(number)));
            Ok::<_, Failure>(tally.to_json().to_string())
        })
    }
}

/// The pattern of a name.
pub(crate) fn pattern_of(name: &str) -> Result<Pattern, ConfigError> {
    let known = || Pattern::ALL.iter().map(|it| it.name()).collect();
    named("--workload", name, Pattern::of_name(name), known)
}

/// The moment of a name.
pub(crate) fn target_of(name: &str) -> Result<Target, ConfigError> {
    let known = || Target::ALL.iter().map(|it| it.name()).collect();
    named("--at", name, Target::of_name(name), known)
}

fn named<T>(
    option: &str,
    name: &str,
    found: Option<T>,
    known: impl Fn() -> Vec<&'static str>,
) -> Result<T, ConfigError> {
    found.ok_or_else(|| {
        let accepted = known().join(", ");
        ConfigError::new(option, format!("`{name}` is not known; accepted: {accepted}"))
    })
}

/// Records of `N` little-endian numbers.
fn rows<const N: usize>(
    name: &str,
    bytes: &[u8],
) -> Result<impl Iterator<Item = [u64; N]>, ConfigError> {
    if !bytes.len().is_multiple_of(8 * N) {
        let message = format!("{} bytes are not rows of {N} numbers", bytes.len());
        return Err(ConfigError::new(name, message));
    }
    let row = |row: &[u8]| {
        let mut numbers = [0; N];
        for (number, bytes) in numbers.iter_mut().zip(row.chunks_exact(8)) {
            *number = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        numbers
    };
    Ok(bytes.chunks_exact(8 * N).map(row).collect::<Vec<_>>().into_iter())
}

/// What a drive promises by its options, in the order of claims of [`PowerCampaign`].
#[pyfunction]
pub(crate) fn power_promises(device: &Device) -> (bool, bool, bool, bool) {
    let claims = Claims::of(&device.config.power.clone().unwrap_or_default());
    (claims.honest_flush, claims.plp, claims.ordered, claims.rzat)
}

/// What a drive answers after a cut, compared with the log of a host.
///
/// All tables are rows of unsigned 64-bit numbers, little endian: `base` version and whether there
/// is data, by unit; `asked` unit, version, time of issue, time of acknowledgement plus one or 0,
/// and bits: 1 trim, 2 covered by a flush or forced; `readings` by unit: 0 zeros, 1 a record, 2 a
/// torn one, 3 an error, 4 no record, then unit and version of it. Claims as for
/// [`PowerCampaign`]. Faults as JSON.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // called from Python
pub(crate) fn power_check(
    py: Python<'_>,
    base: Vec<u8>,
    asked: Vec<u8>,
    readings: Vec<u8>,
    claims: (bool, bool, bool, bool),
) -> PyResult<String> {
    doorway(py, || {
        let base: Vec<KnownPage> = rows("base", &base)?
            .map(|[version, has_data]| KnownPage {
                version: version as u32,
                has_data: has_data > 0,
            })
            .collect();
        let units = base.len();
        let mut log = HostLog::new(base);
        for [lpn, version, issued, acked, bits] in rows("asked", &asked)? {
            if lpn >= units as u64 {
                let message = format!("unit {lpn} of {units}");
                return Err(ConfigError::new("asked", message).into());
            }
            log.asked.push(LoggedWrite {
                lpn: lpn as u32,
                version: version as u32,
                is_trim: bits & 1 > 0,
                token: 0,
                issued: Ns(issued),
                acked: acked.checked_sub(1).map(Ns),
                is_covered: bits & 2 > 0,
                is_fua: false,
            });
        }
        let readings: Vec<Reading> = rows("readings", &readings)?
            .map(|[kind, lpn, version]| match kind {
                0 => Reading::Empty,
                1 | 2 => {
                    Reading::Data { lpn: lpn as u32, version: version as u32, is_torn: kind == 2 }
                }
                3 => Reading::Error,
                _ => Reading::Garbage,
            })
            .collect();
        if readings.len() != units {
            let message = format!("{} answers for {units} units", readings.len());
            return Err(ConfigError::new("readings", message).into());
        }
        let (honest_flush, plp, ordered, rzat) = claims;
        let claims = Claims { honest_flush, plp, ordered, rzat };
        let faults = check(&log, claims, |lpn| readings[lpn as usize]);
        let told: Vec<_> = faults
            .iter()
            .map(|fault| {
                json!({
                    "class": fault.class.name(),
                    "guarantee": format!("G{}", fault.guarantee),
                    "unit": fault.lpn,
                    "owed_version": fault.owed,
                    "found": fault.found.map(|found| found.to_string()),
                })
            })
            .collect();
        Ok::<_, Failure>(json!(told).to_string())
    })
}

/// Puts faults of every class into right answers; what the judge called them, as JSON.
#[pyfunction]
pub(crate) fn power_self_test(py: Python<'_>, seed: u64, count: u64) -> PyResult<String> {
    doorway(py, || {
        let test = self_test(seed, count);
        Ok::<_, Failure>(
            json!({
                "injected": test.injected,
                "named": test.named,
                "clean": test.clean,
                "false_alarms": test.false_alarms,
                "classes": test
                    .classes
                    .iter()
                    .map(|(name, (injected, named))| {
                        ((*name).to_owned(), json!({"injected": injected, "named": named}))
                    })
                    .collect::<serde_json::Map<_, _>>(),
            })
            .to_string(),
        )
    })
}
