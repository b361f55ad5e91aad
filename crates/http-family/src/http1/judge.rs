//! Checks of a response beyond its framing: status, redirect, headers and body. Shared by all versions of HTTP.

use cause::Cause;
use memchr::memmem::Finder;
use wire::{Broken, Failed, FaultKind};

use super::captured::{Captured, Lesson};
use super::redirect::{self, Hop};
use super::request::{Checks, Recipe, Rules};
use crate::cache::{Answer, Judged};
use crate::cookies;
use crate::resources::{Body, Heard};
use values::capture::Taken;
use values::verify::header::Lines;
use values::verify::{self, Seen};
use values::watch::Watch;

/// Maximum length of a response excerpt kept as an example, in bytes.
pub const EXCERPT_BOUND: usize = 4096;

/// Maximum length of a body that is returned whole, in bytes.
const ANSWER_BOUND: usize = 16 << 20;

/// Options that are checks of a response, in the order of their bits.
pub const CHECKS: &[&str] = &["expect-status", "expect-header", "expect-body", "expect-json", "expect-trailer"];

/// State of the checks on one response, if more than its status matters.
#[derive(Debug, Default)]
pub struct Judge {
    /// Redirect that the response asks for.
    pub hop: Hop,
    /// Search for the expected text.
    watch: Option<Watch>,
    /// Checks that need headers or the whole body.
    seen: Option<Box<Seen>>,
    /// Expected text that differs per request.
    pub expected: Option<Box<Finder<'static>>>,
    /// Cookies that the response sets.
    cookies: Option<Box<cookies::Lesson>>,
    /// Effect on the user's cache.
    pub cache: Judged,
    /// Status of the stored response that a 304 confirms.
    instead: Option<u16>,
    /// Captures.
    captured: Captured,
    /// The whole body, if it is to be returned.
    answer: Option<Vec<u8>>,
    /// Random bits for captures that choose at random.
    pub random: u64,
    /// Set if there was no memory for the cookies.
    crowded: bool,
    /// Trailers, if they are looked at.
    pub trailers: Lines,
    /// Trailer checks that failed.
    without: Failed,
    /// The page whose resources are to be fetched, or a resource's redirect that is not followed.
    heard: Option<Box<Heard>>,
}

impl Judge {
    /// Creates the state for a request with its own expected text, and with random bits for captures.
    pub fn expecting(expected: Option<Box<Finder<'static>>>, random: u64) -> Judge {
        Judge { expected, random, ..Judge::default() }
    }

    /// Returns the text that the body must contain.
    fn text<'a>(&'a self, checks: &'a Checks) -> Option<&'a Finder<'static>> {
        self.expected.as_deref().or(checks.expect_body.as_ref())
    }

    /// Checks the head, in HTTP/1 form; `recipe` made the request. If a 304 confirms the user's stored response, that
    /// one is checked instead.
    ///
    /// # Errors
    /// Returns an error for a `Location` that is not an HTTP URL.
    pub fn head(
        &mut self,
        (rules, checks): (&Rules, &Checks),
        recipe: Option<&Recipe>,
        status: u16,
        text: &[u8],
    ) -> Result<(), Broken> {
        if rules.cache.is_some() {
            let method = recipe.map_or("GET", |recipe| &recipe.method);
            let need = checks.need(self.expected.is_some());
            if let Some(kept) = self.cache.head(method, need, status, text) {
                self.instead = Some(kept.status);
                self.look((rules, checks), None, kept.status, (kept.head(), text))?;
                self.feed((rules, checks), kept.body());
                return Ok(());
            }
        }
        self.look((rules, checks), recipe, status, (text, text))
    }

    /// Checks a response from the cache. Returns its state update, or `None` if a check fails.
    pub fn recall(mut self, rules: (&Rules, &Checks), kept: &Answer) -> Option<Option<wire::Lesson>> {
        self.look(rules, None, kept.status, (kept.head(), b"")).ok()?;
        self.feed(rules, kept.body());
        self.whole(rules, kept.status);
        self.verdict(rules, kept.status).is_none().then(|| self.lesson(true))
    }

    /// Checks the head `text`; cookies are taken only from `said`, the head that was received.
    fn look(
        &mut self,
        (rules, checks): (&Rules, &Checks),
        recipe: Option<&Recipe>,
        status: u16,
        (text, said): (&[u8], &[u8]),
    ) -> Result<(), Broken> {
        if checks.redirects > 0
            && redirect::is_redirect(status)
            && let Some(recipe) = recipe
        {
            self.hop = redirect::next(recipe, status, text, (rules, checks.redirects))?;
            self.stays(checks, recipe);
        }
        if checks.page && matches!(self.hop, Hop::None) && checks.success.has(status) {
            self.heard = Body::head(text).map(|body| Box::new(Heard::Page(body)));
        }
        let searched = self.text(checks).is_some();
        if let Some(jar) = &rules.jar {
            match cookies::heard(said, jar) {
                Ok(lesson) => self.cookies = lesson,
                Err(_) => self.crowded = true,
            }
        }
        let captures = if matches!(self.hop, Hop::None) { &checks.captures[..] } else { &[] };
        let whole = self.captured.head(captures, status, text, self.random) || checks.answers;
        self.seen = Seen::head(checks.expected.as_ref(), (searched, whole), text);
        if let Some(seen) = self.seen.as_mut().filter(|_| checks.answers) {
            seen.keep_up_to(ANSWER_BOUND);
        }
        // A buffered body is searched once it is complete.
        let streamed = self.seen.as_ref().is_none_or(|seen| !seen.keeps_body());
        self.watch = (searched && streamed).then(Watch::default);
        Ok(())
    }

    /// Drops a redirect of a resource that leads to a host that is not allowed; it is then an ordinary response.
    fn stays(&mut self, checks: &Checks, recipe: &Recipe) {
        let (Some(allowed), Hop::To(next)) = (&checks.leads, &self.hop) else { return };
        if !allowed.follows(&next.origin, &recipe.url) {
            (self.hop, self.heard) = (Hop::None, Some(Box::new(Heard::Elsewhere)));
        }
    }

    /// Processes a piece of the body.
    #[inline]
    pub fn feed(&mut self, (rules, checks): (&Rules, &Checks), piece: &[u8]) {
        let text = self.expected.as_deref().or(checks.expect_body.as_ref());
        if let (Some(watch), Some(text)) = (&mut self.watch, text) {
            watch.feed(piece, text);
        }
        if let Some(seen) = &mut self.seen {
            seen.feed(piece, &rules.kept);
        }
        if let Some(Heard::Page(body)) = self.heard.as_deref_mut() {
            body.feed(piece, rules);
        }
        self.cache.feed(piece, &rules.kept);
    }

    /// Completes the response: captures from body and trailers, unless something else failed.
    pub fn whole(&mut self, rules: (&Rules, &Checks), status: u16) {
        let status = self.instead.unwrap_or(status);
        if rules.1.trailers && matches!(self.hop, Hop::None) {
            self.look_behind(rules.1);
        }
        if self.captured.wants_trailers() && self.verdict(rules, status).is_none() {
            match self.trailers.text() {
                Ok(text) => self.captured.trailers(&rules.1.captures, text, self.random),
                Err(why) => self.captured.lost(FaultKind::WrongHeader, why),
            }
        }
        let wanted = self.captured.wants_body() || rules.1.answers;
        if wanted && self.verdict(rules, status).is_none() {
            let (rules, checks) = rules;
            match self.seen.as_ref().map(|seen| seen.whole(&rules.kept)) {
                Some(Err(why)) => self.captured.lost(FaultKind::WrongBody, why),
                body => {
                    let body = body.and_then(Result::ok);
                    let body = body.as_deref().unwrap_or_default();
                    if checks.answers {
                        self.answer = Some(body.to_vec());
                    } else {
                        self.captured.body(&checks.captures, body, self.random);
                    }
                }
            }
        }
    }

    /// Checks the trailers.
    #[cold]
    fn look_behind(&mut self, checks: &Checks) {
        let expected = checks.expected.iter().flat_map(|expected| &expected.trailers);
        let text = self.trailers.text().unwrap_or_default();
        self.without = Failed::default().all(expected.map(|line| !line.holds(text)));
    }

    /// Takes the state update for the user; it has values only if the response succeeded.
    pub fn lesson(&mut self, succeeded: bool) -> Option<wire::Lesson> {
        if let Some(body) = self.answer.take().filter(|_| succeeded) {
            return Some(Box::new(wire::Answer::Body(body)));
        }
        let cookies = self.cookies.take();
        let values = if succeeded { self.captured.take() } else { Taken::default() };
        let heard = self.heard.take().filter(|_| succeeded).map(|heard| *heard);
        let cache = self.cache.take().filter(|_| succeeded);
        let any = cookies.is_some() || !values.0.is_empty() || heard.is_some() || cache.is_some();
        any.then(|| Box::new(Lesson { cookies, values, heard, cache }) as wire::Lesson)
    }

    /// Returns the fault of the response, as far as it is known.
    pub fn verdict(&self, (rules, checks): (&Rules, &Checks), status: u16) -> Option<FaultKind> {
        let status = self.instead.unwrap_or(status);
        match &self.hop {
            _ if self.crowded => return Some(FaultKind::WrongHeader),
            Hop::To(_) => return None,
            Hop::TooMany => return Some(FaultKind::TooManyRedirects),
            Hop::None => {}
        }
        if !checks.success.has(status) {
            // Only a proxy sends this status.
            let of_proxy = status == 407 && !rules.proxies.is_empty();
            return Some(if of_proxy { FaultKind::Proxy } else { FaultKind::WrongStatus });
        }
        if self.without.any() {
            return Some(FaultKind::WrongHeader);
        }
        if let Some(seen) = &self.seen {
            let wrong = seen.verdict(checks.expected.as_ref(), self.text(checks), &rules.kept);
            if wrong.is_some() || seen.keeps_body() {
                return wrong.or(self.captured.missing());
            }
        }
        let missing = self.text(checks).is_some() && !self.watch.as_ref().is_some_and(Watch::found);
        missing.then_some(FaultKind::WrongBody).or(self.captured.missing())
    }

    /// Returns the bits of the named checks that a complete response failed, for a fault of this kind. Returns `None`
    /// if they were not evaluated.
    #[cold]
    pub fn failed(&self, (rules, checks): (&Rules, &Checks), status: u16, kind: FaultKind) -> Option<u32> {
        let looked = matches!(kind, FaultKind::WrongStatus | FaultKind::WrongHeader | FaultKind::WrongBody);
        let named = checks.says_success || checks.expected.is_some() || self.text(checks).is_some();
        if !named || !looked || !matches!(self.hop, Hop::None) {
            return None;
        }
        let status = self.instead.unwrap_or(status);
        let status = checks.says_success.then(|| !checks.success.has(status));
        let failed = Failed::default().all(status);
        let streamed = self.watch.as_ref().is_some_and(Watch::found);
        let expected = checks.expected.as_ref();
        let seen = self.seen.as_deref();
        let failed = Seen::failed(seen, expected, (self.text(checks), streamed), &rules.kept, failed);
        Some(failed.and(self.without, expected.map_or(0, |expected| expected.trailers.len())).bits())
    }

    /// Returns what the body should contain and what it contained, if that is the fault; `size` is the length of the
    /// body on the wire.
    #[cold]
    pub fn why(&self, (rules, checks): (&Rules, &Checks), kind: FaultKind, size: u64) -> Option<Cause> {
        let (expected, text) = (checks.expected.as_ref(), self.text(checks));
        match (&self.seen, &self.watch, text) {
            _ if kind == FaultKind::Proxy => Some(cause::proxy::unauthorized("-U NAME:PASSWORD")),
            _ if self.crowded => Some(cookies::NO_ROOM.into()),
            _ if self.captured.missing() == Some(kind) => self.captured.why(),
            _ if kind == FaultKind::WrongHeader && self.without.any() => self.why_behind(checks),
            _ if kind != FaultKind::WrongBody => None,
            (Some(seen), ..) if seen.keeps_body() => seen.why(expected, text, &rules.kept),
            (_, watch, Some(text)) => {
                let beginning = watch.as_ref().map_or(&b""[..], |watch| watch.beginning());
                Some(verify::lacks(cause::checks::body_lacks, text.needle(), beginning, size))
            }
            _ => None,
        }
    }

    fn why_behind(&self, checks: &Checks) -> Option<Cause> {
        let text = match self.trailers.text() {
            Ok(text) => text,
            Err(why) => return Some(why),
        };
        let mut expected = checks.expected.iter().flat_map(|expected| &expected.trailers);
        expected.find(|line| !line.holds(text)).map(|line| line.why_behind(text))
    }
}
