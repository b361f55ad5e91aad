//! A blocking client: one connection, one request at a time, encoded by a session of the `protocols` crate, with limits
//! on time and bytes.

use brunt_cause::{Complaint, complaint};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::sync::Arc;

use brunt_contract::{
    DatabaseRow, EstablishedConnection, Event, EventBuffer, ExchangeId, FaultKind, OutputBuffer, Protocol,
    ProtocolConfig, ProtocolError, Request, RequestedUrl, ResponseContent, Session, SessionFull, SlotContext, Workload,
};
use brunt_measure::sanitize;

use crate::pipe::TimedSocket;
use crate::service_address::ServiceAddress;

/// The name of a protocol, and the decoder of its servers' error messages.
#[derive(Clone, Copy)]
pub struct ServerProtocol {
    /// Display name, such as `MySQL`.
    pub name: &'static str,
    /// Formats a refusal from [`Session::partial_response`] or
    /// [`brunt_contract::ExchangeEnd::excerpt`], and the status code.
    pub refusal: fn(&[u8], u32) -> Option<String>,
}

/// Formats the error code and message of a refusal, as kept by sessions.
pub fn server_error((code, words): (&[u8], &[u8])) -> String {
    let words: String = String::from_utf8_lossy(words).chars().take(200).collect();
    let code = String::from_utf8_lossy(code);
    let code = if code.is_empty() { String::new() } else { format!(" (error {})", sanitize::line(&code)) };
    format!("it responded: {}{code}", sanitize::line(&words))
}

/// A client: the prepared requests, the server, and the connection while there is one.
pub struct WatchClient {
    protocol: ServerProtocol,
    workload: Arc<dyn Workload>,
    /// Display name: `host:port`, and anything else that distinguishes it from other services there.
    pub name: String,
    /// Address of the server.
    pub place: ServiceAddress,
    link: Option<WatchLink>,
}

impl WatchClient {
    /// Prepares requests whose answers are returned. The URL consists of `before`, the address and `behind`.
    ///
    /// # Errors
    ///
    /// Returns an error if the requests cannot be prepared.
    pub fn new(
        tongue: ServerProtocol,
        protocol: &dyn Protocol,
        place: ServiceAddress,
        (before, behind): (&str, &str),
        options: Vec<(&str, Vec<String>)>,
    ) -> Result<WatchClient, Complaint> {
        let urls = vec![RequestedUrl { url: format!("{before}{}{behind}", place.in_url()), weight: 1.0 }];
        let options = options.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
        let asked = ProtocolConfig { urls, options, returns_content: true, ..ProtocolConfig::default() };
        // The protocol's own error contains the password.
        let no_place = |_| {
            complaint!("`{}` is neither a host name nor an address", "`{}` 既不是主机名也不是地址", place.authority())
        };
        let dialogue = protocol.prepare(&asked).map_err(no_place)?;
        Ok(WatchClient { protocol: tongue, workload: dialogue, name: place.authority(), place, link: None })
    }

    /// Returns the answer to one of the requests, by its index, or the server's reason for refusing it, after
    /// which the connection remains usable. A broken connection is reopened at the next call.
    ///
    /// # Errors
    ///
    /// Returns an error if connecting or logging in fails, or the answer is malformed.
    fn ask(&mut self, request: usize) -> io::Result<Result<ResponseContent, String>> {
        let mut link = match self.link.take() {
            Some(link) => link,
            None => self.open()?,
        };
        let answer = link.ask(&self.workload.requests()[request].request)?;
        self.link = Some(link).filter(|link| link.session.room() > 0);
        Ok(answer)
    }

    /// Like [`WatchClient::ask`], for a request that is answered with text.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no answer.
    pub fn text(&mut self, request: usize) -> io::Result<String> {
        match self.ask(request)?.map_err(|why| invalid(&why))? {
            ResponseContent::Body(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
            ResponseContent::Rows(_) => Err(invalid("it responded with rows")),
        }
    }

    /// Like [`WatchClient::ask`], for a statement that returns rows.
    ///
    /// # Errors
    ///
    /// See [`WatchClient::ask`].
    pub fn rows(&mut self, request: usize) -> io::Result<Result<Vec<DatabaseRow>, String>> {
        Ok(match self.ask(request)? {
            Ok(ResponseContent::Rows(rows)) => Ok(rows),
            Ok(ResponseContent::Body(_)) => Err("it responded without rows".to_owned()),
            Err(why) => Err(why),
        })
    }

    /// Connects to the first address that accepts the connection, and logs in.
    fn open(&mut self) -> io::Result<WatchLink> {
        let origin = &self.workload.origins()[0];
        let mut pipe = TimedSocket::over(self.place.connect()?);
        let mut established =
            EstablishedConnection { bound: origin.bound, seed: random(), ..EstablishedConnection::default() };
        if origin.tls {
            established.alpn = pipe.secure(self.place.security()?, origin, self.workload.alpn(origin))?.alpn;
            established.tls = true;
        }
        let session = self.workload.session(origin, &established);
        let mut link = WatchLink {
            protocol: self.protocol,
            pipe,
            session,
            out: OutputBuffer::default(),
            answer: EventBuffer::default(),
        };
        link.session.open(&mut link.out);
        while link.session.is_opening() {
            link.exchange()?;
            if link.session.starts_tls() {
                link.pipe.send(&mut link.out)?;
                link.pipe.secure(self.place.security()?, origin, &[])?;
                link.session.tls_established(&mut link.out);
            }
        }
        Ok(link)
    }
}

impl Drop for WatchClient {
    fn drop(&mut self) {
        if let Some(link) = &mut self.link {
            link.session.finish(&mut link.out);
            // The connection may already be closed.
            let _ = link.pipe.send(&mut link.out);
        }
    }
}

impl fmt::Debug for WatchClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("dialogue", &self.workload).field("stands", &self.link.is_some()).finish()
    }
}

/// A connection whose session takes requests, or will after the login.
struct WatchLink {
    protocol: ServerProtocol,
    pipe: TimedSocket,
    session: Box<dyn Session>,
    out: OutputBuffer,
    answer: EventBuffer,
}

impl WatchLink {
    fn ask(&mut self, request: &Request) -> io::Result<Result<ResponseContent, String>> {
        let fill = SlotContext { random: random(), ..SlotContext::default() };
        // A session that accepts no request has been closed in the meantime.
        let sent = self.session.submit(ExchangeId(0), request, &fill, &mut self.out);
        sent.map_err(|SessionFull| ErrorKind::UnexpectedEof)?;
        let (mut answer, mut begun): (Option<Box<ResponseContent>>, _) = (None, false);
        loop {
            let heard = self.exchange();
            for event in self.answer.events.drain(..) {
                match event {
                    Event::FirstByte(_) => begun = true,
                    Event::StateUpdate(_, lesson) => answer = lesson.downcast().ok(),
                    Event::Ended(ended) => {
                        let kept = ended.excerpt.as_deref().unwrap_or_default();
                        let words = || (self.protocol.refusal)(kept, ended.code);
                        let why = || ended.cause.as_ref().map(|why| why.to_string()).unwrap_or_default();
                        return match ended.fault {
                            None => Ok(Ok(*answer.expect("sessions tell each answer that was asked for"))),
                            Some(FaultKind::WrongStatus) => Ok(Err(words().unwrap_or_else(why))),
                            Some(_) => heard.and(Err(invalid(&why()))),
                        };
                    }
                    _ => {}
                }
            }
            heard.map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof if begun => invalid("its response was cut short"),
                _ => error,
            })?;
        }
    }

    /// Sends pending output, and processes the next input.
    fn exchange(&mut self) -> io::Result<()> {
        self.pipe.send(&mut self.out)?;
        if !self.pipe.read()? {
            self.session.peer_closed(&mut self.answer);
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let heard = self.session.receive(&self.pipe.take(), &mut self.out, &mut self.answer);
        heard.map_err(|broken| self.broken(&broken))
    }

    /// Returns the reason for the end of the session, as reported by the server or else by the session.
    fn broken(&self, broken: &ProtocolError) -> io::Error {
        let refused = self.session.refusal_kind() == FaultKind::WrongStatus;
        let words = || (self.protocol.refusal)(self.session.partial_response(), self.session.refusal_code());
        invalid(&refused.then(words).flatten().unwrap_or_else(|| match broken.0.en().strip_prefix("the server ") {
            Some(does) => format!("it {does}"),
            None => format!("it does not speak the {} protocol: {}", self.protocol.name, broken.0.en()),
        }))
    }
}

/// Creates an error for input that no server of this kind sends.
pub fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_owned())
}

/// Returns random bits: nonces must differ between connections.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}
