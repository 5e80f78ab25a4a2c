//! Zones in the image of a drive: as plain numbers, and back.

use serde::{Deserialize, Serialize};

use super::area::Area;
use super::{ZoneState, Zones};

/// Zones as plain numbers: the state and the pages written of each, and those implicitly open.
pub type ZoneRows = (Vec<(ZoneState, u32)>, Vec<u32>);

/// The zones of a drive in its image. The first two are laid down as an optional value is, which
/// they were before there were areas.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ZonesSnapshot {
    /// A drive without zones.
    None,
    /// No zone has an area.
    Plain(ZoneRows),
    /// The same, and by zone which pages of its area are written.
    WithAreas(ZoneRows, Vec<(u32, Vec<bool>)>),
}

impl Zones {
    /// As plain numbers.
    pub(in crate::ftl) fn save(&self) -> ZonesSnapshot {
        let rows = self.states.iter().copied().zip(self.written.iter().copied()).collect();
        let rows = (rows, self.implicit.iter().copied().collect());
        if self.areas.is_empty() {
            return ZonesSnapshot::Plain(rows);
        }
        let pages = |area: &Area| area.pages.iter().copied().collect();
        let areas = self.areas.iter().map(|(&zone, area)| (zone, pages(area)));
        ZonesSnapshot::WithAreas(rows, areas.collect())
    }

    /// Restores what [`Zones::save`] gave; false if it contradicts itself or the limits.
    pub(in crate::ftl) fn restore(&mut self, saved: &ZonesSnapshot) -> bool {
        match saved {
            ZonesSnapshot::None => false,
            ZonesSnapshot::Plain(rows) => self.restore_rows(rows),
            ZonesSnapshot::WithAreas(rows, areas) => {
                self.restore_rows(rows) && self.restore_areas(areas)
            }
        }
    }

    fn restore_rows(&mut self, (rows, implicit): &ZoneRows) -> bool {
        let of = |wanted: fn(ZoneState) -> bool| {
            rows.iter().filter(|(state, _)| wanted(*state)).count() as u32
        };
        let (open, active) = (of(ZoneState::is_open), of(ZoneState::is_active));
        let mut listed = implicit.clone();
        listed.sort_unstable();
        let is_implicit = |&zone: &u32| rows[zone as usize].0 == ZoneState::ImplicitlyOpen;
        let fits = rows.len() == self.states.len()
            && rows.iter().all(|&(_, written)| written <= self.limits.capacity_pages)
            && open <= self.limits.open_max
            && active <= self.limits.active_max
            && listed == (0..rows.len() as u32).filter(is_implicit).collect::<Vec<_>>();
        if fits {
            self.states = rows.iter().map(|&(state, _)| state).collect();
            self.written = rows.iter().map(|&(_, written)| written).collect();
            self.implicit = implicit.iter().copied().collect();
            (self.open_count, self.active_count) = (open, active);
        }
        fits
    }

    /// Restores areas, after the rows; false if they contradict these or the limits.
    fn restore_areas(&mut self, saved: &[(u32, Vec<bool>)]) -> bool {
        let Some(limits) = self.limits.area else { return false };
        let fits = |(zone, pages): &(u32, Vec<bool>)| {
            let place = *zone as usize;
            let room = |written| self.limits.capacity_pages - written;
            self.states.get(place).is_some_and(|it| it.is_active() || *it == ZoneState::ReadOnly)
                && pages.len() <= 2 * limits.pages as usize
                && pages.len() <= room(self.written[place]) as usize
        };
        let in_order = saved.is_sorted_by(|one, next| one.0 < next.0);
        if !in_order || saved.len() > limits.count as usize || !saved.iter().all(fits) {
            return false;
        }
        let area = |pages: &Vec<bool>| Area { pages: pages.iter().copied().collect(), due: 0 };
        self.areas = saved.iter().map(|(zone, pages)| (*zone, area(pages))).collect();
        true
    }
}
