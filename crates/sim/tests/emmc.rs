//! An eMMC next to a plain array: whatever is written, trimmed, interrupted and cut, sectors hold
//! what they may hold. And no sequence of commands leads out of the table of states.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::emmc::{Card, Options, Response, State};
use opennandlab_sim::rng::Rng;
use opennandlab_sim::units::Ns;
use proptest::prelude::*;

const SECTOR: usize = 512;

fn card(options: &str, more: &str) -> Card {
    let json = format!(
        r#"{{"nand": {{"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
        "blocks_per_plane": 32, "pages_per_block": 16}},
        "ftl": {{"over_provisioning_pct": 0.4 {more}}},
        "host": {{"link": "emmc51_hs200", "command_overhead_us": 70}}}}"#
    );
    let device = DeviceConfig::resolve(&json).expect("a device");
    Card::new(device, 7, Options::resolve(options).expect("options")).expect("a card")
}

/// From power to selected, address 1.
fn start(card: &mut Card) {
    card.wait(Ns(20_000_000));
    for (index, argument) in [(1, 0x40ff_8080), (2, 0), (3, 1 << 16), (7, 1 << 16)] {
        assert_ne!(card.command(index, argument, &[], 0).response, Response::None, "CMD{index}");
    }
    assert_eq!(card.state(), State::Tran);
}

fn status(card: &mut Card) -> u32 {
    match card.command(13, 1 << 16, &[], 0).response {
        Response::R1(word) => word,
        other => panic!("no status: {other:?}"),
    }
}

fn switch(card: &mut Card, index: u32, value: u32) {
    let busy = card.command(6, 3 << 24 | index << 16 | value << 8, &[], 0).busy;
    card.wait(busy);
    assert_eq!(status(card) & 1 << 7, 0, "byte {index} takes {value}");
}

fn ext_csd(card: &mut Card, index: usize) -> u32 {
    let data = card.command(8, 0, &[], 0).data;
    u32::from_le_bytes(*data[index..].first_chunk().expect("four bytes"))
}

/// What each sector may hold when the power fails: bytes that fill it, the last as it reads now.
struct Truth {
    may: Vec<Vec<u8>>,
}

impl Truth {
    fn now(&self, sector: usize) -> u8 {
        *self.may[sector].last().expect("each holds something")
    }

    fn settle(&mut self) {
        for may in &mut self.may {
            may.drain(..may.len() - 1);
        }
    }
}

struct Host {
    card: Card,
    truth: Truth,
    is_cached: bool,
    cache_sectors: usize,
    rng: Rng,
}

impl Host {
    fn new(options: &str, more: &str, is_cached: bool, seed: u64) -> Self {
        let mut card = card(options, more);
        start(&mut card);
        let mut host = Self {
            truth: Truth { may: vec![vec![0]; ext_csd(&mut card, 212) as usize] },
            // Kilobits in the register.
            cache_sectors: ext_csd(&mut card, 249) as usize / 4,
            card,
            is_cached,
            rng: Rng::stream(seed, "emmc"),
        };
        host.set_up();
        host
    }

    fn set_up(&mut self) {
        switch(&mut self.card, 161, 1);
        if self.is_cached {
            switch(&mut self.card, 33, 1);
        }
    }

    fn range(&mut self) -> (usize, usize) {
        let most = if self.rng.below(4) == 0 { 80 } else { 12 };
        let count = 1 + self.rng.below(most) as usize;
        let first = self.rng.below((self.truth.may.len() - count) as u64) as usize;
        (first, count)
    }

    fn read(&mut self, first: usize, count: usize) -> Vec<u8> {
        let address = (first * SECTOR) as u32;
        self.card.command(23, count as u32, &[], 0);
        let reply = self.card.command(18, address, &[], 0);
        assert_eq!(reply.data.len(), count * SECTOR);
        reply.data
    }

    fn check(&mut self) {
        let (first, count) = self.range();
        let data = self.read(first, count);
        for (place, sector) in data.chunks(SECTOR).enumerate() {
            let wanted = self.truth.now(first + place);
            assert!(sector.iter().all(|&byte| byte == wanted), "sector {}", first + place);
        }
    }

    fn write(&mut self) {
        let (first, count) = self.range();
        let is_reliable = self.rng.below(3) == 0;
        let fill = 1 + self.rng.below(255) as u8;
        let data = vec![fill; count * SECTOR];
        self.card.command(23, count as u32 | u32::from(is_reliable) << 31, &[], 0);
        let reply = self.card.command(25, (first * SECTOR) as u32, &data, 0);
        assert!(matches!(reply.response, Response::R1(_)) && reply.busy > Ns(0));
        let is_durable = is_reliable || !self.is_cached;
        match self.rng.below(6) {
            // What is too large for the cache passes it.
            0 => {
                let passes = is_durable || count > self.cache_sectors;
                self.interrupt((first, count), fill, reply.busy, passes);
            }
            1 => self.cut(Some(((first, count), fill, is_reliable)), reply.busy),
            _ => {
                self.card.wait(reply.busy);
                for may in &mut self.truth.may[first..first + count] {
                    may.push(fill);
                    if is_durable {
                        may.drain(..may.len() - 1);
                    }
                }
            }
        }
    }

    fn interrupt(&mut self, range: (usize, usize), fill: u8, busy: Ns, passes: bool) {
        self.card.wait(Ns(self.rng.below(busy.0)));
        self.card.command(13, 1 << 16 | 1, &[], 0);
        let rest = self.card.busy();
        self.card.wait(rest);
        assert_eq!(self.card.state(), State::Tran);
        let done = ext_csd(&mut self.card, 242) as usize;
        assert!(done <= range.1);
        // What goes to the cache is there whatever the card had to write before.
        let count = if passes { done } else { range.1 };
        for may in &mut self.truth.may[range.0..range.0 + count] {
            may.push(fill);
        }
        for sector in range.0..range.0 + range.1 {
            let found = self.read(sector, 1)[0];
            assert_eq!(found, self.truth.now(sector), "sector {sector} after an interrupt");
        }
    }

    /// The power fails, perhaps in the middle of a write.
    fn cut(&mut self, writing: Option<((usize, usize), u8, bool)>, busy: Ns) {
        if busy > Ns(0) {
            self.card.wait(Ns(self.rng.below(busy.0)));
        }
        let mut is_fill_new = true;
        if let Some(((first, count), fill, _)) = writing {
            for may in &mut self.truth.may[first..first + count] {
                is_fill_new &= !may.contains(&fill);
                may.push(fill);
            }
        }
        self.card.power_cycle();
        start(&mut self.card);
        let all = self.read(0, self.truth.may.len());
        let mut torn = 0;
        for (place, sector) in all.chunks(SECTOR).enumerate() {
            let (head, tail) = sector.split_at(SECTOR / 2);
            let may = &mut self.truth.may[place];
            assert!(may.contains(&head[0]) && may.contains(&tail[0]), "sector {place} is foreign");
            assert!(head.iter().all(|it| *it == head[0]) && tail.iter().all(|it| *it == tail[0]));
            torn += u32::from(head[0] != tail[0]);
            *may = vec![head[0]];
        }
        assert!(torn <= 1, "one sector at most is being programmed");
        if let (Some(((first, count), fill, true)), true) = (writing, is_fill_new) {
            let new = (first..first + count).filter(|&it| self.truth.now(it) == fill).count();
            assert!(new == count || new == 0, "{new} of {count} sectors of a reliable write");
        }
        self.set_up();
        if torn > 0 {
            // The host writes again what it finds torn.
            for place in 0..self.truth.may.len() {
                let sector = &all[place * SECTOR..(place + 1) * SECTOR];
                if sector[0] != sector[SECTOR - 1] {
                    let data = vec![sector[0]; SECTOR];
                    self.card.command(23, 1 << 31 | 1, &[], 0);
                    let address = (place * SECTOR) as u32;
                    let busy = self.card.command(25, address, &data, 0).busy;
                    self.card.wait(busy);
                }
            }
        }
    }

    fn erase(&mut self) {
        let (first, count) = self.range();
        let argument = [0x0000_0001, 0x0000_0003, 0x8000_0001][self.rng.below(3) as usize];
        self.card.command(35, (first * SECTOR) as u32, &[], 0);
        self.card.command(36, ((first + count - 1) * SECTOR) as u32, &[], 0);
        let busy = self.card.command(38, argument, &[], 0).busy;
        self.card.wait(busy);
        if argument == 0x8000_0001 {
            self.card.command(35, (first * SECTOR) as u32, &[], 0);
            self.card.command(36, ((first + count - 1) * SECTOR) as u32, &[], 0);
            let busy = self.card.command(38, 0x8000_8000, &[], 0).busy;
            self.card.wait(busy);
        }
        let found = self.read(first, count);
        for (place, sector) in found.chunks(SECTOR).enumerate() {
            let may = &mut self.truth.may[first + place];
            let is_kept = argument == 3 && may.contains(&sector[0]);
            assert!(sector[0] == 0 || is_kept, "sector {} after an erase", first + place);
            *may = vec![sector[0]];
        }
    }

    fn flush(&mut self) {
        let busy = self.card.command(6, 0x0320_0100, &[], 0).busy;
        if self.rng.below(4) == 0 && busy > Ns(0) {
            self.card.wait(Ns(self.rng.below(busy.0)));
            self.card.command(13, 1 << 16 | 1, &[], 0);
            let rest = self.card.busy();
            self.card.wait(rest);
            return;
        }
        self.card.wait(busy);
        self.truth.settle();
    }
}

#[test]
fn sectors_hold_what_they_may_hold() {
    let kinds = [
        (r#"{"cache_kib": 0}"#, "", false),
        (r#"{"cache_kib": 16}"#, "", true),
        (r#"{"cache_kib": 64, "standard": "4.51"}"#, r#", "write_buffer_pages": 16"#, true),
        (r#"{"cache_kib": 8}"#, r#", "gc_policy": "fifo", "allocation": "superblock""#, true),
    ];
    for (seed, (options, more, is_cached)) in (0..).zip(kinds) {
        let mut host = Host::new(options, more, is_cached, seed);
        for _ in 0..500 {
            match host.rng.below(12) {
                0 | 1 => host.check(),
                2 => host.erase(),
                3 => host.flush(),
                4 if host.rng.below(4) == 0 => host.cut(None, Ns(0)),
                _ => host.write(),
            }
        }
        host.card.audit().expect("tables and bytes agree");
    }
}

#[test]
fn a_barrier_keeps_order_without_a_flush() {
    let mut host = Host::new(r#"{"cache_kib": 64}"#, "", true, 1);
    switch(&mut host.card, 31, 1);
    let mut seen = [0; 3];
    for round in 0..60u8 {
        let fill = round + 1;
        let before = [host.read(0, 1)[0], host.read(512, 1)[0]];
        for (step, sector) in [512u32, 0].into_iter().enumerate() {
            let address = sector * SECTOR as u32;
            let busy = host.card.command(24, address, &[fill; SECTOR], 0).busy;
            host.card.wait(busy);
            if step == 0 {
                switch(&mut host.card, 32, 2);
            }
        }
        let busy = host.card.command(6, 0x0320_0100, &[], 0).busy;
        host.card.wait(Ns(busy.0 * u64::from(round) / 59));
        host.card.power_cycle();
        start(&mut host.card);
        host.set_up();
        let is_new = [host.read(512, 1)[SECTOR - 1] == fill, host.read(0, 1)[SECTOR - 1] == fill];
        // Sector 0 came behind the barrier, though its address is lower.
        assert!(is_new[0] || !is_new[1], "round {round}: {before:?}");
        seen[usize::from(is_new[0]) + usize::from(is_new[1])] += 1;
    }
    assert!(seen.iter().all(|&count| count > 0), "cuts before, between and after: {seen:?}");
}

#[test]
fn small_drives_and_foreign_ones_are_refused() {
    let config = |json: &str| DeviceConfig::resolve(json).expect("a device");
    let tiny = config(
        r#"{"nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
        "blocks_per_plane": 16, "pages_per_block": 8}, "ftl": {"over_provisioning_pct": 0.5}}"#,
    );
    let error = Card::new(tiny, 1, Options::default()).err().expect("it is too small");
    assert!(error.to_string().contains("too few for an eMMC"), "{error}");
    for (options, word) in [
        (r#"{"standard": "6.0"}"#, "5.1"),
        (r#"{"rpmb_size_mult": 0}"#, "1 to 128"),
        (r#"{"bkops_kib": [3, 2, 1]}"#, "rise"),
        (r#"{"colour": 1}"#, "colour"),
    ] {
        let error = Options::resolve(options).expect_err("it is wrong").to_string();
        assert!(error.contains(word) && error.starts_with("emmc"), "{error}");
    }
}

fn arguments() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => (0u32..4096).prop_map(|sector| sector * 512),
        2 => Just(1 << 16),
        1 => Just(1 << 16 | 1),
        1 => Just(1 << 16 | 1 << 15),
        2 => (0u32..192, 0u32..8).prop_map(|(index, value)| 3 << 24 | index << 16 | value << 8),
        2 => prop::sample::select(&[32u32, 33, 163, 164, 165, 179, 15][..])
            .prop_map(|index| 3 << 24 | index << 16 | 1 << 8),
        1 => (0u32..8).prop_map(|blocks| blocks | 1 << 30),
        1 => (0u32..64).prop_map(|blocks| blocks | 1 << 31),
        1 => prop_oneof![Just(0x8000_0000u32), Just(0x8000_8000), Just(0xffff_fffa), Just(0)],
        1 => any::<u32>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 64, ..ProptestConfig::default()
    })]

    #[test]
    fn no_sequence_of_commands_leads_out_of_the_states(
        commands in proptest::collection::vec(
            (0u8..64, arguments(), 0usize..4, 0u64..3, 0u64..2_000_000), 1..120),
        standard in prop_oneof![Just("4.51"), Just("5.0"), Just("5.1")],
        hpi in prop_oneof![Just("cmd12"), Just("cmd13")],
    ) {
        let options = format!(
            r#"{{"cache_kib": 16, "standard": "{standard}", "hpi": "{hpi}"}}"#);
        let mut card = card(&options, "");
        start(&mut card);
        for (at, &(index, argument, blocks, wanted, wait)) in commands.iter().enumerate() {
            let before = card.state();
            let data = vec![at as u8; blocks * SECTOR];
            let reply = card.command(index, argument, &data, wanted);
            if let (Response::R1(word), false) = (reply.response, index == 13) {
                prop_assert_eq!(word >> 9 & 15, before.code(), "CMD{} in {:?}", index, before);
            }
            // What is illegal changes nothing.
            if reply.response == Response::None && !matches!(index, 0 | 1 | 7 | 15) {
                prop_assert_eq!(card.state(), before);
            }
            prop_assert!(reply.data.len().is_multiple_of(4));
            if index == 0 || card.state() == State::Ina {
                card.power_cycle();
                start(&mut card);
            }
            if wait % 3 > 0 {
                card.wait(Ns(wait * (wait % 7)));
            }
            if wait % 17 == 0 {
                card.power_cycle();
                start(&mut card);
            }
        }
        let rest = card.busy();
        card.wait(rest);
        prop_assert_eq!(card.audit(), Ok(()));
    }
}
