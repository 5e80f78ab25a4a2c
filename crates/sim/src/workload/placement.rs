//! Which placement id the writes of a workload carry, for drives that place data by it
//! (`ftl.placement`). Drives that do not ignore the ids.
//!
//! ```text
//! range     [ id 0 | id 1        | id 2 ]      by logical address
//! hot_cold  [ 0    | 1                  ]      the first fraction of the space is hot
//! phase     fill: id 0 · workload: id 1 · measured: id 2
//! tenant    analytics: id 0 · log: id 1       a fill: that of whose range it writes
//! ```

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::refuse;
use super::pattern::PatternConfig;
use super::Space;
use crate::config::{optional_bytes, size_schema, ConfigError};

/// The property that decides the placement id of a write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum PlacementIds {
    /// The range of the logical space that contains its page.
    Range(RangeIds),
    /// The step of preconditioning, or the measured part.
    Phase(PhaseIds),
    /// The tenant that asks.
    Tenant(TenantIds),
    /// Whether its address is hot: the first part of the logical space is.
    HotCold(HotColdIds),
}

/// Parameters of `range`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RangeIds {
    /// The ranges, from the start of the logical space on; 1 to 4096. The last has no size and
    /// takes the rest.
    #[schemars(length(min = 1, max = 4096))]
    pub ranges: Vec<IdRange>,
}

/// A range of the logical space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdRange {
    /// Its share of the logical space; above 0, below 1; rounded to pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
    /// Or its size in bytes, as text such as 1GiB too; whole pages.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_bytes")]
    #[schemars(schema_with = "size_schema")]
    pub bytes: Option<u64>,
    /// The placement id of its writes.
    pub id: u32,
}

/// Parameters of `phase`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseIds {
    /// One id for each step of preconditioning, in order, and one for the measured part; default 0,
    /// 1, 2 and so on.
    #[serde(default)]
    pub ids: Vec<u32>,
}

/// Parameters of `tenant`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantIds {
    /// One id for each tenant, in order; default 0, 1, 2 and so on. Preconditioning that does not
    /// write the requests of the tenants gives a page the id of the tenant whose range contains it:
    /// the first of several, and 0 if there is none.
    #[serde(default)]
    pub ids: Vec<u32>,
}

/// Parameters of `hot_cold`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotColdIds {
    /// Share of the logical space that is hot, from its start; above 0, below 1. Default that of
    /// the pattern `hot_cold`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
    /// The ids of hot and of cold writes; default 0 and 1.
    #[serde(default = "hot_and_cold")]
    pub ids: [u32; 2],
}

fn hot_and_cold() -> [u32; 2] {
    [0, 1]
}

/// The ids of the writes of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StageIds {
    /// All the same.
    One(u8),
    /// By logical page: the page behind each range, in order, and its id.
    Ranges(Vec<(u32, u8)>),
    /// By the number of the tenant.
    Tenants(Vec<u8>),
    /// Each command has its own.
    Commands,
}

/// The parts of a workload that the ids depend on.
pub(super) struct Phases<'a> {
    /// Steps of preconditioning.
    pub(super) step_count: usize,
    pub(super) tenant_count: usize,
    pub(super) pattern: &'a PatternConfig,
    pub(super) space: Space,
}

impl PlacementIds {
    /// Fills in the defaults and refuses invalid values; paths are relative to `placement`.
    pub(super) fn resolve(&mut self, phases: &Phases<'_>) -> Result<(), ConfigError> {
        match self {
            Self::Range(range) => range.check(phases.space)?,
            Self::Phase(phase) => fill(&mut phase.ids, phases.step_count + 1, || {
                format!("{} steps of preconditioning and the measured part", phases.step_count)
            })?,
            Self::Tenant(_) if phases.tenant_count == 0 => {
                let message = "tenant in a workload without tenants; accepted: range, phase or \
                               hot_cold, or `tenants`";
                return Err(ConfigError::new("by", message));
            }
            Self::Tenant(tenant) => fill(&mut tenant.ids, phases.tenant_count, || {
                format!("{} tenants", phases.tenant_count)
            })?,
            Self::HotCold(parts) => parts.resolve(phases.pattern)?,
        }
        for (path, id) in self.ids() {
            phases.space.check_id(&path, id)?;
        }
        Ok(())
    }

    /// Every id, with its path.
    fn ids(&self) -> Vec<(String, u32)> {
        let list = |ids: &[u32]| {
            let named = ids.iter().enumerate();
            named.map(|(index, &id)| (format!("ids[{index}]"), id)).collect()
        };
        match self {
            Self::Range(range) => {
                let named = range.ranges.iter().enumerate();
                named.map(|(index, range)| (format!("ranges[{index}].id"), range.id)).collect()
            }
            Self::Phase(phase) => list(&phase.ids),
            Self::Tenant(tenant) => list(&tenant.ids),
            Self::HotCold(parts) => list(&parts.ids),
        }
    }

    /// The ids of a step of preconditioning, or of the measured part behind the last; `parts` has
    /// the pages of each tenant, and the commands are theirs only if `by_tenants`.
    pub(super) fn of_stage(
        &self,
        index: usize,
        by_tenants: bool,
        space: Space,
        parts: &[Range<u32>],
    ) -> StageIds {
        match self {
            Self::Range(range) => StageIds::Ranges(range.limits(space)),
            Self::Phase(phase) => StageIds::One(phase.ids[index] as u8),
            Self::Tenant(tenant) if by_tenants => {
                StageIds::Tenants(tenant.ids.iter().map(|&id| id as u8).collect())
            }
            Self::Tenant(tenant) => StageIds::Ranges(tenant.by_range(parts)),
            Self::HotCold(parts) => {
                // Rounded as the oracle of `ftl.write_frontiers` rounds.
                let pages = space.pages();
                let hot = (pages as f64 * parts.fraction.unwrap_or(0.0)).round() as u32;
                let [hot_id, cold_id] = parts.ids.map(|id| id as u8);
                StageIds::Ranges(vec![(hot, hot_id), (u32::MAX, cold_id)])
            }
        }
    }
}

/// Fills ids in, and refuses another number of them.
fn fill(ids: &mut Vec<u32>, count: usize, of_what: impl Fn() -> String) -> Result<(), ConfigError> {
    if ids.is_empty() {
        *ids = (0..count as u32).collect();
    }
    if ids.len() == count {
        return Ok(());
    }
    let accepted = format!("{count} ids, one for each of {}", of_what());
    Err(refuse("ids", format!("{} ids", ids.len()), &accepted))
}

impl Space {
    /// Logical pages.
    pub(super) fn pages(self) -> u64 {
        self.logical_bytes / self.page_bytes
    }

    /// Refuses an id that the drive does not have.
    pub(super) fn check_id(self, path: &str, id: u32) -> Result<(), ConfigError> {
        if self.placement_ids == 0 && id < ID_LIMIT {
            return Ok(());
        }
        let limit = if self.placement_ids == 0 { ID_LIMIT } else { self.placement_ids };
        if id < limit {
            return Ok(());
        }
        let message = format!(
            "{id} is not a placement id of the drive, which has {limit} (ftl.placement): a drive \
             would choose a handle itself and log the event Invalid Placement Identifier (3h); \
             accepted: 0 to {}",
            limit - 1
        );
        Err(ConfigError::new(path, message))
    }
}

/// Ids of drives that ignore them.
const ID_LIMIT: u32 = 128;

impl RangeIds {
    fn check(&self, space: Space) -> Result<(), ConfigError> {
        let count = self.ranges.len();
        if !(1..=4096).contains(&count) {
            return Err(refuse("ranges", format!("{count} ranges"), "1 to 4096 ranges"));
        }
        for (index, range) in self.ranges.iter().enumerate() {
            let path = |key: &str| format!("ranges[{index}].{key}");
            match (range.fraction, range.bytes) {
                (None, None) if index + 1 == count => {}
                (None, None) | (Some(_), Some(_)) => {
                    let message = "accepted: exactly one of fraction and bytes; the last range \
                                   takes the rest without either";
                    return Err(ConfigError::new(format!("ranges[{index}]"), message));
                }
                (Some(fraction), None) if !(fraction > 0.0 && fraction < 1.0) => {
                    return Err(refuse(&path("fraction"), fraction, "above 0, below 1"));
                }
                (None, Some(bytes)) if bytes == 0 || !bytes.is_multiple_of(space.page_bytes) => {
                    let accepted = format!("a multiple of the map unit, {} B", space.page_bytes);
                    return Err(refuse(&path("bytes"), bytes, &accepted));
                }
                _ => {}
            }
        }
        let (limits, pages) = (self.limits(space), space.pages());
        let mut start = 0;
        for (index, &(limit, _)) in limits.iter().enumerate() {
            let is_rest = index + 1 == count;
            if u64::from(limit) <= start || (!is_rest && u64::from(limit) > pages) {
                let message = format!(
                    "ends at page {limit} of {pages} and begins at {start}; accepted: at least a \
                     page, inside the logical space"
                );
                return Err(ConfigError::new(format!("ranges[{index}]"), message));
            }
            start = limit.into();
        }
        let sized = self.ends(space).last().copied().unwrap_or(0.0);
        let has_rest =
            self.ranges[count - 1].fraction.is_none() && self.ranges[count - 1].bytes.is_none();
        let is_whole = (sized - pages as f64).abs() < 0.5;
        if !has_rest && !is_whole {
            let message = format!(
                "the ranges hold {sized:.0} of the {pages} logical pages; accepted: all of them, \
                 or a last range without a size"
            );
            return Err(ConfigError::new("ranges", message));
        }
        if has_rest && count > 1 && sized >= pages as f64 {
            let message = format!(
                "the ranges before the last hold {sized:.0} of the {pages} logical pages; \
                 accepted: fewer, which leaves the last the rest"
            );
            return Err(ConfigError::new("ranges", message));
        }
        Ok(())
    }

    /// The ends of the ranges with a size, in pages.
    fn ends(&self, space: Space) -> Vec<f64> {
        let mut end = 0.0;
        let sized = self.ranges.iter().filter_map(|range| {
            let fraction = range.fraction.map(|fraction| fraction * space.pages() as f64);
            fraction.or(range.bytes.map(|bytes| (bytes / space.page_bytes) as f64))
        });
        sized
            .map(|pages| {
                end += pages;
                end
            })
            .collect()
    }

    /// The page behind each range, and its id; the last takes the rest.
    fn limits(&self, space: Space) -> Vec<(u32, u8)> {
        let ends = self.ends(space);
        let last = self.ranges.len() - 1;
        let limit =
            |index: usize| if index == last { u32::MAX } else { ends[index].round() as u32 };
        let ids = self.ranges.iter().enumerate();
        ids.map(|(index, range)| (limit(index), range.id as u8)).collect()
    }
}

impl TenantIds {
    /// The ids of pages by the range that contains them: the page behind each stretch, and its id.
    fn by_range(&self, parts: &[Range<u32>]) -> Vec<(u32, u8)> {
        let mut bounds: Vec<u32> = parts.iter().flat_map(|part| [part.start, part.end]).collect();
        bounds.push(u32::MAX);
        bounds.sort_unstable();
        bounds.dedup();
        let mut start = 0;
        let stretches = bounds.into_iter().filter(|&limit| limit > 0).map(|limit| {
            let owner = parts.iter().position(|part| part.contains(&start));
            start = limit;
            (limit, owner.map_or(0, |owner| self.ids[owner] as u8))
        });
        stretches.collect()
    }
}

impl HotColdIds {
    fn resolve(&mut self, pattern: &PatternConfig) -> Result<(), ConfigError> {
        if let PatternConfig::HotCold(parts) = pattern {
            if parts.shuffle {
                let message = "hot_cold with the pattern's hot addresses spread over the range \
                               (shuffle): its first part is not hot; accepted: shuffle false, or \
                               range, phase or tenant";
                return Err(ConfigError::new("by", message));
            }
            self.fraction.get_or_insert(parts.fraction);
        }
        match self.fraction {
            Some(fraction) if fraction > 0.0 && fraction < 1.0 => Ok(()),
            Some(fraction) => Err(refuse("fraction", fraction, "above 0, below 1")),
            None => {
                let message = "missing, and the pattern has none; accepted: above 0, below 1, or \
                               the pattern hot_cold";
                Err(ConfigError::new("fraction", message))
            }
        }
    }
}
