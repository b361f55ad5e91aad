//! Standard input that a command is given by its shell (`< FILE`, here-documents), in place of `-` in its options.

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_protocols::standard_input::NAME;

use super::command::CurlOptions;
use super::shell::ShellInput;

/// Replaces standard input in the values of options that read it.
///
/// # Errors
/// An option cannot take the text from a command.
pub fn apply(options: &mut CurlOptions, input: &ShellInput, place: &str) -> Result<(), UsageError> {
    let mut replaced = Vec::new();
    for (name, value) in std::mem::take(&mut options.values) {
        if !reads(name, &value) {
            replaced.push((name, value));
            continue;
        }
        match input {
            ShellInput::File(path) => {
                let before = value.strip_suffix(NAME).or_else(|| value.strip_suffix('.')).unwrap_or_default();
                replaced.push((name, format!("{before}{path}")));
            }
            ShellInput::Text(text) => replaced.extend(with_text(name, &value, text, place)?),
        }
    }
    options.values = replaced;
    Ok(())
}

/// Returns `true` if the value of an option is the content of standard input.
fn reads(name: &str, value: &str) -> bool {
    match name {
        "data" | "data-ascii" | "data-binary" | "json" | "header" => value == "@-",
        "data-urlencode" | "url-query" => value.ends_with("@-") && !value.contains('='),
        "form" => value.ends_with("=@-") || value.ends_with("=<-"),
        "upload-file" => value == "-" || value == ".",
        "cookie" => value == "-",
        _ => false,
    }
}

/// Returns the option with the text of standard input.
fn with_text(
    name: &'static str,
    value: &str,
    text: &str,
    place: &str,
) -> Result<Vec<(&'static str, String)>, UsageError> {
    Ok(match name {
        // As from a file, line ends are removed.
        "data" | "data-ascii" => vec![("data-raw", text.replace(['\r', '\n', '\0'], ""))],
        "data-binary" => vec![("data-raw", text.to_owned())],
        "json" if !text.starts_with('@') => vec![(name, text.to_owned())],
        "header" => text.lines().map(|line| (name, line.to_owned())).collect(),
        "data-urlencode" | "url-query" => {
            let before = value.strip_suffix("@-").unwrap_or_default();
            vec![(name, format!("{before}={text}"))]
        }
        _ => {
            let trouble = complaint!(
                "--{name} cannot take standard input from the command itself; write the text to a file",
                "--{name} 不能使用命令自身的标准输入；请把文本写入文件"
            );
            return Err(UsageError::new(place, trouble));
        }
    })
}
