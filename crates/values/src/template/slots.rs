//! Parsing of value slots: `{counter from 100 step 2 width 8}`.

use super::csv::{self, DataFiles};
use super::format::NumberFormat;
use super::literal_braces::is_typo;
use super::rows::RowChoice;
use super::value::{ALPHANUMERIC, SlotValue};
use crate::data::StatedFormat;
use brunt_cause::{Complaint, complaint};

/// Maximum number of random characters or bytes in a slot.
const MOST_RANDOM: usize = 16 << 20;

/// Names of the value slots.
pub const VALUES: [&str; 9] = ["counter", "random", "user", "time", "uuid", "traceparent", "csv", "jsonl", "env"];

/// The additional slots that a text may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotScope<'a> {
    /// Set if messages on a connection are numbered (`{sequence}`).
    pub sequence: bool,
    /// Number of groups of a pattern whose captures may be used (`{captured}`).
    pub captured: Option<usize>,
    /// Names of a flow's variables.
    pub variables: &'a [String],
}

impl<'a> SlotScope<'a> {
    /// Returns `true` if a slot of this name is a value.
    pub fn is_value(self, name: &str) -> bool {
        VALUES.contains(&name) || self.extra_names().any(|own| own == name)
    }

    /// Returns the names of the additional values.
    pub fn extra_names(self) -> impl Iterator<Item = &'a str> {
        let captured = self.captured.map(|_| "captured");
        let variables = self.variables.iter().map(String::as_str);
        self.sequence.then_some("sequence").into_iter().chain(captured).chain(variables)
    }

    /// Returns the index of a variable.
    pub fn variable(self, name: &str) -> Option<u16> {
        self.variables.iter().position(|known| known == name).map(|at| at as u16)
    }
}

/// Returns the group that `{captured}` refers to: by default the first, or the whole match if the pattern has no
/// groups.
///
/// # Errors
/// The pattern has no such group.
pub fn group(words: &str, groups: usize) -> Result<usize, Complaint> {
    let named = if words.is_empty() { Some(groups.min(1)) } else { words.parse().ok() };
    named.filter(|group| *group <= groups).ok_or_else(|| {
        complaint!("{{captured {words}}} is not a group of the pattern, which has {groups}; write {{captured}} for the \
                first, {{captured 0}} for the whole match", "{{captured {words}}} 不是该模式的分组（共 {groups} 个）；第一个分组写 {{captured}}，整个匹配写 {{captured 0}}"
        )
    })
}

/// Parses the value of a slot from its name and the words after it.
///
/// # Errors
/// The words are invalid; the error describes why.
pub fn value(name: &str, words: &str, salt: u64, files: &mut DataFiles) -> Result<SlotValue, Complaint> {
    if matches!(name, "csv" | "jsonl") {
        return row(words, name == "jsonl", files);
    }
    let mut words = SlotWords { name, list: words.split_whitespace().collect() };
    let value = match name {
        "counter" => {
            let from = words.number("from")?.unwrap_or(0);
            let step = words.number("step")?.unwrap_or(1);
            let below = words.number("below")?;
            if below == Some(0) {
                return Err(Complaint::new(
                    "{counter below 0} has no numbers; use, for example, {counter below 1000}",
                    "{counter below 0} 没有可用的数；请写，例如 {counter below 1000}",
                ));
            }
            SlotValue::Counter { from, step, below, format: words.format()? }
        }
        "random" => random(&mut words, salt)?,
        "user" => SlotValue::User { format: words.format()? },
        "sequence" => sequence(&mut words)?,
        "time" => shifted_time(&mut words)?,
        "traceparent" => traceparent(&mut words)?,
        _ => SlotValue::Uuid { salt },
    };
    words.expect_empty()?;
    Ok(value)
}

/// Reads the environment variable of `{env NAME}`.
///
/// # Errors
/// The variable is not set.
pub fn env(name: &str) -> Result<String, Complaint> {
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(Complaint::new(
            "{env} needs the name of an environment variable; use, for example, {env TOKEN}",
            "{env} 需要环境变量的名称；请写，例如 {env TOKEN}",
        ));
    }
    crate::file::environment_variable(name).map_err(|trouble| match trouble {
        std::env::VarError::NotPresent => {
            complaint!(
                "{{env {name}}} is not set; write {name}=… before brunt, or export it",
                "{{env {name}}} 没有设置；请在 brunt 之前写 {name}=…，或先 export"
            )
        }
        std::env::VarError::NotUnicode(_) => complaint!(
            "{{env {name}}} is not text (UTF-8); set it to text",
            "{{env {name}}} 不是文本（UTF-8）；请设为文本"
        ),
    })
}

fn row(words: &str, lines: bool, files: &mut DataFiles) -> Result<SlotValue, Complaint> {
    let (choice, whole) = RowChoice::read(words)?;
    let (named, format) =
        match whole.rsplit_once(' ').and_then(|(named, word)| Some((named, NumberFormat::parse(word)?))) {
            Some((named, format)) => (named.trim(), Some(format)),
            None => (whole, None),
        };
    let stated = StatedFormat { json_lines: lines, no_header: choice.no_header };
    let (column, format) = match files.column(named, stated) {
        Ok(column) => (column, format),
        Err(trouble) => match files.column(whole, stated).ok().filter(|_| format.is_some()) {
            // The word is the end of a column's name.
            Some(column) => (column, None),
            None => {
                return Err(misspelled_keyword(named).map_or(trouble, |(word, right)| {
                    complaint!(
                        "\"{word}\" is not a keyword of {{csv}}; use {right} if you meant that",
                        "“{word}”不是 {{csv}} 的关键字；是否要写 {right}？"
                    )
                }));
            }
        },
    };
    files.record_choice(named, choice, column.count())?;
    if let (Some(value), Some(_)) = (column.no_number(), format) {
        return Err(complaint!(
            "{named} has \"{value}\", which is not a whole number; leave out the format to send it as is",
            "{named} 中有“{value}”，不是整数；若要原样发送请去掉格式"
        ));
    }
    Ok(SlotValue::Row { column, format, choice, salt: csv::salt(named) })
}

fn sequence(words: &mut SlotWords<'_>) -> Result<SlotValue, Complaint> {
    let (from, below) = (words.number("from")?.unwrap_or(1), words.number("below")?);
    if below.is_some_and(|below| below <= from) {
        let trouble = complaint!(
            "{{sequence}} from {from} has no numbers below that; use, for example, {{sequence below 65536}}",
            "{{sequence}} 从 {from} 开始，没有小于该上限的数；请写，例如 {{sequence below 65536}}"
        );
        return Err(trouble);
    }
    Ok(SlotValue::Sequence { from, below, format: words.format()? })
}

/// Returns the word after a column and the keyword from which it is one typo away.
fn misspelled_keyword(named: &str) -> Option<(&str, &'static str)> {
    let words = named.split_whitespace().skip(1);
    words.filter_map(|word| Some((word, RowChoice::WORDS.into_iter().find(|right| is_typo(word, right))?))).next()
}

fn random(words: &mut SlotWords<'_>, salt: u64) -> Result<SlotValue, Complaint> {
    let (wrong, zh) = (
        "write {random 16} for letters and digits, {random 16 hex}, {random 16 digits}, {random 16 bytes}, or \
            {random 1..100} for a number (both ends included)",
        "请写 {random 16}（字母和数字）、{random 16 hex}、{random 16 digits}、{random 16 bytes}，或 {random 1..100}（整数，含两端）",
    );
    let first =
        words.take_first().ok_or_else(|| complaint!("{{random}} is incomplete; {wrong}", "{{random}} 不完整；{zh}"))?;
    if let Some((low, high)) = first.split_once("..") {
        let bounds = low.parse::<u64>().ok().zip(high.parse::<u64>().ok()).filter(|(low, high)| low <= high);
        let (from, to) = bounds.ok_or_else(|| {
            complaint!(
                "{{random {first}}} is not a range of whole numbers from 0; {wrong}",
                "{{random {first}}} 不是从 0 起的整数范围；{zh}"
            )
        })?;
        return Ok(SlotValue::Integer { from, span: (to - from).wrapping_add(1), format: words.format()?, salt });
    }
    let count = first.parse().ok().filter(|count| *count <= MOST_RANDOM);
    let count = count.ok_or_else(|| {
        complaint!(
            "{{random {first}}} is not a count up to {MOST_RANDOM}; {wrong}",
            "{{random {first}}} 不是不超过 {MOST_RANDOM} 的个数；{zh}"
        )
    })?;
    Ok(match words.take_first() {
        None => SlotValue::Characters { count, of: ALPHANUMERIC, salt },
        Some("hex") => SlotValue::Characters { count, of: b"0123456789abcdef", salt },
        Some("digits") => SlotValue::Characters { count, of: b"0123456789", salt },
        Some("bytes") => SlotValue::Bytes { count, salt },
        Some(other) => {
            return Err(complaint!(
                "{{random {first} {other}}} is not supported; {wrong}",
                "不支持 {{random {first} {other}}}；{zh}"
            ));
        }
    })
}

/// Parses `{time iso in 7d}`, `{time in -90s}`: a time relative to now.
fn shifted_time(words: &mut SlotWords<'_>) -> Result<SlotValue, Complaint> {
    let Some(at) = words.list.iter().position(|word| *word == "in") else { return time(words) };
    let text = words.list.get(at + 1).copied().unwrap_or_default();
    let (back, span) = text.strip_prefix('-').map_or((false, text), |span| (true, span));
    let days =
        span.strip_suffix('d').and_then(|days| days.parse::<u64>().ok()).and_then(|days| days.checked_mul(86_400));
    let nanos = days.map_or_else(
        || brunt_plan::quantity::duration(span).map(|span| span.0),
        |days| Ok(days.saturating_mul(1_000_000_000)),
    );
    let by = nanos.ok().and_then(|nanos| i64::try_from(nanos).ok());
    let by = by.ok_or_else(|| {
        complaint!(
            "{{time in {text}}} is not a time from now; use, for example, {{time iso in 90s}}, in -1h or in 7d",
            "{{time in {text}}} 不是相对现在的时间；请写，例如 {{time iso in 90s}}、in -1h 或 in 7d"
        )
    })?;
    words.list.drain(at..(at + 2).min(words.list.len()));
    Ok(SlotValue::Shifted { by: if back { -by } else { by }, of: Box::new(time(words)?) })
}

fn time(words: &mut SlotWords<'_>) -> Result<SlotValue, Complaint> {
    let unit = match words.list.first().copied() {
        Some(name @ ("iso" | "fix" | "date")) => {
            words.take_first();
            return Ok(match name {
                "iso" => SlotValue::Iso,
                "date" => SlotValue::Date,
                _ => SlotValue::FixTime,
            });
        }
        Some("unix" | "s") => 1_000_000_000,
        Some("ms") => 1_000_000,
        Some("us") => 1000,
        Some("ns") => 1,
        Some(word) if NumberFormat::parse(word).is_none() && word != "width" => {
            return Err(complaint!(
                "{{time {word}}} is not supported; write {{time}} for seconds since 1970, {{time ms}}, {{time us}}, \
                    {{time ns}}, {{time iso}}, {{time date}} or {{time fix}}",
                "不支持 {{time {word}}}；请写 {{time}}（1970 年以来的秒数）、{{time ms}}、{{time us}}、{{time ns}}、{{time iso}}、{{time date}} 或 {{time fix}}"
            ));
        }
        _ => return Ok(SlotValue::Time { unit: 1_000_000_000, format: words.format()? }),
    };
    words.take_first();
    Ok(SlotValue::Time { unit, format: words.format()? })
}

/// Parses `{traceparent 1%}`: the share of traces to sample, by default all.
fn traceparent(words: &mut SlotWords<'_>) -> Result<SlotValue, Complaint> {
    let Some(text) = words.take_first() else { return Ok(SlotValue::Trace { sampled: u64::MAX }) };
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.parse::<f64>().map(|number| number / scale).ok().filter(|share| (0.0..=1.0).contains(share));
    let share = share.ok_or_else(|| {
        complaint!(
            "{{traceparent {text}}} is not a share of the traces; use, for example, {{traceparent 1%}}",
            "{{traceparent {text}}} 不是采样比例；请写，例如 {{traceparent 1%}}"
        )
    })?;
    Ok(SlotValue::Trace { sampled: brunt_contract::Trace::sampling_bound(share) })
}

/// The words of a slot, consumed one by one.
struct SlotWords<'a> {
    name: &'a str,
    list: Vec<&'a str>,
}

impl<'a> SlotWords<'a> {
    fn take_first(&mut self) -> Option<&'a str> {
        (!self.list.is_empty()).then(|| self.list.remove(0))
    }

    /// Removes a keyword and the number after it, at any position, and returns the number.
    fn number(&mut self, key: &str) -> Result<Option<u64>, Complaint> {
        let Some(at) = self.list.iter().position(|word| *word == key) else { return Ok(None) };
        let number = self.list.get(at + 1).and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| {
            complaint!(
                "{{{0} {key}}} needs a whole number, as in {{{0} {key} 100}}",
                "{{{0} {key}}} 需要整数，例如 {{{0} {key} 100}}",
                self.name
            )
        })?;
        self.list.drain(at..at + 2);
        Ok(Some(number))
    }

    fn format(&mut self) -> Result<NumberFormat, Complaint> {
        let mut format = NumberFormat::DECIMAL;
        if let Some(at) = self.list.iter().position(|word| NumberFormat::parse(word).is_some()) {
            format = NumberFormat::parse(self.list.remove(at)).unwrap_or(format);
        }
        match self.number("width")? {
            Some(width) => format.with_width(&width.to_string()),
            None => Ok(format),
        }
    }

    fn expect_empty(&self) -> Result<(), Complaint> {
        let Some(word) = self.list.first() else { return Ok(()) };
        let known = match self.name {
            "counter" => {
                complaint!(
                    "from N, step N, below N, width N, hex, varint, zigzag, and u8 to u64 (followed by le for little \
                    endian)",
                    "from N、step N、below N、width N、hex、varint、zigzag，以及 u8 到 u64（小端序在后面加 le）"
                )
            }
            "sequence" => {
                complaint!(
                    "from N, below N, width N, hex, varint, zigzag, and u8 to u64 (followed by le for little endian)",
                    "from N、below N、width N、hex、varint、zigzag，以及 u8 到 u64（小端序在后面加 le）"
                )
            }
            "time" => complaint!(
                "ms, us, ns, iso, date, fix, in 7d, width N, hex, varint, zigzag, and u8 to u64",
                "ms、us、ns、iso、date、fix、in 7d、width N、hex、varint、zigzag，以及 u8 到 u64"
            ),
            "uuid" => Complaint::new("{uuid} alone", "{uuid} 本身"),
            "traceparent" => complaint!("the share of traces to be sampled, such as 1%", "采样比例，例如 1%"),
            _ => complaint!(
                "width N, hex, varint, zigzag, and u8 to u64 (followed by le for little endian)",
                "width N、hex、varint、zigzag，以及 u8 到 u64（小端序在后面加 le）"
            ),
        };
        let zh = known.zh();
        Err(complaint!(
            "\"{word}\" is not supported in {{{}}}; use {known}",
            "{{{}}} 不支持“{word}”；请用 {zh}",
            self.name
        ))
    }
}
