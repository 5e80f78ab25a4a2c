//! The girth of a Tanner graph: the length of its shortest cycle.
//!
//! Breadth-first search from a bit: two branches that reach the same node close a cycle through the
//! root, or contain a shorter one. The search from a bit of that shorter cycle finds it, so the
//! shortest over all roots is the girth. In a quasi-cyclic matrix all bits of a block look alike,
//! so one root per block is enough. Searches are cut at the shortest length found yet, which keeps
//! them to a few levels.

use super::matrix::ParityMatrix;

/// Cycles longer than this are not looked for.
const GIRTH_MAX: u32 = 12;

const UNSEEN: u32 = u32::MAX;

/// Length of the shortest cycle up to 12; `expansion` is the block size, or 1.
pub(crate) fn girth(matrix: &ParityMatrix, expansion: usize) -> Option<u32> {
    let rows_of_columns = matrix.rows_of_columns();
    let mut search = Search {
        matrix,
        rows_of_columns: &rows_of_columns,
        column_depth: vec![UNSEEN; matrix.column_count()],
        row_depth: vec![UNSEEN; matrix.row_count()],
        touched: Vec::new(),
    };
    let mut best = GIRTH_MAX + 2;
    for root in (0..matrix.column_count()).step_by(expansion) {
        best = search.from(root as u32, best);
        if best == 4 {
            break;
        }
    }
    (best <= GIRTH_MAX).then_some(best)
}

struct Search<'a> {
    matrix: &'a ParityMatrix,
    rows_of_columns: &'a [Vec<u32>],
    column_depth: Vec<u32>,
    row_depth: Vec<u32>,
    /// Columns whose depth, and whose rows' depth, must be forgotten.
    touched: Vec<u32>,
}

impl Search<'_> {
    /// The shorter of `best` and the shortest cycle that this root finds.
    fn from(&mut self, root: u32, mut best: u32) -> u32 {
        self.column_depth[root as usize] = 0;
        self.touched.push(root);
        let mut next = 0;
        // An entry is a column and the row through which it was reached.
        let mut queue = vec![(root, UNSEEN)];
        while let Some(&(column, parent)) = queue.get(next) {
            next += 1;
            let depth = self.column_depth[column as usize];
            // Meeting below this level closes a cycle of at least 2 depth + 2.
            if 2 * depth + 2 >= best {
                break;
            }
            for &row in &self.rows_of_columns[column as usize] {
                if row == parent {
                    continue;
                }
                if self.row_depth[row as usize] != UNSEEN {
                    best = best.min(depth + 1 + self.row_depth[row as usize]);
                    continue;
                }
                self.row_depth[row as usize] = depth + 1;
                for &other in self.matrix.row(row as usize) {
                    if other == column {
                        continue;
                    }
                    if self.column_depth[other as usize] != UNSEEN {
                        best = best.min(depth + 2 + self.column_depth[other as usize]);
                        continue;
                    }
                    self.column_depth[other as usize] = depth + 2;
                    self.touched.push(other);
                    queue.push((other, row));
                }
            }
        }
        for column in self.touched.drain(..) {
            self.column_depth[column as usize] = UNSEEN;
            for &row in &self.rows_of_columns[column as usize] {
                self.row_depth[row as usize] = UNSEEN;
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(columns: usize, rows: &[&[u32]]) -> Option<u32> {
        let rows: Vec<Vec<u32>> = rows.iter().map(|row| row.to_vec()).collect();
        girth(&ParityMatrix::from_rows(columns, &rows).expect("a matrix"), 1)
    }

    #[test]
    fn rings_trees_and_squares() {
        assert_eq!(of(3, &[&[0, 1], &[1, 2], &[0, 2]]), Some(6));
        assert_eq!(of(5, &[&[0, 1], &[1, 2], &[2, 3], &[3, 4], &[4, 0]]), Some(10));
        assert_eq!(of(4, &[&[0, 1, 2], &[1, 2, 3]]), Some(4));
        assert_eq!(of(4, &[&[0, 1], &[1, 2], &[2, 3]]), None);
    }
}
