//! The server side of a protocol, used by the built-in test server and the simulation.

use crate::{OutputBuffer, ProtocolError};

/// The part of a request that a [`ServerRequest`] covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestPart {
    /// The whole request.
    #[default]
    Whole,
    /// The head. The body follows in pieces as it arrives, each a [`ServerRequest`] with the same id and no fields set
    /// except those about the body.
    Head,
    /// A piece of the body.
    BodyChunk,
    /// The last piece of the body, possibly empty.
    LastChunk,
    /// The client abandoned the request; nothing more follows.
    Aborted,
}

/// A request as a server sees it; borrowed, so that receiving one does not allocate.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerRequest<'a> {
    /// Identifier to pass to [`ServerSession::respond`].
    pub id: u32,
    /// Method, such as `GET`.
    pub method: &'a str,
    /// Path and query: `/status/503?x=1`.
    pub path: &'a str,
    /// Head as received, without the body.
    pub head: &'a [u8],
    /// Bytes of the body.
    pub body_bytes: u64,
    /// Beginning of the body (64 KiB is plenty), for servers that echo; empty if the session does not buffer it.
    pub body: &'a [u8],
    /// Part of the request that is covered: all of it, except in sessions that deliver some requests in pieces.
    pub part: RequestPart,
}

/// Delimitation of a response's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFraming {
    /// A length announced in advance.
    Length,
    /// Chunks of this size.
    Chunked(usize),
    /// The close of the connection.
    UntilClose,
}

/// A response to send.
#[derive(Clone, Copy, Debug)]
pub struct ServerResponse<'a> {
    /// Status code.
    pub status: u16,
    /// Further header lines, each terminated by CR LF.
    pub headers: &'a [u8],
    /// The body.
    pub body: &'a [u8],
    /// Delimitation of the body.
    pub framing: BodyFraming,
    /// Set if the connection closes after the response.
    pub close: bool,
}

/// The server side of one connection.
pub trait ServerSession: Send {
    /// Appends what the server sends first (a greeting), if anything, once the connection is established.
    fn open(&mut self, _out: &mut OutputBuffer) {}
    /// Processes received bytes; calls `hear` for each request they complete.
    ///
    /// # Errors
    /// Returns [`ProtocolError`] if the client violates the protocol.
    fn receive(&mut self, bytes: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError>;
    /// Responds to a received request. Responses may be given in any order; the session sends them in the order that
    /// the protocol requires.
    fn respond(&mut self, id: u32, reply: &ServerResponse<'_>, out: &mut OutputBuffer);
    /// Appends replies that are due without a response (100 Continue, an acknowledgement): called after each
    /// `receive`.
    fn write_due(&mut self, _out: &mut OutputBuffer) {}
    /// Returns `true` if the connection must be closed once everything has been sent.
    fn is_finished(&self) -> bool;
}
