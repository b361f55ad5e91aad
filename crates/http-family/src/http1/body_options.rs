//! Request bodies, built from the options that describe them.

use brunt_cause::{Complaint, complaint};
use std::sync::Arc;

use brunt_contract::{ProtocolConfig, UsageError};

use super::multipart;
use super::request::{HeaderOverride, RequestBody};
use crate::placeholders::Placeholders;
use brunt_values::file;
use brunt_values::template::SlotGuard;

/// Maximum size of a body file searched for slots, in bytes; larger files are sent unchanged.
const LOOKED_THROUGH: usize = 1 << 20;

/// Returns the requested body, if any.
///
/// # Errors
/// Returns an error for more than one body, or a file that cannot be read.
pub fn content(config: &ProtocolConfig, marks: &mut Placeholders) -> Result<Option<RequestBody>, UsageError> {
    let given: Vec<&str> =
        ["data", "data-raw", "data-file", "form", "form-string"].into_iter().filter(|n| config.switch(n)).collect();
    match given[..] {
        [] => Ok(None),
        ["data"] | ["data-raw"] | ["data", "data-raw"] => form_text(config, marks).map(Some),
        ["data-file"] => {
            let path = config.value("data-file").unwrap_or_default();
            let bytes = file::shared_body("--data-file", path)?;
            let marked = match std::str::from_utf8(&bytes).ok().filter(|text| text.len() <= LOOKED_THROUGH) {
                Some(text) => marks.replace_slots(text, path, SlotGuard::None)?,
                None => "".into(),
            };
            let length = marks.occur_in(marked.as_bytes()).then(|| marks.length_placeholder());
            let bytes = if length.is_some() { Arc::from(marked.as_bytes()) } else { Arc::clone(&bytes) };
            Ok(Some(RequestBody { bytes, kind: None, length, chunked: false }))
        }
        ["form"] | ["form-string"] | ["form", "form-string"] => {
            multipart::content(config.values("form"), config.values("form-string"), config.seed, marks).map(Some)
        }
        [first, .., last] => Err(UsageError::new(
            format!("--{last}"),
            complaint!(
                "cannot be combined with --{first}, as a request has one body; leave one of them out",
                "不能与 --{first} 同用，因为一个请求只有一个正文；请去掉其中一个"
            ),
        )),
        [_] => Ok(None),
    }
}

fn form_text(config: &ProtocolConfig, marks: &mut Placeholders) -> Result<RequestBody, UsageError> {
    if let Some(file) = config.values("data").iter().find_map(|t| t.strip_prefix('@')) {
        let trouble =
            complaint!("files are not read here; use --data-file {file}", "这里不读取文件；请用 --data-file {file}");
        return Err(UsageError::new("--data", trouble));
    }
    let kind = Some("application/x-www-form-urlencoded".to_owned());
    let texts = [config.values("data"), config.values("data-raw")].concat();
    let text = texts.join("&");
    let text = marks.replace_slots(&text, "--data", SlotGuard::None)?;
    let length = marks.occur_in(text.as_bytes()).then(|| marks.length_placeholder());
    Ok(RequestBody { bytes: Arc::from(text.as_bytes()), kind, length, chunked: false })
}

/// Size of a chunk in bytes, as used by clients that send a file while reading it.
const CHUNK: usize = 16 * 1024;

/// Encodes the body in chunks if a header line asks for it.
///
/// # Errors
/// Returns an error if the request cannot have chunks.
pub fn apply_chunked(
    config: &ProtocolConfig,
    headers: &[HeaderOverride],
    content: &mut Option<RequestBody>,
) -> Result<(), UsageError> {
    let is_coding = |wish: &&HeaderOverride| wish.name().eq_ignore_ascii_case("transfer-encoding");
    let Some(HeaderOverride::Set(_, value)) = headers.iter().find(is_coding) else { return Ok(()) };
    let wrong = |trouble: Complaint| Err(UsageError::new("--header", trouble));
    if !value.trim().eq_ignore_ascii_case("chunked") {
        return wrong(complaint!(
            "Transfer-Encoding can only be chunked; write `Transfer-Encoding: chunked`, or leave it out",
            "Transfer-Encoding 只能是 chunked；请写 `Transfer-Encoding: chunked`，或去掉"
        ));
    }
    if config.switch("http2") || !matches!(config.value("http"), None | Some("1.1" | "1")) {
        return wrong(complaint!(
            "Transfer-Encoding: chunked is HTTP/1.1 only; leave it out, or use --http 1.1",
            "Transfer-Encoding: chunked 只用于 HTTP/1.1；请去掉，或用 --http 1.1"
        ));
    }
    match content {
        None => wrong(complaint!(
            "Transfer-Encoding: chunked needs a body; add --data, or leave it out",
            "Transfer-Encoding: chunked 需要正文；请加上 --data，或去掉"
        )),
        Some(content) if content.length.is_some() => wrong(complaint!(
            "Transfer-Encoding: chunked cannot be combined with a body with slots; leave one of them out",
            "Transfer-Encoding: chunked 不能与含占位符的正文同用；请去掉其中一个"
        )),
        Some(content) => {
            (content.bytes, content.chunked) = (Arc::from(chunks(&content.bytes)), true);
            Ok(())
        }
    }
}

fn chunks(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + body.len() / CHUNK * 8 + 16);
    for piece in body.chunks(CHUNK) {
        out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        out.extend_from_slice(piece);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_cut_into_chunks() {
        assert_eq!(chunks(b"a=b"), b"3\r\na=b\r\n0\r\n\r\n");
        assert_eq!(chunks(b""), b"0\r\n\r\n");
        let long = chunks(&[b'x'; CHUNK + 1]);
        assert!(long.starts_with(b"4000\r\nx") && long.ends_with(b"x\r\n1\r\nx\r\n0\r\n\r\n"));
    }
}
