//! What decides about an answer beyond its framing: its status, where it sends us, and what its body must hold. The same
//! for every version of HTTP.

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

/// The most bytes of an answer kept as an example.
pub const EXCERPT_BOUND: usize = 4096;

/// The most bytes of a body that is told whole.
const ANSWER_BOUND: usize = 16 << 20;

/// Options that are checks of a response, in the order in which they are told apart.
pub const CHECKS: &[&str] = &["expect-status", "expect-header", "expect-body", "expect-json", "expect-trailer"];

/// What was seen of an answer so far, where more than its status decides.
#[derive(Debug, Default)]
pub struct Judge {
    /// Where the answer sends us.
    pub hop: Hop,
    /// Looks for the expected text.
    watch: Option<Watch>,
    /// What else is expected of it, where that needs a closer look.
    seen: Option<Box<Seen>>,
    /// The text its body must hold, where that is another for each request.
    pub expected: Option<Box<Finder<'static>>>,
    /// Cookies that its user is to keep.
    cookies: Option<Box<cookies::Lesson>>,
    /// What it is to the cache of its user.
    pub cache: Judged,
    /// The status of the answer that is kept, where this one says that it is still good.
    instead: Option<u16>,
    /// What was taken out of it.
    captured: Captured,
    /// The whole of its body, for who asks for it.
    answer: Option<Vec<u8>>,
    /// Random bits, for a capture that takes one of several at random.
    pub random: u64,
    /// There is no room for that.
    crowded: bool,
    /// What came behind its body, where that is looked into.
    pub trailers: Lines,
    /// Which of the lines that must stand there do not.
    without: Failed,
    /// A page whose resources are to be fetched, or one of these that leads elsewhere.
    heard: Option<Box<Heard>>,
}

impl Judge {
    /// Of a request whose response must hold a text of its own, or of whose response something is taken with these random bits.
    pub fn expecting(expected: Option<Box<Finder<'static>>>, random: u64) -> Judge {
        Judge { expected, random, ..Judge::default() }
    }

    /// The text that the body must hold.
    fn text<'a>(&'a self, checks: &'a Checks) -> Option<&'a Finder<'static>> {
        self.expected.as_deref().or(checks.expect_body.as_ref())
    }

    /// The head is there, as HTTP/1 writes it: `recipe` made the request. Of one that says that what its user has is still good, that
    /// is what is judged.
    ///
    /// # Errors
    /// A `Location` that is no HTTP URL.
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

    /// An answer that its user has already: what it asks its user to keep, where nothing is wrong with it.
    pub fn recall(mut self, rules: (&Rules, &Checks), kept: &Answer) -> Option<Option<wire::Lesson>> {
        self.look(rules, None, kept.status, (kept.head(), b"")).ok()?;
        self.feed(rules, kept.body());
        self.whole(rules, kept.status);
        self.verdict(rules, kept.status).is_none().then(|| self.lesson(true))
    }

    /// `text` is the head that is looked at, `said` the one that came: it alone sets cookies.
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
        // A body that is kept is searched once it is whole.
        let streamed = self.seen.as_ref().is_none_or(|seen| !seen.keeps_body());
        self.watch = (searched && streamed).then(Watch::default);
        Ok(())
    }

    /// A resource leads nowhere but where resources may be fetched from: its redirect is a response like others.
    fn stays(&mut self, checks: &Checks, recipe: &Recipe) {
        let (Some(allowed), Hop::To(next)) = (&checks.leads, &self.hop) else { return };
        if !allowed.follows(&next.origin, &recipe.url) {
            (self.hop, self.heard) = (Hop::None, Some(Box::new(Heard::Elsewhere)));
        }
    }

    /// A piece of the body.
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

    /// The answer is whole: what is to be taken out of its body and from behind it is, where nothing else is wrong.
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

    /// Whether behind the body stands what must.
    #[cold]
    fn look_behind(&mut self, checks: &Checks) {
        let expected = checks.expected.iter().flat_map(|expected| &expected.trailers);
        let text = self.trailers.text().unwrap_or_default();
        self.without = Failed::default().all(expected.map(|line| !line.holds(text)));
    }

    /// What its user is to keep; values only where it succeeded.
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

    /// What is wrong with the answer, by what was seen so far.
    pub fn verdict(&self, (rules, checks): (&Rules, &Checks), status: u16) -> Option<FaultKind> {
        let status = self.instead.unwrap_or(status);
        match &self.hop {
            _ if self.crowded => return Some(FaultKind::WrongHeader),
            Hop::To(_) => return None,
            Hop::TooMany => return Some(FaultKind::TooManyRedirects),
            Hop::None => {}
        }
        if !checks.success.has(status) {
            // Only a proxy asks for this.
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

    /// Of a whole answer that is wrong in this way: which of the checks by name failed. None: they were not looked at.
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

    /// What was expected of a body and what was found instead, where that is what is wrong; `size` is the body's as it came.
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
