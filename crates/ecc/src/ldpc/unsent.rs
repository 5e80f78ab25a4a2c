//! Bits of a matrix that are not sent.
//!
//! ```text
//!   punctured   not known to the decoder, which begins with an LLR of 0: the rate rises
//!   shortened   known to be 0: as if the matrix did not have the column; the rate falls
//! ```
//! Columns are counted from 1, as alist files do: `1-64`, `3`, `1-64+70`.

use super::error::MatrixError;
use super::matrix::ParityMatrix;

/// Columns that are not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsent {
    punctured: Vec<(u32, u32)>,
    shortened: Vec<(u32, u32)>,
}

impl Unsent {
    /// Reads lists of columns; an empty text is an empty list.
    ///
    /// # Errors
    /// [`MatrixError::Matrix`] for anything else.
    pub fn parse(punctured: &str, shortened: &str) -> Result<Self, MatrixError> {
        Ok(Self { punctured: ranges(punctured)?, shortened: ranges(shortened)? })
    }

    /// Takes the shortened columns out of a matrix; returns it with its punctured columns, `known`
    /// among them.
    ///
    /// # Errors
    /// [`MatrixError::Matrix`] for columns that the matrix does not have, or that are named twice.
    pub(crate) fn apply(
        &self,
        matrix: ParityMatrix,
        known: &[u32],
    ) -> Result<(ParityMatrix, Vec<u32>), MatrixError> {
        const PUNCTURED: u8 = 1;
        const SHORTENED: u8 = 2;
        let count = matrix.column_count();
        let mut marks = vec![0_u8; count];
        for &column in known {
            marks[column as usize] = PUNCTURED;
        }
        for (list, mark) in [(&self.punctured, PUNCTURED), (&self.shortened, SHORTENED)] {
            for &(first, last) in list {
                if last as usize > count {
                    let message = format!("column {last} is not sent; accepted: 1 to {count}");
                    return Err(MatrixError::matrix(message));
                }
                for column in first..=last {
                    let before = std::mem::replace(&mut marks[column as usize - 1], mark);
                    if before != 0 {
                        let message =
                            format!("column {column} is left out twice; accepted: once each");
                        return Err(MatrixError::matrix(message));
                    }
                }
            }
        }
        let mut place = Vec::with_capacity(count);
        let mut punctured = Vec::new();
        let mut kept = 0;
        for &mark in &marks {
            place.push(kept);
            if mark == PUNCTURED {
                punctured.push(kept);
            }
            kept += u32::from(mark != SHORTENED);
        }
        if kept as usize == count {
            return Ok((matrix, punctured));
        }
        let without = |row: &[u32]| -> Vec<u32> {
            let left = row.iter().filter(|&&column| marks[column as usize] != SHORTENED);
            left.map(|&column| place[column as usize]).collect()
        };
        let rows: Vec<Vec<u32>> =
            matrix.rows().map(without).filter(|row| !row.is_empty()).collect();
        Ok((ParityMatrix::from_rows(kept as usize, &rows)?, punctured))
    }
}

fn ranges(text: &str) -> Result<Vec<(u32, u32)>, MatrixError> {
    let number = |word: &str| {
        let is_digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        word.parse::<u32>().ok().filter(|&number| is_digits && number > 0)
    };
    let parts = text.split('+').filter(|_| !text.is_empty());
    parts
        .map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = number(first).zip(number(last)).filter(|(first, last)| first <= last);
            range.ok_or_else(|| {
                let shown: String = part.chars().take(20).collect();
                let accepted = "accepted: columns from 1, such as 1-64+70";
                MatrixError::matrix(format!("`{shown}` is not a range of columns; {accepted}"))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ldpc::{Algorithm, Decoder, DecoderConfig, LdpcCode};
    use crate::xoshiro::Xoshiro256PlusPlus;

    /// A graph without cycles, on which sum-product finds the exact probability of every bit.
    const TREE: [&[usize]; 4] = [&[0, 1, 2], &[2, 3, 4], &[4, 5, 6], &[1, 7, 8]];

    fn alist() -> String {
        let columns: Vec<Vec<usize>> = (0..9)
            .map(|column| (1..=4).filter(|row| TREE[row - 1].contains(&column)).collect())
            .collect();
        let line = |numbers: &[usize]| {
            numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ") + "\n"
        };
        let weights: Vec<usize> = columns.iter().map(Vec::len).collect();
        let lists: String = columns.iter().map(|rows| line(rows)).collect();
        format!("9 4\n2 3\n{}3 3 3 3\n{lists}", line(&weights))
    }

    /// Every bit by the sum over all words of the whole matrix whose shortened bits are zeros.
    fn most_likely(llrs: &[f64; 9], shortened: &[usize]) -> Vec<u8> {
        let mut sums = [[0.0_f64; 2]; 9];
        for word in 0_u32..512 {
            let bit = |column: usize| (word >> column & 1) as usize;
            let is_word =
                TREE.iter().all(|row| row.iter().map(|&it| bit(it)).sum::<usize>() % 2 == 0);
            if !is_word || shortened.iter().any(|&column| bit(column) == 1) {
                continue;
            }
            let log: f64 =
                (0..9).map(|column| if bit(column) == 1 { -llrs[column] } else { 0.0 }).sum();
            for (column, sum) in sums.iter_mut().enumerate() {
                sum[bit(column)] += libm::exp(log);
            }
        }
        sums.iter().map(|sum| u8::from(sum[1] > sum[0])).collect()
    }

    #[test]
    fn bits_are_decided_as_the_sum_over_all_words_decides() {
        let unsent = Unsent::parse("3+5", "8").expect("lists");
        let code = LdpcCode::from_alist_without(&alist(), &unsent).expect("a code");
        // Nine bits, one of them 0, two not sent; four checks.
        assert_eq!((code.code_bits(), code.info_bits()), (6, 4));
        let config = DecoderConfig {
            algorithm: Algorithm::from_name("flooding-spa").expect("a decoder"),
            stop: false,
            ..DecoderConfig::default()
        };
        let mut decoder = Decoder::new(&code, &config).expect("its decoder");
        let sent = [0, 1, 3, 5, 6, 8];
        let mut rng = Xoshiro256PlusPlus::from_seed(9);
        for _ in 0..500 {
            let mut llrs = [0.0; 9];
            for column in sent {
                llrs[column] = (rng.next_u64() >> 40) as f64 / f64::from(1 << 22) - 2.0;
            }
            let given: Vec<f32> = sent.iter().map(|&column| llrs[column] as f32).collect();
            let (mut hard, mut ok, mut iterations) = ([0; 6], [false], [0]);
            decoder.decode_f32(&given, 1, &mut hard, &mut ok, &mut iterations);
            let exact = most_likely(&llrs, &[7]);
            let exact: Vec<u8> = sent.iter().map(|&column| exact[column]).collect();
            assert_eq!(hard[..], exact[..], "{llrs:?}");
        }
        let mut word = [0; 6];
        code.encode(&[1, 0, 1, 1], &mut word);
        assert_ne!(word, [0; 6]);
    }

    #[test]
    fn lists_that_do_not_fit_are_refused() {
        for (punctured, shortened, words) in [
            ("1-3x", "", "`1-3x` is not a range"),
            ("0", "", "`0` is not a range"),
            ("+", "", "`` is not a range"),
            ("5-3", "", "`5-3` is not a range"),
            ("1-10", "", "column 10 is not sent; accepted: 1 to 9"),
            ("3", "2-3", "column 3 is left out twice"),
            ("3+3", "", "column 3 is left out twice"),
            ("6-7", "", "punctured columns that are independent"),
            ("", "1-9", "accepted: 1 to 524288"),
        ] {
            let code = Unsent::parse(punctured, shortened)
                .and_then(|unsent| LdpcCode::from_alist_without(&alist(), &unsent));
            let error = code.expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
