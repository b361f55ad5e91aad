//! `xpath //a/@href`: results of an XPath 1.0 expression over XML, or over HTML parsed as browsers do.
//!
//! Namespace prefixes are those of the document. A name without a prefix matches regardless of the default namespace,
//! so that `//item` finds the items of a feed.

use brunt_cause::{Cause, captures};
use scraper::{Html, Node};
use uppsala::{Attribute, Document, NodeId, NodeKind, Parser, QName, XPathEvaluator, XPathValue};

use super::html::{DEEPEST, MOST_NODES, too_deep, too_many};
use super::source::excerpt;

/// An XPath expression.
#[derive(Debug)]
pub(super) struct XPathExpression {
    /// Expression as written, for error messages.
    written: String,
    /// Expression as evaluated.
    escaped: String,
}

/// Maximum number of nodes visited in one evaluation.
const MOST_VISITS: usize = 2_000_000;

impl XPathExpression {
    /// Parses an expression.
    ///
    /// # Errors
    /// The expression is invalid; the error describes why.
    pub fn parse(text: &str) -> Result<XPathExpression, String> {
        let nothing = Document::new();
        let expression = XPathExpression { written: text.to_owned(), escaped: escape_operator_names(text) };
        let read = XPathEvaluator::new().evaluate(&nothing, nothing.root(), &expression.escaped);
        read.map_err(|error| {
            let shown = excerpt(text.as_bytes());
            format!(
                "`{shown}` is not an XPath expression ({}); use, for example, xpath //input[@name='csrf']/@value",
                error_text(&error)
            )
        })?;
        Ok(expression)
    }

    /// Passes the results to `more` in document order, until `more` returns `false`.
    ///
    /// # Errors
    /// The expression cannot be evaluated.
    pub fn find(&self, tree: &Document<'_>, more: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Cause> {
        let mut evaluator = XPathEvaluator::new().with_max_node_visits(MOST_VISITS);
        for id in tree.descendants(tree.root()) {
            for (prefix, uri) in tree.element(id).iter().flat_map(|element| &element.namespace_declarations) {
                evaluator.add_namespace(prefix.as_ref(), uri.as_ref());
            }
        }
        let found = evaluator
            .evaluate(tree, tree.root(), &self.escaped)
            .map_err(|error| captures::no_xpath(excerpt(self.written.as_bytes()), error_text(&error)))?;
        let XPathValue::NodeSet(nodes) = found else {
            more(found.to_string_value(tree).as_bytes());
            return Ok(());
        };
        for node in nodes {
            let text = XPathValue::NodeSet(vec![node]).to_string_value(tree);
            if !more(text.trim().as_bytes()) {
                break;
            }
        }
        Ok(())
    }
}

/// Rewrites element names that look like operators. XPath 1.0 (3.7) allows elements called `div`, `mod`, `and` and
/// `or`, but the evaluator always treats these words as operators, so they are replaced where a name is expected.
fn escape_operator_names(text: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let (mut out, mut rest, mut operand) = (String::with_capacity(text.len()), text, false);
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' | '\'' => rest[1..].find(first).map_or(rest.len(), |at| at + 2),
            c if is_name(c) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (word, behind) = rest.split_at(end);
        let is_operator = matches!(word, "div" | "mod" | "and" | "or");
        let follows = behind.trim_start();
        let of_another = out.ends_with(':') && !out.ends_with("::") || follows.starts_with(['(', ':']);
        if is_operator && !operand && !of_another {
            out.extend(["*[name()='", word, "']"]);
        } else {
            out.push_str(word);
        }
        // An operand is followed by an operator.
        operand = match first {
            c if c.is_whitespace() => operand,
            c if is_name(c) => !is_operator || !operand,
            c => matches!(c, '"' | '\'' | ')' | ']' | '*'),
        };
        rest = behind;
    }
    out
}

/// Returns the evaluator's error message on one line, with control characters replaced.
fn error_text(error: &uppsala::XmlError) -> String {
    let text = error.to_string();
    excerpt(text.strip_prefix("XPath error: ").unwrap_or(&text).as_bytes())
}

/// Parses XML.
///
/// # Errors
/// The text is not XML, or exceeds the bounds.
pub(super) fn parse_xml(text: &str) -> Result<Document<'_>, Cause> {
    if memchr::memchr_iter(b'<', text.as_bytes()).count() > MOST_NODES {
        return Err(too_many());
    }
    if attribute_bound(text) > MOST_NODES {
        return Err(too_many());
    }
    let parser = Parser::new().with_forbid_entities(true);
    let mut tree = parser.parse(text).map_err(|error| captures::no_xml(error_text(&error)))?;
    for id in tree.descendants(tree.root()) {
        // Expressions match the name as written.
        if let Some(element) = tree.element_mut(id).filter(|element| element.name.prefix.is_none()) {
            element.name.namespace_uri = None;
        }
    }
    tree.prepare_xpath();
    Ok(tree)
}

/// Returns an upper bound of the number of attributes in a text.
fn attribute_bound(text: &str) -> usize {
    memchr::memchr_iter(b'=', text.as_bytes()).count()
}

/// Converts HTML to a tree that expressions can search.
///
/// # Errors
/// The document is nested too deeply.
pub(super) fn from_html(html: &Html) -> Result<Document<'static>, Cause> {
    let mut tree = Document::new();
    let root = tree.root();
    // Nodes still to be copied, last one first.
    let mut open: Vec<(NodeId, usize, _)> = html.tree.root().children().rev().map(|node| (root, 0, node)).collect();
    while let Some((parent, depth, node)) = open.pop() {
        if depth > DEEPEST {
            return Err(too_deep());
        }
        match node.value() {
            Node::Element(element) => {
                let id = tree.create_element(QName::local(element.name().to_owned()));
                if let Some(NodeKind::Element(made)) = tree.node_kind_mut(id) {
                    made.attributes = element
                        .attrs()
                        .map(|(name, value)| Attribute {
                            name: QName::local(name.to_owned()),
                            value: value.to_owned().into(),
                        })
                        .collect();
                }
                tree.append_child(parent, id);
                open.extend(node.children().rev().map(|child| (id, depth + 1, child)));
            }
            Node::Text(text) => {
                let id = tree.create_text(text.to_string());
                tree.append_child(parent, id);
            }
            _ => {}
        }
    }
    tree.prepare_xpath();
    Ok(tree)
}
