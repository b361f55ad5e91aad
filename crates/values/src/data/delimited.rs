//! Rows of delimited text: RFC 4180, and what spreadsheets write beside it.
//!
//! A value in quotes may contain delimiters, line breaks and doubled quotes; quotes elsewhere in a value are literal.
//! Lines end with LF, CR LF or CR alone. The delimiter is found out from the first rows.

use memchr::{memchr, memchr3};

/// Delimiters that are found out, in the order of preference.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Number of rows from which the delimiter is found out.
const SAMPLED_ROWS: usize = 50;

/// The values of one row.
#[derive(Debug, Default)]
pub struct DataRow {
    bytes: Vec<u8>,
    /// End offset of each value.
    ends: Vec<usize>,
}

impl DataRow {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a value.
    pub fn get(&self, number: usize) -> Option<&[u8]> {
        let end = *self.ends.get(number)?;
        let from = if number == 0 { 0 } else { self.ends[number - 1] };
        Some(&self.bytes[from..end])
    }

    /// Returns all values.
    pub fn values(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|number| self.get(number))
    }

    /// Returns `true` for an empty line.
    pub fn is_blank(&self) -> bool {
        self.len() <= 1 && self.bytes.is_empty()
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Appends a value.
    pub fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.end_value();
    }

    fn end_value(&mut self) {
        self.ends.push(self.bytes.len());
    }
}

/// A quote that does not enclose a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuoteFault {
    /// It is never closed.
    Unclosed {
        /// Offset of the quote in the row.
        at: usize,
    },
    /// It is closed on a later line, in the middle of a value.
    ClosedWithin {
        /// Offset of the quote in the row.
        at: usize,
        /// Offset after the closing quote.
        end: usize,
    },
}

/// Reads the row at the beginning of a text. Returns its length including the line end; `None` if the text ends before
/// the row does, unless this is the `last` of it.
///
/// # Errors
/// A quote does not enclose a value.
pub fn read_row(text: &[u8], delimiter: u8, last: bool, row: &mut DataRow) -> Result<Option<usize>, QuoteFault> {
    row.clear();
    let mut at = 0;
    loop {
        if text.get(at) == Some(&b'"') {
            match read_quoted(text, at, delimiter, last, row)? {
                Some(end) => at = end,
                None => return Ok(None),
            }
        }
        let Some(stop) = memchr3(delimiter, b'\n', b'\r', &text[at..]) else {
            row.push(&text[at..]);
            return Ok(last.then_some(text.len()));
        };
        row.push(&text[at..at + stop]);
        at += stop + 1;
        match (text[at - 1], text.get(at)) {
            (b'\r', Some(b'\n')) => return Ok(Some(at + 1)),
            (b'\r', None) if !last => return Ok(None),
            (b'\r' | b'\n', _) => return Ok(Some(at)),
            _ => {}
        }
    }
}

/// Appends the content of the quotes that open at `at`; returns the offset after them. Text after the closing quote
/// belongs to the value, as it does in spreadsheets, but not if the quotes span lines: then they pair up by mistake.
fn read_quoted(
    text: &[u8],
    at: usize,
    delimiter: u8,
    last: bool,
    row: &mut DataRow,
) -> Result<Option<usize>, QuoteFault> {
    let mut from = at + 1;
    loop {
        let Some(close) = memchr(b'"', &text[from..]).map(|found| from + found) else {
            return if last { Err(QuoteFault::Unclosed { at }) } else { Ok(None) };
        };
        row.bytes.extend_from_slice(&text[from..close]);
        from = close + 1;
        match text.get(from) {
            Some(b'"') => {
                row.bytes.push(b'"');
                from += 1;
            }
            None if !last => return Ok(None),
            None => return Ok(Some(from)),
            Some(byte) => {
                let ends = *byte == delimiter || matches!(byte, b'\r' | b'\n');
                let spans_lines = || text[at..from].iter().any(|b| matches!(b, b'\r' | b'\n'));
                if !ends && spans_lines() {
                    return Err(QuoteFault::ClosedWithin { at, end: from });
                }
                return Ok(Some(from));
            }
        }
    }
}

/// Returns the delimiter that a first line `sep=;` states, and the length of the line.
pub fn stated_delimiter(text: &[u8]) -> Option<(u8, usize)> {
    let [delimiter, rest @ ..] = text.strip_prefix(b"sep=")? else { return None };
    let end =
        if rest.starts_with(b"\r\n") { 2 } else { usize::from(rest.starts_with(b"\n") || rest.starts_with(b"\r")) };
    (end > 0 && !matches!(delimiter, b'\r' | b'\n' | b'"')).then_some((*delimiter, 5 + end))
}

/// Finds out the delimiter from the beginning of a text; `last` if this is the whole text. It is the one that divides
/// most rows into as many values as the first row; among equals the one that is not the punctuation of a prose, and
/// then the one with more values. Without any, each row is one value.
pub fn find_delimiter(text: &[u8], last: bool) -> u8 {
    let scored = DELIMITERS.into_iter().rev().filter_map(|delimiter| Some((score(text, delimiter, last)?, delimiter)));
    scored.max_by_key(|(score, _)| *score).map_or(b',', |(_, delimiter)| delimiter)
}

/// Returns how well a delimiter fits: rows with as many values as the first, values that begin with a space (fewer are
/// better), and the number of values. `None` if the first row has only one value.
fn score(text: &[u8], delimiter: u8, last: bool) -> Option<(usize, std::cmp::Reverse<usize>, usize)> {
    let (mut row, mut at, mut columns, mut alike, mut spaced) = (DataRow::default(), 0, 0, 0, 0);
    for _ in 0..SAMPLED_ROWS {
        let Ok(Some(length)) = read_row(&text[at..], delimiter, last, &mut row) else { break };
        at += length;
        if row.is_blank() {
            if at == text.len() {
                break;
            }
            continue;
        }
        columns = if columns == 0 { row.len() } else { columns };
        alike += usize::from(row.len() == columns);
        spaced += row.values().skip(1).filter(|value| value.starts_with(b" ")).count();
    }
    (columns > 1).then_some((alike, std::cmp::Reverse(spaced), columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, delimiter: u8) -> Result<Vec<Vec<String>>, QuoteFault> {
        let (mut row, mut all, mut at) = (DataRow::default(), Vec::new(), 0);
        while at < text.len() {
            at += read_row(&text.as_bytes()[at..], delimiter, true, &mut row)?.expect("the last piece");
            all.push(row.values().map(|value| String::from_utf8_lossy(value).into_owned()).collect());
        }
        Ok(all)
    }

    #[test]
    fn rows_are_divided_as_spreadsheets_divide_them() {
        let table: [(&str, &[&[&str]]); 9] = [
            ("a,b\n1,2\n", &[&["a", "b"], &["1", "2"]]),
            ("a,b\r\n1,2", &[&["a", "b"], &["1", "2"]]),
            ("a,b\r1,2\r", &[&["a", "b"], &["1", "2"]]),
            ("\"a,\"\"x\"\"\",\"b\r\nc\"\n", &[&["a,\"x\"", "b\r\nc"]]),
            ("5'10\",a\"b\n", &[&["5'10\"", "a\"b"]]),
            ("\"Ada\" Lovelace,x\n", &[&["Ada Lovelace", "x"]]),
            ("a, \"b\"\n", &[&["a", " \"b\""]]),
            ("a,\n,\n", &[&["a", ""], &["", ""]]),
            ("a,\"\"", &[&["a", ""]]),
        ];
        for (text, wanted) in table {
            assert_eq!(rows(text, b',').expect(text), wanted, "{text}");
        }
        assert_eq!(rows("1,\"a\nb,c\n", b','), Err(QuoteFault::Unclosed { at: 2 }));
        assert_eq!(rows("1,\"a\n2,\"b\",c\n", b','), Err(QuoteFault::ClosedWithin { at: 2, end: 8 }));
    }

    #[test]
    fn a_row_that_is_cut_waits_for_its_rest() {
        let text = b"a,\"b\"\"\n\"\r\n";
        for cut in 0..text.len() {
            assert_eq!(read_row(&text[..cut], b',', false, &mut DataRow::default()), Ok(None), "{cut}");
        }
        assert_eq!(read_row(text, b',', false, &mut DataRow::default()), Ok(Some(text.len())));
    }

    #[test]
    fn the_delimiter_is_found_out() {
        let table = [
            ("id,name\n1,a\n", b','),
            ("id;name\n1;a\n", b';'),
            ("id\tname\n1\ta\n", b'\t'),
            ("id|name\n1|a\n", b'|'),
            ("name;price\nx;1,5\ny;2,5\n", b';'),
            ("name,tags\nx,a;b;c\n", b','),
            ("\"a;b\",c\n\"d;e\",f\n", b','),
            ("Name (Last, First);Email\nDoe, John;j@h\nRoe, Jane;k@h\n", b';'),
            ("a;b,c;d\n1;2;3\n4;5;6\n", b';'),
            ("query\nselect a; b\n", b','),
            ("", b','),
        ];
        for (text, wanted) in table {
            assert_eq!(char::from(find_delimiter(text.as_bytes(), true)), char::from(wanted), "{text}");
        }
        assert_eq!(stated_delimiter(b"sep=^\r\na^b"), Some((b'^', 7)));
        assert_eq!(stated_delimiter(b"sep=,x\na"), None);
    }
}
