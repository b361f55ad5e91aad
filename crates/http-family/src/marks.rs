//! Slots that stand in texts which are encoded before the run: in a URL, a header line, a form.
//!
//! Each slot is taken out of its text and a mark of letters and digits put in its place, which every encoding leaves alone. So a
//! request is read, checked and encoded as one without slots; what was encoded is then split at its marks, and becomes a template.

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memmem;
use url::Url;
use wire::{Asked, Complaint, Fill, OptionSpec, switch};

use values::template::{self, Builder, Files, Found, Guard, Scope, Template};

/// The option by which braces are braces, for every protocol whose texts have slots.
pub const NO_SLOTS: OptionSpec = switch(
    "no-slots",
    "Send braces as they are; otherwise {counter}, {uuid}, {random 1..9}, {time}, {user}, {csv FILE.COLUMN} and \
        {env NAME} are filled in for each request",
    "花括号原样发送；否则 {counter}、{uuid}、{random 1..9}、{time}、{user}、{csv 文件.列}、{env 变量} 会按请求填充",
);

/// Digits of a mark's number.
const DIGITS: usize = 7;
/// The number that stands for a length that is not known yet.
const LENGTH: usize = 9_999_999;
/// Random values of one slot and of the next differ by this.
const SALTS: u64 = 1 << 10;

/// The slots of a run, and what stands in their places.
#[derive(Debug, Default)]
pub struct Marks {
    /// What every mark begins with, and no text of the run holds.
    key: String,
    /// Parts that have names.
    names: Vec<String>,
    taken: Vec<Taken>,
    files: Files,
    /// What users of a flow know by name.
    variables: Arc<[String]>,
    /// Braces are braces.
    off: bool,
}

#[derive(Debug)]
struct Taken {
    /// With its braces.
    slot: String,
    /// The option it stands in.
    place: String,
    guard: Guard,
}

/// A piece of what was encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Always the same.
    Bytes(&'a [u8]),
    /// A slot, by its number.
    Slot(usize),
    /// A length that the slots decide.
    Length,
}

impl Marks {
    /// None yet.
    pub fn new(asked: &Asked) -> Marks {
        let off = asked.switch(NO_SLOTS.name);
        let options = [&asked.options].into_iter().chain(&asked.own);
        let texts = options.flat_map(|options| options.values().flatten()).map(String::as_str);
        let texts: Vec<&str> = texts.chain(asked.urls.iter().map(|url| url.url.as_str())).collect();
        let (mut state, mut names) = (asked.seed, Vec::new());
        let key = loop {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = format!("slot{:016x}n", state ^ state >> 29);
            if !texts.iter().any(|text| text.contains(&key)) {
                break key;
            }
        };
        let variables = Arc::clone(&asked.variables);
        let scope = Scope { variables: &variables, ..Scope::default() };
        if !off {
            texts.iter().for_each(|text| template::names(text, scope, &mut names));
        }
        Marks { key, names, variables, off, ..Marks::default() }
    }

    fn scope(&self) -> Scope<'_> {
        Scope { variables: &self.variables, ..Scope::default() }
    }

    /// Of texts that have no slots.
    pub fn off() -> Marks {
        Marks { off: true, ..Marks::default() }
    }

    /// The text with marks in the places of its slots. `place` is what a complaint names.
    ///
    /// # Errors
    /// A word that was meant to be a slot and is none.
    pub fn take<'a>(&mut self, text: &'a str, place: &str, guard: Guard) -> Result<Cow<'a, str>, Complaint> {
        if self.off || memchr::memchr(b'{', text.as_bytes()).is_none() {
            return Ok(Cow::Borrowed(text));
        }
        let found =
            template::pieces(text, &self.names, self.scope()).map_err(|trouble| Complaint::new(place, trouble))?;
        if found == [Found::Text(text)] {
            return Ok(Cow::Borrowed(text));
        }
        let mut marked = String::with_capacity(text.len());
        for piece in found {
            match piece {
                Found::Text(text) => marked += text,
                Found::Slot(slot) => marked += &self.mark(slot, place, guard)?,
            }
        }
        Ok(Cow::Owned(marked))
    }

    /// The text as templates write it, where it has slots.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn strict(&self, text: &str, place: &str) -> Result<Option<String>, Complaint> {
        if self.off {
            return Ok(None);
        }
        let found =
            template::pieces(text, &self.names, self.scope()).map_err(|trouble| Complaint::new(place, trouble))?;
        Ok((found != [Found::Text(text)]).then(|| template::strict(&found)))
    }

    /// A mark for a slot as templates write it.
    ///
    /// # Errors
    /// There are too many.
    pub fn mark(&mut self, slot: &str, place: &str, guard: Guard) -> Result<String, Complaint> {
        let number = self.taken.len();
        if number == LENGTH {
            return Err(Complaint::new(place, format!("there are more than {LENGTH} slots; use fewer")));
        }
        self.taken.push(Taken { slot: slot.to_owned(), place: place.to_owned(), guard });
        Ok(self.written(number))
    }

    fn written(&self, number: usize) -> String {
        format!("{}{number:0DIGITS$}", self.key)
    }

    /// What stands for the length of a text that has slots.
    pub fn length(&self) -> String {
        self.written(LENGTH)
    }

    /// JSON with marks in the places of its slots: a slot that stands for a number becomes a text of its own.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn take_json<'a>(&mut self, text: &'a str, place: &str) -> Result<Cow<'a, str>, Complaint> {
        if self.off || memchr::memchr(b'{', text.as_bytes()).is_none() {
            return Ok(Cow::Borrowed(text));
        }
        let found =
            template::pieces(text, &self.names, self.scope()).map_err(|trouble| Complaint::new(place, trouble))?;
        let (mut marked, mut quoted, mut escaped) = (String::with_capacity(text.len()), false, false);
        for piece in found {
            match piece {
                Found::Text(text) => {
                    for byte in text.bytes() {
                        quoted ^= byte == b'"' && !escaped;
                        escaped = byte == b'\\' && !escaped;
                    }
                    marked += text;
                }
                Found::Slot(slot) => {
                    let mark = self.mark(slot, place, Guard::None)?;
                    marked += &if quoted { mark } else { format!("\"{mark}\"") };
                }
            }
        }
        Ok(Cow::Owned(marked))
    }

    /// A text that is one slot with this encoding at its end, as the slot without it; None: it is none.
    pub fn without_encoding(&mut self, text: &str, name: &str) -> Option<String> {
        let [Piece::Slot(number)] = self.split(text.as_bytes())[..] else { return None };
        let Taken { slot, place, .. } = &self.taken[number];
        let (slot, place) = (slot.strip_suffix('}')?.trim_end().strip_suffix(name)?.trim_end(), place.clone());
        let slot = format!("{}}}", slot.strip_suffix('|')?.trim_end());
        self.mark(&slot, &place, Guard::None).ok()
    }

    /// The text with variables of the environment in the places of their marks.
    ///
    /// # Errors
    /// What is wrong with a slot.
    pub fn settled(&mut self, text: &str) -> Result<String, Complaint> {
        let mut whole = Vec::new();
        for piece in self.split(text.as_bytes()) {
            match piece {
                Piece::Slot(number) if !self.taken[number].slot.starts_with("{env ") => {
                    whole.extend_from_slice(self.written(number).as_bytes());
                }
                _ => self.template(|building| building.piece(&piece))?.fill(&Fill::default(), &mut whole),
            }
        }
        Ok(String::from_utf8_lossy(&whole).into_owned())
    }

    /// Reads a URL of one of these schemes, written so, in which marks stand for slots; what must be encoded in it is, and the
    /// fragment is dropped. `wrong` makes the complaint about a text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn url(
        &self,
        (written, text): (&str, &str),
        [plain, secure]: [&str; 2],
        wrong: fn(&str, &str) -> Complaint,
    ) -> Result<Url, Complaint> {
        let authority = text.split_once("://").map_or(text, |(_, behind)| behind).split(['/', '?', '#']).next();
        if self.are_in(authority.unwrap_or_default().as_bytes()) {
            return Err(wrong(written, "only {env NAME} is allowed before its path"));
        }
        let mut url = Url::parse(text).map_err(|trouble| wrong(text, &trouble.to_string()))?;
        if url.scheme() != plain && url.scheme() != secure {
            return Err(wrong(text, &format!("its scheme is neither {plain} nor {secure}")));
        }
        url.set_fragment(None);
        Ok(url)
    }

    /// True where a mark stands in this.
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        !self.taken.is_empty() && memmem::find(bytes, self.key.as_bytes()).is_some()
    }

    /// The slots whose marks stand in this, as templates write them.
    pub fn slots_in<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = &'a str> {
        self.split(bytes).into_iter().filter_map(|piece| match piece {
            Piece::Slot(number) => Some(self.taken[number].slot.as_str()),
            _ => None,
        })
    }

    /// The pieces of what was encoded.
    pub fn split<'a>(&self, bytes: &'a [u8]) -> Vec<Piece<'a>> {
        split(&self.key, self.taken.len(), bytes)
    }

    /// What fills in texts of a request that was encoded to `bytes`.
    ///
    /// # Errors
    /// What is wrong with a slot.
    pub fn values(&mut self, bytes: &[u8]) -> Result<Values, Complaint> {
        let mut numbers = Vec::new();
        for piece in self.split(bytes) {
            match piece {
                Piece::Slot(number) if !numbers.contains(&number) => numbers.push(number),
                _ => {}
            }
        }
        let template = self.template(|building| {
            numbers.iter().try_for_each(|number| {
                building.slot(*number)?;
                building.mark();
                Ok(())
            })
        })?;
        Ok(Values { key: self.key.clone(), numbers, template })
    }

    /// Puts a template together; `put` appends to it.
    ///
    /// # Errors
    /// What is wrong with a slot.
    pub fn template(
        &mut self,
        mut put: impl FnMut(&mut Building<'_, '_>) -> Result<(), Complaint>,
    ) -> Result<Template, Complaint> {
        let scope = Scope { variables: &self.variables, ..Scope::default() };
        let builder = Builder::new(&mut self.files).in_scope(scope);
        let mut building = Building { builder, taken: &self.taken, last: "slots" };
        put(&mut building)?;
        let place = building.last;
        building.builder.finish().map_err(|trouble| Complaint::new(place, trouble))
    }

    /// After how many requests the data of the slots is at its end.
    pub fn end(&self) -> Option<u64> {
        self.files.end()
    }

    /// A text as it was written, slots in the places of their marks.
    pub fn restored(&self, text: &str) -> String {
        if !self.are_in(text.as_bytes()) {
            return text.to_owned();
        }
        let written = |piece: &Piece<'_>| match piece {
            Piece::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Piece::Slot(number) => self.taken[*number].slot.clone(),
            Piece::Length => String::new(),
        };
        self.split(text.as_bytes()).iter().map(written).collect()
    }

    /// A complaint in which slots stand as they were written.
    pub fn complaint(&self, complaint: Complaint) -> Complaint {
        Complaint::new(self.restored(&complaint.place), self.restored(&complaint.trouble)).with_lines(complaint.below)
    }
}

fn split<'a>(key: &str, count: usize, bytes: &'a [u8]) -> Vec<Piece<'a>> {
    let (mut pieces, mut from) = (Vec::new(), 0);
    for at in memmem::find_iter(bytes, key.as_bytes()) {
        let digits = bytes.get(at + key.len()..at + key.len() + DIGITS).unwrap_or_default();
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        // What is none of ours came by chance, out of a file.
        let Some(number) = number.filter(|number| *number == LENGTH || *number < count) else { continue };
        pieces.push(Piece::Bytes(&bytes[from..at]));
        pieces.push(if number == LENGTH { Piece::Length } else { Piece::Slot(number) });
        from = at + key.len() + DIGITS;
    }
    pieces.push(Piece::Bytes(&bytes[from..]));
    pieces.retain(|piece| *piece != Piece::Bytes(b""));
    pieces
}

/// The slots of one request, for texts of it that are not encoded yet.
#[derive(Debug)]
pub struct Values {
    key: String,
    /// Their numbers.
    numbers: Vec<usize>,
    /// All of them, a mark behind each.
    template: Template,
}

impl Values {
    /// What they stand for with this fill.
    pub fn of(&self, fill: &Fill) -> Known<'_> {
        let (mut bytes, mut ends) = (Vec::new(), vec![0; self.numbers.len()]);
        self.template.fill_marked(fill, &mut bytes, &mut ends);
        Known { values: self, bytes, ends }
    }
}

/// What the slots of one request stood for.
pub struct Known<'a> {
    values: &'a Values,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Known<'_> {
    /// The text with its slots filled.
    pub fn put_into(&self, text: &[u8]) -> Vec<u8> {
        let Values { key, numbers, .. } = self.values;
        let mut whole = Vec::with_capacity(text.len());
        for piece in split(key, LENGTH, text) {
            match piece {
                Piece::Bytes(bytes) => whole.extend_from_slice(bytes),
                Piece::Slot(number) => {
                    let Some(at) = numbers.iter().position(|known| *known == number) else { continue };
                    let from = if at == 0 { 0 } else { self.ends[at - 1] };
                    whole.extend_from_slice(&self.bytes[from..self.ends[at]]);
                }
                Piece::Length => {}
            }
        }
        whole
    }
}

/// A template that is being put together.
pub struct Building<'f, 't> {
    builder: Builder<'f>,
    taken: &'t [Taken],
    last: &'t str,
}

impl Building<'_, '_> {
    /// Appends what is always the same.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.builder.bytes(bytes);
    }

    /// Appends a slot.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn slot(&mut self, number: usize) -> Result<(), Complaint> {
        let Taken { slot, place, guard } = &self.taken[number];
        self.last = place;
        let salt = (number as u64 + 1) * SALTS;
        self.builder.slot(slot, salt, *guard).map_err(|trouble| Complaint::new(place, trouble))
    }

    /// Appends a piece; a length is nothing.
    ///
    /// # Errors
    /// What is wrong with a slot.
    pub fn piece(&mut self, piece: &Piece<'_>) -> Result<(), Complaint> {
        match piece {
            Piece::Bytes(bytes) => self.bytes(bytes),
            Piece::Slot(number) => self.slot(*number)?,
            Piece::Length => {}
        }
        Ok(())
    }

    /// Appends a mark, where filling tells how far it is.
    pub fn mark(&mut self) {
        self.builder.mark();
    }
}
