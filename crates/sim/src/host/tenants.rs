//! Hosts that share the drive: queues of their waiting commands, and the service that each got.
//!
//! Fairness is R. Jain's index ("A quantitative measure of fairness and discrimination for resource
//! allocation in shared computer systems", 1984) over `x_i`, throughput by weight:
//! ```text
//! J = (sum x_i)^2 / (n * sum x_i^2)       1: all alike    1/n: one has everything
//! ```

use std::collections::VecDeque;

use serde_json::{json, Value};

use super::arbitration::Arbiter;
use super::latency::LatencyBook;
use super::HostConfig;
use crate::op::{HostCommand, Priority, HOST_OP_KINDS};
use crate::units::{Ns, SECTOR_BYTES};
use crate::workload::Host;

/// Commands that the drive has not accepted yet.
pub struct Outside<T> {
    /// In order of arrival, unless there is arbitration.
    arrived: VecDeque<T>,
    queues: Option<Box<Arbiter<T>>>,
    /// The queue of each host: volumes of a trace have that of their host.
    queue_of: Vec<u8>,
    /// Commands that arbitration chose.
    chosen: u64,
}

impl<T> Default for Outside<T> {
    fn default() -> Self {
        Self { arrived: VecDeque::new(), queues: None, queue_of: Vec::new(), chosen: 0 }
    }
}

impl<T> Outside<T> {
    /// Nothing waits. With a protocol that arbitrates, each of several hosts has a queue.
    pub fn new(config: &HostConfig, hosts: &[&Host]) -> Self {
        let owners = hosts.iter().filter(|host| host.volume_of.is_none());
        let shares: Vec<(Priority, u32)> =
            owners.map(|host| (host.priority, host.weight)).collect();
        let queues = config.build_arbiter(&shares).map(Box::new);
        let numbered = hosts.iter().enumerate();
        let queue_of =
            numbered.map(|(index, host)| host.volume_of.unwrap_or(index as u8)).collect();
        Self { queues, queue_of, ..Self::default() }
    }

    /// A command of the host of this number comes.
    pub fn push(&mut self, host: usize, item: T) {
        match &mut self.queues {
            Some(queues) => queues.push(usize::from(self.queue_of[host]), item),
            None => self.arrived.push_back(item),
        }
    }

    /// The command that the drive takes next.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        match &mut self.queues {
            Some(queues) => {
                let item = queues.pop();
                self.chosen += u64::from(item.is_some());
                item
            }
            None => self.arrived.pop_front(),
        }
    }

    /// Whether there are queues between which nothing ever had to be chosen.
    pub fn is_idle(&self) -> bool {
        self.queues.is_some() && self.chosen == 0
    }
}

/// Counts and latencies of one host.
struct Account {
    host: Host,
    commands: [u64; HOST_OP_KINDS],
    bytes: [u64; HOST_OP_KINDS],
    latencies: LatencyBook,
    /// When its last command completed.
    last_done: Ns,
}

/// Counts and latencies of each host and of each volume, by its number.
pub struct TenantBook {
    accounts: Vec<Account>,
}

impl TenantBook {
    /// Empty accounts of hosts that have names; `None` for one that has the drive for itself.
    pub fn of(hosts: &[&Host]) -> Option<Box<Self>> {
        let account = |host: &&Host| Account {
            host: (*host).clone(),
            commands: [0; HOST_OP_KINDS],
            bytes: [0; HOST_OP_KINDS],
            latencies: LatencyBook::default(),
            last_done: Ns(0),
        };
        let mut owners = hosts.iter().filter(|host| host.volume_of.is_none());
        let have_names = owners.all(|host| !host.name.is_empty());
        have_names.then(|| Box::new(Self { accounts: hosts.iter().map(account).collect() }))
    }

    /// A command is complete.
    pub fn record(&mut self, command: &HostCommand, latency: Ns, now: Ns) {
        let account = &mut self.accounts[usize::from(command.tenant)];
        account.record(command, latency, now);
        if let Some(host) = account.host.volume_of {
            self.accounts[usize::from(host)].record(command, latency, now);
        }
    }

    /// Those that share the drive.
    fn hosts(&self) -> impl Iterator<Item = &Account> {
        self.accounts.iter().filter(|account| account.host.volume_of.is_none())
    }

    /// The hosts whose trace ended when less than this share of a time of `run` had passed: name,
    /// and when.
    pub fn ended_before(&self, share: f64, run: Ns) -> Vec<(&str, Ns)> {
        let has_ended = |account: &&Account| {
            let served: u64 = account.commands.iter().sum();
            account.host.trace.is_some_and(|trace| served == trace.requests)
        };
        let is_early = |account: &&Account| (account.last_done.0 as f64) < share * run.0 as f64;
        let early = self.hosts().filter(has_ended).filter(is_early);
        early.map(|account| (account.host.name.as_str(), account.last_done)).collect()
    }

    /// Whether some host has another priority than `medium`.
    pub fn has_priorities(&self) -> bool {
        self.accounts.iter().any(|account| account.host.priority != Priority::Medium)
    }

    /// Commands of all hosts.
    pub fn served(&self) -> u64 {
        self.hosts().flat_map(|account| account.commands).sum()
    }

    /// The rows of the result file, one for each host, over a time of `seconds`.
    pub fn to_json(&self, seconds: Option<f64>) -> Value {
        let numbered = self.accounts.iter().enumerate();
        let hosts = numbered.filter(|(_, account)| account.host.volume_of.is_none());
        let row = |(index, account): (usize, &Account)| {
            let mut row = account.to_json(seconds);
            row["weight"] = json!(account.host.weight);
            row["priority"] = json!(account.host.priority);
            if let Some(trace) = account.host.trace {
                row["trace_requests"] = json!(trace.requests);
                if let Some(pages) = trace.pages {
                    row["trace_pages"] = json!(pages);
                }
            }
            let is_of = |volume: &&Account| volume.host.volume_of == Some(index as u8);
            let volumes: Vec<_> =
                self.accounts.iter().filter(is_of).map(|volume| volume.to_json(seconds)).collect();
            if !volumes.is_empty() {
                row["volumes"] = json!(volumes);
            }
            row
        };
        hosts.map(row).collect()
    }

    /// How evenly bytes were shared out, by weight: Jain's index, and the largest share over the
    /// smallest. Both are `null` while nothing was moved, the ratio also while a host got nothing.
    pub fn fairness(&self) -> Value {
        let share = |account: &Account| {
            (account.bytes[0] + account.bytes[1]) as f64 / f64::from(account.host.weight.max(1))
        };
        let shares: Vec<f64> = self.hosts().map(share).collect();
        let max = shares.iter().copied().fold(0.0, f64::max);
        let min = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let ratio = (min > 0.0).then(|| max / min);
        json!({ "jain_index": jain_index(&shares), "max_min_ratio": ratio })
    }
}

impl Account {
    fn record(&mut self, command: &HostCommand, latency: Ns, now: Ns) {
        let kind = command.op.index();
        self.commands[kind] += 1;
        self.bytes[kind] += u64::from(command.sector_count) * SECTOR_BYTES;
        self.latencies.record(command.op, latency);
        self.last_done = now;
    }

    fn to_json(&self, seconds: Option<f64>) -> Value {
        let seconds = seconds.filter(|&seconds| seconds > 0.0);
        let rate = |count: u64| seconds.map(|seconds| count as f64 / seconds);
        let megabytes = |bytes: u64| rate(bytes).map(|rate| rate * 1e-6);
        let [reads, writes, trims, flushes] = self.commands;
        let mut iops = json!({
            "read": rate(reads), "write": rate(writes), "trim": rate(trims),
            "total": rate(self.commands.iter().sum()),
        });
        if flushes > 0 {
            iops["flush"] = json!(rate(flushes));
        }
        let [read, written, ..] = self.bytes;
        json!({
            "name": self.host.name,
            "served": self.commands.iter().sum::<u64>(),
            "iops": iops,
            "throughput_mb_s": {
                "read": megabytes(read),
                "write": megabytes(written),
                "total": megabytes(read + written),
            },
            "latency_us": self.latencies.to_json(),
        })
    }
}

/// Jain's index; `None` when all are zero.
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::HostOp;

    fn host(name: &str, weight: u32) -> Host {
        Host { name: name.to_owned(), weight, ..Host::default() }
    }

    #[test]
    fn fairness_is_that_of_the_report() {
        let index = |shares: &[f64]| jain_index(shares).expect("something is shared");
        assert!((index(&[3.0, 3.0, 3.0]) - 1.0).abs() < 1e-12);
        assert!((index(&[1.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
        // A k of n hosts that share evenly: k / n.
        assert!((index(&[2.0, 2.0, 0.0]) - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(jain_index(&[0.0, 0.0]), None);
    }

    #[test]
    fn accounts_are_kept_apart_and_weighed() {
        let (a, b) = (host("a", 3), host("b", 1));
        let mut book = TenantBook::of(&[&a, &b]).expect("they have names");
        let write = HostCommand::new(HostOp::Write, 0, 8);
        (0..6).for_each(|_| book.record(&write, Ns(1000), Ns(0)));
        let other = HostCommand { tenant: 1, ..write };
        (0..2).for_each(|_| book.record(&other, Ns(2000), Ns(0)));
        assert_eq!(book.served(), 8);
        assert_eq!(book.fairness()["jain_index"], 1.0);
        assert_eq!(book.fairness()["max_min_ratio"], 1.0);
        let rows = book.to_json(Some(2.0));
        assert_eq!(rows[0]["iops"]["write"], 3.0);
        assert_eq!(rows[1]["throughput_mb_s"]["total"], 0.004_096);
        assert_eq!(rows[1]["latency_us"]["all"]["mean"], 2.0);
        assert!(TenantBook::of(&[&Host::default()]).is_none());
    }

    #[test]
    fn commands_wait_in_order_or_in_queues() {
        let (a, b) = (host("a", 1), host("b", 1));
        let order = |json: &str| -> String {
            let mut config: HostConfig = serde_json::from_str(json).expect("an interface");
            config.check().expect("possible");
            let mut outside = Outside::new(&config, &[&a, &b]);
            for host in [0, 0, 0, 1, 1_usize] {
                outside.push(host, host);
            }
            std::iter::from_fn(|| outside.pop()).map(|host| host.to_string()).collect()
        };
        assert_eq!(order("{}"), "00011");
        assert_eq!(order(r#"{"protocol": "nvme"}"#), "01010");
        assert_eq!(order(r#"{"protocol": {"kind": "nvme", "queues": 1}}"#), "00011");
    }
}
