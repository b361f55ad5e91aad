//! `--expect-json '$.reply.id == 7'`: what the messages of a response must hold, in the JSON of protobuf.
//!
//! `--expect-header`, `--expect-trailer`: what the metadata in front of them and behind them must.
//!
//! `--expect-messages 3`: how many of them.
//!
//! Where a method answers with a stream, a rule and a capture whose path begins with a place in a list (`$[0].text`, `$[-1].text`) are about the
//! list of its messages; any other rule holds for each, and any other path is looked for in each. Each message of a call whose status is OK is looked into, decompressed where it must be. Numbers of 64 bits are numbers
//! here, and fields that have their default are there: a rule compares values, not spellings.

use std::ops::RangeInclusive;
use std::sync::Arc;

use cause::{Cause, grpc};
use prost_reflect::{DynamicMessage, Kind, MessageDescriptor, SerializeOptions};
use wire::{Failed, FaultKind};

use super::compressed::{self, Encoding};
use super::framing;
use super::nearest::nearest;
use super::options::Wishes;
use super::status::{self, Statuses};
use crate::awaited::Like;
use values::capture::{Answer, Capture, Part, Taken};
use values::kept::{Budget, Kept, NO_ROOM};
use values::span;
use values::verify::KEPT_BOUND;
use values::verify::header::{Header, Lines};
use values::verify::json::{Json, Step, of_list};
use values::verify::places;

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
    /// The response is a stream of messages.
    streams: bool,
    /// How many there must be.
    count: Option<RangeInclusive<u64>>,
    /// It was said which statuses count as success: a check like the others.
    says_status: bool,
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
    pub heard: &'a Body,
    /// The metadata in front of them, and that behind them.
    pub metadata: &'a [Lines; 2],
    pub status: u32,
    pub encoding: Encoding,
    /// So many messages it has.
    pub messages: u32,
}

/// What is wrong with a response, and the same in a sentence.
type Trouble = (FaultKind, Cause);

impl Expected {
    /// What was wished of responses with messages of this kind, one of them or a stream.
    ///
    /// # Errors
    /// A rule names a field that these messages do not have.
    pub fn of(wishes: &Wishes, kind: MessageDescriptor, streams: bool) -> Result<Expected, String> {
        let rules = Arc::clone(&wishes.expected);
        rules.iter().try_for_each(|rule| known(rule, &kind, streams))?;
        let captures = match streams {
            true => {
                let in_list = wishes.captures.iter().map(|(at, capture)| Ok((*at, capture.in_list()?)));
                in_list.collect::<Result<_, String>>()?
            }
            false => Arc::clone(&wishes.captures),
        };
        let options = SerializeOptions::new().stringify_64_bit_integers(false).skip_default_fields(false);
        let (count, lines) = (wishes.messages.clone(), Arc::clone(&wishes.metadata_expected));
        Ok(Expected { rules, kind, options, captures, streams, count, says_status: wishes.says_status, lines })
    }

    /// The same of one message of a stream, of which neither the end nor the number is known yet.
    pub fn of_one(wishes: &Wishes, kind: MessageDescriptor) -> Result<Expected, String> {
        let all = Expected::of(wishes, kind, false)?;
        Ok(Expected { count: None, lines: Arc::new([all.lines[0].clone(), Vec::new()]), ..all })
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
        let [head, trailers] = self.metadata(came).map_err(of_metadata)?;
        let called = status::name(came.status);
        let (mut taken, answer) = (Taken::default(), Answer { called: &called, head, trailers, ..Answer::default() });
        let of_rest = self.captures.iter().filter(|(_, capture)| capture.part() != Part::Body);
        taken.add(of_rest, &answer, random).map_err(of_metadata)?;
        if came.status == status::OK && self.miscounts(came) {
            return Err((FaultKind::WrongBody, self.why_miscounted(came)));
        }
        if came.status == status::OK && self.wants_messages() {
            self.look_at_messages(came, (budget, random), &mut taken).map_err(|why| (FaultKind::WrongBody, why))?;
        }
        Ok(taken)
    }

    /// It has another number of messages than it must.
    fn miscounts(&self, came: &Came<'_>) -> bool {
        self.count.as_ref().is_some_and(|count| !count.contains(&u64::from(came.messages)))
    }

    #[cold]
    fn why_miscounted(&self, came: &Came<'_>) -> Cause {
        let expected = self.count.as_ref().map(span::told).unwrap_or_default();
        grpc::messages(expected, came.messages)
    }

    /// The metadata, which has what it must.
    fn metadata<'a>(&self, came: &Came<'a>) -> Result<[&'a [u8]; 2], Cause> {
        let texts = [came.metadata[0].text()?, came.metadata[1].text()?];
        for ((lines, text), why) in self.lines.iter().zip(texts).zip([Header::why, Header::why_behind]) {
            if let Some(line) = lines.iter().find(|line| !line.holds(text)) {
                return Err(why(line, text));
            }
        }
        Ok(texts)
    }

    /// Which of the lines that its metadata must have are not there.
    #[cold]
    fn without(&self, came: &Came<'_>) -> Vec<bool> {
        let texts = came.metadata.iter().map(|lines| lines.text().unwrap_or_default());
        self.lines.iter().zip(texts).flat_map(|(lines, text)| lines.iter().map(|line| !line.holds(text))).collect()
    }

    fn look_at_messages(
        &self,
        came: &Came<'_>,
        (budget, random): (&Budget, u64),
        taken: &mut Taken,
    ) -> Result<(), Cause> {
        let plain = compressed::undone(came.heard.kept()?, came.encoding)?;
        let messages = framing::messages(&plain);
        if messages.is_empty() {
            return Err(grpc::no_message().into());
        }
        let mut texts = Vec::new();
        for message in &messages {
            texts.push(self.written(message, budget)?);
        }
        let whole = self.whole(&texts);
        self.check(&texts, &whole)?;
        if self.captures.is_empty() {
            return Ok(());
        }
        let of_body = self.captures.iter().filter(|(_, capture)| capture.part() == Part::Body);
        taken.add(of_body, &Answer { body: &whole, ..Answer::default() }, random)
    }

    /// What rules and captures about the whole response look into: its message, or the list of them.
    fn whole(&self, texts: &[Vec<u8>]) -> Vec<u8> {
        match texts {
            [one] if !self.streams => one.clone(),
            several => [b"[", &several.join(&b","[..])[..], b"]"].concat(),
        }
    }

    /// # Errors
    /// The first rule that is broken, and what was there.
    fn check(&self, texts: &[Vec<u8>], whole: &[u8]) -> Result<(), Cause> {
        for rule in self.rules.iter() {
            let alone = std::slice::from_ref(&whole);
            let each: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
            for text in if self.is_of_list(rule) { alone } else { &each[..] } {
                let Some(value) = places::whole(text) else { return Err(unwritten(text)) };
                if !rule.holds(value) {
                    return Err(rule.why(value));
                }
            }
        }
        Ok(())
    }

    fn is_of_list(&self, rule: &Json) -> bool {
        self.streams && of_list(rule.path())
    }

    /// Of a response that is not as it must be, in the order of its checks: which rules do not hold, whether its status is wrong, which
    /// lines are not there, and whether its messages are as many as they must be.
    #[cold]
    pub fn failed(&self, came: &Came<'_>, success: Statuses, budget: &Budget) -> Failed {
        let looked = came.status == status::OK && success.has(status::OK);
        let rules = if looked { self.broken(came, budget) } else { vec![true; self.rules.len()] };
        Failed::default()
            .all(rules)
            .all(self.says_status.then(|| !success.has(came.status)))
            .all(self.without(came))
            .all(self.count.as_ref().map(|_| !looked || self.miscounts(came)))
    }

    /// All of its checks failed.
    pub fn all_failed(&self) -> Failed {
        let all = self.rules.len() + usize::from(self.says_status) + usize::from(self.count.is_some());
        Failed::default().all(vec![true; all + self.lines.iter().map(Vec::len).sum::<usize>()])
    }

    /// What a message is to be like is about fields that it has.
    ///
    /// # Errors
    /// It is not.
    pub fn knows(&self, like: &Like) -> Result<(), String> {
        if let Like::Json(rule) = like { known(rule, &self.kind, false) } else { Ok(()) }
    }

    /// Which of the rules do not hold.
    #[cold]
    fn broken(&self, came: &Came<'_>, budget: &Budget) -> Vec<bool> {
        let texts = || {
            let plain = compressed::undone(came.heard.kept()?, came.encoding)?;
            let texts = framing::messages(&plain).into_iter().map(|message| self.written(message, budget));
            texts.collect::<Result<Vec<_>, Cause>>()
        };
        let texts = texts().unwrap_or_default();
        let whole = self.whole(&texts);
        let holds = |rule: &Json, text: &[u8]| places::whole(text).is_some_and(|value| rule.holds(value));
        let kept = |rule: &Json| match self.is_of_list(rule) {
            true => holds(rule, &whole),
            false => !texts.is_empty() && texts.iter().all(|text| holds(rule, text)),
        };
        self.rules.iter().map(|rule| !kept(rule)).collect()
    }

    /// True where something is taken out of responses.
    pub fn takes(&self) -> bool {
        !self.captures.is_empty()
    }

    /// A message as JSON.
    ///
    /// # Errors
    /// Why it cannot be had so.
    pub fn written(&self, message: &[u8], budget: &Budget) -> Result<Vec<u8>, Cause> {
        let size = measure::format_bytes(message.len() as u64);
        if message.len() > DECODED_BOUND {
            let most = measure::format_bytes(DECODED_BOUND as u64);
            return Err(grpc::long_message(size, most));
        }
        let needed = if message.len() > SMALL { message.len() * GROWTH } else { 0 };
        let Some(_taken) = budget.take(needed) else {
            return Err(grpc::message_unchecked(size, NO_ROOM));
        };
        let Ok(read) = DynamicMessage::decode(self.kind.clone(), message) else {
            return Err(grpc::not_of_kind(size, self.kind.full_name()));
        };
        let mut text = serde_json::Serializer::new(Vec::new());
        let written = read.serialize_with_options(&mut text, &self.options);
        written.map(|()| text.into_inner()).map_err(|_| unwritten(message))
    }
}

fn unwritten(message: &[u8]) -> Cause {
    grpc::no_json(measure::format_bytes(message.len() as u64))
}

/// The messages of a response, kept to be looked into.
#[derive(Debug, Default)]
pub struct Body {
    bytes: Kept,
    missed: Option<Missed>,
}

/// Why a response is not kept.
#[derive(Debug)]
enum Missed {
    TooLong,
    NoRoom,
    Because(Cause),
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

    /// A piece of it cannot be had as it was.
    pub fn miss(&mut self, why: Cause) {
        self.missed.get_or_insert(Missed::Because(why));
    }

    /// All of it.
    ///
    /// # Errors
    /// Why it was not kept.
    pub fn kept(&self) -> Result<&[u8], Cause> {
        match &self.missed {
            None => Ok(&self.bytes),
            Some(Missed::TooLong) => {
                let bound = measure::format_bytes(KEPT_BOUND as u64);
                Err(cause::checks::response_too_long(bound))
            }
            Some(Missed::Because(why)) => Err(why.clone()),
            Some(Missed::NoRoom) => Err(cause::checks::response_unchecked(NO_ROOM)),
        }
    }
}

/// Follows the names of a rule as far as the schema tells them; behind a map, a list of values or a type with a JSON of
/// its own (`google.protobuf.Struct`) anything may stand.
fn known(rule: &Json, kind: &MessageDescriptor, streams: bool) -> Result<(), String> {
    let mut at = Some(kind.clone());
    let mut steps = rule.path().iter();
    if streams && of_list(rule.path()) {
        steps.next();
    }
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
        None if fields.is_empty() => "it has no fields".to_owned(),
        None => format!("it has {}", fields.join(", ")),
    };
    format!("\"{}\": {} has no field \"{name}\"; {right}", rule.text(), kind.full_name())
}
