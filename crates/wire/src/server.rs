//! The other half of a protocol, used by the built-in target and the simulation.

use crate::{Broken, Out};

/// How much of a request an [`Ask`] tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    #[default]
    Whole,
    /// The head. The body follows in pieces as it arrives, each an [`Ask`] of the same id that says nothing but that.
    Begun,
    /// A piece of the body.
    More,
    /// The last piece, perhaps an empty one.
    Last,
    /// Nothing more: the client gave the request up.
    Lost,
}

/// One request as a server sees it; borrowed, so that hearing one allocates nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ask<'a> {
    /// Names it in [`ServerSession::answer`].
    pub id: u32,
    /// `GET`.
    pub method: &'a str,
    /// Path and query: `/status/503?x=1`.
    pub path: &'a str,
    /// The head as received (without the body).
    pub head: &'a [u8],
    /// Bytes of the body.
    pub body_bytes: u64,
    /// The beginning of the body (64 KiB are plenty), for servers that echo; empty where the session keeps none.
    pub body: &'a [u8],
    /// How much of it this tells: all of it, but for sessions that were asked to tell some requests in pieces.
    pub extent: Extent,
}

/// How the end of an answer is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// By its announced length.
    Length,
    /// In chunks of this size.
    Chunked(usize),
    /// By closing the connection.
    UntilClose,
}

/// What to answer.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// Status code.
    pub status: u16,
    /// Further header lines, each ended by CR LF.
    pub headers: &'a [u8],
    /// The body.
    pub body: &'a [u8],
    /// How its end is marked.
    pub shape: Shape,
    /// Close after it.
    pub close: bool,
}

/// One connection's conversation, server side.
pub trait ServerSession: Send {
    /// The connection stands: appends what the server says first (a greeting), where it does.
    fn open(&mut self, _out: &mut Out) {}
    /// Bytes arrived; calls `hear` once for each request they complete.
    ///
    /// # Errors
    /// [`Broken`] where the client does not follow the protocol.
    fn receive(&mut self, bytes: &[u8], hear: &mut dyn FnMut(Ask<'_>)) -> Result<(), Broken>;
    /// Answers a request heard; answers of one connection may be given in any order and leave in the right one.
    fn answer(&mut self, id: u32, reply: &Reply<'_>, out: &mut Out);
    /// Appends what the session owes without an answer (100 Continue, an acknowledgement): called after each `receive`.
    fn owed(&mut self, _out: &mut Out) {}
    /// True where the connection must be closed once everything was sent.
    fn over(&self) -> bool;
}
