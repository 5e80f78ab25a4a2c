//! Collection in steps: when the next few pages of a victim are moved.
//!
//! ```text
//! spare blocks of a die   none left, writes wait   below hard     below soft    above
//! its collection is       urgent                   in pace        when idle     not, or ahead of
//!                         before host writes       with writes    of the host   need when idle
//! ```
//! One step is queued at a time, so what the host asks next waits for at most one step, and with
//! the priority scheduler for at most one operation of it. A write that finds no erased block above
//! the reserve stalls here, in order, until an erase has ended.
//!
//! In pace: a victim with v live of b pages gives b - v back, so while the host takes these, its v
//! pages must move. A collection that is behind goes before the writes of the host, and one that is
//! not lets them pass. A host that has no open block continues in the open block of moved pages. So
//! writes wait for parts of a victim at most, whatever the amplification. Superblocks use a
//! separate pace, see [`Balance`].
//!
//! In bursts: nothing is collected until the last spare block is opened. From then on all writes of
//! the die are held back, until the level of [`Balance`] is higher by the blocks of a burst.

use std::collections::VecDeque;

use super::balance::{Balance, Free, Running};
use crate::controller::full::Urgency;
use crate::engine::Reserved;
use crate::ftl::{CollectionConfig, FtlConfig, SteppedCollection};
use crate::timed::clockwork::{Clockwork, Event};
use crate::units::{BlockId, DieId, Lpn, Ns};

/// A page write that found no room.
#[derive(Clone, Copy, Debug)]
pub(in crate::timed) struct Stalled {
    pub(in crate::timed) die: DieId,
    pub(in crate::timed) lpn: Lpn,
    /// The command that waits for it.
    pub(in crate::timed) slot: u32,
    /// Of a page that leaves the write cache: its epoch.
    pub(in crate::timed) epoch: Option<u32>,
    /// The number of the command that wrote that page, if a timeline names it.
    pub(in crate::timed) writer: Option<u64>,
}

/// The urgency of a refresh of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::timed) enum Pressing {
    /// It waits for idle time.
    Waits,
    /// It has waited for long enough.
    Hurries,
}

/// How much room a die has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) spare_blocks: u32,
    pub(super) blocks_to_fold: u32,
    /// Whether folding is behind what the host has written past its cache.
    pub(super) owes_fold: bool,
    pub(super) running: Option<Running>,
    /// A block that is to be refreshed, or is.
    pub(super) refresh: Option<Pressing>,
}

/// The pages that a collection gives back, at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gain {
    /// Pages that a block takes.
    pub(super) block_pages: u32,
    /// Pages that the host may write before a write has to wait.
    pub(super) pages_until_stall: u32,
}

/// The pace of a collection, from when the host began to press it.
#[derive(Clone, Copy, Debug)]
struct Pace {
    victim: BlockId,
    /// Pages to move then.
    live_pages: u32,
    /// Pages that the host had written to the die then, less those that it was ahead by.
    start: u64,
    /// Pages of the host by which all are to have moved.
    allowance: u32,
}

impl Pace {
    /// Share of the pages that a victim gives back by which all of it is to have moved: the erase
    /// takes time too, and a die that is behind is to catch up.
    const SHARE: f64 = 7.0 / 8.0;

    fn new(it: Running, gain: Gain, start: u64) -> Self {
        let won = gain.block_pages.saturating_sub(it.live_pages).min(gain.pages_until_stall);
        let allowance = (f64::from(won) * Self::SHARE) as u32;
        Self { victim: it.victim, live_pages: it.live_pages, start, allowance }
    }

    /// The pace of the next victim: what the host took too much counts against it.
    fn follow(self, it: Running, gain: Gain, written: u64) -> Self {
        let over = (written - self.start).saturating_sub(self.allowance.into());
        Self::new(it, gain, written - over)
    }

    /// Whether a smaller share of the pages has moved than the host has taken of its allowance.
    fn is_behind(&self, live_pages: u32, written: u64) -> bool {
        let moved = u64::from(self.live_pages.saturating_sub(live_pages));
        let taken = written - self.start;
        live_pages == 0 || moved * u64::from(self.allowance) < taken * u64::from(self.live_pages)
    }
}

/// The timer of an idle die. It has one event at a time: while that is to come, a later end is kept
/// with its place among the events.
#[derive(Clone, Copy, Debug, Default)]
struct Timer {
    /// When its event comes.
    at: Option<Ns>,
    /// When the next one is to come.
    next: Option<(Ns, Reserved)>,
}

impl Timer {
    /// It ends after a while with this event.
    fn start(&mut self, clockwork: &mut Clockwork, after: Ns, event: Event) {
        let at = clockwork.now() + after;
        if !clockwork.skips_events {
            clockwork.schedule(after, event);
        } else if self.at.is_none() {
            self.at = Some(at);
            clockwork.schedule(after, event);
        } else if self.at != Some(at) && self.next.is_none_or(|(next, _)| next != at) {
            self.next = Some((at, clockwork.engine.reserve(event.code())));
        }
    }

    /// Ends the wait of the event that has come; a later one that was kept follows.
    fn end(&mut self, clockwork: &mut Clockwork) {
        let next = self.next.take();
        self.at = next.map(|(at, place)| {
            clockwork.engine.schedule_at(at, place);
            at
        });
    }
}

/// A die that had nothing to collect, or a queued step, when it was last asked. The end of an
/// operation on its flash does not change that; work of the FTL, the start of the step, or a
/// refresh that becomes due may.
#[derive(Clone, Copy, Debug)]
pub(in crate::timed) struct Calm {
    pub(in crate::timed) die: DieId,
    /// Whether a step was queued.
    pub(in crate::timed) waits: bool,
    /// Whether writes waited for room.
    pub(in crate::timed) stalls: bool,
    /// Pages that the host may write without a change.
    pub(in crate::timed) pages: u32,
    /// Before this time no refresh becomes due.
    pub(in crate::timed) until: Ns,
}

impl Calm {
    /// The same after the host wrote `written` pages; `None` if that may have changed it.
    #[inline]
    pub(in crate::timed) fn behind(self, written: u64) -> Option<Self> {
        let pages = u64::from(self.pages).checked_sub(written)?;
        Some(Self { pages: pages as u32, ..self })
    }
}

/// The state of a die for the collector.
#[derive(Clone, Debug, Default)]
struct DieState {
    stalled: VecDeque<Stalled>,
    /// The host was away for long enough: collect ahead of need.
    is_resting: bool,
    /// When the die became idle, while a timer runs.
    idle_since: Option<Ns>,
    timer: Timer,
    /// Pages that the host wrote.
    written: u64,
    /// The pace while the spare blocks are below the hard limit.
    pace: Option<Pace>,
    /// Of a superblock drive.
    balance: Balance,
    /// Writes wait although there is room, until the collection has caught up.
    is_held: bool,
    /// It has caught up just now.
    is_released: bool,
}

/// See the module.
pub(in crate::timed) struct Collector {
    step_pages: u32,
    /// Pages of a row of a superblock; 0 without superblocks.
    row_slots: u32,
    soft_spare_blocks: u32,
    hard_spare_blocks: u32,
    /// Blocks of a burst, if there are bursts.
    burst_blocks: Option<f64>,
    /// Idle time after which a die collects ahead, and up to how many spare blocks.
    ahead: Option<(Ns, u32)>,
    dies: Vec<DieState>,
    /// Page writes that wait.
    waiting_count: u64,
    /// Steps wait until the cores of the controller have done the moves of earlier ones.
    pub(super) waits_for_cores: bool,
    /// Dies that a command has used.
    pub(in crate::timed) touched: Vec<DieId>,
    /// When a flash operation last ended.
    pub(in crate::timed) last_done: Ns,
}

impl Collector {
    /// The collector of a device whose collections go in steps; `row_slots` is that of its
    /// superblocks, or 0.
    pub(in crate::timed) fn new(
        config: &FtlConfig,
        die_count: u32,
        row_slots: u32,
    ) -> Option<Self> {
        let steps = match &config.collection {
            CollectionConfig::Whole(_) => return None,
            CollectionConfig::Steps(steps) => steps,
            CollectionConfig::Bursts(_) => &SteppedCollection {
                soft_spare_blocks: 0,
                hard_spare_blocks: 0,
                ..SteppedCollection::default()
            },
        };
        let ahead = config.idle_collection.as_ref();
        Some(Self {
            step_pages: steps.step_pages,
            row_slots,
            soft_spare_blocks: steps.soft_spare_blocks,
            hard_spare_blocks: steps.hard_spare_blocks,
            burst_blocks: config.burst_blocks(),
            ahead: ahead.map(|idle| (Ns::from_us(idle.after_us), idle.spare_blocks_goal)),
            dies: vec![DieState::default(); die_count as usize],
            waiting_count: 0,
            waits_for_cores: false,
            touched: Vec::new(),
            last_done: Ns(0),
        })
    }

    /// The urgency of a die's collection in this `room`; `None` if nothing is to be collected.
    /// `gain` is asked once for each victim, `free` only for superblocks.
    pub(super) fn urgency(
        &mut self,
        die: DieId,
        room: Room,
        gain: impl Fn(BlockId) -> Gain,
        free: impl Fn() -> Free,
    ) -> Option<Urgency> {
        let state = &mut self.dies[die.0 as usize];
        let goal = self.ahead.map_or(0, |(_, goal)| goal);
        let Room { spare_blocks, blocks_to_fold, owes_fold, running, refresh } = room;
        let presses = spare_blocks < self.hard_spare_blocks;
        let was_held = std::mem::take(&mut state.is_held);
        state.is_released = was_held;
        if let Some(blocks) = self.burst_blocks {
            state.balance.note(free(), running);
            state.is_held = state.balance.bursts(blocks);
            if state.is_held {
                state.is_released = false;
                return Some(Urgency::Urgent);
            }
        }
        let waits_for_room = !state.stalled.is_empty() && !was_held;
        if !presses || waits_for_room {
            // Room was freed, or the host waits and so compensates for the pages that it took too
            // early.
            state.pace = None;
        }
        if waits_for_room {
            return Some(Urgency::Urgent);
        }
        if presses && self.row_slots > 0 {
            state.balance.note(free(), running);
            state.is_held = running.is_some() && state.balance.host_waits();
            state.is_released &= !state.is_held;
            let is_low = state.balance.is_low();
            return Some(if is_low { Urgency::Urgent } else { Urgency::Background });
        }
        if presses {
            let Some(it) = running else { return Some(Urgency::Background) };
            let pace = match state.pace {
                Some(pace) if pace.victim == it.victim => pace,
                Some(last) => last.follow(it, gain(it.victim), state.written),
                None => Pace::new(it, gain(it.victim), state.written),
            };
            state.pace = Some(pace);
            let is_behind = pace.is_behind(it.live_pages, state.written);
            return Some(if is_behind { Urgency::Urgent } else { Urgency::Background });
        }
        if owes_fold || refresh == Some(Pressing::Hurries) {
            return Some(Urgency::Urgent);
        }
        if spare_blocks < self.soft_spare_blocks
            || running.is_some()
            || refresh.is_some()
            || state.is_resting && (spare_blocks < goal || blocks_to_fold > 0)
        {
            Some(Urgency::Background)
        } else {
            None
        }
    }

    /// Pages that the host may write to a die that has as much room, without another answer of
    /// [`Collector::urgency`], if none of them opens a block.
    pub(super) fn pages_alike(&self, die: DieId, room: Room) -> u32 {
        let state = &self.dies[die.0 as usize];
        if self.burst_blocks.is_some() {
            if state.is_held {
                0
            } else {
                state.balance.pages_alike()
            }
        } else if room.spare_blocks >= self.hard_spare_blocks {
            u32::MAX
        } else if self.row_slots > 0 {
            state.balance.pages_alike()
        } else {
            0
        }
    }

    /// Whether a block that is due is refreshed before one is collected: not while writes wait, nor
    /// below the hard limit unless it is in a hurry.
    pub(super) fn lets_refresh(&self, die: DieId, room: Room) -> bool {
        let has_room = room.spare_blocks >= self.hard_spare_blocks;
        let may = room.refresh.is_some_and(|it| has_room || it == Pressing::Hurries);
        may && self.dies[die.0 as usize].stalled.is_empty()
    }

    /// Ends a burst that can win no further block; whether it had won one.
    pub(super) fn cuts_burst(&mut self, die: DieId, spare_blocks: u32) -> bool {
        spare_blocks > 0 && self.dies[die.0 as usize].balance.end_burst()
    }

    /// Pages that the next step of a die moves. In a superblock it is a row at least: with less,
    /// most of its dies wait for the others.
    pub(super) fn step_pages(&self, die: DieId) -> u32 {
        self.step_pages.max(self.row_slots * self.dies[die.0 as usize].balance.rows())
    }

    /// Whether writes of a die wait until its collection has caught up.
    #[inline]
    pub(in crate::timed) fn holds_back(&self, die: DieId) -> bool {
        self.dies[die.0 as usize].is_held
    }

    /// Whether its state is still that of the note. A write that stalls behind others, or is held
    /// back, changes nothing.
    #[inline]
    pub(super) fn is_as(&self, calm: &Calm) -> bool {
        let state = &self.dies[calm.die.0 as usize];
        !state.is_resting && (state.stalled.is_empty() != calm.stalls || state.is_held)
    }

    /// Whether writes of a die were held back until now.
    pub(super) fn take_released(&mut self, die: DieId) -> bool {
        std::mem::take(&mut self.dies[die.0 as usize].is_released)
    }

    /// The host writes pages to a die.
    #[inline]
    pub(in crate::timed) fn note_written(&mut self, die: DieId, pages: u32) {
        self.dies[die.0 as usize].written += u64::from(pages);
    }

    /// Whether a die works ahead of need.
    pub(super) fn is_resting(&self, die: DieId) -> bool {
        self.dies[die.0 as usize].is_resting
    }

    /// Whether any page write waits for room.
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting_count > 0
    }

    /// A page write waits for room.
    pub(in crate::timed) fn stall(&mut self, stalled: Stalled) {
        self.waiting_count += 1;
        self.dies[stalled.die.0 as usize].stalled.push_back(stalled);
    }

    /// The page write of a die that waits longest.
    pub(in crate::timed) fn front(&self, die: DieId) -> Option<Stalled> {
        self.dies[die.0 as usize].stalled.front().copied()
    }

    /// Takes this write out.
    pub(super) fn pop(&mut self, die: DieId) -> Option<Stalled> {
        let first = self.dies[die.0 as usize].stalled.pop_front();
        self.waiting_count -= u64::from(first.is_some());
        first
    }

    /// Drops a page of the write cache that was trimmed while it waited; returns its epoch.
    pub(super) fn forget(&mut self, lpn: Lpn) -> Option<u32> {
        if self.waiting_count == 0 {
            return None;
        }
        for state in &mut self.dies {
            let is_it = |page: &Stalled| page.lpn == lpn && page.epoch.is_some();
            if let Some(place) = state.stalled.iter().position(is_it) {
                self.waiting_count -= 1;
                return state.stalled.remove(place)?.epoch;
            }
        }
        None
    }

    /// Notes that the host uses a die.
    pub(super) fn note_host(&mut self, die: DieId) {
        let state = &mut self.dies[die.0 as usize];
        state.is_resting = false;
        state.idle_since = None;
    }

    /// A die may have fallen idle: after a while it may collect ahead.
    #[inline]
    pub(super) fn note_idle(&mut self, clockwork: &mut Clockwork, die: DieId) {
        let Some((after, _)) = self.ahead else { return };
        let state = &mut self.dies[die.0 as usize];
        let counts = state.idle_since.is_none() && !state.is_resting;
        if counts && clockwork.backend.is_idle(die) {
            state.idle_since = Some(clockwork.now());
            state.timer.start(clockwork, after, Event::Idle(die));
        }
    }

    /// The event of the timer of a die has come: whether the host was away all the time.
    pub(super) fn is_rested(&mut self, die: DieId, clockwork: &mut Clockwork) -> bool {
        let Some((after, _)) = self.ahead else { return false };
        let (state, now) = (&mut self.dies[die.0 as usize], clockwork.now());
        state.timer.end(clockwork);
        if state.idle_since.is_some_and(|since| since + after == now) {
            state.is_resting = true;
            state.idle_since = None;
            return true;
        }
        false
    }
}
