//! Requests with slots. The constant parts are encoded once; slots are filled in the output buffer, for each request.
//!
//! The length of a body is known only once the body is written, so the head leaves space for its digits.

use std::sync::Arc;

use brunt_cause::{Cause, complaint, connecting, http1};
use brunt_contract::{OutputBuffer, SlotContext, Trace, UsageError, UserValues};
use url::Url;

use super::request::{HeaderOverride, HttpRequest, Recipe, RequestBody, RequestTail};
use super::session::{EXPECTS, SLOTS};
use crate::placeholders::{self, EncodedPiece, Placeholders};
use brunt_values::template::reserved_digits::{TRIAL, digit_count, write_number};
use brunt_values::template::{MOST_MARKS, Template};
use brunt_values::verify::{CheckTexts, FilledChecks};

/// Template of a request with slots.
#[derive(Debug)]
pub struct Http1Template {
    template: Template,
    /// Number of digits of the body's length, measured before the run; 0 if the length is constant.
    digits: usize,
    /// A constant body that is stored separately.
    tail: Option<Arc<[u8]>>,
    /// The encoded request with placeholders, from which the HTTP/2 request is prepared.
    pub(crate) marked: Box<[u8]>,
    /// The slots of the recipe, filled for redirects.
    values: Option<placeholders::SlotTexts>,
    /// Template of the request, followed by the texts of its checks, which may repeat named values of the request; there
    /// is a mark before each text.
    expected: Option<(Template, CheckTexts)>,
}

/// A request template with the context it was filled with, from which redirects are made.
#[derive(Debug)]
pub struct FilledRequest {
    pub template: Arc<Http1Template>,
    context: SlotContext<'static>,
    values: UserValues,
}

impl FilledRequest {
    /// Records the context of a request that was just filled.
    pub fn new(filled: &Arc<Http1Template>, context: &SlotContext) -> FilledRequest {
        FilledRequest {
            template: Arc::clone(filled),
            context: context.without_values(),
            values: context.values.clone(),
        }
    }

    /// Returns the context that the request was filled with.
    pub fn fill(&self) -> SlotContext<'_> {
        SlotContext { values: &self.values, ..self.context }
    }
}

impl Http1Template {
    /// Appends the request with its slots filled.
    #[inline]
    pub fn put(&self, context: &SlotContext, out: &mut OutputBuffer) {
        self.put_bytes(context, out.buffer());
        if let Some(tail) = &self.tail {
            out.put_shared(tail);
        }
    }

    /// Appends the request, except for a body stored separately. Returns the number of bytes of a body whose length
    /// depends on slots.
    #[inline]
    pub fn put_bytes(&self, context: &SlotContext, out: &mut Vec<u8>) -> usize {
        let mut marks = [0; 2];
        self.template.fill_marked(context, out, &mut marks);
        if self.digits == 0 {
            return 0;
        }
        let body = out.len() - marks[1];
        write_number(body, marks[0], self.digits, out);
        body
    }

    /// Returns the checks of the response, if they are filled per request.
    pub fn expected(&self, context: &SlotContext) -> Option<Arc<FilledChecks>> {
        let (template, texts) = self.expected.as_ref()?;
        let (mut bytes, mut marks) = (Vec::new(), vec![0; texts.all().count()]);
        template.fill_marked(context, &mut bytes, &mut marks);
        let ends = marks.iter().skip(1).copied().chain([bytes.len()]);
        let each = marks.iter().zip(ends).map(|(from, to)| &bytes[*from..to]);
        Some(Arc::new(texts.filled(each)))
    }

    /// Returns `true` if the checks of the response are filled per request.
    pub fn fills_checks(&self) -> bool {
        self.expected.is_some()
    }

    /// Returns the trace context that the request carries.
    pub fn trace(&self, context: &SlotContext) -> Option<Trace> {
        self.template.trace(context)
    }

    /// Returns the constant body that is stored separately.
    pub fn tail(&self) -> Option<&Arc<[u8]>> {
        self.tail.as_ref()
    }

    /// Returns the recipe of a request whose host is known only during the run, with its slots filled.
    ///
    /// # Errors
    /// The filled text is not a URL.
    pub fn linked(&self, marked: &Recipe, link: &str, context: &SlotContext) -> Result<Recipe, Cause> {
        let mut recipe = self.recipe(marked, context);
        let text =
            self.values.as_ref().map(|values| values.fill(context).fill_text(link.as_bytes())).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let behind = text.split_once("://").filter(|_| link.contains("://")).map_or(&*text, |(_, behind)| behind);
        if behind.is_empty() {
            return Err(http1::no_link().into());
        }
        // A value with a scheme replaces the one before it.
        let is_scheme = |text: &str| !text.contains(|c: char| !c.is_ascii_alphanumeric() && !"+.-".contains(c));
        let is_whole = behind.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme));
        let url = if is_whole || !link.contains("://") { marked.url.join(behind) } else { Url::parse(&text) };
        let mut url = url.map_err(|why| connecting::no_url(behind, why.to_string()))?;
        url.set_fragment(None);
        (recipe.url, recipe.link, recipe.target, recipe.expected) = (url, None, None, self.expected(context));
        Ok(recipe)
    }

    /// Returns the recipe with its slots filled, for a redirect.
    pub fn recipe(&self, marked: &Recipe, context: &SlotContext) -> Recipe {
        let Some(values) = &self.values else { return marked.clone() };
        let values = values.fill(context);
        let text = |text: &str| String::from_utf8_lossy(&values.fill_text(text.as_bytes())).into_owned();
        let mut recipe = marked.clone();
        // The URL was parsed with placeholders, and slot values are guarded, so it parses with the values too.
        recipe.url = Url::parse(&text(marked.url.as_str())).unwrap_or_else(|_| marked.url.clone());
        recipe.target = marked.target.as_deref().map(text);
        recipe.user = marked.user.as_deref().map(text);
        for wish in &mut recipe.headers {
            if let HeaderOverride::Set(_, value) = wish {
                *value = text(value);
            }
        }
        if let Some(RequestBody { bytes, length, .. }) = &mut recipe.content
            && length.take().is_some()
        {
            *bytes = values.fill_text(bytes).into();
        }
        recipe
    }
}

/// Compiles the slots of a request, if it or the checks of its response (`expected`) have any. `follows` is set if
/// responses may lead to further requests.
///
/// # Errors
/// Returns an error for an invalid slot.
pub fn compile(
    request: HttpRequest,
    recipe: &mut Recipe,
    (follows, expected): (bool, Option<&CheckTexts>),
    marks: &mut Placeholders,
) -> Result<HttpRequest, UsageError> {
    let text = request.text();
    if !marks.occur_in(&text) && expected.is_none() {
        return Ok(request);
    }
    let head = memchr::memmem::find(&text, b"\r\n\r\n").map_or(text.len(), |at| at + 4);
    let pieces: Vec<Vec<EncodedPiece<'_>>> =
        [&text[..head], &text[head..]].into_iter().map(|part| marks.split(part)).collect();
    let sized = pieces[0].contains(&EncodedPiece::Length);
    let build = |marks: &mut Placeholders, digits: usize| {
        marks.template(|building| {
            for piece in &pieces[0] {
                if *piece == EncodedPiece::Length {
                    building.mark();
                    building.bytes(&b"00000000000000000000"[..digits]);
                } else {
                    building.piece(piece)?;
                }
            }
            if sized {
                building.mark();
            }
            pieces[1].iter().try_for_each(|piece| building.piece(piece))
        })
    };
    let tried = build(marks, 0)?;
    let (mut out, mut at) = (Vec::new(), [0; 2]);
    tried.fill_marked(&TRIAL, &mut out, &mut at);
    let digits = if sized { digit_count(out.len() - at[1]) } else { 0 };
    let template = build(marks, digits)?;
    let values = follows.then(|| marks.slot_texts(&text)).transpose()?;
    let behind = |texts: &CheckTexts| {
        let parts: Vec<_> = texts.all().map(|text| marks.split(text.as_bytes())).collect();
        if parts.len() > MOST_MARKS {
            let trouble = complaint!(
                "has slots beside more than {MOST_MARKS} other checks; use fewer",
                "除它之外含占位符的检查超过 {MOST_MARKS} 个；请减少"
            );
            return Err(UsageError::new("--expect-json", trouble));
        }
        let template = marks.template(|building| {
            pieces.iter().flatten().try_for_each(|piece| building.piece(piece))?;
            parts.iter().try_for_each(|part| {
                building.mark();
                part.iter().try_for_each(|piece| building.piece(piece))
            })
        })?;
        Ok((template, texts.clone()))
    };
    let expected = expected.map(behind).transpose()?;
    let (tail, marked) = (request.body().cloned(), text.to_vec().into());
    let filled = Http1Template { template, digits, tail, marked, values, expected };
    if filled.template.is_constant() && filled.expected.is_none() {
        *recipe = filled.recipe(recipe, &SlotContext::default());
        return Ok(make_constant(request, &filled));
    }
    let (bytes, common) = (Box::default(), None);
    Ok(HttpRequest { bytes, tail: common, flags: request.flags | SLOTS, slots: Some(Arc::new(filled)), ..request })
}

/// Converts a request whose slots are all constant into one without slots.
fn make_constant(request: HttpRequest, filled: &Http1Template) -> HttpRequest {
    let mut bytes = Vec::new();
    let body = filled.put_bytes(&SlotContext::default(), &mut bytes);
    let mut tail = filled.tail.clone();
    if request.flags & EXPECTS != 0 && body > 0 {
        tail = Some(bytes.split_off(bytes.len() - body).into());
    }
    let common = tail.map(|body| Arc::new(RequestTail { text: Box::default(), body: Some(body) }));
    HttpRequest { bytes: bytes.into(), tail: common, ..request }
}
