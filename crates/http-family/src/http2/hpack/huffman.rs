//! The Huffman code of RFC 7541 appendix B.
//!
//! The code is canonical: codes of one length follow each other in the order of their symbols, so the lengths define
//! the whole code, and the tables are computed at compile time. The decoder looks at the next nine bits at once, which
//! covers all common characters; longer codes are found by their length.

/// Number of bits of each symbol's code; the last symbol is the end of the string, which must not appear.
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12,
    10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6,
    5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22,
    22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20,
    22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28,
    27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28,
    27, 27, 27, 27, 27, 26, 30,
];

const LONGEST: usize = 30;
/// Number of bits looked up together.
const AT_ONCE: u32 = 9;

/// The code of each symbol, right-aligned.
const CODES: [u32; 257] = ORDER.0;
/// Symbols in the order of their codes.
const SYMBOLS: [u16; 257] = ORDER.1;
/// The first code, the number of codes, and the position of their symbols in [`SYMBOLS`], for each length.
const BY_LENGTH: [(u32, u32, u16); LONGEST + 1] = ORDER.2;

type HuffmanTables = ([u32; 257], [u16; 257], [(u32, u32, u16); LONGEST + 1]);

const ORDER: HuffmanTables = {
    let (mut codes, mut symbols, mut by_length) = ([0; 257], [0; 257], [(0, 0, 0); LONGEST + 1]);
    let (mut code, mut at, mut length) = (0, 0, 1);
    while length <= LONGEST {
        code <<= 1;
        by_length[length].0 = code;
        by_length[length].2 = at as u16;
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == length {
                codes[symbol] = code;
                symbols[at] = symbol as u16;
                code += 1;
                at += 1;
                by_length[length].1 += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    (codes, symbols, by_length)
};

/// The symbol and the length of its code, for each nine-bit prefix; length 0 if the code is longer.
static SHORT: [(u8, u8); 1 << AT_ONCE] = {
    let mut table = [(0, 0); 1 << AT_ONCE];
    let mut symbol = 0;
    while symbol < 256 {
        let length = LENGTHS[symbol] as u32;
        if length <= AT_ONCE {
            let free = AT_ONCE - length;
            let mut tail = 0;
            while tail < 1 << free {
                table[(CODES[symbol] << free | tail) as usize] = (symbol as u8, length as u8);
                tail += 1;
            }
        }
        symbol += 1;
    }
    table
};

/// Returns the encoded length of `text` in bytes.
pub fn length(text: &[u8]) -> usize {
    text.iter().map(|&b| usize::from(LENGTHS[usize::from(b)])).sum::<usize>().div_ceil(8)
}

/// Appends `text`, encoded.
pub fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut held) = (0u64, 0u32);
    for &byte in text {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        bits = bits << length | u64::from(CODES[usize::from(byte)]);
        held += length;
        while held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    if held > 0 {
        // The last byte is padded with the beginning of the end-of-string code, which is all ones (5.2).
        out.push((bits << (8 - held)) as u8 | (0xff >> held) as u8);
    }
}

/// Appends the decoded text; returns `false` if the code is invalid: it holds the end of the string, or is padded with
/// more than seven bits or with bits other than ones (RFC 7541 5.2).
pub fn decode(code: &[u8], out: &mut Vec<u8>) -> bool {
    // The next bit is the highest of `bits`, of which `held` are valid.
    let (mut bits, mut held, mut rest) = (0u64, 0u32, code);
    loop {
        while held <= 56 {
            let Some((&byte, more)) = rest.split_first() else { break };
            bits |= u64::from(byte) << (56 - held);
            held += 8;
            rest = more;
        }
        if held == 0 {
            return true;
        }
        let (symbol, length) = SHORT[(bits >> (64 - AT_ONCE)) as usize];
        let mut length = u32::from(length);
        if length != 0 && length <= held {
            out.push(symbol);
        } else if length == 0
            && let Some((symbol, long)) = long_code(bits, held)
        {
            out.push(symbol);
            length = long;
        } else {
            return rest.is_empty() && held < 8 && bits >> (64 - held) == (1 << held) - 1;
        }
        bits <<= length;
        held -= length;
    }
}

#[cold]
fn long_code(bits: u64, held: u32) -> Option<(u8, u32)> {
    (AT_ONCE + 1..=(LONGEST as u32).min(held)).find_map(|length| {
        let (first, count, at) = BY_LENGTH[length as usize];
        let offset = ((bits >> (64 - length)) as u32).checked_sub(first).filter(|o| *o < count)?;
        let symbol = SYMBOLS[usize::from(at) + offset as usize];
        Some((u8::try_from(symbol).ok()?, length))
    })
}
