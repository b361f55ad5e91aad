//! The WebSocket plug-in: its schemes, its options, and the messages of a run, encoded before it starts.

use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{
    ConnectionOwner, EstablishedConnection, OrderedResponses, Origin, PreparedWorkload, Protocol, ProtocolConfig,
    ProtocolDescription, RequestNames, Session, SlotContext, UsageError, UserState, WeightedRequest, Workload,
};
use url::Url;

use super::close;
use super::codec::FrameSender;
use super::content::{self, MessageSource, SCOPE};
use super::expect::ExpectedText;
use super::options::{self, WebSocketOptions};
use super::request::WebSocketMessage;
use super::rules::WebSocketRules;
use super::session::WebSocketSession;
use super::steps::{self, WebSocketSteps};
use super::transcript;
use super::upgrade::HandshakeRequest;
use crate::placeholders::Placeholders;
use brunt_values::percent::host;
use brunt_values::side_messages::SideMessages;
use brunt_values::template::Template;

/// WebSocket over TCP and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct WebSocketProtocol;

impl Protocol for WebSocketProtocol {
    fn description(&self) -> ProtocolDescription<'_> {
        ProtocolDescription {
            checks: &["expect-body"],
            fixed_connections: true,
            heartbeats: true,
            ..ProtocolDescription::new("websocket", &["ws", "wss"], options::OPTIONS, steps::OF_ONE_URL)
        }
    }

    fn prepare(&self, config: &ProtocolConfig) -> Result<Arc<dyn Workload>, UsageError> {
        if config.is_composite_flow {
            return of_steps(config);
        }
        reject_step_options(config)?;
        let wishes = WebSocketOptions::read(config)?;
        let mut contents = content::contents(config)?;
        let expect = ExpectedText::read(config, &contents)?;
        let beside = SideMessages::read(config, |text, place, scope| {
            let content = MessageSource::of_text(text, place, config);
            let message = WebSocketMessage::new(content.template(scope, None)?, content.binary, 0);
            content.check(&message.payload(&SlotContext::default()))?;
            Ok(message)
        })?;
        let silent = contents.is_empty();
        if silent {
            contents.push(MessageSource::placeholder());
        }
        let (mut origins, mut requests, mut upgrades) = (Vec::new(), Vec::new(), Vec::new());
        let (said, mut names) = (config, RequestNames::default());
        let mut marks = Placeholders::new(config);
        for (number, asked) in config.urls.iter().enumerate() {
            let url = parse_url(&asked.url, &mut marks, false)?;
            // A connection is bound to its URL.
            origins.push(
                origin(&url, number as u32)
                    .ok_or_else(|| invalid_url(&asked.url, &complaint!("it has no host", "缺少主机")))?,
            );
            upgrades.push(HandshakeRequest::new(&url, &wishes));
            for content in &contents {
                let weight = asked.weight / contents.len() as f64;
                names.add(said.name(number).unwrap_or(asked.path()));
                let request = message(content, &wishes, expect.filled())?;
                requests.push(WeightedRequest::new(request, number, weight));
            }
        }
        let end =
            requests.iter().filter_map(|weighted: &WeightedRequest<WebSocketMessage>| weighted.request.end()).min();
        if requests.is_empty() {
            return Err(UsageError::new(
                "URL",
                complaint!(
                    "none given; add one, such as ws://127.0.0.1:8080/",
                    "没有给出；请加上，例如 ws://127.0.0.1:8080/"
                ),
            ));
        }
        let counts = requests.iter().any(|weighted| weighted.request.is_numbered());
        let rules = Arc::new(WebSocketRules::new(wishes, upgrades, expect, beside.with_numbered_requests(counts)));
        let prepared = PreparedWorkload {
            holds_only: silent,
            by_order: (!silent && rules.pairs_by_order()).then_some(OrderedResponses::Messages),
            has_slots: requests.iter().any(|weighted| weighted.request.has_slots()),
            counts_messages: true,
            max_requests: end,
            ..PreparedWorkload::new(requests, origins, names)
        };
        Ok(Arc::new(WebSocketWorkload { prepared, rules }))
    }
}

/// Prepares the steps of a flow.
fn of_steps(config: &ProtocolConfig) -> Result<Arc<dyn Workload>, UsageError> {
    let wishes = WebSocketOptions::read(config)?;
    let WebSocketSteps { requests, names, origins, upgrades, each, end } = WebSocketSteps::read(config)?;
    let beside =
        SideMessages::read(config, |_, _, _| Ok(WebSocketMessage::new(Template::fixed(Vec::new()), false, 0)))?;
    let rules = WebSocketRules::new(WebSocketOptions { push: true, ..wishes }, upgrades, ExpectedText::None, beside);
    let rules = Arc::new(WebSocketRules { steps: each, ..rules });
    let prepared = PreparedWorkload {
        by_order: rules.pairs_by_order().then_some(OrderedResponses::Messages),
        has_slots: true,
        counts_messages: true,
        max_requests: end,
        ..PreparedWorkload::new(requests, origins, names)
    };
    Ok(Arc::new(WebSocketWorkload { prepared, rules }))
}

/// Rejects options given for single URLs, which are only for steps.
fn reject_step_options(config: &ProtocolConfig) -> Result<(), UsageError> {
    let own = config.url_options.iter().flat_map(|own| own.keys()).map(String::as_str);
    match own.chain(config.options.contains_key("await").then_some("await")).next() {
        Some(name) => {
            let trouble = complaint!(
                "is for steps of a flow; elsewhere all connections send the same: put it next to the URLs",
                "用于流程的步骤；在流程之外所有连接发送相同的内容：请写在各 URL 旁"
            );
            Err(UsageError::new(format!("--{name}"), trouble))
        }
        None => Ok(()),
    }
}

fn message(
    content: &MessageSource,
    wishes: &WebSocketOptions,
    expected: Option<&str>,
) -> Result<WebSocketMessage, UsageError> {
    let template = content.template(SCOPE, expected)?;
    let made = if expected.is_some() { WebSocketMessage::expecting } else { WebSocketMessage::new };
    let mut message = made(template, content.binary, 0);
    let sample = message.payload(&SlotContext::default());
    content.check(&sample)?;
    message.key = match &wishes.field {
        None => 0,
        Some(_) if content.place.is_empty() => 0,
        Some(field) => field.key(&sample).ok_or_else(|| {
            let trouble = complaint!(
                "the message does not have the field of --match-field, so no response would match it",
                "消息中没有 --match-field 的字段，因此不会有响应与之匹配"
            );
            UsageError::new(&content.place, trouble)
        })?,
    };
    Ok(message)
}

/// A WebSocket workload: everything a run will send.
#[derive(Debug)]
pub struct WebSocketWorkload {
    prepared: PreparedWorkload,
    rules: Arc<WebSocketRules>,
}

impl Workload for WebSocketWorkload {
    fn prepared(&self) -> &PreparedWorkload {
        &self.prepared
    }
    fn alpn(&self, _origin: &Origin) -> &[&'static [u8]] {
        &[b"http/1.1"]
    }
    /// The first step of a user opens the connection, with that user's values.
    fn connection_owner(&self, _origin: &Origin) -> ConnectionOwner {
        ConnectionOwner::User
    }
    fn response_condition(&self, request: &brunt_contract::Request) -> Option<String> {
        let request = request.downcast::<WebSocketMessage>();
        self.rules.steps.get(request.key as usize)?.awaited.clone()
    }
    /// Returns the message alone; frame and mask are of no interest to readers.
    fn encoded_with(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext,
        _memory: Option<&UserState>,
    ) -> Vec<u8> {
        request.downcast::<WebSocketMessage>().payload(context)
    }
    fn display_bytes(
        &self,
        _established: &EstablishedConnection,
        sent: &[u8],
        received: &[u8],
    ) -> Option<[Vec<u8>; 2]> {
        Some([transcript::readable(sent, FrameSender::Client), transcript::readable(received, FrameSender::Server)])
    }
    fn session(&self, origin: &Origin, established: &EstablishedConnection) -> Box<dyn Session> {
        Box::new(WebSocketSession::new(Arc::clone(&self.rules), origin.bound, established))
    }
    fn protocol_version(&self, _established: &EstablishedConnection) -> String {
        "WebSocket".to_owned()
    }
    /// Names statuses of refused upgrades and close codes.
    fn code_name(&self, code: u32) -> String {
        match u16::try_from(code) {
            Ok(code @ 1000..) => format!("close {code} ({})", close::name(code)),
            _ => code.to_string(),
        }
    }
}

/// Parses a URL: characters not allowed in a URL are percent-encoded, and the fragment is dropped.
pub(super) fn parse_url(written: &str, marks: &mut Placeholders, slots: bool) -> Result<Url, UsageError> {
    let taken = marks.replace_url_slots(written, "URL")?;
    let text = &*if slots { marks.fill_environment(&taken)? } else { options::constant_text(&taken, "URL", marks)? };
    marks.url((written, text), ["ws", "wss"], invalid_url)
}

pub(super) fn origin(url: &Url, bound: u32) -> Option<Origin> {
    Some(Origin { bound, ..Origin::tcp(host(url)?, url.port_or_known_default()?, url.scheme() == "wss") })
}

fn invalid_url(text: &str, trouble: &Complaint) -> UsageError {
    let zh = trouble.zh();
    UsageError::new(
        "URL",
        complaint!(
            "\"{text}\" cannot be used ({trouble}); use ws://host:port/path",
            "无法使用“{text}”（{zh}）；请写 ws://host:port/path"
        ),
    )
}
