//! Parsers of the kernel's texts. Pure functions: text in, counters out; anything that is not understood is left out.

pub(crate) mod cpu;
pub(crate) mod host;
pub(crate) mod network;
pub(crate) mod process;
pub(crate) mod quota;
pub(crate) mod settings;

/// Parses the numbers of a line, in order; ends at the first word that is not a number.
fn numbers(line: &str) -> impl Iterator<Item = u64> {
    line.split_ascii_whitespace().map_while(|word| word.parse().ok())
}

/// Parses the first number of a text.
pub(crate) fn number(text: &str) -> Option<u64> {
    numbers(text).next()
}

/// Returns the rest of the line that begins with this word.
fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(word))
}
