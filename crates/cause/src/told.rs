//! A sentence with its arguments, and its text in each language.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Sentence;
use crate::sentence::UNKNOWN;

/// The reason of a failure: a sentence and its arguments.
#[derive(Clone)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "Written"))]
pub struct Cause {
    sentence: &'static Sentence,
    places: Box<[Place]>,
}

/// An argument of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Place {
    /// A name, a number, or words of a third party: the same in all languages.
    Words(String),
    /// A nested sentence.
    Cause(Cause),
}

/// A sentence without arguments, or with an argument given at compile time. Needs no allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Plain(&'static Fixed);

/// The static part of a [`Plain`].
pub struct Fixed {
    sentence: &'static Sentence,
    /// Argument of the sentence, if it has one.
    word: &'static str,
}

impl Fixed {
    #[doc(hidden)]
    pub const fn new(sentence: &'static Sentence, word: &'static str) -> Fixed {
        Fixed { sentence, word }
    }

    /// Returns the cause of a sentence known at compile time.
    pub const fn plain(&'static self) -> Plain {
        Plain(self)
    }
}

impl Plain {
    /// Returns the English text.
    pub fn en(self) -> Cow<'static, str> {
        Cause::from(self).en()
    }
}

impl Cause {
    #[doc(hidden)]
    pub fn new<const N: usize>(sentence: &'static Sentence, places: [Place; N]) -> Cause {
        Cause { sentence, places: Box::new(places) }
    }

    pub(crate) fn of(sentence: &'static Sentence, places: Vec<Place>) -> Cause {
        Cause { sentence, places: places.into() }
    }

    /// Returns the key of the sentence in records.
    pub fn key(&self) -> &'static str {
        self.sentence.key
    }

    /// Returns the English text.
    pub fn en(&self) -> Cow<'static, str> {
        if self.places.is_empty() { self.sentence.en.into() } else { self.filled(self.sentence.en, &Place::en).into() }
    }

    /// Returns the Chinese text; `None` for a sentence of a later version or of a third-party protocol.
    pub fn zh(&self) -> Option<Cow<'static, str>> {
        (!self.sentence.zh.is_empty()).then(|| match self.places.is_empty() {
            true => self.sentence.zh.into(),
            false => self.filled(self.sentence.zh, &Place::zh).into(),
        })
    }

    fn filled(&self, text: &'static str, read: &dyn Fn(&Place) -> Cow<'_, str>) -> String {
        let (parts, rest) = self.sentence.parts(text);
        let mut out = String::with_capacity(text.len() + 32);
        for (before, place) in parts {
            out.push_str(before);
            out.push_str(&self.places.get(place).map_or(Cow::Borrowed(""), read));
        }
        out + rest
    }

    /// Returns all words in the arguments, for masking or shortening.
    pub fn words_mut(&mut self) -> Vec<&mut String> {
        let mut all = Vec::new();
        for place in &mut self.places {
            match place {
                Place::Words(words) => all.push(words),
                Place::Cause(cause) => all.append(&mut cause.words_mut()),
            }
        }
        all
    }

    /// Returns the same cause with each argument truncated to `at_most` bytes, since peers control the words.
    pub fn cut(&self, at_most: usize) -> Cause {
        let mut cut = self.clone();
        for words in cut.words_mut() {
            words.truncate(words.floor_char_boundary(at_most));
        }
        cut
    }
}

impl Place {
    fn en(&self) -> Cow<'_, str> {
        match self {
            Place::Words(words) => words.into(),
            Place::Cause(cause) => cause.en(),
        }
    }

    fn zh(&self) -> Cow<'_, str> {
        match self {
            Place::Words(words) => words.into(),
            Place::Cause(cause) => cause.zh().unwrap_or_else(|| cause.en()),
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

impl fmt::Debug for Plain {
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

impl PartialEq for Fixed {
    fn eq(&self, other: &Fixed) -> bool {
        self.sentence.key == other.sentence.key && self.word == other.word
    }
}

impl Eq for Fixed {}

impl From<Plain> for Cause {
    fn from(Plain(fixed): Plain) -> Cause {
        let places = if fixed.word.is_empty() { Box::default() } else { Box::new([fixed.word.into()]) as Box<[Place]> };
        Cause { sentence: fixed.sentence, places }
    }
}

impl From<Plain> for Place {
    fn from(plain: Plain) -> Place {
        Place::Cause(plain.into())
    }
}

impl From<Cause> for Place {
    fn from(cause: Cause) -> Place {
        Place::Cause(cause)
    }
}

impl From<String> for Place {
    fn from(words: String) -> Place {
        Place::Words(words)
    }
}

impl From<&str> for Place {
    fn from(words: &str) -> Place {
        Place::Words(words.to_owned())
    }
}

impl From<&String> for Place {
    fn from(words: &String) -> Place {
        Place::Words(words.clone())
    }
}

impl From<Cow<'_, str>> for Place {
    fn from(words: Cow<'_, str>) -> Place {
        Place::Words(words.into_owned())
    }
}

macro_rules! numbers {
    ($($Number:ty),+) => {$(
        impl From<$Number> for Place {
            fn from(number: $Number) -> Place {
                Place::Words(number.to_string())
            }
        }
    )+};
}

numbers!(u8, u16, u32, u64, usize);

/// The form of a cause in records.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Cause"))]
struct Written {
    /// Key of the sentence: `tls.expired`.
    is: String,
    /// Arguments of the sentence, in order: words, or another cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    of: Vec<Place>,
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Written { is: self.sentence.key.into(), of: self.places.to_vec() }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Cause {
    /// An unknown sentence, or one with a different number of arguments, is read as a sentence with English text only.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Cause, D::Error> {
        let Written { is, of } = Written::deserialize(from)?;
        let sentence = Sentence::of(&is);
        Ok(match sentence.places.len() == of.len() {
            true => Cause::of(sentence, of),
            false => Cause::of(&UNKNOWN, Vec::new()),
        })
    }
}
