//! Changes to a value before it is sent, other than encodings: `{page | add 1}`, `{name | upper}`, `{auth | slice
//! 7..}`. Changes work in place and do not allocate. A change that cannot be applied leaves the value unchanged,
//! because filling never fails.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A predicate on bytes.
pub type BytePredicate<'a> = &'a dyn Fn(u8) -> bool;

/// A change to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueChange {
    /// `upper`, of ASCII.
    Upper,
    /// `lower`, of ASCII.
    Lower,
    /// `trim`: removes white space at both ends.
    Trim,
    /// `add 1`, `add -1`: adds to an integer.
    Add(i64),
    /// `slice 7..`, `slice 0..8`, `slice -4..`: takes a range of bytes; negative positions count from the end.
    Slice(i64, Option<i64>),
    /// `base64url`: RFC 4648 5, without padding, as in tokens.
    Base64Url,
    /// `unurl`: decodes percent-encoding and `+`.
    Unurl,
}

/// Names of encodings and changes for error messages, in English and in Chinese.
pub const WORDS: [&str; 2] = [
    "url, json, base64, base64url, hex, unurl, upper, lower, trim, add N or slice A..B",
    "url、json、base64、base64url、hex、unurl、upper、lower、trim、add N 或 slice A..B",
];

impl ValueChange {
    /// Parses a change.
    pub fn parse(words: &str) -> Option<ValueChange> {
        let (name, rest) = words.split_once(' ').map_or((words, ""), |(name, rest)| (name, rest.trim()));
        Some(match (name, rest) {
            ("upper", "") => ValueChange::Upper,
            ("lower", "") => ValueChange::Lower,
            ("trim", "") => ValueChange::Trim,
            ("base64url", "") => ValueChange::Base64Url,
            ("unurl", "") => ValueChange::Unurl,
            ("add", number) => ValueChange::Add(number.parse().ok()?),
            ("slice", span) => {
                let (from, to) = span.split_once("..")?;
                let place = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
                ValueChange::Slice(place(from)?.unwrap_or(0), place(to)?)
            }
            _ => return None,
        })
    }

    /// Changes the bytes of `out` from `from` on.
    pub fn apply(self, from: usize, out: &mut Vec<u8>) {
        match self {
            ValueChange::Upper => out[from..].make_ascii_uppercase(),
            ValueChange::Lower => out[from..].make_ascii_lowercase(),
            ValueChange::Trim => {
                let (all, kept) = (out.len() - from, out[from..].trim_ascii_start().len());
                let end = kept - (kept - out[from + all - kept..].trim_ascii_end().len());
                retain_range(from, all - kept, end, out);
            }
            ValueChange::Add(number) => {
                let value = std::str::from_utf8(&out[from..]).ok().and_then(|text| text.trim().parse::<i64>().ok());
                if let Some(sum) = value.and_then(|value| value.checked_add(number)) {
                    out.truncate(from);
                    if sum < 0 {
                        out.push(b'-');
                    }
                    super::append_decimal(sum.unsigned_abs(), out);
                }
            }
            ValueChange::Slice(first, behind) => {
                let all = (out.len() - from) as i64;
                let place = |at: i64| if at < 0 { at.saturating_add(all).max(0) } else { at.min(all) };
                let (first, behind) = (place(first), behind.map_or(all, place));
                retain_range(from, first as usize, (behind - first).max(0) as usize, out);
            }
            ValueChange::Base64Url => {
                let end = out.len();
                out.resize(end + (end - from).div_ceil(3) * 4, 0);
                let (plain, coded) = out.split_at_mut(end);
                // Encoding fails only if the buffer is too small, and this one is large enough.
                let size = URL_SAFE_NO_PAD.encode_slice(&plain[from..], coded).unwrap_or(0);
                out.copy_within(end..end + size, from);
                out.truncate(from + size);
            }
            ValueChange::Unurl => unurl(from, out),
        }
    }

    /// Returns the maximum length of the result for a value of `content` bytes.
    pub fn max_len(self, content: u64) -> u64 {
        match self {
            ValueChange::Add(_) => content.max("-9223372036854775808".len() as u64),
            ValueChange::Base64Url => content.div_ceil(3).saturating_mul(4),
            _ => content,
        }
    }

    /// Returns `true` if the result may contain a byte for which `bad` is true; `content` returns the same for the
    /// unchanged value.
    pub fn may_hold(self, bad: BytePredicate<'_>, content: &dyn Fn(BytePredicate<'_>) -> bool) -> bool {
        match self {
            ValueChange::Upper => content(&|b| bad(b.to_ascii_uppercase())),
            ValueChange::Lower => content(&|b| bad(b.to_ascii_lowercase())),
            ValueChange::Trim | ValueChange::Slice(..) => content(bad),
            ValueChange::Add(_) => content(bad) || b"0123456789-".iter().any(|b| bad(*b)),
            ValueChange::Base64Url => {
                (b'!'..=b'~').any(|b| (b.is_ascii_alphanumeric() || b"-_".contains(&b)) && bad(b))
            }
            ValueChange::Unurl => true,
        }
    }
}

/// Keeps `kept` bytes after the first `skipped` of those from `from` on.
fn retain_range(from: usize, skipped: usize, kept: usize, out: &mut Vec<u8>) {
    out.copy_within(from + skipped..from + skipped + kept, from);
    out.truncate(from + kept);
}

fn unurl(from: usize, out: &mut Vec<u8>) {
    let (mut read, mut write) = (from, from);
    let digit = |out: &[u8], at: usize| out.get(at).and_then(|b| char::from(*b).to_digit(16));
    while read < out.len() {
        let (byte, took) = match (out[read], digit(out, read + 1), digit(out, read + 2)) {
            (b'%', Some(high), Some(low)) => ((high << 4 | low) as u8, 3),
            (b'+', ..) => (b' ', 1),
            (byte, ..) => (byte, 1),
        };
        out[write] = byte;
        (read, write) = (read + took, write + 1);
    }
    out.truncate(write);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::ValueChange;

    fn made(words: &str, text: &[u8]) -> Vec<u8> {
        let mut out = [b"before", text].concat();
        ValueChange::parse(words).unwrap_or_else(|| panic!("{words}")).apply(6, &mut out);
        assert_eq!(&out[..6], b"before", "{words}");
        out.split_off(6)
    }

    #[test]
    fn values_are_changed_in_place() {
        for (words, text, wanted) in [
            ("upper", "aß1", "Aß1"),
            ("lower", "AbÄ", "abÄ"),
            ("trim", " \r\n a b \t", "a b"),
            ("trim", "  ", ""),
            ("add 1", "9", "10"),
            ("add -10", " 7 ", "-3"),
            ("add 1", "x", "x"),
            ("add 1", "9223372036854775807", "9223372036854775807"),
            ("add 0", "-9223372036854775808", "-9223372036854775808"),
            ("slice 7..", "Bearer abc", "abc"),
            ("slice 0..3", "abcdef", "abc"),
            ("slice ..3", "ab", "ab"),
            ("slice -4..", "4111111111111234", "1234"),
            ("slice 1..-1", "(a)", "a"),
            ("slice 3..1", "abcdef", ""),
            ("base64url", "?>~\u{ff}a", "Pz5-w79h"),
            ("unurl", "a%20b+c%2Fd%zz%4", "a b c/d%zz%4"),
        ] {
            assert_eq!(String::from_utf8_lossy(&made(words, text.as_bytes())), wanted, "{words} of {text:?}");
        }
        for wrong in ["", "Upper", "upper 1", "add", "add x", "add 1.5", "slice", "slice 3", "slice a..b"] {
            assert_eq!(ValueChange::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_more_comes_of_a_value_than_was_said(
            words in "upper|lower|trim|add -?[0-9]{1,19}|slice (-?[0-9]{1,3})?[.][.](-?[0-9]{1,3})?|base64url|unurl",
            text in prop_oneof![proptest::collection::vec(any::<u8>(), 0..40), "-?[0-9]{1,20}".prop_map(String::into_bytes)],
        ) {
            prop_assume!(ValueChange::parse(&words).is_some());
            let change = ValueChange::parse(&words).expect("it is one");
            let out = made(&words, &text);
            prop_assert!(out.len() as u64 <= change.max_len(text.len() as u64));
            for byte in &out {
                let is_it = |b: u8| b == *byte;
                let content = |bad: &dyn Fn(u8) -> bool| text.iter().any(|b| bad(*b));
                prop_assert!(change.may_hold(&is_it, &content), "{} of {:?}: {:?}", words, text, out);
            }
        }
    }
}
