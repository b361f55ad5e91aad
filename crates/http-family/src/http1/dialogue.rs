//! HTTP/1.1 as a protocol of the program: its schemes, its options, and a run's requests, encoded before it starts.

use std::cell::RefCell;
use std::sync::Arc;

use cause::{Cause, reaching};
use url::Url;
use wire::{
    About, Asked, Complaint, Dialogue, Draft, Established, Fill, Follow, Found, Memory, Names, Origin, Prepared,
    Protocol, Proxies, Recalled, SHOWN, Session, Trace, Weighted,
};

use super::captured::Lesson;
use super::filled::compiled;
use super::judge::Judge;
use super::options::{self, OF_ONE_URL, OF_RESPONSE, Wishes};
use super::request::{Checks, Content, Encoder, HeaderWish, Recipe, Request, Rules, encode, encode_listed};
use super::session::{EXPECTS, Http1Session, LAST, SECURE};
use super::withheld;
use crate::cache::{self, Cache};
use crate::cookies::{self, Jar};
use crate::marks::Marks;
use crate::resources::{self, Allowed, Heard, PageRule, RESOURCES};
use values::template::Guard;
use values::url_overrides;

thread_local! {
    /// Buffer for a request head, used when its response sets cookies or is looked up in the cache.
    static SENT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// HTTP/1.1 over TCP and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Http1;

impl Protocol for Http1 {
    fn about(&self) -> About<'_> {
        About { checks: super::judge::CHECKS, ..About::new("http", &["http", "https"], options::OPTIONS, OF_ONE_URL) }
    }

    fn prepare(&self, asked: &Asked) -> Result<Arc<dyn Dialogue>, Complaint> {
        let mut marks = Marks::new(asked);
        match self.dialogue(asked, Arc::clone(&asked.proxies), &mut marks) {
            Ok((mut dialogue, requests)) => {
                dialogue.prepared.requests = Box::new(requests);
                Ok(Arc::new(dialogue))
            }
            Err(complaint) => Err(marks.complaint(complaint)),
        }
    }
}

impl Http1 {
    /// Prepares like [`Protocol::prepare`], with slots replaced by placeholders. Returns the requests separately, so
    /// that another version can add to them. `proxies` are those that forward requests instead of tunneling them.
    pub(crate) fn dialogue(
        self,
        asked: &Asked,
        proxies: Arc<Proxies>,
        marks: &mut Marks,
    ) -> Result<(Http1Dialogue, Vec<Weighted<Request>>), Complaint> {
        let wishes = Wishes::read(asked, marks)?;
        let (mut origins, mut recipes, mut names) = (Vec::new(), Vec::new(), Names::default());
        let mut requests = Vec::with_capacity(asked.urls.len());
        let mut encoder = (asked.urls.len() > 1).then(Encoder::default);
        let own_has = |name: &str| asked.own.iter().any(|own| own.contains_key(name));
        let follows = wishes.follows()
            || own_has("redirects")
            || wishes.pages().is_some()
            || own_has(RESOURCES)
            || asked.composes;
        let (mut others, mut pages) = (Vec::new(), Planned::default());
        let (mut withheld, mut slots, mut once) = (false, false, true);
        for (index, url) in asked.urls.iter().enumerate() {
            let own = url_overrides::wished(asked, index, OF_ONE_URL, |asked| Wishes::read(asked, marks))?;
            let wished = own.as_ref().unwrap_or(&wishes);
            let mut recipe = wished.recipe(parse_url(&url.url, marks)?);
            let expect_filled = wished.expect_filled().map(str::to_owned);
            let called = asked.name(index).map_or_else(|| unnamed(&recipe, url), str::to_owned);
            pages.add(wished, &mut recipe, called);
            if let Some(own) = own.filter(|_| checked_apart(asked, index)) {
                others.push(own.checks());
                recipe.checks = u16::try_from(others.len()).map_err(|_| too_many())?;
            }
            let place = recipe.goes_by(&proxies).ok_or_else(|| no_url(&url.url, "it has no host"))?;
            let origin = origins.iter().position(|o| *o == place).unwrap_or_else(|| {
                origins.push(place);
                origins.len() - 1
            });
            let request = match &mut encoder {
                Some(encoder) => encoder.encode(&recipe, index as u32),
                None => encode_listed(&recipe, index as u32),
            };
            let request = compiled(request, &mut recipe, (follows, expect_filled.as_deref()), marks)?;
            withheld |= request.marks & EXPECTS != 0;
            slots |= request.slots.is_some();
            once &= request.marks & LAST != 0;
            requests.push(Weighted::new(request, origin, url.weight));
            match asked.name(index) {
                Some(name) => names.add(name),
                None => names.add(&unnamed(&recipe, url)),
            }
            if follows {
                recipes.push(recipe);
            }
        }
        if requests.is_empty() {
            return Err(Complaint::new("URL", "none was given; write one, for instance http://127.0.0.1:8080/"));
        }
        let old = wishes.speaks_old();
        withheld::check(asked, withheld)?;
        let pages = pages.rules(&origins, &mut names, &mut others)?;
        let mut rules = wishes.rules(others, (recipes, pages), proxies);
        // With `Expect: 100-continue`, more than the status of a response matters.
        for checks in std::iter::once(&mut rules.first).chain(&mut rules.others).filter(|_| withheld) {
            (checks.plain, checks.but_cookies) = (false, false);
        }
        let looks = |what: fn(&Checks) -> bool| rules.all().any(what);
        let prepared = Prepared {
            one_exchange_per_connection: once,
            reads_closely: looks(|checks| !checks.plain),
            remembers: rules.remember(),
            recalls: rules.cache.is_some(),
            // Cookies need the time, which is part of the slot context.
            has_slots: slots || rules.remember() || looks(|checks| !checks.captures.is_empty()),
            requests_at_most: marks.end(),
            ..Prepared::new(Vec::<Weighted<Request>>::new(), origins, names)
        };
        Ok((Http1Dialogue { prepared, rules: Arc::new(rules), old }, requests))
    }
}

/// The workload of a run over HTTP/1.1.
#[derive(Debug)]
pub struct Http1Dialogue {
    pub(crate) prepared: Prepared,
    pub(crate) rules: Arc<Rules>,
    /// Set for HTTP/1.0.
    old: bool,
}

impl Http1Dialogue {
    /// Calls `ask` with the user's cache and the request as it is sent.
    fn as_sent<T>(
        &self,
        request: &Request,
        fill: &Fill,
        memory: &mut Memory,
        ask: impl FnOnce(&mut Cache, cache::Sent<'_>) -> Option<T>,
    ) -> Option<T> {
        let (iteration, secure) = (memory.iteration(), request.marks & SECURE != 0);
        SENT.with_borrow_mut(|sent| {
            put_head(request, &Fill { values: &memory.values, ..*fill }, sent);
            if let Some(jar) = memory.get::<Jar>() {
                jar.put_into(sent, 0, secure, fill.seconds());
            }
            let sent = cache::Sent { head: sent, secure, at: fill.unix_ns, iteration };
            ask(memory.lasting_mut::<Cache>()?, sent)
        })
    }

    /// Applies a response to the user's cache.
    fn learn_cache(&self, request: &Request, fill: &Fill, heard: cache::Heard, memory: &mut Memory) {
        let Some(rule) = &self.rules.cache else { return };
        let mut saved = memory.saved;
        if let cache::Heard::Confirmed(_, answer) = &heard {
            saved.confirmed += 1;
            saved.bytes += answer.size;
        }
        let kept = self.as_sent(request, fill, memory, |cache, sent| Some(cache.learn(rule, sent, heard)));
        saved.unkept += u32::from(kept == Some(false));
        memory.saved = saved;
    }

    /// Returns the search for the resources of a page, or the report of a resource that redirects to a host that is not
    /// allowed.
    fn found(&self, request: &Request, fill: &Fill, heard: Heard) -> Option<Found> {
        let rules = &self.rules;
        let recipe = request.own.as_deref().or_else(|| rules.recipes.get(request.listed as usize))?;
        let recipe = request.slots.as_ref().map_or_else(|| recipe.clone(), |filled| filled.recipe(recipe, fill));
        let Heard::Page(body) = heard else { return Some(resources::elsewhere()) };
        let rule = rules.pages.get(usize::from(recipe.page).checked_sub(1)?)?;
        Some(resources::found(body, rule, recipe, rules))
    }
}

impl Http1Dialogue {
    /// Returns the recipe of a prepared request, changed by a draft.
    fn drafted(&self, like: &Request, draft: &Draft) -> Result<Recipe, Cause> {
        if like.slots.is_some() {
            return Err(reaching::like_one_with_slots().into());
        }
        let recipe = like.own.as_deref().or_else(|| self.rules.recipes.get(like.listed as usize));
        let mut recipe = recipe.cloned().ok_or_else(|| Cause::from(reaching::made_from_nothing()))?;
        if let Some(url) = &draft.url {
            let mut url = recipe.url.join(url).map_err(|why| reaching::no_url(url, why.to_string()))?;
            url.set_fragment(None);
            if recipe.url.origin() != url.origin() {
                recipe.leave_origin();
            }
            (recipe.url, recipe.target) = (url, None);
        }
        if let Some(method) = &draft.method {
            recipe.method.clone_from(method);
        }
        for (name, value) in &draft.headers {
            recipe.headers.retain(|known| !known.name().eq_ignore_ascii_case(name));
            recipe.headers.push(HeaderWish::Set(name.clone(), format!(" {value}")));
        }
        if let Some(body) = &draft.body {
            let kind = recipe.content.and_then(|content| content.kind);
            recipe.content = Some(Content { bytes: body.as_slice().into(), kind, length: None, chunked: false });
        }
        Ok(recipe)
    }
}

impl Dialogue for Http1Dialogue {
    fn prepared(&self) -> &Prepared {
        &self.prepared
    }
    fn alpn(&self, _origin: &Origin) -> &[&'static [u8]] {
        &[b"http/1.1"]
    }
    fn compose(&self, like: &wire::Request, draft: &Draft) -> Result<Follow, Cause> {
        let mut recipe = self.drafted(like.of(), draft)?;
        let origin = recipe.goes_by(&self.rules.proxies).ok_or_else(|| reaching::no_web_url(recipe.url.as_str()))?;
        Ok(Follow { origin, request: wire::Request::shared(encode(&Arc::new(recipe))) })
    }
    fn sent_with(&self, request: &wire::Request, fill: &Fill, memory: Option<&Memory>) -> Vec<u8> {
        let request = request.of::<Request>();
        let (mut bytes, body) = match &request.slots {
            None => (request.text().into_owned(), request.body()),
            Some(filled) => {
                let mut bytes = Vec::new();
                filled.put_bytes(fill, &mut bytes);
                (bytes, filled.tail())
            }
        };
        let body = body.map(|body| &**body).unwrap_or_default();
        bytes.extend_from_slice(&body[..body.len().min(SHOWN)]);
        if let Some(jar) = memory.and_then(Memory::get::<Jar>) {
            jar.put_into(&mut bytes, 0, request.marks & SECURE != 0, fill.seconds());
        }
        bytes
    }
    fn trace(&self, request: &wire::Request, fill: &Fill) -> Option<Trace> {
        let request = request.of::<Request>();
        match &request.slots {
            Some(filled) => filled.trace(fill),
            // A redirected request has no slots left, so its text holds the trace.
            None => request.own.as_ref().and_then(|_| Trace::within(&request.text())),
        }
    }
    fn learn(&self, request: &wire::Request, fill: &Fill, lesson: wire::Lesson, memory: &mut Memory) -> Option<Found> {
        let request = request.of::<Request>();
        let lesson = lesson.downcast::<Lesson>().ok()?;
        // Computed first, while the values are those the request was sent with.
        let found =
            lesson.heard.and_then(|heard| self.found(request, &Fill { values: &memory.values, ..*fill }, heard));
        if let Some(heard) = lesson.cache {
            self.learn_cache(request, fill, heard, memory);
        }
        if let Some(cookies) = lesson.cookies {
            SENT.with_borrow_mut(|sent| {
                put_head(request, &Fill { values: &memory.values, ..*fill }, sent);
                let asked = cookies::site(sent, request.marks & SECURE != 0);
                if let (Some(asked), Some(jar)) = (asked, memory.get_mut::<Jar>()) {
                    jar.learn(&asked.site, *cookies, fill.seconds());
                }
            });
        }
        lesson.values.learn(memory);
        found
    }
    fn recall(&self, request: &wire::Request, fill: &Fill, memory: &mut Memory) -> Option<Recalled> {
        let request = request.of::<Request>();
        let (rule, checks) = (self.rules.cache.as_ref()?, self.rules.checks(request.checks));
        let with = Fill { values: &memory.values, ..*fill };
        let expected = request.slots.as_ref().and_then(|slots| slots.expected(&with));
        let need = checks.need(expected.is_some());
        let kept = self.as_sent(request, fill, memory, |cache, sent| cache.fresh(rule, sent, need))?;
        let judge = Judge::expecting(expected, if checks.captures.is_empty() { 0 } else { fill.random });
        let lesson = judge.recall((&self.rules, checks), &kept)?;
        Some(Recalled { bytes: kept.size, code: u32::from(kept.status), lesson })
    }
    fn session(&self, _origin: &Origin, _established: &Established) -> Box<dyn Session> {
        Box::new(Http1Session::new(Arc::clone(&self.rules)))
    }
    fn spoken(&self, _established: &Established) -> String {
        if self.old { "HTTP/1.0" } else { "HTTP/1.1" }.to_owned()
    }
}

/// Writes the head of a request with its slots filled, and a small body.
fn put_head(request: &Request, fill: &Fill, head: &mut Vec<u8>) {
    head.clear();
    match &request.slots {
        None => head.extend_from_slice(&request.text()),
        Some(filled) => drop(filled.put_bytes(fill, head)),
    }
}

/// Returns the default name of a request.
fn unnamed(recipe: &Recipe, url: &wire::AskedUrl) -> String {
    format!("{} {}", recipe.method, url.path())
}

/// The pages of a run, collected while its requests are prepared.
#[derive(Default)]
struct Planned(Vec<(resources::Wish, String, Checks)>);

impl Planned {
    /// Adds a request whose response may be a page.
    fn add(&mut self, wished: &Wishes, recipe: &mut Recipe, name: String) {
        let Some(wish) = wished.pages() else { return };
        self.0.push((wish.clone(), name, wished.checks_of_resources()));
        // The number of checks is bounded likewise, with an error.
        recipe.page = u16::try_from(self.0.len()).unwrap_or(0);
    }

    /// Creates the page rules, once the origins of all requests are known.
    fn rules(
        self,
        origins: &[Origin],
        names: &mut Names,
        others: &mut Vec<Checks>,
    ) -> Result<Vec<PageRule>, Complaint> {
        let rule = |(wish, name, checks): (resources::Wish, String, Checks)| {
            let allowed = Arc::new(Allowed::of(origins, &wish));
            others.push(Checks { leads: Some(Arc::clone(&allowed)), ..checks });
            let at = u16::try_from(others.len()).map_err(|_| too_many())?;
            Ok(PageRule::of(&wish, names.beside(&format!("resources of {name}")), at, allowed))
        };
        self.0.into_iter().map(rule).collect()
    }
}

/// Returns `true` if the URL with this index has checks of its own.
fn checked_apart(asked: &Asked, index: usize) -> bool {
    asked.own.get(index).is_some_and(|own| own.keys().any(|name| OF_RESPONSE.contains(&name.as_str())))
}

fn too_many() -> Complaint {
    Complaint::new("URL", "more than 65,535 of them have their own checks; move shared ones next to the URLs")
}

/// Parses a URL: what must be encoded is encoded, and the fragment is dropped.
fn parse_url(written: &str, marks: &mut Marks) -> Result<Url, Complaint> {
    let text = marks.take(written, "URL", Guard::Url)?;
    let text = &*if marks.are_in(text.as_bytes()) { marks.settled(&text)?.into() } else { text };
    marks.url((written, text), ["http", "https"], no_url)
}

fn no_url(text: &str, trouble: &str) -> Complaint {
    Complaint::new("URL", format!("\"{text}\" cannot be used ({trouble}); write http://host:port/path"))
}
