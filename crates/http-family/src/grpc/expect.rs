//! Checks of a response's messages, in their JSON form: `--expect-json '$.reply.id == 7'`.
//!
//! The initial and trailing metadata (`--expect-header`, `--expect-trailer`) and the number of messages
//! (`--expect-messages 3`) can be checked too.
//!
//! If a method returns a stream, a rule or capture whose path begins with an index (`$[0].text`, `$[-1].text`) applies
//! to the list of its messages; any other rule must hold for each message, and any other path is looked up in each.
//! Every message of a call whose status is OK is examined, decompressed if needed. 64-bit integers are JSON numbers
//! here, and fields with their default value are present: a rule compares values, not spellings.

use std::ops::RangeInclusive;
use std::sync::Arc;

use brunt_cause::{Cause, Complaint, complaint, grpc};
use brunt_contract::{FailedChecks, FaultKind, SlotContext};
use prost_reflect::{DynamicMessage, Kind, MessageDescriptor, SerializeOptions};

use super::compressed::{self, MessageEncoding};
use super::framing;
use super::options::GrpcOptions;
use super::status::{self, GrpcStatusSet};
use super::suggestion::nearest;
use crate::await_condition::MessageMatch;
use brunt_values::budget::{BudgetedBuffer, MemoryBudget, NO_ROOM};
use brunt_values::capture::{Capture, CaptureInput, CapturedValues, ResponsePart};
use brunt_values::count_range;
use brunt_values::steps::{OutOfSteps, StepBudget};
use brunt_values::template::Template;
use brunt_values::verify::KEPT_BOUND;
use brunt_values::verify::header::{ExpectedHeader, KeptHeaderLines};
use brunt_values::verify::json::{JsonRule, PathStep, begins_with_items};
use brunt_values::verify::raw_json;

/// The largest message that is decoded: a field of two bytes may take a hundred in memory.
const DECODED_BOUND: usize = 256 << 10;
/// Maximum number of bytes in memory per byte of a message.
const GROWTH: usize = 100;
/// Messages up to this size are decoded without reserving memory from the budget.
const SMALL: usize = 4 << 10;

/// The checks and captures for every response of a method.
#[derive(Debug)]
pub struct GrpcChecks {
    rules: Arc<[JsonRule]>,
    /// The templates of the rules that have slots.
    rule_templates: Arc<[Option<Template>]>,
    kind: MessageDescriptor,
    options: SerializeOptions,
    captures: Arc<[(u16, Capture)]>,
    /// Set if the response is a stream of messages.
    streams: bool,
    /// The expected number of messages.
    count: Option<RangeInclusive<u64>>,
    /// Set if the successful statuses were given explicitly, which counts as a check.
    explicit_status: bool,
    /// Expected fields of the initial and of the trailing metadata.
    lines: Arc<[Vec<ExpectedHeader>; 2]>,
}

/// The parts of a response that are kept for its checks.
#[derive(Debug, Default)]
pub struct ExaminedResponse {
    /// The messages.
    pub body: MessageBuffer,
    /// The initial and the trailing metadata.
    pub metadata: [KeptHeaderLines; 2],
}

/// A complete response.
#[derive(Debug)]
pub struct CompleteResponse<'a> {
    pub heard: &'a MessageBuffer,
    /// The initial and the trailing metadata.
    pub metadata: &'a [KeptHeaderLines; 2],
    pub status: u32,
    pub encoding: MessageEncoding,
    /// Number of messages.
    pub messages: u32,
}

/// The failure of a response and its cause.
type CheckFailure = (FaultKind, Cause);

impl GrpcChecks {
    /// Creates the checks for responses of this message type, single or streamed.
    ///
    /// # Errors
    /// Fails if a rule names a field that the message type does not have.
    pub fn new(wishes: &GrpcOptions, kind: MessageDescriptor, streams: bool) -> Result<GrpcChecks, Complaint> {
        let rules = Arc::clone(&wishes.expected);
        rules.iter().try_for_each(|rule| check_rule_names(rule, &kind, streams))?;
        let captures = match streams {
            true => {
                let in_list = wishes.captures.iter().map(|(at, capture)| Ok((*at, capture.in_list()?)));
                in_list.collect::<Result<_, Complaint>>()?
            }
            false => Arc::clone(&wishes.captures),
        };
        let options = SerializeOptions::new().stringify_64_bit_integers(false).skip_default_fields(false);
        let (count, lines) = (wishes.messages.clone(), Arc::clone(&wishes.metadata_expected));
        let rule_templates = Arc::clone(&wishes.rule_templates);
        let explicit_status = wishes.says_status;
        Ok(GrpcChecks { rules, rule_templates, kind, options, captures, streams, count, explicit_status, lines })
    }

    /// Returns the checks with the values of a call; `None` if they are the same for all calls.
    pub fn filled(&self, context: &SlotContext<'_>) -> Option<Arc<GrpcChecks>> {
        if self.rule_templates.iter().all(Option::is_none) {
            return None;
        }
        let rules = self.rules.iter().zip(self.rule_templates.iter()).map(|(rule, template)| {
            let Some(template) = template else { return rule.clone() };
            let mut text = Vec::new();
            template.fill(context, &mut text);
            let text = String::from_utf8_lossy(&text);
            JsonRule::parse(&text).unwrap_or_else(|why| JsonRule::never(&text, why.into()))
        });
        Some(Arc::new(GrpcChecks {
            rules: rules.collect(),
            rule_templates: Arc::new([]),
            kind: self.kind.clone(),
            options: self.options.clone(),
            captures: Arc::clone(&self.captures),
            streams: self.streams,
            count: self.count.clone(),
            explicit_status: self.explicit_status,
            lines: Arc::clone(&self.lines),
        }))
    }

    /// Like [`GrpcChecks::new`], for one message of a stream whose end and message count are not known yet.
    pub fn for_one_message(wishes: &GrpcOptions, kind: MessageDescriptor) -> Result<GrpcChecks, Complaint> {
        let all = GrpcChecks::new(wishes, kind, false)?;
        Ok(GrpcChecks { count: None, lines: Arc::new([all.lines[0].clone(), Vec::new()]), ..all })
    }

    /// Returns `true` if messages must be kept.
    pub fn wants_messages(&self) -> bool {
        !self.rules.is_empty() || self.captures.iter().any(|(_, capture)| capture.part() == ResponsePart::Body)
    }

    /// Returns `true` if metadata must be kept.
    pub fn wants_metadata(&self) -> bool {
        let captured = self.captures.iter().any(|(_, capture)| matches!(capture.kind(), "header" | "trailer"));
        captured || self.lines.iter().any(|lines| !lines.is_empty())
    }

    /// Returns the captures from a response whose status counts as success; `random` chooses among several values.
    /// Messages are examined if the status is OK.
    ///
    /// # Errors
    /// Fails with the first failed check.
    pub fn examine(
        &self,
        came: &CompleteResponse<'_>,
        (budget, random): (&MemoryBudget, u64),
    ) -> Result<CapturedValues, CheckFailure> {
        let of_metadata = |why: Cause| (FaultKind::WrongHeader.unless_own_limit(&why), why);
        let [head, trailers] = self.metadata(came).map_err(of_metadata)?;
        let called = status::name(came.status);
        let (mut taken, answer) = (
            CapturedValues::default(),
            CaptureInput { status_name: &called, head, trailers, ..CaptureInput::default() },
        );
        let of_rest = self.captures.iter().filter(|(_, capture)| capture.part() != ResponsePart::Body);
        taken.add(of_rest, &answer, random).map_err(of_metadata)?;
        if came.status == status::OK && self.has_wrong_count(came) {
            return Err((FaultKind::WrongBody, self.count_cause(came)));
        }
        if came.status == status::OK && self.wants_messages() {
            let examined = self.examine_messages(came, (budget, random), &mut taken);
            examined.map_err(|why| (FaultKind::WrongBody.unless_own_limit(&why), why))?;
        }
        Ok(taken)
    }

    /// Returns `true` if the number of messages is not the expected one.
    fn has_wrong_count(&self, came: &CompleteResponse<'_>) -> bool {
        self.count.as_ref().is_some_and(|count| !count.contains(&u64::from(came.messages)))
    }

    #[cold]
    fn count_cause(&self, came: &CompleteResponse<'_>) -> Cause {
        let expected = self.count.as_ref().map(count_range::format_range).unwrap_or_default();
        grpc::messages(expected, came.messages)
    }

    /// Returns the metadata, after checking it.
    fn metadata<'a>(&self, came: &CompleteResponse<'a>) -> Result<[&'a [u8]; 2], Cause> {
        let texts = [came.metadata[0].text()?, came.metadata[1].text()?];
        for ((lines, text), why) in
            self.lines.iter().zip(texts).zip([ExpectedHeader::mismatch, ExpectedHeader::trailer_mismatch])
        {
            if let Some(line) = lines.iter().find(|line| !line.holds(text)) {
                return Err(why(line, text));
            }
        }
        Ok(texts)
    }

    /// Returns, for each expected metadata field, whether it is missing.
    #[cold]
    fn missing_lines(&self, came: &CompleteResponse<'_>) -> Vec<bool> {
        let texts = came.metadata.iter().map(|lines| lines.text().unwrap_or_default());
        self.lines.iter().zip(texts).flat_map(|(lines, text)| lines.iter().map(|line| !line.holds(text))).collect()
    }

    fn examine_messages(
        &self,
        came: &CompleteResponse<'_>,
        (budget, random): (&MemoryBudget, u64),
        taken: &mut CapturedValues,
    ) -> Result<(), Cause> {
        let plain = compressed::decompress_all(came.heard.kept()?, came.encoding)?;
        let messages = framing::messages(&plain);
        if messages.is_empty() {
            return Err(grpc::no_message().into());
        }
        let mut texts = Vec::new();
        for message in &messages {
            texts.push(self.to_json(message, budget)?);
        }
        let whole = self.whole_text(&texts);
        self.check(&texts, &whole)?;
        if self.captures.is_empty() {
            return Ok(());
        }
        let of_body = self.captures.iter().filter(|(_, capture)| capture.part() == ResponsePart::Body);
        taken.add(of_body, &CaptureInput { body: &whole, ..CaptureInput::default() }, random)
    }

    /// Returns the text that rules and captures for the whole response apply to: its message, or the list of its
    /// messages.
    fn whole_text(&self, texts: &[Vec<u8>]) -> Vec<u8> {
        match texts {
            [one] if !self.streams => one.clone(),
            several => [b"[", &several.join(&b","[..])[..], b"]"].concat(),
        }
    }

    /// Checks the rules on the messages.
    ///
    /// # Errors
    /// Fails with the first rule that does not hold, and the value found.
    fn check(&self, texts: &[Vec<u8>], whole: &[u8]) -> Result<(), Cause> {
        let steps = StepBudget::default();
        for rule in self.rules.iter() {
            let alone = std::slice::from_ref(&whole);
            let each: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
            for text in if self.is_of_list(rule) { alone } else { &each[..] } {
                let Some(value) = raw_json::parse_whole(text) else { return Err(unwritten(text)) };
                let holds = rule.holds(value, &steps);
                let told = if holds { None } else { Some(rule.mismatch(value, &steps)) };
                steps.result().map_err(|OutOfSteps| Cause::from(brunt_cause::checks::out_of_steps()))?;
                told.map_or(Ok(()), Err)?;
            }
        }
        Ok(())
    }

    fn is_of_list(&self, rule: &JsonRule) -> bool {
        self.streams && begins_with_items(rule.path())
    }

    /// Returns which checks a response failed, in their order: rules, status, metadata fields, number of messages.
    #[cold]
    pub fn failed(&self, came: &CompleteResponse<'_>, success: GrpcStatusSet, budget: &MemoryBudget) -> FailedChecks {
        let looked = came.status == status::OK && success.has(status::OK);
        let rules = if looked { self.failed_rules(came, budget) } else { vec![true; self.rules.len()] };
        FailedChecks::default()
            .extend(rules)
            .extend(self.explicit_status.then(|| !success.has(came.status)))
            .extend(self.missing_lines(came))
            .extend(self.count.as_ref().map(|_| !looked || self.has_wrong_count(came)))
    }

    /// Returns the result in which every check failed.
    pub fn all_failed(&self) -> FailedChecks {
        let all = self.rules.len() + usize::from(self.explicit_status) + usize::from(self.count.is_some());
        FailedChecks::default().extend(vec![true; all + self.lines.iter().map(Vec::len).sum::<usize>()])
    }

    /// Checks that the condition on an awaited message refers to existing fields only.
    ///
    /// # Errors
    /// Fails if one of the fields does not exist.
    pub fn check_names(&self, like: &MessageMatch) -> Result<(), Complaint> {
        if let MessageMatch::Json(rule) = like { check_rule_names(rule, &self.kind, false) } else { Ok(()) }
    }

    /// Returns, for each rule, whether it does not hold.
    #[cold]
    fn failed_rules(&self, came: &CompleteResponse<'_>, budget: &MemoryBudget) -> Vec<bool> {
        let texts = || {
            let plain = compressed::decompress_all(came.heard.kept()?, came.encoding)?;
            let texts = framing::messages(&plain).into_iter().map(|message| self.to_json(message, budget));
            texts.collect::<Result<Vec<_>, Cause>>()
        };
        let texts = texts().unwrap_or_default();
        let whole = self.whole_text(&texts);
        let steps = StepBudget::default();
        let holds =
            |rule: &JsonRule, text: &[u8]| raw_json::parse_whole(text).is_some_and(|value| rule.holds(value, &steps));
        let kept = |rule: &JsonRule| match self.is_of_list(rule) {
            true => holds(rule, &whole),
            false => !texts.is_empty() && texts.iter().all(|text| holds(rule, text)),
        };
        self.rules.iter().map(|rule| !kept(rule)).collect()
    }

    /// Returns `true` if there are captures.
    pub fn has_captures(&self) -> bool {
        !self.captures.is_empty()
    }

    /// Converts a message to JSON.
    ///
    /// # Errors
    /// Fails if the message cannot be decoded.
    pub fn to_json(&self, message: &[u8], budget: &MemoryBudget) -> Result<Vec<u8>, Cause> {
        let size = brunt_measure::format_bytes(message.len() as u64);
        if message.len() > DECODED_BOUND {
            let most = brunt_measure::format_bytes(DECODED_BOUND as u64);
            return Err(grpc::long_message(size, most));
        }
        let needed = if message.len() > SMALL { message.len() * GROWTH } else { 0 };
        let Some(_taken) = budget.reserve(needed) else {
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
    grpc::no_json(brunt_measure::format_bytes(message.len() as u64))
}

/// The messages of a response, kept for its checks.
#[derive(Debug, Default)]
pub struct MessageBuffer {
    bytes: BudgetedBuffer,
    missed: Option<NotKept>,
}

/// The reason why a response is not kept.
#[derive(Debug)]
enum NotKept {
    TooLong,
    BudgetExceeded,
    Cause(Cause),
}

impl MessageBuffer {
    /// Adds a piece as it arrives.
    pub fn feed(&mut self, piece: &[u8], budget: &MemoryBudget) {
        if self.missed.is_some() {
            return;
        }
        if self.bytes.len() + piece.len() > KEPT_BOUND {
            self.missed = Some(NotKept::TooLong);
        } else if !self.bytes.extend(piece, budget) {
            self.missed = Some(NotKept::BudgetExceeded);
        }
        if self.missed.is_some() {
            // The response will not be examined, so its memory is released.
            self.bytes = BudgetedBuffer::default();
        }
    }

    /// Records that a piece could not be kept.
    pub fn mark_missing(&mut self, why: Cause) {
        self.missed.get_or_insert(NotKept::Cause(why));
    }

    /// Returns the whole body.
    ///
    /// # Errors
    /// Fails if the body was not kept.
    pub fn kept(&self) -> Result<&[u8], Cause> {
        match &self.missed {
            None => Ok(&self.bytes),
            Some(NotKept::TooLong) => {
                let bound = brunt_measure::format_bytes(KEPT_BOUND as u64);
                Err(brunt_cause::checks::response_too_long(bound))
            }
            Some(NotKept::Cause(why)) => Err(why.clone()),
            Some(NotKept::BudgetExceeded) => Err(brunt_cause::checks::response_unchecked(NO_ROOM)),
        }
    }
}

/// Checks the names of a rule as far as the schema describes them. After a map, a list of values or a type with its own
/// JSON form (`google.protobuf.Struct`) anything may follow.
fn check_rule_names(rule: &JsonRule, kind: &MessageDescriptor, streams: bool) -> Result<(), Complaint> {
    let mut at = Some(kind.clone());
    let mut steps = rule.path().iter();
    if streams && begins_with_items(rule.path()) {
        steps.next();
    }
    while let (Some(kind), Some(step)) = (at.take(), steps.next()) {
        if kind.full_name().starts_with("google.protobuf.") {
            return Ok(());
        }
        let PathStep::Name(name) = step else { return Ok(()) };
        let Some(field) = kind.get_field_by_json_name(name) else { return Err(unknown(rule, &kind, name)) };
        if field.is_map() {
            return Ok(());
        }
        if field.is_list()
            && !matches!(
                steps.next(),
                Some(PathStep::Index(_) | PathStep::Slice(_) | PathStep::Each | PathStep::Filter(_))
            )
        {
            return Ok(());
        }
        at = match field.kind() {
            Kind::Message(inner) => Some(inner),
            _ => None,
        };
    }
    Ok(())
}

fn unknown(rule: &JsonRule, kind: &MessageDescriptor, name: &str) -> Complaint {
    let fields: Vec<String> = kind.fields().map(|field| field.json_name().to_owned()).collect();
    // The name as the schema spells it, which JSON does not accept.
    let meant = kind.get_field_by_name(name).map(|field| field.json_name().to_owned());
    let meant = meant.or_else(|| nearest(name, fields.iter().map(String::as_str)).map(str::to_owned));
    let right = match meant {
        Some(meant) => complaint!("write \"{meant}\"", "请写“{meant}”"),
        None if fields.is_empty() => complaint!("it has no fields", "它没有任何字段"),
        None => complaint!("it has {}", "它的字段有 {}", fields.join(", ")),
    };
    let zh = right.zh();
    complaint!(
        "\"{}\": {} has no field \"{name}\"; {right}",
        "“{}”：{} 没有字段“{name}”；{zh}",
        rule.text(),
        kind.full_name()
    )
}
