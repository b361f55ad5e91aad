//! `xpath //a/@href`: results of an XPath 1.0 expression over XML, or over HTML parsed as browsers do.
//!
//! Namespace prefixes are those of the document. A name without a prefix matches regardless of the default namespace,
//! so that `//item` finds the items of a feed.

use brunt_cause::{Cause, Complaint, captures, complaint};
use scraper::{Html, Node};
use uppsala::{Attribute, Document, NodeId, NodeKind, Parser, QName, XPathEvaluator, XPathValue};

use super::html::{DEEPEST, MOST_NODES, too_deep, too_many};
use super::source::{SearchError, excerpt};
use crate::steps::{OutOfSteps, StepBudget};

/// An XPath expression.
#[derive(Debug)]
pub(super) struct XPathExpression {
    /// Expression as written, for error messages.
    written: String,
    /// Expression as evaluated.
    escaped: String,
}

/// Maximum number of nodes visited in one evaluation.
const MOST_VISITS: usize = 500_000;
/// Maximum number of nanoseconds for text read in one evaluation, if each visit reads the text of a node.
const MOST_READING: usize = 50_000_000;
/// Steps of the budget for one node.
const STEPS_PER_NODE: u64 = 10;

impl XPathExpression {
    /// Parses an expression.
    ///
    /// # Errors
    /// The expression is invalid; the error describes why.
    pub fn parse(text: &str) -> Result<XPathExpression, Complaint> {
        let nothing = Document::new();
        let expression = XPathExpression { written: text.to_owned(), escaped: escape_operator_names(text) };
        let read = XPathEvaluator::new().evaluate(&nothing, nothing.root(), &expression.escaped);
        read.map_err(|error| {
            let shown = excerpt(text.as_bytes());
            complaint!(
                "`{shown}` is not an XPath expression ({}); use, for example, xpath //input[@name='csrf']/@value",
                "`{shown}` 不是 XPath 表达式（{}）；请写，例如 xpath //input[@name='csrf']/@value",
                error_text(&error)
            )
        })?;
        Ok(expression)
    }

    /// Passes the results to `more` in document order, until `more` returns `false`.
    ///
    /// # Errors
    /// The expression cannot be evaluated, or the search takes too long.
    pub fn find(
        &self,
        tree: &Document<'_>,
        steps: &StepBudget,
        more: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), SearchError> {
        let mut evaluator = XPathEvaluator::new().with_max_node_visits(self.visits_in(tree, steps)?);
        for id in tree.descendants(tree.root()) {
            for (prefix, uri) in tree.element(id).iter().flat_map(|element| &element.namespace_declarations) {
                evaluator.add_namespace(prefix.as_ref(), uri.as_ref());
            }
        }
        let found = evaluator.evaluate(tree, tree.root(), &self.escaped).map_err(|error| {
            let text = error_text(&error);
            // The evaluator has no other sign of it.
            match text.contains("node visit budget") {
                true => SearchError::OutOfSteps,
                false => captures::no_xpath(excerpt(self.written.as_bytes()), text).into(),
            }
        })?;
        let XPathValue::NodeSet(nodes) = found else {
            more(found.to_string_value(tree).as_bytes());
            return Ok(());
        };
        for node in nodes {
            let text = text_of(node, tree, steps)?;
            if !more(text.trim().as_bytes()) {
                break;
            }
        }
        Ok(())
    }

    /// Returns how many nodes may be visited in a document. The evaluator counts its visits, but not the text that it
    /// reads: a condition may read all text of the node it is about. What a condition visits is about a node's
    /// surroundings, unless it begins at the root or looks at ancestors.
    fn visits_in(&self, tree: &Document<'_>, steps: &StepBudget) -> Result<usize, OutOfSteps> {
        let (mut nodes, mut reading, mut reading_elements) = (1, 0, 0);
        let mut ancestors = vec![tree.root()];
        for id in tree.descendants(tree.root()) {
            steps.spend(STEPS_PER_NODE);
            while ancestors.len() > 1 && ancestors.last().copied() != tree.parent(id) {
                ancestors.pop();
            }
            nodes += 1;
            match tree.text_content(id) {
                Some(text) => {
                    let takes = 5 + text.len() / 8;
                    reading += takes;
                    reading_elements += takes * (ancestors.len() + 1);
                }
                None => ancestors.push(id),
            }
        }
        steps.result()?;
        let conditions = self.escaped.split_once('[').map(|(_, behind)| behind);
        let of_a_visit = match conditions {
            None => 1,
            Some(behind) if looks_up(behind) => reading,
            Some(_) => reading_elements / nodes,
        };
        Ok(MOST_VISITS.min(MOST_READING / of_a_visit.max(1)))
    }
}

/// Returns `true` if conditions may read the text of the whole document again and again: they begin at its root, or look
/// at ancestors.
fn looks_up(conditions: &str) -> bool {
    let from_root = |(at, _): (usize, &str)| {
        let before = conditions[..at].trim_end();
        before.is_empty() || before.ends_with(['[', '(', ',', '=', '<', '>', '+', '-', '|'])
    };
    conditions.match_indices('/').any(from_root)
        || ["ancestor", "parent", ".."].iter().any(|up| conditions.contains(up))
}

/// Returns the text of a node.
fn text_of(node: NodeId, tree: &Document<'_>, steps: &StepBudget) -> Result<String, OutOfSteps> {
    let mut whole = String::new();
    match tree.node_kind(node) {
        Some(NodeKind::Document | NodeKind::Element(_)) => {
            for inner in tree.descendants(node) {
                whole.push_str(tree.text_content(inner).unwrap_or_default());
                if !steps.spend(STEPS_PER_NODE) {
                    break;
                }
            }
        }
        _ => whole = XPathValue::NodeSet(vec![node]).to_string_value(tree),
    }
    steps.spend(whole.len() as u64);
    steps.result().map(|()| whole)
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
