//! Reads matrices in the alist format of D. J. C. `MacKay`'s code archive.
//!
//! ```text
//!   # a comment, on any line            an extension that archives use
//!   7 3                                 columns (bits), rows (checks)
//!   3 4                                 largest weight of a column, of a row
//!   1 1 1 2 2 2 3                       weight of each column
//!   4 4 4                               weight of each row
//!   1 0 0                               for each column a line: its rows, from 1; 0 is padding
//!   …
//!   1 4 5 7                             for each row a line: its columns, from 1; may be left out
//! ```
//!
//! Weights may spread over several lines; the lists are a line each, padded with zeros or not. Both
//! halves of the file must describe the same matrix.

use super::error::MatrixError;
use super::matrix::{check_size, ParityMatrix, EDGES_MAX};

/// Reads a matrix in alist format.
///
/// # Errors
/// [`MatrixError`] with the line and the accepted input.
pub fn parse(text: &str) -> Result<ParityMatrix, MatrixError> {
    let mut lines = Lines::new(text);
    let Sizes { columns, rows, column_weight_max, row_weight_max } = lines.sizes()?;
    let column_weights = lines.weights("column", columns, column_weight_max)?;
    let row_weights = lines.weights("row", rows, row_weight_max)?;
    let ones_by_columns: usize = column_weights.iter().sum();
    let ones_by_rows: usize = row_weights.iter().sum();
    if ones_by_columns != ones_by_rows || ones_by_columns > EDGES_MAX {
        let message = format!(
            "{ones_by_columns} ones by columns, {ones_by_rows} by rows; accepted: equal numbers up \
             to {EDGES_MAX}"
        );
        return Err(MatrixError::line(lines.number, message));
    }
    let mut matrix_rows: Vec<Vec<u32>> =
        row_weights.iter().map(|&weight| Vec::with_capacity(weight)).collect();
    for (column, &weight) in column_weights.iter().enumerate() {
        let list = lines.list("column", column, weight, column_weight_max, rows)?;
        for row in list {
            matrix_rows[row as usize].push(column as u32);
        }
    }
    lines.check_rows(&matrix_rows, &row_weights, row_weight_max, columns)?;
    ParityMatrix::from_rows(columns, &matrix_rows)
}

/// The numbers of the first two lines.
struct Sizes {
    columns: usize,
    rows: usize,
    column_weight_max: usize,
    row_weight_max: usize,
}

/// The lines that hold numbers, with their place in the text.
struct Lines<'a> {
    text: std::iter::Enumerate<std::str::Lines<'a>>,
    /// Of the line that was read last.
    number: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self { text: text.lines().enumerate(), number: 0 }
    }

    /// The next line without its comment; empty ones are skipped unless they are a list.
    fn next(&mut self, may_be_empty: bool) -> Option<&'a str> {
        for (index, line) in self.text.by_ref() {
            self.number = index + 1;
            let content = line.split('#').next().unwrap_or("").trim();
            let is_comment = content.is_empty() && line.contains('#');
            if !content.is_empty() || (may_be_empty && !is_comment) {
                return Some(content);
            }
        }
        None
    }

    fn end(&self, wanted: &str) -> MatrixError {
        MatrixError::line(self.number + 1, format!("the text ends; expected {wanted}"))
    }

    fn numbers(&self, line: &str) -> Result<Vec<usize>, MatrixError> {
        line.split_ascii_whitespace()
            .map(|word| {
                // `parse` alone would take a sign.
                let is_digits = word.bytes().all(|byte| byte.is_ascii_digit());
                word.parse::<u32>().ok().filter(|_| is_digits).map(|it| it as usize).ok_or_else(
                    || {
                        let message = format!("{}; accepted: whole numbers from 0", quote(word));
                        MatrixError::line(self.number, message)
                    },
                )
            })
            .collect()
    }

    /// The sizes of the matrix, checked.
    fn sizes(&mut self) -> Result<Sizes, MatrixError> {
        let (line, [columns, rows]) = self.pair("columns and rows")?;
        check_size(columns, rows).map_err(|error| MatrixError::line(line, error.to_string()))?;
        let (line, [column_weight_max, row_weight_max]) = self.pair("the two largest weights")?;
        if column_weight_max > rows || row_weight_max > columns {
            let message = format!(
                "largest weights {column_weight_max} and {row_weight_max}; accepted: at most \
                 {rows} in a column and {columns} in a row"
            );
            return Err(MatrixError::line(line, message));
        }
        Ok(Sizes { columns, rows, column_weight_max, row_weight_max })
    }

    fn pair(&mut self, wanted: &str) -> Result<(usize, [usize; 2]), MatrixError> {
        let line = self.next(false).ok_or_else(|| self.end(wanted))?;
        let numbers = self.numbers(line)?;
        let pair = numbers.as_slice().try_into().map_err(|_| {
            let message = format!("{} numbers; accepted: 2, {wanted}", numbers.len());
            MatrixError::line(self.number, message)
        })?;
        Ok((self.number, pair))
    }

    fn weights(&mut self, of: &str, count: usize, max: usize) -> Result<Vec<usize>, MatrixError> {
        let mut weights = Vec::new();
        while weights.len() < count {
            let wanted = format!("{count} {of} weights, {} so far", weights.len());
            let line = self.next(false).ok_or_else(|| self.end(&wanted))?;
            weights.extend(self.numbers(line)?);
            if let Some(&weight) = weights.iter().find(|&&weight| weight > max) {
                let message = format!("{of} weight {weight}; accepted: at most {max}");
                return Err(MatrixError::line(self.number, message));
            }
        }
        if weights.len() > count {
            let message = format!("{} {of} weights; accepted: {count}", weights.len());
            return Err(MatrixError::line(self.number, message));
        }
        Ok(weights)
    }

    /// One list, from 0 and without padding: `weight` distinct numbers below `limit`.
    fn list(
        &mut self,
        of: &str,
        index: usize,
        weight: usize,
        weight_max: usize,
        limit: usize,
    ) -> Result<Vec<u32>, MatrixError> {
        let wanted = format!("the list of {of} {}", index + 1);
        let line = self.next(weight == 0).ok_or_else(|| self.end(&wanted))?;
        let numbers = self.numbers(line)?;
        let found = numbers.iter().filter(|&&number| number > 0).count();
        if found != weight || numbers.len() > weight_max.max(weight) {
            let message = format!(
                "{of} {} lists {found} ones and {} zeros; accepted: {weight} ones, zeros up to \
                 {weight_max} in all",
                index + 1,
                numbers.len() - found
            );
            return Err(MatrixError::line(self.number, message));
        }
        if let Some(&number) = numbers.iter().find(|&&number| number > limit) {
            let message = format!("entry {number}; accepted: 1 to {limit}, 0 as padding");
            return Err(MatrixError::line(self.number, message));
        }
        let mut list: Vec<u32> =
            numbers.iter().filter(|&&number| number > 0).map(|&number| number as u32 - 1).collect();
        list.sort_unstable();
        if let Some(pair) = list.windows(2).find(|pair| pair[0] == pair[1]) {
            let message = format!("entry {} twice; accepted: each at most once", pair[0] + 1);
            return Err(MatrixError::line(self.number, message));
        }
        Ok(list)
    }

    /// The second half must describe the same matrix as the first.
    fn check_rows(
        &mut self,
        rows: &[Vec<u32>],
        weights: &[usize],
        weight_max: usize,
        columns: usize,
    ) -> Result<(), MatrixError> {
        let mut rest = self.text.clone().map(|(_, line)| line.split('#').next().unwrap_or(""));
        let is_left_out = rest.all(|line| line.trim().is_empty());
        for (index, (row, &weight)) in rows.iter().zip(weights).enumerate() {
            if row.len() != weight {
                let message = format!(
                    "row {} has weight {weight}, but {} columns list it",
                    index + 1,
                    row.len()
                );
                return Err(MatrixError::line(self.number, message));
            }
            // Rows are checked only by weight when the file leaves their lists out.
            if is_left_out {
                continue;
            }
            let list = self.list("row", index, weight, weight_max, columns)?;
            if let Some((&by_row, &by_column)) = list.iter().zip(row).find(|(a, b)| a != b) {
                // Both are ascending: the lesser of the two is missing in the other.
                let (row, column) = (index + 1, by_row.min(by_column) + 1);
                let message = if by_row < by_column {
                    format!("row {row} lists column {column}, which does not list the row")
                } else {
                    format!("row {row} does not list column {column}, which lists the row")
                };
                return Err(MatrixError::line(self.number, message));
            }
        }
        match self.next(false) {
            None => Ok(()),
            Some(line) => {
                let message =
                    format!("{} after the last list; accepted: the end of the text", quote(line));
                Err(MatrixError::line(self.number, message))
            }
        }
    }
}

/// The first 20 characters in backquotes.
fn quote(text: &str) -> String {
    let shown: String = text.chars().take(20).collect();
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The (7,4) Hamming code, columns padded.
    const HAMMING: &str = "7 3\n3 4\n1 1 1 2 2 2 3\n4 4 4\n1 0 0\n2 0 0\n3 0 0\n1 2 0\n1 3 0\n\
                           2 3 0\n1 2 3\n1 4 5 7\n2 4 6 7\n3 5 6 7\n";

    fn refused(text: &str) -> String {
        parse(text).expect_err("refused").to_string()
    }

    #[test]
    fn padding_comments_and_missing_rows_are_variants_of_one_matrix() {
        let matrix = parse(HAMMING).expect("the padded form");
        assert_eq!(matrix.row(0), [0, 3, 4, 6]);
        let bare = HAMMING.replace(" 0 0\n", "\n").replace(" 0\n", "\n");
        assert_eq!(parse(&bare).expect("without padding"), matrix);
        let commented = format!("# Hamming\n\n{}", HAMMING.replace("4 4 4\n", "4\n4 # two\n4\n"));
        assert_eq!(parse(&commented).expect("with comments"), matrix);
        let (columns, _) = HAMMING.split_once("1 4 5 7").expect("rows");
        assert_eq!(parse(columns).expect("without rows"), matrix);
        assert_eq!(parse(&HAMMING.replace('\n', "\r\n")).expect("from DOS"), matrix);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, error) in [
            ("", "line 1: the text ends; expected columns and rows"),
            ("7 x", "line 1: `x`; accepted: whole numbers from 0"),
            ("7", "line 1: 1 numbers; accepted: 2, columns and rows"),
            ("4000000000 3\n3 4", "line 1: 4000000000 columns; accepted: 1 to 524288"),
            ("7 +3", "line 1: `+3`; accepted: whole numbers from 0"),
            (
                &format!("{HAMMING}1\n"),
                "line 15: `1` after the last list; accepted: the end of the text",
            ),
        ] {
            assert_eq!(refused(text), error);
        }
        for (from, to, error) in [
            (
                "3 4\n1 1",
                "3 9\n1 1",
                "line 2: largest weights 3 and 9; accepted: at most 3 in a column and 7 in a row",
            ),
            (
                "1 1 1 2",
                "1 1 1 1",
                "line 4: 11 ones by columns, 12 by rows; accepted: equal numbers up to 8388608",
            ),
            ("1 2 0\n", "1 4 0\n", "line 8: entry 4; accepted: 1 to 3, 0 as padding"),
            ("1 2 0\n", "1 1 0\n", "line 8: entry 1 twice; accepted: each at most once"),
            (
                "1 2 0\n",
                "1 0 0\n",
                "line 8: column 4 lists 1 ones and 2 zeros; accepted: 2 ones, zeros up to 3 in all",
            ),
            ("1 4 5 7", "1 3 5 7", "line 12: row 1 lists column 3, which does not list the row"),
            ("1 4 5 7", "1 5 6 7", "line 12: row 1 does not list column 4, which lists the row"),
        ] {
            assert_eq!(refused(&HAMMING.replace(from, to)), error);
        }
    }

    #[test]
    fn every_cut_of_a_file_is_refused_or_complete() {
        let whole = parse(HAMMING).expect("the whole");
        for end in 0..HAMMING.len() {
            if let Ok(matrix) = parse(&HAMMING[..end]) {
                assert_eq!(matrix, whole, "cut after {end} bytes");
            }
        }
    }
}
