//! The Redis plug-in: URL schemes, options, and the workload of a run encoded before it starts.

use std::sync::Arc;

use wire::{
    About, Asked, Belongs, Complaint, Dialogue, Established, Fill, Memory, Names, Origin, Out, Prepared, Protocol,
    Session, Weighted,
};

use super::options::{self, Checks, Door, Wishes};
use super::request::Request;
use super::session::RedisSession;
use super::words::{self, Words};
use values::kept::Budget;
use values::url_overrides;

/// Redis over TCP and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Redis;

impl Protocol for Redis {
    fn about(&self) -> About<'_> {
        About {
            checks: &["expect-body"],
            heartbeats: true,
            ..About::new("redis", &["redis", "rediss"], options::OPTIONS, options::OF_ONE_URL)
        }
    }

    fn prepare(&self, asked: &Asked) -> Result<Arc<dyn Dialogue>, Complaint> {
        let (mut doors, mut requests, mut names) = (Vec::<Door>::new(), Vec::new(), Names::default());
        let mut end: Option<u64> = None;
        let wishes = Wishes::read(asked)?;
        let mut others = Vec::new();
        for (index, url) in asked.urls.iter().enumerate() {
            let door = Door::read(&url.url)?;
            let origin = doors.iter().position(|known| *known == door).unwrap_or_else(|| {
                doors.push(door);
                doors.len() - 1
            });
            // Compiled once per URL, because a request has one position in the list.
            let own = url_overrides::wished(asked, index, options::OF_ONE_URL, Wishes::read)?;
            let checks = if own.is_some() { others.len() + 1 } else { 0 };
            let Wishes { commands, checks: decides, .. } = own.map_or_else(|| Wishes::read(asked), Ok)?;
            if checks > 0 {
                others.push(decides);
            }
            for (weight, mut request) in commands {
                request.checks = u16::try_from(checks).map_err(|_| too_many())?;
                end = [end, request.end()].into_iter().flatten().min();
                names.add(&asked.name(index).map_or_else(|| request.kind(), str::to_owned));
                requests.push(Weighted::new(request, origin, weight * url.weight));
            }
        }
        if requests.is_empty() {
            return Err(Complaint::new("URL", "none was given; write one, for instance redis://127.0.0.1:6379"));
        }
        let origins =
            doors.iter().enumerate().map(|(n, door)| Origin { bound: n as u32, ..door.origin.clone() }).collect();
        let openings = doors.iter().map(|door| Opening::of(door, wishes.resp3)).collect();
        let Wishes { before, after, resp3, checks, pipeline, .. } = wishes;
        let checks: Vec<Checks> = std::iter::once(checks).chain(others).collect();
        let looks = checks.iter().any(|checks| !checks.are_none());
        let (words, kept) = (Words::default(), Budget::default());
        let rules = Rules { openings, checks, looks, pipeline, words, kept };
        let prepared = Prepared {
            before,
            after,
            has_slots: true,
            exchanges_per_connection: pipeline,
            exchanges_per_user: pipeline,
            requests_at_most: end,
            ..Prepared::new(requests, origins, names)
        };
        Ok(Arc::new(RedisDialogue { prepared, resp3, rules: Arc::new(rules) }))
    }
}

fn too_many() -> Complaint {
    Complaint::new("URL", "more than 65,535 of them have their own options; move shared ones next to the URLs")
}

/// The part of a run that all its sessions share.
#[derive(Debug)]
pub struct Rules {
    /// Openings of connections, by [`Origin::bound`].
    pub openings: Vec<Opening>,
    /// Checks of replies: those of the run first, then those of single URLs.
    pub checks: Vec<Checks>,
    /// Set if some of the checks search replies.
    pub looks: bool,
    /// Maximum number of exchanges in flight on a connection.
    pub pipeline: u32,
    /// Codes of the first words of errors.
    pub words: Words,
    /// Memory budget for replies that are kept whole.
    pub kept: Budget,
}

/// The opening of a connection.
#[derive(Debug, Default)]
pub struct Opening {
    /// Commands of the opening, sent in one write.
    pub bytes: Box<[u8]>,
    /// Steps that the server answers, in order.
    pub steps: Vec<Step>,
}

/// One command of an opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// HELLO 3, with the login if there is one.
    Hello,
    /// AUTH.
    Login,
    /// SELECT.
    Database,
}

impl Opening {
    fn of(door: &Door, resp3: bool) -> Opening {
        let (mut bytes, mut steps) = (Vec::new(), Vec::new());
        let mut say = |step, words: &[&[u8]]| {
            bytes.extend(Request::of_words(words));
            steps.push(step);
        };
        match (&door.login, resp3) {
            (Some((name, password)), true) => {
                let name: &[u8] = if name.is_empty() { b"default" } else { name };
                say(Step::Hello, &[b"HELLO", b"3", b"AUTH", name, password]);
            }
            (None, true) => say(Step::Hello, &[b"HELLO", b"3"]),
            (Some((name, password)), false) if name.is_empty() => say(Step::Login, &[b"AUTH", password]),
            (Some((name, password)), false) => say(Step::Login, &[b"AUTH", name, password]),
            (None, false) => {}
        }
        if door.database > 0 {
            say(Step::Database, &[b"SELECT", door.database.to_string().as_bytes()]);
        }
        Opening { bytes: bytes.into(), steps }
    }
}

/// The workload of a run over Redis's protocol.
#[derive(Debug)]
pub struct RedisDialogue {
    prepared: Prepared,
    resp3: bool,
    rules: Arc<Rules>,
}

impl Dialogue for RedisDialogue {
    fn prepared(&self) -> &Prepared {
        &self.prepared
    }
    /// A transaction belongs to one connection.
    fn belongs(&self, _origin: &Origin) -> Belongs {
        Belongs::ForIteration
    }
    fn says_no_trace(&self, _request: &wire::Request) -> bool {
        true
    }
    fn sent_with(&self, request: &wire::Request, fill: &Fill, _memory: Option<&Memory>) -> Vec<u8> {
        let request = request.of::<Request>();
        let mut out = Out::default();
        request.append(fill, &mut out);
        out.bytes().to_vec()
    }
    fn named(&self, request: &wire::Request) -> String {
        let request = request.of::<Request>();
        request.named()
    }
    fn session(&self, origin: &Origin, _established: &Established) -> Box<dyn Session> {
        Box::new(RedisSession::new(Arc::clone(&self.rules), origin.bound))
    }
    fn spoken(&self, _established: &Established) -> String {
        if self.resp3 { "RESP3" } else { "RESP2" }.to_owned()
    }
    fn code_name(&self, code: u32) -> String {
        self.rules.words.name(code)
    }
    fn code_meaning(&self, code: u32) -> Option<cause::Plain> {
        words::meaning(code)
    }
}
