//! Text in columns of a terminal, where a Chinese character takes two cells.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Cells a text takes.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The text, filled with blanks on its right.
pub fn left(text: &str, cells: usize) -> String {
    format!("{text}{}", " ".repeat(cells.saturating_sub(width(text))))
}

/// The text, filled with blanks on its left.
pub fn right(text: &str, cells: usize) -> String {
    format!("{}{text}", " ".repeat(cells.saturating_sub(width(text))))
}

/// The text, cut with `…` where it takes more cells than there are.
pub fn cut(text: &str, cells: usize) -> String {
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

/// Rows of cells as lines: the first column flush left, the others flush right, two blanks between.
pub fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> =
        (0..columns).map(|c| rows.iter().filter_map(|r| r.get(c)).map(|t| width(t)).max().unwrap_or(0)).collect();
    let cell = |(c, text): (usize, &String)| if c == 0 { left(text, widths[0]) } else { right(text, widths[c]) };
    rows.iter().map(|row| row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().into()).collect()
}

/// Colours and weights of a terminal, or none.
#[derive(Clone, Copy, Debug)]
pub struct Paint(pub bool);

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }
    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }
    /// Something beside the point.
    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }
    /// Good.
    pub fn green(self, text: &str) -> String {
        self.with("32", text)
    }
    /// Worth a look.
    pub fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }
    /// Bad.
    pub fn red(self, text: &str) -> String {
        self.with("31", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_takes_two_cells() {
        assert_eq!(right("时间", 6), "  时间");
        assert_eq!(left("时间", 5), "时间 ");
        assert_eq!(cut("请求/秒", 7), "请求/秒");
        assert_eq!(cut("请求/秒", 6), "请求/…");
        assert_eq!(cut("请求/秒", 4), "请…");
        assert_eq!(cut("abc", 0), "");
        let rows = [vec!["时间".into(), "p50".into()], vec!["x".into(), "1.00 ms".into()]];
        assert_eq!(table(&rows), ["时间      p50", "x     1.00 ms"]);
    }
}
