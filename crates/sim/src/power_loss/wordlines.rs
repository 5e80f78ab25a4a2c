//! The order in which the pages of wordlines are programmed in several passes.
//!
//! ```text
//! pass 0    0  1  3  5  ...        a pass of a wordline follows when the
//! pass 1       2  4  6  ...        wordline behind has had the one before
//!           wordline 0, 1, 2, 3
//! ```

/// The effect of the program of a page on its wordline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pass {
    pub(super) wordline: u32,
    /// The pass of this wordline, from 0.
    pub(super) pass: u32,
}

/// The pass of each page of a block whose wordlines are programmed in `passes`, in the order of
/// programs.
pub(super) fn passes_of_block(page_count: u32, passes: u32) -> Vec<Pass> {
    let wordlines = page_count.div_ceil(passes);
    let mut order: Vec<Pass> = (0..wordlines)
        .flat_map(|wordline| (0..passes).map(move |pass| Pass { wordline, pass }))
        .collect();
    order.sort_by_key(|it| (it.wordline + it.pass, it.pass));
    order.truncate(page_count as usize);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_of_a_wordline_lie_apart() {
        let order = |page_count, passes| -> Vec<(u32, u32)> {
            let order = passes_of_block(page_count, passes);
            order.into_iter().map(|it| (it.wordline, it.pass)).collect()
        };
        let mlc = order(8, 2);
        assert_eq!(mlc, [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (3, 0), (2, 1), (3, 1)]);
        let tlc = order(12, 3);
        assert_eq!(&tlc[..6], [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]);
        let mut all = tlc;
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 12);
    }
}
