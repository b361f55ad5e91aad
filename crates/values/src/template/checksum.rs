//! Checksums, selected by name.

use crc::Crc;

use super::format::NumberFormat;

/// A checksum.
#[derive(Clone, Copy, Debug)]
pub enum Checksum {
    /// A cyclic redundancy check.
    Crc(fn(&[u8]) -> u32),
    /// RFC 1071: the ones' complement of the ones' complement sum of 16-bit words.
    Internet,
    /// The sum of the bytes modulo 2⁶⁴, of which the format takes the low bytes.
    Bytes,
    /// The sum of the bytes modulo 256: the CheckSum of FIX, written with three digits.
    Fix,
    /// The exclusive-or of the bytes.
    Xor,
    /// Adler-32 (RFC 1950 8.2).
    Adler32,
}

static CRC32: Crc<u32> = Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
static CRC32C: Crc<u32> = Crc::<u32>::new(&crc::CRC_32_ISCSI);
static CRC16_MODBUS: Crc<u16> = Crc::<u16>::new(&crc::CRC_16_MODBUS);
static CRC16_ARC: Crc<u16> = Crc::<u16>::new(&crc::CRC_16_ARC);
static CRC16_XMODEM: Crc<u16> = Crc::<u16>::new(&crc::CRC_16_XMODEM);
static CRC16_CCITT: Crc<u16> = Crc::<u16>::new(&crc::CRC_16_IBM_3740);
static CRC8: Crc<u8> = Crc::<u8>::new(&crc::CRC_8_SMBUS);

/// Returns the format of a big-endian integer of `count` bytes.
const fn bytes(count: u8) -> NumberFormat {
    NumberFormat::Bytes { count, little: false }
}

impl Checksum {
    /// Names of the checksums, with the default format of each.
    pub const NAMES: [(&'static str, Checksum, NumberFormat); 12] = [
        ("crc32", Checksum::Crc(|bytes| CRC32.checksum(bytes)), bytes(4)),
        ("crc32c", Checksum::Crc(|bytes| CRC32C.checksum(bytes)), bytes(4)),
        ("crc16-modbus", Checksum::Crc(|bytes| CRC16_MODBUS.checksum(bytes).into()), bytes(2)),
        ("crc16-arc", Checksum::Crc(|bytes| CRC16_ARC.checksum(bytes).into()), bytes(2)),
        ("crc16-xmodem", Checksum::Crc(|bytes| CRC16_XMODEM.checksum(bytes).into()), bytes(2)),
        ("crc16-ccitt", Checksum::Crc(|bytes| CRC16_CCITT.checksum(bytes).into()), bytes(2)),
        ("crc8", Checksum::Crc(|bytes| CRC8.checksum(bytes).into()), bytes(1)),
        ("internet-sum", Checksum::Internet, bytes(2)),
        ("adler32", Checksum::Adler32, bytes(4)),
        ("sum", Checksum::Bytes, bytes(1)),
        ("fix-sum", Checksum::Fix, NumberFormat::Digits { base: 10, width: 3 }),
        ("xor-sum", Checksum::Xor, bytes(1)),
    ];

    /// Returns the checksum of these bytes.
    pub fn of(self, bytes: &[u8]) -> u64 {
        match self {
            Checksum::Crc(checksum) => checksum(bytes).into(),
            Checksum::Internet => internet(bytes).into(),
            Checksum::Bytes => bytes.iter().map(|&b| u64::from(b)).sum(),
            Checksum::Fix => bytes.iter().fold(0u8, |sum, b| sum.wrapping_add(*b)).into(),
            Checksum::Xor => bytes.iter().fold(0, |sum, b| sum ^ b).into(),
            Checksum::Adler32 => {
                let step = |(a, b), &byte: &u8| {
                    let a = (a + u64::from(byte)) % 65_521;
                    (a, (b + a) % 65_521)
                };
                let (a, b) = bytes.iter().fold((1, 0), step);
                b << 16 | a
            }
        }
    }
}

fn internet(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u64 = bytes.chunks(2).map(word).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
