//! Numbers and times as tools print them, with the precision that their digits have.

/// A number as printed: it stands for anything within half a unit of its last digit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PrintedNumber {
    /// The number.
    pub value: f64,
    /// Half a unit of the last digit.
    pub half_unit: f64,
}

impl PrintedNumber {
    /// Creates a number that is exact.
    pub fn exact(value: f64) -> PrintedNumber {
        PrintedNumber { value, half_unit: 0.0 }
    }

    /// Returns the number in another unit.
    pub fn times(self, factor: f64) -> PrintedNumber {
        PrintedNumber { value: self.value * factor, half_unit: self.half_unit * factor }
    }

    /// Returns the least that it may stand for.
    pub fn at_least(self) -> f64 {
        self.value - self.half_unit
    }

    /// Returns the most that it may stand for.
    pub fn at_most(self) -> f64 {
        self.value + self.half_unit
    }
}

/// Units of time in seconds, as tools write them; a longer name precedes its prefixes.
const TIMES: [(&str, f64); 17] = [
    ("milliseconds", 1e-3),
    ("seconds", 1.0),
    ("secs", 1.0),
    ("sec", 1.0),
    ("msec", 1e-3),
    ("ms", 1e-3),
    ("min", 60.0),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("ns", 1e-9),
    ("s", 1.0),
    ("m", 60.0),
    ("hr", 3600.0),
    ("h", 3600.0),
    ("d", 86_400.0),
    ("毫秒", 1e-3),
];

/// Reads the number at the start of a text, with grouped thousands, and returns what follows.
pub fn leading_number(text: &str) -> Option<(PrintedNumber, &str)> {
    let text = text.trim_start();
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let mut end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    // Punctuation after a number is no part of it.
    end = text[..end].trim_end_matches(['.', ',']).len();
    let digits = &text[..end];
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if !has_thousands(digits) {
        // A comma that separates two numbers.
        end = digits.find(',')?;
    }
    number_of(&text[..end]).map(|number| (number, &text[end..]))
}

/// Returns `true` unless commas stand anywhere but between groups of three digits.
fn has_thousands(digits: &str) -> bool {
    let whole = digits.split('.').next().unwrap_or_default();
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let short = (1..=3).contains(&first.len());
    groups.all(|group| group.len() == 3 && short)
}

fn number_of(digits: &str) -> Option<PrintedNumber> {
    let plain: String = digits.chars().filter(|c| *c != ',').collect();
    let value: f64 = plain.parse().ok()?;
    let decimals = plain.split_once('.').map_or(0, |(_, rest)| rest.len());
    Some(PrintedNumber { value, half_unit: 0.5 * 10_f64.powi(-(decimals.min(30) as i32)) })
}

/// Reads a whole text as a number, with an optional `k`, `M` or `G`, or `%`, after it.
pub fn number(text: &str) -> Option<PrintedNumber> {
    let (number, rest) = leading_number(text)?;
    let factor = match rest.trim() {
        "" | "%" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    Some(number.times(factor))
}

/// Reads a whole text as a count.
pub fn count(text: &str) -> Option<u64> {
    let number = number(text)?.value;
    (number.fract() == 0.0 && number < 1e15).then_some(number as u64)
}

/// Reads a time with its unit at the start of a text (`635.91us`, `1m6s`, `0.0200 secs`), and returns what follows.
pub fn leading_time(text: &str) -> Option<(PrintedNumber, &str)> {
    let mut rest = text.trim_start();
    let mut time: Option<PrintedNumber> = None;
    while let Some((number, after)) = leading_number(rest).filter(|_| rest.starts_with(|c: char| c.is_ascii_digit())) {
        let unit = after.trim_start();
        let Some((name, seconds)) = TIMES.iter().find(|(name, _)| unit.starts_with(name)) else { break };
        let part = number.times(*seconds);
        let sum = time.map_or(0.0, |time| time.value) + part.value;
        time = Some(PrintedNumber { value: sum, half_unit: part.half_unit });
        rest = &unit[name.len()..];
    }
    let ended = !rest.starts_with(|c: char| c.is_ascii_alphabetic());
    time.filter(|_| ended).map(|time| (time, rest))
}

/// Reads a whole text as a time with its unit, in seconds.
pub fn time(text: &str) -> Option<PrintedNumber> {
    leading_time(text).filter(|(_, rest)| rest.trim().is_empty()).map(|(time, _)| time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_precision() {
        let table = [
            ("1448.86", 1448.86, 0.005),
            ("3,765", 3765.0, 0.5),
            ("2.11k", 2110.0, 5.0),
            ("31.77%", 31.77, 0.005),
            ("7", 7.0, 0.5),
        ];
        for (text, value, half_unit) in table {
            let read = number(text).unwrap_or_else(|| panic!("{text}"));
            assert!((read.value - value).abs() < 1e-9 && (read.half_unit - half_unit).abs() < 1e-9, "{text}: {read:?}");
        }
        for text in ["", "x", "1x", "-1", "1e5", ",5", "."] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!((count("12"), count("1.5")), (Some(12), None));
        assert_eq!(leading_number("12,5 x").map(|(n, rest)| (n.value, rest)), Some((12.0, ",5 x")));
        assert_eq!(leading_number("200 responses").map(|(n, rest)| (n.value, rest)), Some((200.0, " responses")));
    }

    #[test]
    fn times_have_units() {
        let table = [
            ("635.91us", 635.91e-6),
            ("1.05s", 1.05),
            ("1m6s", 66.0),
            ("0.0200 secs", 0.02),
            ("7.83µs", 7.83e-6),
            ("0s", 0.0),
            ("13.055 s", 13.055),
        ];
        for (text, wanted) in table {
            assert!((time(text).unwrap_or_else(|| panic!("{text}")).value - wanted).abs() < 1e-12, "{text}");
        }
        for text in ["5", "", "s", "5 apples", "1.05.s"] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
