//! The HTTP/1.1 plug-in: its schemes, its options, and the requests of a run, encoded before it starts.

use std::cell::RefCell;
use std::sync::Arc;

use brunt_cause::{Cause, connecting};
use brunt_cause::{Complaint, complaint};
use brunt_contract::{
    CacheHit, EstablishedConnection, FollowUp, MAX_SHOWN_BYTES, Origin, PreparedWorkload, Protocol, ProtocolConfig,
    ProtocolDescription, ProxyRules, RequestDraft, RequestNames, ResourceSearch, Session, SlotContext, Trace,
    UsageError, UserState, WeightedRequest, Workload,
};
use url::Url;

use super::captures::HttpStateUpdate;
use super::evaluation::ResponseEvaluation;
use super::expect_continue;
use super::options::{self, HttpSettings, RESPONSE_OPTIONS, URL_OPTIONS};
use super::request::{
    HeaderOverride, HttpRequest, HttpRules, Recipe, RequestBody, RequestEncoder, ResponseChecks, encode, encode_listed,
};
use super::session::{EXPECTS, Http1Session, LAST, SECURE};
use super::slots::compile;
use crate::cache::{self, Cache};
use crate::cookies::{self, CookieJar};
use crate::placeholders::Placeholders;
use crate::resources::{self, AllowedHosts, PageRule, RESOURCES, ResourceOutcome};
use brunt_values::url_overrides;

thread_local! {
    /// Buffer for a request head, used when the response sets cookies or the request is looked up in the cache.
    static SENT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// HTTP/1.1 over TCP and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Http1;

impl Protocol for Http1 {
    fn description(&self) -> ProtocolDescription<'_> {
        ProtocolDescription {
            checks: super::evaluation::CHECKS,
            ..ProtocolDescription::new("http", &["http", "https"], options::OPTIONS, URL_OPTIONS)
        }
    }

    fn prepare(&self, config: &ProtocolConfig) -> Result<Arc<dyn Workload>, UsageError> {
        let mut marks = Placeholders::new(config);
        match self.prepare_with(config, Arc::clone(&config.proxies), &mut marks) {
            Ok((mut dialogue, requests)) => {
                dialogue.prepared.requests = Box::new(requests);
                Ok(Arc::new(dialogue))
            }
            Err(complaint) => Err(marks.restore_error(complaint)),
        }
    }
}

impl Http1 {
    /// Like [`Protocol::prepare`], but with slots replaced by placeholders. Returns the requests separately, so that
    /// another version can add to them. `proxies` are the proxies that forward requests instead of tunneling them.
    pub(crate) fn prepare_with(
        self,
        config: &ProtocolConfig,
        proxies: Arc<ProxyRules>,
        marks: &mut Placeholders,
    ) -> Result<(Http1Workload, Vec<WeightedRequest<HttpRequest>>), UsageError> {
        let wishes = HttpSettings::read(config, marks)?;
        let (mut origins, mut recipes, mut names) = (Vec::new(), Vec::new(), RequestNames::default());
        let mut requests = Vec::with_capacity(config.urls.len());
        let mut encoder = (config.urls.len() > 1).then(RequestEncoder::default);
        let follows = keeps_recipes(config, &wishes);
        let (mut others, mut pages) = (Vec::new(), PlannedPages::default());
        let (mut withheld, mut slots, mut once, mut links) = (false, false, true, false);
        for (index, url) in config.urls.iter().enumerate() {
            marks.begin_url(config, index);
            let own =
                url_overrides::read_overrides(config, index, URL_OPTIONS, |asked| HttpSettings::read(asked, marks))?;
            let wished = own.as_ref().unwrap_or(&wishes);
            let mut recipe = recipe_of(&url.url, wished, config, marks)?;
            links |= recipe.link.is_some();
            let expect_filled = wished.expect_filled().cloned();
            let called = config.name(index).map_or_else(|| default_name(&recipe, url), str::to_owned);
            pages.add(wished, &mut recipe, called);
            if let Some(own) = own.filter(|_| has_own_checks(config, index)) {
                others.push(own.checks());
                recipe.checks = u16::try_from(others.len()).map_err(|_| too_many())?;
            }
            let place = recipe
                .route_through(&proxies)
                .ok_or_else(|| no_url(&url.url, &complaint!("it has no host", "缺少主机")))?;
            let origin = origins.iter().position(|o| *o == place).unwrap_or_else(|| {
                origins.push(place);
                origins.len() - 1
            });
            let request = match &mut encoder {
                Some(encoder) => encoder.encode(&recipe, index as u32),
                None => encode_listed(&recipe, index as u32),
            };
            let request = compile(request, &mut recipe, (follows, expect_filled.as_ref()), marks)?;
            withheld |= request.flags & EXPECTS != 0;
            slots |= request.slots.is_some();
            once &= request.flags & LAST != 0;
            requests.push(WeightedRequest::new(request, origin, url.weight));
            match config.name(index) {
                Some(name) => names.add(name),
                None => names.add(&default_name(&recipe, url)),
            }
            if follows {
                recipes.push(recipe);
            }
        }
        if requests.is_empty() {
            return Err(none_given());
        }
        let old = wishes.is_http10();
        expect_continue::check(config, withheld)?;
        let pages = pages.rules(&origins, &mut names, &mut others)?;
        let mut rules = wishes.rules(others, (recipes, pages), proxies);
        // With `Expect: 100-continue`, more than the status of a response matters.
        for checks in std::iter::once(&mut rules.default_checks).chain(&mut rules.other_checks).filter(|_| withheld) {
            (checks.status_only, checks.status_only_unless_cookies) = (false, false);
        }
        let looks = |what: fn(&ResponseChecks) -> bool| rules.all_checks().any(what);
        let prepared = PreparedWorkload {
            one_exchange_per_connection: once,
            inspects_responses: looks(|checks| !checks.status_only),
            keeps_state: rules.keep_state(),
            caches_responses: rules.caches,
            // Cookies need the time, which is part of the slot context.
            has_slots: slots || rules.keep_state() || looks(|checks| !checks.captures.is_empty()),
            follows_links: links,
            max_requests: marks.request_limit(),
            ..PreparedWorkload::new(Vec::<WeightedRequest<HttpRequest>>::new(), origins, names)
        };
        Ok((Http1Workload { prepared, rules: Arc::new(rules), http10: old }, requests))
    }
}

/// Returns `true` if requests may be made from others during the run, for which their recipes are kept.
fn keeps_recipes(config: &ProtocolConfig, wishes: &HttpSettings) -> bool {
    let own_has = |name: &str| config.url_options.iter().any(|own| own.contains_key(name));
    wishes.needs_recipes()
        || wishes.pages().is_some()
        || ["redirects", RESOURCES, cache::CACHE].into_iter().any(own_has)
        || config.composes_requests
        || config.urls.iter().any(|url| !config.variables.is_empty() && may_be_link(&url.url))
}

/// Returns the recipe of a URL as written.
fn recipe_of(
    written: &str,
    wished: &HttpSettings,
    config: &ProtocolConfig,
    marks: &mut Placeholders,
) -> Result<Recipe, UsageError> {
    Ok(match parse_url(written, marks)? {
        UrlOrLink::Url(url) => wished.recipe(url),
        // The target is never sent; it holds the placeholders.
        UrlOrLink::Link(link) => {
            Recipe { target: Some(link.to_string()), link: Some(link), ..wished.recipe(base_url(config, marks)?) }
        }
    })
}

fn none_given() -> UsageError {
    UsageError::new(
        "URL",
        complaint!(
            "none given; add one, such as http://127.0.0.1:8080/",
            "没有给出；请加上，例如 http://127.0.0.1:8080/"
        ),
    )
}

/// Methods that change nothing on the server (RFC 9110 9.2.1, and the registry of methods).
const SAFE_METHODS: [&str; 8] = ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "REPORT", "SEARCH"];

/// The workload of a run over HTTP/1.1.
#[derive(Debug)]
pub struct Http1Workload {
    pub(crate) prepared: PreparedWorkload,
    pub(crate) rules: Arc<HttpRules>,
    /// Set for HTTP/1.0.
    http10: bool,
}

impl Http1Workload {
    /// Calls `ask` with the user's cache and the request as it will be sent.
    fn with_cache<T>(
        &self,
        request: &HttpRequest,
        context: &SlotContext,
        memory: &mut UserState,
        ask: impl FnOnce(&mut Cache, cache::OutgoingRequest<'_>) -> Option<T>,
    ) -> Option<T> {
        let (iteration, secure) = (memory.iteration(), request.flags & SECURE != 0);
        SENT.with_borrow_mut(|sent| {
            put_head(request, &SlotContext { values: &memory.values, ..*context }, sent);
            if let Some(jar) = memory.get::<CookieJar>() {
                jar.put_into(sent, 0, secure, context.seconds());
            }
            let sent = cache::OutgoingRequest { head: sent, secure, at: context.unix_ns, iteration };
            ask(memory.lasting_mut::<Cache>()?, sent)
        })
    }

    /// Applies a response to the user's cache.
    fn learn_cache(
        &self,
        request: &HttpRequest,
        context: &SlotContext,
        heard: cache::CacheEffect,
        memory: &mut UserState,
    ) {
        let Some(rule) = &self.rules.checks(request.checks).cache else { return };
        let mut saved = memory.savings;
        if let cache::CacheEffect::Confirmed(_, answer) = &heard {
            saved.confirmed += 1;
            saved.bytes += answer.size;
        }
        let kept = self.with_cache(request, context, memory, |cache, sent| Some(cache.learn(rule, sent, heard)));
        saved.not_cached += u32::from(kept == Some(false));
        memory.savings = saved;
    }

    /// Returns the search for the resources of a page, or the result for a resource that redirects to a disallowed
    /// host.
    fn found(&self, request: &HttpRequest, context: &SlotContext, heard: ResourceOutcome) -> Option<ResourceSearch> {
        let rules = &self.rules;
        let recipe = request.recipe.as_deref().or_else(|| rules.recipes.get(request.recipe_index as usize))?;
        let recipe = request.slots.as_ref().map_or_else(|| recipe.clone(), |filled| filled.recipe(recipe, context));
        let ResourceOutcome::Page(body) = heard else { return Some(resources::disallowed()) };
        let rule = rules.pages.get(usize::from(recipe.page).checked_sub(1)?)?;
        Some(resources::found(body, rule, recipe, rules))
    }
}

impl Http1Workload {
    /// Returns the request for a captured link. Credentials are sent only to servers that the plan names.
    fn follow_link(&self, recipe: Result<Recipe, Cause>) -> Result<FollowUp, Cause> {
        let mut recipe = recipe?;
        let no_web_url = |recipe: &Recipe| connecting::no_web_url(recipe.url.as_str());
        if !matches!(recipe.url.scheme(), "http" | "https") {
            return Err(no_web_url(&recipe));
        }
        let origin = recipe.route_through(&self.rules.proxies).ok_or_else(|| no_web_url(&recipe))?;
        let known = |named: &Origin| (&named.host, named.port, named.tls) == (&origin.host, origin.port, origin.tls);
        if !self.prepared.origins.iter().any(known) {
            recipe.drop_origin_headers();
        }
        Ok(FollowUp { origin, request: brunt_contract::Request::shared(encode(&Arc::new(recipe))) })
    }

    /// Returns the recipe of a prepared request with the changes of a draft applied.
    fn drafted(&self, like: &HttpRequest, draft: &RequestDraft) -> Result<Recipe, Cause> {
        if like.slots.is_some() {
            return Err(connecting::like_one_with_slots().into());
        }
        let recipe = like.recipe.as_deref().or_else(|| self.rules.recipes.get(like.recipe_index as usize));
        let mut recipe = recipe.cloned().ok_or_else(|| Cause::from(connecting::made_from_nothing()))?;
        if let Some(url) = &draft.url {
            let mut url = recipe.url.join(url).map_err(|why| connecting::no_url(url, why.to_string()))?;
            url.set_fragment(None);
            if recipe.url.origin() != url.origin() {
                recipe.drop_origin_headers();
            }
            (recipe.url, recipe.target) = (url, None);
        }
        if let Some(method) = &draft.method {
            recipe.method.clone_from(method);
        }
        for (name, value) in &draft.headers {
            recipe.headers.retain(|known| !known.name().eq_ignore_ascii_case(name));
            recipe.headers.push(HeaderOverride::Set(name.clone(), format!(" {value}")));
        }
        if let Some(body) = &draft.body {
            let kind = recipe.content.and_then(|content| content.kind);
            recipe.content = Some(RequestBody { bytes: body.as_slice().into(), kind, length: None, chunked: false });
        }
        Ok(recipe)
    }
}

impl Workload for Http1Workload {
    fn prepared(&self) -> &PreparedWorkload {
        &self.prepared
    }
    fn alpn(&self, _origin: &Origin) -> &[&'static [u8]] {
        &[b"http/1.1"]
    }
    fn compose(&self, like: &brunt_contract::Request, draft: &RequestDraft) -> Result<FollowUp, Cause> {
        let mut recipe = self.drafted(like.downcast(), draft)?;
        let origin =
            recipe.route_through(&self.rules.proxies).ok_or_else(|| connecting::no_web_url(recipe.url.as_str()))?;
        Ok(FollowUp { origin, request: brunt_contract::Request::shared(encode(&Arc::new(recipe))) })
    }
    fn addressed(&self, request: &brunt_contract::Request, context: &SlotContext) -> Option<Result<FollowUp, Cause>> {
        let request = request.downcast::<HttpRequest>();
        let marked = self.rules.recipes.get(request.recipe_index as usize)?;
        let (link, slots) = (marked.link.as_deref()?, request.slots.as_ref()?);
        Some(self.follow_link(slots.linked(marked, link, context)))
    }
    fn encoded_with(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext,
        memory: Option<&UserState>,
    ) -> Vec<u8> {
        let request = request.downcast::<HttpRequest>();
        let (mut bytes, body) = match &request.slots {
            None => (request.text().into_owned(), request.body()),
            Some(filled) => {
                let mut bytes = Vec::new();
                filled.put_bytes(context, &mut bytes);
                (bytes, filled.tail())
            }
        };
        let body = body.map(|body| &**body).unwrap_or_default();
        bytes.extend_from_slice(&body[..body.len().min(MAX_SHOWN_BYTES)]);
        if let Some(jar) = memory.and_then(UserState::get::<CookieJar>) {
            jar.put_into(&mut bytes, 0, request.flags & SECURE != 0, context.seconds());
        }
        bytes
    }
    fn trace(&self, request: &brunt_contract::Request, context: &SlotContext) -> Option<Trace> {
        let request = request.downcast::<HttpRequest>();
        match &request.slots {
            Some(filled) => filled.trace(context),
            // A redirected request has no slots left, so its text holds the trace.
            None => request.recipe.as_ref().and_then(|_| Trace::find_in_head(&request.text())),
        }
    }
    fn may_precede_run(&self, request: &brunt_contract::Request) -> bool {
        let sent = self.encoded_with(request, &SlotContext::default(), None);
        let method = sent.split(|byte| *byte == b' ').next().unwrap_or_default();
        self.prepared.max_requests.is_none() && SAFE_METHODS.iter().any(|safe| safe.as_bytes() == method)
    }
    fn update_state(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext,
        update: brunt_contract::StateUpdate,
        memory: &mut UserState,
    ) -> Option<ResourceSearch> {
        let request = request.downcast::<HttpRequest>();
        let lesson = update.downcast::<HttpStateUpdate>().ok()?;
        // Computed first, while the user's values are still the ones that the request was sent with.
        let found = lesson
            .resources
            .and_then(|heard| self.found(request, &SlotContext { values: &memory.values, ..*context }, heard));
        if let Some(heard) = lesson.cache {
            self.learn_cache(request, context, heard, memory);
        }
        if let Some(cookies) = lesson.cookies {
            SENT.with_borrow_mut(|sent| {
                put_head(request, &SlotContext { values: &memory.values, ..*context }, sent);
                let asked = cookies::site(sent, request.flags & SECURE != 0);
                if let (Some(asked), Some(jar)) = (asked, memory.get_mut::<CookieJar>()) {
                    jar.learn(&asked.site, *cookies, context.seconds());
                }
            });
        }
        lesson.values.store(memory);
        found
    }
    fn cached_response(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext,
        memory: &mut UserState,
    ) -> Option<CacheHit> {
        let request = request.downcast::<HttpRequest>();
        let checks = self.rules.checks(request.checks);
        let rule = checks.cache.as_ref()?;
        let with = SlotContext { values: &memory.values, ..*context };
        let expected = request.slots.as_ref().and_then(|slots| slots.expected(&with));
        let need = checks.needed_parts(expected.is_some());
        let kept = self.with_cache(request, context, memory, |cache, sent| cache.fresh(rule, sent, need))?;
        let judge =
            ResponseEvaluation::expecting(expected, if checks.captures.is_empty() { 0 } else { context.random });
        let lesson = judge.recall((&self.rules, checks), &kept)?;
        Some(CacheHit { bytes: kept.size, code: u32::from(kept.status), update: lesson })
    }
    fn session(&self, _origin: &Origin, _established: &EstablishedConnection) -> Box<dyn Session> {
        Box::new(Http1Session::new(Arc::clone(&self.rules)))
    }
    fn protocol_version(&self, _established: &EstablishedConnection) -> String {
        if self.http10 { "HTTP/1.0" } else { "HTTP/1.1" }.to_owned()
    }
}

/// Writes the head of a request with its slots filled, and a small body.
fn put_head(request: &HttpRequest, context: &SlotContext, head: &mut Vec<u8>) {
    head.clear();
    match &request.slots {
        None => head.extend_from_slice(&request.text()),
        Some(filled) => drop(filled.put_bytes(context, head)),
    }
}

/// Returns the default name of a request.
fn default_name(recipe: &Recipe, url: &brunt_contract::RequestedUrl) -> String {
    match &recipe.link {
        // `GET {link}`: there is no other path.
        Some(_) => {
            let text = url.url.strip_prefix("http://").unwrap_or(&url.url);
            format!("{} {}", recipe.method, text.split('?').next().unwrap_or_default())
        }
        None => format!("{} {}", recipe.method, url.path()),
    }
}

/// The pages of a run, collected while its requests are prepared.
#[derive(Default)]
struct PlannedPages(Vec<(resources::ResourceSettings, String, ResponseChecks)>);

impl PlannedPages {
    /// Adds a request whose response may be a page.
    fn add(&mut self, wished: &HttpSettings, recipe: &mut Recipe, name: String) {
        let Some(wish) = wished.pages() else { return };
        self.0.push((wish.clone(), name, wished.checks_of_resources()));
        // The number of checks has the same bound, and exceeding it is an error.
        recipe.page = u16::try_from(self.0.len()).unwrap_or(0);
    }

    /// Creates the page rules, once the origins of all requests are known.
    fn rules(
        self,
        origins: &[Origin],
        names: &mut RequestNames,
        others: &mut Vec<ResponseChecks>,
    ) -> Result<Vec<PageRule>, UsageError> {
        let rule = |(wish, name, checks): (resources::ResourceSettings, String, ResponseChecks)| {
            let allowed = Arc::new(AllowedHosts::of(origins, &wish));
            others.push(ResponseChecks { allowed_redirects: Some(Arc::clone(&allowed)), ..checks });
            let at = u16::try_from(others.len()).map_err(|_| too_many())?;
            Ok(PageRule::of(&wish, names.intern(&format!("resources of {name}")), at, allowed))
        };
        self.0.into_iter().map(rule).collect()
    }
}

/// Returns `true` if the URL with this index has its own checks.
fn has_own_checks(config: &ProtocolConfig, index: usize) -> bool {
    config.url_options.get(index).is_some_and(|own| own.keys().any(|name| RESPONSE_OPTIONS.contains(&name.as_str())))
}

fn too_many() -> UsageError {
    UsageError::new(
        "URL",
        complaint!(
            "more than 65,535 of them have their own checks; move shared ones next to the URLs",
            "有自己检查的 URL 超过 65,535 个；请把共同的检查写在各 URL 旁"
        ),
    )
}

/// The URL of a request.
enum UrlOrLink {
    Url(Url),
    /// A URL with placeholders, whose host is known only during the run.
    Link(Box<str>),
}

/// Parses a URL: what must be encoded is encoded, and the fragment is dropped.
fn parse_url(written: &str, marks: &mut Placeholders) -> Result<UrlOrLink, UsageError> {
    let text = marks.replace_url_slots(written, "URL")?;
    let text = &*if marks.occur_in(text.as_bytes()) { marks.fill_environment(&text)?.into() } else { text };
    if marks.is_link(text) {
        let alone = text.strip_prefix("http://").filter(|value| marks.is_one_slot(value));
        return Ok(UrlOrLink::Link(alone.unwrap_or(text).into()));
    }
    marks.url((written, text), ["http", "https"], no_url).map(UrlOrLink::Url)
}

/// Returns `true` if it may be known only during the run where a URL leads.
fn may_be_link(written: &str) -> bool {
    written
        .split_once("://")
        .is_some_and(|(_, behind)| behind.split(['/', '?']).next().is_some_and(|authority| authority.contains('{')))
}

/// Returns the URL that captured links are relative to: the first one that is known before the run.
fn base_url(config: &ProtocolConfig, marks: &mut Placeholders) -> Result<Url, UsageError> {
    for url in config.urls.iter() {
        if let UrlOrLink::Url(url) = parse_url(&url.url, marks)? {
            return Ok(url);
        }
    }
    let trouble = complaint!(
        "leads where a captured value says, and so does every other; write one with a host, from which the \
        value comes",
        "由提取的值决定，其他 URL 也都如此；请写一个带主机的 URL，用来取得该值"
    );
    Err(UsageError::new("URL", trouble))
}

fn no_url(text: &str, trouble: &Complaint) -> UsageError {
    let zh = trouble.zh();
    UsageError::new(
        "URL",
        complaint!(
            "\"{text}\" cannot be used ({trouble}); use http://host:port/path",
            "无法使用“{text}”（{zh}）；请写 http://host:port/path"
        ),
    )
}
