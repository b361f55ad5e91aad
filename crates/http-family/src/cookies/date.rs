//! Cookie dates, parsed as browsers do (RFC 6265 5.1.1): fields in any order, with any separators.

use brunt_measure::Calendar;

/// Parses a date into seconds since 1970; earlier dates become 0. Returns `None` if it is not a date.
pub fn parse(text: &[u8]) -> Option<u64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    let delimits = |b: u8| matches!(b, b'\t' | b' '..=b'/' | b';'..=b'@' | b'['..=b'`' | b'{'..=b'~');
    for token in text.split(|&b| delimits(b)).filter(|token| !token.is_empty()) {
        if time.is_none() && clock(token).is_some() {
            time = clock(token);
        } else if day.is_none() && number(token, 1, 2).is_some() {
            day = number(token, 1, 2);
        } else if month.is_none() && month_of(token).is_some() {
            month = month_of(token);
        } else if year.is_none() {
            year = number(token, 2, 4);
        }
    }
    let ((hour, minute, second), day, month) = (time?, day?, month?);
    let year = match year? {
        year @ 70..=99 => 1900 + year,
        year @ 0..=69 => 2000 + year,
        year => year,
    };
    if !(1..=31).contains(&day) || year < 1601 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds =
        Calendar::days(year.into(), month.into(), day.into()) * 86_400 + i64::from(hour * 3600 + minute * 60 + second);
    Some(u64::try_from(seconds).unwrap_or(0))
}

/// Parses `hh:mm:ss`, optionally followed by a non-digit and anything.
fn clock(token: &[u8]) -> Option<(u32, u32, u32)> {
    let mut parts = token.splitn(3, |&b| b == b':');
    let mut next = || number(parts.next()?, 1, 2);
    Some((next()?, next()?, next()?))
}

/// Parses a number of `least` to `most` digits, optionally followed by a non-digit and anything.
fn number(token: &[u8], least: usize, most: usize) -> Option<u32> {
    let digits = token.iter().take_while(|b| b.is_ascii_digit()).count();
    if !(least..=most).contains(&digits) {
        return None;
    }
    std::str::from_utf8(&token[..digits]).ok()?.parse().ok()
}

fn month_of(token: &[u8]) -> Option<u32> {
    const MONTHS: [&[u8]; 12] =
        [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];
    let name = token.get(..3)?.to_ascii_lowercase();
    MONTHS.iter().position(|month| *month == name).map(|at| at as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_date() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "6 november 94 8:49:37",
            "08:49:37 06-NOV-1994 GMT",
        ] {
            assert_eq!(parse(text.as_bytes()), Some(784_111_777), "{text}");
        }
        assert_eq!(parse(b"Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(parse(b"Fri, 31 Dec 9999 23:59:59 GMT"), Some(253_402_300_799));
        assert_eq!(parse(b"Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000));
        assert_eq!(parse(b"Mon, 01 Jan 1601 00:00:00 GMT"), Some(0), "long ago");
    }

    #[test]
    fn what_is_no_date() {
        for text in ["", "0", "soon", "06 Nov 1994", "08:49:37", "32 Nov 1994 08:49:37", "06 Nov 1994 25:00:00"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
