//! Checksums by their names.
//!
//! CRC parameters as in the catalogue of parametrised CRC algorithms (reveng.sourceforge.io/crc-catalogue): width,
//! polynomial, initial value, whether bits are reflected, what is added at the end.

use super::format::Format;

/// A sum over bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// A cyclic redundancy check.
    Crc(&'static Crc),
    /// RFC 1071: the ones' complement of the ones' complement sum of 16-bit words.
    Internet,
    /// The bytes added up, modulo 2⁶⁴ (the format takes its low bytes).
    Bytes,
    /// The bytes added up modulo 256: the CheckSum of FIX, which is written in three digits.
    Fix,
    /// The bytes exclusive-or each other.
    Xor,
    /// Adler-32 (RFC 1950 8.2).
    Adler32,
}

/// A CRC of up to 32 bits with its table.
#[derive(Debug, PartialEq, Eq)]
pub struct Crc {
    width: u8,
    start: u32,
    reflected: bool,
    end: u32,
    table: [u32; 256],
}

impl Crc {
    const fn new(width: u8, polynomial: u32, start: u32, reflected: bool, end: u32) -> Crc {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let mut bits = if reflected { index as u32 } else { (index as u32) << 24 };
            let mut step = 0;
            while step < 8 {
                bits = if reflected {
                    bits >> 1 ^ if bits & 1 != 0 { polynomial.reverse_bits() >> (32 - width) } else { 0 }
                } else {
                    bits << 1 ^ if bits >> 31 != 0 { polynomial << (32 - width) } else { 0 }
                };
                step += 1;
            }
            table[index] = bits;
            index += 1;
        }
        Crc { width, start, reflected, end, table }
    }

    fn of(&self, bytes: &[u8]) -> u32 {
        let entry = |index: u32| self.table[(index & 0xff) as usize];
        if self.reflected {
            // The initial values used here are the same read from either end.
            bytes.iter().fold(self.start, |crc, &b| crc >> 8 ^ entry(crc ^ u32::from(b))) ^ self.end
        } else {
            let start = self.start << (32 - self.width);
            let sum = bytes.iter().fold(start, |crc, &b| crc << 8 ^ entry(crc >> 24 ^ u32::from(b)));
            sum >> (32 - self.width) ^ self.end
        }
    }
}

static CRC32: Crc = Crc::new(32, 0x04c1_1db7, u32::MAX, true, u32::MAX);
static CRC32C: Crc = Crc::new(32, 0x1edc_6f41, u32::MAX, true, u32::MAX);
static CRC16_MODBUS: Crc = Crc::new(16, 0x8005, 0xffff, true, 0);
static CRC16_ARC: Crc = Crc::new(16, 0x8005, 0, true, 0);
static CRC16_XMODEM: Crc = Crc::new(16, 0x1021, 0, false, 0);
static CRC16_CCITT: Crc = Crc::new(16, 0x1021, 0xffff, false, 0);
static CRC8: Crc = Crc::new(8, 0x07, 0, false, 0);

/// So many bytes, the highest first.
const fn bytes(count: u8) -> Format {
    Format::Bytes { count, little: false }
}

impl Sum {
    /// The names there are, with how each is written where no format is said.
    pub const NAMES: [(&'static str, Sum, Format); 12] = [
        ("crc32", Sum::Crc(&CRC32), bytes(4)),
        ("crc32c", Sum::Crc(&CRC32C), bytes(4)),
        ("crc16-modbus", Sum::Crc(&CRC16_MODBUS), bytes(2)),
        ("crc16-arc", Sum::Crc(&CRC16_ARC), bytes(2)),
        ("crc16-xmodem", Sum::Crc(&CRC16_XMODEM), bytes(2)),
        ("crc16-ccitt", Sum::Crc(&CRC16_CCITT), bytes(2)),
        ("crc8", Sum::Crc(&CRC8), bytes(1)),
        ("internet-sum", Sum::Internet, bytes(2)),
        ("adler32", Sum::Adler32, bytes(4)),
        ("sum", Sum::Bytes, bytes(1)),
        ("fix-sum", Sum::Fix, Format::Digits { base: 10, width: 3 }),
        ("xor-sum", Sum::Xor, bytes(1)),
    ];

    /// The sum of these bytes.
    pub fn of(self, bytes: &[u8]) -> u64 {
        match self {
            Sum::Crc(crc) => crc.of(bytes).into(),
            Sum::Internet => internet(bytes).into(),
            Sum::Bytes => bytes.iter().map(|&b| u64::from(b)).sum(),
            Sum::Fix => bytes.iter().fold(0u8, |sum, b| sum.wrapping_add(*b)).into(),
            Sum::Xor => bytes.iter().fold(0, |sum, b| sum ^ b).into(),
            Sum::Adler32 => {
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
