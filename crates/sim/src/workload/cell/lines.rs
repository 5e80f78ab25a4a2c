//! Commands as the lines of an iolog of fio (version 2), which fio carries out in their order.
//!
//! ```text
//! NAME write 40960 4096
//! NAME trim 1073741824 1073741824      a long trim in pieces
//! ```
//! fio 3.33 leaves the trims out, so the caller that passes it these lines has to do them. Written
//! without formatting machinery: a stream has millions of lines a second.

use crate::op::{HostCommand, HostOp};
use crate::units::SECTOR_BYTES;

/// Bytes of a trim at most: less than 32 bits, as the NBD protocol has it.
pub const TRIM_BYTES_MAX: u64 = 1 << 30;

/// Appends commands on the file called `name`.
pub fn write_lines(commands: &[HostCommand], name: &str, lines: &mut Vec<u8>) {
    for command in commands {
        let (start, end) = (command.sector * SECTOR_BYTES, command.bytes());
        match command.op.plain() {
            HostOp::Read => line(name, " read ", start, end, lines),
            HostOp::Write => line(name, " write ", start, end, lines),
            HostOp::Trim | HostOp::TrimMapped => {
                let limit = start + end;
                let mut from = start;
                while from < limit {
                    let bytes = TRIM_BYTES_MAX.min(limit - from);
                    line(name, " trim ", from, bytes, lines);
                    from += bytes;
                }
            }
            HostOp::Flush | HostOp::Zone(_) => line(name, " sync ", 0, 0, lines),
        }
    }
}

#[inline]
fn line(name: &str, verb: &str, offset: u64, bytes: u64, lines: &mut Vec<u8>) {
    lines.extend_from_slice(name.as_bytes());
    lines.extend_from_slice(verb.as_bytes());
    number(offset, lines);
    lines.push(b' ');
    number(bytes, lines);
    lines.push(b'\n');
}

/// Appends a number in decimal digits.
#[inline]
fn number(mut value: u64, lines: &mut Vec<u8>) {
    // 2^64 has 20 digits.
    let mut digits = [0_u8; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    lines.extend_from_slice(&digits[first..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(command: HostCommand) -> String {
        let mut lines = Vec::new();
        write_lines(&[command], "drive", &mut lines);
        String::from_utf8(lines).expect("digits and names")
    }

    #[test]
    fn commands_are_lines_and_long_trims_several() {
        assert_eq!(text(HostCommand::new(HostOp::Write, 80, 8)), "drive write 40960 4096\n");
        assert_eq!(text(HostCommand::new(HostOp::Read, 0, 1)), "drive read 0 512\n");
        let sectors = (TRIM_BYTES_MAX / SECTOR_BYTES) as u32 + 8;
        let trims = text(HostCommand::new(HostOp::Trim, 8, sectors));
        assert_eq!(trims, "drive trim 4096 1073741824\ndrive trim 1073745920 4096\n");
    }

    #[test]
    fn numbers_have_all_their_digits() {
        for value in [0, 9, 10, 12_345_678_901, u64::MAX] {
            let mut lines = Vec::new();
            number(value, &mut lines);
            assert_eq!(String::from_utf8(lines).expect("digits"), value.to_string());
        }
    }
}
