//! Finds the resources of a page that a browser would fetch, by its tags.
//!
//! Tags are tokenized as browsers do, broken or not; no tree is built. What scripts and style sheets would fetch in
//! turn is not found. Where browsers choose (`srcset`, `picture`, `media`), only one of the alternatives is taken.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use url::Url;

use super::{AllowedHosts, srcset};
use brunt_values::budget::{BudgetedBuffer, MemoryBudget};
use brunt_values::capture::html;

/// Maximum number of resources per page.
pub const MAX_RESOURCES: usize = 1000;
/// Maximum total length of the URLs of a page's resources, in bytes.
pub const MAX_URL_BYTES: usize = 256 << 10;
/// Maximum length of one URL, in bytes.
const MAX_URL: usize = 8 << 10;
/// Maximum number of distinct URLs remembered per page.
const MAX_DISTINCT: usize = 20_000;
/// Maximum number of bytes of a page that are read.
const MAX_READ: usize = 1_000_000;

/// The distinct resources of a page, in document order.
#[derive(Debug, Default)]
pub struct FoundResources {
    urls: BudgetedBuffer,
    ends: Vec<usize>,
    next: usize,
    /// Number of resources on other hosts, which are not fetched.
    pub other_hosts: u32,
    /// Number of resources beyond the bounds, which are not fetched.
    pub over_limit: u32,
    /// Set if not all of the page was read.
    pub cut: bool,
}

impl FoundResources {
    /// Returns the URL of the next resource.
    pub fn next(&mut self) -> Option<&str> {
        let end = *self.ends.get(self.next)?;
        let from = self.next.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.next += 1;
        std::str::from_utf8(&self.urls[from..end]).ok()
    }

    /// Returns the number of resources.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
}

/// Finds the resources of the page at `url` that may be fetched, within a memory budget.
pub fn find(page: &[u8], url: &Url, allowed: &AllowedHosts, budget: &MemoryBudget) -> FoundResources {
    let read = &page[..page.len().min(MAX_READ)];
    let text = String::from_utf8_lossy(read);
    let sink = FinderSink { tokens: Cell::new(0), seen: RefCell::new(TagScanner::of(url, allowed, budget)) };
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let whole = html::feed_by_tags(&text, &tokenizer, |sink| sink.tokens.get(), |_| Ok(())).is_ok();
    let mut found = tokenizer.sink.seen.into_inner().found;
    found.cut = !whole || read.len() < page.len();
    found
}

struct FinderSink<'a> {
    tokens: Cell<u64>,
    seen: RefCell<TagScanner<'a>>,
}

impl TokenSink for FinderSink<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        if !matches!(token, Token::ParseError(_)) {
            self.tokens.set(self.tokens.get() + 1);
        }
        let Token::TagToken(tag) = token else { return TokenSinkResult::Continue };
        match tag.kind {
            TagKind::StartTag => {
                self.seen.borrow_mut().start_tag(&tag);
                raw(&tag)
            }
            TagKind::EndTag => {
                self.seen.borrow_mut().end_tag(&tag.name);
                TokenSinkResult::Continue
            }
        }
    }
}

/// Switches the tokenizer for elements whose content is not markup, as in a browser that runs scripts.
fn raw(tag: &Tag) -> TokenSinkResult<()> {
    match &*tag.name {
        "script" => TokenSinkResult::RawData(RawKind::ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" | "noscript" => TokenSinkResult::RawData(RawKind::Rawtext),
        "textarea" | "title" => TokenSinkResult::RawData(RawKind::Rcdata),
        "plaintext" => TokenSinkResult::Plaintext,
        _ => TokenSinkResult::Continue,
    }
}

/// State of the tag scanner.
struct TagScanner<'a> {
    page: &'a Url,
    allowed: &'a AllowedHosts,
    budget: &'a MemoryBudget,
    base: Url,
    /// Set once a `base` element was found.
    has_base: bool,
    known: HashSet<Url>,
    /// Depth of open `template` elements, whose content is not rendered.
    templates: u32,
    /// State within `picture`: `Some(true)` once its image is chosen.
    picture: Option<bool>,
    /// State within `audio` or `video`: `Some(true)` once its source is chosen, or if nothing is played.
    media: Option<bool>,
    found: FoundResources,
}

impl<'a> TagScanner<'a> {
    fn of(page: &'a Url, allowed: &'a AllowedHosts, budget: &'a MemoryBudget) -> TagScanner<'a> {
        TagScanner {
            page,
            allowed,
            budget,
            base: page.clone(),
            has_base: false,
            known: HashSet::new(),
            templates: 0,
            picture: None,
            media: None,
            found: FoundResources::default(),
        }
    }

    fn start_tag(&mut self, tag: &Tag) {
        match &*tag.name {
            "template" => self.templates = self.templates.saturating_add(1),
            _ if self.templates > 0 => {}
            "base" => self.base(tag),
            "link" => self.link(tag),
            "script" => self.script(tag),
            "img" => self.image(tag),
            "picture" => self.picture = Some(false),
            "source" => self.source(tag),
            "audio" | "video" => self.media(tag),
            "input" if is(tag, "type", "image") => self.take(attribute(tag, "src")),
            "iframe" if attribute(tag, "srcdoc").is_some() => {}
            "iframe" | "frame" | "embed" => self.take(attribute(tag, "src")),
            "object" => self.take(attribute(tag, "data")),
            "body" | "table" | "td" | "th" => self.take(attribute(tag, "background")),
            _ => {}
        }
    }

    fn end_tag(&mut self, name: &str) {
        match name {
            "template" => self.templates = self.templates.saturating_sub(1),
            "picture" => self.picture = None,
            "audio" | "video" => self.media = None,
            _ => {}
        }
    }

    /// Handles `base`: the first one applies, to everything after it.
    fn base(&mut self, tag: &Tag) {
        let Some(href) = attribute(tag, "href").filter(|_| !self.has_base) else { return };
        self.has_base = true;
        if let Ok(base) = self.page.join(href.trim_ascii())
            && matches!(base.scheme(), "http" | "https")
        {
            self.base = base;
        }
    }

    fn link(&mut self, tag: &Tag) {
        let rel = attribute(tag, "rel").unwrap_or_default();
        let says = |word: &str| rel.split_ascii_whitespace().any(|one| one.eq_ignore_ascii_case(word));
        let sheet = says("stylesheet") && !says("alternate") && attribute(tag, "disabled").is_none();
        if says("preload") && attribute(tag, "imagesrcset").is_some() {
            return self.take(attribute(tag, "imagesrcset").and_then(|set| srcset::chosen(set, None)));
        }
        if sheet || says("icon") || says("preload") || says("modulepreload") {
            self.take(attribute(tag, "href"));
        }
    }

    /// Handles `script`: only types that browsers run, without `nomodule` fallbacks.
    fn script(&mut self, tag: &Tag) {
        let kind = attribute(tag, "type").map(|kind| kind.trim_ascii().to_ascii_lowercase()).unwrap_or_default();
        let known = ["", "module", "text/javascript", "application/javascript", "text/ecmascript"];
        let known = known.contains(&&*kind) || ["application/ecmascript", "application/x-javascript"].contains(&&*kind);
        if known && attribute(tag, "nomodule").is_none() {
            self.take(attribute(tag, "src"));
        }
    }

    /// Handles `img`: takes the candidate that a browser would choose.
    fn image(&mut self, tag: &Tag) {
        if self.picture == Some(true) {
            return;
        }
        let set = attribute(tag, "srcset");
        let src = attribute(tag, "src");
        self.take(set.and_then(|set| srcset::chosen(set, src)).or(src));
    }

    fn source(&mut self, tag: &Tag) {
        let shown = |name: &str, usual: &[&str]| {
            attribute(tag, name).is_none_or(|kind| usual.iter().any(|usual| kind.trim_ascii().starts_with(usual)))
        };
        if self.picture == Some(false) && shown("media", &["all", "screen"]) && shown("type", &["image/"]) {
            if let Some(url) = attribute(tag, "srcset").and_then(|set| srcset::chosen(set, None)) {
                self.picture = Some(true);
                self.take(Some(url));
            }
        } else if self.media == Some(false) && shown("type", &["audio/", "video/"]) && attribute(tag, "src").is_some() {
            self.media = Some(true);
            self.take(attribute(tag, "src"));
        }
    }

    /// Handles `audio` and `video`. Without autoplay, browsers fetch only the beginning, so nothing is taken then.
    fn media(&mut self, tag: &Tag) {
        let preload = attribute(tag, "preload").map(|preload| preload.trim_ascii().to_ascii_lowercase());
        let plays = attribute(tag, "autoplay").is_some() || matches!(preload.as_deref(), Some("auto" | ""));
        self.take(attribute(tag, "poster"));
        self.media = Some(!plays);
        if plays && attribute(tag, "src").is_some() {
            self.media = Some(true);
            self.take(attribute(tag, "src"));
        }
    }

    /// Takes a URL as written in the page.
    fn take(&mut self, written: Option<&str>) {
        let Some(written) = written.map(str::trim_ascii).filter(|written| !written.is_empty()) else { return };
        if written.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:")) {
            return;
        }
        if written.len() > MAX_URL || self.known.len() == MAX_DISTINCT {
            return self.found.over_limit = self.found.over_limit.saturating_add(1);
        }
        let Ok(mut url) = self.base.join(written) else { return };
        url.set_fragment(None);
        if !matches!(url.scheme(), "http" | "https") || same_but_fragment(&url, self.page) {
            return;
        }
        if self.known.contains(&url) {
            return;
        }
        let text = url.as_str();
        let found = &mut self.found;
        if !self.allowed.allows(&url, self.page) {
            found.other_hosts = found.other_hosts.saturating_add(1);
        } else if found.ends.len() == MAX_RESOURCES
            || found.urls.len() + text.len() > MAX_URL_BYTES
            || !found.urls.extend(text.as_bytes(), self.budget)
        {
            found.over_limit = found.over_limit.saturating_add(1);
        } else {
            found.ends.push(found.urls.len());
        }
        self.known.insert(url);
    }
}

fn same_but_fragment(url: &Url, page: &Url) -> bool {
    let page = page.as_str();
    url.as_str() == page.split('#').next().unwrap_or(page)
}

fn attribute<'t>(tag: &'t Tag, name: &str) -> Option<&'t str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

fn is(tag: &Tag, name: &str, value: &str) -> bool {
    attribute(tag, name).is_some_and(|said| said.trim_ascii().eq_ignore_ascii_case(value))
}
