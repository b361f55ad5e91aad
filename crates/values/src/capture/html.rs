//! HTML as browsers read it, broken or not, within bounds that hold against any server.
//!
//! The reader itself has none: a few bytes can ask for any number of elements (formatting that is opened again in each paragraph), and
//! a tag costs the square of its attributes. So a page is handed to it tag by tag, and what came of it is looked at in between.

use std::cell::Cell;

use cause::{Cause, captures};
use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use scraper::{Html, HtmlTreeSink};

/// A document has at most so many elements and texts.
pub(super) const MOST_NODES: usize = 50_000;
/// They stand no deeper in each other.
pub(super) const DEEPEST: usize = 250;
/// What looking for attributes that stand twice may come to: some tenths of a second.
const MOST_OF_TAGS: u64 = 300_000_000;

type Handle = <HtmlTreeSink as html5ever::tree_builder::TreeSink>::Handle;

/// Hands tokens on, and counts them: where one ended, no tag is open.
struct Watched {
    builder: TreeBuilder<Handle, HtmlTreeSink>,
    tokens: Cell<u64>,
}

impl TokenSink for Watched {
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

/// Reads a page.
///
/// # Errors
/// It is larger than can be looked into.
pub(super) fn read(page: &str) -> Result<Html, Cause> {
    let builder = TreeBuilder::new(HtmlTreeSink::new(Html::new_document()), TreeBuilderOpts::default());
    let tokenizer = Tokenizer::new(Watched { builder, tokens: Cell::new(0) }, TokenizerOpts::default());
    let mut pieces = 0;
    in_pieces(
        page,
        &tokenizer,
        |sink| sink.tokens.get(),
        |sink| {
            pieces += 1;
            within(&sink.builder.sink.0.borrow(), pieces)
        },
    )?;
    let html = tokenizer.sink.builder.sink.0.into_inner();
    within(&html, pieces)?;
    Ok(html)
}

/// Hands a page to a tokenizer tag by tag; `tokens` counts what that has told its sink, and `between` looks at what came of it.
///
/// # Errors
/// Tags of too many attributes, or what `between` says.
pub fn in_pieces<S: TokenSink>(
    page: &str,
    tokenizer: &Tokenizer<S>,
    tokens: impl Fn(&S) -> u64,
    mut between: impl FnMut(&S) -> Result<(), Cause>,
) -> Result<(), Cause> {
    let (queue, mut rest, mut tag) = (BufferQueue::default(), page, Tag::default());
    while !rest.is_empty() {
        // A `<` is the first of a piece and a `>` the last, so that what was a tag is known at its end.
        let end = match memchr::memchr2(b'<', b'>', &rest.as_bytes()[1..]).map(|at| at + 1) {
            _ if rest.starts_with('>') => 1,
            Some(at) if rest.as_bytes()[at] == b'>' => at + 1,
            Some(at) => at,
            None => rest.len(),
        };
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        tag.goes_on(piece)?;
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

fn within(html: &Html, pieces: usize) -> Result<(), Cause> {
    let nodes = html.tree.nodes();
    if nodes.len().max(pieces / 4) > MOST_NODES {
        return Err(too_many());
    }
    let last = html.tree.nodes().next_back();
    if last.is_some_and(|last| last.ancestors().nth(DEEPEST).is_some()) {
        return Err(too_deep());
    }
    Ok(())
}

pub(super) fn too_many() -> Cause {
    captures::too_many_nodes(MOST_NODES)
}

pub(super) fn too_deep() -> Cause {
    captures::too_deep(DEEPEST)
}

/// What the attributes of tags cost so far.
#[derive(Default)]
struct Tag {
    /// It may go on in the next piece.
    open: bool,
    /// No more than it has so far.
    attributes: u64,
    /// It is no tag but a comment.
    comment: bool,
    cost: u64,
}

impl Tag {
    /// What a piece may cost, before it is read.
    fn goes_on(&mut self, piece: &str) -> Result<(), Cause> {
        if !self.open {
            (self.attributes, self.comment) = (0, piece.starts_with("<!"));
        }
        if self.comment || !self.open && !piece.starts_with('<') {
            return Ok(());
        }
        // No more attributes than what may stand between two of them.
        let more = piece.bytes().filter(|b| b.is_ascii_whitespace() || matches!(b, b'/' | b'"' | b'\'')).count() as u64;
        self.attributes += more + 1;
        self.cost += more * self.attributes;
        if self.cost > MOST_OF_TAGS {
            return Err(cause::captures::too_many_attributes().into());
        }
        Ok(())
    }
}
