//! Dates as curl reads them (`curl_getdate(3)`), and as HTTP writes them.

use brunt_measure::Calendar;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["thu", "fri", "sat", "sun", "mon", "tue", "wed"];

/// Time zones, with the minutes to add for UTC.
const ZONES: [(&str, i64); 26] = [
    ("gmt", 0),
    ("ut", 0),
    ("utc", 0),
    ("z", 0),
    ("wet", 0),
    ("bst", -60),
    ("ast", 240),
    ("adt", 180),
    ("est", 300),
    ("edt", 240),
    ("cst", 360),
    ("cdt", 300),
    ("mst", 420),
    ("mdt", 360),
    ("pst", 480),
    ("pdt", 420),
    ("hst", 600),
    ("cet", -60),
    ("met", -60),
    ("mez", -60),
    ("cest", -120),
    ("mest", -120),
    ("mesz", -120),
    ("eet", -120),
    ("jst", -540),
    ("nzst", -720),
];

/// The parts of a date found so far.
#[derive(Default)]
struct DateParts {
    weekday: bool,
    day: Option<i64>,
    month: Option<i64>,
    year: Option<i64>,
    time: Option<i64>,
    /// Seconds to add for UTC.
    zone: Option<i64>,
    /// Set if the next number is a year.
    year_next: bool,
}

/// Returns the seconds since 1970 of a date; `None` if curl does not read it either.
pub fn seconds(text: &str) -> Option<u64> {
    let (mut parts, mut rest) = (DateParts::default(), text);
    loop {
        let start = rest.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let before = rest[..start].chars().next_back();
        rest = &rest[start..];
        let Some(first) = rest.chars().next() else { break };
        let length = if first.is_ascii_alphabetic() {
            let word = &rest[..rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len())];
            parts.word(&word.to_ascii_lowercase())?;
            word.len()
        } else if let Some((time, length)) = time(rest).filter(|_| parts.time.is_none()) {
            parts.time = Some(time);
            length
        } else {
            let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
            parts.number(digits, before)?;
            digits.len()
        };
        rest = &rest[length..];
    }
    let (day, month, year) = (parts.day?, parts.month?, parts.year?);
    let valid = (1583..10_000).contains(&year) && (1..=31).contains(&day) && month <= 11;
    let whole = days(year, month, day) * 86_400 + parts.time.unwrap_or(0) + parts.zone.unwrap_or(0);
    u64::try_from(whole).ok().filter(|_| valid)
}

impl DateParts {
    fn word(&mut self, word: &str) -> Option<()> {
        let is_name = |name: &&'static str| word == *name || word.len() > 3 && word.starts_with(*name);
        if !self.weekday && DAYS.iter().any(is_name) {
            self.weekday = true;
        } else if let Some(month) = MONTHS.iter().position(is_name).filter(|_| self.month.is_none()) {
            self.month = Some(month as i64);
        } else {
            let (_, minutes) = ZONES.iter().find(|(name, _)| *name == word).filter(|_| self.zone.is_none())?;
            self.zone = Some(minutes * 60);
        }
        Some(())
    }

    fn number(&mut self, digits: &str, before: Option<char>) -> Option<()> {
        let value: i64 = digits.parse().ok()?;
        if let (None, 4, 0..=1400, Some(sign @ ('+' | '-'))) = (self.zone, digits.len(), value, before) {
            let seconds = (value / 100 * 60 + value % 100) * 60;
            self.zone = Some(if sign == '+' { -seconds } else { seconds });
            return Some(());
        }
        if digits.len() == 8 && self.year.is_none() && self.month.is_none() && self.day.is_none() {
            (self.year, self.month, self.day) =
                (Some(value / 10_000), Some(value % 10_000 / 100 - 1), Some(value % 100));
            return self.month.filter(|month| *month >= 0).map(|_| ());
        }
        if !self.year_next && self.day.is_none() {
            self.year_next = true;
            if (1..32).contains(&value) {
                self.day = Some(value);
                return Some(());
            }
        }
        if !self.year_next || self.year.is_some() {
            return None;
        }
        self.year = Some(match value {
            0..=70 => value + 2000,
            71..=99 => value + 1900,
            _ => value,
        });
        self.year_next = self.day.is_some();
        Some(())
    }
}

/// Reads `08:49` or `08:49:37`; returns the seconds and the length.
fn time(text: &str) -> Option<(i64, usize)> {
    let number = |from: usize, below: i64| {
        let digits = text.get(from..from + 2).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
        digits.parse::<i64>().ok().filter(|value| *value < below)
    };
    let colon = |at: usize| text.as_bytes().get(at) == Some(&b':');
    let (hours, minutes) = (number(0, 24)?, colon(2).then(|| number(3, 60)).flatten()?);
    match colon(5).then(|| number(6, 61)).flatten() {
        Some(seconds) => Some(((hours * 60 + minutes) * 60 + seconds, 8)),
        None => Some(((hours * 60 + minutes) * 60, 5)),
    }
}

/// Returns the days from 1970 to a date; `month` counts from 0.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last one (Howard Hinnant, "chrono-Compatible Low-Level Date
    // Algorithms").
    let year = if month < 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 10) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Returns a date in the format of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn of_http(seconds: u64) -> String {
    let Calendar { year, month, day, hour, minute, second } = Calendar::of(seconds);
    let capital = |name: &str| name[..1].to_ascii_uppercase() + &name[1..];
    let weekday = capital(DAYS[(seconds / 86_400 % 7) as usize]);
    let month = capital(MONTHS[month as usize - 1]);
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of curl_getdate(3), and dates that it does not read.
    #[test]
    fn dates_are_read_as_curl_reads_them() {
        let table = [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some("Sun, 06 Nov 1994 08:49:37 GMT")),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some("Sun, 06 Nov 1994 08:49:37 GMT")),
            ("Sun Nov  6 08:49:37 1994", Some("Sun, 06 Nov 1994 08:49:37 GMT")),
            ("06 Nov 1994 08:49:37", Some("Sun, 06 Nov 1994 08:49:37 GMT")),
            ("1994 Nov 6", Some("Sun, 06 Nov 1994 00:00:00 GMT")),
            ("GMT 08:49:37 06-Nov-94 Sunday", Some("Sun, 06 Nov 1994 08:49:37 GMT")),
            ("Nov 6 94", Some("Sun, 06 Nov 1994 00:00:00 GMT")),
            ("20040912 15:05:58 -0700", Some("Sun, 12 Sep 2004 22:05:58 GMT")),
            ("Thu, 29 Feb 2024 12:00 CET", Some("Thu, 29 Feb 2024 11:00:00 GMT")),
            ("01 Jan 2027 00:30:00 +0100", Some("Thu, 31 Dec 2026 23:30:00 GMT")),
            ("2026-11-27", None),
            ("yesterday", None),
            ("08:49", None),
            ("", None),
        ];
        for (text, wanted) in table {
            assert_eq!(seconds(text).map(of_http).as_deref(), wanted, "{text}");
        }
    }
}
