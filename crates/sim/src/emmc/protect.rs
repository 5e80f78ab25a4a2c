//! Write protection of groups of the user area, and of the boot partitions.
//!
//! CMD28 protects a group as `USER_WP` selects: permanently, until the power goes, or until CMD29
//! (JESD84-B51, 6.6 Write protect management). `BOOT_WP` protects boot partitions.

use std::collections::BTreeMap;

/// How a group is protected; the number is that of CMD31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Temporary = 1,
    PowerOn = 2,
    Permanent = 3,
}

/// See the module.
#[derive(Default)]
pub(super) struct Protection {
    groups: BTreeMap<u64, Kind>,
    /// Of the boot partitions.
    boot: [Option<Kind>; 2],
}

impl Protection {
    pub(super) fn group(&self, group: u64) -> Option<Kind> {
        self.groups.get(&group).copied()
    }

    pub(super) fn has_any(&self, groups: std::ops::RangeInclusive<u64>) -> bool {
        self.groups.range(groups).next().is_some()
    }

    pub(super) fn boot(&self, number: u8) -> Option<Kind> {
        self.boot[usize::from(number & 1)]
    }

    /// Protects a group, unless it is protected better already.
    pub(super) fn set(&mut self, group: u64, kind: Kind) {
        let held = self.groups.entry(group).or_insert(kind);
        if (kind as u8) > (*held as u8) {
            *held = kind;
        }
    }

    /// Ends the protection of a group; false if a host may not end it.
    pub(super) fn clear(&mut self, group: u64) -> bool {
        match self.group(group) {
            Some(Kind::Temporary) => self.groups.remove(&group).is_some(),
            Some(_) => false,
            None => true,
        }
    }

    /// As [`Protection::set`], of a boot partition.
    pub(super) fn set_boot(&mut self, number: u8, kind: Kind) {
        let held = &mut self.boot[usize::from(number & 1)];
        if held.is_none_or(|it| (kind as u8) > (it as u8)) {
            *held = Some(kind);
        }
    }

    /// `BOOT_WP_STATUS`: two bits for each partition, 1 until the power goes, 2 permanently.
    pub(super) fn boot_status(&self) -> u8 {
        let code = |kind: Option<Kind>| kind.map_or(0, |it| it as u8 - 1);
        code(self.boot[0]) | code(self.boot[1]) << 2
    }

    /// The power or the reset pin.
    pub(super) fn reset_power(&mut self) {
        self.groups.retain(|_, kind| *kind != Kind::PowerOn);
        for kind in &mut self.boot {
            *kind = kind.filter(|&it| it == Kind::Permanent);
        }
    }
}
