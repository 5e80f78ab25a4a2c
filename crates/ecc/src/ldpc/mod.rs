//! Low-density parity-check codes: matrices in, encoders and decoders out.
//!
//! ```text
//!   alist, qc text ─► ParityMatrix ─► LdpcCode ── encode ─► word ─► channel ─► LLRs
//!   NAND code name ─►                    └─────► Decoder ◄─────────────────────┘  bits, ok flags
//! ```
//!
//! A code is a matrix whose rows are parity checks. The number of information bits is counted by
//! rank, since rows may depend on each other (those of 10GBASE-T: 384 rows, rank 325). Punctured
//! columns take part in checks and are not sent; a decoder starts them with an LLR of 0.
//!
//! LLRs are ln(P(0)/P(1)): positive means that a 0 is more likely. Words and LLRs hold *sent* bits
//! in the order of the columns, one per byte or value.

mod alist;
mod construct;
mod cycles;
mod decode;
mod encode;
mod error;
mod evolution;
mod matrix;
mod qc;
mod simd;
mod unsent;

pub use decode::{quantise, Algorithm, Decoder, DecoderConfig, LLR_UNITS};
pub use error::{DecoderError, MatrixError};
pub use evolution::Evolution;
pub use matrix::ParityMatrix;
pub use qc::BaseMatrix;
pub use simd::Path;
pub use unsent::Unsent;

use encode::{Dense, Encoder, Staircase};

/// A code: its checks, its information positions, its encoder.
#[derive(Clone, Debug)]
pub struct LdpcCode {
    matrix: ParityMatrix,
    /// Column of each sent bit, ascending.
    sent: Vec<u32>,
    /// Sent position of each information bit, ascending.
    info_positions: Vec<u32>,
    rank: usize,
    /// Size of the blocks of a quasi-cyclic matrix; 1 if none is known.
    expansion: usize,
    reduced_shifts: usize,
    encoder: Encoder,
}

impl LdpcCode {
    /// Reads a matrix in alist format.
    ///
    /// # Errors
    /// [`MatrixError`] with the line of the text and the accepted input.
    ///
    /// ```
    /// use opennandlab_ecc::ldpc::LdpcCode;
    /// let hamming = "7 3\n3 4\n1 1 1 2 2 2 3\n4 4 4\n1 0 0\n2 0 0\n3 0 0\n1 2 0\n1 3 0\n2 3 0\n\
    ///                1 2 3\n1 4 5 7\n2 4 6 7\n3 5 6 7\n";
    /// let code = LdpcCode::from_alist(hamming)?;
    /// assert_eq!((code.code_bits(), code.info_bits()), (7, 4));
    /// # Ok::<(), opennandlab_ecc::ldpc::MatrixError>(())
    /// ```
    pub fn from_alist(text: &str) -> Result<Self, MatrixError> {
        Self::from_alist_without(text, &Unsent::default())
    }

    /// As [`LdpcCode::from_alist`], without the bits that are not sent.
    ///
    /// # Errors
    /// [`MatrixError`] as there, and for columns that cannot be left out.
    pub fn from_alist_without(text: &str, unsent: &Unsent) -> Result<Self, MatrixError> {
        let (matrix, punctured) = unsent.apply(alist::parse(text)?, &[])?;
        Self::from_matrix(matrix, &punctured, 1)
    }

    /// Reads a quasi-cyclic matrix: columns, rows and expansion, the shifts (-1 for a block of
    /// zeros), and if the code is punctured a last line with 1 for each block that is sent. Shifts
    /// of at least the expansion are taken modulo it, as those of 5G NR are.
    ///
    /// # Errors
    /// [`MatrixError`] with the line of the text and the accepted input.
    pub fn from_qc(text: &str) -> Result<Self, MatrixError> {
        Self::from_base(BaseMatrix::parse(text)?)
    }

    /// As [`LdpcCode::from_qc`], without further bits that are not sent.
    ///
    /// # Errors
    /// [`MatrixError`] as there, and for columns that cannot be left out.
    pub fn from_qc_without(text: &str, unsent: &Unsent) -> Result<Self, MatrixError> {
        let base = BaseMatrix::parse(text)?;
        if *unsent == Unsent::default() {
            return Self::from_base(base);
        }
        let (matrix, punctured) = unsent.apply(base.expand()?, &base.punctured())?;
        let code = Self::from_matrix(matrix, &punctured, 1)?;
        Ok(Self { reduced_shifts: base.reduced, ..code })
    }

    /// Builds a code from the shifts of its blocks.
    ///
    /// # Errors
    /// [`MatrixError::Matrix`] when the expanded matrix is too large or determines no code.
    pub fn from_base(base: BaseMatrix) -> Result<Self, MatrixError> {
        let matrix = base.expand()?;
        let (expansion, reduced_shifts) = (base.expansion, base.reduced);
        let punctured = base.punctured();
        let Some(stairs) = Staircase::new(base) else {
            let code = Self::from_matrix(matrix, &punctured, expansion)?;
            return Ok(Self { reduced_shifts, ..code });
        };
        let info_bits = stairs.info_bits();
        Ok(Self {
            sent: (0..matrix.column_count() as u32).collect(),
            info_positions: (0..info_bits as u32).collect(),
            rank: matrix.column_count() - info_bits,
            expansion,
            reduced_shifts,
            encoder: Encoder::Staircase(stairs),
            matrix,
        })
    }

    /// One of the package's own codes, by name; see [`LdpcCode::names`].
    ///
    /// # Errors
    /// [`MatrixError::Name`] with the names there are.
    ///
    /// ```
    /// use opennandlab_ecc::ldpc::LdpcCode;
    /// let code = LdpcCode::nand("nand-4k-r090")?;
    /// assert_eq!(code.info_bits(), 4096 * 8);
    /// # Ok::<(), opennandlab_ecc::ldpc::MatrixError>(())
    /// ```
    pub fn nand(name: &str) -> Result<Self, MatrixError> {
        Self::from_base(construct::base_matrix(name)?)
    }

    /// Information bits and sent bits of one of the package's own codes, without building it.
    ///
    /// # Errors
    /// [`MatrixError::Name`] with the names there are.
    ///
    /// ```
    /// use opennandlab_ecc::ldpc::LdpcCode;
    /// assert_eq!(LdpcCode::nand_lengths("nand-4k-r090")?, (32768, 36352));
    /// # Ok::<(), opennandlab_ecc::ldpc::MatrixError>(())
    /// ```
    pub fn nand_lengths(name: &str) -> Result<(usize, usize), MatrixError> {
        construct::lengths(name)
    }

    /// Names of the package's own codes, shortest code first.
    pub fn names() -> Vec<String> {
        construct::names()
    }

    fn from_matrix(
        matrix: ParityMatrix,
        punctured: &[u32],
        expansion: usize,
    ) -> Result<Self, MatrixError> {
        let dense = Dense::new(&matrix, punctured)?;
        let mut position = vec![u32::MAX; matrix.column_count()];
        let mut is_sent = vec![true; matrix.column_count()];
        for &column in punctured {
            is_sent[column as usize] = false;
        }
        let sent: Vec<u32> =
            (0..matrix.column_count() as u32).filter(|&column| is_sent[column as usize]).collect();
        for (index, &column) in (0_u32..).zip(&sent) {
            position[column as usize] = index;
        }
        let info_positions: Vec<u32> =
            dense.info_columns().iter().map(|&column| position[column as usize]).collect();
        if info_positions.is_empty() {
            let message = format!(
                "{} independent checks leave none of {} bits free; accepted: a rank below the \
                 number of columns",
                dense.rank(),
                matrix.column_count()
            );
            return Err(MatrixError::matrix(message));
        }
        if info_positions.contains(&u32::MAX) {
            let message = "the checks do not determine the punctured bits; accepted: punctured \
                           columns that are independent";
            return Err(MatrixError::matrix(message));
        }
        let rank = dense.rank();
        let encoder = Encoder::Dense(dense);
        let reduced_shifts = 0;
        Ok(Self { matrix, sent, info_positions, rank, expansion, reduced_shifts, encoder })
    }

    /// Shifts of the text that were at least the size of a block, and taken modulo it.
    pub fn reduced_shifts(&self) -> usize {
        self.reduced_shifts
    }

    /// Sent bits, n.
    pub fn code_bits(&self) -> usize {
        self.sent.len()
    }

    /// Information bits, k: columns without the rank of the matrix.
    pub fn info_bits(&self) -> usize {
        self.info_positions.len()
    }

    /// k / n.
    pub fn rate(&self) -> f64 {
        self.info_bits() as f64 / self.code_bits() as f64
    }

    /// Independent checks.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The checks, punctured columns included and shortened ones not.
    pub fn matrix(&self) -> &ParityMatrix {
        &self.matrix
    }

    /// Column of each sent bit, ascending.
    pub fn sent_columns(&self) -> &[u32] {
        &self.sent
    }

    /// Positions of the information bits in a sent word, ascending.
    pub fn info_positions(&self) -> &[u32] {
        &self.info_positions
    }

    /// Length of the shortest cycle of the Tanner graph; `None` when there is no cycle of up to 12.
    ///
    /// Takes seconds for a long matrix that is not known to be quasi-cyclic.
    pub fn girth(&self) -> Option<u32> {
        cycles::girth(&self.matrix, self.expansion)
    }

    /// Encodes: one information bit per byte in, one sent bit per byte out.
    ///
    /// # Panics
    /// When the slices are not [`LdpcCode::info_bits`] and [`LdpcCode::code_bits`] long, or hold
    /// bytes other than 0 and 1.
    pub fn encode(&self, info: &[u8], code: &mut [u8]) {
        assert_eq!(info.len(), self.info_bits(), "information bits of a word");
        assert_eq!(code.len(), self.code_bits(), "sent bits of a word");
        assert!(info.iter().all(|&bit| bit < 2), "bits are 0 or 1, one per byte");
        if self.sent.len() == self.matrix.column_count() {
            self.encoder.encode(info, code);
            return;
        }
        let mut word = vec![0; self.matrix.column_count()];
        self.encoder.encode(info, &mut word);
        for (bit, &column) in code.iter_mut().zip(&self.sent) {
            *bit = word[column as usize];
        }
    }
}
