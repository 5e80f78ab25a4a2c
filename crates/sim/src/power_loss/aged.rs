//! A cut in the course of ageing: the drive that ages is the drive that is cut.
//!
//! ```text
//! Simulation, written without a clock ─► bytes made up ─► Trial: traffic, cut, mount, judge ─┐
//!        ▲        erase counts, retired blocks, marks of interrupted operations              │
//!        └────────────────────────────────────── bytes dropped ◄─────────────────────────────┘
//! ```
//! The judge knows each unit by its version, as in a campaign: what the drive held before the
//! traffic is the base, so a unit that the traffic does not write has to be as before (G7), however
//! often it was moved while the drive aged. What a cut has lost is no part of the base of the next.

use super::check::Claims;
use super::host_log::KnownPage;
use super::tally::Tally;
use super::target::Target;
use super::trial::{How, Trial, Until};
use super::workload::Pattern;
use crate::config::ConfigError;
use crate::rng::Rng;
use crate::run::Simulation;
use crate::session::Session;
use crate::units::Ns;

/// Requests until a cut are fewer than this: twice the number between two cuts of a campaign.
const REQUESTS_MAX: u64 = 128;
/// Cuts after which all pages are judged, and the recovery compared with one that examines all.
const AUDIT_EVERY: u32 = 10;

/// A cut of a drive that ages.
#[derive(Clone, Copy, Debug)]
pub struct AgedCut {
    /// The number of the cut in the life of the drive, from 0.
    pub number: u32,
    /// The workload of the host.
    pub pattern: Pattern,
    /// Where the cut is aimed.
    pub target: Target,
    /// The promises of the drive.
    pub claims: Claims,
    /// Longest time to be ready.
    pub mount_limit: Ns,
    /// The share of the drive, from its first page on, that is written.
    pub share: f64,
    /// Decides everything that is drawn.
    pub seed: u64,
}

/// Lets a host work with a drive, cuts it, and returns the drive after its mount, with the
/// findings. Flash pages of the tally count those that the recovery programmed.
///
/// # Errors
/// [`ConfigError`] for drives that cannot be cut; [`Session::check_used`] checks this before.
pub fn cut_aged(
    simulation: Simulation,
    asked: &AgedCut,
) -> Result<(Simulation, Tally), ConfigError> {
    let device = simulation.config().clone();
    let options = device.power.clone().unwrap_or_default();
    let (session, kept) = Session::of_used(simulation)?;
    let known = session.known().map(|(version, has_data)| KnownPage { version, has_data });
    let base = known.collect();
    let trial = Trial::new(&device, &options, asked.claims, asked.mount_limit, AUDIT_EVERY);
    let how = How {
        life: 0,
        cut: asked.number,
        pattern: asked.pattern,
        target: asked.target,
        until: Until::Requests(REQUESTS_MAX),
        share: asked.share,
    };
    let mut rng = Rng::stream(asked.seed, "power.aged");
    let mut tally = Tally::default();
    let subject = trial.subject(session, base);
    let (subject, left) =
        trial.cut_with(subject, how, &mut rng, &mut tally, |it| Some(it.read_memory()));
    tally.pages.flash += left.recovered_pages;
    let reads = left.reads.unwrap_or_default();
    Ok((subject.session.into_used(&kept, left.powered, &reads), tally))
}
