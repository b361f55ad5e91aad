//! The user's screen: lines on standard output and standard error, and a progress line on a terminal.
//!
//! `brunt URL | head` closes our output in the middle of a run. From then on nothing is written,
//! but the program does not panic; the caller may check [`Screen::closed`] to decide whether to
//! continue. A full disk is different: requested output is missing, which is reported on standard
//! error and in the exit code.
//!
//! Lines also contain text from servers, records and plans: control characters in it never reach the terminal.

use std::io::{self, IsTerminal, Write};

use brunt_config::redact;
use brunt_measure::sanitize;
use brunt_report::{Exit, Lang};

use crate::document::in_pieces;
use crate::messages;
use crate::timed_writer::TimedWriter;

/// The destination of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
    /// No output: `--quiet`.
    Discard,
}

/// An output stream of the terminal.
pub struct Screen {
    stream: OutputStream,
    closed: bool,
    trouble: Option<io::Error>,
    progress: bool,
    terminal: bool,
}

impl Screen {
    /// Creates a screen that writes to `side`.
    pub fn new(side: OutputStream) -> Screen {
        let terminal = match side {
            OutputStream::Out => io::stdout().is_terminal(),
            OutputStream::Error => io::stderr().is_terminal(),
            OutputStream::Discard => false,
        };
        Screen { stream: side, closed: false, trouble: None, progress: false, terminal }
    }

    /// Returns `true` if the output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns the width in columns: that of the terminal, or else 80.
    pub fn width(&self) -> usize {
        let size = match self.stream {
            OutputStream::Out => rustix::termios::tcgetwinsize(io::stdout()),
            OutputStream::Error | OutputStream::Discard => rustix::termios::tcgetwinsize(io::stderr()),
        };
        size.map_or(80, |size| usize::from(size.ws_col)).max(40)
    }

    /// Returns `true` once the reader has gone.
    pub fn closed(&self) -> bool {
        self.closed
    }

    /// Takes the error of standard output, if it could not be written although it is not closed,
    /// for example on a full disk.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.trouble.take()
    }

    /// Writes one or more lines and a line break.
    pub fn line(&mut self, text: &str) {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let erase = if self.progress { "\r\x1b[K" } else { "" };
        self.progress = false;
        self.write(&format!("{erase}{}{end}", sanitize::text_with_colors(text)));
    }

    /// Replaces the progress line; does nothing without a terminal.
    pub fn progress(&mut self, text: &str) {
        if self.terminal {
            self.progress = true;
            // The cursor returns to the start, so that an echo of the terminal (^C) does not break the line and leave a
            // bar behind.
            self.write(&format!("\r{}\x1b[K\r", sanitize::text_with_colors(text)));
        }
    }

    /// Removes the progress line.
    pub fn end_progress(&mut self) {
        if std::mem::take(&mut self.progress) {
            self.write("\r\x1b[K");
        }
    }

    fn write(&mut self, text: &str) {
        if self.closed {
            return;
        }
        let outcome = match self.stream {
            OutputStream::Out => TimedWriter(io::stdout().lock()).write_all(text.as_bytes()),
            OutputStream::Error => TimedWriter(io::stderr().lock()).write_all(text.as_bytes()),
            OutputStream::Discard => Ok(()),
        };
        match outcome {
            Err(error) if is_reader_gone(&error) => self.closed = true,
            // Later writes may succeed, unless the reader took nothing until the run's timeout.
            Err(error) => {
                self.closed |= error.kind() == io::ErrorKind::TimedOut;
                self.trouble = Some(error).filter(|_| self.stream == OutputStream::Out);
            }
            Ok(()) => {}
        }
    }
}

/// Returns `true` if the reader has gone: a pipe without a reader, a closed terminal.
fn is_reader_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe || error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

/// Writes one line to standard error, with secrets masked; errors are ignored.
pub fn print_error(text: &str) {
    let said = redact::redact_error(text);
    let _ = TimedWriter(io::stderr().lock()).write_all(format!("{}\n", sanitize::text(&said)).as_bytes());
}

/// Writes text to standard output as the only output of a command; returns `code`, or the exit code for output that
/// could not be written.
pub fn print(text: &str, code: u8, lang: Lang) -> u8 {
    print_unescaped(&sanitize::text(text), code, lang)
}

/// Like [`print()`], for text of our own that needs no escaping, such as a shell script.
pub fn print_unescaped(text: &str, code: u8, lang: Lang) -> u8 {
    match document(|out| out.write_all(text.as_bytes())) {
        Ok(()) => code,
        Err(error) => {
            not_written(&error, lang);
            if code == 0 { Exit::NotWritten.code() } else { code }
        }
    }
}

/// Reports that standard output could not be written.
pub fn not_written(error: &io::Error, lang: Lang) {
    print_error(&lang.fill(messages::OUTPUT_NOT_WRITTEN, &[("error", &error.to_string())]));
}

/// Writes the output of `fill` to standard output.
///
/// # Errors
/// Returns the error of a failed write, unless it failed because the reader has gone.
pub fn document(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let written = in_pieces(TimedWriter(io::stdout().lock()), fill).map(drop);
    match written {
        Err(error) if is_reader_gone(&error) => Ok(()),
        outcome => outcome,
    }
}
