//! Encodings of a slot's value (`{csv users.csv.name | url}`), applied in place from the last byte to the first, so
//! that no extra buffer is needed.

/// Percent-encodes the bytes from `from` on for which `coded` is true.
pub fn percent_encode(from: usize, out: &mut Vec<u8>, coded: fn(u8) -> bool) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    expand(
        from,
        out,
        |b| if coded(b) { 3 } else { 1 },
        |b, room| {
            room.copy_from_slice(&[b'%', DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]);
        },
    );
}

/// Escapes the bytes from `from` on for use inside a JSON string (RFC 8259 7).
pub fn json_escape(from: usize, out: &mut Vec<u8>) {
    let width = |b: u8| match b {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    expand(from, out, width, |b, room| match b {
        b'\n' => room.copy_from_slice(b"\\n"),
        b'\r' => room.copy_from_slice(b"\\r"),
        b'\t' => room.copy_from_slice(b"\\t"),
        0..0x20 => {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            room.copy_from_slice(b"\\u0000");
            room[4] = DIGITS[usize::from(b >> 4)];
            room[5] = DIGITS[usize::from(b & 15)];
        }
        b => room.copy_from_slice(&[b'\\', b]),
    });
}

/// Expands bytes in place: `width` returns the new width of a byte, and `put` writes the bytes that become wider than
/// one.
#[inline]
pub fn expand(from: usize, out: &mut Vec<u8>, width: impl Fn(u8) -> usize, put: impl Fn(u8, &mut [u8])) {
    let mut read = out.len();
    let more: usize = out[from..].iter().map(|b| width(*b) - 1).sum();
    let mut write = read + more;
    out.resize(write, 0);
    // Bytes before the first expanded one do not move.
    while write > read {
        read -= 1;
        let byte = out[read];
        let wide = width(byte);
        write -= wide;
        if wide == 1 {
            out[write] = byte;
        } else {
            put(byte, &mut out[write..write + wide]);
        }
    }
}
