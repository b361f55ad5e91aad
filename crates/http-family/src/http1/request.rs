//! Encoding of requests, done once before the run.
//!
//! A [`Recipe`] is kept only for redirects and the cache. A large body is shared by all requests and never copied.
//! Requests of many URLs also share what they have in common, which is most of each request.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use brunt_contract::{Origin, ProxyRules, SlotContext, UserState};
use brunt_measure::Nanos;
use memchr::memmem::Finder;
use url::Url;

use super::redirect::{RedirectTrail, is_redirect};
use super::session::{EXPECTS, LAST, NO_BODY, SECURE, UPGRADES};
use super::slots::FilledRequest;
use super::status::StatusSet;
use crate::cache;
use crate::resources::{AllowedHosts, PageRule};
use brunt_values::budget::MemoryBudget;
use brunt_values::capture::{Capture, ResponsePart};
use brunt_values::percent::{decoded, host};
use brunt_values::verify::{Expectations, FilledChecks};

/// Minimum size of a body that is shared instead of copied, in bytes.
pub const SHARED_FROM: usize = 16 * 1024;

/// Line that old proxies need to keep a connection alive.
const PROXY_CONNECTION: &str = "Proxy-Connection: Keep-Alive\r\n";
/// Lines that curl sends before `Proxy-Connection`.
const BEFORE_PROXY_CONNECTION: [&str; 8] =
    ["Host", "Authorization", "Range", "Content-Range", "User-Agent", "Accept", "Accept-Encoding", "Referer"];

/// An encoded request.
#[derive(Debug)]
pub struct HttpRequest {
    /// Head and a small body; for one of many URLs, only method and target.
    pub(crate) bytes: Box<[u8]>,
    /// The bytes that follow, possibly shared.
    pub(crate) tail: Option<Arc<RequestTail>>,
    /// Index of the recipe in [`HttpRules::recipes`].
    pub(crate) recipe_index: u32,
    /// Session flags, such as `LAST`.
    pub(crate) flags: u8,
    /// Index of the checks on the response, for [`HttpRules::checks`].
    pub(crate) checks: u16,
    /// The recipe, if it is not in the list.
    pub(crate) recipe: Option<Arc<Recipe>>,
    /// HTTP/2 form of the request, if it was prepared.
    pub(crate) http2: Option<Arc<crate::http2::Http2Request>>,
    /// The template, if the request has slots; `bytes` is then empty.
    pub(crate) slots: Option<Arc<super::slots::Http1Template>>,
}

impl HttpRequest {
    /// Returns the head and a small body.
    pub(crate) fn text(&self) -> Cow<'_, [u8]> {
        match &self.tail {
            None => Cow::Borrowed(&self.bytes),
            Some(common) => Cow::Owned([&*self.bytes, &common.text].concat()),
        }
    }

    /// Returns method and target, if `bytes` consists of exactly these.
    pub(crate) fn start(&self) -> Option<(&[u8], &[u8])> {
        let at = memchr::memchr(b' ', &self.bytes)?;
        let (method, target) = (&self.bytes[..at], &self.bytes[at + 1..]);
        let whole = self.tail.as_ref().is_some_and(|common| common.text.starts_with(b" HTTP/"));
        (whole && memchr::memchr(b' ', target).is_none()).then_some((method, target))
    }

    /// Returns the target of a request that has a [`Self::start`].
    #[inline]
    pub(crate) fn path(&self) -> &[u8] {
        memchr::memchr(b' ', &self.bytes).map_or(&[], |at| &self.bytes[at + 1..])
    }

    /// Returns the body, if it is large and stored separately.
    pub(crate) fn body(&self) -> Option<&Arc<[u8]>> {
        self.tail.as_ref()?.body.as_ref()
    }
}

/// The end of a request, possibly shared.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct RequestTail {
    /// Rest of the head, and a small body.
    pub(crate) text: Box<[u8]>,
    /// A large body.
    pub(crate) body: Option<Arc<[u8]>>,
}

/// Rules for all exchanges of a run.
#[derive(Debug)]
pub struct HttpRules {
    /// Default checks on responses.
    pub(crate) default_checks: ResponseChecks,
    /// Checks of requests with their own options.
    pub(crate) other_checks: Vec<ResponseChecks>,
    pub(crate) budget: MemoryBudget,
    pub(crate) recipes: Vec<Recipe>,
    /// Rules for pages.
    pub(crate) pages: Vec<PageRule>,
    /// Memory budget of the cookie jars; `None` if users keep no cookies.
    pub(crate) jar: Option<MemoryBudget>,
    /// Set if users cache responses to some requests.
    pub(crate) caches: bool,
    /// Time that a body waits for `100 Continue`.
    pub(crate) continue_wait: Nanos,
    /// Proxies, for redirects.
    pub(crate) proxies: Arc<ProxyRules>,
}

/// Checks on a response.
#[derive(Debug)]
pub struct ResponseChecks {
    /// Set if only the status matters and redirects are ordinary responses.
    pub(crate) status_only: bool,
    /// Like `status_only`, but only for responses that set no cookie.
    pub(crate) status_only_unless_cookies: bool,
    pub(crate) success: StatusSet,
    /// Set if the successful statuses were given as a named check.
    pub(crate) names_statuses: bool,
    /// Maximum number of redirects to follow.
    pub(crate) redirects: u32,
    pub(crate) expect_body: Option<Finder<'static>>,
    pub(crate) expected: Option<Expectations>,
    /// Captures, each with the index of its variable.
    pub(crate) captures: Vec<(u16, Capture)>,
    /// Set if the decoded body is returned to the caller.
    pub(crate) returns_body: bool,
    /// Set if trailers are examined, and therefore kept.
    pub(crate) trailers: bool,
    /// Set if resources of pages are fetched, so that pages are kept.
    pub(crate) fetches_resources: bool,
    /// Hosts to which redirects may lead, for a resource of a page.
    pub(crate) allowed_redirects: Option<Arc<AllowedHosts>>,
    /// Cache settings; `None` if the response is not cached.
    pub(crate) cache: Option<cache::CacheSettings>,
}

impl HttpRules {
    /// Returns the checks for a request.
    #[inline]
    pub(crate) fn checks(&self, index: u16) -> &ResponseChecks {
        match index {
            0 => &self.default_checks,
            index => self.other_checks.get(usize::from(index) - 1).unwrap_or(&self.default_checks),
        }
    }

    /// Returns the condition to add to a request with these checks and this head, if the user's cache has a response to
    /// validate; `secure` is set for TLS.
    pub(crate) fn condition(
        &self,
        checks: u16,
        memory: &UserState,
        context: &SlotContext<'_>,
        (head, secure): (&[u8], bool),
        need: cache::NeededParts,
    ) -> Option<cache::Revalidation> {
        let sent = cache::OutgoingRequest { head, secure, at: context.unix_ns, iteration: memory.iteration() };
        memory.lasting::<cache::Cache>()?.revalidation(self.checks(checks).cache.as_ref()?, sent, need)
    }

    /// Returns `true` if users keep cookies or responses.
    #[inline]
    pub(crate) fn keep_state(&self) -> bool {
        self.jar.is_some() || self.caches
    }

    /// Returns all checks of the run.
    pub(crate) fn all_checks(&self) -> impl Iterator<Item = &ResponseChecks> {
        std::iter::once(&self.default_checks).chain(&self.other_checks)
    }

    /// Returns the recipe of a request with its slots filled, if the response is a redirect.
    pub(crate) fn filled_recipe(
        &self,
        recipe: Option<&Recipe>,
        with: Option<&FilledRequest>,
        status: u16,
    ) -> Option<Recipe> {
        let with = with.filter(|_| is_redirect(status))?;
        Some(with.template.recipe(recipe?, &with.fill()))
    }
}

impl ResponseChecks {
    /// Returns the parts of a response that are examined; `filled` is set if the body must contain a text that is
    /// filled per request.
    pub(crate) fn needed_parts(&self, filled: bool) -> cache::NeededParts {
        let json = self.expected.as_ref().is_some_and(Expectations::reads_body);
        let captures = self.captures.iter().any(|(_, capture)| capture.part() == ResponsePart::Body);
        cache::NeededParts {
            head: self.expected.is_some() || !self.captures.is_empty(),
            body: self.fetches_resources || filled || self.expect_body.is_some() || json || captures,
            trailers: self.trailers,
        }
    }
}

/// A body and its type.
#[derive(Clone, Debug)]
pub struct RequestBody {
    /// The bytes.
    pub bytes: Arc<[u8]>,
    /// `Content-Type`, unless the user sets one.
    pub kind: Option<String>,
    /// Placeholder for the length, if the body has slots.
    pub length: Option<String>,
    /// Set if the body is sent in chunks, which carry its length.
    pub chunked: bool,
}

impl RequestBody {
    /// Returns the value of `Content-Length`.
    fn length(&self) -> String {
        self.length.clone().unwrap_or_else(|| self.bytes.len().to_string())
    }
}

/// A header line set by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderOverride {
    /// Sends the line: name, and everything after the colon including white space. Replaces a default line of this
    /// name.
    Set(String, String),
    /// Drops the default line of this name.
    Remove(String),
}

impl HeaderOverride {
    /// Returns the name of the field.
    pub fn name(&self) -> &str {
        match self {
            HeaderOverride::Set(name, _) | HeaderOverride::Remove(name) => name,
        }
    }

    /// Returns `true` if this is a line with this name whose list contains `word`.
    pub fn has_token(&self, name: &str, word: &str) -> bool {
        matches!(self, HeaderOverride::Set(own, value) if own.eq_ignore_ascii_case(name)
            && value.split(',').any(|v| v.trim().eq_ignore_ascii_case(word)))
    }
}

/// Source data of a request.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// URL without fragment.
    pub url: Url,
    /// URL with placeholders, if its host is known only during the run; `url` is then the one that it is relative to. If
    /// it is a single value, it has no scheme.
    pub link: Option<Box<str>>,
    /// Target of the request line, overriding the URL's path and query.
    pub target: Option<String>,
    /// Method, such as `GET`.
    pub method: String,
    /// Header lines set by the user.
    pub headers: Vec<HeaderOverride>,
    /// The body.
    pub content: Option<RequestBody>,
    /// `name:password` in base64, used unless the URL has credentials.
    pub user: Option<String>,
    /// Set if the connection may be reused.
    pub keepalive: bool,
    /// Set for HTTP/1.0.
    pub http10: bool,
    /// Set if the body waits for `100 Continue`.
    pub expect_continue: bool,
    /// Index of the checks on its response.
    pub checks: u16,
    /// Index into [`HttpRules::pages`], counted from 1; 0 for none.
    pub page: u16,
    /// The checks on its response, if they differ per request and this one was made during the run.
    pub expected: Option<Arc<FilledChecks>>,
    /// Number of redirects that led here, and what is remembered of them.
    pub hops: u32,
    pub trail: RedirectTrail,
    /// Set if the request goes to a proxy that forwards it.
    pub forwarded: Option<ForwardingProxy>,
}

/// Additional data for a proxy that forwards a request.
#[derive(Clone, Debug)]
pub struct ForwardingProxy {
    /// Value of `Proxy-Authorization`.
    pub authorization: Option<String>,
}

impl Recipe {
    /// Routes the request through the matching proxy, if any, and returns its origin.
    ///
    /// Returns `None` if the URL is not an HTTP URL.
    pub fn route_through(&mut self, proxies: &ProxyRules) -> Option<Origin> {
        let mut origin = origin(&self.url)?;
        let proxy = proxies.forwarding_for(&origin);
        origin.forwarded = proxy.is_some();
        self.forwarded = proxy.map(|proxy| ForwardingProxy { authorization: proxy.authorization_header() });
        Some(origin)
    }

    /// Drops the credentials and header lines that may only be sent to the original origin.
    pub fn drop_origin_headers(&mut self) {
        self.user = None;
        self.headers.retain(|h| !["authorization", "cookie", "host"].iter().any(|n| h.name().eq_ignore_ascii_case(n)));
    }

    /// Turns the request into a GET without a body.
    pub fn convert_to_get(&mut self) {
        self.method = "GET".into();
        self.content = None;
        let content =
            |h: &HeaderOverride| h.name().get(..8).is_some_and(|start| start.eq_ignore_ascii_case("content-"));
        let of_body = ["transfer-encoding", "expect"];
        self.headers.retain(|h| !content(h) && !of_body.iter().any(|name| h.name().eq_ignore_ascii_case(name)));
    }

    fn overrides(&self, name: &str) -> bool {
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

    /// Returns the method and the target: the part that requests of many URLs do not share.
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
        let mut head = String::from(if self.http10 { " HTTP/1.0\r\n" } else { " HTTP/1.1\r\n" });
        let mut line = |name: &str, value: &str| {
            if !self.overrides(name) {
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
        if !self.keepalive && !self.http10 {
            line("Connection", "close");
        }
        // Same position as curl's: after its standard lines, before the others.
        let of_curl =
            |wish: &HeaderOverride| BEFORE_PROXY_CONNECTION.iter().any(|name| wish.name().eq_ignore_ascii_case(name));
        let mut to_proxy = self.forwarded.is_some() && !self.overrides("Proxy-Connection");
        for wish in &self.headers {
            if to_proxy && !of_curl(wish) {
                head.push_str(PROXY_CONNECTION);
                to_proxy = false;
            }
            if let HeaderOverride::Set(name, value) = wish {
                let _ = write!(head, "{name}:{value}\r\n");
            }
        }
        if to_proxy {
            head.push_str(PROXY_CONNECTION);
        }
        let mut line = |name: &str, value: &str| {
            if !self.overrides(name) {
                let _ = write!(head, "{name}: {value}\r\n");
            }
        };
        let expects_body = matches!(self.method.as_str(), "POST" | "PUT" | "PATCH");
        let chunked = self.content.as_ref().is_some_and(|content| content.chunked);
        if (self.content.is_some() || expects_body) && !chunked {
            let length = self.content.as_ref().map_or_else(|| "0".to_owned(), RequestBody::length);
            line("Content-Length", &length);
        }
        if let Some(kind) = self.content.as_ref().and_then(|c| c.kind.as_deref()) {
            line("Content-Type", kind);
        }
        if self.expect_continue && self.has_body() {
            line("Expect", "100-continue");
        }
        head.push_str("\r\n");
        head
    }

    fn has_body(&self) -> bool {
        self.content.as_ref().is_some_and(|content| !content.bytes.is_empty())
    }

    /// Returns `true` if the body waits for `100 Continue`, because of the option or a header line. HTTP/1.0 servers do
    /// not know this status (RFC 9110 10.1.1), and without a body there is nothing to wait for.
    fn defers_body(&self) -> bool {
        let said = self.headers.iter().any(|h| h.has_token("expect", "100-continue"));
        !self.http10 && self.has_body() && (said || (self.expect_continue && !self.overrides("expect")))
    }

    fn flags(&self) -> u8 {
        let closes = |h: &HeaderOverride| h.has_token("connection", "close");
        let upgrades =
            |h: &HeaderOverride| matches!(h, HeaderOverride::Set(name, _) if name.eq_ignore_ascii_case("upgrade"));
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
        if self.defers_body() {
            marks |= EXPECTS;
        }
        if self.url.scheme() == "https" {
            marks |= SECURE;
        }
        marks
    }
}

/// Encodes the request of a redirect, with its own recipe.
pub fn encode(recipe: &Arc<Recipe>) -> HttpRequest {
    HttpRequest { recipe: Some(Arc::clone(recipe)), ..encode_listed(recipe, u32::MAX) }
}

/// Encodes the request whose recipe has index `listed`.
pub fn encode_listed(recipe: &Recipe, listed: u32) -> HttpRequest {
    let (mut bytes, RequestTail { text, body }) = (recipe.start().into_bytes(), common(recipe));
    bytes.extend_from_slice(&text);
    let common = body.is_some().then(|| Arc::new(RequestTail { text: Box::default(), body }));
    encoded(recipe, listed, (bytes.into_boxed_slice(), common))
}

/// Creates a request from its bytes.
fn encoded(recipe: &Recipe, listed: u32, (bytes, common): (Box<[u8]>, Option<Arc<RequestTail>>)) -> HttpRequest {
    let (marks, checks) = (recipe.flags(), recipe.checks);
    HttpRequest {
        bytes,
        tail: common,
        recipe_index: listed,
        flags: marks,
        checks,
        recipe: None,
        http2: None,
        slots: None,
    }
}

/// Encodes a request except for its method and target.
fn common(recipe: &Recipe) -> RequestTail {
    let mut text = recipe.rest().into_bytes();
    let mut body = None;
    if let Some(content) = &recipe.content {
        let apart = content.bytes.len() >= SHARED_FROM || recipe.defers_body();
        if apart && content.length.is_none() {
            body = Some(Arc::clone(&content.bytes));
        } else {
            text.extend_from_slice(&content.bytes);
        }
    }
    RequestTail { text: text.into_boxed_slice(), body }
}

/// Encoder for the requests of many URLs, which shares what they have in common.
#[derive(Debug, Default)]
pub struct RequestEncoder {
    seen: HashSet<Arc<RequestTail>>,
}

impl RequestEncoder {
    /// Like [`encode_listed`].
    pub fn encode(&mut self, recipe: &Recipe, listed: u32) -> HttpRequest {
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
