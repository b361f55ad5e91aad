//! Failures of requests. A failed request is data: it is counted by kind, phase and errno, never raised as an error.

/// An operating system error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub i32);

/// Kind of a request's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FaultKind {
    /// The host's name did not resolve.
    Resolve,
    /// No process listens (ECONNREFUSED).
    Refused,
    /// No route to the host (EHOSTUNREACH, ENETUNREACH).
    Unreachable,
    /// No local port or address is left (EADDRNOTAVAIL).
    NoPorts,
    /// No descriptor is left (EMFILE, ENFILE).
    NoDescriptors,
    /// The peer reset the connection (ECONNRESET, EPIPE).
    Reset,
    /// The peer closed before the response was complete.
    Closed,
    /// The timeout elapsed.
    Timeout,
    /// The TLS handshake or a TLS record failed.
    Tls,
    /// The response violates the protocol.
    BrokenProtocol,
    /// The response's status is not a success.
    WrongStatus,
    /// The response's body is not as expected.
    WrongBody,
    /// Too many redirects.
    TooManyRedirects,
    /// Any other error of the operating system.
    Io,
    /// The response lacks an expected header.
    WrongHeader,
    /// The proxy refused or closed the connection before the target was reached.
    Proxy,
    /// The response was not checked, because a limit of brunt itself was reached.
    Unchecked,
    /// A captured value does not fit where it is used, so the request was not sent.
    BadValue,
}

impl FaultKind {
    /// Returns `true` if the server responded and the response itself, or its check, is the failure.
    pub fn is_answer(self) -> bool {
        matches!(
            self,
            FaultKind::WrongStatus
                | FaultKind::WrongBody
                | FaultKind::WrongHeader
                | FaultKind::TooManyRedirects
                | FaultKind::Unchecked
        )
    }

    /// Returns the kind of a failed check or capture with this cause: this kind, unless a limit of brunt is the cause.
    pub fn unless_own_limit(self, why: &brunt_cause::Cause) -> FaultKind {
        if why.is_own_limit() { FaultKind::Unchecked } else { self }
    }

    /// All kinds, in declaration order.
    pub const ALL: [FaultKind; 18] = [
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
        FaultKind::Unchecked,
        FaultKind::BadValue,
    ];

    /// Returns the name used in records and reports.
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
            FaultKind::Unchecked => "unchecked",
            FaultKind::BadValue => "bad_value",
        }
    }
}

/// Phase of a request in which it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Phase {
    /// Resolving the name.
    Resolve,
    /// Waiting for a free connection.
    Wait,
    /// Opening the connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// The protocol's own handshake: an upgrade, AUTH.
    Greeting,
    /// Waiting for the first byte of the response, once the request has been written.
    FirstByte,
    /// Receiving the response, from its first byte to its last.
    Transfer,
    /// Holding an idle connection that is part of the plan.
    Hold,
}

impl Phase {
    /// All phases, in declaration order.
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

    /// Returns the name used in records and reports.
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
