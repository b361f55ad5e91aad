//! What pages name, fetched by their users as browsers do: the options, and from a page's body to the requests of its resources.

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

/// How many are fetched at once: of a page of each step of a flow.
pub const RESOURCES: &str = "resources";
/// Hosts that resources are fetched from as well.
pub const FROM: &str = "resources-from";
/// Resources that fail leave their page as it is.
pub const MAY_FAIL: &str = "resources-may-fail";
/// No user fetches more at once.
const MOST_AT_ONCE: u32 = 256;
/// So much of a page is kept, as it comes.
const KEPT: usize = 1 << 20;

/// The options.
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

/// What was wished of pages.
#[derive(Clone, Debug)]
pub struct Wish {
    /// So many at once; none: pages are responses like others.
    at_once: u32,
    from: Vec<(String, Option<u16>)>,
    may_fail: bool,
}

impl Wish {
    /// Reads the options; None where nothing is fetched.
    ///
    /// # Errors
    /// What is no number, or no host.
    pub fn read(asked: &Asked) -> Result<Option<Wish>, Complaint> {
        let at_once = asked.value(RESOURCES).map_or(Ok(0), at_once)?;
        let from = asked.values(FROM).iter().map(|text| named_host(text)).collect::<Result<Vec<_>, _>>()?;
        let may_fail = asked.switch(MAY_FAIL);
        Ok((at_once > 0).then_some(Wish { at_once, from, may_fail }))
    }
}

/// `6`, or `6 at once`.
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
    // Port 80 is written, too, where it is meant.
    let port = url.port().or_else(|| text.ends_with(":80").then_some(80));
    Ok((host(&url).ok_or_else(wrong)?, port))
}

/// Where resources may be fetched from.
#[derive(Debug, Default)]
pub struct Allowed {
    /// Host, port, and whether TLS is spoken.
    origins: Vec<(String, u16, bool)>,
    hosts: Vec<(String, Option<u16>)>,
}

impl Allowed {
    /// Where requests of the plan go, and the hosts that are named.
    pub fn of(origins: &[Origin], wish: &Wish) -> Allowed {
        let origins = origins.iter().map(|origin| (origin.host.clone(), origin.port, origin.tls)).collect();
        Allowed { origins, hosts: wish.from.clone() }
    }

    /// True where a URL that is named by this page may be fetched.
    pub fn has(&self, url: &Url, page: &Url) -> bool {
        url.origin() == page.origin() || request::origin(url).is_some_and(|origin| self.leads(&origin))
    }

    /// True where a redirect of what is at this URL may lead there.
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

/// What becomes of a page.
#[derive(Clone, Debug)]
pub struct PageRule {
    /// So many resources at once.
    pub at_once: u32,
    /// What they are called in figures, by its index among the names of the run.
    pub name: u16,
    /// Whether their failures are the page's.
    pub may_fail: bool,
    /// What decides about their responses, as the rules of the run have them.
    pub checks: u16,
    /// Where they may be fetched from.
    pub allowed: Arc<Allowed>,
}

impl PageRule {
    /// Of a wish.
    pub fn of(wish: &Wish, name: u16, checks: u16, allowed: Arc<Allowed>) -> PageRule {
        PageRule { at_once: wish.at_once, name, may_fail: wish.may_fail, checks, allowed }
    }

    fn page(&self) -> Page {
        let Self { at_once, name, may_fail, .. } = *self;
        Page { at_once, name, may_fail, found: 0, elsewhere: 0, beyond: 0, cut: false, next: Box::new(|| None) }
    }
}

/// What a response has for whoever fetches resources.
#[derive(Debug)]
pub enum Heard {
    /// It is a page: its body, and how that is coded.
    Page(Body),
    /// It is a resource that leads elsewhere, where nothing may be fetched.
    Elsewhere,
}

/// The body of a page, as much of it as is kept.
#[derive(Debug)]
pub struct Body {
    kept: Kept,
    coding: Coding,
    /// There was more.
    cut: bool,
}

impl Body {
    /// Of a response with this head, as HTTP/1 writes it; None: it is no page.
    pub fn head(head: &[u8]) -> Option<Body> {
        let kind = header::values(head, "content-type").next()?;
        let kind = kind.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
        let page = kind.eq_ignore_ascii_case(b"text/html") || kind.eq_ignore_ascii_case(b"application/xhtml+xml");
        let coding = Coding::of(header::values(head, "content-encoding"));
        page.then(|| Body { kept: Kept::default(), coding, cut: false })
    }

    /// A piece of it.
    pub fn feed(&mut self, piece: &[u8], rules: &Rules) {
        let room = KEPT - self.kept.len().min(KEPT);
        let taken = &piece[..piece.len().min(room)];
        self.cut |= taken.len() < piece.len() || !self.kept.add(taken, &rules.kept);
    }
}

/// What is to be fetched after this response to a request of `recipe`, found when it is asked for.
pub fn found(body: Body, rule: &PageRule, recipe: Recipe, rules: &Arc<Rules>) -> Found {
    let (rule, rules) = (rule.clone(), Arc::clone(rules));
    Box::new(move || page(&body, &rule, &recipe, rules))
}

/// A resource that leads elsewhere, and is not followed there.
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
        // Each was read before.
        let url = Url::parse(found.next()?).ok()?;
        of_resource(&basis, url, &rules)
    };
    Page { found: count, elsewhere, beyond, cut, next: Box::new(next), ..rule.page() }
}

/// What requests of a page's resources have in common: what the page's has, but for what is about the page itself.
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

/// The request of one of them.
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
    // Only redirects are made from a recipe, and whoever keeps answers looks into it.
    let request = if follows { request::encode(&Arc::new(recipe)) } else { request::encode_listed(&recipe, u32::MAX) };
    Some(Follow { origin, request: wire::Request::shared(request) })
}

/// What browsers say of where they come from: all of it to the same origin, the origin to others, nothing where TLS is left.
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
    // Neither can fail on a URL of HTTP.
    let _ = plain.set_username("");
    let _ = plain.set_password(None);
    Some(plain.into())
}

/// What is found in any bytes is within its bounds, each once, and leads nowhere else.
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
