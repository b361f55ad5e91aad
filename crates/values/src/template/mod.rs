//! Templates: texts with slots, compiled once and filled for every request without allocation.
//!
//! `{counter}`, `{random 16}`, `{random 1..100}`, `{user}`, `{time}`, `{uuid}` and `{csv FILE.COLUMN}` are filled from
//! [`wire::Fill`]. `{name=…}` names a part, and `{length …}`, `{crc32 …}`, `{md5 …}`, `{hmac-md5 KEY …}`, `{xor A B}`
//! and the like are computed from a part, so that binary protocols need no code. `{{` and `}}` are literal braces.
//! `docs/guide/data.md` lists all slots. The module is independent of any protocol. Arithmetic and conditions are not
//! supported.

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

/// Returns `true` for names of slots, which cannot be used for anything else.
pub fn is_reserved(name: &str) -> bool {
    let everywhere = Scope { sequence: true, captured: Some(0), variables: &[] };
    everywhere.is_value(name) || parse::is_function(name) || name == "text"
}

/// A text with compiled slots.
#[derive(Debug)]
pub struct Template {
    program: Program,
    end: Option<u64>,
    /// Set if the text contains `{sequence}`.
    numbered: bool,
    /// Set if the text contains `{captured}`.
    captured: bool,
    /// Sampling threshold of `{traceparent}`, if the text contains it.
    traced: Option<u64>,
}

impl Template {
    fn of(program: Program, files: &Files) -> Template {
        let (numbered, captured) = (check::is_numbered(&program), check::has_captured(&program));
        let traced = check::traced(&program);
        Template { program, end: files.end(), numbered, captured, traced }
    }

    /// Compiles a text that is literal between its slots. `place` is the option or line named in errors.
    ///
    /// # Errors
    /// A description of what is wrong with a slot and what would be right.
    pub fn parse(text: &str, place: &str) -> Result<Template, Complaint> {
        Template::parse_as(text, place, Notation::Plain)
    }

    /// Like [`Template::parse`], with the bytes between the slots in another notation.
    ///
    /// # Errors
    /// A description of what is wrong with a slot or with the notation, and what would be right.
    pub fn parse_as(text: &str, place: &str, notation: Notation) -> Result<Template, Complaint> {
        Template::parse_in(text, place, notation, Scope::default())
    }

    /// Like [`Template::parse_as`], for a text with additional slots.
    ///
    /// # Errors
    /// A description of what is wrong with a slot or with the notation, and what would be right.
    pub fn parse_in(text: &str, place: &str, notation: Notation, scope: Scope<'_>) -> Result<Template, Complaint> {
        let mut files = Files::default();
        let program = parse::program(text, (notation, scope), &mut files);
        Ok(Template::of(program.map_err(|trouble| Complaint::new(place, trouble))?, &files))
    }

    /// Like [`Template::parse`], for a text with literal braces: a brace that begins no slot stays as it is.
    ///
    /// # Errors
    /// A description of what is wrong with a slot, or a word that is probably a misspelled slot.
    pub fn of_text(text: &str, place: &str, notation: Notation, scope: Scope<'_>) -> Result<Template, Complaint> {
        let mut known = Vec::new();
        names(text, scope, &mut known);
        let found = pieces(text, &known, scope).map_err(|trouble| Complaint::new(place, trouble))?;
        Template::parse_in(&strict(&found), place, notation, scope)
    }

    /// Compiles two texts into one template, each read as by [`Template::of_text`], with a mark between them. Both
    /// share the same values, and the second may refer to named parts of the first.
    ///
    /// # Errors
    /// See [`Template::of_text`].
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

    /// Creates a template from bytes without slots.
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

    /// Like [`Template::fill`], and records the offsets of the marks of a text built by a [`Builder`].
    #[inline]
    pub fn fill_marked(&self, fill: &Fill, out: &mut Vec<u8>, marks: &mut [usize]) {
        emit::marked(&self.program, (fill, Captured::default()), out, marks);
    }

    /// Like [`Template::fill`], for a reply to a message with captured groups.
    pub fn fill_captured(&self, fill: &Fill, captured: Captured<'_>, out: &mut Vec<u8>) {
        emit::marked(&self.program, (fill, captured), out, &mut []);
    }

    /// Returns `true` if the text contains the number of the message on its connection (`{sequence}`).
    #[inline]
    pub fn is_numbered(&self) -> bool {
        self.numbered
    }

    /// Returns the trace that the text contains (`{traceparent}`) for this fill.
    #[inline]
    pub fn trace(&self, fill: &Fill) -> Option<Trace> {
        self.traced.map(|sampled| Trace::of(fill, sampled))
    }

    /// Returns the same template for a rehearsal before the run, in which data rows are taken in order, and the number
    /// of requests it takes to use every row.
    pub fn rehearsed(mut self) -> (Template, u64) {
        let requests = check::take_rows_in_turn(&mut self.program);
        (self, requests)
    }

    /// Returns the number of requests of a run after which the data is used up (`{csv users.csv.name stop}`); `None` if
    /// it never is.
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// Returns `true` if the text is the same for all requests: there are no slots, or all were filled before the run.
    pub fn is_constant(&self) -> bool {
        self.program.pieces.iter().all(|piece| matches!(piece, Piece::Bytes(_) | Piece::Mark(_)))
    }

    /// Returns `true` if the text contains captured groups (`{captured}`).
    pub fn has_captured(&self) -> bool {
        self.captured
    }

    /// Returns the whole text if it has no slots, so that it can be encoded once.
    #[inline]
    pub fn is_fixed(&self) -> Option<&[u8]> {
        self.program.fixed()
    }
}

/// A restriction on the bytes of a slot's value, given by where the slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// No restriction.
    None,
    /// A URL: bytes not allowed in URLs are percent-encoded.
    Url,
    /// A header line: control characters are not allowed.
    Line,
}

/// A builder that assembles a template from bytes and slots.
#[derive(Debug)]
pub struct Builder<'f> {
    pieces: Vec<Piece>,
    parts: Vec<Part>,
    files: &'f mut Files,
    marks: usize,
    /// Slots in header lines.
    lines: Vec<(Range<usize>, String)>,
    /// Notation of the bytes within slots.
    notation: Notation,
    scope: Scope<'f>,
}

/// A text to be put into a template.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Bytes of the text; sent unchanged if it may not have slots.
    pub bytes: &'a [u8],
    /// Set if the text may have slots.
    pub slots: bool,
    /// Option or line named in errors.
    pub place: &'a str,
}

impl<'a> Source<'a> {
    /// Returns the text, if it may have slots.
    fn text(&self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes).ok().filter(|_| self.slots)
    }
}

/// Distance between the salts of consecutive slots, so that their random values differ.
const SALTS: u64 = 1 << 10;

impl<'f> Builder<'f> {
    /// Sets the additional slots that texts may use.
    pub fn in_scope(self, scope: Scope<'f>) -> Builder<'f> {
        Builder { scope, ..self }
    }

    /// Creates an empty builder; data files named by slots are cached in `files`.
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

    /// Appends constant bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.pieces.push(Piece::Bytes(bytes.into()));
    }

    /// Appends a text with literal braces; `known` are the names of parts.
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

    /// Appends a mark; filling records its offset.
    pub fn mark(&mut self) {
        self.pieces.push(Piece::Mark(self.marks));
        self.marks += 1;
    }

    /// Appends a slot. Slots with different `salt` have different random values.
    ///
    /// # Errors
    /// A description of what is wrong with the slot.
    pub fn slot(&mut self, text: &str, salt: u64, guard: Guard) -> Result<(), String> {
        let written = (self.notation, self.scope);
        let mut pieces = parse::slot(text, salt, written, &mut self.parts, self.files)?;
        if guard == Guard::Url && check::may_hold(&pieces, &self.parts, &emit::no_url) {
            pieces = vec![Piece::Made(Box::new(Made { function: Function::UrlSafe, content: pieces }))];
        }
        // The values of a flow's variables are not known yet.
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

    /// Finishes the template.
    ///
    /// # Errors
    /// A description of what cannot be resolved.
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

/// Checks invariants of any text, for the fuzz target. Texts that read files are skipped.
///
/// # Panics
/// Panics if an invariant is violated.
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
