//! Converts `.proto` files that use editions (`edition = "2023"`) to proto2 files with the same wire format.
//!
//! Editions express with features what proto2 expresses with labels, types and options: a required field, a packed one,
//! a group. The libraries that read descriptors support only proto2 and proto3. Two properties are lost, neither of
//! which changes how a message is read: that an enum is open, and that a field without presence is omitted if it is
//! zero (here it is sent, as written). Descriptors are read and written at the wire level (`descriptor.proto`), so
//! everything else in them is preserved.

use prost_reflect::prost::encoding::{decode_varint, encode_varint};

/// Wire type of a length-delimited field.
const BYTES: u64 = 2;
/// Field number of `FeatureSet` in each kind of options.
const OF_FILE: u64 = 50;
const OF_MESSAGE: u64 = 12;
const OF_FIELD: u64 = 21;
/// Field number of `uninterpreted_option` in all kinds of options: the form in which a parser leaves features.
const UNINTERPRETED: u64 = 999;
/// The editions whose defaults are those of [`EditionFeatures::default`].
const EDITIONS: std::ops::RangeInclusive<u64> = 1000..=1001;
/// Maximum nesting of messages; deeper descriptors are rejected.
const DEEPEST: u32 = 64;

/// Features that affect the wire format; values as in `FeatureSet`.
#[derive(Clone, Copy, Debug)]
struct EditionFeatures {
    presence: u64,
    packed: u64,
    encoding: u64,
}

const REQUIRED: u64 = 3;
const PACKED: u64 = 1;
const DELIMITED: u64 = 2;

impl Default for EditionFeatures {
    fn default() -> EditionFeatures {
        EditionFeatures { presence: 1, packed: PACKED, encoding: 1 }
    }
}

/// A field in wire format.
struct WireField<'a> {
    number: u64,
    wire: u64,
    /// Value of a numeric field.
    value: u64,
    /// Content of a length-delimited field.
    bytes: &'a [u8],
    whole: &'a [u8],
}

/// The result of reading; the error is a description.
type EditionResult<T> = Result<T, &'static str>;
const BROKEN: &str = "a descriptor that is not a message of descriptor.proto";

/// Converts an encoded file descriptor of an edition to proto2; returns `None` if it is proto2 or proto3 already.
///
/// # Errors
/// Fails if the file cannot be converted; the error text is the second half of a sentence.
pub fn lower_to_proto2(file: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    let (mut syntax, mut edition, mut features) = (&b""[..], 0, EditionFeatures::default());
    for field in fields(file) {
        match field? {
            WireField { number: 12, bytes, .. } => syntax = bytes,
            WireField { number: 14, value, .. } => edition = value,
            WireField { number: 8, bytes, .. } => features = features.with(bytes, OF_FILE)?,
            _ => {}
        }
    }
    match syntax {
        b"" | b"proto2" | b"proto3" => return Ok(None),
        b"editions" if EDITIONS.contains(&edition) => {}
        b"editions" => return Err("an edition after 2024, which is not supported"),
        _ => return Err("a syntax other than proto2, proto3 or an edition"),
    }
    let mut out = Vec::with_capacity(file.len() + 16);
    for field in fields(file) {
        let field = field?;
        match field.number {
            4 => put(4, &message(field.bytes, features, 0)?, &mut out),
            7 => put(7, &self::field(field.bytes, features, false)?, &mut out),
            8 => put(8, &without(field.bytes, OF_FILE, &[])?, &mut out),
            12 | 14 => {}
            _ => out.extend_from_slice(field.whole),
        }
    }
    put(12, b"proto2", &mut out);
    Ok(Some(out))
}

/// Converts a `DescriptorProto`.
fn message(bytes: &[u8], around: EditionFeatures, depth: u32) -> EditionResult<Vec<u8>> {
    if depth > DEEPEST {
        return Err("messages nested more than 64 deep");
    }
    let (mut features, mut maps) = (around, Vec::new());
    for field in fields(bytes) {
        match field? {
            WireField { number: 7, bytes, .. } => features = features.with(bytes, OF_MESSAGE)?,
            WireField { number: 3, bytes, .. } if is_map_entry(bytes)? => maps.push(name(bytes)?),
            _ => {}
        }
    }
    let mut out = Vec::with_capacity(bytes.len() + 16);
    for field in fields(bytes) {
        let field = field?;
        match field.number {
            2 => {
                let of = text(field.bytes, 6)?.rsplit(|b| *b == b'.').next().unwrap_or_default();
                put(2, &self::field(field.bytes, features, maps.contains(&of))?, &mut out);
            }
            6 => put(6, &self::field(field.bytes, features, false)?, &mut out),
            7 => put(7, &without(field.bytes, OF_MESSAGE, &[])?, &mut out),
            // Entries of maps are unaffected by features.
            3 if !is_map_entry(field.bytes)? => put(3, &message(field.bytes, features, depth + 1)?, &mut out),
            _ => out.extend_from_slice(field.whole),
        }
    }
    Ok(out)
}

/// Converts a `FieldDescriptorProto`.
fn field(bytes: &[u8], around: EditionFeatures, is_map: bool) -> EditionResult<Vec<u8>> {
    let (mut label, mut kind, mut features, mut options) = (1, 0, around, &b""[..]);
    for field in fields(bytes) {
        match field? {
            WireField { number: 4, value, .. } => label = value,
            WireField { number: 5, value, .. } => kind = value,
            WireField { number: 8, bytes, .. } => (features, options) = (features.with(bytes, OF_FIELD)?, bytes),
            _ => {}
        }
    }
    let mut out = Vec::with_capacity(bytes.len() + 16);
    for field in fields(bytes) {
        let field = field?;
        if !matches!(field.number, 4 | 5 | 8) {
            out.extend_from_slice(field.whole);
        }
    }
    number(4, if label == 1 && features.presence == REQUIRED { 2 } else { label }, &mut out);
    match kind {
        // The parser leaves the type open; it is resolved later by its name.
        0 if features.encoding == DELIMITED && around.encoding != DELIMITED => number(5, 10, &mut out),
        0 if features.encoding == DELIMITED => {
            return Err("message_encoding = DELIMITED set for more than individual fields");
        }
        0 => {}
        11 if features.encoding == DELIMITED && !is_map => number(5, 10, &mut out),
        kind => number(5, kind, &mut out),
    }
    // Strings, groups, messages and bytes are never packed.
    let packable = label == 3 && kind != 0 && !matches!(kind, 9..=12);
    let mut packed = Vec::new();
    if packable {
        number(2, u64::from(features.packed == PACKED), &mut packed);
    }
    let options = [without(options, OF_FIELD, if packable { &[2] } else { &[] })?, packed].concat();
    if !options.is_empty() {
        put(8, &options, &mut out);
    }
    Ok(out)
}

impl EditionFeatures {
    /// Returns these features, overridden by those in field `number` of the options.
    fn with(mut self, options: &[u8], number: u64) -> EditionResult<EditionFeatures> {
        for option in fields(options) {
            let option = option?;
            if option.number == number && option.wire == BYTES {
                for feature in fields(option.bytes) {
                    let feature = feature?;
                    self.set(feature.number, feature.value);
                }
            } else if let Some((feature, value)) = left_open(&option)? {
                self.set(feature, value);
            }
        }
        Ok(self)
    }

    fn set(&mut self, feature: u64, value: u64) {
        match feature {
            1 => self.presence = value,
            3 => self.packed = value,
            5 => self.encoding = value,
            _ => {}
        }
    }
}

/// Reads a feature and its value from an uninterpreted option, such as `features.field_presence = IMPLICIT`.
fn left_open(option: &WireField<'_>) -> EditionResult<Option<(u64, u64)>> {
    if option.number != UNINTERPRETED || option.wire != BYTES {
        return Ok(None);
    }
    let (mut names, mut value) = (Vec::new(), &b""[..]);
    for part in fields(option.bytes) {
        match part? {
            WireField { number: 2, bytes, .. } => names.push(text(bytes, 1)?),
            WireField { number: 3, bytes, .. } => value = bytes,
            _ => {}
        }
    }
    let [b"features", feature] = names[..] else {
        return if names.first() == Some(&&b"features"[..]) { Ok(Some((0, 0))) } else { Ok(None) };
    };
    let values: (u64, [&[u8]; 3]) = match feature {
        b"field_presence" => (1, [b"EXPLICIT", b"IMPLICIT", b"LEGACY_REQUIRED"]),
        b"repeated_field_encoding" => (3, [b"PACKED", b"EXPANDED", b""]),
        b"message_encoding" => (5, [b"LENGTH_PREFIXED", b"DELIMITED", b""]),
        _ => return Ok(Some((0, 0))),
    };
    let place = values.1.iter().position(|known| *known == value).ok_or("a feature with an unknown value")?;
    Ok(Some((values.0, place as u64 + 1)))
}

/// Returns the options without their features and without the fields in `others`.
fn without(options: &[u8], features: u64, others: &[u64]) -> EditionResult<Vec<u8>> {
    let mut out = Vec::with_capacity(options.len());
    for option in fields(options) {
        let option = option?;
        if option.number != features && !others.contains(&option.number) && left_open(&option)?.is_none() {
            out.extend_from_slice(option.whole);
        }
    }
    Ok(out)
}

fn is_map_entry(message: &[u8]) -> EditionResult<bool> {
    let mut entry = false;
    for field in fields(message) {
        if let WireField { number: 7, bytes, .. } = field? {
            for option in fields(bytes) {
                entry |= matches!(option?, WireField { number: 7, value: 1, .. });
            }
        }
    }
    Ok(entry)
}

fn name(message: &[u8]) -> EditionResult<&[u8]> {
    text(message, 1)
}

/// Returns the text of a field; empty if the field is missing.
fn text(message: &[u8], number: u64) -> EditionResult<&[u8]> {
    let mut found = &b""[..];
    for field in fields(message) {
        let field = field?;
        if field.number == number && field.wire == BYTES {
            found = field.bytes;
        }
    }
    Ok(found)
}

/// Iterates over the fields of a message, in order.
fn fields(message: &[u8]) -> impl Iterator<Item = EditionResult<WireField<'_>>> {
    let mut rest = message;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = one(rest);
        rest = field.as_ref().map_or(&[], |field| &rest[field.whole.len()..]);
        Some(field.ok_or(BROKEN))
    })
}

fn one(message: &[u8]) -> Option<WireField<'_>> {
    let mut rest = message;
    let varint = |rest: &mut &[u8]| decode_varint(rest).ok();
    let key = varint(&mut rest)?;
    let (number, wire, mut value) = (key >> 3, key & 7, 0);
    let size = match wire {
        0 => {
            value = varint(&mut rest)?;
            0
        }
        1 => 8,
        BYTES => usize::try_from(varint(&mut rest)?).ok()?,
        5 => 4,
        _ => return None,
    };
    let (bytes, rest) = rest.split_at_checked(size)?;
    let bytes = if wire == BYTES { bytes } else { &[] };
    Some(WireField { number, wire, value, bytes, whole: &message[..message.len() - rest.len()] })
}

fn number(field: u64, value: u64, out: &mut Vec<u8>) {
    encode_varint(field << 3, out);
    encode_varint(value, out);
}

fn put(field: u64, bytes: &[u8], out: &mut Vec<u8>) {
    encode_varint(field << 3 | BYTES, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Sets the edition of an encoded file; if a field appears twice, the last one counts.
pub fn set_edition(edition: u64, file: &mut Vec<u8>) {
    put(12, b"editions", file);
    number(14, edition, file);
}
