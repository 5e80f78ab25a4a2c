//! Which submission queue is served next.
//!
//! After the arbitration of the `NVMe` base specification (section on command arbitration):
//! `round_robin` serves up to `burst` commands of a queue, then the next queue;
//! `weighted_round_robin` serves urgent queues first and always, then the classes high, medium,
//! low, round robin inside a class; the weight of a class is its number of commands per round. The
//! specification has no weights of single queues; `weighted_queues` serves as many bursts of a
//! queue in a row as its weight.
//!
//! ```text
//! weights 4 2 1   H H H H M M L   H H H H M M L   …      a class that runs empty loses its turn
//! ```

use std::collections::VecDeque;

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
use crate::op::Priority;

/// How submission queues take turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ArbitrationConfig {
    /// Every queue alike.
    RoundRobin(RoundRobinConfig),
    /// Urgent queues first, then classes by weight.
    WeightedRoundRobin(WeightedConfig),
    /// Every queue by its own weight.
    WeightedQueues(RoundRobinConfig),
}

/// Parameters of turns without classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoundRobinConfig {
    /// Commands of a queue that are served in a row, 1 to 65536; default 1.
    #[schemars(range(min = 1, max = 65_536))]
    pub burst: u32,
}

/// Parameters of turns with classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WeightedConfig {
    /// Commands of the high class in a round, 1 to 256; default 4.
    #[schemars(range(min = 1, max = 256))]
    pub high: u32,
    /// Commands of the medium class in a round, 1 to 256; default 2.
    #[schemars(range(min = 1, max = 256))]
    pub medium: u32,
    /// Commands of the low class in a round, 1 to 256; default 1.
    #[schemars(range(min = 1, max = 256))]
    pub low: u32,
    /// Commands of a queue that are served in a row inside its class, 1 to 65536; default 1.
    #[schemars(range(min = 1, max = 65_536))]
    pub burst: u32,
}

impl Default for RoundRobinConfig {
    fn default() -> Self {
        Self { burst: 1 }
    }
}

impl Default for WeightedConfig {
    fn default() -> Self {
        Self { high: 4, medium: 2, low: 1, burst: 1 }
    }
}

impl Default for ArbitrationConfig {
    fn default() -> Self {
        Self::RoundRobin(RoundRobinConfig::default())
    }
}

/// Schema of the key: a mapping, or a bare name.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    crate::config::name_or_mapping_schema::<ArbitrationConfig>(generator)
}

impl ArbitrationConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let check = |key: &str, value: u32, max: u32| {
            if (1..=max).contains(&value) {
                return Ok(());
            }
            let message = format!("{value} is out of range; accepted: 1 to {max}");
            Err(ConfigError::new(key, message))
        };
        match self {
            Self::RoundRobin(turns) | Self::WeightedQueues(turns) => {
                check("burst", turns.burst, 65_536)
            }
            Self::WeightedRoundRobin(weights) => {
                check("high", weights.high, 256)?;
                check("medium", weights.medium, 256)?;
                check("low", weights.low, 256)?;
                check("burst", weights.burst, 65_536)
            }
        }
    }
}

/// One queue among others that take turns.
struct Member {
    queue: usize,
    /// Commands in a row.
    burst: u32,
}

/// Queues that take turns, with a number of commands of the class in a round.
#[derive(Default)]
struct Class {
    members: Vec<Member>,
    /// Commands of a round; `u32::MAX`: no rounds.
    weight: u32,
    waiting: usize,
    turn: usize,
    burst_left: u32,
}

impl Class {
    /// Adds a queue.
    fn add(&mut self, queue: usize, burst: u32) {
        if self.members.is_empty() {
            self.burst_left = burst;
        }
        self.members.push(Member { queue, burst });
    }

    /// The next queue; some member has a command.
    fn choose<T>(&mut self, queues: &[VecDeque<T>]) -> usize {
        while self.burst_left == 0 || queues[self.members[self.turn].queue].is_empty() {
            self.turn = (self.turn + 1) % self.members.len();
            self.burst_left = self.members[self.turn].burst;
        }
        self.burst_left -= 1;
        self.waiting -= 1;
        self.members[self.turn].queue
    }
}

/// Submission queues of items, and whose turn it is.
pub struct Arbiter<T> {
    queues: Vec<VecDeque<T>>,
    /// Class of each queue: 0 urgent, then high, medium, low.
    class_of: Vec<u8>,
    classes: [Class; 4],
    /// Class whose round it is, 1 to 3, and commands left in it.
    round: usize,
    round_left: u32,
    waiting: usize,
}

impl<T> Arbiter<T> {
    /// Empty queues, one for each of `hosts`: its priority and weight (at least 1).
    pub fn new(config: &ArbitrationConfig, hosts: &[(Priority, u32)]) -> Self {
        let mut classes: [Class; 4] = Default::default();
        for class in &mut classes {
            class.weight = u32::MAX;
        }
        if let ArbitrationConfig::WeightedRoundRobin(weights) = config {
            let shares = [weights.high, weights.medium, weights.low];
            for (class, share) in classes[1..].iter_mut().zip(shares) {
                class.weight = share;
            }
        }
        let mut class_of = Vec::with_capacity(hosts.len());
        for (queue, &(priority, weight)) in hosts.iter().enumerate() {
            let (class, burst) = match config {
                ArbitrationConfig::RoundRobin(turns) => (1, turns.burst),
                ArbitrationConfig::WeightedQueues(turns) => {
                    (1, turns.burst.saturating_mul(weight.max(1)))
                }
                ArbitrationConfig::WeightedRoundRobin(weights) => (priority as u8, weights.burst),
            };
            classes[usize::from(class)].add(queue, burst);
            class_of.push(class);
        }
        Self {
            queues: hosts.iter().map(|_| VecDeque::new()).collect(),
            class_of,
            round: 1,
            round_left: classes[1].weight,
            classes,
            waiting: 0,
        }
    }

    /// Puts an item at the end of a queue, counted modulo the number of queues.
    #[inline]
    pub fn push(&mut self, queue: usize, item: T) {
        let queue = queue % self.queues.len();
        self.queues[queue].push_back(item);
        self.classes[usize::from(self.class_of[queue])].waiting += 1;
        self.waiting += 1;
    }

    /// Takes the item whose turn it is.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.waiting == 0 {
            return None;
        }
        self.waiting -= 1;
        let class = if self.classes[0].waiting > 0 { 0 } else { self.next_class() };
        let queue = self.classes[class].choose(&self.queues);
        self.queues[queue].pop_front()
    }

    /// The class that is served next; one below urgent has an item.
    fn next_class(&mut self) -> usize {
        while self.round_left == 0 || self.classes[self.round].waiting == 0 {
            self.round = self.round % 3 + 1;
            self.round_left = self.classes[self.round].weight;
        }
        self.round_left -= 1;
        self.round
    }

    /// Items that wait.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Whether no item waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves `counts[i]` items of queue `i`, all there from the start; items are queue numbers.
    fn sequence(config: &str, hosts: &[(Priority, u32)], counts: &[usize]) -> String {
        let config: ArbitrationConfig = serde_json::from_str(config).expect("an arbitration");
        config.check().expect("possible");
        let mut arbiter = Arbiter::new(&config, hosts);
        for (queue, &count) in counts.iter().enumerate() {
            (0..count).for_each(|_| arbiter.push(queue, queue));
        }
        assert_eq!(arbiter.len(), counts.iter().sum::<usize>());
        let order = std::iter::from_fn(|| arbiter.pop()).map(|queue| queue.to_string()).collect();
        assert!(arbiter.is_empty());
        order
    }

    #[test]
    fn round_robin_takes_bursts_in_turn() {
        let hosts = [(Priority::Medium, 1); 3];
        assert_eq!(sequence(r#"{"kind": "round_robin"}"#, &hosts, &[3, 1, 2]), "012020");
        let bursts = r#"{"kind": "round_robin", "burst": 2}"#;
        assert_eq!(sequence(bursts, &hosts, &[5, 1, 3]), "001220020");
    }

    #[test]
    fn weights_share_out_rounds_and_urgent_goes_first() {
        let hosts =
            [(Priority::Low, 1), (Priority::High, 1), (Priority::Medium, 1), (Priority::Urgent, 1)];
        let weighted = r#"{"kind": "weighted_round_robin", "high": 3, "medium": 2, "low": 1}"#;
        // Urgent, then H H H M M L until high is empty, and so on.
        assert_eq!(sequence(weighted, &hosts, &[4, 5, 4, 2]), "331112201122000");
    }

    #[test]
    fn queues_of_a_class_take_turns() {
        let hosts = [(Priority::High, 1), (Priority::High, 1), (Priority::Low, 1)];
        let weighted = r#"{"kind": "weighted_round_robin", "high": 3, "low": 1}"#;
        assert_eq!(sequence(weighted, &hosts, &[3, 3, 3]), "010210122");
    }

    #[test]
    fn queues_have_weights_of_their_own() {
        let hosts = [(Priority::Medium, 3), (Priority::Medium, 1)];
        assert_eq!(sequence(r#"{"kind": "weighted_queues"}"#, &hosts, &[7, 3]), "0001000101");
    }

    #[test]
    fn impossible_weights_are_refused() {
        for (json, path) in [
            (r#"{"kind": "round_robin", "burst": 0}"#, "burst"),
            (r#"{"kind": "weighted_round_robin", "high": 0}"#, "high"),
            (r#"{"kind": "weighted_round_robin", "low": 257}"#, "low"),
        ] {
            let config: ArbitrationConfig = serde_json::from_str(json).expect("well formed");
            assert_eq!(config.check().expect_err(json).path, path);
        }
    }
}
