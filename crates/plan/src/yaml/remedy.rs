//! What to write instead of text that is not YAML. Parsers describe such text in the words of their grammar, and often
//! find it only behind the mistake.

use brunt_cause::{Complaint, complaint};

use super::{FilePosition, YamlError};

/// Number of lines with text, up to the one where the parser stopped, on which the mistake may be.
const SUSPECTS: usize = 2;

/// Returns the mistake that made the parser stop at `at` with the message `info`.
///
/// Values are not repeated where they may be secrets.
pub fn remedy(text: &str, at: FilePosition, info: &str) -> YamlError {
    let lines = text.lines().enumerate().take(at.line).map(|(index, line)| (index + 1, line));
    let mut suspects: Vec<(usize, &str)> = lines.filter(|(_, line)| !line.trim().is_empty()).collect();
    suspects.drain(..suspects.len().saturating_sub(SUSPECTS));
    let here = suspects.last().filter(|(number, _)| *number == at.line).map_or("", |(_, line)| line);
    let known = [tab, missing_space, unquoted_bracket].into_iter().find_map(|find| {
        let found = |(line, text): &(usize, &str)| find(text).map(|(column, trouble)| (place(*line, column), trouble));
        suspects.iter().rev().find_map(found)
    });
    known
        .or_else(|| special_character(here, at))
        .or_else(|| unquoted_colon(here).map(|(column, trouble)| (place(at.line, column), trouble)))
        .or_else(|| missing_colon(&suspects, at))
        .or_else(|| unclosed(&suspects))
        .unwrap_or_else(|| (at, of_grammar(info)))
}

fn place(line: usize, column: usize) -> FilePosition {
    FilePosition { line, column }
}

/// Finds a tab in the indentation of a line.
fn tab(line: &str) -> Option<(usize, Complaint)> {
    let indentation = &line[..line.len() - line.trim_start().len()];
    let at = indentation.find('\t')?;
    Some((
        at + 1,
        complaint!(
            "is indented with a tab, which YAML does not allow; use spaces",
            "用制表符缩进，YAML 不允许；请用空格"
        ),
    ))
}

fn missing_space(line: &str) -> Option<(usize, Complaint)> {
    Some((line.len() - line.trim_start().len() + 1, missing_space_hint(line)?))
}

/// Returns a hint for a key without a space after its colon, `users:3`; `None` for any other text.
pub fn missing_space_hint(text: &str) -> Option<Complaint> {
    let (key, value) = text.trim_start().split_once(':')?;
    let value = value.split_whitespace().next().filter(|word| value.starts_with(word) && !word.starts_with("//"))?;
    is_key(key).then(|| {
        complaint!(
            "`{key}:{value}` lacks a space after its colon; write `{key}: {value}`",
            "`{key}:{value}` 的冒号后缺少空格；请写 `{key}: {value}`"
        )
    })
}

fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Finds a value within `{ }` that has a bracket and no quotes.
fn unquoted_bracket(line: &str) -> Option<(usize, Complaint)> {
    let (column, value) = bracketed_value(line)?;
    let shown = value.replace('\'', "''");
    let trouble = complaint!(
        "`{value}` has a bracket and stands within {{ }}, so it needs quotes; write '{shown}'",
        "`{value}` 含有方括号且位于 {{ }} 中，需要加引号；请写 '{shown}'"
    );
    Some((column, trouble))
}

/// Returns the first value of a map in braces that has no quotes and a bracket in its middle, and its column.
fn bracketed_value(line: &str) -> Option<(usize, &str)> {
    let open = line.find('{')?;
    line[open..].match_indices(": ").find_map(|(at, _)| {
        let from = open + at + 2;
        let value = &line[from..];
        let bracket = value.find('[').filter(|at| value[..*at].starts_with(|c: char| !"'\"{[ ".contains(c)))?;
        // The value goes on up to the comma or brace behind its last bracket.
        let closed = bracket + value[bracket..].find(']')?;
        let end = value[closed..].find([',', '}']).map_or(value.len(), |end| closed + end);
        let is_one = !value[..bracket].contains([',', '}']) && !value[..bracket].contains(": ");
        is_one.then(|| (from + 1, value[..end].trim_end()))
    })
}

/// Finds a value that begins with a character that YAML reserves.
fn special_character(line: &str, at: FilePosition) -> Option<YamlError> {
    let first = line.chars().nth(at.column.checked_sub(1)?).filter(|c| "@`%*".contains(*c))?;
    let trouble = complaint!(
        "begins with {first}, so it needs quotes; write '{first}…'",
        "以 {first} 开头，需要加引号；请写 '{first}…'"
    );
    Some((at, trouble))
}

/// Finds a value without quotes that has a colon and a space, as header lines have.
fn unquoted_colon(line: &str) -> Option<(usize, Complaint)> {
    let item = line.trim_start().trim_start_matches("- ");
    let (key, value) = item.split_once(": ")?;
    if !value.contains(": ") || value.trim_start().starts_with(['\'', '"', '{', '[', '|', '>', '#']) {
        return None;
    }
    let column = line.chars().count() - value.trim_start().chars().count() + 1;
    Some((
        column,
        complaint!(
            "the value of `{key}` has a colon and a space, so it needs quotes; write {key}: '…'",
            "`{key}` 的值含有冒号加空格，需要加引号；请写 {key}: '…'"
        ),
    ))
}

/// Finds a key without a colon, `users 3`.
fn missing_colon(suspects: &[(usize, &str)], at: FilePosition) -> Option<YamlError> {
    let (number, line) = suspects.iter().find(|(number, _)| *number < at.line)?;
    let (key, value) = line.trim().split_once(' ').filter(|(key, value)| is_key(key) && !value.contains(": "))?;
    let trouble =
        complaint!("`{key}` lacks a colon; write `{key}: {value}`", "`{key}` 后缺少冒号；请写 `{key}: {value}`");
    Some((place(*number, line.len() - line.trim_start().len() + 1), trouble))
}

/// Finds a quote or a bracket that a line opens and does not close.
fn unclosed(suspects: &[(usize, &str)]) -> Option<YamlError> {
    let (number, column, c) = suspects
        .iter()
        .rev()
        .find_map(|(number, line)| open_at_the_end(line).map(|(column, c)| (*number, column, c)))?;
    let closing = match c {
        '[' => ']',
        '{' => '}',
        quote => quote,
    };
    let trouble =
        complaint!("opens a {c} that is never closed; add {closing}", "打开了 {c} 却没有关闭；请补上 {closing}");
    Some((place(number, column), trouble))
}

/// Returns the last quote or bracket that is still open at the end of a line, and its column.
fn open_at_the_end(line: &str) -> Option<(usize, char)> {
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut before = ' ';
    for (at, c) in line.chars().enumerate() {
        let quoted = open.last().map(|(_, c)| *c).filter(|c| "'\"".contains(*c));
        // Within words, apostrophes and brackets are text.
        let begins = " [{,".contains(before);
        match (c, quoted) {
            (c, Some(quote)) if c == quote => drop(open.pop()),
            (_, Some(_)) => {}
            ('#', None) if before == ' ' => break,
            ('\'' | '"' | '[' | '{', None) if begins => open.push((at + 1, c)),
            (']' | '}', None) => drop(open.pop()),
            _ => {}
        }
        before = c;
    }
    open.pop()
}

/// Returns the complaint for a mistake that only the parser knows.
fn of_grammar(info: &str) -> Complaint {
    complaint!(
        "is not YAML: {info}; let the keys of a map and the items of a list begin in the same column, and put a value \
            with special characters in quotes",
        "不是 YAML：{info}；同一映射的键、同一列表的各项应从同一列开始，含特殊字符的值要加引号"
    )
}
