//! Words of a page: data of the steps in front, their parity at the end of the OOB.
//!
//! ```text
//!   page  │ step 0 │ step 1 │ … ║ OOB  │ marker, free │ parity 0 │ parity 1 │ … │
//! ```
//! BCH over the usual polynomial of the smallest field that holds a step, parity inverted so that
//! erased words decode: the soft BCH of the Linux kernel, `linux-bch` of `ecc dump`. The bits that
//! fill up a parity's last byte are ones.

use opennandlab_ecc::bch::BchCode;
use opennandlab_ecc::{bits, channel::Rng};
use opennandlab_sim::config::ConfigError;

use crate::options::{Ecc, Options};

/// Fields of the codec.
const M: std::ops::RangeInclusive<u32> = 5..=16;

/// Where the bits of a step are in a page with its OOB. Without a code the page is one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    pub count: usize,
    pub data_bytes: usize,
    pub parity_bytes: usize,
    parity_bits: usize,
    /// First byte of parity.
    pub first: usize,
}

impl Steps {
    /// Bits of a step that are decoded.
    pub fn bits(&self) -> usize {
        8 * self.data_bytes + self.parity_bits
    }

    /// Inverts `n` different bits of a step.
    pub fn flip(&self, page: &mut [u8], step: usize, n: usize, rng: &mut Rng) {
        let mut taken = Vec::with_capacity(n);
        while taken.len() < n {
            let bit = rng.below(self.bits() as u64) as usize;
            if let Err(place) = taken.binary_search(&bit) {
                taken.insert(place, bit);
                let data_bits = 8 * self.data_bytes;
                let at = match bit.checked_sub(data_bits) {
                    None => step * data_bits + bit,
                    Some(bit) => 8 * (self.first + step * self.parity_bytes) + bit,
                };
                bits::flip(page, at);
            }
        }
    }
}

/// What a decoder found in a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Steps that do not decode.
    pub failed: u32,
    /// Most corrected bits of a step.
    pub corrected_max: u32,
    /// Corrected bits of all steps.
    pub corrected_sum: u32,
}

/// Encoder and decoder of pages.
pub(crate) struct PageCode {
    pub steps: Steps,
    /// The code and the mask of its parity.
    code: Option<(BchCode, Vec<u8>)>,
}

impl PageCode {
    /// The code of a chip.
    ///
    /// # Errors
    /// [`ConfigError`] for a page that is not whole steps, a step that no field holds, and an OOB
    /// without room for the parity.
    pub fn new(options: &Options) -> Result<Self, ConfigError> {
        let page_bytes = options.page_bytes as usize;
        let Some(Ecc { step_bytes, strength }) = options.ecc else {
            let steps = Steps {
                count: 1,
                data_bytes: page_bytes,
                parity_bytes: 0,
                parity_bits: 0,
                first: options.raw_bytes(),
            };
            return Ok(Self { steps, code: None });
        };
        let refused = |key, message| Err(ConfigError::new(key, message));
        if step_bytes == 0 || !options.page_bytes.is_multiple_of(step_bytes) {
            let rest = options.page_bytes.checked_rem(step_bytes).unwrap_or(options.page_bytes);
            let message = format!(
                "{step_bytes} leaves a remainder of {rest} bytes of a page; accepted: a divisor \
                 of {}",
                options.page_bytes
            );
            return refused("ecc.step_bytes", message);
        }
        let code = word_code(step_bytes as usize, strength)?;
        let count = (options.page_bytes / step_bytes) as usize;
        let needed = count * code.parity_bytes() + 1;
        if needed > options.oob_bytes as usize {
            let message = format!(
                "{} bytes are too few: {count} steps need {} of parity and 1 for the marker, \
                 {needed} in all",
                options.oob_bytes,
                needed - 1,
            );
            return refused("oob_bytes", message);
        }
        let steps = Steps {
            count,
            data_bytes: step_bytes as usize,
            parity_bytes: code.parity_bytes(),
            parity_bits: code.parity_bits(),
            first: options.raw_bytes() - count * code.parity_bytes(),
        };
        let mut mask = vec![0; code.parity_bytes()];
        code.encode(&vec![0xff; steps.data_bytes], &mut mask);
        xor(&mut mask, &vec![0xff; code.parity_bytes()]);
        Ok(Self { steps, code: Some((code, mask)) })
    }

    /// Bit errors that a step may have; none without a code.
    pub fn strength(&self) -> Option<u32> {
        self.code.as_ref().map(|(code, _)| code.t())
    }

    /// Writes the parity of all steps.
    pub fn encode(&self, page: &mut [u8]) {
        let Some((code, mask)) = &self.code else { return };
        let (front, parities) = page.split_at_mut(self.steps.first);
        let words = front.chunks_exact(self.steps.data_bytes);
        for (data, parity) in words.zip(parities.chunks_exact_mut(self.steps.parity_bytes)) {
            code.encode(data, parity);
            xor(parity, mask);
        }
    }

    /// Corrects all steps; those that do not decode stay as they were read.
    pub fn decode(&self, page: &mut [u8]) -> Found {
        let mut found = Found::default();
        let Some((code, mask)) = &self.code else { return found };
        if page.iter().all(|&byte| byte == 0xff) {
            return found;
        }
        let mut decoder = code.decoder();
        let (front, parities) = page.split_at_mut(self.steps.first);
        let words = front.chunks_exact_mut(self.steps.data_bytes);
        for (data, parity) in words.zip(parities.chunks_exact_mut(self.steps.parity_bytes)) {
            let zeros = data.iter().chain(&*parity).map(|byte| byte.count_zeros()).sum::<u32>();
            xor(parity, mask);
            let decoded = decoder.decode(data, parity);
            xor(parity, mask);
            let corrected = match decoded {
                Ok(count) => count as u32,
                Err(_) if zeros <= code.t() => {
                    data.fill(0xff);
                    parity.fill(0xff);
                    zeros
                }
                Err(_) => {
                    found.failed += 1;
                    continue;
                }
            };
            found.corrected_max = found.corrected_max.max(corrected);
            found.corrected_sum += corrected;
        }
        found
    }
}

/// The code of a word, over the smallest field that holds it.
fn word_code(step_bytes: usize, strength: u32) -> Result<BchCode, ConfigError> {
    let data_bits = 8 * step_bytes;
    let holds = |m: &u32| (data_bits + (m * strength) as usize) < (1 << m);
    // Of larger numbers the product would not fit.
    let mut fields = M.filter(|_| (1..1 << 16).contains(&strength));
    let made = fields.find(holds).map(|m| BchCode::new(m, strength, Some(data_bits)));
    if let Some(Ok(code)) = made {
        return Ok(code);
    }
    let most = ((1_usize << M.end()) - 1).saturating_sub(data_bits) / *M.end() as usize;
    let message = if most == 0 {
        format!("no field up to m {} holds words of {step_bytes} bytes", M.end())
    } else {
        format!("{strength} is out of range; accepted: 1 to {most}")
    };
    Err(ConfigError::new("ecc.strength", message))
}

fn xor(bytes: &mut [u8], mask: &[u8]) {
    for (byte, mask) in bytes.iter_mut().zip(mask) {
        *byte ^= mask;
    }
}
