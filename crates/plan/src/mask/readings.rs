//! The characters that a text may stand for at a position: values are sent and shown percent-encoded, in forms, in JSON,
//! in HTML, in SQL and with escapes, and all of these are read here, so that a value is recognized in each.

/// The largest number of backslashes before a character: JSON in JSON in JSON has seven.
const DEEPEST: usize = 8;

/// The number of characters by which a value is recognized that was cut off.
const CUT: usize = 5;

/// The readings of one position, each a character and the position behind it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Readings {
    all: [(char, usize); 5],
    count: usize,
}

impl Readings {
    /// Reads a text at a character boundary; there are no readings at its end.
    pub fn at(text: &str, at: usize) -> Readings {
        let (mut all, rest) = (Readings::default(), &text[at..]);
        let Some(first) = rest.chars().next() else { return all };
        all.add(Some((first, first.len_utf8())), at);
        match first {
            '%' => all.add(percent(rest), at),
            '+' => all.add(Some((' ', 1)), at),
            '&' => all.add(entity(rest), at),
            '\'' | '"' if rest[1..].starts_with(first) => all.add(Some((first, 2)), at),
            '\\' => {
                let slashes = rest.bytes().take(DEEPEST).take_while(|b| *b == b'\\').count();
                all.add((slashes >= 2).then_some(('\\', 2)), at);
                all.add((slashes >= 4).then_some(('\\', 4)), at);
                all.add(escape(&rest[slashes..]).map(|(c, size)| (c, slashes + size)), at);
            }
            _ => {}
        }
        all
    }

    fn add(&mut self, reading: Option<(char, usize)>, at: usize) {
        if let Some((c, size)) = reading {
            self.all[self.count] = (c, at + size);
            self.count += 1;
        }
    }

    /// Iterates over the readings.
    pub fn iter(&self) -> impl Iterator<Item = &(char, usize)> {
        self.all[..self.count].iter()
    }
}

/// Returns the furthest position at which a reading of the text from `at` on ends that is `value`, without regard to
/// the case of letters if `fold` is set. At the end of a text that was cut off, the beginning of the value is enough.
pub fn end_of(text: &str, at: usize, value: &str, fold: bool) -> Option<usize> {
    let same = |a: char, b: char| a == b || (fold && a.eq_ignore_ascii_case(&b));
    let (mut at, mut wanted) = (at, value.chars().enumerate().peekable());
    // Most characters have one reading.
    while let (Some(c), Some((_, next))) = (text[at..].chars().next(), wanted.peek()) {
        match c {
            '%' | '+' | '&' | '\'' | '"' | '\\' | '…' => break,
            c if same(c, *next) => at += c.len_utf8(),
            _ => return None,
        }
        wanted.next();
    }
    let (mut ends, mut next) = (vec![at], Vec::new());
    for (nth, wanted) in wanted {
        if nth >= CUT && ends.last().is_some_and(|end| &text[*end..] == "…") {
            break;
        }
        for at in ends.drain(..) {
            let readings = Readings::at(text, at);
            next.extend(readings.iter().filter(|(c, _)| same(*c, wanted)).map(|(_, end)| *end));
        }
        next.sort_unstable();
        next.dedup();
        std::mem::swap(&mut ends, &mut next);
        if ends.is_empty() {
            return None;
        }
    }
    ends.last().copied()
}

/// Reads `%C3%A9`.
fn percent(rest: &str) -> Option<(char, usize)> {
    let byte = |nth: usize| hex(rest.get(nth * 3..)?.strip_prefix('%')?.get(..2)?);
    let size = match byte(0)? {
        0..0x80 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    let bytes: Vec<u8> = (0..size).map(|nth| u8::try_from(byte(nth)?).ok()).collect::<Option<_>>()?;
    let c = std::str::from_utf8(&bytes).ok()?.chars().next()?;
    Some((c, size * 3))
}

/// Reads what follows the backslashes of an escape: `n`, `u00e9`, `x0b`, `u{202e}`.
fn escape(rest: &str) -> Option<(char, usize)> {
    let first = rest.chars().next()?;
    Some(match first {
        'n' => ('\n', 1),
        'r' => ('\r', 1),
        't' => ('\t', 1),
        '"' | '\'' | '/' => (first, 1),
        'x' => (char::from_u32(hex(rest.get(1..3)?)?)?, 3),
        'u' if rest[1..].starts_with('{') => {
            let digits = &rest[2..rest.find('}')?];
            (char::from_u32(hex(digits)?)?, digits.len() + 3)
        }
        'u' => {
            let high = hex(rest.get(1..5)?)?;
            let Some(c) = char::from_u32(high) else { return surrogates(high, &rest[5..]) };
            (c, 5)
        }
        _ => return None,
    })
}

/// Reads the second half of a character outside the basic plane, `\ude00`.
fn surrogates(high: u32, rest: &str) -> Option<(char, usize)> {
    let behind = rest.trim_start_matches('\\');
    let low = hex(behind.strip_prefix('u')?.get(..4)?)?;
    let is_pair = (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low);
    let pair = is_pair.then(|| 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))?;
    Some((char::from_u32(pair)?, 10 + rest.len() - behind.len()))
}

/// Reads `&amp;`, `&#39;`, `&#x27;`.
fn entity(rest: &str) -> Option<(char, usize)> {
    let end = rest.bytes().take(12).position(|b| b == b';')?;
    let name = &rest[1..end];
    let c = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let hexadecimal = number.strip_prefix(['x', 'X']).map(hex);
            char::from_u32(hexadecimal.unwrap_or_else(|| number.parse().ok())?)?
        }
    };
    Some((c, end + 1))
}

fn hex(digits: &str) -> Option<u32> {
    let is_hex = !digits.is_empty() && digits.len() <= 6 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_in_every_notation() {
        let value = "p&ss/\"w\\é 'x'😀";
        for text in [
            value,
            "p%26ss%2f%22w%5C%C3%A9%20%27x%27%F0%9F%98%80",
            "p%26ss/%22w%5c%c3%a9+'x'%f0%9f%98%80",
            r#"p&ss\/\"w\\é 'x'😀"#,
            r#"p\u0026ss/\u0022w\u005c\u00e9 'x'\ud83d\ude00"#,
            r#"p&ss/\\\"w\\\\é 'x'\\ud83d\\ude00"#,
            "p&amp;ss/&quot;w\\é &#39;x&#x27;&#128512;",
            "p&ss/\"\"w\\\\é ''x''😀",
            r#"p&SS/\x22w\x5c\u{e9} 'x'😀"#,
        ] {
            assert_eq!(end_of(&format!("{text}!"), 0, value, true), Some(text.len()), "{text}");
        }
        assert_eq!(
            (end_of("abc", 0, "abd", true), end_of("ab", 0, "abc", true), end_of("", 0, "a", true)),
            (None, None, None)
        );
        assert_eq!((end_of("abcde…", 0, "abcdefg", true), end_of("abcd…", 0, "abcdefg", true)), (Some(5), None));
        assert_eq!((end_of("ABC", 0, "abc", false), end_of("xabc", 1, "abc", false)), (None, Some(4)));
    }

    #[test]
    fn whatever_looks_like_an_escape_is_read_without_a_panic() {
        for text in [
            "%",
            "%4",
            "%zz",
            "%C3",
            "%C3%",
            "%ff%ff",
            "\\",
            "\\u",
            "\\u12",
            "\\ud800",
            "\\ud800\\u0041",
            "\\u{",
            "\\u{110000}",
            "\\x",
            "\\xé",
            "&",
            "&;",
            "&#;",
            "&#x;",
            "&#99999999;",
            "%+4",
        ] {
            assert_eq!(Readings::at(text, 0).iter().next().map(|(c, _)| *c), text.chars().next());
            assert_eq!(end_of(text, 0, text, false), Some(text.len()), "{text}");
        }
    }
}
