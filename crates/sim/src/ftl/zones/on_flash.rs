//! Zones on the flash: what a zoned drive is asked, and what that does to its blocks.

use std::collections::BTreeMap;

use super::{AreaLimits, ZoneAction, ZoneLayout, ZoneLimits, ZoneState, ZoneStatus, Zones};
use crate::ftl::{FlashSink, Ftl, FtlConfig, NoRoom, PoolSetup};
use crate::op::{HostOp, Source, ZoneOp};
use crate::units::Lpn;

/// The zones of a drive, and their places on its flash.
pub(in crate::ftl) struct PlacedZones {
    pub(in crate::ftl) zones: Zones,
    layout: ZoneLayout,
    /// By the tag of a command: its first page if it has written, or why it was refused.
    answers: BTreeMap<u32, Result<Lpn, ZoneStatus>>,
}

impl PlacedZones {
    /// Those of a drive, if it has zones; they take its whole logical space.
    pub(in crate::ftl) fn of_drive(config: &FtlConfig, setup: &PoolSetup) -> Option<Box<Self>> {
        let (zoned, layout) = (config.mapping.zoned()?, setup.zone_layout(config)?);
        let page_bytes = setup.geometry.page_bytes;
        let pages = |bytes: u64| (bytes / page_bytes) as u32;
        let limits = ZoneLimits {
            zone_count: setup.logical_pages / layout.zone_pages,
            zone_pages: layout.zone_pages,
            capacity_pages: pages(zoned.capacity_bytes()),
            open_max: zoned.open_zones_max,
            active_max: zoned.active_zones_max,
            area: zoned.zrwa.as_ref().map(|zrwa| AreaLimits {
                count: zrwa.areas,
                pages: pages(zrwa.size_bytes),
                granularity: pages(zrwa.flush_granularity_bytes),
            }),
        };
        Some(Box::new(Self { zones: Zones::new(limits), layout, answers: BTreeMap::new() }))
    }
}

/// A command for zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneRequest {
    /// The operation.
    pub op: HostOp,
    /// Its first page.
    pub first: Lpn,
    /// Its pages.
    pub count: u32,
    /// Whether it covers all of them.
    pub is_whole: bool,
    /// That of the command; 0 for none.
    pub tag: u32,
}

impl Ftl {
    /// The zones of a drive that has some.
    #[inline]
    pub fn zones(&self) -> Option<&Zones> {
        self.zones.as_ref().map(|it| &it.zones)
    }

    /// The answer to a tagged command that was carried out: its first page if it has written.
    ///
    /// # Errors
    /// Why it was refused.
    pub fn take_answer(&mut self, tag: u32) -> Result<Option<Lpn>, ZoneStatus> {
        let answers = self.zones.as_deref_mut().map(|it| &mut it.answers);
        answers.and_then(|answers| answers.remove(&tag)).transpose()
    }

    fn placed(&mut self) -> &mut PlacedZones {
        self.zones.as_deref_mut().expect("a zoned drive")
    }

    /// Carries out a command but for the reads of the flash, and counts it. The outer error is why
    /// the zone does not take it: nothing has changed then.
    ///
    /// # Errors
    /// See above. Inside, [`NoRoom`] and how many pages were written, where a die has no erased
    /// block left: the zone can only be read from then on. Its area, if it has one, keeps what the
    /// flash did not take, the pages of this command among it.
    ///
    /// # Panics
    /// When the drive has no zones.
    pub fn zone<S: FlashSink>(
        &mut self,
        sink: &mut S,
        request: &ZoneRequest,
    ) -> Result<Result<(), (u32, NoRoom)>, ZoneStatus> {
        let outcome = self.apply_to_zone(sink, request);
        let placed = self.placed();
        placed.zones.note_command(request.op, outcome.err());
        if let (Err(status), 1..) = (outcome, request.tag) {
            placed.answers.insert(request.tag, Err(status));
        }
        outcome
    }

    fn apply_to_zone<S: FlashSink>(
        &mut self,
        sink: &mut S,
        request: &ZoneRequest,
    ) -> Result<Result<(), (u32, NoRoom)>, ZoneStatus> {
        let &ZoneRequest { op, first, count, is_whole, .. } = request;
        let zones = &mut self.placed().zones;
        match op {
            HostOp::Flush => Ok(Ok(())),
            _ if op.writes() && (!is_whole || count == 0) => Err(ZoneStatus::InvalidField),
            HostOp::Write => {
                zones.write(first.0, count)?;
                let zone = first.0 / zones.limits().zone_pages;
                if !zones.has_area(zone) {
                    return Ok(self.program_in_zone(sink, first, request));
                }
                self.bring(sink, first, request);
                sink.takes(first, count);
                Ok(self.empty_area(sink, zone, request))
            }
            HostOp::Read => zones.read(first.0, count).map(Ok),
            HostOp::Trim | HostOp::TrimMapped => {
                if !is_whole || count != zones.limits().zone_pages {
                    return Err(ZoneStatus::InvalidField);
                }
                self.reset_zone(sink, first).map(Ok)
            }
            HostOp::Zone(ZoneOp::Append | ZoneOp::Relocate) => {
                let first = Lpn(zones.append(first.0, count)?);
                let written = self.program_in_zone(sink, first, request);
                let zones = &mut self.placed().zones;
                let done = written.err().map_or(count, |(done, _)| done);
                zones.note_appended(op == HostOp::Zone(ZoneOp::Relocate), done);
                Ok(written)
            }
            HostOp::Zone(ZoneOp::All(action)) => self.act_on_zones(sink, action, request),
            HostOp::Zone(ZoneOp::One(ZoneAction::FlushZrwa)) => {
                let zone = zones.flush_area(first.0)?;
                Ok(self.empty_area(sink, zone, request))
            }
            HostOp::Zone(ZoneOp::One(action)) => self.act_on_zone(sink, first, action, request),
        }
    }

    /// The data of a tagged command is that of the pages that a zone has taken.
    fn bring<S: FlashSink>(
        &mut self,
        sink: &mut S,
        first: Lpn,
        &ZoneRequest { count, tag, .. }: &ZoneRequest,
    ) {
        if tag > 0 {
            sink.bring(tag, first, count);
            self.placed().answers.insert(tag, Ok(first));
        }
    }

    /// Programs pages that their zone has taken.
    fn program_in_zone<S: FlashSink>(
        &mut self,
        sink: &mut S,
        first: Lpn,
        request: &ZoneRequest,
    ) -> Result<(), (u32, NoRoom)> {
        self.bring(sink, first, request);
        for (done, lpn) in (first.0..first.0 + request.count).enumerate() {
            if let Err(no_room) = self.write_in_zone(sink, Lpn(lpn), Source::Host) {
                let zones = &mut self.placed().zones;
                let zone = lpn / zones.limits().zone_pages;
                zones.fail(zone, ZoneState::ReadOnly);
                return Err((done as u32, no_room));
            }
        }
        Ok(())
    }

    /// Programs the pages of a zone that are due to leave its area. No command waits for that.
    fn empty_area<S: FlashSink>(
        &mut self,
        sink: &mut S,
        zone: u32,
        request: &ZoneRequest,
    ) -> Result<(), (u32, NoRoom)> {
        while let Some((page, is_written)) = self.placed().zones.due(zone) {
            let source = if is_written { Source::Host } else { Source::Pad };
            if !is_written {
                // Zeros, whatever the flash held of this page before a reset.
                sink.bring(0, Lpn(page), 1);
            }
            sink.flush_next();
            let outcome = self.write_in_zone(sink, Lpn(page), source);
            let PlacedZones { zones, answers, .. } = self.placed();
            if let Err(no_room) = outcome {
                zones.fail(zone, ZoneState::ReadOnly);
                if request.tag > 0 {
                    answers.insert(request.tag, Err(ZoneStatus::ZoneIsReadOnly));
                }
                return Err((request.count, no_room));
            }
            zones.commit(zone);
        }
        Ok(())
    }

    /// Programs the next page of a zone.
    fn write_in_zone<S: FlashSink>(
        &mut self,
        sink: &mut S,
        lpn: Lpn,
        source: Source,
    ) -> Result<(), NoRoom> {
        let place = self.placed().layout.place(lpn);
        if sink.holds_back(place.die) {
            return Err(NoRoom::Stalled(place.die));
        }
        let Self { pools, books, .. } = self;
        let pool = &mut pools[place.die.0 as usize];
        let scheme = pool.scheme.as_mut().expect("zones are on blocks");
        scheme.write_in_zone(&mut pool.log, books, sink, (lpn, source), place)
    }

    /// Carries out an action on the zone that begins at a page.
    fn act_on_zone<S: FlashSink>(
        &mut self,
        sink: &mut S,
        start: Lpn,
        action: ZoneAction,
        request: &ZoneRequest,
    ) -> Result<Result<(), (u32, NoRoom)>, ZoneStatus> {
        if action == ZoneAction::Reset {
            return self.reset_zone(sink, start).map(Ok);
        }
        let zones = &mut self.placed().zones;
        let (zone, place) = zones.locate(start.0)?;
        if place != 0 {
            return Err(ZoneStatus::InvalidField);
        }
        zones.act(zone, action)?;
        if action == ZoneAction::Offline {
            self.discard(sink, start);
        }
        Ok(self.empty_area(sink, zone, request))
    }

    /// Carries out an action on all zones that it applies to.
    fn act_on_zones<S: FlashSink>(
        &mut self,
        sink: &mut S,
        action: ZoneAction,
        request: &ZoneRequest,
    ) -> Result<Result<(), (u32, NoRoom)>, ZoneStatus> {
        let zones = &self.placed().zones;
        let zone_pages = zones.limits().zone_pages;
        let mut outcome = Ok(());
        for zone in zones.all_for(action)? {
            let done = self.act_on_zone(sink, Lpn(zone * zone_pages), action, request)?;
            outcome = outcome.and(done);
        }
        Ok(outcome)
    }

    /// What memory holds of the zone that begins at a page is of no value any more.
    fn discard<S: FlashSink>(&mut self, sink: &mut S, start: Lpn) {
        let limits = *self.placed().zones.limits();
        if limits.area.is_some() {
            sink.discard(start, limits.capacity_pages);
        }
    }

    /// Resets the zone that begins at a page: its blocks are erased.
    fn reset_zone<S: FlashSink>(&mut self, sink: &mut S, start: Lpn) -> Result<(), ZoneStatus> {
        let zones = &mut self.placed().zones;
        let (zone, place) = zones.locate(start.0)?;
        if place != 0 {
            return Err(ZoneStatus::InvalidField);
        }
        let is_changed = zones.act(zone, ZoneAction::Reset)?;
        if !is_changed {
            return Ok(());
        }
        zones.note_reset();
        self.discard(sink, start);
        let layout = self.placed().layout;
        let Self { pools, books, .. } = self;
        for part in layout.parts(zone) {
            let pool = &mut pools[part.die.0 as usize];
            let scheme = pool.scheme.as_mut().expect("zones are on blocks");
            scheme.reset(&mut pool.log, books, sink, &part);
        }
        Ok(())
    }

    /// Checks that what the zones have written is what the flash holds.
    ///
    /// # Errors
    /// The first zone that differs.
    pub(in crate::ftl) fn audit_zones(&self) -> Result<(), String> {
        let Some(zones) = self.zones() else { return Ok(()) };
        let pages = zones.limits().zone_pages;
        // A zone whose flash has failed holds fewer pages than its write pointer indicates.
        let failed = [ZoneState::ReadOnly, ZoneState::Offline];
        for row in zones.reports().filter(|row| !failed.contains(&row.state)) {
            let limit = row.write_pointer;
            let is_mapped = |lpn: u32| self.find(Lpn(lpn)).is_some();
            let differs = (row.start..limit).find(|&lpn| !is_mapped(lpn));
            let beyond = (limit..row.start + pages).find(|&lpn| is_mapped(lpn));
            if let Some(lpn) = differs.or(beyond) {
                return Err(format!("zone {} is written up to {limit}, page {lpn}", row.zone));
            }
        }
        Ok(())
    }
}
