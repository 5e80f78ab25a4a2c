//! The state of the cells after an interrupted operation.
//!
//! ```text
//! running program  log10 RBER(f) = log10 0.5 + f (log10 r0 - log10 0.5) + N(0, 0.3)
//! earlier page     RBER(f)       = r1 4 f (1 - f) 10^N(0, 0.3)       peaks half way
//! erase            nothing of the block can be read
//! supply fails     speed(t) = 1 - t / ramp: a running operation gets as far as in half of it
//! ```
//! `f` is the share of the operation that was done, `r0` the nominal raw bit error rate, `r1` that
//! of an earlier page of the wordline half way through a later pass. The shapes are those of Tseng,
//! Grupp and Swanson, "Understanding the impact of power loss on flash memory", DAC 2011: rates
//! between those of no data and of good data, not monotonic, and errors in pages that were finished
//! long before. The amounts are assumptions of this model. A page whose rate is above that which
//! the code corrects cannot be read; one that was hardly begun looks erased.

use crate::nand::Running;
use crate::rng::Rng;
use crate::units::Ns;

/// Raw bit error rate of a page that was programmed to its end.
const NOMINAL_RBER: f64 = 1e-4;
/// Of an earlier page of the wordline, half way through a later pass.
const DAMAGED_RBER: f64 = 5e-2;
/// The highest rate that the code corrects: about that of 72 bits in 1 KiB and its parity.
const CORRECTABLE_RBER: f64 = 8e-3;
/// Spread of the rates, in decades.
const SPREAD: f64 = 0.3;
/// Share of a program below which its page looks erased.
const LOOKS_ERASED: f64 = 0.05;

/// The state of a page whose program was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageAfter {
    /// It looks erased.
    Erased,
    /// It cannot be read.
    Lost,
    /// It can be read, once at least.
    Readable,
}

/// Draws the state of a page, for the share of its program that was done.
pub fn page_after(fraction: f64, rng: &mut Rng) -> PageAfter {
    let noise = SPREAD * rng.normal();
    if fraction < LOOKS_ERASED {
        return PageAfter::Erased;
    }
    let log = libm::log10(0.5) + fraction * libm::log10(NOMINAL_RBER / 0.5) + noise;
    if libm::pow(10.0, log) > CORRECTABLE_RBER {
        PageAfter::Lost
    } else {
        PageAfter::Readable
    }
}

/// The supply falls evenly over `ramp`: no operation begins any more, and running ones become
/// slower and slower, so that they get as far as in half of this time.
pub fn brown_out(running: &mut [Running], ramp: Ns) {
    let worked = ramp.0 / 2;
    if worked == 0 {
        return;
    }
    for it in running {
        if it.left.0 <= worked {
            (it.fraction, it.left) = (1.0, Ns(0));
        } else {
            it.fraction += (1.0 - it.fraction) * worked as f64 / it.left.0 as f64;
            it.left = Ns(it.left.0 - worked);
        }
    }
}

/// Whether an earlier page of the wordline cannot be read any more.
pub fn damages_earlier(fraction: f64, rng: &mut Rng) -> bool {
    let noise = libm::pow(10.0, SPREAD * rng.normal());
    DAMAGED_RBER * 4.0 * fraction * (1.0 - fraction) * noise > CORRECTABLE_RBER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_from_erased_over_lost_to_readable() {
        let mut rng = Rng::from_seed(1);
        let share = |fraction: f64, wanted: PageAfter, rng: &mut Rng| {
            (0..2000).filter(|_| page_after(fraction, rng) == wanted).count()
        };
        assert_eq!(share(0.01, PageAfter::Erased, &mut rng), 2000);
        assert!(share(0.2, PageAfter::Lost, &mut rng) > 1990);
        assert!(share(0.98, PageAfter::Readable, &mut rng) > 1990);
        let middle = share(0.5, PageAfter::Lost, &mut rng);
        assert!((200..1800).contains(&middle), "{middle} of 2000 lost half way");
        let damaged = |fraction: f64, rng: &mut Rng| {
            (0..2000).filter(|_| damages_earlier(fraction, rng)).count()
        };
        let [early, peak, late] = [0.02, 0.5, 0.99].map(|fraction| damaged(fraction, &mut rng));
        assert!(peak > 1900 && early < 1200 && late < 200, "{early} {peak} {late}");
    }

    #[test]
    fn what_is_under_way_slows_down_with_the_supply() {
        let one = |left: u64| Running {
            block: crate::units::BlockId(0),
            pages: Some((0, 1)),
            page_type: 0,
            is_moved: false,
            fraction: 1.0 - left as f64 / 1000.0,
            left: Ns(left),
        };
        let mut running = [one(100), one(101), one(600)];
        brown_out(&mut running, Ns(200));
        assert_eq!(running.each_ref().map(|it| it.left), [Ns(0), Ns(1), Ns(500)]);
        let far = |at: usize, share: f64| (running[at].fraction - share).abs() < 1e-12;
        assert!(far(0, 1.0) && far(1, 0.999) && far(2, 0.5), "{running:?}");
        let mut same = [one(600)];
        brown_out(&mut same, Ns(0));
        assert_eq!(same, [one(600)]);
    }
}
