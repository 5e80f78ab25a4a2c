//! A sparse parity-check matrix over GF(2), by rows.
//!
//! ```text
//!   H = [1 1 0 1]      starts  = [0, 3, 5]           row r owns columns[starts[r]..starts[r + 1]]
//!       [0 1 1 0]      columns = [0, 1, 3, 1, 2]     ascending within a row, each at most once
//! ```
//!
//! An entry is an *edge* of the Tanner graph between check `r` and bit `c`; its index in `columns`
//! is the index of its message in every decoder. Sizes are bounded here, once, so that no reader
//! can be made to ask for more memory or time than a real code needs.

use super::error::MatrixError;

/// Columns of the longest code that is accepted (a 16 KiB page at rate 1/2 has 262,144).
pub(crate) const COLUMNS_MAX: usize = 1 << 19;

/// Edges of the densest code that is accepted.
pub(crate) const EDGES_MAX: usize = 1 << 23;

/// A parity-check matrix; rows are checks, columns are code bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParityMatrix {
    starts: Vec<u32>,
    columns: Vec<u32>,
    column_count: usize,
}

impl ParityMatrix {
    /// Builds the matrix from the columns of each row, in any order.
    ///
    /// # Errors
    /// [`MatrixError::Matrix`] when there is no row or column, more than 524,288 columns or
    /// 8,388,608 edges, not fewer rows than edges allow, a column outside the matrix, a column
    /// twice in one row, or an empty row.
    pub fn from_rows(column_count: usize, rows: &[Vec<u32>]) -> Result<Self, MatrixError> {
        check_size(column_count, rows.len())?;
        let edges: usize = rows.iter().map(Vec::len).sum();
        if edges > EDGES_MAX {
            let message = format!("{edges} ones in the matrix; accepted: at most {EDGES_MAX}");
            return Err(MatrixError::matrix(message));
        }
        let mut starts = Vec::with_capacity(rows.len() + 1);
        let mut columns = Vec::with_capacity(edges);
        starts.push(0);
        for (index, row) in rows.iter().enumerate() {
            let first = columns.len();
            columns.extend_from_slice(row);
            columns[first..].sort_unstable();
            check_row(index, &columns[first..], column_count)?;
            starts.push(columns.len() as u32);
        }
        Ok(Self { starts, columns, column_count })
    }

    /// Number of rows (checks), dependent ones included.
    pub fn row_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of columns (bits), punctured ones included.
    pub fn column_count(&self) -> usize {
        self.column_count
    }

    /// Number of ones.
    pub fn edge_count(&self) -> usize {
        self.columns.len()
    }

    /// The columns of one row, ascending.
    pub fn row(&self, index: usize) -> &[u32] {
        &self.columns[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    /// All rows in order.
    pub fn rows(&self) -> impl Iterator<Item = &[u32]> {
        self.starts.windows(2).map(|pair| &self.columns[pair[0] as usize..pair[1] as usize])
    }

    /// Where each row starts in [`ParityMatrix::edge_columns`], and where the last one ends.
    pub(crate) fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The column of every edge.
    pub(crate) fn edge_columns(&self) -> &[u32] {
        &self.columns
    }

    /// Ones in each column.
    pub fn column_weights(&self) -> Vec<u32> {
        let mut weights = vec![0; self.column_count];
        for &column in &self.columns {
            weights[column as usize] += 1;
        }
        weights
    }

    /// The rows of each column, ascending.
    pub fn rows_of_columns(&self) -> Vec<Vec<u32>> {
        let weights = self.column_weights();
        let mut rows: Vec<Vec<u32>> =
            weights.iter().map(|&weight| Vec::with_capacity(weight as usize)).collect();
        for (index, row) in self.rows().enumerate() {
            for &column in row {
                rows[column as usize].push(index as u32);
            }
        }
        rows
    }

    /// Whether every check is satisfied by a word of one bit per byte and column.
    pub fn is_codeword(&self, word: &[u8]) -> bool {
        self.rows().all(|row| row.iter().fold(0, |sum, &column| sum ^ word[column as usize]) == 0)
    }
}

/// Refuses sizes that no code has, before anything is allocated for them.
pub(crate) fn check_size(columns: usize, rows: usize) -> Result<(), MatrixError> {
    if columns == 0 || columns > COLUMNS_MAX {
        let message = format!("{columns} columns; accepted: 1 to {COLUMNS_MAX}");
        return Err(MatrixError::matrix(message));
    }
    if rows == 0 || rows > COLUMNS_MAX {
        return Err(MatrixError::matrix(format!("{rows} rows; accepted: 1 to {COLUMNS_MAX}")));
    }
    Ok(())
}

fn check_row(index: usize, row: &[u32], column_count: usize) -> Result<(), MatrixError> {
    let number = index + 1;
    let Some(&last) = row.last() else {
        let message = format!("row {number} is empty; accepted: at least one 1 in each row");
        return Err(MatrixError::matrix(message));
    };
    if last as usize >= column_count {
        let found = u64::from(last) + 1;
        let message = format!("row {number} has column {found}; accepted: 1 to {column_count}");
        return Err(MatrixError::matrix(message));
    }
    if let Some(pair) = row.windows(2).find(|pair| pair[0] == pair[1]) {
        let found = u64::from(pair[0]) + 1;
        let message = format!("row {number} has column {found} twice; accepted: at most once");
        return Err(MatrixError::matrix(message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_matrix_by_hand() {
        let matrix = ParityMatrix::from_rows(4, &[vec![3, 0, 1], vec![1, 2]]).expect("a matrix");
        assert_eq!((matrix.row_count(), matrix.column_count(), matrix.edge_count()), (2, 4, 5));
        assert_eq!(matrix.row(0), [0, 1, 3]);
        assert_eq!(matrix.column_weights(), [1, 2, 1, 1]);
        assert_eq!(matrix.rows_of_columns(), [vec![0], vec![0, 1], vec![1], vec![0]]);
        assert!(matrix.is_codeword(&[1, 1, 1, 0]));
        assert!(!matrix.is_codeword(&[1, 0, 0, 0]));
    }

    #[test]
    fn what_is_no_matrix_is_refused_in_words() {
        let refused = |columns: usize, rows: &[Vec<u32>]| {
            ParityMatrix::from_rows(columns, rows).expect_err("refused").to_string()
        };
        assert_eq!(refused(0, &[vec![0]]), "0 columns; accepted: 1 to 524288");
        assert_eq!(refused(4, &[]), "0 rows; accepted: 1 to 524288");
        assert_eq!(refused(4, &[vec![4]]), "row 1 has column 5; accepted: 1 to 4");
        assert_eq!(
            refused(4, &[vec![1], vec![]]),
            "row 2 is empty; accepted: at least one 1 in each row"
        );
        assert_eq!(
            refused(4, &[vec![2, 1, 2]]),
            "row 1 has column 3 twice; accepted: at most once"
        );
    }
}
