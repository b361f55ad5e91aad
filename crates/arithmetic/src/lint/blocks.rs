//! Outputs as blocks of labelled lines.
//!
//! Most tools print the same labels in the same order. A block ends where a label comes again or out of order, so that
//! excerpts without head or tail are told apart as well. Versions of a tool may differ in the order.

use super::paste::{PastedLine, PastedText};

/// Lines without any label after which a block is over.
const LONGEST_GAP: usize = 40;

/// A kind of line of an output.
pub struct OutputLabel {
    /// Returns `true` for such a line.
    pub is: fn(&str) -> bool,
    /// Set if an output has several of them.
    pub repeats: bool,
}

/// Creates a label that an output has once.
pub const fn once(is: fn(&str) -> bool) -> OutputLabel {
    OutputLabel { is, repeats: false }
}

/// Creates a label that an output has several times, in a row.
pub const fn several(is: fn(&str) -> bool) -> OutputLabel {
    OutputLabel { is, repeats: true }
}

/// The labelled lines of one output.
pub struct Block<'a> {
    lines: Vec<(usize, &'a PastedLine)>,
}

impl<'a> Block<'a> {
    /// Returns the number of the first line.
    pub fn start(&self) -> usize {
        self.lines.first().map_or(0, |(_, line)| line.number)
    }

    /// Returns the text of the first line with a label, given by its position among the labels.
    pub fn text(&self, label: usize) -> Option<&'a str> {
        self.texts(label).next()
    }

    /// Returns the texts of all lines with a label.
    pub fn texts(&self, label: usize) -> impl Iterator<Item = &'a str> {
        self.lines.iter().filter(move |(known, _)| *known == label).map(|(_, line)| line.text.as_str())
    }

    /// Returns what follows the colon in the first line with a label.
    pub fn value(&self, label: usize) -> Option<&'a str> {
        self.text(label)?.split_once(':').map(|(_, value)| value.trim())
    }
}

/// Returns the outputs in a paste.
pub fn blocks<'a>(paste: &'a PastedText, labels: &[OutputLabel]) -> Vec<Block<'a>> {
    split(paste, labels, |block, label| {
        let last = block.lines.last().map(|(last, _)| *last);
        last.is_some_and(|last| label > last || (label == last && labels[label].repeats))
    })
}

/// Returns the outputs in a paste, of a tool whose versions differ in the order of lines.
pub fn blocks_in_any_order<'a>(paste: &'a PastedText, labels: &[OutputLabel]) -> Vec<Block<'a>> {
    split(paste, labels, |block, label| labels[label].repeats || block.text(label).is_none())
}

/// Splits a paste into blocks, which go on with a label if `goes_on` says so.
fn split<'a>(
    paste: &'a PastedText,
    labels: &[OutputLabel],
    goes_on: impl Fn(&Block<'a>, usize) -> bool,
) -> Vec<Block<'a>> {
    let mut found: Vec<Block<'a>> = Vec::new();
    let mut gap = 0;
    for line in &paste.lines {
        let Some(label) = labels.iter().position(|label| (label.is)(&line.text)) else {
            gap += 1;
            continue;
        };
        match found.last_mut() {
            Some(block) if gap <= LONGEST_GAP && goes_on(block, label) => block.lines.push((label, line)),
            _ => found.push(Block { lines: vec![(label, line)] }),
        }
        gap = 0;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: [OutputLabel; 3] = [
        once(|text| text.starts_with("head")),
        several(|text| text.starts_with("row")),
        once(|text| text.starts_with("tail:")),
    ];

    fn sizes(text: &str) -> Vec<(usize, usize)> {
        let paste = PastedText::read(text.as_bytes());
        blocks(&paste, &LABELS).iter().map(|block| (block.start(), block.lines.len())).collect()
    }

    #[test]
    fn a_block_ends_where_a_label_comes_again() {
        assert_eq!(sizes("head\nrow\nrow\ntail: 1\nhead\nx\ntail: 2"), [(1, 4), (5, 2)]);
        assert_eq!(sizes("tail: 1\ntail: 2\nrow\nrow"), [(1, 1), (2, 1), (3, 2)]);
        assert_eq!(sizes(&format!("head\n{}tail: 1", "x\n".repeat(41))), [(1, 1), (43, 1)]);
        let paste = PastedText::read(b"row\nhead\nrow\ntail: 1\nhead\ntail: 2");
        let sizes = blocks_in_any_order(&paste, &LABELS).iter().map(|block| block.lines.len()).collect::<Vec<_>>();
        assert_eq!(sizes, [4, 2]);
        let paste = PastedText::read(b"head\nrow 1\nrow 2\ntail:  7 ");
        let block = &blocks(&paste, &LABELS)[0];
        assert_eq!((block.value(2), block.text(1), block.texts(1).count()), (Some("7"), Some("row 1"), 2));
    }
}
