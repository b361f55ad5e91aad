//! The Redis plug-in: URL schemes, options, and the workload of a run encoded before it starts.

use std::sync::Arc;

use brunt_cause::complaint;
use brunt_contract::{
    ConnectionOwner, EstablishedConnection, Origin, OutputBuffer, PreparedWorkload, Protocol, ProtocolConfig,
    ProtocolDescription, RequestNames, Session, SlotContext, UsageError, UserState, WeightedRequest, Workload,
};

use super::error_words::{self, ErrorWords};
use super::options::{self, RedisChecks, RedisOptions, RedisTarget};
use super::request::RedisRequest;
use super::session::RedisSession;
use brunt_values::budget::MemoryBudget;
use brunt_values::url_overrides;

/// Redis over TCP and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct RedisProtocol;

impl Protocol for RedisProtocol {
    fn description(&self) -> ProtocolDescription<'_> {
        ProtocolDescription {
            checks: &["expect-body"],
            heartbeats: true,
            ..ProtocolDescription::new("redis", &["redis", "rediss"], options::OPTIONS, options::OF_ONE_URL)
        }
    }

    fn prepare(&self, config: &ProtocolConfig) -> Result<Arc<dyn Workload>, UsageError> {
        let (mut doors, mut requests, mut names) = (Vec::<RedisTarget>::new(), Vec::new(), RequestNames::default());
        let mut end: Option<u64> = None;
        let wishes = RedisOptions::read(config)?;
        let mut others = Vec::new();
        for (index, url) in config.urls.iter().enumerate() {
            let door = RedisTarget::read(&url.url)?;
            let origin = doors.iter().position(|known| *known == door).unwrap_or_else(|| {
                doors.push(door);
                doors.len() - 1
            });
            // Compiled once per URL, because a request has one position in the list.
            let own = url_overrides::read_overrides(config, index, options::OF_ONE_URL, RedisOptions::read)?;
            let checks = if own.is_some() { others.len() + 1 } else { 0 };
            let RedisOptions { commands, checks: decides, .. } = own.map_or_else(|| RedisOptions::read(config), Ok)?;
            if checks > 0 {
                others.push(decides);
            }
            for (weight, mut request) in commands {
                request.checks = u16::try_from(checks).map_err(|_| too_many())?;
                end = [end, request.data_end()].into_iter().flatten().min();
                names.add(&config.name(index).map_or_else(|| request.kind(), str::to_owned));
                requests.push(WeightedRequest::new(request, origin, weight * url.weight));
            }
        }
        if requests.is_empty() {
            return Err(UsageError::new(
                "URL",
                complaint!(
                    "none given; add one, such as redis://127.0.0.1:6379",
                    "没有给出；请加上，例如 redis://127.0.0.1:6379"
                ),
            ));
        }
        let origins =
            doors.iter().enumerate().map(|(n, door)| Origin { bound: n as u32, ..door.origin.clone() }).collect();
        let openings = doors.iter().map(|door| RedisOpening::of(door, wishes.resp3)).collect();
        let RedisOptions { before, after, resp3, checks, pipeline, .. } = wishes;
        let checks: Vec<RedisChecks> = std::iter::once(checks).chain(others).collect();
        let looks = checks.iter().any(|checks| !checks.is_empty());
        let (words, kept) = (ErrorWords::default(), MemoryBudget::default());
        let rules =
            RedisRules { openings, checks, searches_replies: looks, pipeline, error_words: words, reply_budget: kept };
        let prepared = PreparedWorkload {
            before,
            after,
            has_slots: true,
            exchanges_per_connection: pipeline,
            exchanges_per_user: pipeline,
            max_requests: end,
            ..PreparedWorkload::new(requests, origins, names)
        };
        Ok(Arc::new(RedisWorkload { prepared, resp3, rules: Arc::new(rules) }))
    }
}

fn too_many() -> UsageError {
    UsageError::new(
        "URL",
        complaint!(
            "more than 65,535 of them have their own options; move shared ones next to the URLs",
            "有自己选项的 URL 超过 65,535 个；请把共同的选项写在各 URL 旁"
        ),
    )
}

/// The part of a run that all its sessions share.
#[derive(Debug)]
pub struct RedisRules {
    /// Openings of connections, by [`Origin::bound`].
    pub openings: Vec<RedisOpening>,
    /// Checks of replies: those of the run first, then those of single URLs.
    pub checks: Vec<RedisChecks>,
    /// Set if some of the checks search replies.
    pub searches_replies: bool,
    /// Maximum number of exchanges in flight on a connection.
    pub pipeline: u32,
    /// Codes of the first words of errors.
    pub error_words: ErrorWords,
    /// Memory budget for replies that are kept whole.
    pub reply_budget: MemoryBudget,
}

/// The opening of a connection.
#[derive(Debug, Default)]
pub struct RedisOpening {
    /// Commands of the opening, sent in one write.
    pub bytes: Box<[u8]>,
    /// Steps that the server answers, in order.
    pub steps: Vec<RedisOpeningStep>,
}

/// One command of an opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedisOpeningStep {
    /// HELLO 3, with the login if there is one.
    Hello,
    /// AUTH.
    Login,
    /// SELECT.
    Database,
}

impl RedisOpening {
    fn of(door: &RedisTarget, resp3: bool) -> RedisOpening {
        let (mut bytes, mut steps) = (Vec::new(), Vec::new());
        let mut say = |step, words: &[&[u8]]| {
            bytes.extend(RedisRequest::encode_words(words));
            steps.push(step);
        };
        match (&door.login, resp3) {
            (Some((name, password)), true) => {
                let name: &[u8] = if name.is_empty() { b"default" } else { name };
                say(RedisOpeningStep::Hello, &[b"HELLO", b"3", b"AUTH", name, password]);
            }
            (None, true) => say(RedisOpeningStep::Hello, &[b"HELLO", b"3"]),
            (Some((name, password)), false) if name.is_empty() => say(RedisOpeningStep::Login, &[b"AUTH", password]),
            (Some((name, password)), false) => say(RedisOpeningStep::Login, &[b"AUTH", name, password]),
            (None, false) => {}
        }
        if door.database > 0 {
            say(RedisOpeningStep::Database, &[b"SELECT", door.database.to_string().as_bytes()]);
        }
        RedisOpening { bytes: bytes.into(), steps }
    }
}

/// The workload of a run over Redis's protocol.
#[derive(Debug)]
pub struct RedisWorkload {
    prepared: PreparedWorkload,
    resp3: bool,
    rules: Arc<RedisRules>,
}

impl Workload for RedisWorkload {
    fn prepared(&self) -> &PreparedWorkload {
        &self.prepared
    }
    /// Returns the iteration as the owner, because a transaction belongs to one connection.
    fn connection_owner(&self, _origin: &Origin) -> ConnectionOwner {
        ConnectionOwner::Iteration
    }
    fn carries_no_trace(&self, _request: &brunt_contract::Request) -> bool {
        true
    }
    fn encoded_with(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext,
        _memory: Option<&UserState>,
    ) -> Vec<u8> {
        let request = request.downcast::<RedisRequest>();
        let mut out = OutputBuffer::default();
        request.append(context, &mut out);
        out.bytes().to_vec()
    }
    fn display_request(&self, request: &brunt_contract::Request) -> String {
        let request = request.downcast::<RedisRequest>();
        request.readable()
    }
    fn session(&self, origin: &Origin, _established: &EstablishedConnection) -> Box<dyn Session> {
        Box::new(RedisSession::new(Arc::clone(&self.rules), origin.bound))
    }
    fn protocol_version(&self, _established: &EstablishedConnection) -> String {
        if self.resp3 { "RESP3" } else { "RESP2" }.to_owned()
    }
    fn code_name(&self, code: u32) -> String {
        self.rules.error_words.name(code)
    }
    fn code_meaning(&self, code: u32) -> Option<brunt_cause::StaticCause> {
        error_words::meaning(code)
    }
}
