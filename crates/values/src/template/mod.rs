//! Text with slots, compiled once and filled for every request without an allocation.
//!
//! `{counter}`, `{random 16}`, `{random 1..100}`, `{user}`, `{time}`, `{uuid}` and `{csv FILE.COLUMN}` are filled from
//! [`wire::Fill`]; `{name=…}` gives a part a name, and `{length …}`, `{crc32 …}`, `{md5 …}`, `{hmac-md5 KEY …}`, `{xor A B}`
//! and their like are made from a part, so that binary protocols need no code. `{{` and `}}` are braces themselves.
//! `docs/guide/data.md` lists all of it. Any protocol may use it: none is named here. Left out: arithmetic and conditions.

mod change;
mod check;
mod checksum;
mod csv;
mod digest;
mod emit;
mod encoding;
mod feeds;
mod format;
mod jsonl;
mod loose;
#[cfg(test)]
mod loose_tests;
mod notation;
mod parse;
mod piece;
mod resolve;
pub mod room;
mod rows;
mod sizes;
mod slots;
#[cfg(test)]
mod tests;
mod value;

use std::ops::Range;

#[cfg(any(test, feature = "oracle"))]
use wire::Values;
use wire::{Complaint, Fill, Trace};

pub use csv::Files;
pub use emit::Captured;
pub use encoding::widened;
pub use feeds::{Unused, unused};
pub use format::decimal;
pub use loose::{Found, names, pieces, slot_at, strict};
pub use notation::Notation;
pub use piece::{MOST_CAPTURED, MOST_MARKS, MOST_OF_A_VALUE};
pub use slots::Scope;

use piece::{Function, Made, Part, Piece, Program};

/// True for the names of slots, which nothing else can be called.
pub fn is_reserved(name: &str) -> bool {
    let everywhere = Scope { sequence: true, captured: Some(0), variables: &[] };
    everywhere.is_value(name) || parse::is_function(name) || name == "text"
}

/// A text whose slots are compiled.
#[derive(Debug)]
pub struct Template {
    program: Program,
    end: Option<u64>,
    /// It has a `{sequence}`.
    numbered: bool,
    /// It has a `{captured}`.
    captured: bool,
    /// Of a `{traceparent}`: which traces are sampled.
    traced: Option<u64>,
}

impl Template {
    fn of(program: Program, files: &Files) -> Template {
        let (numbered, captured) = (check::is_numbered(&program), check::has_captured(&program));
        let traced = check::traced(&program);
        Template { program, end: files.end(), numbered, captured, traced }
    }

    /// Compiles a text that stands for itself between its slots. `place` is what a complaint names: an option or a line.
    ///
    /// # Errors
    /// What is wrong with a slot, and what would be right.
    pub fn parse(text: &str, place: &str) -> Result<Template, Complaint> {
        Template::parse_as(text, place, Notation::Plain)
    }

    /// As [`Template::parse`], with the bytes between the slots written in another notation.
    ///
    /// # Errors
    /// What is wrong with a slot or with the notation, and what would be right.
    pub fn parse_as(text: &str, place: &str, notation: Notation) -> Result<Template, Complaint> {
        Template::parse_in(text, place, notation, Scope::default())
    }

    /// The same of a text that has slots of its own kind.
    ///
    /// # Errors
    /// What is wrong with a slot or with the notation, and what would be right.
    pub fn parse_in(text: &str, place: &str, notation: Notation, scope: Scope<'_>) -> Result<Template, Complaint> {
        let mut files = Files::default();
        let program = parse::program(text, (notation, scope), &mut files);
        Ok(Template::of(program.map_err(|trouble| Complaint::new(place, trouble))?, &files))
    }

    /// As [`Template::parse`], of a text that has braces of its own: what begins no slot stays as it is.
    ///
    /// # Errors
    /// What is wrong with a slot, or a word that was meant to be one.
    pub fn of_text(text: &str, place: &str, notation: Notation, scope: Scope<'_>) -> Result<Template, Complaint> {
        let mut known = Vec::new();
        names(text, scope, &mut known);
        let found = pieces(text, &known, scope).map_err(|trouble| Complaint::new(place, trouble))?;
        Template::parse_in(&strict(&found), place, notation, scope)
    }

    /// Two texts in one template, as [`Template::of_text`] reads each, with a mark between them: both have the same values, and the
    /// second may name parts of the first.
    ///
    /// # Errors
    /// As [`Template::of_text`].
    pub fn of_two(texts: [Source<'_>; 2], notation: Notation, scope: Scope<'_>) -> Result<Template, Complaint> {
        let mut known = Vec::new();
        texts.iter().filter_map(Source::text).for_each(|text| names(text, scope, &mut known));
        let mut files = Files::default();
        let mut builder = Builder { notation, scope, ..Builder::new(&mut files) };
        let [first, second] = texts;
        builder.put(&first, &known)?;
        builder.mark();
        builder.put(&second, &known)?;
        builder.finish().map_err(|trouble| Complaint::new(second.place, trouble))
    }

    /// Bytes without slots.
    pub fn fixed(bytes: impl Into<Vec<u8>>) -> Template {
        Template { program: Program::of_bytes(bytes.into()), end: None, numbered: false, captured: false, traced: None }
    }

    /// Appends the text with its slots filled. The same `fill` gives the same bytes.
    #[inline]
    pub fn fill(&self, fill: &Fill, out: &mut Vec<u8>) {
        match self.is_fixed() {
            Some(bytes) => out.extend_from_slice(bytes),
            None => emit::program(&self.program, fill, out),
        }
    }

    /// As [`Template::fill`], and tells where the marks of a text that was put together came to stand.
    #[inline]
    pub fn fill_marked(&self, fill: &Fill, out: &mut Vec<u8>, marks: &mut [usize]) {
        emit::marked(&self.program, (fill, Captured::default()), out, marks);
    }

    /// As [`Template::fill`], of a reply to a message in which a pattern found something.
    pub fn fill_captured(&self, fill: &Fill, captured: Captured<'_>, out: &mut Vec<u8>) {
        emit::marked(&self.program, (fill, captured), out, &mut []);
    }

    /// True where it holds the number of what is said on its connection (`{sequence}`).
    #[inline]
    pub fn is_numbered(&self) -> bool {
        self.numbered
    }

    /// The trace that stands in it (`{traceparent}`), filled so.
    #[inline]
    pub fn trace(&self, fill: &Fill) -> Option<Trace> {
        self.traced.map(|sampled| Trace::of(fill, sampled))
    }

    /// The same for trials before the run: each row of its data is taken by one of so many requests.
    pub fn rehearsed(mut self) -> (Template, u64) {
        let requests = check::take_rows_in_turn(&mut self.program);
        (self, requests)
    }

    /// After how many requests of a run its data is at an end (`{csv users.csv.name stop}`); None: never.
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// True where every request has the same: slots were filled before the run, or there are none.
    pub fn is_constant(&self) -> bool {
        self.program.pieces.iter().all(|piece| matches!(piece, Piece::Bytes(_) | Piece::Mark(_)))
    }

    /// True where it holds what a pattern found (`{captured}`).
    pub fn has_captured(&self) -> bool {
        self.captured
    }

    /// All of the text where it has no slots, so that it may be encoded once.
    #[inline]
    pub fn is_fixed(&self) -> Option<&[u8]> {
        self.program.fixed()
    }
}

/// What the value of a slot must not hold where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Anything may stand there.
    None,
    /// A URL: what can stand in none is percent-encoded.
    Url,
    /// A line of a head: no control character may stand there.
    Line,
}

/// Puts a template together of bytes and slots.
#[derive(Debug)]
pub struct Builder<'f> {
    pieces: Vec<Piece>,
    parts: Vec<Part>,
    files: &'f mut Files,
    marks: usize,
    /// Slots that stand in lines.
    lines: Vec<(Range<usize>, String)>,
    /// How the bytes within slots are written.
    notation: Notation,
    scope: Scope<'f>,
}

/// A text that is put into a template.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its bytes; as they are sent, where it has no slots.
    pub bytes: &'a [u8],
    /// It may have slots.
    pub slots: bool,
    /// What a complaint names.
    pub place: &'a str,
}

impl<'a> Source<'a> {
    /// It as a text, where it may have slots.
    fn text(&self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes).ok().filter(|_| self.slots)
    }
}

/// Random values of one slot that is put in and of the next differ by this.
const SALTS: u64 = 1 << 10;

impl<'f> Builder<'f> {
    /// The same for texts that have slots of their own kind.
    pub fn in_scope(self, scope: Scope<'f>) -> Builder<'f> {
        Builder { scope, ..self }
    }

    /// Nothing yet; files that slots name are kept in `files`.
    pub fn new(files: &'f mut Files) -> Builder<'f> {
        Builder {
            pieces: Vec::new(),
            parts: Vec::new(),
            files,
            marks: 0,
            lines: Vec::new(),
            notation: Notation::Plain,
            scope: Scope::default(),
        }
    }

    /// Appends what is always the same.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.pieces.push(Piece::Bytes(bytes.into()));
    }

    /// Appends a text with braces of its own, in which parts have these names.
    fn put(&mut self, source: &Source<'_>, known: &[String]) -> Result<(), Complaint> {
        let Some(text) = source.text() else {
            self.bytes(source.bytes);
            return Ok(());
        };
        let wrong = |trouble: String| Complaint::new(source.place, trouble);
        for piece in pieces(text, known, self.scope).map_err(wrong)? {
            match piece {
                Found::Text(text) => self.bytes(&self.notation.bytes(text).map_err(wrong)?),
                Found::Slot(slot) => self.slot(slot, self.pieces.len() as u64 * SALTS, Guard::None).map_err(wrong)?,
            }
        }
        Ok(())
    }

    /// Appends a mark: filling tells where it came to stand.
    pub fn mark(&mut self) {
        self.pieces.push(Piece::Mark(self.marks));
        self.marks += 1;
    }

    /// Appends a slot. Random values differ where `salt` does.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn slot(&mut self, text: &str, salt: u64, guard: Guard) -> Result<(), String> {
        let written = (self.notation, self.scope);
        let mut pieces = parse::slot(text, salt, written, &mut self.parts, self.files)?;
        if guard == Guard::Url && check::may_hold(&pieces, &self.parts, &emit::no_url) {
            pieces = vec![Piece::Made(Box::new(Made { function: Function::UrlSafe, content: pieces }))];
        }
        // What a flow will know is not known yet.
        if guard == Guard::Line && check::holds_variable(&pieces) {
            pieces = vec![Piece::Made(Box::new(Made { function: Function::LineSafe, content: pieces }))];
        }
        let from = self.pieces.len();
        self.pieces.extend(pieces);
        if guard == Guard::Line {
            self.lines.push((from..self.pieces.len(), text.to_owned()));
        }
        Ok(())
    }

    /// The template.
    ///
    /// # Errors
    /// What cannot be worked out.
    pub fn finish(self) -> Result<Template, String> {
        for (range, text) in &self.lines {
            if check::may_hold(&self.pieces[range.clone()], &self.parts, &emit::ends_line) {
                let mut bare = text.clone();
                bare.pop();
                return Err(format!(
                    "{text} may contain a line break or another control character, which would break the header; \
                        write for instance {bare} | url}}"
                ));
            }
        }
        let program = resolve::program(Program { pieces: self.pieces, parts: self.parts })?;
        Ok(Template::of(program, self.files))
    }
}

/// What is always true, whatever the text: for the fuzz target. Texts that read files are left out.
///
/// # Panics
/// Where it is not.
#[cfg(any(test, feature = "oracle"))]
pub fn oracle(text: &str) {
    if text.contains("csv") || text.len() > 4096 {
        return;
    }
    for notation in [Notation::Plain, Notation::Escaped, Notation::Hex] {
        let known = ["known".to_owned()];
        let scope = Scope { sequence: true, captured: Some(1), variables: &known };
        let Ok(template) = Template::parse_in(text, "", notation, scope) else { continue };
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        let mut values = Values::default();
        values.set(0, b"a\r\nb");
        let fill = Fill { number: 41, user: 7, random: 3, unix_ns: 5, run: 9, sequence: 2, values: &values };
        let captured = Captured { text: b"abc", groups: &[(0, 3), (1, 2)] };
        template.fill_captured(&fill, captured, &mut once);
        template.fill_captured(&fill, captured, &mut twice);
        assert_eq!(once, twice);
    }
    let mut known = Vec::new();
    names(text, Scope::default(), &mut known);
    if let Ok(found) = pieces(text, &known, Scope::default()) {
        let whole: String = found
            .iter()
            .map(|piece| match piece {
                Found::Text(text) | Found::Slot(text) => *text,
            })
            .collect();
        assert!(whole.len() <= text.len());
        if !found.iter().any(|piece| matches!(piece, Found::Slot(_))) && !text.contains("{{") {
            assert_eq!(whole, text);
        }
    }
}
