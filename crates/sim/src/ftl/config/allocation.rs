//! Which die a logical page goes to: the key `ftl.allocation`.
//!
//! ```text
//! an order     lpn mod dies, in some order of channels, dies and planes    a log for each die
//! dynamic      the die with the least work, for a map unit or for pages    a log for each die
//! superblock   where the open block is, row by row over all dies           a log for each group
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::striping::Axis;

/// Pages that a die takes at most before another is chosen.
pub(super) const PAGES_MAX: u32 = 1024;

/// Which die a logical page goes to: an order of letters, `dynamic`, or superblocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Allocation {
    /// Each die has separate open blocks.
    Order(AllocationOrder),
    /// Superblocks, or dynamic by pages.
    Kind(Grouping),
}

impl Default for Allocation {
    fn default() -> Self {
        Self::Order(AllocationOrder::default())
    }
}

impl Allocation {
    /// Whether the die of a logical page is not fixed.
    pub fn is_dynamic(self) -> bool {
        matches!(self, Self::Order(AllocationOrder::Dynamic) | Self::Kind(Grouping::Dynamic(_)))
    }

    /// Map units that a die takes before the next die is chosen, with `units_per_page` units per
    /// page.
    pub fn units_together(self, units_per_page: u32) -> u32 {
        match self {
            Self::Kind(Grouping::Dynamic(config)) => config.pages.saturating_mul(units_per_page),
            _ => 1,
        }
    }

    /// The axes, fastest first; those of `CDP` if dies are chosen in another way.
    pub fn order(self) -> [Axis; 3] {
        match self {
            Self::Order(order) => order.axes(),
            Self::Kind(_) => AllocationOrder::default().axes(),
        }
    }

    /// The configuration of superblocks; `None` for drives without them.
    pub fn superblock(&self) -> Option<&SuperblockConfig> {
        match self {
            Self::Kind(Grouping::Superblock(config)) => Some(config),
            Self::Order(_) | Self::Kind(Grouping::Dynamic(_)) => None,
        }
    }

    /// Whether bad blocks leave holes in superblocks.
    pub fn leaves_holes(&self) -> bool {
        self.superblock().is_some_and(|config| config.bad_block == BadBlock::Shrink)
    }
}

impl<'de> Deserialize<'de> for Allocation {
    fn deserialize<D: serde::Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        let value = match serde_json::Value::deserialize(de)? {
            // The name is short for a mapping.
            serde_json::Value::String(name) if name == "superblock" => {
                serde_json::json!({ "kind": name })
            }
            other => other,
        };
        let allocation = if value.is_object() {
            serde_json::from_value(value).map(Self::Kind)
        } else {
            serde_json::from_value(value).map(Self::Order)
        };
        allocation.map_err(serde::de::Error::custom)
    }
}

/// An order of letters, or `dynamic`, by map units.
///
/// The letters are C (channel), D (die of the channel) and P (plane); the first varies fastest for
/// consecutive logical pages. P matters only if `nand.multi_plane` joins planes. Names of four
/// letters with W (way) are accepted too: W is the die of a channel here, and D then has one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AllocationOrder {
    /// Channels first, then dies, then planes.
    #[default]
    #[serde(rename = "CDP", alias = "CWDP", alias = "CWPD", alias = "CDWP", alias = "DCWP")]
    ChannelDiePlane,
    /// Channels first, then planes, then dies.
    #[serde(rename = "CPD", alias = "CPWD", alias = "CPDW", alias = "CDPW", alias = "DCPW")]
    ChannelPlaneDie,
    /// Dies first, then channels, then planes.
    #[serde(rename = "DCP", alias = "WCPD", alias = "WCDP", alias = "WDCP", alias = "DWCP")]
    DieChannelPlane,
    /// Dies first, then planes, then channels.
    #[serde(rename = "DPC", alias = "WPCD", alias = "WPDC", alias = "WDPC", alias = "DWPC")]
    DiePlaneChannel,
    /// Planes first, then channels, then dies.
    #[serde(rename = "PCD", alias = "PCWD", alias = "PCDW", alias = "PDCW", alias = "DPCW")]
    PlaneChannelDie,
    /// Planes first, then dies, then channels.
    #[serde(rename = "PDC", alias = "PWCD", alias = "PWDC", alias = "PDWC", alias = "DPWC")]
    PlaneDieChannel,
    /// The die with the least work waiting among those that have room, for each map unit; equal
    /// ones take turns.
    #[serde(rename = "dynamic")]
    Dynamic,
}

impl AllocationOrder {
    /// The axes, fastest first; those of `CDP` for `dynamic`.
    pub fn axes(self) -> [Axis; 3] {
        use Axis::{Channel, Die, Plane};
        match self {
            Self::ChannelDiePlane | Self::Dynamic => [Channel, Die, Plane],
            Self::ChannelPlaneDie => [Channel, Plane, Die],
            Self::DieChannelPlane => [Die, Channel, Plane],
            Self::DiePlaneChannel => [Die, Plane, Channel],
            Self::PlaneChannelDie => [Plane, Channel, Die],
            Self::PlaneDieChannel => [Plane, Die, Channel],
        }
    }
}

/// How dies are chosen, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Grouping {
    /// An open block is one block of each plane of each die of a group. Victims of collection, the
    /// reserve and spare blocks count in such superblocks.
    Superblock(SuperblockConfig),
    /// As `dynamic`, and the die that was chosen takes some pages before the next is.
    Dynamic(DynamicConfig),
}

/// Parameters of the dynamic choice of dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DynamicConfig {
    /// Pages of the flash that a die takes before the next is chosen, 1 to 1024: 1 fills a page
    /// with the map units that come, as many as the planes fill a row of the die. Default 1.
    #[schemars(range(min = 1, max = 1024))]
    pub pages: u32,
}

impl Default for DynamicConfig {
    fn default() -> Self {
        Self { pages: 1 }
    }
}

/// Which dies a superblock spans, and what becomes of a bad block in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SuperblockConfig {
    /// Dies of a group: `all`, or how many; it divides the dies of the drive. Dies of a group are
    /// on as many channels as possible.
    pub dies: GroupDies,
    /// What becomes of a bad block: `shrink` leaves a hole, so that its superblock is smaller;
    /// `remap` takes a spare block of its die, so that superblocks are as many as the good blocks
    /// of the worst die of the group. Default `shrink`.
    pub bad_block: BadBlock,
}

/// How many dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum GroupDies {
    /// All of the drive.
    All(AllWord),
    /// This number of dies.
    Count(#[schemars(range(min = 1))] u32),
}

/// The word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllWord {
    /// All.
    All,
}

impl Default for GroupDies {
    fn default() -> Self {
        Self::All(AllWord::All)
    }
}

impl<'de> Deserialize<'de> for GroupDies {
    fn deserialize<D: serde::Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(de)?;
        let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
        match (value.as_str(), count) {
            (Some("all"), _) => Ok(Self::default()),
            (_, Some(count)) => Ok(Self::Count(count)),
            _ => Err(serde::de::Error::custom(format!(
                "dies: `{value}` is not a number of dies; accepted: all, or 1 or more"
            ))),
        }
    }
}

/// What becomes of a bad block of a superblock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BadBlock {
    /// It leaves a hole.
    #[default]
    Shrink,
    /// A spare block of its die takes its place.
    Remap,
}
