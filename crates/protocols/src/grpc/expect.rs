//! `--expect-json '$.reply.id == 7'`: what the messages of a response must hold, in the JSON of protobuf.
//!
//! `--expect-header`, `--expect-trailer`: what the metadata in front of them and behind them must.
//!
//! Each message of a call whose status is OK is looked into, decompressed where it must be. Numbers of 64 bits are numbers
//! here, and fields that have their default are there: a rule compares values, not spellings.

use std::sync::Arc;

use prost_reflect::{DynamicMessage, Kind, MessageDescriptor, SerializeOptions};
use wire::FaultKind;

use super::compressed::{self, Encoding};
use super::framing;
use super::nearest::nearest;
use super::status;
use crate::capture::{Answer, Capture, Part, Taken};
use crate::kept::{Budget, Kept, NO_ROOM};
use crate::verify::KEPT_BOUND;
use crate::verify::header::{Header, Lines};
use crate::verify::json::{Json, Step};
use crate::verify::places;

/// The largest message that is decoded: a field of two bytes may take a hundred in memory.
const DECODED_BOUND: usize = 256 << 10;
/// So many bytes in memory may stand behind one of a message.
const GROWTH: usize = 100;
/// Messages up to this size are decoded without asking for room.
const SMALL: usize = 4 << 10;

/// What is expected of every response of a method.
#[derive(Debug)]
pub struct Expected {
    rules: Arc<[Json]>,
    kind: MessageDescriptor,
    options: SerializeOptions,
    captures: Arc<[(u16, Capture)]>,
    /// Lines of the metadata in front of the messages, and of that behind them.
    lines: Arc<[Vec<Header>; 2]>,
}

/// What was heard of a response, kept to be looked into.
#[derive(Debug, Default)]
pub struct Heard {
    /// Its messages.
    pub body: Body,
    /// The metadata in front of them, and that behind them.
    pub metadata: [Lines; 2],
}

/// A response that is whole.
#[derive(Debug)]
pub struct Came<'a> {
    pub heard: &'a Heard,
    pub status: u32,
    pub encoding: Encoding,
}

/// What is wrong with a response, and the same in a sentence.
type Trouble = (FaultKind, String);

impl Expected {
    /// Rules about messages of this kind.
    ///
    /// # Errors
    /// A rule names a field that these messages do not have.
    pub fn of(rules: &Arc<[Json]>, kind: MessageDescriptor) -> Result<Expected, String> {
        rules.iter().try_for_each(|rule| known(rule, &kind))?;
        let options = SerializeOptions::new().stringify_64_bit_integers(false).skip_default_fields(false);
        Ok(Expected { rules: Arc::clone(rules), kind, options, captures: Arc::default(), lines: Arc::default() })
    }

    /// The same, with these lines of its metadata; and this is taken out of a response that holds all of it.
    pub fn taking(self, captures: &Arc<[(u16, Capture)]>, lines: &Arc<[Vec<Header>; 2]>) -> Expected {
        Expected { captures: Arc::clone(captures), lines: Arc::clone(lines), ..self }
    }

    /// True where messages must be kept.
    pub fn wants_messages(&self) -> bool {
        !self.rules.is_empty() || self.captures.iter().any(|(_, capture)| capture.part() == Part::Body)
    }

    /// True where metadata must be kept.
    pub fn wants_metadata(&self) -> bool {
        let captured = self.captures.iter().any(|(_, capture)| matches!(capture.kind(), "header" | "trailer"));
        captured || self.lines.iter().any(|lines| !lines.is_empty())
    }

    /// What is taken out of a response whose status counts as success; random bits choose where any is asked for. Messages are looked into
    /// where it is OK.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn look(&self, came: &Came<'_>, (budget, random): (&Budget, u64)) -> Result<Taken, Trouble> {
        let of_metadata = |why| (FaultKind::WrongHeader, why);
        let [head, trailers] = self.metadata(came.heard).map_err(of_metadata)?;
        let called = status::name(came.status);
        let (mut taken, answer) = (Taken::default(), Answer { called: &called, head, trailers, ..Answer::default() });
        let of_rest = self.captures.iter().filter(|(_, capture)| capture.part() != Part::Body);
        taken.add(of_rest, &answer, random).map_err(of_metadata)?;
        if came.status == status::OK && self.wants_messages() {
            self.look_at_messages(came, (budget, random), &mut taken).map_err(|why| (FaultKind::WrongBody, why))?;
        }
        Ok(taken)
    }

    /// The metadata, which has what it must.
    fn metadata<'a>(&self, heard: &'a Heard) -> Result<[&'a [u8]; 2], String> {
        let texts = [heard.metadata[0].text()?, heard.metadata[1].text()?];
        for ((lines, text), what) in self.lines.iter().zip(texts).zip(["header", "trailer"]) {
            if let Some(line) = lines.iter().find(|line| !line.holds(text)) {
                return Err(line.why(what, text));
            }
        }
        Ok(texts)
    }

    /// Which of the lines that its metadata must have are not there.
    #[cold]
    pub fn without(&self, heard: &Heard) -> Vec<bool> {
        let texts = heard.metadata.iter().map(|lines| lines.text().unwrap_or_default());
        self.lines.iter().zip(texts).flat_map(|(lines, text)| lines.iter().map(|line| !line.holds(text))).collect()
    }

    fn look_at_messages(
        &self,
        came: &Came<'_>,
        (budget, random): (&Budget, u64),
        taken: &mut Taken,
    ) -> Result<(), String> {
        let plain = compressed::undone(came.heard.body.kept()?, came.encoding)?;
        let messages = framing::messages(&plain);
        if messages.is_empty() {
            return Err("the response has no message".to_owned());
        }
        let mut texts = Vec::new();
        for message in &messages {
            let text = self.checked(message, budget)?;
            if !self.captures.is_empty() {
                texts.push(text);
            }
        }
        if self.captures.is_empty() {
            return Ok(());
        }
        let whole = match &texts[..] {
            [one] => one.clone(),
            several => [b"[", &several.join(&b","[..])[..], b"]"].concat(),
        };
        let of_body = self.captures.iter().filter(|(_, capture)| capture.part() == Part::Body);
        taken.add(of_body, &Answer { body: &whole, ..Answer::default() }, random)
    }

    /// So many rules there are.
    pub fn rules(&self) -> usize {
        self.rules.len()
    }

    /// Of a response that is not as it must be: which of the rules do not hold for all of its messages.
    #[cold]
    pub fn failed(&self, body: &Body, encoding: Encoding, budget: &Budget) -> Vec<bool> {
        let texts = || {
            let plain = compressed::undone(body.kept()?, encoding)?;
            framing::messages(&plain)
                .iter()
                .map(|message| self.written(message, budget))
                .collect::<Result<Vec<_>, String>>()
        };
        let texts = texts().unwrap_or_default();
        let read: Vec<_> = texts.iter().map(|text| places::whole(text)).collect();
        let holds =
            |rule: &Json| !read.is_empty() && read.iter().all(|value| value.is_some_and(|value| rule.holds(value)));
        self.rules.iter().map(|rule| !holds(rule)).collect()
    }

    /// True where something is taken out of responses.
    pub fn takes(&self) -> bool {
        !self.captures.is_empty()
    }

    /// A message as JSON that keeps the rules.
    fn checked(&self, message: &[u8], budget: &Budget) -> Result<Vec<u8>, String> {
        let text = self.written(message, budget)?;
        let Some(value) = places::whole(&text) else { return Err(unwritten(message)) };
        match self.rules.iter().find(|rule| !rule.holds(value)) {
            Some(rule) => Err(rule.why(value)),
            None => Ok(text),
        }
    }

    /// A message as JSON.
    fn written(&self, message: &[u8], budget: &Budget) -> Result<Vec<u8>, String> {
        let size = measure::format_bytes(message.len() as u64);
        if message.len() > DECODED_BOUND {
            let most = measure::format_bytes(DECODED_BOUND as u64);
            return Err(format!("a message of {size} is larger than {most}, the most that is looked into"));
        }
        let needed = if message.len() > SMALL { message.len() * GROWTH } else { 0 };
        let Some(_taken) = budget.take(needed) else {
            return Err(format!("a message of {size} was not looked into: {NO_ROOM}"));
        };
        let Ok(read) = DynamicMessage::decode(self.kind.clone(), message) else {
            return Err(format!("a message of {size} is no {}", self.kind.full_name()));
        };
        let mut text = serde_json::Serializer::new(Vec::new());
        let written = read.serialize_with_options(&mut text, &self.options);
        written.map(|()| text.into_inner()).map_err(|_| unwritten(message))
    }
}

fn unwritten(message: &[u8]) -> String {
    format!("a message of {} cannot be written as JSON", measure::format_bytes(message.len() as u64))
}

/// The messages of a response, kept to be looked into.
#[derive(Debug, Default)]
pub struct Body {
    bytes: Kept,
    missed: Option<Missed>,
}

/// Why a response is not kept.
#[derive(Clone, Copy, Debug)]
enum Missed {
    TooLong,
    NoRoom,
}

impl Body {
    /// A piece of it, as it arrives.
    pub fn feed(&mut self, piece: &[u8], budget: &Budget) {
        if self.missed.is_some() {
            return;
        }
        if self.bytes.len() + piece.len() > KEPT_BOUND {
            self.missed = Some(Missed::TooLong);
        } else if !self.bytes.add(piece, budget) {
            self.missed = Some(Missed::NoRoom);
        }
        if self.missed.is_some() {
            // It will not be looked into: others may have the room.
            self.bytes = Kept::default();
        }
    }

    fn kept(&self) -> Result<&[u8], String> {
        match self.missed {
            None => Ok(&self.bytes),
            Some(Missed::TooLong) => {
                let bound = measure::format_bytes(KEPT_BOUND as u64);
                Err(format!("the response is longer than {bound}, the most that is kept to be looked into"))
            }
            Some(Missed::NoRoom) => Err(format!("the response was not looked into: {NO_ROOM}")),
        }
    }
}

/// Follows the names of a rule as far as the schema tells them; behind a map, a list of values or a type with a JSON of
/// its own (`google.protobuf.Struct`) anything may stand.
fn known(rule: &Json, kind: &MessageDescriptor) -> Result<(), String> {
    let mut at = Some(kind.clone());
    let mut steps = rule.path().iter();
    while let (Some(kind), Some(step)) = (at.take(), steps.next()) {
        if kind.full_name().starts_with("google.protobuf.") {
            return Ok(());
        }
        let Step::Name(name) = step else { return Ok(()) };
        let Some(field) = kind.get_field_by_json_name(name) else { return Err(unknown(rule, &kind, name)) };
        if field.is_map() {
            return Ok(());
        }
        if field.is_list() && !matches!(steps.next(), Some(Step::Index(_) | Step::All | Step::Where(_))) {
            return Ok(());
        }
        at = match field.kind() {
            Kind::Message(inner) => Some(inner),
            _ => None,
        };
    }
    Ok(())
}

fn unknown(rule: &Json, kind: &MessageDescriptor, name: &str) -> String {
    let fields: Vec<String> = kind.fields().map(|field| field.json_name().to_owned()).collect();
    // As the schema spells it, which JSON does not.
    let meant = kind.get_field_by_name(name).map(|field| field.json_name().to_owned());
    let meant = meant.or_else(|| nearest(name, fields.iter().map(String::as_str)).map(str::to_owned));
    let right = match meant {
        Some(meant) => format!("write \"{meant}\""),
        None if fields.is_empty() => "it has no fields at all".to_owned(),
        None => format!("it has {}", fields.join(", ")),
    };
    format!("\"{}\": {} has no field \"{name}\"; {right}", rule.text(), kind.full_name())
}
