//! The guard of T10 protection information: CRC-16/T10-DIF, eight bytes at a time.

/// x^16 + x^15 + x^11 + x^9 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1, without x^16.
const POLYNOMIAL: u16 = 0x8BB7;

/// Contributions of a byte to the CRC, by place in a word of eight bytes and by byte.
const TABLES: [[u16; 256]; 8] = tables();

const fn tables() -> [[u16; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ POLYNOMIAL };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut place = 1;
    while place < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[place - 1][byte];
            tables[place][byte] = before << 8 ^ tables[0][(before >> 8) as usize];
            byte += 1;
        }
        place += 1;
    }
    tables
}

/// CRC-16/T10-DIF, which begins with 0 and is not reflected: the guard of a sector.
pub(super) fn guard(data: &[u8]) -> u16 {
    let mut crc = 0_u16;
    let words = data.chunks_exact(8);
    let rest = words.remainder();
    for word in words {
        let [high, low] = crc.to_be_bytes();
        let mut next =
            TABLES[7][usize::from(word[0] ^ high)] ^ TABLES[6][usize::from(word[1] ^ low)];
        for (table, &byte) in TABLES[..6].iter().rev().zip(&word[2..]) {
            next ^= table[usize::from(byte)];
        }
        crc = next;
    }
    for &byte in rest {
        crc = crc << 8 ^ TABLES[0][usize::from(crc.to_be_bytes()[0] ^ byte)];
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of CRC-16/T10-DIF, and the division by hand, a bit at a time.
    #[test]
    fn the_guard_is_that_of_t10() {
        assert_eq!(guard(b"123456789"), 0xD0DB);
        assert_eq!((guard(&[]), guard(&[0; 512])), (0, 0));
        let data: Vec<u8> = (0..521_u32).map(|it| (it * it % 251) as u8).collect();
        for length in [1, 7, 8, 9, 511, 512, 521] {
            let mut crc = 0_u16;
            for &byte in &data[..length] {
                crc ^= u16::from(byte) << 8;
                for _ in 0..8 {
                    crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x8BB7 };
                }
            }
            assert_eq!(guard(&data[..length]), crc, "{length} bytes");
        }
    }
}
