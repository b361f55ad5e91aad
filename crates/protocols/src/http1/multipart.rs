//! A body of fields and files: multipart/form-data (RFC 7578), written once before the run.

use std::path::Path;
use std::sync::Arc;

use wire::Complaint;

use super::request::Content;
use crate::file;

/// The type of a form.
pub const KIND: &str = "multipart/form-data";

/// One `--form` as asked.
struct Part {
    name: String,
    file_name: Option<String>,
    kind: Option<String>,
    bytes: Vec<u8>,
}

/// The body made of fields in curl's notation (`NAME=VALUE`, `NAME=@FILE`, `NAME=<FILE`, each with `;type=` and
/// `;filename=`) and then of those whose value is taken as it is; the seed decides the boundary.
///
/// # Errors
/// A field that is neither, or a file that cannot be read.
pub fn content(fields: &[String], literal: &[String], seed: u64) -> Result<Content, Complaint> {
    let mut parts = fields.iter().map(|f| part(f)).collect::<Result<Vec<_>, _>>()?;
    for field in literal {
        let (name, value) = named("--form-string", field)?;
        parts.push(Part { name: name.into(), file_name: None, kind: None, bytes: value.into() });
    }
    let boundary = boundary(&parts, seed);
    let mut body = Vec::new();
    for part in &parts {
        body.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        body.extend_from_slice(format!("Content-Disposition: form-data; name=\"{}\"", quoted(&part.name)).as_bytes());
        if let Some(file) = &part.file_name {
            body.extend_from_slice(format!("; filename=\"{}\"", quoted(file)).as_bytes());
        }
        if let Some(kind) = &part.kind {
            body.extend_from_slice(format!("\r\nContent-Type: {kind}").as_bytes());
        }
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(&part.bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(Content { bytes: Arc::from(body), kind: Some(format!("{KIND}; boundary={boundary}")) })
}

fn named<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), Complaint> {
    let wrong = |trouble: &str| Complaint::new(option, format!("\"{text}\" {trouble}; write NAME=VALUE or NAME=@FILE"));
    match text.split_once('=') {
        None => Err(wrong("has no =")),
        Some(("", _)) => Err(wrong("has no name")),
        Some(pair) => Ok(pair),
    }
}

fn part(text: &str) -> Result<Part, Complaint> {
    let wrong = |trouble: String| Complaint::new("--form", format!("\"{text}\" {trouble}"));
    let (name, value) = named("--form", text)?;
    let (source, rest) = match value.strip_prefix(['@', '<']) {
        Some(rest) => (value.chars().next(), rest),
        None => (None, value),
    };
    let (content, rest) = quotable(rest);
    let (mut kind, mut file_name) = (None, None);
    for parameter in parameters(rest) {
        match parameter.split_once('=') {
            Some(("type", "")) => return Err(wrong("names no type after type=; write type=text/plain".into())),
            Some(("type", value)) if value.bytes().any(|b| !(b' '..=b'~').contains(&b)) => {
                return Err(wrong("has a type that is no MIME type; write type=text/plain".into()));
            }
            Some(("type", value)) => kind = Some(value.to_owned()),
            Some(("filename", value)) => file_name = Some(quotable(value).0),
            _ => {
                return Err(wrong(format!(
                    "has \"{parameter}\" behind its value, where only ;type= and ;filename= are known; leave it out, or \
                     write --form-string '{text}' to send it as it is"
                )));
            }
        }
    }
    let bytes = if source.is_some() { file::body("--form", &content)? } else { content.clone().into_bytes() };
    if source == Some('@') {
        kind = kind.or_else(|| Some(kind_of(file_name.as_deref().unwrap_or(&content)).to_owned()));
        file_name = file_name.or_else(|| Path::new(&content).file_name().map(|n| n.to_string_lossy().into_owned()));
    }
    Ok(Part { name: name.into(), file_name, kind, bytes })
}

/// A value up to the next semicolon, or in double quotes (`\` keeps the next character); and what follows it.
fn quotable(text: &str) -> (String, &str) {
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

/// `;a=b;c="d;e"` → `a=b`, `c="d;e"`. A media type keeps its own parameters, as with curl: `;type=text/x;charset=y`.
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

/// The types curl knows by their endings.
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

/// As HTML's forms write names: what would end the quotes or the line is percent-encoded.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// A line that occurs in none of the parts.
fn boundary(parts: &[Part], seed: u64) -> String {
    let mut state = seed;
    loop {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let boundary = format!("------------------------{:016x}", state ^ state >> 29);
        if !parts.iter().any(|p| memchr::memmem::find(&p.bytes, boundary.as_bytes()).is_some()) {
            return boundary;
        }
    }
}
