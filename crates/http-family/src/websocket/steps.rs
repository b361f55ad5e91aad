//! Steps of a flow on a WebSocket: each sends a message, awaits one, or both.
//!
//! The connection belongs to its user and is opened by the first step on it, with the values that the user has by then.
//! Messages that arrive while no step waits are kept for later steps, up to a limit: a flow that uses several servers
//! reads a server's messages when it gets to the step for them. Messages never awaited are pushes.

use std::collections::VecDeque;

use brunt_cause::checks::{awaited_unreadable, out_of_steps};
use brunt_cause::{Cause, complaint};
use brunt_contract::{
    Event, EventBuffer, ExchangeEnd, ExchangeId, FaultKind, Origin, OutputBuffer, ProtocolConfig, RequestNames,
    SessionFull, SlotContext, SubmitOutcome, UsageError, WeightedRequest,
};
use memchr::memmem;
use url::Url;

use super::content::{self, MessageSource};
use super::options::WebSocketOptions;
use super::request::WebSocketMessage;
use super::session::{EXCERPT_BOUND, WebSocketSession};
use super::upgrade::HandshakeRequest;
use super::workload::{origin, parse_url};
use crate::await_condition::{AwaitCondition, MessageMatch};
use crate::placeholders::Placeholders;
use brunt_values::budget::BudgetedBuffer;
use brunt_values::capture::CAPTURE;
use brunt_values::capture::{self, Capture, CaptureInput};
use brunt_values::steps::OutOfSteps;
use brunt_values::template::{SlotScope, Template};
use brunt_values::{url_overrides, verify};

/// Options that may be given for one step.
pub const OF_ONE_URL: &[&str] = &[
    "header",
    "user",
    "bearer",
    "cookie",
    "subprotocol",
    "no-slots",
    "data",
    "data-hex",
    "data-base64",
    "binary",
    "escapes",
    "one-way",
    "compress",
    "expect-body",
    "await",
    CAPTURE,
];
/// The subset of [`OF_ONE_URL`] that affects the upgrade.
const OF_UPGRADE: [&str; 7] = ["header", "user", "bearer", "cookie", "subprotocol", "compress", "no-slots"];
/// Parts of a message that captures may refer to.
const KNOWN: &[&str] = &["json", "regex", "between", "body"];
/// Maximum number of messages of a connection, and of their bytes, kept for later steps.
const MOST_KEPT: usize = 100;
const MOST_BYTES: usize = 64 << 10;

/// A step on a WebSocket.
#[derive(Debug)]
pub struct WebSocketStep {
    /// Set if the step sends a message.
    sends: bool,
    one_way: bool,
    awaits: AwaitCondition,
    /// The awaited message as written; `None` means any message.
    pub awaited: Option<String>,
    expect: Option<Template>,
    captures: Vec<(u16, Capture)>,
}

impl WebSocketStep {
    fn read(config: &ProtocolConfig, says: bool) -> Result<WebSocketStep, UsageError> {
        let one_way = config.switch("one-way");
        let awaits = config.value("await").map(|text| AwaitCondition::parse(text, &config.variables)).transpose()?;
        let captures = capture::parse_captures(config, (["a WebSocket message", "WebSocket 消息"], KNOWN))?;
        if !says && awaits.is_none() {
            let trouble = complaint!(
                "neither sends nor awaits a message; write `data`, `await` or both",
                "既不发送也不等待消息；请写 `data`、`await` 或两者"
            );
            return Err(UsageError::new("URL", trouble));
        }
        let hears = awaits.is_some() || !captures.is_empty() || config.value("expect-body").is_some();
        if one_way && (hears || !says) {
            let trouble = complaint!(
                "awaits no message, so there is nothing to check; leave out one-way",
                "不等待消息，因此没有可检查的内容；请去掉 one-way"
            );
            return Err(UsageError::new("--one-way", trouble));
        }
        let scope = SlotScope { variables: &config.variables, ..SlotScope::default() };
        let expect = config.value("expect-body").filter(|text| !text.is_empty());
        let expect = expect.map(|text| Template::parse_text(text, "--expect-body", content::notation(config), scope));
        let awaits = awaits.unwrap_or(AwaitCondition::Any);
        let awaited =
            config.value("await").filter(|_| !matches!(awaits, AwaitCondition::Any)).map(|text| text.trim().to_owned());
        Ok(WebSocketStep { sends: says, one_way, awaits, awaited, expect: expect.transpose()?, captures })
    }
}

/// The steps of a flow, and the upgrade requests of their connections.
#[derive(Debug, Default)]
pub struct WebSocketSteps {
    pub requests: Vec<WeightedRequest<WebSocketMessage>>,
    pub names: RequestNames,
    pub origins: Vec<Origin>,
    pub upgrades: Vec<HandshakeRequest>,
    /// The steps, by the number stored in a message.
    pub each: Vec<WebSocketStep>,
    pub end: Option<u64>,
}

impl WebSocketSteps {
    /// Reads the steps; those of one URL share a connection.
    ///
    /// # Errors
    /// Fails with the first invalid option, naming the step.
    pub fn read(config: &ProtocolConfig) -> Result<WebSocketSteps, UsageError> {
        let (mut steps, mut marks) = (WebSocketSteps::default(), Placeholders::new(config));
        let urls: Vec<&str> = config.urls.iter().map(|url| url.url.as_str()).collect();
        let mut opened: Vec<&str> = Vec::new();
        for (number, url) in urls.iter().enumerate() {
            let at = opened.iter().position(|known| known == url);
            let at = match at {
                Some(at) => at,
                None => {
                    opened.push(url);
                    let (parsed, upgrade) = upgrade(config, (&urls, number), &mut marks)?;
                    let origin = origin(&parsed, opened.len() as u32 - 1);
                    let nowhere = || {
                        UsageError::new(
                            "URL",
                            complaint!(
                                "\"{url}\" has no host; use ws://host:port/path",
                                "“{url}”没有主机；请写 ws://host:port/path"
                            ),
                        )
                    };
                    steps.origins.push(origin.ok_or_else(nowhere)?);
                    steps.upgrades.push(upgrade);
                    opened.len() - 1
                }
            };
            steps.add(config, number, at)?;
        }
        let ends = steps.requests.iter().filter_map(|weighted| weighted.request.end());
        steps.end = ends.chain(marks.request_limit()).min();
        Ok(steps)
    }

    fn add(&mut self, config: &ProtocolConfig, number: usize, origin: usize) -> Result<(), UsageError> {
        let (step, mut request) = match url_overrides::read_overrides(config, number, OF_ONE_URL, read)? {
            Some(own) => own,
            None => read(config)?,
        };
        let path = config.urls[number].path();
        let usual = if step.sends { format!("SEND {path}") } else { format!("AWAIT {path}") };
        self.names.add(config.name(number).unwrap_or(&usual));
        request.key = self.each.len() as u64;
        self.each.push(step);
        self.requests.push(WeightedRequest::new(request, origin, 1.0));
        Ok(())
    }
}

fn read(config: &ProtocolConfig) -> Result<(WebSocketStep, WebSocketMessage), UsageError> {
    let mut contents = content::contents(config)?;
    if contents.len() > 1 {
        return Err(UsageError::new(
            "--data",
            complaint!(
                "is given more than once, and a step sends one message; use another \
            step",
                "重复出现，而一个步骤只发送一条消息；请另写步骤"
            ),
        ));
    }
    let step = WebSocketStep::read(config, !contents.is_empty())?;
    let content = contents.pop().unwrap_or_else(MessageSource::placeholder);
    let scope = SlotScope { variables: &config.variables, ..SlotScope::default() };
    let message = WebSocketMessage::new(content.template(scope, None)?, content.binary, 0);
    content.check(&message.payload(&SlotContext::default()))?;
    Ok((step, message))
}

/// Returns the upgrade request for a URL: as given by the URL's first step, which no other step may contradict.
fn upgrade(
    config: &ProtocolConfig,
    (urls, number): (&[&str], usize),
    marks: &mut Placeholders,
) -> Result<(Url, HandshakeRequest), UsageError> {
    let of_step = |at: usize| {
        let own = config.url_options.get(at).into_iter().flatten();
        own.filter(|(name, _)| OF_UPGRADE.contains(&name.as_str())).collect::<Vec<_>>()
    };
    let first = of_step(number);
    let others = (number + 1..urls.len()).filter(|at| urls[*at] == urls[number]);
    for at in others {
        let own = of_step(at);
        if let Some((name, _)) = own.first().filter(|_| own != first) {
            let trouble = complaint!(
                "is for opening the connection, which an earlier step does; move it there",
                "用于打开连接，而连接由前面的步骤打开；请移到那里"
            );
            return Err(UsageError::new(format!("URL {}, {name}", at + 1), trouble));
        }
    }
    let url = parse_url(urls[number], marks, true)?;
    let own =
        url_overrides::read_overrides(config, number, OF_ONE_URL, |asked| WebSocketOptions::read_with(asked, marks))?;
    let wishes = own.map_or_else(|| WebSocketOptions::read_with(config, marks), Ok)?;
    let upgrade = HandshakeRequest::new(&url, &wishes).with_slots(marks)?;
    Ok((url, upgrade))
}

/// The messages for steps on a connection: those not awaited so far, and the step that waits for one.
#[derive(Debug, Default)]
pub struct StepInbox {
    unread: VecDeque<BudgetedBuffer>,
    awaiting: Option<AwaitingStep>,
    /// The result of the step just started, if it is known at once: the index of a kept message, or an error.
    immediate: Option<Result<usize, Cause>>,
}

#[derive(Debug)]
struct AwaitingStep {
    id: ExchangeId,
    step: usize,
    random: u64,
    /// The condition on the awaited message, if the condition has slots.
    like: Option<MessageMatch>,
    /// The expected text, with slots filled.
    expected: Option<Vec<u8>>,
}

impl StepInbox {
    /// Returns the number of messages that no step waited for.
    pub fn unread_messages(&self) -> u32 {
        self.unread.len() as u32
    }

    /// Returns `true` if a step waits for a message.
    pub fn is_awaiting(&self) -> bool {
        self.awaiting.is_some()
    }

    /// Gives up the step. Returns `true` if a late message for it can be distinguished from those that other steps
    /// wait for.
    pub fn cancel(&mut self, steps: &[WebSocketStep]) -> bool {
        let given_up = self.awaiting.take();
        given_up.is_none_or(|awaiting| !matches!(steps[awaiting.step].awaits, AwaitCondition::Any))
    }

    /// Takes the step whose message will never come.
    pub fn take_unanswered(&mut self) -> Option<ExchangeId> {
        self.awaiting.take().map(|awaiting| awaiting.id)
    }
}

impl AwaitingStep {
    /// Returns `true` if this is the message that the step waits for.
    fn is_for(&self, steps: &[WebSocketStep], message: &[u8]) -> Result<bool, OutOfSteps> {
        match (&self.like, &steps[self.step].awaits) {
            (Some(like), _) | (None, AwaitCondition::Matching(like)) => like.matches(message),
            (None, _) => Ok(true),
        }
    }

    /// Finishes the step without a message.
    fn fail(self, why: Cause, done: &mut EventBuffer) {
        let (id, fault) = (self.id, Some(FaultKind::WrongBody.unless_own_limit(&why)));
        let (excerpt, follow_up, cause) = (None, None, Some(why));
        done.push(Event::Ended(ExchangeEnd { id, fault, code: 0, payload: 0, excerpt, follow_up, cause }));
    }

    /// Finishes the step with this message.
    fn end(self, steps: &[WebSocketStep], message: &[u8], done: &mut EventBuffer) {
        let step = &steps[self.step];
        let missing = self.expected.as_deref().filter(|text| memmem::find(message, text).is_none());
        let (mut fault, mut why) = (None, None);
        if let Some(text) = missing {
            let lacks = verify::missing_text(brunt_cause::checks::message_lacks, text, message, message.len() as u64);
            (fault, why) = (Some(FaultKind::WrongBody), Some(lacks));
        } else if !step.captures.is_empty() {
            let answer = CaptureInput { body: message, ..CaptureInput::default() };
            match capture::take_all(&step.captures, &answer, self.random) {
                Ok(taken) => done.push(Event::StateUpdate(self.id, Box::new(taken))),
                Err(missing) => {
                    (fault, why) = (Some(FaultKind::WrongBody.unless_own_limit(&missing)), Some(missing));
                }
            }
        }
        let excerpt = fault
            .filter(|kind| done.wants_example(*kind))
            .map(|_| Box::from(&message[..message.len().min(EXCERPT_BOUND)]));
        let (id, payload) = (self.id, message.len() as u64);
        if let (Some(_), Some(text)) = (fault, &self.expected) {
            done.record_failed_checks(id, u32::from(memmem::find(message, text).is_none()));
        }
        done.push(Event::Ended(ExchangeEnd { id, fault, code: 0, payload, excerpt, follow_up: None, cause: why }));
    }
}

impl WebSocketSession {
    /// Begins a step.
    pub(super) fn begin_step(
        &mut self,
        id: ExchangeId,
        request: &WebSocketMessage,
        context: &SlotContext<'_>,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        let mask = self.masks.key();
        let WebSocketSession { rules, extras: own, .. } = self;
        let (Some(own), number) = (own.as_deref_mut(), request.key as usize) else { return Err(SessionFull) };
        let step = &rules.steps[number];
        if step.sends {
            request.write(context.into(), own.deflate.as_mut(), mask, out.buffer(), |_, _| {});
        }
        if step.one_way {
            return Ok(SubmitOutcome::OneWay);
        }
        let expected = step.expect.as_ref().map(|template| {
            let mut text = Vec::new();
            template.fill(context, &mut text);
            text
        });
        let (like, cannot) = match step.awaits.fill(context) {
            None => (None, None),
            Some(Ok(like)) => (Some(like), None),
            Some(Err(why)) => (None, Some(awaited_unreadable(why.to_string()))),
        };
        let awaiting = AwaitingStep { id, step: number, random: context.random, like, expected };
        let inbox = &mut own.inbox;
        inbox.immediate = match cannot {
            Some(why) => Some(Err(why)),
            // A message received earlier cannot be the reply to a message sent now.
            None if step.sends => None,
            None => inbox.unread.iter().enumerate().find_map(|(at, message)| {
                let is_for = awaiting.is_for(&rules.steps, message).map(|is_for| is_for.then_some(at));
                is_for.map_err(|OutOfSteps| awaited_unreadable(out_of_steps())).transpose()
            }),
        };
        inbox.awaiting = Some(awaiting);
        Ok(if inbox.immediate.is_some() { SubmitOutcome::AlreadyComplete } else { SubmitOutcome::AwaitingResponse })
    }

    /// Reports the event that ended a step before it started to wait.
    #[cold]
    pub(super) fn report_immediate(&mut self, done: &mut EventBuffer) {
        let WebSocketSession { rules, extras: own, .. } = self;
        let Some(inbox) = own.as_deref_mut().map(|own| &mut own.inbox) else { return };
        let (Some(there), Some(awaiting)) = (inbox.immediate.take(), inbox.awaiting.take()) else { return };
        match there {
            Ok(at) => {
                let message = inbox.unread.remove(at).unwrap_or_default();
                awaiting.end(&rules.steps, &message, done);
            }
            Err(why) => awaiting.fail(why, done),
        }
    }

    /// Handles a message: for the step that waits for it, or for a later one.
    pub(super) fn receive_for_step(&mut self, size: u64, content: &[u8], done: &mut EventBuffer) {
        let WebSocketSession { rules, extras: own, .. } = self;
        let Some(inbox) = own.as_deref_mut().map(|own| &mut own.inbox) else { return };
        let is_for = inbox.awaiting.as_ref().map_or(Ok(false), |awaiting| awaiting.is_for(&rules.steps, content));
        if let Some(awaiting) = inbox.awaiting.take_if(|_| is_for != Ok(false)) {
            return match is_for {
                Ok(_) => awaiting.end(&rules.steps, content, done),
                Err(OutOfSteps) => awaiting.fail(awaited_unreadable(out_of_steps()), done),
            };
        }
        let mut kept = BudgetedBuffer::default();
        // A listener for unsolicited messages gets the message now, since it will not be reported otherwise.
        if done.reports_unsolicited() || !kept.extend(content, &rules.budget) {
            return done.push_unsolicited(size, content);
        }
        inbox.unread.push_back(kept);
        let is_full = |kept: &VecDeque<BudgetedBuffer>| {
            kept.len() > MOST_KEPT
                || (kept.len() > 1 && kept.iter().map(|message| message.len()).sum::<usize>() > MOST_BYTES)
        };
        while is_full(&inbox.unread)
            && let Some(oldest) = inbox.unread.pop_front()
        {
            done.push_unsolicited(oldest.len() as u64, &oldest);
        }
    }
}
