//! The text of a data file in UTF-8. A small file is in memory; of a large one only what is asked for is read.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use brunt_cause::Complaint;

use super::binary_file;
use super::encoding::{self, ENCODING_SAMPLE, TextDecoder, TextEncoding, Utf8Check};
use crate::file::{self, FileContent};

/// Size of the pieces in which a file is read, in bytes.
pub const PIECE: usize = 1 << 20;

/// A text that can be read at any offset.
#[derive(Debug)]
pub enum DataText {
    /// In memory.
    Memory(Arc<[u8]>),
    /// On disk, from an offset to an end.
    File {
        /// The open file.
        file: File,
        /// Offset after the byte-order mark.
        from: u64,
        /// Length in bytes from there.
        length: u64,
    },
}

impl DataText {
    /// Opens a file and converts it to UTF-8 if it is in another encoding: UTF-16 by its mark or its zero bytes, and
    /// Windows-1252 if it is not UTF-8.
    ///
    /// # Errors
    /// The file cannot be read, or is a workbook or an archive; the error describes why.
    pub fn open(path: &str) -> Result<DataText, Complaint> {
        let text = match file::content(path)? {
            FileContent::Memory(bytes) => {
                binary_file::refuse(path, &bytes)?;
                DataText::Memory(in_utf_8(bytes))
            }
            FileContent::File(file) => {
                let unreadable = |error| file::unreadable(path, &error);
                let mut start = vec![0; ENCODING_SAMPLE];
                let length = file.read_at(&mut start, 0).map_err(unreadable)?;
                binary_file::refuse(path, &start[..length])?;
                DataText::large(file).map_err(unreadable)?
            }
        };
        Ok(text)
    }

    fn large(file: File) -> io::Result<DataText> {
        let whole = DataText::File { length: file.metadata()?.len(), file, from: 0 };
        let mut piece = Vec::new();
        whole.read(0, ENCODING_SAMPLE, &mut piece)?;
        let (mut encoding, mark) = TextEncoding::of_start(&piece);
        if encoding == TextEncoding::Utf8 {
            let mut check = Utf8Check::default();
            if !whole.pieces(mark as u64, |piece, last| Ok(check.accepts(piece, last)))? {
                encoding = TextEncoding::Windows1252;
            }
        }
        match (whole, encoding) {
            (DataText::File { file, length, .. }, TextEncoding::Utf8) => {
                Ok(DataText::File { file, from: mark as u64, length: length - mark as u64 })
            }
            (whole, encoding) => whole.converted(mark as u64, encoding),
        }
    }

    /// Writes the text in UTF-8 to a file without a name, on disk as `/tmp` is often held in memory.
    fn converted(&self, mark: u64, encoding: TextEncoding) -> io::Result<DataText> {
        let folder = std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
        let mut file = tempfile::tempfile_in(folder).or_else(|_| tempfile::tempfile())?;
        let (mut decoder, mut out, mut length) = (TextDecoder::new(encoding), Vec::new(), 0);
        self.pieces(mark, |piece, last| {
            out.clear();
            decoder.decode(piece, last, &mut out);
            length += out.len() as u64;
            file.write_all(&out).map(|()| true)
        })?;
        Ok(DataText::File { file, from: 0, length })
    }

    /// Hands over the text in pieces until one is not accepted; returns `true` if all were.
    fn pieces(&self, from: u64, mut accept: impl FnMut(&[u8], bool) -> io::Result<bool>) -> io::Result<bool> {
        let (mut at, mut piece) = (from, Vec::new());
        loop {
            piece.clear();
            self.read(at, PIECE, &mut piece)?;
            at += piece.len() as u64;
            let last = piece.len() < PIECE;
            if !accept(&piece, last)? {
                return Ok(false);
            }
            if last {
                return Ok(true);
            }
        }
    }

    /// Returns the length in bytes.
    pub fn length(&self) -> u64 {
        match self {
            DataText::Memory(bytes) => bytes.len() as u64,
            DataText::File { length, .. } => *length,
        }
    }

    /// Returns `true` if the text is in memory.
    pub fn is_in_memory(&self) -> bool {
        matches!(self, DataText::Memory(_))
    }

    /// Appends up to `count` bytes from an offset on; fewer only at the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self, at: u64, count: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let count = self.length().saturating_sub(at).min(count as u64) as usize;
        match self {
            DataText::Memory(bytes) => {
                let at = at.min(bytes.len() as u64) as usize;
                out.extend_from_slice(&bytes[at..at + count]);
                Ok(())
            }
            DataText::File { file, from, .. } => {
                let before = out.len();
                out.resize(before + count, 0);
                file.read_exact_at(&mut out[before..], from + at)
            }
        }
    }

    /// Returns the number of line breaks before an offset.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn line_breaks(&self, before: u64) -> io::Result<u64> {
        let (mut at, mut piece, mut breaks, mut after_return) = (0, Vec::new(), 0, false);
        while at < before {
            piece.clear();
            self.read(at, PIECE.min((before - at) as usize), &mut piece)?;
            for byte in &piece {
                breaks += u64::from(*byte == b'\r' || *byte == b'\n' && !after_return);
                after_return = *byte == b'\r';
            }
            at += piece.len().max(1) as u64;
        }
        Ok(breaks)
    }
}

/// Converts a text in memory.
fn in_utf_8(bytes: Arc<[u8]>) -> Arc<[u8]> {
    let (mut encoding, mark) = TextEncoding::of_start(&bytes);
    if encoding == TextEncoding::Utf8 && std::str::from_utf8(&bytes[mark..]).is_err() {
        encoding = TextEncoding::Windows1252;
    }
    match (encoding, mark) {
        (TextEncoding::Utf8, 0) => bytes,
        (encoding, mark) => encoding::decoded(encoding, &bytes[mark..]).into(),
    }
}
