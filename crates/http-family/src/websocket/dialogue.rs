//! The WebSocket plug-in: its schemes, its options, and everything a run will send, encoded before it starts.

use std::sync::Arc;

use url::Url;
use wire::{
    About, Asked, Belongs, ByOrder, Complaint, Dialogue, Established, Fill, Memory, Names, Origin, Prepared, Protocol,
    Session, Weighted,
};

use super::close;
use super::codec::Sender;
use super::content::{self, Content, SCOPE};
use super::expect::Expect;
use super::options::{self, Wishes};
use super::request::Message;
use super::rules::Rules;
use super::session::WebSocketSession;
use super::steps::{self, Steps};
use super::transcript;
use super::upgrade::Upgrade;
use crate::marks::Marks;
use values::beside::Beside;
use values::percent::host;
use values::template::{Guard, Template};

/// WebSocket over TCP and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct WebSocket;

impl Protocol for WebSocket {
    fn about(&self) -> About<'_> {
        About {
            checks: &["expect-body"],
            fixed_connections: true,
            heartbeats: true,
            ..About::new("websocket", &["ws", "wss"], options::OPTIONS, steps::OF_ONE_URL)
        }
    }

    fn prepare(&self, asked: &Asked) -> Result<Arc<dyn Dialogue>, Complaint> {
        if asked.steps {
            return of_steps(asked);
        }
        refuse_own(asked)?;
        let wishes = Wishes::read(asked)?;
        let mut contents = content::contents(asked)?;
        let expect = Expect::read(asked, &contents)?;
        let beside = Beside::read(asked, |text, place, scope| {
            let content = Content::of_text(text, place, asked);
            let message = Message::new(content.template(scope, None)?, content.binary, 0);
            content.check(&message.payload(&Fill::default()))?;
            Ok(message)
        })?;
        let silent = contents.is_empty();
        if silent {
            contents.push(Content::placeholder());
        }
        let (mut origins, mut requests, mut upgrades) = (Vec::new(), Vec::new(), Vec::new());
        let (said, mut names) = (asked, Names::default());
        let mut marks = Marks::new(asked);
        for (number, asked) in asked.urls.iter().enumerate() {
            let url = parse_url(&asked.url, &mut marks, false)?;
            // A connection is bound to its URL.
            origins.push(origin(&url, number as u32).ok_or_else(|| no_url(&asked.url, "it has no host"))?);
            upgrades.push(Upgrade::new(&url, &wishes));
            for content in &contents {
                let weight = asked.weight / contents.len() as f64;
                names.add(said.name(number).unwrap_or(asked.path()));
                let request = message(content, &wishes, expect.filled())?;
                requests.push(Weighted::new(request, number, weight));
            }
        }
        let end = requests.iter().filter_map(|weighted: &Weighted<Message>| weighted.request.end()).min();
        if requests.is_empty() {
            return Err(Complaint::new("URL", "none was given; write one, for instance ws://127.0.0.1:8080/"));
        }
        let counts = requests.iter().any(|weighted| weighted.request.is_numbered());
        let rules = Arc::new(Rules::new(wishes, upgrades, expect, beside.counting(counts)));
        let prepared = Prepared {
            silent,
            by_order: (!silent && rules.pairs_by_order()).then_some(ByOrder::Messages),
            has_slots: requests.iter().any(|weighted| weighted.request.has_slots()),
            counts_messages: true,
            requests_at_most: end,
            ..Prepared::new(requests, origins, names)
        };
        Ok(Arc::new(WebSocketDialogue { prepared, rules }))
    }
}

/// Prepares the steps of a flow.
fn of_steps(asked: &Asked) -> Result<Arc<dyn Dialogue>, Complaint> {
    let wishes = Wishes::read(asked)?;
    let Steps { requests, names, origins, upgrades, each, end } = Steps::read(asked)?;
    let beside = Beside::read(asked, |_, _, _| Ok(Message::new(Template::fixed(Vec::new()), false, 0)))?;
    let rules = Rules::new(Wishes { push: true, ..wishes }, upgrades, Expect::Nothing, beside);
    let rules = Arc::new(Rules { steps: each, ..rules });
    let prepared = Prepared {
        by_order: rules.pairs_by_order().then_some(ByOrder::Messages),
        has_slots: true,
        counts_messages: true,
        requests_at_most: end,
        ..Prepared::new(requests, origins, names)
    };
    Ok(Arc::new(WebSocketDialogue { prepared, rules }))
}

/// Rejects options of single URLs, which are for steps.
fn refuse_own(asked: &Asked) -> Result<(), Complaint> {
    let own = asked.own.iter().flat_map(|own| own.keys()).map(String::as_str);
    match own.chain(asked.options.contains_key("await").then_some("await")).next() {
        Some(name) => {
            let trouble = "is for steps of a flow; elsewhere all connections send the same: write it next to the URLs";
            Err(Complaint::new(format!("--{name}"), trouble))
        }
        None => Ok(()),
    }
}

fn message(content: &Content, wishes: &Wishes, expected: Option<&str>) -> Result<Message, Complaint> {
    let template = content.template(SCOPE, expected)?;
    let made = if expected.is_some() { Message::expecting } else { Message::new };
    let mut message = made(template, content.binary, 0);
    let sample = message.payload(&Fill::default());
    content.check(&sample)?;
    message.key = match &wishes.field {
        None => 0,
        Some(_) if content.place.is_empty() => 0,
        Some(field) => field.key(&sample).ok_or_else(|| {
            let trouble = "the message does not have the field of --match-field, so no response would match it";
            Complaint::new(&content.place, trouble)
        })?,
    };
    Ok(message)
}

/// A WebSocket workload: everything a run will send.
#[derive(Debug)]
pub struct WebSocketDialogue {
    prepared: Prepared,
    rules: Arc<Rules>,
}

impl Dialogue for WebSocketDialogue {
    fn prepared(&self) -> &Prepared {
        &self.prepared
    }
    fn alpn(&self, _origin: &Origin) -> &[&'static [u8]] {
        &[b"http/1.1"]
    }
    /// The connection is opened by its user's first step, with that user's values.
    fn belongs(&self, _origin: &Origin) -> Belongs {
        Belongs::ToUser
    }
    fn awaited(&self, request: &wire::Request) -> Option<String> {
        let request = request.of::<Message>();
        self.rules.steps.get(request.key as usize)?.awaited.clone()
    }
    /// Returns the message alone; frame and mask are of no interest to readers.
    fn sent_with(&self, request: &wire::Request, fill: &Fill, _memory: Option<&Memory>) -> Vec<u8> {
        request.of::<Message>().payload(fill)
    }
    fn readable(&self, _established: &Established, sent: &[u8], received: &[u8]) -> Option<[Vec<u8>; 2]> {
        Some([transcript::readable(sent, Sender::Client), transcript::readable(received, Sender::Server)])
    }
    fn session(&self, origin: &Origin, established: &Established) -> Box<dyn Session> {
        Box::new(WebSocketSession::new(Arc::clone(&self.rules), origin.bound, established))
    }
    fn spoken(&self, _established: &Established) -> String {
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

/// Parses a URL, encoding what must be encoded; the fragment is dropped.
pub(super) fn parse_url(written: &str, marks: &mut Marks, slots: bool) -> Result<Url, Complaint> {
    let taken = marks.take(written, "URL", Guard::Url)?;
    let text = &*if slots { marks.settled(&taken)? } else { options::said_once(&taken, "URL", marks)? };
    marks.url((written, text), ["ws", "wss"], no_url)
}

pub(super) fn origin(url: &Url, bound: u32) -> Option<Origin> {
    Some(Origin { bound, ..Origin::tcp(host(url)?, url.port_or_known_default()?, url.scheme() == "wss") })
}

fn no_url(text: &str, trouble: &str) -> Complaint {
    Complaint::new("URL", format!("\"{text}\" cannot be used ({trouble}); write ws://host:port/path"))
}
