//! Reads quasi-cyclic matrices: a small table of cyclic shifts.
//!
//! ```text
//!   4 2 3            block columns, block rows, expansion Z
//!   0 1 -1 0         a block is Z by Z: -1 all zero, s the identity with its ones moved right
//!   2 -1 0 1         by s, so that row i has its one in column (i + s) mod Z; s may be above Z
//!   1 1 1 0          may be left out: 1 = the bits of this block column are sent, 0 = punctured
//! ```

use super::error::MatrixError;
use super::matrix::{check_size, ParityMatrix, EDGES_MAX};

/// Cyclic shifts of the blocks of a quasi-cyclic matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseMatrix {
    /// Size of a block.
    pub expansion: usize,
    /// Shifts by block row; `None` is a block of zeros.
    pub shifts: Vec<Vec<Option<u32>>>,
    /// Whether the bits of each block column are sent.
    pub sent: Vec<bool>,
    /// Shifts that were at least the size of a block, and taken modulo it.
    pub reduced: usize,
}

impl BaseMatrix {
    /// Reads the `.qc` format.
    ///
    /// # Errors
    /// [`MatrixError`] with the line and the accepted input.
    pub fn parse(text: &str) -> Result<Self, MatrixError> {
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.split('#').next().unwrap_or("").trim()))
            .filter(|(_, line)| !line.is_empty());
        let (line, header) = lines.next().ok_or_else(|| {
            MatrixError::line(1, "the text ends; expected columns, rows and expansion")
        })?;
        let header = numbers(line, header)?;
        let [columns, rows, expansion] = header[..] else {
            let message =
                format!("{} numbers; accepted: 3, columns, rows and expansion", header.len());
            return Err(MatrixError::line(line, message));
        };
        let (columns, rows, expansion) = sizes(line, columns, rows, expansion)?;
        let (mut shifts, mut reduced) = (Vec::new(), 0);
        for row in 0..rows {
            let (line, content) = lines.next().ok_or_else(|| {
                let message = format!("the text ends; expected {rows} block rows, {row} so far");
                MatrixError::line(text.lines().count() + 1, message)
            })?;
            let row = numbers(line, content)?;
            let is_beyond = |&shift: &i64| usize::try_from(shift).is_ok_and(|it| it >= expansion);
            reduced += row.iter().copied().filter(is_beyond).count();
            shifts.push(shift_row(line, &row, columns, expansion)?);
        }
        let sent = match lines.next() {
            None => vec![true; columns],
            Some((line, content)) => sent_row(line, &numbers(line, content)?, columns)?,
        };
        match lines.next() {
            None => Ok(Self { expansion, shifts, sent, reduced }),
            Some((line, _)) => Err(MatrixError::line(line, "text after the puncturing line")),
        }
    }

    /// The matrix of bits.
    ///
    /// # Errors
    /// [`MatrixError::Matrix`] for a matrix that is too large, or with a row of zeros.
    pub fn expand(&self) -> Result<ParityMatrix, MatrixError> {
        let blocks = self.shifts.iter().flatten().filter(|shift| shift.is_some()).count();
        if blocks.saturating_mul(self.expansion) > EDGES_MAX {
            let message = format!(
                "{blocks} blocks of {} ones; accepted: at most {EDGES_MAX} ones",
                self.expansion
            );
            return Err(MatrixError::matrix(message));
        }
        let size = self.expansion as u32;
        let mut rows = Vec::with_capacity(self.shifts.len() * self.expansion);
        for shifts in &self.shifts {
            for index in 0..size {
                let ones = (0_u32..).zip(shifts).filter_map(|(block, shift)| {
                    shift.map(|shift| block * size + (index + shift) % size)
                });
                rows.push(ones.collect());
            }
        }
        ParityMatrix::from_rows(self.sent.len() * self.expansion, &rows)
    }

    /// The columns of the bit matrix that are not sent, ascending.
    pub fn punctured(&self) -> Vec<u32> {
        let size = self.expansion as u32;
        (0_u32..)
            .zip(&self.sent)
            .filter(|(_, &sent)| !sent)
            .flat_map(|(block, _)| block * size..(block + 1) * size)
            .collect()
    }
}

fn numbers(line: usize, content: &str) -> Result<Vec<i64>, MatrixError> {
    content
        .split_ascii_whitespace()
        .map(|word| {
            word.parse::<i32>().map(i64::from).map_err(|_| {
                let shown: String = word.chars().take(20).collect();
                MatrixError::line(line, format!("`{shown}`; accepted: whole numbers from -1"))
            })
        })
        .collect()
}

fn sizes(
    line: usize,
    columns: i64,
    rows: i64,
    expansion: i64,
) -> Result<(usize, usize, usize), MatrixError> {
    let positive = |number: i64| usize::try_from(number).unwrap_or(0);
    let (columns, rows, expansion) = (positive(columns), positive(rows), positive(expansion));
    check_size(columns.saturating_mul(expansion), rows.saturating_mul(expansion))
        .map_err(|error| MatrixError::line(line, format!("with blocks expanded, {error}")))?;
    Ok((columns, rows, expansion))
}

fn shift_row(
    line: usize,
    numbers: &[i64],
    columns: usize,
    expansion: usize,
) -> Result<Vec<Option<u32>>, MatrixError> {
    if numbers.len() != columns {
        let message = format!("{} blocks; accepted: {columns}", numbers.len());
        return Err(MatrixError::line(line, message));
    }
    if let Some(shift) = numbers.iter().find(|&&shift| shift < -1) {
        let message = format!("shift {shift}; accepted: 0 or more, -1 for a block of zeros");
        return Err(MatrixError::line(line, message));
    }
    // A table for the largest block serves smaller ones.
    let within = |&shift: &i64| u32::try_from(shift).ok().map(|shift| shift % expansion as u32);
    Ok(numbers.iter().map(within).collect())
}

fn sent_row(line: usize, numbers: &[i64], columns: usize) -> Result<Vec<bool>, MatrixError> {
    if numbers.len() != columns || numbers.iter().any(|number| !(0..=1).contains(number)) {
        let message = format!(
            "puncturing line of {} numbers; accepted: {columns}, each 1 (sent) or 0 (punctured)",
            numbers.len()
        );
        return Err(MatrixError::line(line, message));
    }
    if numbers.iter().all(|&number| number == 0) {
        return Err(MatrixError::line(line, "nothing is sent; accepted: at least one 1"));
    }
    Ok(numbers.iter().map(|&number| number == 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "4 2 3\n0 1 -1 0\n2 -1 0 1\n1 1 1 0\n";

    fn refused(text: &str) -> String {
        let read = BaseMatrix::parse(text).and_then(|base| base.expand());
        read.expect_err("refused").to_string()
    }

    #[test]
    fn blocks_become_shifted_identities() {
        let base = BaseMatrix::parse(SMALL).expect("a base matrix");
        let matrix = base.expand().expect("its matrix");
        assert_eq!(matrix.row(0), [0, 4, 9]);
        assert_eq!(matrix.row(2), [2, 3, 11]);
        assert_eq!(matrix.row(5), [1, 8, 9]);
        assert_eq!(base.punctured(), [9, 10, 11]);
        let all_sent = BaseMatrix::parse("4 2 3\n0 1 -1 0\n2 -1 0 1\n").expect("no last line");
        assert_eq!(all_sent.punctured(), [0_u32; 0]);
    }

    #[test]
    fn shifts_beyond_a_block_are_taken_modulo_its_size() {
        let base = BaseMatrix::parse(SMALL).expect("a base matrix");
        let large = SMALL.replace("0 1 -1 0", "3 301 -1 0");
        let same = BaseMatrix::parse(&large).expect("the same");
        assert_eq!((base.reduced, same.reduced), (0, 2));
        assert_eq!(same.expand().expect("its matrix"), base.expand().expect("its matrix"));
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(refused(""), "line 1: the text ends; expected columns, rows and expansion");
        assert_eq!(refused("4 2"), "line 1: 2 numbers; accepted: 3, columns, rows and expansion");
        assert_eq!(
            refused("2000000 2 2000000000"),
            format!(
                "line 1: with blocks expanded, {} columns; accepted: 1 to 524288",
                4_000_000_000_000_000_u64
            )
        );
        assert_eq!(
            refused("4 -2 3"),
            "line 1: with blocks expanded, 0 rows; accepted: 1 to 524288"
        );
        assert_eq!(refused("4 2 3\n0 1"), "line 2: 2 blocks; accepted: 4");
        assert_eq!(
            refused(&SMALL.replace("0 1 -1 0", "0 -2 -1 0")),
            "line 2: shift -2; accepted: 0 or more, -1 for a block of zeros"
        );
        assert_eq!(
            refused("4 2 3\n0 1 -1 0\n"),
            "line 3: the text ends; expected 2 block rows, 1 so far"
        );
        assert_eq!(
            refused(&SMALL.replace("1 1 1 0", "1 1 2 0")),
            "line 4: puncturing line of 4 numbers; accepted: 4, each 1 (sent) or 0 (punctured)"
        );
        assert_eq!(
            refused(&SMALL.replace("1 1 1 0", "0 0 0 0")),
            "line 4: nothing is sent; accepted: at least one 1"
        );
        assert_eq!(refused(&format!("{SMALL}1\n")), "line 5: text after the puncturing line");
        assert_eq!(
            refused("2 1 3\n-1 -1\n"),
            "row 1 is empty; accepted: at least one 1 in each row"
        );
    }
}
