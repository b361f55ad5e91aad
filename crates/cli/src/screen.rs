//! What the user sees: lines on standard output and standard error, and a progress line where there is a terminal.
//!
//! `brunt URL | head` closes our output in the middle of a run. Nobody reads any more, so nothing more is written; it is
//! no reason to panic, and the caller may ask [`Screen::closed`] whether to go on. A disk that is full is another thing: what
//! was asked for is not there, which is said on standard error and in the exit code.
//!
//! What a server, a record or a plan says is in these lines, too: nothing of it acts on the terminal, whoever made the line.

use std::io::{self, IsTerminal, Write};

use intent::redact;
use measure::plain;
use report::{Exit, Lang};

use crate::document::in_pieces;
use crate::messages;
use crate::patient::Patient;

/// Where lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
    /// Nowhere: `--quiet`.
    Nowhere,
}

/// One side of the terminal.
pub struct Screen {
    side: Side,
    closed: bool,
    trouble: Option<io::Error>,
    progress: bool,
    terminal: bool,
}

impl Screen {
    /// Writes to `side`.
    pub fn new(side: Side) -> Screen {
        let terminal = match side {
            Side::Out => io::stdout().is_terminal(),
            Side::Error => io::stderr().is_terminal(),
            Side::Nowhere => false,
        };
        Screen { side, closed: false, trouble: None, progress: false, terminal }
    }

    /// Returns `true` if a person looks at it.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Cells in a line: as the terminal says, else 80.
    pub fn width(&self) -> usize {
        let size = match self.side {
            Side::Out => rustix::termios::tcgetwinsize(io::stdout()),
            Side::Error | Side::Nowhere => rustix::termios::tcgetwinsize(io::stderr()),
        };
        size.map_or(80, |size| usize::from(size.ws_col)).max(40)
    }

    /// Returns `true` once the reader has gone.
    pub fn closed(&self) -> bool {
        self.closed
    }

    /// What of standard output could not be written though it has a reader: its disk is full.
    pub fn trouble(&mut self) -> Option<io::Error> {
        self.trouble.take()
    }

    /// Writes a line (or several) with an end.
    pub fn line(&mut self, text: &str) {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let erase = if self.progress { "\r\x1b[K" } else { "" };
        self.progress = false;
        self.write(&format!("{erase}{}{end}", plain::colored(text)));
    }

    /// Replaces the progress line; nothing where there is no terminal.
    pub fn progress(&mut self, text: &str) {
        if self.terminal {
            self.progress = true;
            // Back to its beginning: what the terminal echoes (^C) must not break the line and leave a bar behind.
            self.write(&format!("\r{}\x1b[K\r", plain::colored(text)));
        }
    }

    /// Takes the progress line away.
    pub fn end_progress(&mut self) {
        if std::mem::take(&mut self.progress) {
            self.write("\r\x1b[K");
        }
    }

    fn write(&mut self, text: &str) {
        if self.closed {
            return;
        }
        let outcome = match self.side {
            Side::Out => Patient(io::stdout().lock()).write_all(text.as_bytes()),
            Side::Error => Patient(io::stderr().lock()).write_all(text.as_bytes()),
            Side::Nowhere => Ok(()),
        };
        match outcome {
            Err(error) if has_gone(&error) => self.closed = true,
            // What follows may find room, but for a reader who took nothing until the run's time was over.
            Err(error) => {
                self.closed |= error.kind() == io::ErrorKind::TimedOut;
                self.trouble = Some(error).filter(|_| self.side == Side::Out);
            }
            Ok(()) => {}
        }
    }
}

/// Nobody reads any more: a pipe without a reader, a terminal that was closed.
fn has_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe || error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

/// One line on standard error, without secrets; a closed standard error is nobody's loss.
pub fn complain(text: &str) {
    let said = redact::complaint(text);
    let _ = Patient(io::stderr().lock()).write_all(format!("{}\n", plain::text(&said)).as_bytes());
}

/// Text on standard output, whoever it is from, and the exit code of a command that has nothing else to say: `code`, or that
/// of an output that could not be written.
pub fn answer(text: &str, code: u8, lang: Lang) -> u8 {
    answer_as_is(&plain::text(text), code, lang)
}

/// Like [`answer`], of a text of our own: a script for a shell.
pub fn answer_as_is(text: &str, code: u8, lang: Lang) -> u8 {
    match document(|out| out.write_all(text.as_bytes())) {
        Ok(()) => code,
        Err(error) => {
            not_written(&error, lang);
            if code == 0 { Exit::NotWritten.code() } else { code }
        }
    }
}

/// Says that standard output could not be written.
pub fn not_written(error: &io::Error, lang: Lang) {
    complain(&lang.fill(messages::OUTPUT_NOT_WRITTEN, &[("error", &error.to_string())]));
}

/// A document on standard output, as `fill` writes it.
///
/// # Errors
/// What went wrong, but for a reader that has gone.
pub fn document(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let written = in_pieces(Patient(io::stdout().lock()), fill).map(drop);
    match written {
        Err(error) if has_gone(&error) => Ok(()),
        outcome => outcome,
    }
}
