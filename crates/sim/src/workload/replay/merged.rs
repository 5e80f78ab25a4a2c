//! Counts pages of a trace that share a page of the device after addresses were wrapped or scaled:
//! such pages are overwritten more often, which may change the results.
//!
//! Pages are those of the flash. Each pair of a page of the trace and the page that it became is
//! kept, up to [`PAIRS_MAX`] (32 MiB while they are gathered); beyond, only those of every second
//! page of the device, drawn by hash, then of every fourth, and so on. Both counts are then of
//! these pages, and are multiplied: with a million pairs they are right to some 0.2 %.

use serde::Serialize;

use super::layout::Layout;
use crate::units::SECTOR_BYTES;
use crate::workload::trace::Trace;
use crate::workload::Space;

/// Pairs that are kept.
const PAIRS_MAX: usize = 1 << 20;

/// Pages that a replay touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MergedPages {
    /// Of the trace.
    pub trace: u64,
    /// Of the device, after the change of addresses.
    pub device: u64,
    /// The difference.
    pub merged: u64,
    /// One of this number of pages of the device was counted; 1 if the counts are exact.
    pub sampled_one_in: u64,
}

impl MergedPages {
    /// Counts the pages of a trace; `None` if all addresses are those of the trace.
    pub(super) fn of(trace: &Trace, layout: &Layout, space: Space) -> Option<Self> {
        layout.moves().then(|| Self::counted(trace, layout, space, PAIRS_MAX))
    }

    fn counted(trace: &Trace, layout: &Layout, space: Space, pairs_max: usize) -> Self {
        let page_sectors = (space.page_bytes / SECTOR_BYTES).max(1);
        let mut pairs = Pairs { list: Vec::new(), mask: 0, count_max: pairs_max };
        let placed = trace.records().iter().filter_map(|record| {
            let (sector, count) = layout.place(record)?;
            Some((layout.start(record)?, sector, u64::from(count)))
        });
        for (start, sector, count) in placed.filter(|(.., count)| *count > 0) {
            let pages = sector / page_sectors..=(sector + count - 1) / page_sectors;
            for (trace_page, page) in (start / page_sectors..).zip(pages) {
                pairs.add(trace_page, page);
            }
        }
        pairs.counts()
    }

    /// A warning for the user.
    pub(super) fn warning(&self) -> Option<String> {
        let Self { trace, device, merged, sampled_one_in } = self;
        let counted = match sampled_one_in {
            1 => String::new(),
            count => format!(" (estimated from one of {count} pages)"),
        };
        (*merged > 0).then(|| {
            format!(
                "the {trace} pages that the trace touches became {device} pages of the \
                 device{counted}: {merged} were merged with others, so pages are overwritten and \
                 read again more often than in the trace"
            )
        })
    }
}

/// Pages of the trace, and those of the device that they became.
struct Pairs {
    /// Some of them several times.
    list: Vec<(u64, u64)>,
    /// Pages of the device are counted whose hash has none of these bits.
    mask: u64,
    count_max: usize,
}

impl Pairs {
    fn add(&mut self, trace_page: u64, page: u64) {
        if hash(page) & self.mask != 0 {
            return;
        }
        self.list.push((trace_page, page));
        if self.list.len() < 2 * self.count_max {
            return;
        }
        self.sort();
        while self.list.len() > self.count_max {
            self.mask = self.mask << 1 | 1;
            let mask = self.mask;
            self.list.retain(|(_, page)| hash(*page) & mask == 0);
        }
    }

    fn sort(&mut self) {
        self.list.sort_unstable();
        self.list.dedup();
    }

    fn counts(mut self) -> MergedPages {
        self.sort();
        let mut pages: Vec<_> = self.list.iter().map(|(_, page)| *page).collect();
        pages.sort_unstable();
        pages.dedup();
        self.list.dedup_by_key(|(trace_page, _)| *trace_page);
        let sampled_one_in = self.mask + 1;
        let trace = self.list.len() as u64 * sampled_one_in;
        let device = pages.len() as u64 * sampled_one_in;
        MergedPages { trace, device, merged: trace.saturating_sub(device), sampled_one_in }
    }
}

/// The last step of `SplitMix64`.
fn hash(page: u64) -> u64 {
    let mixed = (page ^ page >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::replay::layout::Part;
    use crate::workload::replay::ReplayConfig;
    use crate::workload::trace::TraceOptions;

    fn merged(text: &str, beyond: &str, device_pages: u64, pairs_max: usize) -> MergedPages {
        let trace = Trace::read(&mut text.as_bytes(), "t", &TraceOptions::default()).unwrap();
        let page_bytes = 4096;
        let logical_bytes = device_pages * page_bytes;
        let space = Space { logical_bytes, page_bytes, placement_ids: 0, zones: None };
        let json = format!(r#"{{"beyond": "{beyond}"}}"#);
        let config = ReplayConfig::resolve(&json, space).unwrap();
        let layout = Layout::new(&trace, &config, Part::whole(space)).unwrap();
        MergedPages::counted(&trace, &layout, space, pairs_max)
    }

    /// Pages 0, 1, 5, 100, 101 and 4096 on a device of 64: modulo 64, or x 64/4097.
    #[test]
    fn pages_that_meet_are_counted() {
        let lines = [0, 1, 5, 100, 101, 4096].map(|page| format!("0 0 {} 8 0\n", page * 8));
        let counts = |beyond| merged(&lines.concat(), beyond, 64, PAIRS_MAX);
        let exact = |device, merged| MergedPages { trace: 6, device, merged, sampled_one_in: 1 };
        assert_eq!(counts("wrap"), exact(5, 1));
        assert_eq!(counts("scale"), exact(3, 3));
        // A request of several pages, one that ends within a page, and a flush, which has none.
        let text = "fio version 2 iolog\nf write 0 16384\nf write 262144 5000\nf sync 0 0\n";
        let counts = merged(text, "wrap", 64, PAIRS_MAX);
        assert_eq!((counts.trace, counts.device, counts.merged), (6, 4, 2));
    }

    /// 20,000 pages on 5,000, with room for 1,000 pairs and 2,000 while they are gathered: of one
    /// page of the device in 16 there are 1,250.
    #[test]
    fn many_pages_are_estimated_and_the_rate_is_told() {
        let lines: Vec<_> = (0..20_000).map(|page| format!("0 0 {} 8 0\n", page * 8)).collect();
        let lines = lines.concat();
        let counts = merged(&lines, "wrap", 5_000, 1_000);
        assert_eq!(counts.sampled_one_in, 16);
        assert_eq!(counts.trace, 4 * counts.device);
        assert!(counts.device.abs_diff(5_000) < 1_200, "{counts:?}");
        assert!(counts.warning().unwrap().contains("estimated from one of 16 pages"));
    }
}
