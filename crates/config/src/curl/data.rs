//! The body or the query of a curl command: `-d` and related options, combined in the same way as curl.

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_protocols::file;

use super::command::CurlOptions;

/// The combined data options.
#[derive(Debug, PartialEq, Eq)]
pub enum CurlData {
    /// A text.
    Text(String),
    /// The unmodified bytes of one file.
    File(String),
}

const OPTIONS: [&str; 6] = ["data", "data-ascii", "data-raw", "data-binary", "data-urlencode", "json"];

/// Returns the data of a command, if it has any.
///
/// # Errors
/// A file cannot be read, or binary data is combined with other pieces.
pub fn of(options: &CurlOptions, place: &str) -> Result<Option<CurlData>, UsageError> {
    let given: Vec<_> = options.values.iter().filter(|(name, _)| OPTIONS.contains(name)).collect();
    match given[..] {
        [] => return Ok(None),
        [(name @ ("data-binary" | "json"), value)] if value.starts_with('@') => {
            let path = &value[1..];
            readable(name, path, place)?;
            return Ok(Some(CurlData::File(path.to_owned())));
        }
        _ => {}
    }
    let mut whole = String::new();
    for (name, value) in given {
        if !whole.is_empty() && *name != "json" {
            whole.push('&');
        }
        whole.push_str(&piece(name, value, place)?);
    }
    Ok(Some(CurlData::Text(whole)))
}

fn piece(name: &str, value: &str, place: &str) -> Result<String, UsageError> {
    match (name, value.strip_prefix('@')) {
        ("data-urlencode", _) => urlencoded(value, place),
        ("data" | "data-ascii", Some(path)) => Ok(text(name, path, place)?.replace(['\r', '\n', '\0'], "")),
        ("data-binary" | "json", Some(path)) => text(name, path, place),
        _ => Ok(value.to_owned()),
    }
}

/// Encodes the content of `content`, `=content`, `name=content`, `@file` or `name@file`, but not the name.
///
/// # Errors
/// A file cannot be read.
pub fn urlencoded(value: &str, place: &str) -> Result<String, UsageError> {
    let Some(at) = value.find(['=', '@']) else { return Ok(escaped(value.as_bytes())) };
    let (name, content) = (&value[..at], &value[at + 1..]);
    let encoded = match value.as_bytes()[at] {
        b'@' => escaped(&bytes("data-urlencode", content, place)?),
        _ => escaped(content.as_bytes()),
    };
    Ok(if name.is_empty() { encoded } else { format!("{name}={encoded}") })
}

/// Percent-encodes all but the unreserved characters (RFC 3986 2.3); a space becomes `+`, as in curl since 7.87.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(*byte)),
            b' ' => text.push('+'),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

fn text(name: &str, path: &str, place: &str) -> Result<String, UsageError> {
    String::from_utf8(bytes(name, path, place)?).map_err(|_| {
        let trouble = complaint!(
            "--{name} @{path}: the file is not text (UTF-8); send it alone with --data-binary @{path}",
            "--{name} @{path}：该文件不是文本（UTF-8）；请用 --data-binary @{path} 单独发送"
        );
        UsageError::new(place, trouble)
    })
}

fn bytes(name: &str, path: &str, place: &str) -> Result<Vec<u8>, UsageError> {
    readable(name, path, place)?;
    file::read_bounded(&format!("--{name} of {place}"), path, file::TEXT_BOUND).map_err(|trouble| {
        let zh = trouble.zh();
        UsageError::new(place, complaint!("--{name}: {trouble}", "--{name}：{zh}"))
    })
}

/// Checks that the file named by an option can be read.
///
/// # Errors
/// The file cannot be read; the error gives the reason.
pub fn readable(name: &str, path: &str, place: &str) -> Result<(), UsageError> {
    file::check_readable(path).map_err(|error| unreadable(name, path, &error.to_string(), place))
}

fn unreadable(name: &str, path: &str, error: &str, place: &str) -> UsageError {
    let trouble = complaint!(
        "--{name}: {path} cannot be read ({error}); write the path of a readable file",
        "--{name}：{path} 无法读取（{error}）；请写可读文件的路径"
    );
    UsageError::new(place, trouble)
}
