//! The body of a request, from the options that say what it is.

use std::sync::Arc;

use wire::{Asked, Complaint};

use super::multipart;
use super::request::Content;
use crate::marks::Marks;
use values::file;
use values::template::Guard;

/// Files of bodies are looked through for slots up to this size; larger ones go as they are.
const LOOKED_THROUGH: usize = 1 << 20;

/// The body that is asked for, if any.
///
/// # Errors
/// Two of them, or a file that cannot be read.
pub fn content(asked: &Asked, marks: &mut Marks) -> Result<Option<Content>, Complaint> {
    let given: Vec<&str> =
        ["data", "data-raw", "data-file", "form", "form-string"].into_iter().filter(|n| asked.switch(n)).collect();
    match given[..] {
        [] => Ok(None),
        ["data"] | ["data-raw"] | ["data", "data-raw"] => form_text(asked, marks).map(Some),
        ["data-file"] => {
            let path = asked.value("data-file").unwrap_or_default();
            let bytes = file::shared("--data-file", path)?;
            let marked = match std::str::from_utf8(&bytes).ok().filter(|text| text.len() <= LOOKED_THROUGH) {
                Some(text) => marks.take(text, path, Guard::None)?,
                None => "".into(),
            };
            let length = marks.are_in(marked.as_bytes()).then(|| marks.length());
            let bytes = if length.is_some() { Arc::from(marked.as_bytes()) } else { Arc::clone(&bytes) };
            Ok(Some(Content { bytes, kind: None, length, chunked: false }))
        }
        ["form"] | ["form-string"] | ["form", "form-string"] => {
            multipart::content(asked.values("form"), asked.values("form-string"), asked.seed, marks).map(Some)
        }
        [first, .., last] => Err(Complaint::new(
            format!("--{last}"),
            format!("does not go with --{first}, as a request has one body; leave one of them out"),
        )),
        [_] => Ok(None),
    }
}

fn form_text(asked: &Asked, marks: &mut Marks) -> Result<Content, Complaint> {
    if let Some(file) = asked.values("data").iter().find_map(|t| t.strip_prefix('@')) {
        let trouble = format!("files are not read here; write --data-file {file}");
        return Err(Complaint::new("--data", trouble));
    }
    let kind = Some("application/x-www-form-urlencoded".to_owned());
    let texts = [asked.values("data"), asked.values("data-raw")].concat();
    let text = texts.join("&");
    let text = marks.take(&text, "--data", Guard::None)?;
    let length = marks.are_in(text.as_bytes()).then(|| marks.length());
    Ok(Content { bytes: Arc::from(text.as_bytes()), kind, length, chunked: false })
}
