//! Encodings of a slot's value (`{csv users.csv.name | url}`), applied in place from the last byte to the first, so
//! that no extra buffer is needed.

/// Percent-encodes the bytes from `from` on for which `coded` is true; it is also given the two bytes behind, zeros at
/// the end.
pub fn percent_encode(from: usize, out: &mut Vec<u8>, coded: impl Fn(u8, [u8; 2]) -> bool) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut read = out.len();
    let behind = |out: &[u8], at: usize| [1, 2].map(|more| out.get(at + more).copied().unwrap_or(0));
    let count = (from..read).filter(|at| coded(out[*at], behind(out, *at))).count();
    let mut write = read + 2 * count;
    out.resize(write, 0);
    let mut after = [0, 0];
    // Bytes before the first encoded one do not move.
    while write > read {
        read -= 1;
        let byte = out[read];
        if coded(byte, after) {
            write -= 3;
            out[write..write + 3].copy_from_slice(&[
                b'%',
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]);
        } else {
            write -= 1;
            out[write] = byte;
        }
        after = [byte, after[0]];
    }
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

#[cfg(test)]
mod tests {
    use super::super::emit::changes_url;
    use super::super::{UrlPlace, emit};
    use super::*;

    #[test]
    fn a_value_is_encoded_as_far_as_its_place_in_a_url_needs_it() {
        let value = "a+b&c=d;e/f?g#h %41%zz%\u{e9}\"~";
        for (place, wanted) in [
            (UrlPlace::Whole, "a+b&c=d;e/f?g%23h%20%41%zz%%C3%A9%22~"),
            (UrlPlace::Path, "a+b&c=d;e/f%3Fg%23h%20%41%25zz%25%C3%A9%22~"),
            (UrlPlace::Query, "a%2Bb%26c%3Dd%3Be/f?g%23h%20%41%25zz%25%C3%A9%22~"),
        ] {
            let mut out = format!("before{value}").into_bytes();
            emit::url_safe(place, 6, &mut out);
            assert_eq!(String::from_utf8(out).expect("ASCII"), format!("before{wanted}"), "{place:?}");
            assert!(changes_url(place)(b' '));
        }
        let mut out = b"x".to_vec();
        percent_encode(1, &mut out, |_, _| true);
        assert_eq!(out, b"x");
    }
}
