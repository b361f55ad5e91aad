//! Parsing of HTML, well-formed or not, as in browsers and within bounds that no server can exceed.
//!
//! The parser itself has no bounds: a few bytes can create any number of elements (formatting that is reopened in each
//! paragraph), and the cost of a tag is quadratic in its number of attributes. A page is therefore passed to the parser
//! tag by tag, and the result is checked after each tag.

use std::cell::Cell;

use brunt_cause::{Cause, captures};
use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use scraper::{Html, HtmlTreeSink};

/// Maximum number of elements and text nodes in a document.
pub(super) const MOST_NODES: usize = 50_000;
/// Maximum nesting depth of a document.
pub(super) const DEEPEST: usize = 250;
/// Number of pieces after which the depth is checked again.
const DEPTH_CHECKED: usize = 8;
/// Maximum cost of the search for duplicate attributes, equivalent to a few hundredths of a second.
const MOST_OF_TAGS: u64 = 50_000_000;

type Handle = <HtmlTreeSink as html5ever::tree_builder::TreeSink>::Handle;

/// A token sink that forwards and counts tokens; the count shows when a tag is complete.
struct CountingSink {
    builder: TreeBuilder<Handle, HtmlTreeSink>,
    tokens: Cell<u64>,
}

impl TokenSink for CountingSink {
    type Handle = Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Handle> {
        if !matches!(token, Token::ParseError(_)) {
            self.tokens.set(self.tokens.get() + 1);
        }
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// Parses a page.
///
/// # Errors
/// The page exceeds the bounds.
pub(super) fn read(page: &str) -> Result<Html, Cause> {
    let builder = TreeBuilder::new(HtmlTreeSink::new(Html::new_document()), TreeBuilderOpts::default());
    let tokenizer = Tokenizer::new(CountingSink { builder, tokens: Cell::new(0) }, TokenizerOpts::default());
    let mut pieces = 0;
    feed_by_tags(
        page,
        &tokenizer,
        |sink| sink.tokens.get(),
        |sink| {
            pieces += 1;
            let html = sink.builder.sink.0.borrow();
            check_size(&html, pieces)?;
            // Looking up all ancestors takes longer than most tags.
            if pieces % DEPTH_CHECKED == 0 { check_depth(&html) } else { Ok(()) }
        },
    )?;
    let html = tokenizer.sink.builder.sink.0.into_inner();
    check_size(&html, pieces)?;
    check_depth(&html)?;
    Ok(html)
}

/// Passes a page to a tokenizer tag by tag. `tokens` returns the number of tokens passed to the sink, and `between`
/// checks the result after each tag.
///
/// # Errors
/// A tag has too many attributes, or `between` returned an error.
pub fn feed_by_tags<S: TokenSink>(
    page: &str,
    tokenizer: &Tokenizer<S>,
    tokens: impl Fn(&S) -> u64,
    mut between: impl FnMut(&S) -> Result<(), Cause>,
) -> Result<(), Cause> {
    let (queue, mut rest, mut tag) = (BufferQueue::default(), page, TagCost::default());
    while !rest.is_empty() {
        // A `<` begins a piece and a `>` ends it, so that a complete tag is recognized at its end.
        let end = match memchr::memchr2(b'<', b'>', &rest.as_bytes()[1..]).map(|at| at + 1) {
            _ if rest.starts_with('>') => 1,
            Some(at) if rest.as_bytes()[at] == b'>' => at + 1,
            Some(at) => at,
            None => rest.len(),
        };
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        tag.add_piece(piece)?;
        let before = tokens(&tokenizer.sink);
        queue.push_back(StrTendril::from_slice(piece));
        while let TokenizerResult::Script(_) = tokenizer.feed(&queue) {}
        tag.open = (tag.open || piece.starts_with('<')) && tokens(&tokenizer.sink) == before;
        between(&tokenizer.sink)?;
    }
    while let TokenizerResult::Script(_) = tokenizer.feed(&queue) {}
    tokenizer.end();
    Ok(())
}

fn check_size(html: &Html, pieces: usize) -> Result<(), Cause> {
    if html.tree.nodes().len().max(pieces / 4) > MOST_NODES { Err(too_many()) } else { Ok(()) }
}

fn check_depth(html: &Html) -> Result<(), Cause> {
    let last = html.tree.nodes().next_back();
    if last.is_some_and(|last| last.ancestors().nth(DEEPEST).is_some()) { Err(too_deep()) } else { Ok(()) }
}

pub(super) fn too_many() -> Cause {
    captures::too_many_nodes(MOST_NODES)
}

pub(super) fn too_deep() -> Cause {
    captures::too_deep(DEEPEST)
}

/// The accumulated cost of the attributes of tags.
#[derive(Default)]
struct TagCost {
    /// Set if the tag may continue in the next piece.
    open: bool,
    /// Upper bound of the number of attributes so far.
    attributes: u64,
    /// Set for a comment, which has no attributes.
    comment: bool,
    cost: u64,
}

impl TagCost {
    /// Adds the cost of a piece before it is parsed.
    fn add_piece(&mut self, piece: &str) -> Result<(), Cause> {
        if !self.open {
            (self.attributes, self.comment) = (0, piece.starts_with("<!"));
        }
        if self.comment || !self.open && !piece.starts_with('<') {
            return Ok(());
        }
        // An upper bound: characters that can separate two attributes.
        let more = piece.bytes().filter(|b| b.is_ascii_whitespace() || matches!(b, b'/' | b'"' | b'\'')).count() as u64;
        self.attributes += more + 1;
        self.cost += more * self.attributes;
        if self.cost > MOST_OF_TAGS {
            return Err(brunt_cause::captures::too_many_attributes().into());
        }
        Ok(())
    }
}
