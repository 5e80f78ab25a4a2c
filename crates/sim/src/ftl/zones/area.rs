//! Random write areas: pages in front of a write pointer that are written in any order, again and
//! again, in the memory of the drive.
//!
//! ```text
//!            write pointer          + size                   + 2 sizes
//! zone  [████████│ · █ █ · · · █ · · │ · · · · · · · · · · · · │ ░ ░ ░
//!        on the  │ the area: kept    │ a write that ends here: │ Zone Invalid Write
//!        flash   │                   │ the pointer moves first │
//! ```
//! A zone takes an area when it is opened with one, and keeps it while it is active. The pointer
//! moves by whole granularities: by a flush of the host, or until the end of a write is in the
//! area. Pages behind the pointer go to the flash in order; one that was never written is filled
//! there, and reads as zeros. A finished zone takes the written pages of its area to the flash, a
//! reset drops them.
//!
//! A zone that fails keeps its area, so that what the flash could not take can be read.
//!
//! Source: NVM Express Zoned Namespace Command Set Specification 1.1 (TP 4076), as QEMU
//! (`hw/nvme/ctrl.c`), FEMU (`hw/femu/zns/zns.c`) and `NVMeVirt` carry it out. The order of
//! refusals is that of QEMU; what a flush or an open that cannot be is answered is that of FEMU.

use std::collections::VecDeque;

use super::{ZoneState, ZoneStatus, Zones};

/// Sizes of areas, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AreaLimits {
    /// Zones that may have one.
    pub count: u32,
    /// Pages of one.
    pub pages: u32,
    /// Pages by which a write pointer moves.
    pub granularity: u32,
}

/// What became of pages of areas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AreaCounts {
    /// Written again before they went to the flash.
    pub overwritten: u64,
    /// Dropped by a reset.
    pub dropped: u64,
    /// Filled on the flash, since they were never written.
    pub filled: u64,
}

/// The area of a zone.
#[derive(Clone, Debug, Default)]
pub(super) struct Area {
    /// Which pages from the write pointer on are written.
    pub(super) pages: VecDeque<bool>,
    /// Pages from the write pointer on that go to the flash now.
    pub(super) due: u32,
}

impl Area {
    fn written(&self) -> usize {
        self.pages.iter().filter(|&&is_written| is_written).count()
    }

    /// Pages up to the last written one.
    fn extent(&self) -> u32 {
        self.pages.iter().rposition(|&is_written| is_written).map_or(0, |last| last as u32 + 1)
    }
}

impl Zones {
    /// Whether a zone has an area.
    #[inline]
    pub fn has_area(&self, zone: u32) -> bool {
        !self.areas.is_empty() && self.areas.contains_key(&zone)
    }

    /// Pages of all areas that there may be.
    pub fn area_pages(&self) -> usize {
        self.limits.area.map_or(0, |it| it.count as usize * it.pages as usize)
    }

    /// Zones that have an area.
    pub fn area_count(&self) -> u32 {
        self.areas.len() as u32
    }

    /// Pages that areas hold.
    pub fn kept(&self) -> usize {
        self.areas.values().map(Area::written).sum()
    }

    /// Whether a page is held by an area.
    pub fn keeps(&self, page: u32) -> bool {
        let Ok((zone, place)) = self.locate(page) else { return false };
        let Some(area) = self.areas.get(&zone) else { return false };
        let index = place.checked_sub(self.written[zone as usize]);
        index.is_some_and(|index| area.pages.get(index as usize).copied().unwrap_or(false))
    }

    /// Opens a zone with an area; returns whether that changed it. A zone that has one keeps it.
    pub(super) fn open_with_area(&mut self, zone: u32) -> Result<bool, ZoneStatus> {
        let Some(limits) = self.limits.area else { return Err(ZoneStatus::InvalidZoneOperation) };
        if self.has_area(zone) {
            return self.act(zone, super::ZoneAction::Open);
        }
        match self.states[zone as usize] {
            ZoneState::Empty => {}
            state if state.is_active() => return Err(ZoneStatus::InvalidZoneOperation),
            _ => return Err(ZoneStatus::InvalidZoneStateTransition),
        }
        self.check_openable(zone)?;
        if self.area_count() == limits.count {
            return Err(ZoneStatus::ZrwaUnavailable);
        }
        self.make_open(zone, ZoneState::ExplicitlyOpen)?;
        self.areas.insert(zone, Area::default());
        Ok(true)
    }

    /// Writes pages of a zone with an area; [`Zones::due`] names those that leave it.
    ///
    /// # Errors
    /// Why the zone does not take them.
    pub(super) fn write_in_area(
        &mut self,
        zone: u32,
        place: u32,
        count: u32,
    ) -> Result<(), ZoneStatus> {
        let limits = self.limits.area.expect("a zone has an area");
        let written = self.written[zone as usize];
        let end = place.saturating_add(count);
        if place < written || end > written.saturating_add(2 * limits.pages) {
            return Err(ZoneStatus::ZoneInvalidWrite);
        }
        if end > self.limits.capacity_pages {
            return Err(ZoneStatus::ZoneBoundaryError);
        }
        self.open_implicitly(zone)?;
        let area = self.areas.get_mut(&zone).expect("it was asked for");
        let (first, end) = (place - written, end - written);
        if area.pages.len() < end as usize {
            area.pages.resize(end as usize, false);
        }
        for page in area.pages.range_mut(first as usize..end as usize) {
            self.counts.area.overwritten += u64::from(*page);
            *page = true;
        }
        let beyond = end.saturating_sub(limits.pages);
        area.due = beyond.next_multiple_of(limits.granularity);
        Ok(())
    }

    /// Lets the area of a zone go to the flash up to a page and with it; [`Zones::due`] names the
    /// pages. Returns the zone.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn flush_area(&mut self, page: u32) -> Result<u32, ZoneStatus> {
        let (zone, place) = self.locate(page)?;
        let limits = self.limits.area.filter(|_| self.has_area(zone));
        let Some(limits) = limits else { return Err(ZoneStatus::InvalidZoneOperation) };
        self.check_writable(zone)?;
        let written = self.written[zone as usize];
        let limit = self.limits.capacity_pages.min(written + limits.pages);
        if !(written..limit).contains(&place) {
            return Err(ZoneStatus::InvalidZoneOperation);
        }
        let due = place + 1 - written;
        if !due.is_multiple_of(limits.granularity) {
            return Err(ZoneStatus::InvalidField);
        }
        self.open_implicitly(zone)?;
        self.areas.entry(zone).and_modify(|area| area.due = due);
        Ok(zone)
    }

    /// The page of a zone that goes from its area to the flash next, and whether it was written.
    pub fn due(&self, zone: u32) -> Option<(u32, bool)> {
        let area = self.areas.get(&zone).filter(|area| area.due > 0)?;
        let page = zone * self.limits.zone_pages + self.written[zone as usize];
        Some((page, area.pages.front().copied().unwrap_or(false)))
    }

    /// The page that is due is on the flash.
    ///
    /// # Panics
    /// When none is.
    pub fn commit(&mut self, zone: u32) {
        let area = self.areas.get_mut(&zone).expect("a page of an area is due");
        let was_written = area.pages.pop_front().unwrap_or(false);
        area.due -= 1;
        let is_done = area.due == 0;
        self.counts.area.filled += u64::from(!was_written);
        self.written[zone as usize] += 1;
        if self.written[zone as usize] == self.limits.capacity_pages {
            self.set(zone, ZoneState::Full);
        }
        if is_done && self.states[zone as usize] == ZoneState::Full {
            self.areas.remove(&zone);
        }
    }

    /// A zone is full: the written pages of its area, if it has one, are due.
    pub(super) fn finish_area(&mut self, zone: u32) {
        let Some(area) = self.areas.get_mut(&zone) else { return };
        area.due = area.extent();
        if area.due == 0 {
            self.areas.remove(&zone);
        }
    }

    /// The flash of a zone has failed: it takes no more of the area, which can still be read.
    pub(super) fn fail_area(&mut self, zone: u32) {
        self.areas.entry(zone).and_modify(|area| area.due = 0);
        if self.states[zone as usize] == ZoneState::Offline {
            self.drop_area(zone);
        }
    }

    /// The area of a zone is given back, and its data is lost.
    pub(super) fn drop_area(&mut self, zone: u32) {
        let area = self.areas.remove(&zone).unwrap_or_default();
        self.counts.area.dropped += area.written() as u64;
    }
}
