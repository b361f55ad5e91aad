//! Resources of pages, fetched by users as browsers do: the options, and the requests made from the body of a page.

mod finder;
mod srcset;
#[cfg(test)]
mod tests;

use brunt_cause::complaint;
use std::sync::Arc;

use brunt_contract::{
    FollowUp, OptionSpec, Origin, PageResources, ProtocolConfig, ResourceSearch, UsageError, many, one, switch,
};
use url::Url;

use crate::http1::request::{self, HeaderOverride, HttpRules, Recipe};
use brunt_values::budget::BudgetedBuffer;
use brunt_values::percent::host;
use brunt_values::verify::coding::ContentCoding;
use brunt_values::verify::header;

/// Option for the number of resources that a step of a flow fetches concurrently for a page.
pub const RESOURCES: &str = "resources";
/// Option for additional hosts to fetch resources from.
pub const FROM: &str = "resources-from";
/// Option that lets resources fail without failing their page.
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
        "也从该主机（HOST 或 HOST:PORT）获取资源；默认只从计划所压测的主机获取",
    ),
    switch(
        MAY_FAIL,
        "A failed resource counts as a failed request, but does not fail its page or the iteration",
        "资源失败只计为请求失败，不影响所属页面和迭代",
    ),
];

/// Settings for the resources of pages.
#[derive(Clone, Debug)]
pub struct ResourceSettings {
    /// Number of concurrent fetches; 0 treats pages like other responses.
    concurrency: u32,
    hosts: Vec<(String, Option<u16>)>,
    may_fail: bool,
}

impl ResourceSettings {
    /// Reads the options. Returns `None` if no resources are fetched.
    ///
    /// # Errors
    /// Returns an error for an invalid number or host.
    pub fn read(config: &ProtocolConfig) -> Result<Option<ResourceSettings>, UsageError> {
        let at_once = config.value(RESOURCES).map_or(Ok(0), at_once)?;
        let from = config.values(FROM).iter().map(|text| named_host(text)).collect::<Result<Vec<_>, _>>()?;
        let may_fail = config.switch(MAY_FAIL);
        Ok((at_once > 0).then_some(ResourceSettings { concurrency: at_once, hosts: from, may_fail }))
    }
}

/// Parses `6` or `6 at once`.
fn at_once(text: &str) -> Result<u32, UsageError> {
    let number = text.trim().strip_suffix("at once").unwrap_or(text).trim();
    number.parse().ok().filter(|n| *n <= MOST_AT_ONCE).ok_or_else(|| {
        let trouble = complaint!(
            "\"{text}\" is not a number from 0 to {MOST_AT_ONCE}; use, for example, 6",
            "“{text}”不是 0 到 {MOST_AT_ONCE} 的数；请写，例如 6"
        );
        UsageError::new(format!("--{RESOURCES}"), trouble)
    })
}

fn named_host(text: &str) -> Result<(String, Option<u16>), UsageError> {
    let wrong = || {
        let trouble = complaint!(
            "\"{text}\" is not a host; write cdn.example.com, or cdn.example.com:8443",
            "“{text}”不是主机；请写 cdn.example.com 或 cdn.example.com:8443"
        );
        UsageError::new(format!("--{FROM}"), trouble)
    };
    let clean = !text.is_empty() && !text.contains(['/', '@', '?', '#', '\\']) && !text.contains(char::is_whitespace);
    let url = Url::parse(&format!("http://{text}/")).ok().filter(|_| clean).ok_or_else(wrong)?;
    // `Url` drops port 80 as the default, even if it was given explicitly.
    let port = url.port().or_else(|| text.ends_with(":80").then_some(80));
    Ok((host(&url).ok_or_else(wrong)?, port))
}

/// Hosts that resources may be fetched from.
#[derive(Debug, Default)]
pub struct AllowedHosts {
    /// Host, port, and whether TLS is used.
    origins: Vec<(String, u16, bool)>,
    hosts: Vec<(String, Option<u16>)>,
}

impl AllowedHosts {
    /// Allows the origins of the plan and the hosts named by the option.
    pub fn of(origins: &[Origin], wish: &ResourceSettings) -> AllowedHosts {
        let origins = origins.iter().map(|origin| (origin.host.clone(), origin.port, origin.tls)).collect();
        AllowedHosts { origins, hosts: wish.hosts.clone() }
    }

    /// Returns `true` if a resource of `page` at `url` may be fetched.
    pub fn allows(&self, url: &Url, page: &Url) -> bool {
        url.origin() == page.origin() || request::origin(url).is_some_and(|origin| self.contains(&origin))
    }

    /// Returns `true` if a redirect from the resource at `from` to `to` may be followed.
    pub fn allows_redirect(&self, to: &Origin, from: &Url) -> bool {
        let same = |origin: Origin| origin.host == to.host && origin.port == to.port && origin.tls == to.tls;
        request::origin(from).is_some_and(same) || self.contains(to)
    }

    fn contains(&self, to: &Origin) -> bool {
        let known = |(host, port, tls): &(String, u16, bool)| *host == to.host && *port == to.port && *tls == to.tls;
        let named = |(host, port): &(String, Option<u16>)| *host == to.host && port.is_none_or(|port| port == to.port);
        self.origins.iter().any(known) || self.hosts.iter().any(named)
    }
}

/// Settings for one page.
#[derive(Clone, Debug)]
pub struct PageRule {
    /// Number of concurrent fetches.
    pub concurrency: u32,
    /// Name of the resources in results, as an index into the names of the run.
    pub name: u16,
    /// Set if failed resources do not fail the page.
    pub may_fail: bool,
    /// Checks on the responses, as an index into those of the run.
    pub checks: u16,
    /// Hosts that may be fetched from.
    pub allowed: Arc<AllowedHosts>,
}

impl PageRule {
    /// Creates the rule of a page from its settings.
    pub fn of(wish: &ResourceSettings, name: u16, checks: u16, allowed: Arc<AllowedHosts>) -> PageRule {
        PageRule { concurrency: wish.concurrency, name, may_fail: wish.may_fail, checks, allowed }
    }

    fn page(&self) -> PageResources {
        let Self { concurrency: at_once, name, may_fail, .. } = *self;
        PageResources {
            max_in_flight: at_once,
            name,
            may_fail,
            resources: 0,
            on_other_hosts: 0,
            over_limit: 0,
            truncated: false,
            next: Box::new(|| None),
        }
    }
}

/// The result of a response for the fetching of resources.
#[derive(Debug)]
pub enum ResourceOutcome {
    /// A page, with its body.
    Page(PageBody),
    /// A resource whose redirect leads to a host that is not allowed.
    Disallowed,
}

/// The kept part of a page's body.
#[derive(Debug)]
pub struct PageBody {
    kept: BudgetedBuffer,
    coding: ContentCoding,
    /// Set if the page was larger than what is kept.
    cut: bool,
}

impl PageBody {
    /// Creates the body for a response with this head in HTTP/1 form. Returns `None` if it is not a page.
    pub fn head(head: &[u8]) -> Option<PageBody> {
        let kind = header::field_values(head, "content-type").next()?;
        let kind = kind.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
        let page = kind.eq_ignore_ascii_case(b"text/html") || kind.eq_ignore_ascii_case(b"application/xhtml+xml");
        let coding = ContentCoding::of(header::field_values(head, "content-encoding"));
        page.then(|| PageBody { kept: BudgetedBuffer::default(), coding, cut: false })
    }

    /// Processes a piece of the body.
    pub fn feed(&mut self, piece: &[u8], rules: &HttpRules) {
        let room = KEPT - self.kept.len().min(KEPT);
        let taken = &piece[..piece.len().min(room)];
        self.cut |= taken.len() < piece.len() || !self.kept.extend(taken, &rules.budget);
    }
}

/// Returns a closure that searches a page for resources; `recipe` is the recipe of the page's request.
pub fn found(body: PageBody, rule: &PageRule, recipe: Recipe, rules: &Arc<HttpRules>) -> ResourceSearch {
    let (rule, rules) = (rule.clone(), Arc::clone(rules));
    Box::new(move || page(&body, &rule, &recipe, rules))
}

/// Returns the result for a redirect of a resource that is not followed.
pub fn disallowed() -> ResourceSearch {
    Box::new(|| PageResources {
        max_in_flight: 0,
        name: 0,
        may_fail: true,
        resources: 0,
        on_other_hosts: 1,
        over_limit: 0,
        truncated: false,
        next: Box::new(|| None),
    })
}

fn page(body: &PageBody, rule: &PageRule, recipe: &Recipe, rules: Arc<HttpRules>) -> PageResources {
    let Ok(plain) = body.coding.decode(&body.kept, &rules.budget) else {
        return PageResources { truncated: true, ..rule.page() };
    };
    let mut found = finder::find(&plain, &recipe.url, &rule.allowed, &rules.budget);
    let (elsewhere, beyond, cut) = (found.other_hosts, found.over_limit, found.cut || body.cut);
    let (basis, count) = (base_recipe(recipe, rule.checks), found.len() as u32);
    let next = move || {
        // The URL was parsed before, so this succeeds.
        let url = Url::parse(found.next()?).ok()?;
        resource_request(&basis, url, &rules)
    };
    PageResources {
        resources: count,
        on_other_hosts: elsewhere,
        over_limit: beyond,
        truncated: cut,
        next: Box::new(next),
        ..rule.page()
    }
}

/// Returns the recipe shared by all resources of a page: the page's own, without what applies to the page only.
fn base_recipe(page: &Recipe, checks: u16) -> Recipe {
    const OF_PAGE: [&str; 6] = ["accept", "range", "referer", "origin", "upgrade", "upgrade-insecure-requests"];
    let mut basis = page.clone();
    basis.convert_to_get();
    (basis.method, basis.content, basis.target, basis.expected) = ("GET".to_owned(), None, None, None);
    (basis.expect_continue, basis.checks, basis.hops, basis.page) = (false, checks, 0, 0);
    let of_page = |name: &str| {
        OF_PAGE.iter().any(|own| name.eq_ignore_ascii_case(own))
            || name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("if-"))
    };
    basis.headers.retain(|wish| !of_page(wish.name()));
    basis
}

/// Returns the request of one resource.
fn resource_request(basis: &Recipe, url: Url, rules: &HttpRules) -> Option<FollowUp> {
    let mut recipe = basis.clone();
    if let Some(referer) = referer(&basis.url, &url) {
        recipe.headers.push(HeaderOverride::Set("Referer".to_owned(), format!(" {referer}")));
    }
    if basis.url.origin() != url.origin() {
        recipe.drop_origin_headers();
    }
    recipe.url = url;
    let origin = recipe.route_through(&rules.proxies)?;
    let follows = rules.checks(recipe.checks).redirects > 0 || rules.caches;
    // Only redirects and the cache need the recipe later.
    let request = if follows { request::encode(&Arc::new(recipe)) } else { request::encode_listed(&recipe, u32::MAX) };
    Some(FollowUp { origin, request: brunt_contract::Request::shared(request) })
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
    let wish = ResourceSettings { concurrency: 6, hosts: vec![("cdn.test".to_owned(), None)], may_fail: false };
    let allowed = AllowedHosts::of(&[Origin::tcp("h.test", 80, false)], &wish);
    let url = Url::parse("http://h.test/a/page?x=1").expect("a URL");
    let mut found = finder::find(page, &url, &allowed, &brunt_values::budget::MemoryBudget::default());
    assert!(found.len() <= finder::MAX_RESOURCES, "{}", found.len());
    let (mut all, mut bytes) = (std::collections::HashSet::new(), 0);
    while let Some(text) = found.next() {
        let read = Url::parse(text).expect("a URL that was read before");
        assert_eq!(read.as_str(), text);
        assert!(matches!(read.host_str(), Some("h.test" | "cdn.test")) && read.fragment().is_none(), "{text}");
        bytes += text.len();
        assert!(all.insert(text.to_owned()), "{text} twice");
    }
    assert!(bytes <= finder::MAX_URL_BYTES);
}
