//! JSON for machines: [`crate::document`], with one top-level key per line and one second per line.
//!
//! Seconds are read again and written one at a time, so that a report on two hours needs no more memory than one on ten
//! seconds.

use std::io::{self, Write};

use brunt_measure::sanitize::is_invisible;
use serde::Serialize;
use serde_json::ser::Formatter;

use super::{ReportFormat, Style};
use crate::document::Report;
use crate::seconds::SecondsSource;
use crate::summary::Summary;

/// The JSON format (see the module documentation).
pub(super) struct JsonFormat;

impl ReportFormat for JsonFormat {
    fn name(&self) -> &'static str {
        "json"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["json"]
    }

    fn write(&self, summary: &Summary, seconds: &dyn SecondsSource, _: Style, out: &mut dyn Write) -> io::Result<()> {
        let mut to = serde_json::Serializer::with_formatter(&mut *out, ShallowFormatter::default());
        Report::of(summary, seconds.pass()?).serialize(&mut to).map_err(io::Error::from)?;
        out.write_all(b"\n")
    }
}

/// A JSON formatter that breaks lines at the two outer levels only.
#[derive(Default)]
struct ShallowFormatter {
    depth: usize,
}

impl ShallowFormatter {
    fn line<W: ?Sized + Write>(&self, to: &mut W, first: bool) -> io::Result<()> {
        if !first {
            to.write_all(b",")?;
        }
        match self.depth {
            1 => to.write_all(b"\n  "),
            2 => to.write_all(b"\n    "),
            _ => Ok(()),
        }
    }
    fn end<W: ?Sized + Write>(&mut self, to: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        match self.depth {
            0 => to.write_all(b"\n")?,
            1 => to.write_all(b"\n  ")?,
            _ => {}
        }
        to.write_all(bracket)
    }
}

impl Formatter for ShallowFormatter {
    /// Escapes characters that control a terminal, beyond what JSON requires, without loss.
    fn write_string_fragment<W: ?Sized + Write>(&mut self, to: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_invisible(*c)) {
            to.write_all(&rest.as_bytes()[..at])?;
            c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(to, "\\u{unit:04x}"))?;
            rest = &rest[at + c.len_utf8()..];
        }
        to.write_all(rest.as_bytes())
    }
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        to.write_all(b"[")
    }
    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b"]")
    }
    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.line(to, first)
    }
    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        to.write_all(b"{")
    }
    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b"}")
    }
    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.line(to, first)
    }
    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }
}
