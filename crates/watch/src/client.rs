//! A client that waits: one connection, one request at a time, said by a session of `protocols`, within bounds of time and bytes.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::sync::Arc;

use measure::sanitize;
use wire::{
    ResponseContent, ProtocolConfig, RequestedUrl, ProtocolError, Workload, EventBuffer, EstablishedConnection, Event, ExchangeId, FaultKind, SlotContext, SessionFull, OutputBuffer,
    Protocol, Request, DatabaseRow, Session,
};

use crate::pipe::Pipe;
use crate::place::Place;

/// How a protocol is called, and what its servers say when they refuse.
#[derive(Clone, Copy)]
pub struct Tongue {
    /// `MySQL`.
    pub name: &'static str,
    /// In a sentence, out of [`Session::begun`] or [`wire::Ended::excerpt`], and the status code.
    pub refusal: fn(&[u8], u32) -> Option<String>,
}

/// The words of a server and the code it has for them, out of what sessions keep of a refusal.
pub fn responded((code, words): (&[u8], &[u8])) -> String {
    let words: String = String::from_utf8_lossy(words).chars().take(200).collect();
    let code = String::from_utf8_lossy(code);
    let code = if code.is_empty() { String::new() } else { format!(" (error {})", sanitize::line(&code)) };
    format!("it responded: {}{code}", sanitize::line(&words))
}

/// What is asked, of whom, and the connection to it while it is good.
pub struct Client {
    tongue: Tongue,
    dialogue: Arc<dyn Workload>,
    /// What it is called: `host:port`, and what else tells it from others there.
    pub name: String,
    /// Where it is.
    pub place: Place,
    link: Option<Link>,
}

impl Client {
    /// Prepares what is asked, to be told with its answers: of the place between the two parts of a URL, by these options.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn new(
        tongue: Tongue,
        protocol: &dyn Protocol,
        place: Place,
        (before, behind): (&str, &str),
        options: Vec<(&str, Vec<String>)>,
    ) -> Result<Client, String> {
        let urls = vec![RequestedUrl { url: format!("{before}{}{behind}", place.in_url()), weight: 1.0 }];
        let options = options.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
        let asked = ProtocolConfig { urls, options, returns_content: true, ..ProtocolConfig::default() };
        // What the protocol says holds the password.
        let no_place = |_| format!("`{}` is no host name and no address", place.authority());
        let dialogue = protocol.prepare(&asked).map_err(no_place)?;
        Ok(Client { tongue, dialogue, name: place.authority(), place, link: None })
    }

    /// The answer to one of the requests, by its index; or why the server gives none, after which it may be asked on. A connection
    /// that broke is made anew the next time.
    ///
    /// # Errors
    /// There is no connection, no login or no sense in what comes.
    fn ask(&mut self, request: usize) -> io::Result<Result<ResponseContent, String>> {
        let mut link = match self.link.take() {
            Some(link) => link,
            None => self.open()?,
        };
        let answer = link.ask(&self.dialogue.requests()[request].request)?;
        self.link = Some(link).filter(|link| link.session.room() > 0);
        Ok(answer)
    }

    /// The same of a request whose answer is a text.
    ///
    /// # Errors
    /// There is none.
    pub fn text(&mut self, request: usize) -> io::Result<String> {
        match self.ask(request)?.map_err(|why| invalid(&why))? {
            ResponseContent::Body(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
            ResponseContent::Rows(_) => Err(invalid("it responded with rows")),
        }
    }

    /// The same of a statement.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn rows(&mut self, request: usize) -> io::Result<Result<Vec<DatabaseRow>, String>> {
        Ok(match self.ask(request)? {
            Ok(ResponseContent::Rows(rows)) => Ok(rows),
            Ok(ResponseContent::Body(_)) => Err("it responded without rows".to_owned()),
            Err(why) => Err(why),
        })
    }

    /// Connects to the first address that lets us, and logs in.
    fn open(&mut self) -> io::Result<Link> {
        let origin = &self.dialogue.origins()[0];
        let mut pipe = Pipe::over(self.place.connect()?);
        let mut established = EstablishedConnection { bound: origin.bound, seed: random(), ..EstablishedConnection::default() };
        if origin.tls {
            established.alpn = pipe.secure(self.place.security()?, origin, self.dialogue.alpn(origin))?.alpn;
            established.tls = true;
        }
        let session = self.dialogue.session(origin, &established);
        let mut link = Link { tongue: self.tongue, pipe, session, out: OutputBuffer::default(), done: EventBuffer::default() };
        link.session.open(&mut link.out);
        while link.session.is_opening() {
            link.hear()?;
            if link.session.starts_tls() {
                link.pipe.send(&mut link.out)?;
                link.pipe.secure(self.place.security()?, origin, &[])?;
                link.session.tls_established(&mut link.out);
            }
        }
        Ok(link)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(link) = &mut self.link {
            link.session.finish(&mut link.out);
            // It may be gone already.
            let _ = link.pipe.send(&mut link.out);
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("dialogue", &self.dialogue).field("stands", &self.link.is_some()).finish()
    }
}

/// A connection on which the session takes requests, or will.
struct Link {
    tongue: Tongue,
    pipe: Pipe,
    session: Box<dyn Session>,
    out: OutputBuffer,
    done: EventBuffer,
}

impl Link {
    fn ask(&mut self, request: &Request) -> io::Result<Result<ResponseContent, String>> {
        let fill = SlotContext { random: random(), ..SlotContext::default() };
        // One that takes no request was closed since.
        let sent = self.session.submit(ExchangeId(0), request, &fill, &mut self.out);
        sent.map_err(|SessionFull| ErrorKind::UnexpectedEof)?;
        let (mut answer, mut begun): (Option<Box<ResponseContent>>, _) = (None, false);
        loop {
            let heard = self.hear();
            for event in self.done.events.drain(..) {
                match event {
                    Event::FirstByte(_) => begun = true,
                    Event::StateUpdate(_, lesson) => answer = lesson.downcast().ok(),
                    Event::Ended(ended) => {
                        let kept = ended.excerpt.as_deref().unwrap_or_default();
                        let words = || (self.tongue.refusal)(kept, ended.code);
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

    /// Says what there is to say, and hears what comes next.
    fn hear(&mut self) -> io::Result<()> {
        self.pipe.send(&mut self.out)?;
        if !self.pipe.read()? {
            self.session.peer_closed(&mut self.done);
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let heard = self.session.receive(&self.pipe.take(), &mut self.out, &mut self.done);
        heard.map_err(|broken| self.broken(&broken))
    }

    /// Why the conversation is over: in the server's words, or the session's about it.
    fn broken(&self, broken: &ProtocolError) -> io::Error {
        let refused = self.session.refusal_kind() == FaultKind::WrongStatus;
        let words = || (self.tongue.refusal)(self.session.partial_response(), self.session.refusal_code());
        invalid(&refused.then(words).flatten().unwrap_or_else(|| match broken.0.en().strip_prefix("the server ") {
            Some(does) => format!("it {does}"),
            None => format!("it does not speak the {} protocol: {}", self.tongue.name, broken.0.en()),
        }))
    }
}

/// Something that no server of this kind says.
pub fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_owned())
}

/// Random bits: nonces must differ between connections.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}
