//! Merges the writes of all tenants into one sequence of commands: preconditioning without time.
//!
//! ```text
//! all writers in open loops    requests by arrivals per second, pauses included
//! otherwise                    by queue depth, an open loop as 32; by weight where weights differ
//! ```
//! In closed loops the drive determines the rates. If they wait for the flash, requests of one size
//! take the same time in all queues, so rates are proportional to queue depths, and
//! `weighted_queues` divides them by weight. Larger requests wait for the last of several dies:
//! only the drive knows how much longer. The tenant of each command is drawn at random: fixed turns
//! would coincide with the turns of the dies.

use super::idle::IdleConfig;
use super::load::{ArrivalConfig, LoadConfig};
use super::tenant::TenantConfig;
use super::{Admission, Generator, Space};
use crate::op::HostCommand;
use crate::rng::Rng;

/// Commands of a tenant that are drawn ahead: a call for each would cost more than the command.
const AHEAD: usize = 256;

/// See the module.
pub(super) struct Mixed {
    /// By the number of the tenant.
    sources: Vec<Source>,
    rng: Rng,
}

struct Source {
    generator: Box<dyn Generator>,
    /// Commands drawn ahead, the next one last.
    drawn: Vec<HostCommand>,
    /// Draws below this, and not below that of the tenant before, are its own.
    limit: f64,
}

impl Mixed {
    /// The changes of tenants of which one writes; `streams` begins the names of the randomness.
    pub(super) fn new(tenants: &[TenantConfig], space: Space, seed: u64, streams: &str) -> Self {
        let rates = rates(tenants);
        let sum: f64 = rates.iter().sum();
        let mut limit = 0.0;
        let mut source = |(index, tenant): (usize, &TenantConfig)| {
            limit += rates[index];
            Source {
                generator: tenant.changes(index, space, seed, &format!("{streams}.tenant")),
                drawn: Vec::with_capacity(AHEAD),
                limit: limit / sum,
            }
        };
        let sources = tenants.iter().enumerate().map(&mut source).collect();
        Self { sources, rng: Rng::stream(seed, &format!("{streams}.mix")) }
    }
}

impl Generator for Mixed {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        for _ in 0..count {
            let point = self.rng.unit();
            // The last limit is 1, which no draw reaches.
            let who = self.sources.partition_point(|source| source.limit <= point);
            let source = &mut self.sources[who];
            if source.drawn.is_empty() {
                source.generator.fill(&mut source.drawn, AHEAD);
                source.drawn.reverse();
            }
            batch.extend(source.drawn.pop());
        }
    }

    fn retarget(&mut self, command: &mut HostCommand) {
        self.sources[usize::from(command.tenant)].generator.retarget(command);
    }
}

/// Whether the shares are those of arrivals, or of queues that differ only in depth; otherwise the
/// drive and the clock decide them.
pub(super) fn knows_shares(tenants: &[TenantConfig]) -> bool {
    let of_closed_loop = |tenant: &TenantConfig| {
        let is_steady = tenant.idle.is_none() && arrivals_per_second(tenant).is_none();
        is_steady.then(|| (tenant.weight, tenant.block_size_bytes.bytes_mean()))
    };
    let first = writers(tenants).next().and_then(of_closed_loop);
    is_open_loop(tenants)
        || writers(tenants).count() == 1
        || (first.is_some() && writers(tenants).all(|tenant| of_closed_loop(tenant) == first))
}

/// Whether all that write do so on arrivals.
fn is_open_loop(tenants: &[TenantConfig]) -> bool {
    writers(tenants).all(|tenant| arrivals_per_second(tenant).is_some())
}

/// Rate of changes of each tenant, relative to the others.
fn rates(tenants: &[TenantConfig]) -> Vec<f64> {
    let is_open = is_open_loop(tenants);
    let first = writers(tenants).next().map_or(0, |tenant| tenant.weight);
    let by_depth = writers(tenants).all(|tenant| tenant.weight == first);
    let requests = |tenant: &TenantConfig| match tenant.queue_depth.admission().without_arrivals() {
        _ if is_open => arrivals_per_second(tenant).unwrap_or(0.0),
        Admission::Closed { queue_depth } if by_depth => f64::from(queue_depth),
        _ => f64::from(tenant.weight),
    };
    tenants.iter().map(|it| (1.0 - it.read_pct / 100.0) * requests(it)).collect()
}

/// Those that do not only read.
fn writers(tenants: &[TenantConfig]) -> impl Iterator<Item = &TenantConfig> {
    tenants.iter().filter(|tenant| tenant.read_pct < 100.0)
}

/// Of an open loop, over bursts and pauses.
fn arrivals_per_second(tenant: &TenantConfig) -> Option<f64> {
    let LoadConfig::Open(ArrivalConfig::Poisson(poisson)) = &tenant.queue_depth else {
        return None;
    };
    let bytes = tenant.block_size_bytes.bytes_mean();
    let busy = |idle: &IdleConfig| idle.busy_share(poisson.iops, bytes);
    Some(poisson.iops * tenant.idle.as_ref().map_or(1.0, busy))
}
