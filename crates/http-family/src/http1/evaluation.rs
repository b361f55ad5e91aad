//! Checks of a response beyond its framing: status, redirect, headers and body. Shared by all versions of HTTP.

use std::sync::Arc;

use brunt_cause::Cause;
use brunt_contract::{FailedChecks, FaultKind, ProtocolError};
use memchr::memmem::Finder;

use super::captures::{HttpStateUpdate, ResponseCaptures};
use super::redirect::{self, Redirect};
use super::request::{HttpRules, Recipe, ResponseChecks};
use crate::cache::{CacheObserver, CachedResponse};
use crate::cookies;
use crate::resources::{PageBody, ResourceOutcome};
use brunt_values::capture::CapturedValues;
use brunt_values::text_search::TextSearch;
use brunt_values::verify::header::KeptHeaderLines;
use brunt_values::verify::{self, AnswerChecks, Expectations, FilledChecks};

/// Maximum length of a response excerpt kept as an example, in bytes.
pub const EXCERPT_BOUND: usize = 4096;

/// Maximum length of a body returned to the caller, in bytes.
const ANSWER_BOUND: usize = 16 << 20;

/// Options that check a response, in the order of their bits.
pub const CHECKS: &[&str] = &["expect-status", "expect-header", "expect-body", "expect-json", "expect-trailer"];

/// State of the checks on a response of which more than the status matters.
#[derive(Debug, Default)]
pub struct ResponseEvaluation {
    /// Redirect that the response asks for.
    pub hop: Redirect,
    /// Search for the expected text.
    search: Option<TextSearch>,
    /// Checks that need headers or the whole body.
    verification: Option<Box<AnswerChecks>>,
    /// The checks, if they differ per request.
    pub expected: Option<Arc<FilledChecks>>,
    /// Cookies that the response sets.
    cookies: Option<Box<cookies::CookieUpdates>>,
    /// Effect on the user's cache.
    pub cache: CacheObserver,
    /// Status of the stored response that a 304 confirms.
    stored_status: Option<u16>,
    /// State of the captures.
    captured: ResponseCaptures,
    /// The whole body, if it is returned to the caller.
    returned_body: Option<Vec<u8>>,
    /// Random bits for captures that choose at random.
    pub random: u64,
    /// Set if there was no memory for the cookies.
    out_of_memory: bool,
    /// Trailers, if they are examined.
    pub trailers: KeptHeaderLines,
    /// Trailer checks that failed.
    failed_trailers: FailedChecks,
    /// The page whose resources will be fetched, or the redirect of a resource that is not followed.
    resources: Option<Box<ResourceOutcome>>,
}

impl ResponseEvaluation {
    /// Creates the state for a request with its own checks; `random` holds random bits for captures.
    pub fn expecting(expected: Option<Arc<FilledChecks>>, random: u64) -> ResponseEvaluation {
        ResponseEvaluation { expected, random, ..ResponseEvaluation::default() }
    }

    /// Returns the text that the body must contain.
    fn text<'a>(&'a self, checks: &'a ResponseChecks) -> Option<&'a Finder<'static>> {
        self.expected.as_ref().map_or(checks.expect_body.as_ref(), |filled| filled.text.as_ref())
    }

    /// Returns what the response must have besides that text.
    fn expectations<'a>(&'a self, checks: &'a ResponseChecks) -> Option<&'a Expectations> {
        self.expected.as_ref().map_or(checks.expected.as_ref(), |filled| filled.expected.as_ref())
    }

    /// Checks the head, in HTTP/1 form; `recipe` is that of the request. If a 304 confirms the user's stored response,
    /// the stored response is checked instead.
    ///
    /// # Errors
    /// Returns an error for a `Location` that is not an HTTP URL.
    pub fn head(
        &mut self,
        (rules, checks): (&HttpRules, &ResponseChecks),
        recipe: Option<&Recipe>,
        status: u16,
        text: &[u8],
    ) -> Result<(), ProtocolError> {
        if checks.cache.is_some() {
            let method = recipe.map_or("GET", |recipe| &recipe.method);
            let need = checks.needed_parts(self.expected.is_some());
            if let Some(kept) = self.cache.head(method, need, status, text) {
                self.stored_status = Some(kept.status);
                self.check_head((rules, checks), None, kept.status, (kept.head(), text))?;
                self.feed((rules, checks), kept.body());
                return Ok(());
            }
        }
        self.check_head((rules, checks), recipe, status, (text, text))
    }

    /// Checks a response from the cache. Returns its state update, or `None` if a check fails.
    pub fn recall(
        mut self,
        rules: (&HttpRules, &ResponseChecks),
        kept: &CachedResponse,
    ) -> Option<Option<brunt_contract::StateUpdate>> {
        self.check_head(rules, None, kept.status, (kept.head(), b"")).ok()?;
        self.feed(rules, kept.body());
        self.complete(rules, kept.status);
        self.verdict(rules, kept.status).is_none().then(|| self.state_update(true))
    }

    /// Checks the head `text`. Cookies are taken only from `said`, the head that was actually received.
    fn check_head(
        &mut self,
        (rules, checks): (&HttpRules, &ResponseChecks),
        recipe: Option<&Recipe>,
        status: u16,
        (text, said): (&[u8], &[u8]),
    ) -> Result<(), ProtocolError> {
        if checks.redirects > 0
            && redirect::is_redirect(status)
            && let Some(recipe) = recipe
        {
            let expected = self.expected.as_ref();
            self.hop = redirect::next((recipe, expected), status, text, (rules, checks.redirects))?;
            self.drop_disallowed_redirect(checks, recipe);
        }
        if checks.fetches_resources && matches!(self.hop, Redirect::None) && checks.success.contains(status) {
            self.resources = PageBody::head(text).map(|body| Box::new(ResourceOutcome::Page(body)));
        }
        let searched = self.text(checks).is_some();
        if let Some(jar) = &rules.jar {
            match cookies::read_set_cookies(said, jar) {
                Ok(lesson) => self.cookies = lesson,
                Err(_) => self.out_of_memory = true,
            }
        }
        let captures = if matches!(self.hop, Redirect::None) { &checks.captures[..] } else { &[] };
        let whole = self.captured.head(captures, status, text, self.random) || checks.returns_body;
        self.verification = AnswerChecks::from_head(self.expectations(checks), (searched, whole), text);
        if let Some(seen) = self.verification.as_mut().filter(|_| checks.returns_body) {
            seen.set_body_limit(ANSWER_BOUND);
        }
        // A buffered body is searched once it is complete.
        let streamed = self.verification.as_ref().is_none_or(|seen| !seen.keeps_body());
        self.search = (searched && streamed).then(TextSearch::default);
        Ok(())
    }

    /// Drops a resource's redirect to a disallowed host; the response is then an ordinary one.
    fn drop_disallowed_redirect(&mut self, checks: &ResponseChecks, recipe: &Recipe) {
        let (Some(allowed), Redirect::Follow(next)) = (&checks.allowed_redirects, &self.hop) else { return };
        if !allowed.allows_redirect(&next.origin, &recipe.url) {
            (self.hop, self.resources) = (Redirect::None, Some(Box::new(ResourceOutcome::Disallowed)));
        }
    }

    /// Processes a piece of the body.
    #[inline]
    pub fn feed(&mut self, (rules, checks): (&HttpRules, &ResponseChecks), piece: &[u8]) {
        let text = self.expected.as_ref().map_or(checks.expect_body.as_ref(), |filled| filled.text.as_ref());
        if let (Some(watch), Some(text)) = (&mut self.search, text) {
            watch.feed(piece, text);
        }
        if let Some(seen) = &mut self.verification {
            seen.feed(piece, &rules.budget);
        }
        if let Some(ResourceOutcome::Page(body)) = self.resources.as_deref_mut() {
            body.feed(piece, rules);
        }
        self.cache.feed(piece, &rules.budget);
    }

    /// Completes the response: captures from body and trailers, unless something else has failed.
    pub fn complete(&mut self, rules: (&HttpRules, &ResponseChecks), status: u16) {
        let status = self.stored_status.unwrap_or(status);
        if rules.1.trailers && matches!(self.hop, Redirect::None) {
            self.check_trailers(rules.1);
        }
        if self.captured.wants_trailers() && self.verdict(rules, status).is_none() {
            match self.trailers.text() {
                Ok(text) => self.captured.trailers(&rules.1.captures, text, self.random),
                Err(why) => self.captured.fail(FaultKind::WrongHeader, why),
            }
        }
        let wanted = self.captured.wants_body() || rules.1.returns_body;
        if wanted && self.verdict(rules, status).is_none() {
            let (rules, checks) = rules;
            match self.verification.as_ref().map(|seen| seen.decoded_body(&rules.budget)) {
                Some(Err(why)) => self.captured.fail(FaultKind::WrongBody, why),
                body => {
                    let body = body.and_then(Result::ok);
                    let body = body.as_deref().unwrap_or_default();
                    if checks.returns_body {
                        self.returned_body = Some(body.to_vec());
                    } else {
                        self.captured.body(&checks.captures, body, self.random);
                    }
                }
            }
        }
    }

    /// Checks the trailers.
    #[cold]
    fn check_trailers(&mut self, checks: &ResponseChecks) {
        let text = match self.trailers.text() {
            Ok(text) => text,
            Err(why) => return self.captured.fail(FaultKind::WrongHeader, why),
        };
        let expected = self.expectations(checks).into_iter().flat_map(|expected| &expected.trailers);
        self.failed_trailers = FailedChecks::default().extend(expected.map(|line| !line.holds(text)));
    }

    /// Takes the state update for the user; it has values only if the response succeeded.
    pub fn state_update(&mut self, succeeded: bool) -> Option<brunt_contract::StateUpdate> {
        if let Some(body) = self.returned_body.take().filter(|_| succeeded) {
            return Some(Box::new(brunt_contract::ResponseContent::Body(body)));
        }
        let cookies = self.cookies.take();
        let values = if succeeded { self.captured.take() } else { CapturedValues::default() };
        let heard = self.resources.take().filter(|_| succeeded).map(|heard| *heard);
        let cache = self.cache.take().filter(|_| succeeded);
        let any = cookies.is_some() || !values.0.is_empty() || heard.is_some() || cache.is_some();
        any.then(|| {
            Box::new(HttpStateUpdate { cookies, values, resources: heard, cache }) as brunt_contract::StateUpdate
        })
    }

    /// Returns the fault of the response, if one is known yet.
    pub fn verdict(&self, (rules, checks): (&HttpRules, &ResponseChecks), status: u16) -> Option<FaultKind> {
        let status = self.stored_status.unwrap_or(status);
        match &self.hop {
            _ if self.out_of_memory => return Some(FaultKind::Unchecked),
            Redirect::Follow(_) => return None,
            Redirect::TooMany(_) => return Some(FaultKind::TooManyRedirects),
            Redirect::None => {}
        }
        if !checks.success.contains(status) {
            // Only a proxy sends this status.
            let of_proxy = status == 407 && !rules.proxies.is_empty();
            return Some(if of_proxy { FaultKind::Proxy } else { FaultKind::WrongStatus });
        }
        if self.failed_trailers.any() {
            return Some(FaultKind::WrongHeader);
        }
        if let Some(seen) = &self.verification {
            let wrong = seen.verdict(self.expectations(checks), self.text(checks), &rules.budget);
            if wrong.is_some() || seen.keeps_body() {
                return wrong.or(self.captured.fault());
            }
        }
        let missing = self.text(checks).is_some() && !self.search.as_ref().is_some_and(TextSearch::found);
        missing.then_some(FaultKind::WrongBody).or(self.captured.fault())
    }

    /// Returns the bits of the named checks that a complete response failed, for a fault of this kind. Returns `None`
    /// if they were not evaluated.
    #[cold]
    pub fn failed(&self, (rules, checks): (&HttpRules, &ResponseChecks), status: u16, kind: FaultKind) -> Option<u32> {
        let looked = matches!(kind, FaultKind::WrongStatus | FaultKind::WrongHeader | FaultKind::WrongBody);
        let expected = self.expectations(checks);
        let named = checks.names_statuses || expected.is_some() || self.text(checks).is_some();
        if !named || !looked || !matches!(self.hop, Redirect::None) {
            return None;
        }
        let status = self.stored_status.unwrap_or(status);
        let status = checks.names_statuses.then(|| !checks.success.contains(status));
        let failed = FailedChecks::default().extend(status);
        let streamed = self.search.as_ref().is_some_and(TextSearch::found);
        let seen = self.verification.as_deref();
        let failed = AnswerChecks::failed_checks(seen, expected, (self.text(checks), streamed), &rules.budget, failed);
        Some(failed.append(self.failed_trailers, expected.map_or(0, |expected| expected.trailers.len())).bits())
    }

    /// Returns the cause of a fault of this kind; if the body is at fault, the cause holds the expected and the actual
    /// content. `size` is the length of the body on the wire.
    #[cold]
    pub fn why(&self, (rules, checks): (&HttpRules, &ResponseChecks), kind: FaultKind, size: u64) -> Option<Cause> {
        let (expected, text) = (self.expectations(checks), self.text(checks));
        if let (Redirect::TooMany(Some(url)), FaultKind::TooManyRedirects) = (&self.hop, kind) {
            // What a query holds is nobody's concern here.
            let place = format!("{}{}", url.origin().ascii_serialization(), url.path());
            return Some(brunt_cause::http1::redirect_loop(place));
        }
        match (&self.verification, &self.search, text) {
            _ if kind == FaultKind::Proxy => Some(brunt_cause::proxy::unauthorized("-U NAME:PASSWORD")),
            _ if self.out_of_memory => Some(cookies::NO_ROOM.into()),
            _ if self.captured.fault() == Some(kind) => self.captured.why(),
            _ if kind == FaultKind::WrongHeader && self.failed_trailers.any() => self.trailer_cause(checks),
            _ if !matches!(kind, FaultKind::WrongBody | FaultKind::Unchecked) => None,
            (Some(seen), ..) if seen.keeps_body() => seen.mismatch(expected, text, &rules.budget),
            (_, watch, Some(text)) => {
                let beginning = watch.as_ref().map_or(&b""[..], |watch| watch.beginning());
                Some(verify::missing_text(brunt_cause::checks::body_lacks, text.needle(), beginning, size))
            }
            _ => None,
        }
    }

    fn trailer_cause(&self, checks: &ResponseChecks) -> Option<Cause> {
        let text = match self.trailers.text() {
            Ok(text) => text,
            Err(why) => return Some(why),
        };
        let mut expected = self.expectations(checks).into_iter().flat_map(|expected| &expected.trailers);
        expected.find(|line| !line.holds(text)).map(|line| line.trailer_mismatch(text))
    }
}
