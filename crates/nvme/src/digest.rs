//! CRC-32C (Castagnoli), the digest of headers and data; RFC 3720, 12.1.

/// The polynomial, reflected.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// By position in a word of 8 bytes and value, so that a word takes 8 look-ups that do not wait for
/// each other.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut value = 0;
    while value < 256 {
        let (mut rest, mut bit) = (value as u32, 0);
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ POLYNOMIAL } else { rest >> 1 };
            bit += 1;
        }
        tables[0][value] = rest;
        value += 1;
    }
    let mut level = 1;
    while level < 8 {
        let mut value = 0;
        while value < 256 {
            let rest = tables[level - 1][value];
            tables[level][value] = rest >> 8 ^ tables[0][(rest & 255) as usize];
            value += 1;
        }
        level += 1;
    }
    tables
}

/// The digest of bytes.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut rest = u32::MAX;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let low = rest.to_le_bytes();
        rest = (0..8).fold(0, |sum, place| {
            let byte = word[place] ^ if place < 4 { low[place] } else { 0 };
            sum ^ TABLES[7 - place][byte as usize]
        });
    }
    for &byte in words.remainder() {
        rest = rest >> 8 ^ TABLES[0][((rest ^ u32::from(byte)) & 255) as usize];
    }
    !rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720, B.4, as its digests are on the wire.
    #[test]
    fn digests_are_those_of_the_document() {
        let ascending: Vec<u8> = (0..32).collect();
        let descending: Vec<u8> = (0..32).rev().collect();
        let cases: [(&[u8], u32); 5] = [
            (b"123456789", 0xe306_9283),
            (&[0; 32], 0x8a91_36aa),
            (&[255; 32], 0x62a8_ab43),
            (&ascending, 0x46dd_794e),
            (&descending, 0x113f_db5c),
        ];
        for (bytes, digest) in cases {
            assert_eq!(crc32c(bytes), digest, "{bytes:?}");
        }
    }
}
