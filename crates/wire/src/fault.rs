//! How a request can fail. A failed request is data: it is counted by kind, phase and errno, never thrown.

/// An operating system error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub i32);

/// What went wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FaultKind {
    /// The host's name did not resolve.
    Resolve,
    /// Nobody listens (ECONNREFUSED).
    Refused,
    /// No way there (EHOSTUNREACH, ENETUNREACH).
    Unreachable,
    /// No local port or address left (EADDRNOTAVAIL).
    NoPorts,
    /// No descriptor left (EMFILE, ENFILE).
    NoDescriptors,
    /// The peer reset the connection (ECONNRESET, EPIPE).
    Reset,
    /// The peer closed before the answer was complete.
    Closed,
    /// The time allowed passed.
    Timeout,
    /// The TLS handshake or a TLS record failed.
    Tls,
    /// The answer does not follow the protocol.
    BrokenProtocol,
    /// The answer's status is not a success.
    WrongStatus,
    /// The answer's body is not what was expected.
    WrongBody,
    /// More redirects than allowed.
    TooManyRedirects,
    /// Any other error of the operating system.
    Io,
    /// The answer lacks a header line that was expected.
    WrongHeader,
    /// The proxy on the way refused, or broke off, before the target was reached.
    Proxy,
}

impl FaultKind {
    /// True where the server answered, and what it answered is the failure.
    pub fn is_answer(self) -> bool {
        matches!(
            self,
            FaultKind::WrongStatus | FaultKind::WrongBody | FaultKind::WrongHeader | FaultKind::TooManyRedirects
        )
    }

    /// Every kind, in the order of the enum.
    pub const ALL: [FaultKind; 16] = [
        FaultKind::Resolve,
        FaultKind::Refused,
        FaultKind::Unreachable,
        FaultKind::NoPorts,
        FaultKind::NoDescriptors,
        FaultKind::Reset,
        FaultKind::Closed,
        FaultKind::Timeout,
        FaultKind::Tls,
        FaultKind::BrokenProtocol,
        FaultKind::WrongStatus,
        FaultKind::WrongBody,
        FaultKind::TooManyRedirects,
        FaultKind::Io,
        FaultKind::WrongHeader,
        FaultKind::Proxy,
    ];

    /// The word used in records and reports.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Resolve => "resolve",
            FaultKind::Refused => "refused",
            FaultKind::Unreachable => "unreachable",
            FaultKind::NoPorts => "no_ports",
            FaultKind::NoDescriptors => "no_descriptors",
            FaultKind::Reset => "reset",
            FaultKind::Closed => "closed",
            FaultKind::Timeout => "timeout",
            FaultKind::Tls => "tls",
            FaultKind::BrokenProtocol => "broken_protocol",
            FaultKind::WrongStatus => "wrong_status",
            FaultKind::WrongBody => "wrong_body",
            FaultKind::TooManyRedirects => "too_many_redirects",
            FaultKind::Io => "io",
            FaultKind::WrongHeader => "wrong_header",
            FaultKind::Proxy => "proxy",
        }
    }
}

/// Where in a request's life it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Phase {
    /// Looking up the name.
    Resolve,
    /// Waiting for a connection to become free.
    Wait,
    /// Opening the connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// The protocol's own handshake: an upgrade, AUTH.
    Greeting,
    /// From the write of the request to the first byte of the answer.
    FirstByte,
    /// From the first byte of the answer to its last.
    Transfer,
    /// A connection that is part of the plan, while nothing is asked on it.
    Hold,
}

impl Phase {
    /// Every phase, in the order of the enum.
    pub const ALL: [Phase; 8] = [
        Phase::Resolve,
        Phase::Wait,
        Phase::Connect,
        Phase::Tls,
        Phase::Greeting,
        Phase::FirstByte,
        Phase::Transfer,
        Phase::Hold,
    ];

    /// The word used in records and reports.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Resolve => "resolve",
            Phase::Wait => "wait",
            Phase::Connect => "connect",
            Phase::Tls => "tls",
            Phase::Greeting => "greeting",
            Phase::FirstByte => "first_byte",
            Phase::Transfer => "transfer",
            Phase::Hold => "hold",
        }
    }
}
