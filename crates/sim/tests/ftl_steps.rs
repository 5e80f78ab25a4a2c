//! Collections in steps, next to a plain map and flash that refuses misuse.
//!
//! A scheduler drawn at random begins, steps and finishes collections between the commands, as an
//! executor with a clock would, and sometimes hands the drive to the untimed way of collecting in
//! the middle of one. `CASE=<number> cargo test -p opennandlab-sim --features testing --test
//! ftl_steps` runs one case.

use crate::drawn;

use drawn::draw_device;
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::ftl::{
    End, FlashSink, Ftl, FtlSnapshot, NoRoom, Purpose, StepOutcome, Volatile,
};
use opennandlab_sim::op::Source;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::testing::{erases_max, CheckedFlash, Oracle};
use opennandlab_sim::units::{BlockId, DieId, Lpn, Ns};

const CASES: u64 = 200;
const COMMANDS: u32 = 3000;

/// A drive and the erases that are in progress on it.
struct Bench {
    ftl: Ftl,
    flash: CheckedFlash,
    oracle: Oracle,
    erases: Vec<(DieId, BlockId)>,
    rng: Rng,
    dies: u64,
    stalls: u64,
    is_worn_out: bool,
    /// Of refreshes, so that the rest goes as without.
    own: Rng,
    refreshes: bool,
    blocks: u64,
    /// Placement ids of the drive.
    ids: u64,
    now: Ns,
}

impl Bench {
    fn finish(&mut self, index: usize) {
        let (die, block) = self.erases.swap_remove(index);
        self.flash.erase_is_over(block);
        self.ftl.finish(End::Erase(die, block));
    }

    /// Something that a scheduler could do now.
    fn act(&mut self) {
        let die = DieId(self.rng.below(self.dies) as u32);
        if self.refreshes && self.own.below(4) == 0 {
            self.refresh(die);
        }
        match self.rng.below(5) {
            4 => {
                let was = self.ftl.room(die).victim().is_some();
                let begun = self.ftl.begin(self.flash.media(), die, Purpose::Fold);
                assert!(!(begun && was), "a fold beside a collection in {die:?}");
                assert_eq!(self.ftl.room(die).victim().is_some(), begun || was);
                self.flash.set_load(die, self.rng.below(4) as u32);
            }
            0 if !self.erases.is_empty() => {
                let index = self.rng.below(self.erases.len() as u64) as usize;
                self.finish(index);
            }
            1 => {
                let was = self.ftl.room(die).victim();
                let begun = self.ftl.begin(self.flash.media(), die, Purpose::Collect);
                assert!(!(begun && was.is_some()), "a second collection in {die:?}");
                assert_eq!(self.ftl.room(die).victim().is_some(), begun || was.is_some());
            }
            _ => {
                let victim = self.ftl.room(die).victim();
                let limit = 1 + self.rng.below(9) as u32;
                match self.ftl.step(&mut self.flash, die, limit) {
                    StepOutcome::Moved(count) => {
                        assert_eq!(count, limit, "a step moves what it may");
                        assert!(self.ftl.room(die).pages_to_collect() > 0);
                    }
                    StepOutcome::Emptied(block) => {
                        assert_eq!(Some(block), victim);
                        self.erases.push((die, block));
                    }
                    StepOutcome::Retired(block) => {
                        assert_eq!(Some(block), victim);
                        assert_eq!(self.ftl.room(die).victim(), None);
                    }
                    StepOutcome::Stuck => {
                        let waits = self.erases.iter().any(|&(other, _)| other == die);
                        assert!(waits || victim.is_none(), "{die:?} is stuck for no reason");
                    }
                }
            }
        }
    }

    /// A minute later, a block of a die may be due, or err too much.
    fn refresh(&mut self, die: DieId) {
        self.now = self.now + Ns(60_000_000_000);
        self.flash.set_clock(Some(self.now));
        if self.own.below(8) == 0 {
            let block = BlockId(self.own.below(self.blocks) as u32);
            self.ftl.refresh().ask(self.flash.media(), block, self.now);
        }
        let was = self.ftl.room(die).victim().is_some();
        let due = self.ftl.refresh().due(self.flash.media(), die, self.now).is_some();
        let begun = self.ftl.begin(self.flash.media(), die, Purpose::Refresh(self.now));
        assert!(!begun || (due && !was), "a refresh of {die:?} for no reason");
        assert_eq!(self.ftl.room(die).victim().is_some(), begun || was);
    }

    fn write(&mut self, lpn: Lpn) {
        if self.ids > 0 {
            self.ftl.set_handle(self.own.below(self.ids) as u8);
        }
        for patience in 0..2_000_000 {
            match self.oracle.write(&mut self.ftl, &mut self.flash, lpn) {
                Ok(()) => return,
                Err(NoRoom::WornOut) => {
                    self.is_worn_out = true;
                    return;
                }
                Err(NoRoom::Stalled(_)) => {
                    self.stalls += u64::from(patience == 0);
                    self.act();
                }
            }
        }
        panic!("the write of {lpn:?} waits for ever");
    }

    fn settle(&mut self) {
        for (_, block) in std::mem::take(&mut self.erases) {
            self.flash.erase_is_over(block);
        }
        self.ftl.finish(End::Stage);
    }
}

/// Runs one case; returns the stalls, whether the drive wore out, and the pages refreshed.
fn run_case(case: u64, options: bool) -> (u64, bool, u64) {
    let mut rng = Rng::stream(case, "case");
    let config = draw_device(&mut rng, options, true);
    let setup = config.pool_setup(case);
    let media = config.fresh_media(case);
    let ftl = Ftl::new(&config.ftl, &setup, &media);
    let mut flash = CheckedFlash::of_device(&config, media);
    flash.collect_in_steps(true);
    let dies = u64::from(setup.geometry.die_count);
    let (oracle, erases) = (Oracle::default(), Vec::new());
    let mut bench = Bench {
        ftl,
        flash,
        oracle,
        erases,
        rng,
        dies,
        stalls: 0,
        is_worn_out: false,
        own: Rng::stream(case, "refresh"),
        refreshes: config.ftl.refresh.is_some(),
        blocks: u64::from(setup.geometry.block_count()),
        ids: config.ftl.placement.ids().into(),
        now: Ns(0),
    };
    bench.ftl.refresh().start_clock(Ns(0));
    let pages = u64::from(bench.ftl.figures().logical_pages());
    (0..pages).for_each(|lpn| bench.write(Lpn(lpn as u32)));
    // A lazy scheduler lets writes run into walls; a busy one collects ahead of them.
    let diligence = bench.rng.below(4);
    for command in 0..COMMANDS {
        let lpn = Lpn(bench.rng.below(pages) as u32);
        match bench.rng.below(20) {
            0 => bench.oracle.trim(&mut bench.ftl, &mut bench.flash, lpn),
            1 => bench.oracle.read(&mut bench.ftl, &mut bench.flash, lpn),
            _ => bench.write(lpn),
        }
        (0..bench.rng.below(1 + diligence)).for_each(|_| bench.act());
        if command % 500 == 499 {
            bench.oracle.check(&bench.ftl, &bench.flash);
            check_snapshot(&config, case, &bench);
        }
        if command == COMMANDS / 2 {
            // The untimed executor takes over for a while, in the middle of a collection.
            bench.settle();
            bench.flash.collect_in_steps(false);
            (0..200).for_each(|_| {
                let lpn = Lpn(bench.rng.below(pages) as u32);
                bench.write(lpn);
            });
            bench.flash.collect_in_steps(true);
        }
    }
    bench.oracle.check(&bench.ftl, &bench.flash);
    let counters = bench.ftl.figures().counters();
    for source in [Source::Gc, Source::Wear, Source::Fold, Source::Refresh] {
        assert_eq!(counters.reads[source as usize], counters.programs[source as usize]);
    }
    for block in (0..setup.geometry.block_count()).map(BlockId) {
        let erases = bench.flash.media().erase_count(block);
        let limit = erases_max(&setup, bench.flash.media().mode(block));
        assert!(erases <= limit, "{block:?} was erased {erases} times, rated {limit}");
    }
    assert!(
        !bench.is_worn_out || setup.worn_limit < 100 || setup.failures.is_some(),
        "no room in a drive that is not worn"
    );
    (
        bench.stalls,
        bench.is_worn_out,
        bench.ftl.figures().counters().programs[Source::Refresh as usize],
    )
}

/// A snapshot in the middle of collections gives the drive back.
fn check_snapshot(config: &DeviceConfig, seed: u64, bench: &Bench) {
    let text = serde_json::to_string(&bench.ftl.save().0).expect("plain numbers");
    let snapshot: FtlSnapshot = serde_json::from_str(&text).expect("what was just written");
    let media = bench.flash.media();
    let restored = Ftl::restore(
        &config.ftl,
        &config.pool_setup(seed),
        media,
        (&snapshot, &Volatile::default()),
    )
    .expect("a snapshot that was just taken");
    bench.oracle.check(&restored, &bench.flash);
    let again = serde_json::to_string(&restored.save().0).expect("plain numbers");
    assert_eq!(again, text, "the snapshot of a restored drive differs");
}

/// Runs all cases, or the one that is asked for; all must meet stalls and ends of life.
fn run_cases(options: bool) {
    let only: Option<u64> = std::env::var("CASE").ok().and_then(|case| case.parse().ok());
    let (mut stalls, mut worn_out, mut refreshed) = (0, 0, 0);
    for case in only.map_or(0..CASES, |case| case..case + 1) {
        let outcome = std::panic::catch_unwind(|| run_case(case, options));
        let (case_stalls, is_worn_out, pages) =
            outcome.unwrap_or_else(|_| panic!("case {case}: repeat it with CASE={case}"));
        stalls += case_stalls;
        worn_out += u64::from(is_worn_out);
        refreshed += pages;
    }
    assert!(
        only.is_some() || (stalls > 100 && worn_out > 5 && refreshed > 50_000),
        "{stalls} stalls, {worn_out} worn, {refreshed} refreshed"
    );
}

#[test]
fn collections_in_steps_agree_with_a_plain_map() {
    run_cases(false);
}

#[test]
fn steps_in_drives_of_every_make_agree_with_a_plain_map() {
    run_cases(true);
}
