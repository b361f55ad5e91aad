//! Placeholders for slots in texts that are encoded before the run: URLs, header lines, forms.
//!
//! Each slot is replaced with a placeholder of letters and digits, which every encoding leaves unchanged. A request
//! with slots is therefore read, checked and encoded like any other; the encoded bytes are then split at the
//! placeholders and become a template.

use std::borrow::Cow;
use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{OptionSpec, ProtocolConfig, SlotContext, UsageError, switch};
use memchr::memmem;
use url::Url;

use brunt_values::template::{
    self, DataFiles, SlotGuard, SlotScope, SlotTextPiece, Template, TemplateBuilder, UrlPlace,
};

/// The `--no-slots` option of all protocols whose texts have slots: braces are sent literally.
pub const NO_SLOTS: OptionSpec = switch(
    "no-slots",
    "Send braces as they are; otherwise {counter}, {uuid}, {random 1..9}, {time}, {user}, {csv FILE.COLUMN} and \
        {env NAME} are filled in for each request",
    "花括号原样发送；否则 {counter}、{uuid}、{random 1..9}、{time}、{user}、{csv 文件.列}、{env 变量} 会在每个请求中填入相应的值",
);

/// Number of digits in a placeholder.
const DIGITS: usize = 7;
/// Number of the placeholder for a length that is not yet known.
const LENGTH: usize = 9_999_999;
/// Distance between the random salts of consecutive slots.
const SALTS: u64 = 1 << 10;

/// The slots of a run and their placeholders.
#[derive(Debug, Default)]
pub struct Placeholders {
    /// Common prefix of all placeholders; it occurs in no text of the run.
    key: String,
    /// Names of the named slots.
    names: Vec<String>,
    slots: Vec<PlaceholderSlot>,
    files: DataFiles,
    /// Names of the variables of a flow.
    variables: Arc<[String]>,
    /// Set if braces have no special meaning.
    off: bool,
}

#[derive(Debug)]
struct PlaceholderSlot {
    /// Text of the slot, with its braces.
    slot: String,
    /// The option that contains the slot, for error messages.
    place: String,
    guard: SlotGuard,
}

/// A piece of an encoded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodedPiece<'a> {
    /// Constant bytes.
    Bytes(&'a [u8]),
    /// A slot, by its number.
    Slot(usize),
    /// A length that depends on slots.
    Length,
}

impl Placeholders {
    /// Creates an empty set of placeholders for the texts of `config`.
    pub fn new(config: &ProtocolConfig) -> Placeholders {
        let off = config.switch(NO_SLOTS.name);
        let options = [&config.options].into_iter().chain(&config.url_options);
        let texts = options.flat_map(|options| options.values().flatten()).map(String::as_str);
        let texts: Vec<&str> = texts.chain(config.urls.iter().map(|url| url.url.as_str())).collect();
        let (mut state, mut names) = (config.seed, Vec::new());
        let key = loop {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = format!("slot{:016x}n", state ^ state >> 29);
            if !texts.iter().any(|text| text.contains(&key)) {
                break key;
            }
        };
        let variables = Arc::clone(&config.variables);
        let scope = SlotScope { variables: &variables, ..SlotScope::default() };
        if !off {
            texts.iter().for_each(|text| template::collect_part_names(text, scope, &mut names));
        }
        Placeholders { key, names, variables, off, ..Placeholders::default() }
    }

    /// Begins the texts of one URL.
    pub fn begin_url(&mut self, config: &ProtocolConfig, index: usize) {
        self.files.set_users(config.url_scenarios.get(index).map(Vec::as_slice));
    }

    fn scope(&self) -> SlotScope<'_> {
        SlotScope { variables: &self.variables, ..SlotScope::default() }
    }

    /// Creates a set for texts without slots.
    pub fn off() -> Placeholders {
        Placeholders { off: true, ..Placeholders::default() }
    }

    /// Replaces the slots of a text with placeholders. `place` is the location named in errors.
    ///
    /// # Errors
    /// Returns an error for a word in braces that is meant to be a slot but is not a valid one.
    pub fn replace_slots<'a>(
        &mut self,
        text: &'a str,
        place: &str,
        guard: SlotGuard,
    ) -> Result<Cow<'a, str>, UsageError> {
        self.replace(text, place, &|_, _| guard)
    }

    /// Like [`Self::replace_slots`], for a URL or a part of one: values are encoded as their places require.
    ///
    /// # Errors
    /// Like [`Self::replace_slots`].
    pub fn replace_url_slots<'a>(&mut self, text: &'a str, place: &str) -> Result<Cow<'a, str>, UsageError> {
        self.replace(text, place, &|before, behind| SlotGuard::Url(place_in_url(before, behind)))
    }

    /// Replaces the slots of a text; `guard_of` is given what stands before a slot, with placeholders, and behind it.
    fn replace<'a>(
        &mut self,
        text: &'a str,
        place: &str,
        guard_of: &dyn Fn(&str, &str) -> SlotGuard,
    ) -> Result<Cow<'a, str>, UsageError> {
        if self.off || memchr::memchr(b'{', text.as_bytes()).is_none() {
            return Ok(Cow::Borrowed(text));
        }
        let found = template::split_pieces(text, &self.names, self.scope())
            .map_err(|trouble| UsageError::new(place, trouble))?;
        if found == [SlotTextPiece::Text(text)] {
            return Ok(Cow::Borrowed(text));
        }
        let mut marked = String::with_capacity(text.len());
        for (at, piece) in found.iter().enumerate() {
            match piece {
                SlotTextPiece::Text(text) => marked += text,
                SlotTextPiece::Slot(slot) => {
                    let behind = match found.get(at + 1) {
                        Some(SlotTextPiece::Text(text)) => text,
                        _ => "",
                    };
                    marked += &self.placeholder(slot, place, guard_of(&marked, behind))?;
                }
            }
        }
        Ok(Cow::Owned(marked))
    }

    /// Returns the text in strict template notation, or `None` if it has no slots.
    ///
    /// # Errors
    /// Like [`Self::replace_slots`].
    pub fn strict_notation(&self, text: &str, place: &str) -> Result<Option<String>, UsageError> {
        if self.off {
            return Ok(None);
        }
        let found = template::split_pieces(text, &self.names, self.scope())
            .map_err(|trouble| UsageError::new(place, trouble))?;
        Ok((found != [SlotTextPiece::Text(text)]).then(|| template::to_template(&found)))
    }

    /// Creates the placeholder of a slot given in template notation.
    ///
    /// # Errors
    /// Returns an error if there are too many slots.
    pub fn placeholder(&mut self, slot: &str, place: &str, guard: SlotGuard) -> Result<String, UsageError> {
        let number = self.slots.len();
        if number == LENGTH {
            return Err(UsageError::new(
                place,
                complaint!("there are more than {LENGTH} slots; use fewer", "占位符超过 {LENGTH} 个；请减少"),
            ));
        }
        self.slots.push(PlaceholderSlot { slot: slot.to_owned(), place: place.to_owned(), guard });
        Ok(self.text_of(number))
    }

    fn text_of(&self, number: usize) -> String {
        format!("{}{number:0DIGITS$}", self.key)
    }

    /// Returns the placeholder for the length of a text that has slots.
    pub fn length_placeholder(&self) -> String {
        self.text_of(LENGTH)
    }

    /// Replaces the slots of a JSON text with placeholders; a slot outside of a string becomes a string.
    ///
    /// # Errors
    /// Like [`Self::replace_slots`].
    pub fn replace_json_slots<'a>(&mut self, text: &'a str, place: &str) -> Result<Cow<'a, str>, UsageError> {
        if self.off || memchr::memchr(b'{', text.as_bytes()).is_none() {
            return Ok(Cow::Borrowed(text));
        }
        let found = template::split_pieces(text, &self.names, self.scope())
            .map_err(|trouble| UsageError::new(place, trouble))?;
        let (mut marked, mut quoted, mut escaped) = (String::with_capacity(text.len()), false, false);
        for piece in found {
            match piece {
                SlotTextPiece::Text(text) => {
                    for byte in text.bytes() {
                        quoted ^= byte == b'"' && !escaped;
                        escaped = byte == b'\\' && !escaped;
                    }
                    marked += text;
                }
                SlotTextPiece::Slot(slot) => {
                    let mark = self.placeholder(slot, place, SlotGuard::None)?;
                    marked += &if quoted { mark } else { format!("\"{mark}\"") };
                }
            }
        }
        Ok(Cow::Owned(marked))
    }

    /// Replaces the slots of a rule for JSON with placeholders; values in double quotes are escaped.
    ///
    /// # Errors
    /// Like [`Self::replace_slots`].
    pub fn replace_rule_slots<'a>(&mut self, text: &'a str, place: &str) -> Result<Cow<'a, str>, UsageError> {
        if self.off || memchr::memchr(b'{', text.as_bytes()).is_none() {
            return Ok(Cow::Borrowed(text));
        }
        let found = template::split_pieces(text, &self.names, self.scope())
            .map_err(|trouble| UsageError::new(place, trouble))?;
        let mut marked = String::with_capacity(text.len());
        for piece in found {
            match piece {
                SlotTextPiece::Text(text) => marked += text,
                SlotTextPiece::Slot(slot) => {
                    let quoted = marked.matches('"').count() % 2 == 1;
                    marked += &self.placeholder(&template::escaped_slot(slot, quoted), place, SlotGuard::None)?;
                }
            }
        }
        Ok(Cow::Owned(marked))
    }

    /// Returns the text with `sample` in place of each placeholder.
    pub fn with_sample(&self, text: &str, sample: &str) -> String {
        let piece = |piece: &EncodedPiece<'_>| match piece {
            EncodedPiece::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            EncodedPiece::Slot(_) => sample.to_owned(),
            EncodedPiece::Length => String::new(),
        };
        self.split(text.as_bytes()).iter().map(piece).collect()
    }

    /// Returns a placeholder for the same slot without its last encoding, if the text is exactly the placeholder of one
    /// slot whose last encoding is `name`. Returns `None` for any other text.
    pub fn without_encoding(&mut self, text: &str, name: &str) -> Option<String> {
        let [EncodedPiece::Slot(number)] = self.split(text.as_bytes())[..] else { return None };
        let PlaceholderSlot { slot, place, .. } = &self.slots[number];
        let (slot, place) = (slot.strip_suffix('}')?.trim_end().strip_suffix(name)?.trim_end(), place.clone());
        let slot = format!("{}}}", slot.strip_suffix('|')?.trim_end());
        self.placeholder(&slot, &place, SlotGuard::None).ok()
    }

    /// Replaces the placeholders of environment variables with their values; other placeholders stay.
    ///
    /// # Errors
    /// Returns an error for an invalid slot.
    pub fn fill_environment(&mut self, text: &str) -> Result<String, UsageError> {
        let mut whole = Vec::new();
        for piece in self.split(text.as_bytes()) {
            match piece {
                EncodedPiece::Slot(number) if !self.slots[number].slot.starts_with("{env ") => {
                    whole.extend_from_slice(self.text_of(number).as_bytes());
                }
                _ => self.template(|building| building.piece(&piece))?.fill(&SlotContext::default(), &mut whole),
            }
        }
        Ok(String::from_utf8_lossy(&whole).into_owned())
    }

    /// Parses a URL whose slots have been replaced with placeholders; its scheme must be `plain` or `secure`.
    /// Characters not allowed in a URL are percent-encoded, and the fragment is dropped. `written` is the text as the
    /// user wrote it; `wrong` creates an error from a text and a description.
    ///
    /// # Errors
    /// Returns an error for an invalid URL, another scheme, or a slot before the path.
    pub fn url(
        &self,
        (written, text): (&str, &str),
        [plain, secure]: [&str; 2],
        wrong: fn(&str, &Complaint) -> UsageError,
    ) -> Result<Url, UsageError> {
        if self.occur_in(authority(text).as_bytes()) {
            return Err(wrong(
                written,
                &Complaint::new(
                    "only {env NAME} and captured values are allowed before its path",
                    "路径之前只能用 {env NAME} 和提取的值",
                ),
            ));
        }
        let mut url = Url::parse(text).map_err(|trouble| wrong(text, &trouble.to_string().into()))?;
        if url.scheme() != plain && url.scheme() != secure {
            return Err(wrong(
                text,
                &complaint!("its scheme is neither {plain} nor {secure}", "协议既不是 {plain} 也不是 {secure}"),
            ));
        }
        url.set_fragment(None);
        Ok(url)
    }

    /// Returns `true` if the bytes contain a placeholder.
    pub fn occur_in(&self, bytes: &[u8]) -> bool {
        !self.slots.is_empty() && memmem::find(bytes, self.key.as_bytes()).is_some()
    }

    /// Returns `true` if the host of a URL holds a variable of a flow: then it is known only during the run where the URL
    /// leads.
    pub fn is_link(&mut self, url: &str) -> bool {
        self.occur_in(authority(url).as_bytes()) && self.hold_variable(authority(url).as_bytes())
    }

    /// Returns `true` if the text is the placeholder of a slot and nothing else.
    pub fn is_one_slot(&self, text: &str) -> bool {
        matches!(self.split(text.as_bytes())[..], [EncodedPiece::Slot(_)])
    }

    /// Returns `true` if slots of the bytes contain a variable of a flow, whose value is not known before the run.
    pub fn hold_variable(&mut self, bytes: &[u8]) -> bool {
        let pieces = self.split(bytes);
        let template = self.template(|building| pieces.iter().try_for_each(|piece| building.piece(piece)));
        template.is_ok_and(|template| template.holds_variable())
    }

    /// Returns the slots whose placeholders occur in the bytes, in template notation.
    pub fn slots_in<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = &'a str> {
        self.split(bytes).into_iter().filter_map(|piece| match piece {
            EncodedPiece::Slot(number) => Some(self.slots[number].slot.as_str()),
            _ => None,
        })
    }

    /// Splits encoded bytes at their placeholders.
    pub fn split<'a>(&self, bytes: &'a [u8]) -> Vec<EncodedPiece<'a>> {
        split(&self.key, self.slots.len(), bytes)
    }

    /// Collects the slots that occur in `bytes`, an encoded request, for filling its other texts.
    ///
    /// # Errors
    /// Returns an error for an invalid slot.
    pub fn slot_texts(&mut self, bytes: &[u8]) -> Result<SlotTexts, UsageError> {
        let mut numbers = Vec::new();
        for piece in self.split(bytes) {
            match piece {
                EncodedPiece::Slot(number) if !numbers.contains(&number) => numbers.push(number),
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
        Ok(SlotTexts { key: self.key.clone(), numbers, template })
    }

    /// Builds a template; `put` appends its pieces.
    ///
    /// # Errors
    /// Returns an error for an invalid slot.
    pub fn template(
        &mut self,
        mut put: impl FnMut(&mut PlaceholderTemplate<'_, '_>) -> Result<(), UsageError>,
    ) -> Result<Template, UsageError> {
        let scope = SlotScope { variables: &self.variables, ..SlotScope::default() };
        let builder = TemplateBuilder::new(&mut self.files).in_scope(scope);
        let mut building = PlaceholderTemplate { builder, taken: &self.slots, last: "slots" };
        put(&mut building)?;
        let place = building.last;
        building.builder.finish().map_err(|trouble| UsageError::new(place, trouble))
    }

    /// Returns the number of requests after which the data of the slots is exhausted.
    pub fn request_limit(&self) -> Option<u64> {
        self.files.end()
    }

    /// Returns the text as the user wrote it, with slots in place of placeholders.
    pub fn restore(&self, text: &str) -> String {
        if !self.occur_in(text.as_bytes()) {
            return text.to_owned();
        }
        let written = |piece: &EncodedPiece<'_>| match piece {
            EncodedPiece::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            EncodedPiece::Slot(number) => self.slots[*number].slot.clone(),
            EncodedPiece::Length => String::new(),
        };
        self.split(text.as_bytes()).iter().map(written).collect()
    }

    /// Returns the error with slots in place of placeholders.
    pub fn restore_error(&self, complaint: UsageError) -> UsageError {
        UsageError::new(self.restore(&complaint.location), complaint.problem.map(|text| self.restore(text)))
            .with_lines(complaint.extra_lines)
    }
}

/// Returns the host of a URL, with user and port.
fn authority(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    behind.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Returns the place of a slot in a URL, between the texts before and behind it.
fn place_in_url(before: &str, behind: &str) -> UrlPlace {
    let path = before
        .split_once("://")
        .map_or(before, |(_, authority)| authority.find(['/', '?']).map_or("", |from| &authority[from..]));
    match path.split_once('?') {
        None if path.is_empty() => UrlPlace::Whole,
        None => UrlPlace::Path,
        Some((_, query)) => {
            let parameter = query.rsplit('&').next().unwrap_or_default();
            let behind = behind.split('&').next().unwrap_or_default();
            let is_whole = !parameter.contains('=') && !behind.contains('=');
            if is_whole { UrlPlace::Whole } else { UrlPlace::Query }
        }
    }
}

fn split<'a>(key: &str, count: usize, bytes: &'a [u8]) -> Vec<EncodedPiece<'a>> {
    let (mut pieces, mut from) = (Vec::new(), 0);
    for at in memmem::find_iter(bytes, key.as_bytes()) {
        let digits = bytes.get(at + key.len()..at + key.len() + DIGITS).unwrap_or_default();
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        // Chance match, for instance in the contents of a file: not a placeholder.
        let Some(number) = number.filter(|number| *number == LENGTH || *number < count) else { continue };
        pieces.push(EncodedPiece::Bytes(&bytes[from..at]));
        pieces.push(if number == LENGTH { EncodedPiece::Length } else { EncodedPiece::Slot(number) });
        from = at + key.len() + DIGITS;
    }
    pieces.push(EncodedPiece::Bytes(&bytes[from..]));
    pieces.retain(|piece| *piece != EncodedPiece::Bytes(b""));
    pieces
}

/// The slots of one request, used to fill the texts of the request that are not encoded yet.
#[derive(Debug)]
pub struct SlotTexts {
    key: String,
    /// Numbers of the slots.
    numbers: Vec<usize>,
    /// Template of all slots, with a mark after each.
    template: Template,
}

impl SlotTexts {
    /// Computes the values of the slots in this context.
    pub fn fill(&self, context: &SlotContext) -> FilledSlots<'_> {
        let (mut bytes, mut ends) = (Vec::new(), vec![0; self.numbers.len()]);
        self.template.fill_marked(context, &mut bytes, &mut ends);
        FilledSlots { values: self, bytes, ends }
    }
}

/// The values of the slots of one request.
pub struct FilledSlots<'a> {
    values: &'a SlotTexts,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl FilledSlots<'_> {
    /// Returns the text with its slots filled.
    pub fn fill_text(&self, text: &[u8]) -> Vec<u8> {
        let SlotTexts { key, numbers, .. } = self.values;
        let mut whole = Vec::with_capacity(text.len());
        for piece in split(key, LENGTH, text) {
            match piece {
                EncodedPiece::Bytes(bytes) => whole.extend_from_slice(bytes),
                EncodedPiece::Slot(number) => {
                    let Some(at) = numbers.iter().position(|known| *known == number) else { continue };
                    let from = if at == 0 { 0 } else { self.ends[at - 1] };
                    whole.extend_from_slice(&self.bytes[from..self.ends[at]]);
                }
                EncodedPiece::Length => {}
            }
        }
        whole
    }
}

/// A template under construction.
pub struct PlaceholderTemplate<'f, 't> {
    builder: TemplateBuilder<'f>,
    taken: &'t [PlaceholderSlot],
    last: &'t str,
}

impl PlaceholderTemplate<'_, '_> {
    /// Appends constant bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.builder.bytes(bytes);
    }

    /// Appends a slot.
    ///
    /// # Errors
    /// Returns an error if the slot is invalid.
    pub fn slot(&mut self, number: usize) -> Result<(), UsageError> {
        let PlaceholderSlot { slot, place, guard } = &self.taken[number];
        self.last = place;
        let salt = (number as u64 + 1) * SALTS;
        self.builder.slot(slot, salt, *guard).map_err(|trouble| UsageError::new(place, trouble))
    }

    /// Appends a piece; [`EncodedPiece::Length`] appends nothing.
    ///
    /// # Errors
    /// Returns an error for an invalid slot.
    pub fn piece(&mut self, piece: &EncodedPiece<'_>) -> Result<(), UsageError> {
        match piece {
            EncodedPiece::Bytes(bytes) => self.bytes(bytes),
            EncodedPiece::Slot(number) => self.slot(*number)?,
            EncodedPiece::Length => {}
        }
        Ok(())
    }

    /// Appends a mark: filling reports its offset.
    pub fn mark(&mut self) {
        self.builder.mark();
    }
}
