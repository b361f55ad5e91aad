//! Text in the columns of a terminal, where a Chinese character occupies two cells.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the number of cells that a text occupies.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Pads the text on the right to `cells` cells.
pub fn pad_right(text: &str, cells: usize) -> String {
    format!("{text}{}", " ".repeat(cells.saturating_sub(width(text))))
}

/// Pads the text on the left to `cells` cells.
pub fn pad_left(text: &str, cells: usize) -> String {
    format!("{}{text}", " ".repeat(cells.saturating_sub(width(text))))
}

/// Truncates the text with `…` if it occupies more than `cells` cells.
pub fn truncate(text: &str, cells: usize) -> String {
    if width(text) <= cells {
        return text.into();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > cells {
            break;
        }
        out.push(c);
    }
    if cells > 0 {
        out.push('…');
    }
    out
}

/// Wraps the text into lines of at most `cells` cells, broken between words (or anywhere between Chinese characters).
/// Continuation lines are indented two cells more than the text. Colours occupy no cells.
pub fn wrap(text: &str, cells: usize) -> String {
    let indent = text.len() - text.trim_start_matches(' ').len();
    let mut out = " ".repeat(indent);
    let mut used = indent;
    for piece in pieces(&text[indent..]) {
        let wide = visible_width(piece.trim_end_matches(' '));
        if used + wide > cells && used > indent + 2 {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(indent + 2));
            used = indent + 2;
        }
        out.push_str(piece);
        used += visible_width(piece);
    }
    out
}

/// Splits text into words with their trailing spaces; each Chinese character is a word of its own, with the
/// punctuation after it.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut before) = (0, None::<char>);
    for (at, c) in text.char_indices() {
        let is_wide = |c: char| c.width() == Some(2);
        let closes = "，。；：）！？、".contains(c);
        let breaks = before.is_some_and(|b| {
            (b == ' ' && c != ' ') || (c != ' ' && !closes && b != '（' && (is_wide(b) || (is_wide(c) && b != ' ')))
        });
        if breaks {
            pieces.push(&text[start..at]);
            start = at;
        }
        before = Some(c);
    }
    pieces.push(&text[start..]);
    pieces
}

/// Returns the number of cells of a text that may contain colours.
fn visible_width(text: &str) -> usize {
    let mut parts = text.split("\x1b[");
    let plain = parts.next().map_or(0, width);
    plain + parts.map(|part| part.split_once('m').map_or(0, |(_, rest)| width(rest))).sum::<usize>()
}

/// Formats rows of cells as lines: the first column is left-aligned, the others are right-aligned, with two
/// spaces between.
pub fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> =
        (0..columns).map(|c| rows.iter().filter_map(|r| r.get(c)).map(|t| width(t)).max().unwrap_or(0)).collect();
    let cell =
        |(c, text): (usize, &String)| if c == 0 { pad_right(text, widths[0]) } else { pad_left(text, widths[c]) };
    rows.iter().map(|row| row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().into()).collect()
}

/// Drops the columns with these headings (the first row), in this order, until the rows are at most `room` cells wide.
pub fn fit(mut rows: Vec<Vec<String>>, room: usize, spared: &[&str]) -> Vec<Vec<String>> {
    for heading in spared {
        if table(&rows).iter().all(|line| width(line) <= room) {
            break;
        }
        if let Some(at) = rows.first().and_then(|first| first.iter().position(|text| text == heading)) {
            rows.iter_mut().filter(|row| row.len() > at).for_each(|row| drop(row.remove(at)));
        }
    }
    rows
}

/// Colours and weights of text on a terminal, which may be disabled.
#[derive(Clone, Copy, Debug)]
pub struct Paint(pub bool);

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }
    /// Formats a heading.
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }
    /// Formats secondary text.
    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }
    /// Formats a good result.
    pub fn green(self, text: &str) -> String {
        self.with("32", text)
    }
    /// Formats a result worth attention.
    pub fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }
    /// Formats a bad result.
    pub fn red(self, text: &str) -> String {
        self.with("31", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_takes_two_cells() {
        assert_eq!(pad_left("时间", 6), "  时间");
        assert_eq!(pad_right("时间", 5), "时间 ");
        assert_eq!(truncate("请求/秒", 7), "请求/秒");
        assert_eq!(truncate("请求/秒", 6), "请求/…");
        assert_eq!(truncate("请求/秒", 4), "请…");
        assert_eq!(truncate("abc", 0), "");
        let rows = [vec!["时间".into(), "p50".into()], vec!["x".into(), "1.00 ms".into()]];
        assert_eq!(table(&rows), ["时间      p50", "x     1.00 ms"]);
        let fitted = |room| fit(rows.to_vec(), room, &["none", "p50", "时间"]).concat();
        assert_eq!([fitted(13).len(), fitted(12).len(), fitted(3).len()], [4, 2, 0]);
    }

    #[test]
    fn sentences_are_broken_between_words() {
        assert_eq!(wrap("  one two three", 9), "  one two\n    three");
        assert_eq!(wrap("one  two", 8), "one  two");
        assert_eq!(wrap("  abcdefghijkl m", 9), "  abcdefghijkl\n    m");
        assert_eq!(wrap("\x1b[31mone two\x1b[0m", 7), "\x1b[31mone two\x1b[0m");
        assert_eq!(wrap("请求失败，再来", 10), "请求失败，\n  再来");
        assert_eq!(wrap("", 5), "");
    }
}
