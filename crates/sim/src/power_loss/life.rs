//! A drive that is cut again and again, and many of them.

use std::collections::BTreeMap;

use super::check::Claims;
use super::host_log::KnownPage;
use super::tally::Tally;
use super::target::Target;
use super::trial::{How, Trial, Until};
use super::workload::Pattern;
use crate::config::ConfigError;
use crate::drive::{DeviceConfig, Mounting, PowerLossConfig, Remains};
use crate::nand::WearOut;
use crate::rng::Rng;
use crate::run::Simulation;
use crate::session::{Request, Session};
use crate::units::Ns;

/// Requests between two cuts, about.
const REQUESTS_PER_CUT: u64 = 64;
/// Cuts after which the tables of the firmware are checked, all pages are judged, not only those
/// that may have changed, and the recovery is compared with one that examines every page.
const AUDIT_EVERY: u32 = 100;

/// The drive and the cuts of a campaign.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The drive.
    pub device: DeviceConfig,
    /// Patterns, taken in turns by the lives.
    pub patterns: Vec<Pattern>,
    /// Where cuts are aimed, taken in turns by the cuts of a life.
    pub targets: Vec<Target>,
    /// The promises of the drive.
    pub claims: Claims,
    /// Cuts of a life.
    pub cuts_per_life: u32,
    /// Longest time to be ready.
    pub mount_limit: Ns,
    /// Decides everything that is drawn.
    pub seed: u64,
}

/// A campaign whose drive is written once, and copied for each life.
pub struct Life {
    campaign: Campaign,
    options: PowerLossConfig,
    first: Remains,
    base: Vec<KnownPage>,
    /// Simulated time of about as many requests as there are between two cuts, by pattern.
    spans: BTreeMap<Pattern, Ns>,
}

impl Life {
    /// Writes the drive of a campaign: every page once, and half of them again at random. Worn
    /// blocks stay in use: that a cut may undo the retirement of a block is not modelled.
    ///
    /// # Errors
    /// [`ConfigError`] for drives that cannot be cut from power.
    pub fn new(campaign: Campaign) -> Result<Self, ConfigError> {
        let mut device = campaign.device.clone();
        device.nand.wear_out = WearOut::Ignore;
        let options = device.power.clone().unwrap_or_default();
        let simulation = Simulation::new(device, campaign.seed);
        let mut session = Session::cuttable(simulation)?;
        let (pages, unit) = (session.logical_pages(), session.unit_bytes());
        let mut rng = Rng::stream(campaign.seed, "power.fill");
        let mut done = Vec::new();
        let mut write = |session: &mut Session, first: u32, count: u32| {
            let (offset, length) = (u64::from(first) * unit, u64::from(count) * unit);
            let request = Request::Zero { offset, length, is_fua: false, is_allocated: true };
            session.begin(Ns(0), 0, request, &mut done)
        };
        let mut outcome = Ok(crate::session::Begun::Done);
        for first in (0..pages).step_by(64) {
            outcome = outcome.and_then(|_| write(&mut session, first, 64.min(pages - first)));
        }
        for _ in 0..pages / 2 {
            let lpn = rng.below(u64::from(pages)) as u32;
            outcome = outcome.and_then(|_| write(&mut session, lpn, 1));
        }
        if outcome.is_err() {
            let message = "the drive finds no room while it is filled; accepted: more";
            return Err(ConfigError::new("ftl.over_provisioning_pct", message));
        }
        let first = session.shut_down();
        let latest = first.latest(pages, None);
        let base =
            latest.iter().map(|it| KnownPage { version: it.version, has_data: it.place > 0 });
        let mut life =
            Self { base: base.collect(), options, first, spans: BTreeMap::new(), campaign };
        for pattern in life.campaign.patterns.clone() {
            let span = life.span_of(pattern);
            life.spans.insert(pattern, span);
        }
        Ok(life)
    }

    /// Simulated time of about as many requests as there are between two cuts.
    fn span_of(&self, pattern: Pattern) -> Ns {
        let trial = self.trial();
        let Ok((session, _)) = self.first.clone().mount(&Mounting::default()) else {
            return trial.program();
        };
        let rng = Rng::stream(self.campaign.seed, "power.span");
        let subject = trial.subject(session, self.base.clone());
        trial.span_of(subject, pattern, rng, REQUESTS_PER_CUT)
    }

    /// Lives one life.
    pub fn live(&self, number: u64) -> Tally {
        let mut rng = Rng::stream(self.campaign.seed, &format!("power.life.{number}"));
        let Campaign { patterns, targets, .. } = &self.campaign;
        let pattern = patterns[(number % patterns.len() as u64) as usize];
        let mut tally = Tally::default();
        let Ok((session, _)) = self.first.clone().mount(&Mounting::default()) else {
            return tally;
        };
        let trial = self.trial();
        let mut subject = trial.subject(session, self.base.clone());
        for cut in 0..self.campaign.cuts_per_life {
            // Lives begin at different places of the list.
            let target = targets[((number + u64::from(cut)) % targets.len() as u64) as usize];
            let until = Until::Within(self.spans[&pattern]);
            let how = How { life: number, cut, pattern, target, until, share: 1.0 };
            subject = trial.cut(subject, how, &mut rng, &mut tally);
        }
        tally
    }

    fn trial(&self) -> Trial<'_> {
        let Campaign { device, claims, mount_limit, .. } = &self.campaign;
        Trial::new(device, &self.options, *claims, *mount_limit, AUDIT_EVERY)
    }
}
