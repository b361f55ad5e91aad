//! How a protocol plugs in.

use std::fmt;
use std::sync::Arc;

use cause::{Cause, Plain};
use measure::Nanos;

use crate::{
    Asked, Complaint, Done, Draft, ExchangeId, FaultKind, Fill, Follow, Found, Lesson, Memory, Names, OptionSpec, Out,
    Recalled, Request, RequestList, Trace,
};

/// Where connections of a request go: what the pool keys on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP or UDP port.
    pub port: u16,
    /// Whether TLS is spoken.
    pub tls: bool,
    /// Datagrams (UDP) instead of a stream.
    pub datagrams: bool,
    /// What a connection is bound to beside the address (a WebSocket's path, a database): an index into what the dialogue
    /// knows. 0 where connections serve every request to the address.
    pub bound: u32,
    /// A proxy reads what is said, so that no tunnel is asked for: requests to it name their target in full
    /// ([`crate::Proxies::forwarding`]).
    pub forwarded: bool,
}

impl Origin {
    /// A stream to `host`, bound to nothing.
    pub fn tcp(host: impl Into<String>, port: u16, tls: bool) -> Origin {
        Origin { host: host.into(), port, tls, ..Origin::default() }
    }
}

/// What a protocol is called, and what may be asked of it.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The name in plans and reports.
    pub name: &'static str,
    /// The URL schemes it answers to, without `://`: `http`, `https`. What one implies is for [`Protocol::prepare`] to read.
    pub schemes: &'static [&'static str],
    /// Its options; one description each.
    pub options: &'a [OptionSpec],
    /// Those of its options, by name, that one URL of a run may have for itself ([`Asked::own`]); none where URLs have no
    /// options of their own.
    pub options_of_one_url: &'a [&'static str],
    /// Those of its options that are checks of a response, in the order in which sessions tell which of them failed
    /// ([`crate::Done::failed`]).
    pub checks: &'static [&'static str],
    /// True where the number of connections is part of the plan: `-c` of them are opened first and kept, and with a rate
    /// arrivals go over them in turn.
    pub fixed_connections: bool,
    /// Connections have a sign of life that the peer answers (`--ping`, [`Session::heartbeat`]).
    pub heartbeats: bool,
}

impl<'a> About<'a> {
    /// A protocol of this name, with these schemes and options and nothing else.
    pub fn new(
        name: &'static str,
        schemes: &'static [&'static str],
        options: &'a [OptionSpec],
        options_of_one_url: &'a [&'static str],
    ) -> About<'a> {
        About { name, schemes, options, options_of_one_url, checks: &[], fixed_connections: false, heartbeats: false }
    }
}

/// What a protocol is to the rest of brunt: listed once, in order, and handed to `cli::main_with`.
pub trait Protocol: Send + Sync + 'static {
    /// What it is called, and what may be asked of it.
    fn about(&self) -> About<'_>;
    /// [`About::checks`] of a response to a request of this URL.
    fn checks(&self, _url: &str) -> &'static [&'static str] {
        self.about().checks
    }
    /// Whether connections of this run have a sign of life that the peer answers.
    ///
    /// # Errors
    /// Why they have none and what would be right, as a sentence goes on behind `--ping:`.
    fn heartbeats(&self, _asked: &Asked) -> Result<(), String> {
        let About { name, heartbeats, .. } = self.about();
        if heartbeats { Ok(()) } else { Err(format!("{name} has no heartbeat; leave it out")) }
    }
    /// What must be asked of the target itself before requests can be prepared (a schema), given what it answered so far
    /// ([`Asked::learnt`]): a dialogue whose first request asks it, and which tells the answer by [`Dialogue::learnt`]. None:
    /// nothing, or nothing more.
    ///
    /// # Errors
    /// The user's mistake, naming the option.
    fn inquire(&self, _asked: &Asked) -> Result<Option<Arc<dyn Dialogue>>, Complaint> {
        Ok(None)
    }
    /// Encodes everything that can be encoded before the run.
    ///
    /// # Errors
    /// The user's mistake, naming the option.
    fn prepare(&self, asked: &Asked) -> Result<Arc<dyn Dialogue>, Complaint>;
}

impl dyn Protocol {
    /// The name in plans and reports.
    pub fn name(&self) -> &'static str {
        self.about().name
    }
    /// The URL schemes it answers to.
    pub fn schemes(&self) -> &'static [&'static str] {
        self.about().schemes
    }
    /// Its options.
    pub fn options(&self) -> &[OptionSpec] {
        self.about().options
    }
    /// Those that one URL may have for itself.
    pub fn options_of_one_url(&self) -> &[&'static str] {
        self.about().options_of_one_url
    }
    /// True where the number of connections is part of the plan.
    pub fn fixed_connections(&self) -> bool {
        self.about().fixed_connections
    }
}

/// The most bytes of each direction of a conversation that are kept to be shown; the rest is counted.
pub const SHOWN: usize = 1 << 20;

/// What answers are that belong to requests by their order alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByOrder {
    /// Datagrams, of which the network makes copies.
    Datagrams,
    /// Messages, which a server may send of its own accord.
    Messages,
}

/// What is known of everything that a run will say, before it starts.
#[derive(Debug)]
pub struct Prepared {
    /// The requests to choose from; at least one.
    pub requests: Box<dyn RequestList>,
    /// Where they go; at least one.
    pub origins: Vec<Origin>,
    /// What the requests are called in figures, in their order. None named: they share one row, which is the whole.
    pub names: Names,
    /// Requests sent once before the run (`--before`), outside of all figures: on one connection to each origin, one after
    /// the other, in this order. One that fails ends the run before it began.
    pub before: Vec<Arc<Request>>,
    /// As `before`, once the run is over (`--after`), also where it was interrupted. One that fails is told, and the rest
    /// are sent.
    pub after: Vec<Arc<Request>>,
    /// True where a connection serves one exchange only.
    pub one_exchange_per_connection: bool,
    /// How many exchanges may share a connection (`--streams`); the peer may allow fewer, which [`Session::room`] tells.
    pub exchanges_per_connection: u32,
    /// How many exchanges one user keeps in flight (`--pipeline`).
    pub exchanges_per_user: u32,
    /// True where there is nothing to say: connections are opened and held (the requests are not used).
    pub silent: bool,
    /// Where answers belong to requests by their order alone, and the peer may send what nobody asked for or the same twice:
    /// what these are, for a run that saw some to say so. None: an answer can be nobody else's.
    pub by_order: Option<ByOrder>,
    /// True where answers are looked into beyond what ends them (checks, captures): that may take longer than a clock may be old.
    pub reads_closely: bool,
    /// True where users keep something of answers for requests to come (cookies): each then has a [`Memory`] from its first
    /// request to its last, which the engine hands to [`Session::submit_with`].
    pub remembers: bool,
    /// True where users keep answers and do not ask again as long as those are good: only then [`Dialogue::recall`] is asked.
    pub recalls: bool,
    /// True where requests of this run have slots: only for them the engine makes a [`Fill`].
    pub has_slots: bool,
    /// True where what is said on a connection is counted: only then the engine asks [`Session::sequence`].
    pub counts_messages: bool,
    /// After how many requests of a run what is said is at its end (a data file that is read once); None: never.
    pub requests_at_most: Option<u64>,
}

impl Prepared {
    /// Requests with their names that go to these origins, one at a time on each connection.
    pub fn new(requests: impl RequestList + 'static, origins: Vec<Origin>, names: Names) -> Prepared {
        Prepared {
            requests: Box::new(requests),
            origins,
            names,
            before: Vec::new(),
            after: Vec::new(),
            one_exchange_per_connection: false,
            exchanges_per_connection: 1,
            exchanges_per_user: 1,
            silent: false,
            by_order: None,
            reads_closely: true,
            remembers: false,
            recalls: false,
            has_slots: false,
            counts_messages: false,
            requests_at_most: None,
        }
    }
}

/// Everything a run will say in a protocol: prepared once, shared read-only by the workers.
pub trait Dialogue: Send + Sync + 'static {
    /// What is known of it before the run.
    fn prepared(&self) -> &Prepared;
    /// What to offer by ALPN on TLS connections that lead there.
    fn alpn(&self, _origin: &Origin) -> &[&'static [u8]] {
        &[]
    }
    /// Whose connections to this origin are while users go through a flow.
    fn belongs(&self, _origin: &Origin) -> Belongs {
        Belongs::ToNobody
    }
    /// Composes a request during the run, like the prepared one that is given: only where that was asked for ([`Asked::composes`]).
    ///
    /// # Errors
    /// Why there is no such request: its URL cannot be read, or this protocol composes none.
    fn compose(&self, _like: &Request, _draft: &Draft) -> Result<Follow, Cause> {
        Err(cause::reaching::composes_nothing().into())
    }
    /// The bytes of a request as sent with this fill, by a user who keeps this ([`Prepared::remembers`]): for examples of
    /// failures and for `--debug`.
    fn sent_with(&self, request: &Request, fill: &Fill<'_>, memory: Option<&Memory>) -> Vec<u8>;
    /// The trace that a request says it belongs to, filled so: nothing of it is kept while it is under way.
    fn trace(&self, _request: &Request, _fill: &Fill<'_>) -> Option<Trace> {
        None
    }
    /// True for a request that has no place to say a trace in: it belongs to one all the same, where the run has traces.
    fn says_no_trace(&self, _request: &Request) -> bool {
        false
    }
    /// Puts into a user's memory what an answer to this request of its asked for ([`crate::Event::Learnt`]). What comes back finds
    /// what the answer names beside, and is called once its end was stamped.
    fn learn(&self, _request: &Request, _fill: &Fill<'_>, _lesson: Lesson, _memory: &mut Memory) -> Option<Found> {
        None
    }
    /// The answer that a user has to a request that it would send now; None: it has to ask.
    fn recall(&self, _request: &Request, _fill: &Fill<'_>, _memory: &mut Memory) -> Option<Recalled> {
        None
    }
    /// What a message must be like to be the response to a request (`json $.type == "joined"`), where others may come before it: for
    /// people whom it does not reach.
    fn awaited(&self, _request: &Request) -> Option<String> {
        None
    }
    /// A request as people write it, in sentences that name it: by protocols whose bytes are not what was written.
    fn named(&self, request: &Request) -> String {
        let sent = self.sent_with(request, &Fill::default(), None);
        String::from_utf8_lossy(&sent).trim().to_owned()
    }
    /// What went over a connection, first what was sent, as people read it: for `--debug`, by protocols whose bytes are no
    /// text. None: the bytes are shown as they are. Small bytes may stand for huge texts: beyond [`SHOWN`] none is made.
    fn readable(&self, _established: &Established, _sent: &[u8], _received: &[u8]) -> Option<[Vec<u8>; 2]> {
        None
    }
    /// A conversation on a connection to `origin` that now stands.
    fn session(&self, origin: &Origin, established: &Established) -> Box<dyn Session>;
    /// Of an inquiry ([`Protocol::inquire`]) whose request was answered: what came back. Taken once.
    fn learnt(&self) -> Option<Vec<u8>> {
        None
    }
    /// What is spoken on a connection, for people: `HTTP/1.1`.
    fn spoken(&self, _established: &Established) -> String {
        String::new()
    }
    /// The name of a status code of this protocol, or of a word of the peer ([`crate::Event::Word`]), as counted in reports: "200", "OK".
    fn code_name(&self, code: u32) -> String {
        code.to_string()
    }
    /// What a status code means, in one sentence for people who do not know it: the detail of its example in reports. None
    /// where the name says it all.
    fn code_meaning(&self, _code: u32) -> Option<Plain> {
        None
    }
}

impl dyn Dialogue {
    /// The requests to choose from.
    #[inline]
    pub fn requests(&self) -> &dyn RequestList {
        &*self.prepared().requests
    }
    /// Where they go.
    #[inline]
    pub fn origins(&self) -> &[Origin] {
        &self.prepared().origins
    }
    /// What they are called in figures.
    #[inline]
    pub fn names(&self) -> &Names {
        &self.prepared().names
    }
    /// The bytes of a request as sent, with nothing filled in.
    pub fn sent(&self, request: &Request) -> Vec<u8> {
        self.sent_with(request, &Fill::default(), None)
    }
}

impl fmt::Debug for dyn Dialogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.origins()).finish()
    }
}

/// Whose a connection is while users go through a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Belongs {
    /// Nobody's: each request takes one that is free.
    #[default]
    ToNobody,
    /// Its user's from its first request on it to the end of the iteration, for what is said on it may depend on what was said
    /// before (a transaction); then somebody else's.
    ForIteration,
    /// Its user's, who opens it with the values it knows, and nobody else's: it is closed with the iteration.
    ToUser,
}

/// What is known of a connection once it stands.
#[derive(Clone, Debug, Default)]
pub struct Established {
    /// What its origin is bound to ([`Origin::bound`]).
    pub bound: u32,
    /// What ALPN chose.
    pub alpn: Option<Vec<u8>>,
    /// Whether TLS is spoken.
    pub tls: bool,
    /// Drawn from the run's seed, for what must differ between connections (masks, keys, nonces).
    pub seed: u64,
    /// What slots of messages that open the connection are filled with: its number is the connection's, which no other of the
    /// run has (0 outside of the load), and its user the one whom it is opened for.
    pub fill: Fill<'static>,
}

/// What was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// An answer will end the exchange.
    Asked,
    /// Nobody answers: the exchange is over once its bytes are written, and has no latency.
    OneWay,
    /// An answer will end the exchange, and a part of the request waits until the peer asks for it, but no longer than this:
    /// then the engine calls [`Session::release`].
    Withheld(Nanos),
    /// What ends the exchange came before it: [`Session::receive`] of nothing tells.
    There,
}

/// The session has no room for another exchange now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The peer does not follow the protocol; the connection must be closed. All exchanges on it fail so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub Plain);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.en())
    }
}

/// One connection's conversation. Bytes in, bytes out, finished exchanges out.
pub trait Session: Send {
    /// Preface, upgrade, AUTH: before any request.
    fn open(&mut self, _out: &mut Out) {}
    /// The same with what its user's first request on it is filled with, where the connection is its user's
    /// ([`Belongs::ToUser`]).
    fn open_with(&mut self, _fill: &Fill<'_>, out: &mut Out) {
        self.open(out);
    }
    /// Begins anew on another connection to the same origin, in the memory it has: for runs with a connection for each
    /// request. False where it cannot (ALPN may have chosen another conversation): a new one is made.
    fn restart(&mut self, _established: &Established) -> bool {
        false
    }
    /// Starts an exchange: appends its bytes.
    ///
    /// # Errors
    /// [`Full`] where [`Session::room`] is 0; nothing was appended.
    fn submit(&mut self, id: ExchangeId, request: &Request, fill: &Fill<'_>, out: &mut Out) -> Result<Sent, Full>;
    /// The same for a user who keeps something of earlier answers: in the place of [`Session::submit`] where the dialogue
    /// says that its users do ([`Prepared::remembers`]).
    ///
    /// # Errors
    /// As [`Session::submit`].
    fn submit_with(
        &mut self,
        id: ExchangeId,
        request: &Request,
        fill: &Fill<'_>,
        _memory: &Memory,
        out: &mut Out,
    ) -> Result<Sent, Full> {
        self.submit(id, request, fill, out)
    }
    /// Its time passed. True: the others live on and the connection may be used; false: the connection must close.
    fn cancel(&mut self, _id: ExchangeId, _out: &mut Out) -> bool {
        false
    }
    /// The time is over for which a part of this exchange was withheld ([`Sent::Withheld`]): appends that part. False where
    /// nothing of it is withheld any more.
    fn release(&mut self, _id: ExchangeId, _out: &mut Out) -> bool {
        false
    }
    /// Bytes arrived (of a network of datagrams: one). What they complete is appended to `done`.
    ///
    /// # Errors
    /// [`Broken`] where the peer does not follow the protocol; what was complete before is in `done`.
    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken>;
    /// Which number ([`Fill::sequence`]) the request took that was submitted last; 0: none.
    fn sequence(&self) -> u64 {
        0
    }
    /// Messages that came and were kept for whoever awaits them, and that nobody awaited so far: pushes, once the connection is
    /// gone.
    fn unheard(&self) -> u32 {
        0
    }
    /// Messages that opened the connection and were said so far; no requests.
    fn opening_messages(&self) -> u32 {
        0
    }
    /// Says what it owes the peer for what that said of its own accord ([`crate::Event::Owed`]), at this time (nanoseconds since 1970):
    /// how many messages that was.
    fn pay(&mut self, _unix_ns: u64, _out: &mut Out) -> u32 {
        0
    }
    /// The peer closed. An answer that ends with the connection ends so; everything else in flight is failed by the engine.
    fn closed(&mut self, _done: &mut Done) {}
    /// What came of an answer that is not whole, where it was kept: shown where the exchange fails so.
    fn begun(&self) -> &[u8] {
        &[]
    }
    /// Answers given to what the peer sent of its own accord (pings), of which it is not known that they have left. The
    /// session bounds them: a peer that asks and never reads breaks the conversation instead of filling our memory.
    fn replies(&self) -> u32 {
        0
    }
    /// Nearly all of them have left: counting begins anew.
    fn replies_left(&mut self) {}
    /// What the peer said of the connection's end before it came, in a sentence; None where it said nothing. The detail of
    /// what fails with the connection.
    fn goodbye(&self) -> Option<Plain> {
        None
    }
    /// The same with what only this peer said (a reason, a private code): what lost connections are told apart by.
    fn farewell(&self) -> Option<Cause> {
        self.goodbye().map(Cause::from)
    }
    /// Why the peer did nothing for exchanges ([`crate::Event::Refused`]), in a sentence.
    fn why_refused(&self) -> Plain {
        cause::response::refusing()
    }
    /// Appends a sign of life that the peer answers; false where the protocol has none, or not now. The answer is told by
    /// [`crate::Event::Heartbeat`]. At most one is on its way.
    fn heartbeat(&mut self, _out: &mut Out) -> bool {
        false
    }
    /// Close frame, GOAWAY, COM_QUIT: before we close.
    fn finish(&mut self, _out: &mut Out) {}
    /// Exchanges it would take now. 0 with nothing in flight means: this connection is over (unless it is
    /// [`Session::opening`]).
    fn room(&self) -> usize;
    /// What kind of failure it is where [`Session::receive`] found the conversation broken: a peer that refuses an upgrade
    /// or a password follows its protocol.
    fn refusal(&self) -> FaultKind {
        FaultKind::BrokenProtocol
    }
    /// The status code (as in [`crate::Ended::code`]) of such a refusal; 0 where the peer named none.
    fn refusal_code(&self) -> u32 {
        0
    }
    /// True while the session still shakes hands of its own (an upgrade, AUTH, QUIC) and takes no exchange yet.
    fn opening(&self) -> bool {
        false
    }
    /// True where TLS begins now, inside the conversation (MySQL's SSLRequest, STARTTLS): asked after each
    /// [`Session::receive`] while the session is [`Session::opening`]. What was appended to `out` leaves in clear; then a
    /// [`crate::SecureChannel`] is put between, and once its handshake is complete [`Session::secured`] is called. Bytes that
    /// come before are the channel's. Only on connections that do not speak TLS already.
    fn secures_now(&self) -> bool {
        false
    }
    /// The handshake asked for by [`Session::secures_now`] is complete: what follows is sealed.
    fn secured(&mut self, _out: &mut Out) {}
}
