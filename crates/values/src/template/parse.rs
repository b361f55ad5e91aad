//! The parser of templates, by recursive descent: bytes, slots, named parts, and functions with their arguments.
//!
//! Within a slot, literal braces must be balanced (`{body={{"id":{counter}}}}`), so that the brace that closes the slot
//! is unambiguous.

use brunt_cause::{Complaint, complaint};

use super::change::{self, ValueChange};
use super::checksum::Checksum;
use super::csv::DataFiles;
use super::digest::DigestAlgorithm;
use super::format::NumberFormat;
use super::notation::Notation;
use super::piece::{FunctionCall, MOST_PARTS, TemplateFunction, TemplatePart, TemplatePiece, TemplateProgram};
use super::slots::SlotScope;
use super::value::SlotValue;
use super::{resolve, slots};

/// Maximum nesting depth of slots.
const DEEPEST: usize = 32;

/// Maximum size of a part made by `pad`, in bytes.
const LARGEST_PAD: usize = 1 << 20;

/// Compiles a text.
///
/// # Errors
/// The text is invalid; the error describes why.
pub fn program(
    text: &str,
    (notation, scope): (Notation, SlotScope<'_>),
    files: &mut DataFiles,
) -> Result<TemplateProgram, Complaint> {
    let mut parser = TemplateParser { text, at: 0, notation, scope, parts: Vec::new(), files, salt: 0, depth: 0 };
    let pieces = parser.content(false)?;
    resolve::program(TemplateProgram { pieces, parts: parser.parts })
}

/// Compiles one slot, including its braces, for a template builder. `parts` are the parts of the whole text so far;
/// slots with different `salt` have different random values.
///
/// # Errors
/// The slot is invalid; the error describes why.
pub fn slot(
    text: &str,
    salt: u64,
    (notation, scope): (Notation, SlotScope<'_>),
    parts: &mut Vec<TemplatePart>,
    files: &mut DataFiles,
) -> Result<Vec<TemplatePiece>, Complaint> {
    let known = std::mem::take(parts);
    let mut parser = TemplateParser { text, at: 0, notation, scope, parts: known, files, salt, depth: 0 };
    let pieces = parser.slot();
    *parts = parser.parts;
    pieces
}

struct TemplateParser<'a> {
    text: &'a str,
    at: usize,
    notation: Notation,
    scope: SlotScope<'a>,
    parts: Vec<TemplatePart>,
    files: &'a mut DataFiles,
    /// Number of slots so far; makes the values of random slots differ.
    salt: u64,
    depth: usize,
}

impl<'a> TemplateParser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Parses pieces up to the end of the text, or up to the brace that closes the enclosing slot.
    fn content(&mut self, inside: bool) -> Result<Vec<TemplatePiece>, Complaint> {
        let (mut pieces, mut bytes, mut open) = (Vec::new(), Vec::new(), 0);
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                break;
            } else if rest.starts_with("{{") {
                bytes.push(b'{');
                open += 1;
                self.at += 2;
            } else if rest.starts_with("}}") && (!inside || open > 0) {
                bytes.push(b'}');
                open -= i32::from(inside);
                self.at += 2;
            } else if rest.starts_with('}') {
                if inside && open == 0 {
                    break;
                }
                let where_ = self.at + 1;
                return Err(complaint!(
                    "the }} at character {where_} closes nothing; write }}}} for a literal brace",
                    "第 {where_} 个字符处的 }} 没有对应的左花括号；花括号本身请写作 }}}}"
                ));
            } else if rest.starts_with('{') {
                if !bytes.is_empty() {
                    pieces.push(TemplatePiece::Bytes(std::mem::take(&mut bytes).into()));
                }
                pieces.extend(self.slot()?);
            } else {
                self.at = self.notation.decode_unit(self.text, self.at, &mut bytes)?;
            }
        }
        if !bytes.is_empty() {
            pieces.push(TemplatePiece::Bytes(bytes.into()));
        }
        Ok(pieces)
    }

    /// Parses one slot, including its braces.
    fn slot(&mut self) -> Result<Vec<TemplatePiece>, Complaint> {
        let from = self.at;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(complaint!(
                "slots are nested more than {DEEPEST} deep; use fewer levels",
                "占位符嵌套超过 {DEEPEST} 层；请减少层数"
            ));
        }
        self.at += 1;
        let rest = self.rest();
        let name = &rest[..rest.find(|c: char| !is_name(c)).unwrap_or(rest.len())];
        self.at += name.len();
        let pieces = match self.rest().chars().next() {
            Some('=') if !name.is_empty() => vec![self.definition(name)?],
            Some(' ' | '}' | '|') if self.scope.is_value(name) => self.value(name)?,
            Some(' ' | '}') if name == "text" => {
                let content = self.whole_content(name)?;
                self.encoded_content(content)
            }
            Some(' ' | '}') if is_function(name) => {
                let (function, content) = self.function(name)?;
                self.apply_function(function, content)
            }
            Some(' ' | '}' | '|') if !name.is_empty() && self.encodings_follow() => {
                let named = vec![TemplatePiece::Name { name: name.into(), at: from + 1 }];
                let words = self.words();
                encode_pieces(named, words.split('|').skip(1))?
            }
            _ => return Err(unknown_slot_error(&self.text[from..])),
        };
        if !self.rest().starts_with('}') {
            let shown: String = self.text[from..].chars().take(24).collect();
            return Err(complaint!(
                "{shown} is not closed; write }} after it, or {{{{ for a literal brace",
                "{shown} 没有结束；请在其后写 }}，花括号本身请写作 {{{{"
            ));
        }
        self.at += 1;
        self.depth -= 1;
        Ok(pieces)
    }

    /// Parses `{name=CONTENT}`.
    fn definition(&mut self, name: &str) -> Result<TemplatePiece, Complaint> {
        if self.scope.is_value(name) || is_function(name) || name == "text" {
            return Err(complaint!(
                "{name} is the name of a slot and cannot name a part; use another name",
                "{name} 是占位符的名称，不能用来命名部分；请换一个名称"
            ));
        }
        if self.parts.iter().any(|part| part.name == name) {
            return Err(complaint!(
                "{name}= is given twice; name each part once, and write {{{name}}} to repeat it",
                "{name}= 重复出现；每个部分只命名一次，再次使用请写 {{{name}}}"
            ));
        }
        if self.parts.len() == MOST_PARTS {
            return Err(complaint!(
                "more than {MOST_PARTS} parts are named; name fewer",
                "命名的部分超过 {MOST_PARTS} 个；请减少"
            ));
        }
        let number = self.parts.len();
        self.parts.push(TemplatePart { name: name.into(), ..TemplatePart::default() });
        self.at += 1;
        self.parts[number].pieces = self.content(true)?;
        Ok(TemplatePiece::Part(number))
    }

    /// Returns the text up to the next brace.
    fn words(&mut self) -> &'a str {
        let rest = self.rest();
        let words = &rest[..rest.find(['}', '{']).unwrap_or(rest.len())];
        self.at += words.len();
        words
    }

    fn value(&mut self, name: &str) -> Result<Vec<TemplatePiece>, Complaint> {
        let mut words = self.words().split('|');
        let of_slot = words.next().unwrap_or_default().trim();
        self.salt += 1;
        if let Some(variable) = self.scope.variable(name) {
            if !of_slot.is_empty() {
                return Err(complaint!(
                    "\"{of_slot}\" is not known in {{{name}}}; write {{{name}}}, or {{{name} | url}}",
                    "{{{name}}} 中不能写“{of_slot}”；请写 {{{name}}} 或 {{{name} | url}}"
                ));
            }
            return encode_pieces(vec![TemplatePiece::Value(SlotValue::Variable(variable))], words);
        }
        let piece = match name {
            "env" => TemplatePiece::Bytes(slots::env(of_slot)?.into_bytes().into()),
            "captured" => TemplatePiece::Captured(slots::group(of_slot, self.scope.captured.unwrap_or(0))?),
            _ => TemplatePiece::Value(slots::value(name, of_slot, self.salt, self.files)?),
        };
        encode_pieces(vec![piece], words)
    }

    /// Returns `true` if only encodings, or nothing, precede the closing brace.
    fn encodings_follow(&self) -> bool {
        let words = self.rest().split(['}', '{']).next().unwrap_or_default();
        words.is_empty() || words.trim_start().starts_with('|')
    }

    /// Applies a function to its content, then the encodings at the end of the content.
    fn apply_function(&self, function: TemplateFunction, mut content: Vec<TemplatePiece>) -> Vec<TemplatePiece> {
        let names = self.take_encodings(&mut content);
        let made = vec![TemplatePiece::Call(Box::new(FunctionCall { function, content }))];
        names
            .into_iter()
            .fold(made, |content, function| vec![TemplatePiece::Call(Box::new(FunctionCall { function, content }))])
    }

    fn encoded_content(&self, mut content: Vec<TemplatePiece>) -> Vec<TemplatePiece> {
        let names = self.take_encodings(&mut content);
        names
            .into_iter()
            .fold(content, |content, function| vec![TemplatePiece::Call(Box::new(FunctionCall { function, content }))])
    }

    /// Removes trailing encodings such as ` | url | json` from a content and returns them.
    fn take_encodings(&self, content: &mut Vec<TemplatePiece>) -> Vec<TemplateFunction> {
        let mut names = Vec::new();
        let (false, Some(TemplatePiece::Bytes(bytes))) = (self.notation == Notation::Hex, content.last_mut()) else {
            return names;
        };
        let mut left = &bytes[..];
        while let Some(at) = memchr::memrchr(b'|', left)
            && let Some(function) = std::str::from_utf8(&left[at + 1..]).ok().and_then(|word| encoding(word.trim()))
            && (at == 0 || left[at - 1] == b' ')
        {
            names.insert(0, function);
            left = left[..at].trim_ascii_end();
        }
        if left.is_empty() && !names.is_empty() {
            content.pop();
        } else if left.len() < bytes.len() && !names.is_empty() {
            *bytes = left.into();
        }
        names
    }

    fn whole_content(&mut self, name: &str) -> Result<Vec<TemplatePiece>, Complaint> {
        if !self.rest().starts_with(' ') {
            return Err(complaint!(
                "{{{name}}} needs a part; write {{{name} TEXT}} or {{{name} {{PART}}}}",
                "{{{name}}} 需要内容；请写 {{{name} TEXT}} 或 {{{name} {{PART}}}}"
            ));
        }
        self.at += 1;
        self.content(true)
    }

    /// Parses the word before the content; consumes it only if `take` accepts it.
    fn word<T>(&mut self, take: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let rest = self.rest().strip_prefix(' ')?;
        let word = &rest[..rest.find([' ', '}', '{'])?];
        let taken = take(word)?;
        self.at += 1 + word.len();
        Some(taken)
    }

    fn format(&mut self, default: NumberFormat) -> Result<NumberFormat, Complaint> {
        let mut format = self.word(NumberFormat::parse).unwrap_or(default);
        if self.word(|word| (word == "width").then_some(())).is_some() {
            let width = self.word(|word| Some(word.to_owned())).unwrap_or_default();
            format = format.with_width(&width)?;
        }
        Ok(format)
    }

    fn function(&mut self, name: &str) -> Result<(TemplateFunction, Vec<TemplatePiece>), Complaint> {
        let function = match name {
            "length" => {
                let format = self.format(NumberFormat::DECIMAL)?;
                let signed = |word: &str| word.starts_with(['+', '-']).then(|| word.parse::<i64>().ok()).flatten();
                TemplateFunction::Length { format, add: self.word(signed).unwrap_or(0) }
            }
            "hex" => TemplateFunction::Hex,
            "base64" => TemplateFunction::Base64,
            "pad" => self.pad()?,
            "xor" => return self.xor(),
            _ if digest(name).is_some() => self.digest(name)?,
            _ => {
                let named = Checksum::NAMES.iter().find(|(sum, ..)| *sum == name);
                let &(_, sum, usual) = named.ok_or_else(|| unknown_slot_error(&format!("{{{name}")))?;
                TemplateFunction::Sum { sum, format: self.format(usual)? }
            }
        };
        Ok((function, self.whole_content(name)?))
    }

    fn pad(&mut self) -> Result<TemplateFunction, Complaint> {
        let (wrong, zh) = (
            "write {pad SIZE PART}, or {pad SIZE with HH PART} for a byte other than 00",
            "请写 {pad SIZE PART}，若字节不是 00 请写 {pad SIZE with HH PART}",
        );
        let size = self.word(|word| word.parse().ok()).filter(|size| *size <= LARGEST_PAD);
        let size = size.ok_or_else(|| {
            complaint!("pad needs a size up to {LARGEST_PAD}; {wrong}", "pad 需要不超过 {LARGEST_PAD} 的长度；{zh}")
        })?;
        let mut with = 0;
        if self.word(|word| (word == "with").then_some(())).is_some() {
            let byte = self.word(|word| u8::from_str_radix(word, 16).ok());
            with = byte.ok_or_else(|| {
                complaint!(
                    "pad needs a byte in hexadecimal after with; {wrong}",
                    "pad 的 with 之后需要一个十六进制字节；{zh}"
                )
            })?;
        }
        Ok(TemplateFunction::Pad { size, with })
    }

    /// Parses `{md5 PART}` and `{hmac-md5 KEY PART}`, where a key of several words is a slot.
    fn digest(&mut self, name: &str) -> Result<TemplateFunction, Complaint> {
        let digest = digest(name).ok_or_else(|| unknown_slot_error(name))?;
        if !name.starts_with("hmac-") {
            return Ok(TemplateFunction::Digest { digest, key: None });
        }
        let missing = || {
            complaint!(
                "{name} needs a key and a part; write {{{name} KEY PART}}",
                "{name} 需要密钥和内容；请写 {{{name} KEY PART}}"
            )
        };
        let key = if self.rest().starts_with(" {") && !self.rest().starts_with(" {{") {
            self.at += 1;
            self.slot()?
        } else {
            let word = self.word(|word| Some(word.to_owned())).filter(|word| !word.is_empty()).ok_or_else(missing)?;
            vec![TemplatePiece::Bytes(self.notation.decode(&word)?.into())]
        };
        if self.rest().starts_with(' ') {
            Ok(TemplateFunction::Digest { digest, key: Some(key) })
        } else {
            Err(missing())
        }
    }

    /// Parses `{xor {A} {B}}`.
    fn xor(&mut self) -> Result<(TemplateFunction, Vec<TemplatePiece>), Complaint> {
        let mut two = Vec::new();
        for _ in 0..2 {
            if !self.rest().starts_with(" {") || self.rest().starts_with(" {{") {
                let trouble = Complaint::new(
                    "xor takes two slots; write {xor {A} {B}}, with {text …} around anything that is not \
                    a slot",
                    "xor 需要两个占位符；请写 {xor {A} {B}}，不是占位符的内容放进 {text …}",
                );
                return Err(trouble);
            }
            self.at += 1;
            two.push(self.slot()?);
        }
        let other = two.pop().unwrap_or_default();
        Ok((TemplateFunction::Xor { other }, two.pop().unwrap_or_default()))
    }
}

/// Applies encodings to pieces.
fn encode_pieces<'a>(
    pieces: Vec<TemplatePiece>,
    names: impl Iterator<Item = &'a str>,
) -> Result<Vec<TemplatePiece>, Complaint> {
    let mut pieces = pieces;
    let [known, known_zh] = change::WORDS;
    for name in names {
        let name = name.trim();
        let function = encoding(name).ok_or_else(|| {
            complaint!(
                "\"{name}\" is not an encoding; after | write {known}",
                "“{name}”不是编码；| 之后请写 {known_zh}"
            )
        })?;
        pieces = vec![TemplatePiece::Call(Box::new(FunctionCall { function, content: pieces }))];
    }
    Ok(pieces)
}

/// Returns the encoding of this name.
pub fn encoding(name: &str) -> Option<TemplateFunction> {
    match name {
        "url" => Some(TemplateFunction::Url),
        "json" => Some(TemplateFunction::Json),
        "base64" => Some(TemplateFunction::Base64),
        "hex" => Some(TemplateFunction::Hex),
        _ => ValueChange::parse(name).map(TemplateFunction::Change),
    }
}

/// Returns `true` for a character that slot names may contain.
pub fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Returns `true` for the name of a function that takes content, except `text`.
pub fn is_function(name: &str) -> bool {
    matches!(name, "length" | "hex" | "base64" | "pad" | "xor")
        || digest(name).is_some()
        || Checksum::NAMES.iter().any(|(sum, ..)| *sum == name)
}

fn digest(name: &str) -> Option<DigestAlgorithm> {
    let name = name.strip_prefix("hmac-").unwrap_or(name);
    DigestAlgorithm::NAMES.iter().find(|(other, _)| *other == name).map(|(_, digest)| *digest)
}

/// Returns the error message for braces that do not contain a slot.
pub fn unknown_slot_error(text: &str) -> Complaint {
    let shown: String = text.chars().take(24).collect();
    let shown = shown.split_inclusive('}').next().unwrap_or_default();
    complaint!(
        "{shown} is not a slot; use {{counter}}, {{random 16}}, {{random 1..100}}, {{user}}, {{time}}, {{uuid}}, \
         {{csv FILE.COLUMN}} and others (see the guide), and {{{{ and }}}} for literal braces",
        "{shown} 不是占位符；请用 {{counter}}、{{random 16}}、{{random 1..100}}、{{user}}、{{time}}、{{uuid}}、{{csv FILE.COLUMN}} 等（见指南），花括号本身写作 {{{{ 和 }}}}"
    )
}
