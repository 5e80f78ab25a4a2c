//! The part of a drive that outlasts its session: counts of its life, an unfinished purge, notes of
//! front ends.

use serde_json::{json, Value};

use super::purging::Purging;
use super::session::Session;
use crate::drive::{Life, Service, Totals};
use crate::host::activity::Activity;
use crate::host::latency_monitor::LatencyMonitor;
use crate::op::{HostOp, Purpose};
use crate::units::Ns;

impl Session {
    /// Counts of the whole life of the drive.
    pub(super) fn totals(&self) -> Totals {
        let (counts, geometry) = (self.counts(), &self.drive.geometry);
        let bytes = |slots| geometry.physical_pages_of(slots) * geometry.page_bytes;
        let found = self.drive.media.contents.as_ref().map_or(0, |it| it.media_errors);
        let present = Totals {
            host_bytes: [counts.read_bytes, counts.written_bytes],
            host_commands: [counts.read_commands, counts.write_commands],
            asides: counts.asides,
            flash_bytes: [bytes(counts.reads), bytes(counts.programs)],
            media_errors: found,
            ..self.tallies()
        };
        let mut totals = self.life.past.plus(&present);
        totals.media_errors += self.lost_reads();
        totals
    }

    /// Those that a mount begins again.
    fn tallies(&self) -> Totals {
        let (tally, refreshed) = (self.drive.errors.tally(), self.drive.ftl.figures().counters());
        Totals {
            recovered_reads: tally.recovered.iter().sum(),
            refreshed_blocks: refreshed.refreshed_by_age + refreshed.refreshed_by_rate,
            ..Totals::default()
        }
    }

    /// The life that continues when the power is back, after a loss at `at` or an orderly end.
    pub(super) fn life_over_cut(&self, at: Option<Ns>) -> Life {
        let mut life = self.life.clone();
        life.past = life.past.plus(&self.tallies());
        life.past.media_errors += self.lost_reads();
        life.unfinished = self.unfinished(at);
        if let Some(at) = at {
            life.activity = life.activity.cut(self.powered(at));
        }
        life
    }

    /// The life as an image keeps it, after this service.
    pub(super) fn life_now(&self, service: Service) -> Value {
        let mut life = self.life.clone();
        life.service = life.service.plus(service);
        // Requests that are outstanding now will be lost with the power, by the image.
        life.activity = life.activity.cut(Ns(life.service.age_ns));
        life.past = self.totals();
        life.unfinished = self.unfinished(None);
        json!(life)
    }

    /// Continues the life that an image has kept.
    pub(super) fn begin_life(&mut self, bytes: &[u8]) -> Result<(), String> {
        let life: Life = serde_json::from_slice(bytes)
            .map_err(|error| format!("the section `life` makes no sense: {error}"))?;
        let blocks = self.drive.geometry.block_count();
        let mut left = life.unfinished.iter().flat_map(|it| it.left.iter().flatten());
        if let Some(block) = left.find(|block| block.0 >= blocks) {
            return Err(format!("the section `life` purges block {}, of {blocks}", block.0));
        }
        self.continue_life(life);
        Ok(())
    }

    /// Takes over a life; its purge waits for [`Session::resume_purge`].
    pub(super) fn continue_life(&mut self, mut life: Life) {
        self.purging = life.unfinished.take().map(Purging::resumed);
        self.life = life;
    }

    /// A request of this operation and arrival has ended. Only data that comes or goes has a kind.
    pub(super) fn note_end(&mut self, (op, began): (HostOp, Ns), purpose: Purpose, at: Ns) {
        let kind = (purpose == Purpose::Data).then_some(op);
        let (latency, ended) = (Ns(at.0.saturating_sub(began.0)), self.powered(at));
        self.life.activity.end((kind, latency), ended);
    }

    /// How long the drive has had power in its life, at a time of this service.
    pub fn powered(&self, at: Ns) -> Ns {
        Ns(self.life.service.age_ns + at.0)
    }

    /// Times of its requests, by [`Session::powered`].
    pub fn activity(&self) -> &Activity {
        &self.life.activity
    }

    /// The monitor of slow requests, to set it.
    pub fn latency_monitor(&mut self) -> &mut LatencyMonitor {
        &mut self.life.activity.slow
    }

    /// The drive was served: its next time adds to this.
    pub fn end_service(&mut self, service: Service) {
        self.life.service = self.life.service.plus(service);
    }

    /// Records of a front end, which images keep.
    pub fn note(&self, name: &str) -> Option<&Value> {
        self.life.notes.get(name)
    }

    /// Keeps a note of a front end.
    pub fn set_note(&mut self, name: &str, note: Value) {
        self.life.notes.insert(name.to_owned(), note);
    }
}
