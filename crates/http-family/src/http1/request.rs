//! From what was asked to the bytes of a request, encoded once before the run.
//!
//! A [`Recipe`] is kept only for redirects, which are made from it. A large body is shared by all requests and never
//! copied; so is what the requests of many URLs have in common, which is most of them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use measure::Nanos;
use memchr::memmem::Finder;
use url::Url;
use wire::{Fill, Memory, Origin, Proxies};

use super::filled::FilledWith;
use super::redirect::is_redirect;
use super::session::{EXPECTS, LAST, NO_BODY, SECURE, UPGRADES};
use super::status::Statuses;
use crate::cache;
use crate::resources::{Allowed, PageRule};
use values::capture::{Capture, Part};
use values::kept::Budget;
use values::percent::{decoded, host};
use values::verify::Expectations;

/// Bodies from here on are shared instead of copied.
pub const SHARED_FROM: usize = 16 * 1024;

/// What old proxies want to hear before they keep a connection.
const TO_PROXY: &str = "Proxy-Connection: Keep-Alive\r\n";
/// The lines of curl's own in front of it.
const OF_CURL: [&str; 8] =
    ["Host", "Authorization", "Range", "Content-Range", "User-Agent", "Accept", "Accept-Encoding", "Referer"];

/// A request ready to send.
#[derive(Debug)]
pub struct Request {
    /// The head, and a small body; of one URL of many, method and target.
    pub(crate) bytes: Box<[u8]>,
    /// What follows.
    pub(crate) common: Option<Arc<Common>>,
    /// Where its recipe is in [`Rules::recipes`].
    pub(crate) listed: u32,
    /// What the session must know of it.
    pub(crate) marks: u8,
    /// What decides about its response, as [`Rules::checks`] has it.
    pub(crate) checks: u16,
    /// Its recipe where it is in no list.
    pub(crate) own: Option<Arc<Recipe>>,
    /// As HTTP/2 says it, where that was prepared.
    pub(crate) two: Option<Arc<crate::http2::Prepared>>,
    /// Where it has slots: what it is filled from, in the place of its bytes.
    pub(crate) slots: Option<Arc<super::filled::Filled>>,
}

impl Request {
    /// The head, and a small body.
    pub(crate) fn text(&self) -> Cow<'_, [u8]> {
        match &self.common {
            None => Cow::Borrowed(&self.bytes),
            Some(common) => Cow::Owned([&*self.bytes, &common.text].concat()),
        }
    }

    /// Method and target of a request whose bytes are these and no more.
    pub(crate) fn start(&self) -> Option<(&[u8], &[u8])> {
        let at = memchr::memchr(b' ', &self.bytes)?;
        let (method, target) = (&self.bytes[..at], &self.bytes[at + 1..]);
        let whole = self.common.as_ref().is_some_and(|common| common.text.starts_with(b" HTTP/"));
        (whole && memchr::memchr(b' ', target).is_none()).then_some((method, target))
    }

    /// The target of a request that has a [`Self::start`].
    #[inline]
    pub(crate) fn path(&self) -> &[u8] {
        memchr::memchr(b' ', &self.bytes).map_or(&[], |at| &self.bytes[at + 1..])
    }

    /// A large body.
    pub(crate) fn body(&self) -> Option<&Arc<[u8]>> {
        self.common.as_ref()?.body.as_ref()
    }
}

/// The end of a request, which others may share.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Common {
    /// The rest of the head, and a small body.
    pub(crate) text: Box<[u8]>,
    /// A large body.
    pub(crate) body: Option<Arc<[u8]>>,
}

/// What holds for every exchange of a run.
#[derive(Debug)]
pub struct Rules {
    /// What decides about responses.
    pub(crate) first: Checks,
    /// About those to requests that wish it otherwise.
    pub(crate) others: Vec<Checks>,
    pub(crate) kept: Budget,
    pub(crate) recipes: Vec<Recipe>,
    /// What becomes of pages.
    pub(crate) pages: Vec<PageRule>,
    /// Users keep cookies that answers set, within this.
    pub(crate) jar: Option<Budget>,
    /// How users keep answers; None: they do not.
    pub(crate) cache: Option<cache::Rule>,
    /// How long a body waits for `100 Continue`.
    pub(crate) waits: Nanos,
    /// For where redirects lead.
    pub(crate) proxies: Arc<Proxies>,
}

/// What decides about a response.
#[derive(Debug)]
pub struct Checks {
    /// Nothing but the status decides, and redirects are answers like others.
    pub(crate) plain: bool,
    /// The same of a response that sets no cookie.
    pub(crate) but_cookies: bool,
    pub(crate) success: Statuses,
    /// Which these are was said, and is a check by name.
    pub(crate) says_success: bool,
    /// How many are followed.
    pub(crate) redirects: u32,
    pub(crate) expect_body: Option<Finder<'static>>,
    pub(crate) expected: Option<Expectations>,
    /// What is taken out of it, and the index of the variable it becomes.
    pub(crate) captures: Vec<(u16, Capture)>,
    /// Its body is told, as it was before its coding.
    pub(crate) answers: bool,
    /// What comes behind its body is looked into, and kept for that.
    pub(crate) trailers: bool,
    /// A page is kept, for what it names is fetched.
    pub(crate) page: bool,
    /// It is of a page's resource: where its redirects may lead.
    pub(crate) leads: Option<Arc<Allowed>>,
}

impl Rules {
    /// What decides about the response to a request.
    #[inline]
    pub(crate) fn checks(&self, index: u16) -> &Checks {
        match index {
            0 => &self.first,
            index => self.others.get(usize::from(index) - 1).unwrap_or(&self.first),
        }
    }

    /// What is asked beside in a request whose answer its user may have, with this head, over TLS or not.
    pub(crate) fn condition(
        &self,
        memory: &Memory,
        fill: &Fill<'_>,
        (head, secure): (&[u8], bool),
        need: cache::Need,
    ) -> Option<cache::Condition> {
        let sent = cache::Sent { head, secure, at: fill.unix_ns, iteration: memory.iteration() };
        memory.lasting::<cache::Cache>()?.condition(self.cache.as_ref()?, sent, need)
    }

    /// True where users keep something: cookies, or answers.
    #[inline]
    pub(crate) fn remember(&self) -> bool {
        self.jar.is_some() || self.cache.is_some()
    }

    /// All checks of the run.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Checks> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The recipe of a request with slots as it was filled, where the answer asks for another request.
    pub(crate) fn filled(&self, recipe: Option<&Recipe>, with: Option<&FilledWith>, status: u16) -> Option<Recipe> {
        let with = with.filter(|_| is_redirect(status))?;
        Some(with.filled.recipe(recipe?, &with.fill()))
    }
}

impl Checks {
    /// What is looked at of an answer; `filled`: its body must hold a text of the request's.
    pub(crate) fn need(&self, filled: bool) -> cache::Need {
        let json = self.expected.as_ref().is_some_and(Expectations::look_at_body);
        let captures = self.captures.iter().any(|(_, capture)| capture.part() == Part::Body);
        cache::Need {
            head: self.expected.is_some() || !self.captures.is_empty(),
            body: self.page || filled || self.expect_body.is_some() || json || captures,
            trailers: self.trailers,
        }
    }
}

/// A body and its type.
#[derive(Clone, Debug)]
pub struct Content {
    /// The bytes.
    pub bytes: Arc<[u8]>,
    /// `Content-Type` where the user gives none.
    pub kind: Option<String>,
    /// Where it has slots: what stands for its length.
    pub length: Option<String>,
    /// It is cut into chunks, which say how long it is.
    pub chunked: bool,
}

impl Content {
    /// As it stands in the head.
    fn length(&self) -> String {
        self.length.clone().unwrap_or_else(|| self.bytes.len().to_string())
    }
}

/// A header line of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderWish {
    /// Send it: the name and what stands behind the colon, white space too. It replaces a default of this name.
    Set(String, String),
    /// Send no such line.
    Remove(String),
}

impl HeaderWish {
    /// The field's name.
    pub fn name(&self) -> &str {
        match self {
            HeaderWish::Set(name, _) | HeaderWish::Remove(name) => name,
        }
    }

    /// True where it is a line of this name with this word.
    pub fn says(&self, name: &str, word: &str) -> bool {
        matches!(self, HeaderWish::Set(own, value) if own.eq_ignore_ascii_case(name)
            && value.split(',').any(|v| v.trim().eq_ignore_ascii_case(word)))
    }
}

/// Everything a request is made from.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Where to; without a fragment.
    pub url: Url,
    /// The target of the request line, in the place of the URL's path and query.
    pub target: Option<String>,
    /// `GET`.
    pub method: String,
    /// The user's header lines.
    pub headers: Vec<HeaderWish>,
    /// The body.
    pub content: Option<Content>,
    /// `name:password` in base64, unless the URL has its own.
    pub user: Option<String>,
    /// Whether the connection is to be used again.
    pub keepalive: bool,
    /// HTTP/1.0 is spoken.
    pub old: bool,
    /// The body waits until the server asks for it.
    pub expects: bool,
    /// What decides about its response.
    pub checks: u16,
    /// Which of [`Rules::pages`], counted from 1, says what becomes of its page; 0: none.
    pub page: u16,
    /// How many redirects led here.
    pub hops: u32,
    /// It goes to a proxy, which sends it on.
    pub forwarded: Option<Forwarded>,
}

/// What a proxy that sends a request on is told besides.
#[derive(Clone, Debug)]
pub struct Forwarded {
    /// Who asks, in the proxy's eyes.
    pub authorization: Option<String>,
}

impl Recipe {
    /// Goes the way that these proxies make: where it is to, with what a proxy must be told.
    ///
    /// None: its URL is of no kind that is spoken here.
    pub fn goes_by(&mut self, proxies: &Proxies) -> Option<Origin> {
        let mut origin = origin(&self.url)?;
        let proxy = proxies.forwarding(&origin);
        origin.forwarded = proxy.is_some();
        self.forwarded = proxy.map(|proxy| Forwarded { authorization: proxy.authorization() });
        Some(origin)
    }

    /// Forgets what belongs to the origin of the first request only.
    pub fn leave_origin(&mut self) {
        self.user = None;
        self.headers.retain(|h| !["authorization", "cookie", "host"].iter().any(|n| h.name().eq_ignore_ascii_case(n)));
    }

    /// Turns into a GET without a body.
    pub fn become_get(&mut self) {
        self.method = "GET".into();
        self.content = None;
        let content = |h: &HeaderWish| h.name().get(..8).is_some_and(|start| start.eq_ignore_ascii_case("content-"));
        let of_body = ["transfer-encoding", "expect"];
        self.headers.retain(|h| !content(h) && !of_body.iter().any(|name| h.name().eq_ignore_ascii_case(name)));
    }

    fn wishes(&self, name: &str) -> bool {
        self.headers.iter().any(|h| h.name().eq_ignore_ascii_case(name))
    }

    fn authorization(&self) -> Option<String> {
        let own = !self.url.username().is_empty() || self.url.password().is_some();
        let pair = if own {
            let mut pair = decoded(self.url.username());
            pair.push(b':');
            pair.extend(decoded(self.url.password().unwrap_or_default()));
            base64::engine::general_purpose::STANDARD.encode(pair)
        } else {
            self.user.clone()?
        };
        Some(format!("Basic {pair}"))
    }

    /// The method and the target: what requests of many URLs do not have in common.
    fn start(&self) -> String {
        // A proxy is told the whole URL (RFC 9112 3.2.2).
        let place = match (&self.forwarded, &self.target) {
            (Some(_), None) => format!("http://{}", host_field(&self.url)),
            (Some(_), Some(target)) if target.starts_with('/') => format!("http://{}", host_field(&self.url)),
            _ => String::new(),
        };
        let mut start = match &self.target {
            Some(target) => format!("{} {place}{target}", self.method),
            None => format!("{} {place}{}", self.method, self.url.path()),
        };
        if let (None, Some(query)) = (&self.target, self.url.query()) {
            let _ = write!(start, "?{query}");
        }
        start
    }

    /// The rest of the head in the order curl has: what the target needs first, then the user's lines, then those of the
    /// body.
    fn rest(&self) -> String {
        let mut head = String::from(if self.old { " HTTP/1.0\r\n" } else { " HTTP/1.1\r\n" });
        let mut line = |name: &str, value: &str| {
            if !self.wishes(name) {
                let _ = write!(head, "{name}: {value}\r\n");
            }
        };
        line("Host", &host_field(&self.url));
        if let Some(value) = self.forwarded.as_ref().and_then(|proxy| proxy.authorization.as_deref()) {
            line("Proxy-Authorization", value);
        }
        if let Some(value) = self.authorization() {
            line("Authorization", &value);
        }
        line("User-Agent", concat!("brunt/", env!("CARGO_PKG_VERSION")));
        line("Accept", "*/*");
        if !self.keepalive && !self.old {
            line("Connection", "close");
        }
        // Where curl has it: behind what it says of itself, in front of the rest.
        let of_curl = |wish: &HeaderWish| OF_CURL.iter().any(|name| wish.name().eq_ignore_ascii_case(name));
        let mut to_proxy = self.forwarded.is_some() && !self.wishes("Proxy-Connection");
        for wish in &self.headers {
            if to_proxy && !of_curl(wish) {
                head.push_str(TO_PROXY);
                to_proxy = false;
            }
            if let HeaderWish::Set(name, value) = wish {
                let _ = write!(head, "{name}:{value}\r\n");
            }
        }
        if to_proxy {
            head.push_str(TO_PROXY);
        }
        let mut line = |name: &str, value: &str| {
            if !self.wishes(name) {
                let _ = write!(head, "{name}: {value}\r\n");
            }
        };
        let expects_body = matches!(self.method.as_str(), "POST" | "PUT" | "PATCH");
        let chunked = self.content.as_ref().is_some_and(|content| content.chunked);
        if (self.content.is_some() || expects_body) && !chunked {
            let length = self.content.as_ref().map_or_else(|| "0".to_owned(), Content::length);
            line("Content-Length", &length);
        }
        if let Some(kind) = self.content.as_ref().and_then(|c| c.kind.as_deref()) {
            line("Content-Type", kind);
        }
        if self.expects && self.has_body() {
            line("Expect", "100-continue");
        }
        head.push_str("\r\n");
        head
    }

    fn has_body(&self) -> bool {
        self.content.as_ref().is_some_and(|content| !content.bytes.is_empty())
    }

    /// True where the body waits for `100 Continue`: by the option, or by a line of the user's. Servers of HTTP/1.0 know no such thing
    /// (RFC 9110 10.1.1), and without a body there is nothing to wait.
    fn withholds(&self) -> bool {
        let said = self.headers.iter().any(|h| h.says("expect", "100-continue"));
        !self.old && self.has_body() && (said || (self.expects && !self.wishes("expect")))
    }

    fn marks(&self) -> u8 {
        let closes = |h: &HeaderWish| h.says("connection", "close");
        let upgrades = |h: &HeaderWish| matches!(h, HeaderWish::Set(name, _) if name.eq_ignore_ascii_case("upgrade"));
        let mut marks = 0;
        if !self.keepalive || self.headers.iter().any(closes) {
            marks |= LAST;
        }
        if self.method == "HEAD" {
            marks |= NO_BODY;
        }
        if self.headers.iter().any(upgrades) {
            marks |= UPGRADES;
        }
        if self.withholds() {
            marks |= EXPECTS;
        }
        if self.url.scheme() == "https" {
            marks |= SECURE;
        }
        marks
    }
}

/// Encodes a request that a redirect asks for.
pub fn encode(recipe: &Arc<Recipe>) -> Request {
    Request { own: Some(Arc::clone(recipe)), ..encode_listed(recipe, u32::MAX) }
}

/// Encodes the request whose recipe is number `listed` of the run.
pub fn encode_listed(recipe: &Recipe, listed: u32) -> Request {
    let (mut bytes, Common { text, body }) = (recipe.start().into_bytes(), common(recipe));
    bytes.extend_from_slice(&text);
    let common = body.is_some().then(|| Arc::new(Common { text: Box::default(), body }));
    encoded(recipe, listed, (bytes.into_boxed_slice(), common))
}

/// A request of these bytes.
fn encoded(recipe: &Recipe, listed: u32, (bytes, common): (Box<[u8]>, Option<Arc<Common>>)) -> Request {
    let (marks, checks) = (recipe.marks(), recipe.checks);
    Request { bytes, common, listed, marks, checks, own: None, two: None, slots: None }
}

/// All of a request but its method and target.
fn common(recipe: &Recipe) -> Common {
    let mut text = recipe.rest().into_bytes();
    let mut body = None;
    if let Some(content) = &recipe.content {
        let apart = content.bytes.len() >= SHARED_FROM || recipe.withholds();
        if apart && content.length.is_none() {
            body = Some(Arc::clone(&content.bytes));
        } else {
            text.extend_from_slice(&content.bytes);
        }
    }
    Common { text: text.into_boxed_slice(), body }
}

/// Encodes the requests of many URLs: what they have in common is kept once.
#[derive(Debug, Default)]
pub struct Encoder {
    seen: HashSet<Arc<Common>>,
}

impl Encoder {
    /// As [`encode_listed`].
    pub fn encode(&mut self, recipe: &Recipe, listed: u32) -> Request {
        let common = common(recipe);
        let common = self.seen.get(&common).cloned().unwrap_or_else(|| {
            let common = Arc::new(common);
            self.seen.insert(Arc::clone(&common));
            common
        });
        // Made to measure: a million of them may be kept.
        let bytes = Box::from(recipe.start().as_bytes());
        encoded(recipe, listed, (bytes, Some(common)))
    }
}

/// Where connections for a URL go. None: it is no `http` or `https` URL with a host.
pub fn origin(url: &Url) -> Option<Origin> {
    let tls = match url.scheme() {
        "http" => false,
        "https" => true,
        _ => return None,
    };
    Some(Origin::tcp(host(url)?, url.port_or_known_default()?, tls))
}

/// The value of `Host`: with the port where it is not the scheme's own, with brackets where the host is IPv6.
fn host_field(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
