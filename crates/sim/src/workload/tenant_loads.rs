//! Tenants that replay traces.
//!
//! ```text
//! web: open      trace ─┐
//! db: open       trace ─┴─► joined by arrival ──► one load draws for both
//! batch: closed  trace ───────────────────────► a load
//! scan           pattern ─────────────────────► a load
//! ```
//! Requests that come at the same time come in the order of the tenants, so that the joined trace,
//! replayed alone, gives the same. Volumes of a trace have accounts behind those of the tenants.

use std::ops::Range;
use std::sync::Arc;

use super::replay::{Joined, LaidOut};
use super::tenant::TenantConfig;
use super::trace::Trace;
use super::{Admission, Host, Load, Space};
use crate::config::ConfigError;

/// Most volumes that have separate figures.
const VOLUMES_MAX: usize = 64;

impl TenantConfig {
    fn laid_out(&self, trace: Arc<Trace>, space: Space) -> Result<Option<LaidOut>, ConfigError> {
        let (Some(source), Some(load)) = (&self.trace, self.load) else { return Ok(None) };
        let laid_out = source.replay(load).lay_out(trace, self.replayed_part(space));
        laid_out.map(Some).map_err(|error| error.under("trace"))
    }
}

/// The loads of tenants of which some replay traces, each with the trace of its number; those of
/// volumes come last. Appends warnings.
pub(super) fn loads(
    tenants: &[TenantConfig],
    traces: &[Option<Arc<Trace>>],
    (space, seed): (Space, u64),
    warnings: &mut Vec<String>,
) -> Result<Vec<Load>, ConfigError> {
    let (mut loads, mut volumes, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for (index, tenant) in tenants.iter().enumerate() {
        if tenant.trace.is_none() {
            loads.push(tenant.load(index, space, seed, "tenant"));
            continue;
        }
        let at = |path: &str| format!("tenants[{index}]{path}");
        let Some(trace) = traces.get(index).and_then(Option::as_ref) else {
            return Err(ConfigError::new(at(".trace"), "the trace was not read"));
        };
        let laid_out = tenant.laid_out(Arc::clone(trace), space);
        let Some(laid_out) = laid_out.map_err(|error| error.under(&at("")))? else { continue };
        let told = laid_out.warnings.iter();
        warnings.extend(told.map(|text| format!("tenant {}: {text}", tenant.name)));
        let accounts = volume_accounts(&laid_out, index, &mut volumes);
        if accounts.is_none() {
            warnings.push(format!(
                "tenant {}: the volumes of its trace have no figures of their own: there would be \
                 more than {VOLUMES_MAX} such rows",
                tenant.name
            ));
        }
        let first = tenants.len();
        let numbers: Vec<u8> = match accounts {
            Some(range) if !range.is_empty() => range.map(|it| (first + it) as u8).collect(),
            _ => vec![index as u8],
        };
        let volume = laid_out.name_of_only_volume();
        let host = Host { volume, trace: Some(laid_out.facts()), ..tenant.host() };
        let replay = laid_out.generator(&numbers);
        loads.push(match laid_out.admission {
            Admission::Closed { .. } => {
                Load { host, ..Load::new(Box::new(replay), laid_out.admission) }
            }
            Admission::Open | Admission::Paced { .. } => {
                open.push((index, replay));
                Load::drawn_elsewhere(host)
            }
        });
    }
    if let Some(&(leader, _)) = open.first() {
        loads[leader].generator = Box::new(Joined::new(open.into_iter().map(|(_, it)| it)));
    }
    loads.extend(volumes);
    Ok(loads)
}

/// Appends accounts of the volumes of a trace, if it has several: which they are, or `None` if they
/// are too many.
fn volume_accounts(
    laid_out: &LaidOut,
    tenant: usize,
    volumes: &mut Vec<Load>,
) -> Option<Range<usize>> {
    let found: Vec<_> = laid_out.layout.volumes().collect();
    let first = volumes.len();
    if found.len() < 2 {
        return Some(first..first);
    }
    if first + found.len() > VOLUMES_MAX {
        return None;
    }
    volumes.extend(found.into_iter().map(|volume| {
        let name = laid_out.trace.volumes()[volume].clone();
        let volume_of = Some(tenant as u8);
        let host = Host { volume: name.clone(), name, weight: 1, volume_of, ..Host::default() };
        Load::drawn_elsewhere(host)
    }));
    Some(first..volumes.len())
}
