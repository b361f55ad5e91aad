//! multipart/form-data bodies (RFC 7578), encoded once before the run.

use std::path::Path;
use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;

use super::request::RequestBody;
use crate::placeholders::Placeholders;
use brunt_values::file;
use brunt_values::template::SlotGuard;

/// Media type of a form.
pub const KIND: &str = "multipart/form-data";

/// One `--form` field.
struct FormField {
    name: String,
    /// The value, or several files in one field.
    items: Vec<FormItem>,
}

/// A value or file of a field.
struct FormItem {
    file_name: Option<String>,
    kind: Option<String>,
    bytes: Vec<u8>,
}

/// Builds the body from fields in curl's notation (`NAME=VALUE`, `NAME=@FILE`, `NAME=@FILE,FILE`, `NAME=<FILE`, each
/// with `;type=` and `;filename=`), followed by the fields with literal values; the seed determines the boundary.
///
/// # Errors
/// Returns an error for an invalid field, or a file that cannot be read.
pub fn content(
    fields: &[String],
    literal: &[String],
    seed: u64,
    marks: &mut Placeholders,
) -> Result<RequestBody, UsageError> {
    let mut parts = Vec::new();
    for field in fields {
        parts.push(part(&marks.replace_slots(field, "--form", SlotGuard::None)?, marks)?);
    }
    for field in literal {
        let field = marks.replace_slots(field, "--form-string", SlotGuard::None)?;
        let (name, value) = named("--form-string", &field)?;
        let item = FormItem { file_name: None, kind: None, bytes: value.into() };
        parts.push(FormField { name: name.into(), items: vec![item] });
    }
    let boundary = boundary(&parts, seed);
    let mut body = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let disposition = format!("form-data; name=\"{}\"", quoted(&part.name));
        if let [item] = &part.items[..] {
            put(&boundary, &disposition, item, &mut body);
            continue;
        }
        // Several files in one field form a nested body, as with curl (RFC 2388 4.2).
        let inner = format!("{boundary}-{number}");
        let mut bytes = Vec::new();
        part.items.iter().for_each(|item| put(&inner, "attachment", item, &mut bytes));
        bytes.extend_from_slice(format!("--{inner}--\r\n").as_bytes());
        let kind = Some(format!("multipart/mixed; boundary={inner}"));
        put(&boundary, &disposition, &FormItem { file_name: None, kind, bytes }, &mut body);
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let length = marks.occur_in(&body).then(|| marks.length_placeholder());
    Ok(RequestBody {
        bytes: Arc::from(body),
        kind: Some(format!("{KIND}; boundary={boundary}")),
        length,
        chunked: false,
    })
}

/// Appends one item, preceded by its boundary.
fn put(boundary: &str, disposition: &str, item: &FormItem, body: &mut Vec<u8>) {
    body.extend_from_slice(format!("--{boundary}\r\nContent-Disposition: {disposition}").as_bytes());
    if let Some(file) = &item.file_name {
        body.extend_from_slice(format!("; filename=\"{}\"", quoted(file)).as_bytes());
    }
    if let Some(kind) = &item.kind {
        body.extend_from_slice(format!("\r\nContent-Type: {kind}").as_bytes());
    }
    body.extend_from_slice(b"\r\n\r\n");
    body.extend_from_slice(&item.bytes);
    body.extend_from_slice(b"\r\n");
}

fn named<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), UsageError> {
    let wrong = |trouble: &str, zh: &str| {
        let said = Complaint::new(
            complaint!("\"{text}\" {trouble}; write NAME=VALUE or NAME=@FILE", "“{text}”{zh}"),
            format!("“{text}”{zh}；请写 NAME=VALUE 或 NAME=@FILE"),
        );
        UsageError::new(option, said)
    };
    match text.split_once('=') {
        None => Err(wrong("has no =", "缺少 =")),
        Some(("", _)) => Err(wrong("has no name", "缺少名称")),
        Some(pair) => Ok(pair),
    }
}

fn part(text: &str, marks: &Placeholders) -> Result<FormField, UsageError> {
    let (name, value) = named("--form", text)?;
    let items = match value.strip_prefix('@') {
        Some(files) => files_of(files).into_iter().map(|file| item(text, Some('@'), file, marks)).collect(),
        None => match value.strip_prefix('<') {
            Some(file) => item(text, Some('<'), file, marks).map(|item| vec![item]),
            None => item(text, None, value, marks).map(|item| vec![item]),
        },
    };
    Ok(FormField { name: name.into(), items: items? })
}

/// Splits at commas outside of quotes: `a;type=x,"b,c"` → `a;type=x`, `"b,c"`.
fn files_of(text: &str) -> Vec<&str> {
    let (mut files, mut from, mut quoted, mut kept) = (Vec::new(), 0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if kept => kept = false,
            '\\' => kept = quoted,
            '"' => quoted = !quoted,
            ',' if !quoted => {
                files.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    files.push(&text[from..]);
    files
}

/// Parses one value or file of the field `text`, with its parameters.
fn item(text: &str, source: Option<char>, rest: &str, marks: &Placeholders) -> Result<FormItem, UsageError> {
    let wrong = |trouble: Complaint| {
        let zh = trouble.zh();
        UsageError::new("--form", complaint!("\"{text}\" {trouble}", "“{text}”{zh}"))
    };
    let (content, rest) = parse_value(rest);
    if source.is_some() && marks.occur_in(content.as_bytes()) {
        return Err(wrong(complaint!(
            "has a slot in a file path, and files are read once before the run; write the path itself",
            "的文件路径中有占位符，而文件在压测前只读取一次；请写路径本身"
        )));
    }
    let (mut kind, mut file_name) = (None, None);
    for parameter in parameters(rest) {
        match parameter.split_once('=') {
            Some(("type", "")) => {
                return Err(wrong(complaint!(
                    "has no type after type=; write type=text/plain",
                    "的 type= 之后缺少类型；请写 type=text/plain"
                )));
            }
            Some(("type", value)) if value.bytes().any(|b| !(b' '..=b'~').contains(&b)) => {
                return Err(wrong(complaint!(
                    "has a type that is not a MIME type; write type=text/plain",
                    "的类型不是 MIME 类型；请写 type=text/plain"
                )));
            }
            Some(("type", value)) => kind = Some(value.to_owned()),
            Some(("filename", value)) => file_name = Some(parse_value(value).0),
            _ => {
                return Err(wrong(complaint!(
                    "has \"{parameter}\" after its value, where only ;type= and ;filename= are allowed; leave it \
                        out, or use --form-string '{text}' to send it as is",
                    "的值之后有“{parameter}”，那里只能写 ;type= 和 ;filename=；请去掉，若要原样发送请用 --form-string '{text}'"
                )));
            }
        }
    }
    let bytes = if source.is_some() { file::body("--form", &content)? } else { content.clone().into_bytes() };
    if source == Some('@') {
        kind = kind.or_else(|| Some(kind_of(file_name.as_deref().unwrap_or(&content)).to_owned()));
        file_name = file_name.or_else(|| Path::new(&content).file_name().map(|n| n.to_string_lossy().into_owned()));
    }
    Ok(FormItem { file_name, kind, bytes })
}

/// Parses a value up to the next semicolon, or in double quotes (`\` escapes the next character). Returns it and the
/// rest.
fn parse_value(text: &str) -> (String, &str) {
    let quoted = text.strip_prefix('"').and_then(|inside| {
        let mut value = String::new();
        let mut characters = inside.char_indices();
        while let Some((at, c)) = characters.next() {
            match c {
                '"' => return Some((value, &inside[at + 1..])),
                '\\' => value.extend(characters.next().map(|(_, c)| c)),
                c => value.push(c),
            }
        }
        None
    });
    quoted.unwrap_or_else(|| {
        let end = text.find(';').unwrap_or(text.len());
        (text[..end].to_owned(), &text[end..])
    })
}

/// Splits parameters: `;a=b;c="d;e"` → `a=b`, `c="d;e"`. A media type keeps its own parameters, as with curl:
/// `;type=text/x;charset=y`.
fn parameters(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut quoted = false;
    for piece in text.split_inclusive(';') {
        let inside = quoted;
        quoted ^= piece.matches('"').count() % 2 == 1;
        let piece = if quoted { piece } else { piece.strip_suffix(';').unwrap_or(piece) };
        match found.last_mut() {
            Some(last) if inside => last.push_str(piece),
            Some(last) if last.starts_with("type=") && !is_parameter(piece) => *last = format!("{last};{piece}"),
            _ if piece.trim().is_empty() => {}
            _ => found.push(piece.trim().to_owned()),
        }
    }
    found
}

fn is_parameter(text: &str) -> bool {
    let name = text.trim_start().split('=').next().unwrap_or_default();
    ["type", "filename", "encoder", "headers"].contains(&name)
}

/// Returns the media type for a file name extension, as curl chooses it.
fn kind_of(path: &str) -> &'static str {
    let ending = Path::new(path).extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        _ => "application/octet-stream",
    }
}

/// Percent-encodes the quotes and line breaks of a name, as HTML forms do.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// Returns a boundary that occurs in none of the parts.
fn boundary(parts: &[FormField], seed: u64) -> String {
    let mut state = seed;
    loop {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let boundary = format!("------------------------{:016x}", state ^ state >> 29);
        let mut items = parts.iter().flat_map(|part| &part.items);
        if !items.any(|item| memchr::memmem::find(&item.bytes, boundary.as_bytes()).is_some()) {
            return boundary;
        }
    }
}
