//! Templates: texts with slots, compiled once and filled for every request without allocation.
//!
//! `{counter}`, `{random 16}`, `{random 1..100}`, `{user}`, `{time}`, `{uuid}` and `{csv FILE.COLUMN}` are filled from
//! [`brunt_contract::SlotContext`]. `{name=…}` names a part, and `{length …}`, `{crc32 …}`, `{md5 …}`, `{hmac-md5 KEY
//! …}`, `{xor A B}` and the like are computed from a part, so that binary protocols need no code. `{{` and `}}` are
//! literal braces. `docs/guide/data.md` lists all slots. The module is independent of any protocol. Arithmetic and
//! conditions are not supported.

mod change;
mod check;
mod checksum;
mod csv;
mod data_usage;
mod digest;
mod emit;
mod encoding;
mod format;
mod literal_braces;
#[cfg(test)]
mod literal_braces_tests;
mod notation;
mod parse;
mod piece;
pub mod reserved_digits;
mod resolve;
mod rows;
mod sizes;
mod slots;
#[cfg(test)]
mod tests;
mod value;

use std::ops::Range;

use brunt_cause::{Complaint, complaint};
#[cfg(any(test, feature = "oracle"))]
use brunt_contract::UserValues;
use brunt_contract::{SlotContext, Trace, UsageError};

pub use csv::DataFiles;
pub use data_usage::{ShortRow, UnusedColumns, columns, short_rows, unused_columns};
pub use emit::CapturedGroups;
pub use encoding::expand;
pub use format::append_decimal;
pub use literal_braces::{SlotTextPiece, collect_part_names, slot_length, split_pieces, to_template};
pub use notation::Notation;
pub use piece::{MOST_CAPTURED, MOST_MARKS, MOST_OF_A_VALUE};
pub use slots::SlotScope;

use piece::{FunctionCall, TemplateFunction, TemplatePart, TemplatePiece, TemplateProgram};

/// Returns `true` for the name of a slot, which cannot name anything else.
pub fn is_reserved(name: &str) -> bool {
    let everywhere = SlotScope { sequence: true, captured: Some(0), variables: &[] };
    everywhere.is_value(name) || parse::is_function(name) || name == "text"
}

/// Returns `true` for an encoding or another change that may follow a value in a slot (`url`, `slice 7..`).
pub fn is_change(words: &str) -> bool {
    parse::encoding(words).is_some()
}

/// A text with compiled slots.
#[derive(Debug)]
pub struct Template {
    program: TemplateProgram,
    end: Option<u64>,
    /// Set if the text contains `{sequence}`.
    numbered: bool,
    /// Set if the text contains `{captured}`.
    captured: bool,
    /// Sampling threshold of `{traceparent}`; `None` if the text does not contain it.
    traced: Option<u64>,
}

impl Template {
    fn of(program: TemplateProgram, files: &DataFiles) -> Template {
        let (numbered, captured) = (check::is_numbered(&program), check::has_captured(&program));
        let traced = check::trace_sampling(&program);
        Template { program, end: files.end(), numbered, captured, traced }
    }

    /// Compiles a text that is literal between its slots. `place` is the option or line named in errors.
    ///
    /// # Errors
    /// A slot is invalid; the error describes why and gives the correct syntax.
    pub fn parse(text: &str, place: &str) -> Result<Template, UsageError> {
        Template::parse_as(text, place, Notation::Plain)
    }

    /// Like [`Template::parse`], for a text whose bytes between the slots are written in this notation.
    ///
    /// # Errors
    /// A slot or the notation is invalid; the error describes why and gives the correct syntax.
    pub fn parse_as(text: &str, place: &str, notation: Notation) -> Result<Template, UsageError> {
        Template::parse_scoped(text, place, notation, SlotScope::default())
    }

    /// Like [`Template::parse_as`], for a text that may use additional slots.
    ///
    /// # Errors
    /// A slot or the notation is invalid; the error describes why and gives the correct syntax.
    pub fn parse_scoped(
        text: &str,
        place: &str,
        notation: Notation,
        scope: SlotScope<'_>,
    ) -> Result<Template, UsageError> {
        let mut files = DataFiles::default();
        let program = parse::program(text, (notation, scope), &mut files);
        Ok(Template::of(program.map_err(|trouble| UsageError::new(place, trouble))?, &files))
    }

    /// Like [`Template::parse`], for a text with literal braces: a brace that does not begin a slot is literal.
    ///
    /// # Errors
    /// A slot is invalid, or a word is probably a misspelled slot.
    pub fn parse_text(
        text: &str,
        place: &str,
        notation: Notation,
        scope: SlotScope<'_>,
    ) -> Result<Template, UsageError> {
        let mut known = Vec::new();
        collect_part_names(text, scope, &mut known);
        let found = split_pieces(text, &known, scope).map_err(|trouble| UsageError::new(place, trouble))?;
        Template::parse_scoped(&to_template(&found), place, notation, scope)
    }

    /// Like [`Template::parse_text`], for a text with JSON strings: values within double quotes are escaped.
    ///
    /// # Errors
    /// See [`Template::parse_text`].
    pub fn parse_rule(text: &str, place: &str, scope: SlotScope<'_>) -> Result<Template, UsageError> {
        let found = split_pieces(text, &[], scope).map_err(|trouble| UsageError::new(place, trouble))?;
        let (mut strict, mut quoted) = (String::new(), false);
        for piece in found {
            match piece {
                SlotTextPiece::Text(text) => {
                    quoted ^= text.matches('"').count() % 2 == 1;
                    strict += &to_template(&[piece]);
                }
                SlotTextPiece::Slot(slot) => strict += &escaped_slot(slot, quoted),
            }
        }
        Template::parse_scoped(&strict, place, Notation::Plain, scope)
    }

    /// Compiles two texts into one template with a mark between them; each is parsed like [`Template::parse_text`].
    /// Both share the same values, and the second may refer to named parts of the first.
    ///
    /// # Errors
    /// See [`Template::parse_text`].
    pub fn parse_pair(
        texts: [TemplateText<'_>; 2],
        notation: Notation,
        scope: SlotScope<'_>,
    ) -> Result<Template, UsageError> {
        let mut known = Vec::new();
        texts.iter().filter_map(TemplateText::text).for_each(|text| collect_part_names(text, scope, &mut known));
        let mut files = DataFiles::default();
        let mut builder = TemplateBuilder { notation, scope, ..TemplateBuilder::new(&mut files) };
        let [first, second] = texts;
        builder.text(&first, &known)?;
        builder.mark();
        builder.text(&second, &known)?;
        builder.finish().map_err(|trouble| UsageError::new(second.place, trouble))
    }

    /// Creates a template from bytes without slots.
    pub fn fixed(bytes: impl Into<Vec<u8>>) -> Template {
        Template {
            program: TemplateProgram::from_bytes(bytes.into()),
            end: None,
            numbered: false,
            captured: false,
            traced: None,
        }
    }

    /// Returns the text with `sample` in place of each slot.
    pub fn with_sample(&self, sample: &str) -> String {
        let piece = |piece: &TemplatePiece| match piece {
            TemplatePiece::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            TemplatePiece::Mark(_) => String::new(),
            _ => sample.to_owned(),
        };
        self.program.pieces.iter().map(piece).collect()
    }

    /// Appends the text with its slots filled. The same context always gives the same bytes.
    #[inline]
    pub fn fill(&self, context: &SlotContext, out: &mut Vec<u8>) {
        match self.fixed_bytes() {
            Some(bytes) => out.extend_from_slice(bytes),
            None => emit::fill(&self.program, context, out),
        }
    }

    /// Like [`Template::fill`], but also records the offsets of the marks set by [`TemplateBuilder::mark`].
    #[inline]
    pub fn fill_marked(&self, context: &SlotContext, out: &mut Vec<u8>, marks: &mut [usize]) {
        emit::fill_marked(&self.program, (context, CapturedGroups::default()), out, marks);
    }

    /// Like [`Template::fill`], for a reply to a message with captured groups.
    pub fn fill_captured(&self, context: &SlotContext, captured: CapturedGroups<'_>, out: &mut Vec<u8>) {
        emit::fill_marked(&self.program, (context, captured), out, &mut []);
    }

    /// Returns `true` if the text contains the number of the message on its connection (`{sequence}`).
    #[inline]
    pub fn is_numbered(&self) -> bool {
        self.numbered
    }

    /// Returns the trace in the text for this context; `None` without `{traceparent}`.
    #[inline]
    pub fn trace(&self, context: &SlotContext) -> Option<Trace> {
        self.traced.map(|sampled| Trace::derive(context, sampled))
    }

    /// Returns the template for a rehearsal before the run, which takes data rows in order, and the number of requests
    /// needed to use every row.
    pub fn for_rehearsal(mut self) -> (Template, u64) {
        let requests = check::take_rows_in_turn(&mut self.program);
        (self, requests)
    }

    /// Returns the number of requests after which the data is used up and the run ends (`{csv users.csv.name stop}`);
    /// `None` if it never is.
    pub fn data_end(&self) -> Option<u64> {
        self.end
    }

    /// Returns `true` if the text is the same for all requests: it has no slots, or all of them were filled before the
    /// run.
    pub fn is_constant(&self) -> bool {
        self.program.pieces.iter().all(|piece| matches!(piece, TemplatePiece::Bytes(_) | TemplatePiece::Mark(_)))
    }

    /// Returns `true` if the text contains a variable of a flow, whose value is not known before the run.
    pub fn holds_variable(&self) -> bool {
        check::program_holds_variable(&self.program)
    }

    /// Returns `true` if the text contains captured groups (`{captured}`).
    pub fn has_captured(&self) -> bool {
        self.captured
    }

    /// Returns the whole text if it is constant, so that it can be encoded once.
    #[inline]
    pub fn fixed_bytes(&self) -> Option<&[u8]> {
        self.program.fixed()
    }
}

/// Returns a slot whose value is escaped for a JSON string if it stands in one.
pub fn escaped_slot(slot: &str, quoted: bool) -> String {
    let inside = slot.strip_suffix('}').filter(|_| quoted);
    inside.map_or_else(|| slot.to_owned(), |inside| format!("{inside} | json}}"))
}

/// A restriction on the bytes of a slot's value, determined by the position of the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotGuard {
    /// No restriction.
    None,
    /// A URL: bytes that are not allowed there are percent-encoded.
    Url(UrlPlace),
    /// A header line: control characters are not allowed.
    Line,
}

/// The place of a slot in a URL. Only values of a flow's variables are encoded by their place: other values are written
/// by the user, in a URL as in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlPlace {
    /// A whole URL or query: its parts stay what they are.
    Whole,
    /// Some of a path.
    Path,
    /// The name or the value of a parameter.
    Query,
}

/// A builder that assembles a template from bytes and slots.
#[derive(Debug)]
pub struct TemplateBuilder<'f> {
    pieces: Vec<TemplatePiece>,
    parts: Vec<TemplatePart>,
    files: &'f mut DataFiles,
    marks: usize,
    /// Slots in header lines, and their text.
    lines: Vec<(Range<usize>, String)>,
    /// Notation of the bytes within slots.
    notation: Notation,
    scope: SlotScope<'f>,
}

/// A text to append to a template.
#[derive(Clone, Copy, Debug)]
pub struct TemplateText<'a> {
    /// Bytes of the text; sent unchanged unless `slots` is set.
    pub bytes: &'a [u8],
    /// Set if the text may have slots.
    pub slots: bool,
    /// Option or line named in errors.
    pub place: &'a str,
}

impl<'a> TemplateText<'a> {
    /// Returns the text if it may have slots.
    fn text(&self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes).ok().filter(|_| self.slots)
    }
}

/// Distance between the salts of consecutive slots, so that their random values differ.
const SALTS: u64 = 1 << 10;

impl<'f> TemplateBuilder<'f> {
    /// Sets the additional slots that the texts may use.
    pub fn in_scope(self, scope: SlotScope<'f>) -> TemplateBuilder<'f> {
        TemplateBuilder { scope, ..self }
    }

    /// Creates an empty builder; data files named by slots are cached in `files`.
    pub fn new(files: &'f mut DataFiles) -> TemplateBuilder<'f> {
        TemplateBuilder {
            pieces: Vec::new(),
            parts: Vec::new(),
            files,
            marks: 0,
            lines: Vec::new(),
            notation: Notation::Plain,
            scope: SlotScope::default(),
        }
    }

    /// Appends constant bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.pieces.push(TemplatePiece::Bytes(bytes.into()));
    }

    /// Appends a text with literal braces; `known` are the names of parts.
    fn text(&mut self, source: &TemplateText<'_>, known: &[String]) -> Result<(), UsageError> {
        let Some(text) = source.text() else {
            self.bytes(source.bytes);
            return Ok(());
        };
        let wrong = |trouble: Complaint| UsageError::new(source.place, trouble);
        for piece in split_pieces(text, known, self.scope).map_err(&wrong)? {
            match piece {
                SlotTextPiece::Text(text) => {
                    self.bytes(&self.notation.decode(text).map_err(&wrong)?);
                }
                SlotTextPiece::Slot(slot) => {
                    self.slot(slot, self.pieces.len() as u64 * SALTS, SlotGuard::None).map_err(wrong)?
                }
            }
        }
        Ok(())
    }

    /// Appends a mark; filling records its offset.
    pub fn mark(&mut self) {
        self.pieces.push(TemplatePiece::Mark(self.marks));
        self.marks += 1;
    }

    /// Appends a slot. Slots with different `salt` have different random values.
    ///
    /// # Errors
    /// The slot is invalid; the error describes why.
    pub fn slot(&mut self, text: &str, salt: u64, guard: SlotGuard) -> Result<(), Complaint> {
        let written = (self.notation, self.scope);
        let mut pieces = parse::slot(text, salt, written, &mut self.parts, self.files)?;
        if let SlotGuard::Url(place) = guard {
            let place = if check::holds_variable(&pieces) { place } else { UrlPlace::Whole };
            if check::may_hold(&pieces, &self.parts, &emit::changes_url(place)) {
                let function = TemplateFunction::UrlSafe(place);
                pieces = vec![TemplatePiece::Call(Box::new(FunctionCall { function, content: pieces }))];
            }
        }
        // The values of a flow's variables are not known yet.
        if guard == SlotGuard::Line && check::holds_variable(&pieces) {
            pieces = vec![TemplatePiece::Call(Box::new(FunctionCall {
                function: TemplateFunction::LineSafe,
                content: pieces,
            }))];
        }
        let from = self.pieces.len();
        self.pieces.extend(pieces);
        if guard == SlotGuard::Line {
            self.lines.push((from..self.pieces.len(), text.to_owned()));
        }
        Ok(())
    }

    /// Finishes the template.
    ///
    /// # Errors
    /// A name or value cannot be resolved; the error describes why.
    pub fn finish(self) -> Result<Template, Complaint> {
        for (range, text) in &self.lines {
            if check::may_hold(&self.pieces[range.clone()], &self.parts, &emit::is_line_breaking) {
                let mut bare = text.clone();
                bare.pop();
                return Err(complaint!(
                    "{text} may contain a line break or another control character, which would break the header; \
                        use, for example, {bare} | url}}",
                    "{text} 可能含有换行符或其他控制字符，会破坏头部；请写，例如 {bare} | url}}"
                ));
            }
        }
        let program = resolve::program(TemplateProgram { pieces: self.pieces, parts: self.parts })?;
        Ok(Template::of(program, self.files))
    }
}

/// Checks invariants for an arbitrary text, for the fuzz target. Texts with slots that read files are skipped.
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
        let scope = SlotScope { sequence: true, captured: Some(1), variables: &known };
        let Ok(template) = Template::parse_scoped(text, "", notation, scope) else { continue };
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        let mut values = UserValues::default();
        values.set(0, b"a\r\nb");
        let fill = SlotContext { number: 41, user: 7, random: 3, unix_ns: 5, run: 9, sequence: 2, values: &values };
        let captured = CapturedGroups { text: b"abc", groups: &[(0, 3), (1, 2)] };
        template.fill_captured(&fill, captured, &mut once);
        template.fill_captured(&fill, captured, &mut twice);
        assert_eq!(once, twice);
    }
    let mut known = Vec::new();
    collect_part_names(text, SlotScope::default(), &mut known);
    if let Ok(found) = split_pieces(text, &known, SlotScope::default()) {
        let whole: String = found
            .iter()
            .map(|piece| match piece {
                SlotTextPiece::Text(text) | SlotTextPiece::Slot(text) => *text,
            })
            .collect();
        assert!(whole.len() <= text.len());
        if !found.iter().any(|piece| matches!(piece, SlotTextPiece::Slot(_))) && !text.contains("{{") {
            assert_eq!(whole, text);
        }
    }
}
