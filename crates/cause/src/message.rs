//! A sentence with its arguments, and its text in each language.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Sentence;
use crate::sentence::{SAID, UNKNOWN};

/// The reason for a failure: a sentence and its arguments.
#[derive(Clone)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "RecordedCause"))]
pub struct Cause {
    sentence: &'static Sentence,
    places: Box<[CauseArgument]>,
}

/// An argument of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum CauseArgument {
    /// A name, a number, or words of a third party: the same in all languages.
    Words(String),
    /// A nested sentence.
    Cause(Cause),
}

/// A sentence without arguments, or with one known at compile time; needs no allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StaticCause(&'static StaticSentence);

/// The static part of a [`StaticCause`].
pub struct StaticSentence {
    sentence: &'static Sentence,
    /// Argument of the sentence; unused if the sentence has none.
    word: &'static str,
}

impl StaticSentence {
    #[doc(hidden)]
    pub const fn new(sentence: &'static Sentence, word: &'static str) -> StaticSentence {
        StaticSentence { sentence, word }
    }

    /// Returns the cause for this sentence.
    pub const fn plain(&'static self) -> StaticCause {
        StaticCause(self)
    }
}

impl StaticCause {
    /// Returns `true` if a limit of brunt itself is the reason, and not the peer.
    pub fn is_own_limit(self) -> bool {
        self.0.sentence.own
    }

    /// Returns the English text.
    pub fn en(self) -> Cow<'static, str> {
        Cause::from(self).en()
    }
}

impl Cause {
    #[doc(hidden)]
    pub fn new<const N: usize>(sentence: &'static Sentence, places: [CauseArgument; N]) -> Cause {
        Cause { sentence, places: Box::new(places) }
    }

    pub(crate) fn of(sentence: &'static Sentence, places: Vec<CauseArgument>) -> Cause {
        Cause { sentence, places: places.into() }
    }

    /// Returns the key of the sentence in records.
    pub fn key(&self) -> &'static str {
        self.sentence.key
    }

    /// Returns `true` if the cause is unchanged third-party text.
    pub fn is_verbatim(&self) -> bool {
        std::ptr::eq(self.sentence, &SAID)
    }

    /// Returns `true` if a limit of brunt itself is the reason, and not the peer.
    pub fn is_own_limit(&self) -> bool {
        let nested = |place: &CauseArgument| matches!(place, CauseArgument::Cause(cause) if cause.is_own_limit());
        self.sentence.own || self.places.iter().any(nested)
    }

    /// Returns the English text.
    pub fn en(&self) -> Cow<'static, str> {
        if self.places.is_empty() {
            self.sentence.en.into()
        } else {
            self.filled(self.sentence.en, &CauseArgument::en).into()
        }
    }

    /// Returns the Chinese text; `None` for a sentence from a later version or a third-party protocol.
    pub fn zh(&self) -> Option<Cow<'static, str>> {
        (!self.sentence.zh.is_empty()).then(|| match self.places.is_empty() {
            true => self.sentence.zh.into(),
            false => self.filled(self.sentence.zh, &CauseArgument::zh).into(),
        })
    }

    fn filled(&self, text: &'static str, read: &dyn Fn(&CauseArgument) -> Cow<'_, str>) -> String {
        let (parts, rest) = self.sentence.parts(text);
        let mut out = String::with_capacity(text.len() + 32);
        for (before, place) in parts {
            out.push_str(before);
            out.push_str(&self.places.get(place).map_or(Cow::Borrowed(""), read));
        }
        out + rest
    }

    /// Returns the argument at this place of the sentence if it is text.
    pub fn argument(&self, place: usize) -> Option<&str> {
        match self.places.get(place)? {
            CauseArgument::Words(words) => Some(words),
            CauseArgument::Cause(_) => None,
        }
    }

    /// Returns all words in the arguments, for masking or truncation.
    pub fn words_mut(&mut self) -> Vec<&mut String> {
        let mut all = Vec::new();
        for place in &mut self.places {
            match place {
                CauseArgument::Words(words) => all.push(words),
                CauseArgument::Cause(cause) => all.append(&mut cause.words_mut()),
            }
        }
        all
    }

    /// Returns the cause with each argument truncated to `at_most` bytes, because peers control their length.
    pub fn truncated(&self, at_most: usize) -> Cause {
        let mut cut = self.clone();
        for words in cut.words_mut() {
            words.truncate(words.floor_char_boundary(at_most));
        }
        cut
    }
}

impl CauseArgument {
    fn en(&self) -> Cow<'_, str> {
        match self {
            CauseArgument::Words(words) => words.into(),
            CauseArgument::Cause(cause) => cause.en(),
        }
    }

    fn zh(&self) -> Cow<'_, str> {
        match self {
            CauseArgument::Words(words) => words.into(),
            CauseArgument::Cause(cause) => cause.zh().unwrap_or_else(|| cause.en()),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.en())
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.sentence.key, self.en())
    }
}

impl fmt::Debug for StaticCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Cause::from(*self), f)
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Cause) -> bool {
        self.sentence.key == other.sentence.key && self.places == other.places
    }
}

impl Eq for Cause {}

impl PartialEq for StaticSentence {
    fn eq(&self, other: &StaticSentence) -> bool {
        self.sentence.key == other.sentence.key && self.word == other.word
    }
}

impl Eq for StaticSentence {}

impl From<StaticCause> for Cause {
    fn from(StaticCause(fixed): StaticCause) -> Cause {
        let places =
            if fixed.word.is_empty() { Box::default() } else { Box::new([fixed.word.into()]) as Box<[CauseArgument]> };
        Cause { sentence: fixed.sentence, places }
    }
}

impl From<StaticCause> for CauseArgument {
    fn from(plain: StaticCause) -> CauseArgument {
        CauseArgument::Cause(plain.into())
    }
}

impl From<Cause> for CauseArgument {
    fn from(cause: Cause) -> CauseArgument {
        CauseArgument::Cause(cause)
    }
}

impl From<String> for CauseArgument {
    fn from(words: String) -> CauseArgument {
        CauseArgument::Words(words)
    }
}

impl From<&str> for CauseArgument {
    fn from(words: &str) -> CauseArgument {
        CauseArgument::Words(words.to_owned())
    }
}

impl From<&String> for CauseArgument {
    fn from(words: &String) -> CauseArgument {
        CauseArgument::Words(words.clone())
    }
}

impl From<Cow<'_, str>> for CauseArgument {
    fn from(words: Cow<'_, str>) -> CauseArgument {
        CauseArgument::Words(words.into_owned())
    }
}

macro_rules! numbers {
    ($($Number:ty),+) => {$(
        impl From<$Number> for CauseArgument {
            fn from(number: $Number) -> CauseArgument {
                CauseArgument::Words(number.to_string())
            }
        }
    )+};
}

numbers!(u8, u16, u32, u64, usize);

/// The form of a cause in records.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Cause"))]
struct RecordedCause {
    /// Key of the sentence: `tls.expired`.
    is: String,
    /// Arguments of the sentence, in order: words, or another cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    of: Vec<CauseArgument>,
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        RecordedCause { is: self.sentence.key.into(), of: self.places.to_vec() }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Cause {
    /// Deserializes an unknown sentence, or one with a different number of arguments, as a cause without text, for
    /// which only the English text stored next to it is known.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Cause, D::Error> {
        let RecordedCause { is, of } = RecordedCause::deserialize(from)?;
        let sentence = Sentence::of(&is);
        Ok(match sentence.places.len() == of.len() {
            true => Cause::of(sentence, of),
            false => Cause::of(&UNKNOWN, Vec::new()),
        })
    }
}
