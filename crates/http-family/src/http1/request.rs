//! Encoding of requests, done once before the run.
//!
//! A [`Recipe`] is kept only for redirects and the cache. A large body is shared by all requests and never copied; so
//! is what the requests of many URLs have in common, which is most of each.

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

/// Minimum size of a body that is shared instead of copied, in bytes.
pub const SHARED_FROM: usize = 16 * 1024;

/// Line that old proxies need to keep a connection alive.
const TO_PROXY: &str = "Proxy-Connection: Keep-Alive\r\n";
/// Lines that curl sends before `Proxy-Connection`.
const OF_CURL: [&str; 8] =
    ["Host", "Authorization", "Range", "Content-Range", "User-Agent", "Accept", "Accept-Encoding", "Referer"];

/// An encoded request.
#[derive(Debug)]
pub struct Request {
    /// Head and a small body; for one URL of many, only method and target.
    pub(crate) bytes: Box<[u8]>,
    /// The bytes that follow, possibly shared.
    pub(crate) common: Option<Arc<Common>>,
    /// Index of its recipe in [`Rules::recipes`].
    pub(crate) listed: u32,
    /// Session flags: `LAST` and so on.
    pub(crate) marks: u8,
    /// Index of its checks, for [`Rules::checks`].
    pub(crate) checks: u16,
    /// The recipe, if it is not in the list.
    pub(crate) own: Option<Arc<Recipe>>,
    /// HTTP/2 form of the request, if prepared.
    pub(crate) two: Option<Arc<crate::http2::Prepared>>,
    /// The template, if the request has slots; `bytes` is then empty.
    pub(crate) slots: Option<Arc<super::filled::Filled>>,
}

impl Request {
    /// Returns the head and a small body.
    pub(crate) fn text(&self) -> Cow<'_, [u8]> {
        match &self.common {
            None => Cow::Borrowed(&self.bytes),
            Some(common) => Cow::Owned([&*self.bytes, &common.text].concat()),
        }
    }

    /// Returns method and target, if `bytes` consists of exactly these.
    pub(crate) fn start(&self) -> Option<(&[u8], &[u8])> {
        let at = memchr::memchr(b' ', &self.bytes)?;
        let (method, target) = (&self.bytes[..at], &self.bytes[at + 1..]);
        let whole = self.common.as_ref().is_some_and(|common| common.text.starts_with(b" HTTP/"));
        (whole && memchr::memchr(b' ', target).is_none()).then_some((method, target))
    }

    /// Returns the target of a request that has a [`Self::start`].
    #[inline]
    pub(crate) fn path(&self) -> &[u8] {
        memchr::memchr(b' ', &self.bytes).map_or(&[], |at| &self.bytes[at + 1..])
    }

    /// Returns a large body.
    pub(crate) fn body(&self) -> Option<&Arc<[u8]>> {
        self.common.as_ref()?.body.as_ref()
    }
}

/// The end of a request, possibly shared.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Common {
    /// Rest of the head, and a small body.
    pub(crate) text: Box<[u8]>,
    /// A large body.
    pub(crate) body: Option<Arc<[u8]>>,
}

/// Rules for all exchanges of a run.
#[derive(Debug)]
pub struct Rules {
    /// Default checks on responses.
    pub(crate) first: Checks,
    /// Checks of requests with their own options.
    pub(crate) others: Vec<Checks>,
    pub(crate) kept: Budget,
    pub(crate) recipes: Vec<Recipe>,
    /// Rules for pages.
    pub(crate) pages: Vec<PageRule>,
    /// Memory budget of the cookie jars; `None` if users keep no cookies.
    pub(crate) jar: Option<Budget>,
    /// Cache settings; `None` without a cache.
    pub(crate) cache: Option<cache::Rule>,
    /// Time that a body waits for `100 Continue`.
    pub(crate) waits: Nanos,
    /// Proxies, for redirects.
    pub(crate) proxies: Arc<Proxies>,
}

/// Checks on a response.
#[derive(Debug)]
pub struct Checks {
    /// Set if only the status matters and redirects are ordinary responses.
    pub(crate) plain: bool,
    /// Set if the same holds for a response that sets no cookie.
    pub(crate) but_cookies: bool,
    pub(crate) success: Statuses,
    /// Set if the success statuses were given as a named check.
    pub(crate) says_success: bool,
    /// Maximum number of redirects to follow.
    pub(crate) redirects: u32,
    pub(crate) expect_body: Option<Finder<'static>>,
    pub(crate) expected: Option<Expectations>,
    /// Captures, each with the index of its variable.
    pub(crate) captures: Vec<(u16, Capture)>,
    /// Set if the decoded body is returned to the caller.
    pub(crate) answers: bool,
    /// Set if trailers are looked at, and thus kept.
    pub(crate) trailers: bool,
    /// Set if resources of pages are fetched, so that pages are kept.
    pub(crate) page: bool,
    /// Hosts to which redirects may lead, for a resource of a page.
    pub(crate) leads: Option<Arc<Allowed>>,
}

impl Rules {
    /// Returns the checks for a request.
    #[inline]
    pub(crate) fn checks(&self, index: u16) -> &Checks {
        match index {
            0 => &self.first,
            index => self.others.get(usize::from(index) - 1).unwrap_or(&self.first),
        }
    }

    /// Returns the condition to add to a request with this head, if the user's cache has a response to validate;
    /// `secure` means over TLS.
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

    /// Returns `true` if users keep cookies or responses.
    #[inline]
    pub(crate) fn remember(&self) -> bool {
        self.jar.is_some() || self.cache.is_some()
    }

    /// Returns all checks of the run.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Checks> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Returns the recipe of a request with its slots filled, if the response is a redirect.
    pub(crate) fn filled(&self, recipe: Option<&Recipe>, with: Option<&FilledWith>, status: u16) -> Option<Recipe> {
        let with = with.filter(|_| is_redirect(status))?;
        Some(with.filled.recipe(recipe?, &with.fill()))
    }
}

impl Checks {
    /// Returns the parts of a response that are looked at; `filled` is set if the body must contain a text from the
    /// request.
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
    /// `Content-Type`, unless the user sets one.
    pub kind: Option<String>,
    /// Placeholder for its length, if it has slots.
    pub length: Option<String>,
    /// Set if it is encoded in chunks, which carry its length.
    pub chunked: bool,
}

impl Content {
    /// Returns the value of `Content-Length`.
    fn length(&self) -> String {
        self.length.clone().unwrap_or_else(|| self.bytes.len().to_string())
    }
}

/// A header line set by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderWish {
    /// Sends the line: name, and everything after the colon including white space. Replaces a default line of this
    /// name.
    Set(String, String),
    /// Drops the default line of this name.
    Remove(String),
}

impl HeaderWish {
    /// Returns the name of the field.
    pub fn name(&self) -> &str {
        match self {
            HeaderWish::Set(name, _) | HeaderWish::Remove(name) => name,
        }
    }

    /// Returns `true` if this is a line with this name whose list contains `word`.
    pub fn says(&self, name: &str, word: &str) -> bool {
        matches!(self, HeaderWish::Set(own, value) if own.eq_ignore_ascii_case(name)
            && value.split(',').any(|v| v.trim().eq_ignore_ascii_case(word)))
    }
}

/// Source data of a request.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// URL without fragment.
    pub url: Url,
    /// Target of the request line, overriding the URL's path and query.
    pub target: Option<String>,
    /// Method, such as `GET`.
    pub method: String,
    /// Header lines set by the user.
    pub headers: Vec<HeaderWish>,
    /// The body.
    pub content: Option<Content>,
    /// `name:password` in base64, used unless the URL has credentials.
    pub user: Option<String>,
    /// Set if the connection may be reused.
    pub keepalive: bool,
    /// Set for HTTP/1.0.
    pub old: bool,
    /// Set if the body waits for `100 Continue`.
    pub expects: bool,
    /// Index of the checks on its response.
    pub checks: u16,
    /// Index into [`Rules::pages`], counted from 1; 0 for none.
    pub page: u16,
    /// Number of redirects that led here.
    pub hops: u32,
    /// Set if it goes to a proxy that forwards it.
    pub forwarded: Option<Forwarded>,
}

/// Additional data for a proxy that forwards a request.
#[derive(Clone, Debug)]
pub struct Forwarded {
    /// Value of `Proxy-Authorization`.
    pub authorization: Option<String>,
}

impl Recipe {
    /// Routes the request through the matching proxy, if any, and returns its origin.
    ///
    /// Returns `None` if the URL is not an HTTP URL.
    pub fn goes_by(&mut self, proxies: &Proxies) -> Option<Origin> {
        let mut origin = origin(&self.url)?;
        let proxy = proxies.forwarding(&origin);
        origin.forwarded = proxy.is_some();
        self.forwarded = proxy.map(|proxy| Forwarded { authorization: proxy.authorization() });
        Some(origin)
    }

    /// Drops what may only be sent to the original origin.
    pub fn leave_origin(&mut self) {
        self.user = None;
        self.headers.retain(|h| !["authorization", "cookie", "host"].iter().any(|n| h.name().eq_ignore_ascii_case(n)));
    }

    /// Turns the request into a GET without a body.
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

    /// Returns method and target: the part that requests of many URLs do not share.
    fn start(&self) -> String {
        // A forwarding proxy needs the whole URL (RFC 9112 3.2.2).
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

    /// Returns the rest of the head in curl's order: standard lines first, then the user's, then those of the body.
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
        // Same position as curl's: after its standard lines, before the others.
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

    /// Returns `true` if the body waits for `100 Continue`, because of the option or of a header line. HTTP/1.0 servers
    /// do not know it (RFC 9110 10.1.1), and without a body there is nothing to wait for.
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

/// Encodes the request of a redirect, with its own recipe.
pub fn encode(recipe: &Arc<Recipe>) -> Request {
    Request { own: Some(Arc::clone(recipe)), ..encode_listed(recipe, u32::MAX) }
}

/// Encodes the request whose recipe has index `listed`.
pub fn encode_listed(recipe: &Recipe, listed: u32) -> Request {
    let (mut bytes, Common { text, body }) = (recipe.start().into_bytes(), common(recipe));
    bytes.extend_from_slice(&text);
    let common = body.is_some().then(|| Arc::new(Common { text: Box::default(), body }));
    encoded(recipe, listed, (bytes.into_boxed_slice(), common))
}

/// Creates a request from its bytes.
fn encoded(recipe: &Recipe, listed: u32, (bytes, common): (Box<[u8]>, Option<Arc<Common>>)) -> Request {
    let (marks, checks) = (recipe.marks(), recipe.checks);
    Request { bytes, common, listed, marks, checks, own: None, two: None, slots: None }
}

/// Encodes a request except for its method and target.
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

/// Encoder for the requests of many URLs, which shares what they have in common.
#[derive(Debug, Default)]
pub struct Encoder {
    seen: HashSet<Arc<Common>>,
}

impl Encoder {
    /// Like [`encode_listed`].
    pub fn encode(&mut self, recipe: &Recipe, listed: u32) -> Request {
        let common = common(recipe);
        let common = self.seen.get(&common).cloned().unwrap_or_else(|| {
            let common = Arc::new(common);
            self.seen.insert(Arc::clone(&common));
            common
        });
        // Allocated with exact capacity, as a million of them may be kept.
        let bytes = Box::from(recipe.start().as_bytes());
        encoded(recipe, listed, (bytes, Some(common)))
    }
}

/// Returns the origin of a URL. Returns `None` if it is not an `http` or `https` URL with a host.
pub fn origin(url: &Url) -> Option<Origin> {
    let tls = match url.scheme() {
        "http" => false,
        "https" => true,
        _ => return None,
    };
    Some(Origin::tcp(host(url)?, url.port_or_known_default()?, tls))
}

/// Returns the value of `Host`: with the port unless it is the scheme's default, with brackets for IPv6.
fn host_field(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
