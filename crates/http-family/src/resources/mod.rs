//! Resources of pages, fetched by users as browsers do: the options, and the requests made from a page's body.

mod finder;
mod srcset;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use url::Url;
use wire::{Asked, Complaint, Follow, Found, OptionSpec, Origin, Page, many, one, switch};

use crate::http1::request::{self, HeaderWish, Recipe, Rules};
use values::kept::Kept;
use values::percent::host;
use values::verify::coding::Coding;
use values::verify::header;

/// Option for the number of resources fetched concurrently, per page of a step of a flow.
pub const RESOURCES: &str = "resources";
/// Option for additional hosts to fetch resources from.
pub const FROM: &str = "resources-from";
/// Option by which failed resources do not fail their page.
pub const MAY_FAIL: &str = "resources-may-fail";
/// Maximum number of resources that a user fetches concurrently.
const MOST_AT_ONCE: u32 = 256;
/// Maximum number of bytes of a page that are kept, before decoding.
const KEPT: usize = 1 << 20;

/// The options of this module.
pub const OPTIONS: [OptionSpec; 3] = [
    one(
        RESOURCES,
        "N",
        "In a flow: fetch the resources of HTML pages (images, stylesheets, scripts …) like a browser, N at \
                once",
        "流程中：像浏览器一样获取 HTML 页面引用的资源（图片、样式、脚本等），同时 N 个",
    ),
    many(
        FROM,
        "HOST",
        "Also fetch resources from this host (HOST or HOST:PORT); by default only from hosts the plan targets",
        "也从该主机（HOST 或 HOST:PORT）获取资源；默认只访问计划中请求所到的地址",
    ),
    switch(
        MAY_FAIL,
        "A failed resource counts as a failed request, but does not fail its page or the iteration",
        "资源失败只计为请求失败，不影响所属页面和迭代",
    ),
];

/// Settings for the resources of pages.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Number of concurrent fetches; 0 treats pages like other responses.
    at_once: u32,
    from: Vec<(String, Option<u16>)>,
    may_fail: bool,
}

impl Wish {
    /// Reads the options. Returns `None` if no resources are to be fetched.
    ///
    /// # Errors
    /// Returns an error for an invalid number or host.
    pub fn read(asked: &Asked) -> Result<Option<Wish>, Complaint> {
        let at_once = asked.value(RESOURCES).map_or(Ok(0), at_once)?;
        let from = asked.values(FROM).iter().map(|text| named_host(text)).collect::<Result<Vec<_>, _>>()?;
        let may_fail = asked.switch(MAY_FAIL);
        Ok((at_once > 0).then_some(Wish { at_once, from, may_fail }))
    }
}

/// Parses `6` or `6 at once`.
fn at_once(text: &str) -> Result<u32, Complaint> {
    let number = text.trim().strip_suffix("at once").unwrap_or(text).trim();
    number.parse().ok().filter(|n| *n <= MOST_AT_ONCE).ok_or_else(|| {
        let trouble = format!("\"{text}\" is not a number from 0 to {MOST_AT_ONCE}; write for instance 6");
        Complaint::new(format!("--{RESOURCES}"), trouble)
    })
}

fn named_host(text: &str) -> Result<(String, Option<u16>), Complaint> {
    let wrong = || {
        let trouble = format!("\"{text}\" is not a host; write cdn.example.com, or cdn.example.com:8443");
        Complaint::new(format!("--{FROM}"), trouble)
    };
    let clean = !text.is_empty() && !text.contains(['/', '@', '?', '#', '\\']) && !text.contains(char::is_whitespace);
    let url = Url::parse(&format!("http://{text}/")).ok().filter(|_| clean).ok_or_else(wrong)?;
    // `Url` drops port 80 as the default, but here it was given explicitly.
    let port = url.port().or_else(|| text.ends_with(":80").then_some(80));
    Ok((host(&url).ok_or_else(wrong)?, port))
}

/// Hosts that resources may be fetched from.
#[derive(Debug, Default)]
pub struct Allowed {
    /// Host, port, and whether TLS is used.
    origins: Vec<(String, u16, bool)>,
    hosts: Vec<(String, Option<u16>)>,
}

impl Allowed {
    /// Allows the origins of the plan and the hosts named by the option.
    pub fn of(origins: &[Origin], wish: &Wish) -> Allowed {
        let origins = origins.iter().map(|origin| (origin.host.clone(), origin.port, origin.tls)).collect();
        Allowed { origins, hosts: wish.from.clone() }
    }

    /// Returns `true` if a resource of `page` at `url` may be fetched.
    pub fn has(&self, url: &Url, page: &Url) -> bool {
        url.origin() == page.origin() || request::origin(url).is_some_and(|origin| self.leads(&origin))
    }

    /// Returns `true` if a redirect from the resource at `from` to `to` may be followed.
    pub fn follows(&self, to: &Origin, from: &Url) -> bool {
        let same = |origin: Origin| origin.host == to.host && origin.port == to.port && origin.tls == to.tls;
        request::origin(from).is_some_and(same) || self.leads(to)
    }

    fn leads(&self, to: &Origin) -> bool {
        let known = |(host, port, tls): &(String, u16, bool)| *host == to.host && *port == to.port && *tls == to.tls;
        let named = |(host, port): &(String, Option<u16>)| *host == to.host && port.is_none_or(|port| port == to.port);
        self.origins.iter().any(known) || self.hosts.iter().any(named)
    }
}

/// Settings for one page.
#[derive(Clone, Debug)]
pub struct PageRule {
    /// Number of concurrent fetches.
    pub at_once: u32,
    /// Name of the resources in results, as an index into the names of the run.
    pub name: u16,
    /// Set if failed resources do not fail the page.
    pub may_fail: bool,
    /// Checks on the responses, as an index into those of the run.
    pub checks: u16,
    /// Hosts that may be fetched from.
    pub allowed: Arc<Allowed>,
}

impl PageRule {
    /// Creates the rule of a page from its settings.
    pub fn of(wish: &Wish, name: u16, checks: u16, allowed: Arc<Allowed>) -> PageRule {
        PageRule { at_once: wish.at_once, name, may_fail: wish.may_fail, checks, allowed }
    }

    fn page(&self) -> Page {
        let Self { at_once, name, may_fail, .. } = *self;
        Page { at_once, name, may_fail, found: 0, elsewhere: 0, beyond: 0, cut: false, next: Box::new(|| None) }
    }
}

/// Outcome of a response for the fetching of resources.
#[derive(Debug)]
pub enum Heard {
    /// A page, with its body.
    Page(Body),
    /// A resource whose redirect leads to a host that is not allowed.
    Elsewhere,
}

/// The body of a page, as far as it is kept.
#[derive(Debug)]
pub struct Body {
    kept: Kept,
    coding: Coding,
    /// Set if the page was larger than what is kept.
    cut: bool,
}

impl Body {
    /// Creates the body for a response with this head in HTTP/1 form. Returns `None` if it is not a page.
    pub fn head(head: &[u8]) -> Option<Body> {
        let kind = header::values(head, "content-type").next()?;
        let kind = kind.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
        let page = kind.eq_ignore_ascii_case(b"text/html") || kind.eq_ignore_ascii_case(b"application/xhtml+xml");
        let coding = Coding::of(header::values(head, "content-encoding"));
        page.then(|| Body { kept: Kept::default(), coding, cut: false })
    }

    /// Processes a piece of the body.
    pub fn feed(&mut self, piece: &[u8], rules: &Rules) {
        let room = KEPT - self.kept.len().min(KEPT);
        let taken = &piece[..piece.len().min(room)];
        self.cut |= taken.len() < piece.len() || !self.kept.add(taken, &rules.kept);
    }
}

/// Returns the search for the resources of a page; `recipe` made its request. It runs when called.
pub fn found(body: Body, rule: &PageRule, recipe: Recipe, rules: &Arc<Rules>) -> Found {
    let (rule, rules) = (rule.clone(), Arc::clone(rules));
    Box::new(move || page(&body, &rule, &recipe, rules))
}

/// Returns the result for a redirect of a resource that is not followed.
pub fn elsewhere() -> Found {
    Box::new(|| Page {
        at_once: 0,
        name: 0,
        may_fail: true,
        found: 0,
        elsewhere: 1,
        beyond: 0,
        cut: false,
        next: Box::new(|| None),
    })
}

fn page(body: &Body, rule: &PageRule, recipe: &Recipe, rules: Arc<Rules>) -> Page {
    let Ok(plain) = body.coding.decode(&body.kept, &rules.kept) else {
        return Page { cut: true, ..rule.page() };
    };
    let mut found = finder::find(&plain, &recipe.url, &rule.allowed, &rules.kept);
    let (elsewhere, beyond, cut) = (found.elsewhere, found.beyond, found.cut || body.cut);
    let (basis, count) = (basis(recipe, rule.checks), found.len() as u32);
    let next = move || {
        // The URL was parsed before, so this succeeds.
        let url = Url::parse(found.next()?).ok()?;
        of_resource(&basis, url, &rules)
    };
    Page { found: count, elsewhere, beyond, cut, next: Box::new(next), ..rule.page() }
}

/// Returns the recipe shared by all resources of a page: the page's own, without what applies to the page only.
fn basis(page: &Recipe, checks: u16) -> Recipe {
    const OF_PAGE: [&str; 6] = ["accept", "range", "referer", "origin", "upgrade", "upgrade-insecure-requests"];
    let mut basis = page.clone();
    basis.become_get();
    (basis.method, basis.content, basis.target) = ("GET".to_owned(), None, None);
    (basis.expects, basis.checks, basis.hops, basis.page) = (false, checks, 0, 0);
    let of_page = |name: &str| {
        OF_PAGE.iter().any(|own| name.eq_ignore_ascii_case(own))
            || name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("if-"))
    };
    basis.headers.retain(|wish| !of_page(wish.name()));
    basis
}

/// Returns the request of one resource.
fn of_resource(basis: &Recipe, url: Url, rules: &Rules) -> Option<Follow> {
    let mut recipe = basis.clone();
    if let Some(referer) = referer(&basis.url, &url) {
        recipe.headers.push(HeaderWish::Set("Referer".to_owned(), format!(" {referer}")));
    }
    if basis.url.origin() != url.origin() {
        recipe.leave_origin();
    }
    recipe.url = url;
    let origin = recipe.goes_by(&rules.proxies)?;
    let follows = rules.checks(recipe.checks).redirects > 0 || rules.cache.is_some();
    // Only redirects and the cache need the recipe later.
    let request = if follows { request::encode(&Arc::new(recipe)) } else { request::encode_listed(&recipe, u32::MAX) };
    Some(Follow { origin, request: wire::Request::shared(request) })
}

/// Returns the `Referer` that browsers send: the full URL to the same origin, the origin to others, nothing when
/// leaving TLS.
fn referer(page: &Url, to: &Url) -> Option<String> {
    let same = page.origin() == to.origin();
    if page.scheme() == "https" && to.scheme() != "https" {
        return None;
    }
    if !same {
        return Some(format!("{}/", page.origin().ascii_serialization()));
    }
    let mut plain = page.clone();
    plain.set_fragment(None);
    // Neither fails on an HTTP URL.
    let _ = plain.set_username("");
    let _ = plain.set_password(None);
    Some(plain.into())
}

/// Checks the invariants for any page: resources within the bounds, each once, none on another host.
#[cfg(any(test, feature = "oracle"))]
pub fn oracle(page: &[u8]) {
    let wish = Wish { at_once: 6, from: vec![("cdn.test".to_owned(), None)], may_fail: false };
    let allowed = Allowed::of(&[Origin::tcp("h.test", 80, false)], &wish);
    let url = Url::parse("http://h.test/a/page?x=1").expect("a URL");
    let mut found = finder::find(page, &url, &allowed, &values::kept::Budget::default());
    assert!(found.len() <= finder::MOST, "{}", found.len());
    let (mut all, mut bytes) = (std::collections::HashSet::new(), 0);
    while let Some(text) = found.next() {
        let read = Url::parse(text).expect("a URL that was read before");
        assert_eq!(read.as_str(), text);
        assert!(matches!(read.host_str(), Some("h.test" | "cdn.test")) && read.fragment().is_none(), "{text}");
        bytes += text.len();
        assert!(all.insert(text.to_owned()), "{text} twice");
    }
    assert!(bytes <= finder::MOST_BYTES);
}
