//! Commands in Windows notation: the output of Chrome's "Copy as cURL (cmd)".
//!
//! Such a line is parsed twice: `cmd` processes the carets (`^"`, and `^` at the end of a continued line), then the C
//! runtime of the program processes double quotes and backslashes (Microsoft, "Parsing C command-line arguments").

use super::shell::{ShellCommand, ShellError};
use brunt_cause::complaint;

/// Returns `true` for a text in the caret notation of `cmd`.
pub fn is_caret_notation(text: &str) -> bool {
    text.contains("^\"") || text.lines().any(|line| line.trim_end().ends_with('^'))
}

/// Splits a text into commands.
///
/// # Errors
/// A quote is not closed.
pub fn commands(text: &str) -> Result<Vec<ShellCommand>, ShellError> {
    let mut found = Vec::new();
    let (mut plain, mut line, mut begun) = (String::new(), 1, 1);
    let mut quoted = false;
    let mut characters = text.chars().filter(|c| *c != '\r').peekable();
    while let Some(c) = characters.next() {
        match c {
            '^' if !quoted => match characters.next() {
                Some('\n') => {
                    line += 1;
                    // A second line end follows, so this is a line end within a value.
                    if characters.next_if_eq(&'\n').is_some() {
                        plain.push('\n');
                        line += 1;
                    }
                }
                Some(c) => plain.push(c),
                None => {}
            },
            '\n' | '&' if !quoted => {
                found.extend(split(&plain, begun)?);
                plain.clear();
                line += usize::from(c == '\n');
                begun = line;
            }
            c => {
                quoted ^= c == '"';
                line += usize::from(c == '\n');
                plain.push(c);
            }
        }
    }
    found.extend(split(&plain, begun)?);
    Ok(found)
}

/// Splits a line into words, like the C runtime of Windows.
fn split(text: &str, line: usize) -> Result<Option<ShellCommand>, ShellError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' => {
                let mut run = 1;
                while characters.next_if_eq(&'\\').is_some() {
                    run += 1;
                }
                let word = word.get_or_insert_default();
                let before_quote = characters.peek() == Some(&'"');
                word.extend(std::iter::repeat_n('\\', if before_quote { run / 2 } else { run }));
                if before_quote && run % 2 == 1 {
                    word.extend(characters.next());
                }
            }
            '"' if quoted && characters.peek() == Some(&'"') => word.get_or_insert_default().extend(characters.next()),
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if quoted {
        return Err((line, complaint!("a double quote is not closed; close it", "双引号没有闭合；请补上")));
    }
    Ok((!words.is_empty()).then_some(ShellCommand { line, words, ..ShellCommand::default() }))
}
