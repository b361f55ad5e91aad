//! In-place search of JSON: values are found by skipping all others, without building a tree.
//!
//! A value is a slice of the received text: numbers keep all digits, strings may contain code points that UTF-8 cannot
//! represent, nesting is unlimited, and a body of a million brackets takes no extra memory.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Returns a body as JSON; `None` if it is not JSON.
pub fn parse_whole(body: &[u8]) -> Option<&RawValue> {
    serde_json::from_slice(body).ok()
}

/// Finds the member with this name in a body while parsing it, the last one if there are several. `Ok(None)` if there
/// is no such member, or the body is not an object.
///
/// # Errors
/// The body is not JSON.
pub fn find_member<'a>(body: &'a [u8], name: &str) -> Result<Option<&'a RawValue>, serde_json::Error> {
    if !body.trim_ascii_start().starts_with(b"{") {
        return serde_json::from_slice(body).map(|_: &RawValue| None);
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let member = reader.deserialize_map(MemberFinder(name.as_bytes()))?;
    reader.end().map(|()| member)
}

/// Passes the items of an array to `each`; does nothing for other values.
pub fn for_each_item<'a>(value: &'a RawValue, each: impl FnMut(&'a RawValue)) {
    if value.get().starts_with('[') {
        // Cannot fail, because the text has been validated as JSON.
        let _ = serde_json::Deserializer::from_str(value.get()).deserialize_seq(ItemVisitor(each));
    }
}

/// Passes the members of an object to `each`, with their names as bytes; does nothing for other values.
pub fn for_each_member<'a>(value: &'a RawValue, each: impl FnMut(&[u8], &'a RawValue)) {
    if value.get().starts_with('{') {
        let _ = serde_json::Deserializer::from_str(value.get()).deserialize_map(MemberVisitor(each));
    }
}

/// Returns the bytes of a string, which need not be UTF-8: JSON may escape half a surrogate pair. `None` if the value
/// is not a string.
pub fn string_bytes(value: &RawValue) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(value.get());
    let string = value.get().starts_with('"');
    (string && StringBytes(&mut bytes).deserialize(&mut reader).is_ok()).then_some(bytes)
}

/// Returns the digits of a number as received.
pub fn number_text(value: &RawValue) -> Option<&str> {
    Some(value.get()).filter(|text| text.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
}

struct ItemVisitor<F>(F);

impl<'de, F: FnMut(&'de RawValue)> Visitor<'de> for ItemVisitor<F> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            (self.0)(item);
        }
        Ok(())
    }
}

struct MemberVisitor<F>(F);

impl<'de, F: FnMut(&[u8], &'de RawValue)> Visitor<'de> for MemberVisitor<F> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let mut name = Vec::new();
        while let Some(()) = members.next_key_seed(StringBytes(&mut name))? {
            (self.0)(&name, members.next_value()?);
        }
        Ok(())
    }
}

/// A visitor that finds the member with this name. Names are kept raw, like values, so that each is validated as a JSON
/// string.
struct MemberFinder<'n>(&'n [u8]);

impl<'de> Visitor<'de> for MemberFinder<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some((name, value)) = members.next_entry::<&RawValue, &RawValue>()? {
            if is_string_of(name, self.0) {
                found = Some(value);
            }
        }
        Ok(found)
    }
}

/// Returns `true` if the value is a string of these bytes.
fn is_string_of(value: &RawValue, wanted: &[u8]) -> bool {
    let inside = value.get().as_bytes().get(1..value.get().len() - 1).unwrap_or_default();
    match memchr::memchr(b'\\', inside) {
        None => inside == wanted,
        Some(_) => string_bytes(value).is_some_and(|text| text == wanted),
    }
}

/// A seed that replaces the content of a buffer with the bytes of a string.
struct StringBytes<'b>(&'b mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for StringBytes<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_bytes(self)
    }
}

impl Visitor<'_> for StringBytes<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a string")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<(), E> {
        self.0.clear();
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}
