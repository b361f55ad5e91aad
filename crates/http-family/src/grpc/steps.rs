//! Steps of a flow on a stream held open (`stream: chat`): what each sends and waits for, prepared before the run.
//!
//! Steps that name the same stream share one call, which the first of them opens with its metadata. `await` and
//! `one-way` mean the same as for a WebSocket; `finish` half-closes the call and reads to its end, which carries the
//! status.

use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{ProtocolConfig, UsageError};

use super::expect::GrpcChecks;
use super::options::GrpcOptions;
use super::request::{GrpcRequest, STREAMS};
use super::schema::shape;
use super::status::GrpcStatusSet;
use super::step_shape::StepShape;
use crate::await_condition::AwaitCondition;
use crate::http2;
use crate::http2::hpack::HeaderList;

/// Options that only steps on a stream may have.
const OF_STREAMS: [&str; 3] = ["await", "one-way", "finish"];
/// Options that concern the opening of a stream.
const OF_OPENING: [&str; 4] = ["header", "bearer", "deadline", "compress"];
/// All streams that steps hold open, and all steps on them.
#[derive(Debug, Default)]
pub struct HeldStreamPlan {
    pub streams: Vec<StreamOpening>,
    pub steps: Vec<GrpcStep>,
}

/// The parameters for opening a stream.
#[derive(Debug)]
pub struct StreamOpening {
    name: String,
    url: String,
    /// Index of the step that opens the stream.
    first: usize,
    /// The head, and its template if it has slots.
    pub list: HeaderList,
    pub head: Option<Arc<http2::Http2Template>>,
    /// Flags for the session.
    pub flags: u8,
    /// Set if the method takes a stream of messages; otherwise our side ends after one message.
    pub client_streaming: bool,
    /// Set if metadata is examined.
    pub metadata: bool,
}

/// A step on a stream.
#[derive(Debug)]
pub struct GrpcStep {
    /// Index of its stream.
    pub stream: usize,
    /// Set if the step may open the stream.
    pub opens: bool,
    /// Set if the step sends a message.
    pub sends: bool,
    pub one_way: bool,
    pub finish: bool,
    pub awaits: AwaitCondition,
    /// The statuses that count as success when the stream ends.
    pub success: GrpcStatusSet,
    /// The checks and captures.
    pub expected: GrpcChecks,
}

/// Returns the name of the stream that a step uses; `None` if it makes its own call.
///
/// # Errors
/// Fails outside a flow, or if an option for steps on streams is used without a stream.
pub fn stream(config: &ProtocolConfig, index: usize) -> Result<Option<&str>, UsageError> {
    let own = config.url_options.get(index);
    let place = |name: &str| format!("URL {}, {name}", index + 1);
    // Options given for the whole flow may be meant for WebSocket steps.
    let beside =
        if config.is_composite_flow { &["stream", "finish"][..] } else { &["stream", "finish", "await", "one-way"] };
    let beside = beside.iter().find(|name| config.options.contains_key(**name));
    if let Some(name) = beside {
        return Err(UsageError::new(
            format!("--{name}"),
            complaint!("is for one step of a flow; put it at that step", "用于流程的单个步骤；请写在该步骤中"),
        ));
    }
    let name = own.and_then(|own| own.get("stream")?.last()).map(|name| name.trim());
    let lonely = own.into_iter().flat_map(|own| own.keys()).find(|name| OF_STREAMS.contains(&name.as_str()));
    match (name, lonely) {
        (Some(_), _) if !config.is_composite_flow => Err(UsageError::new(
            place("stream"),
            complaint!("is for steps of a flow; leave it out", "用于流程的步骤；请去掉"),
        )),
        (Some(""), _) => Err(UsageError::new(
            place("stream"),
            complaint!("names no stream; use, for example, `stream: chat`", "没有指出流；请写，例如 `stream: chat`"),
        )),
        (None, Some(lonely)) => {
            let trouble = complaint!(
                "is for steps on a stream that is held open; write `stream: NAME` next to it, or leave it out",
                "用于在保持打开的流上的步骤；请在旁边写 `stream: NAME`，或去掉"
            );
            Err(UsageError::new(place(lonely), trouble))
        }
        (name, _) => Ok(name),
    }
}

impl HeldStreamPlan {
    /// Adds a step, whose call was built like any other; the first step of a stream determines how the stream is
    /// opened. Returns a word that describes the step.
    ///
    /// # Errors
    /// Fails with the first invalid option, naming the step.
    pub fn add(
        &mut self,
        (asked, index): (&ProtocolConfig, usize),
        name: &str,
        wishes: &GrpcOptions,
        request: &mut GrpcRequest,
    ) -> Result<&'static str, UsageError> {
        let place = |name: &str| format!("URL {}, {name}", index + 1);
        let Some(method) = request.method.clone() else { return Ok("") };
        let (takes, gives) = (method.is_client_streaming(), method.is_server_streaming());
        if !takes && !gives {
            let (name, [en, zh]) = (method.name(), shape(&method));
            let trouble = complaint!(
                "{name} is {en}: there is no stream to hold open; leave it out",
                "{name} 是{zh}方法：没有可保持的流；请去掉"
            );
            return Err(UsageError::new(place("stream"), trouble));
        }
        let url = &asked.urls[index].url;
        let known = self.streams.iter().position(|opening| opening.name == name);
        let stream = match known {
            Some(at) => at,
            None => {
                let (list, head) = request.opening();
                self.streams.push(StreamOpening {
                    name: name.to_owned(),
                    url: url.clone(),
                    first: index,
                    list,
                    head,
                    flags: request.flags | if gives { STREAMS } else { 0 },
                    client_streaming: takes,
                    metadata: false,
                });
                self.streams.len() - 1
            }
        };
        if let Some(at) = known {
            self.agrees((asked, index), &self.streams[at], url)?;
        }
        let asks = |option: &str| asked.url_options.get(index).is_some_and(|own| own.contains_key(option));
        let alone = asked.for_url(index);
        let alone = alone.as_ref().unwrap_or(asked);
        let step = self.step((alone, &place), stream, known.is_none(), (takes, gives), wishes, &asks)?;
        let kind = method.output();
        let expected =
            if step.finish { GrpcChecks::new(wishes, kind, gives) } else { GrpcChecks::for_one_message(wishes, kind) };
        let expected = expected.map_err(|trouble| UsageError::new(place("expect-json"), trouble))?;
        if let AwaitCondition::Matching(like) = &step.awaits {
            expected.check_names(like).map_err(|trouble| UsageError::new(place("await"), trouble))?;
        }
        self.streams[stream].metadata |= expected.wants_metadata();
        request.step = Some(self.steps.len() as u32);
        let does = match () {
            () if step.finish => "FINISH",
            () if step.says || step.one_way => "SEND",
            () => "AWAIT",
        };
        self.steps.push(step.with_checks(expected));
        Ok(does)
    }

    /// Checks that a later step does not contradict the step that opens the stream.
    fn agrees(
        &self,
        (asked, index): (&ProtocolConfig, usize),
        opening: &StreamOpening,
        url: &str,
    ) -> Result<(), UsageError> {
        if opening.url != url {
            let trouble = complaint!(
                "`{}` is already a stream of {}; use another name",
                "`{}` 已经是 {} 的流；请换一个名称",
                opening.name,
                opening.url
            );
            return Err(UsageError::new(format!("URL {}, stream", index + 1), trouble));
        }
        let own = |at: usize, name: &str| asked.url_options.get(at).and_then(|own| own.get(name));
        let other = OF_OPENING
            .into_iter()
            .find(|name| own(index, name).is_some_and(|values| own(opening.first, name) != Some(values)));
        match other {
            Some(name) => {
                let trouble = complaint!(
                    "is for opening the stream, which an earlier step does; move it there",
                    "用于打开流，而流由前面的步骤打开；请移到那里"
                );
                Err(UsageError::new(format!("URL {}, {name}", index + 1), trouble))
            }
            None => Ok(()),
        }
    }

    fn step(
        &self,
        (asked, place): (&ProtocolConfig, &dyn Fn(&str) -> String),
        stream: usize,
        first: bool,
        (takes, gives): (bool, bool),
        wishes: &GrpcOptions,
        own: &dyn Fn(&str) -> bool,
    ) -> Result<UncheckedStep, UsageError> {
        let wrong = |name: &str, trouble: Complaint| UsageError::new(place(name), trouble);
        let (says, finish, one_way) = (!wishes.texts.is_empty(), asked.switch("finish"), asked.switch("one-way"));
        let awaits = asked.value("await").map(|text| AwaitCondition::parse(text, &asked.variables));
        let awaits = awaits.transpose().map_err(|complaint| wrong("await", complaint.problem))?;
        let shape = StepShape {
            first,
            says,
            awaits: awaits.is_some(),
            examines: !wishes.captures.is_empty() || own("expect-json") || own("expect-header"),
            one_way,
            finish,
            lockstep: wishes.lockstep,
            takes,
            gives,
        };
        let refused = shape.contradiction().or_else(|| shape.premature(wishes, own));
        refused.map_or(Ok(()), |(name, trouble)| Err(wrong(name, trouble)))?;
        let (opens, success) = (first || says, wishes.success);
        Ok(UncheckedStep {
            stream,
            opens,
            says,
            one_way,
            finish,
            awaits: awaits.unwrap_or(AwaitCondition::Any),
            success,
        })
    }
}

/// A step whose checks are not built yet.
struct UncheckedStep {
    stream: usize,
    opens: bool,
    says: bool,
    one_way: bool,
    finish: bool,
    awaits: AwaitCondition,
    success: GrpcStatusSet,
}

impl UncheckedStep {
    fn with_checks(self, expected: GrpcChecks) -> GrpcStep {
        let UncheckedStep { stream, opens, says, one_way, finish, awaits, success } = self;
        GrpcStep { stream, opens, sends: says, one_way, finish, awaits, success, expected }
    }
}
