//! A body of fields and files: multipart/form-data (RFC 7578), written once before the run.

use std::path::Path;
use std::sync::Arc;

use wire::Complaint;

use super::request::Content;

/// One `--form` as asked.
struct Part {
    name: String,
    file_name: Option<String>,
    kind: Option<String>,
    bytes: Vec<u8>,
}

/// The body made of `NAME=VALUE` and `NAME=@FILE;type=MIME`; the seed decides the boundary.
///
/// # Errors
/// A field that is neither, or a file that cannot be read.
pub fn content(fields: &[String], seed: u64) -> Result<Content, Complaint> {
    let parts = fields.iter().map(|f| part(f)).collect::<Result<Vec<_>, _>>()?;
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
    Ok(Content { bytes: Arc::from(body), kind: Some(format!("multipart/form-data; boundary={boundary}")) })
}

/// The bytes of a file that an option names.
///
/// # Errors
/// Why it cannot be read.
pub fn file(option: &str, path: &str) -> Result<Vec<u8>, Complaint> {
    std::fs::read(path).map_err(|trouble| {
        Complaint::new(
            option,
            format!("the file \"{path}\" cannot be read ({trouble}); write the path of a readable file"),
        )
    })
}

fn part(text: &str) -> Result<Part, Complaint> {
    let wrong =
        |trouble: &str| Complaint::new("--form", format!("\"{text}\" {trouble}; write NAME=VALUE or NAME=@FILE"));
    let (name, value) = text.split_once('=').ok_or_else(|| wrong("has no ="))?;
    if name.is_empty() {
        return Err(wrong("has no name"));
    }
    let Some(value) = value.strip_prefix('@') else {
        return Ok(Part { name: name.into(), file_name: None, kind: None, bytes: value.as_bytes().to_vec() });
    };
    let (path, kind) = match value.split_once(";type=") {
        Some((_, "")) => return Err(wrong("names no type after type=")),
        Some((_, kind)) if kind.bytes().any(|b| !(b' '..=b'~').contains(&b)) => {
            return Err(wrong("has a type that is no MIME type"));
        }
        Some((path, kind)) => (path, kind),
        None => (value, kind_of(value)),
    };
    let file_name = Path::new(path).file_name().map(|n| n.to_string_lossy().into_owned());
    Ok(Part { name: name.into(), file_name, kind: Some(kind.into()), bytes: file("--form", path)? })
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
        "json" => "application/json",
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
