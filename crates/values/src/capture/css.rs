//! `css input[name=csrf] @value`: the text or an attribute of HTML elements found by a CSS selector.

use scraper::selector::{Parser, Simple};
use scraper::{ElementRef, Html, Node};
use selectors::matching::{
    MatchingContext, MatchingForInvalidation, MatchingMode, NeedsSelectorFlags, QuirksMode, SelectorCaches,
    matches_selector,
};
use selectors::parser::{ParseRelative, SelectorList, SelectorParseErrorKind};

use super::counted_element::CountedElement;
use super::source::{excerpt, unquoted};
use crate::steps::{OutOfSteps, StepBudget};

/// A selector, and the part of the matching elements to take.
#[derive(Debug)]
pub(super) struct CssSelector {
    selectors: SelectorList<Simple>,
    /// Attribute to take; `None` for the text.
    attribute: Option<String>,
}

/// Steps of the budget for one node of a document.
const STEPS_PER_NODE: u64 = 10;

impl CssSelector {
    /// Parses `SELECTOR` or `SELECTOR @ATTRIBUTE`; the selector may be quoted.
    ///
    /// # Errors
    /// The selector is invalid; the error describes why.
    pub fn parse(text: &str) -> Result<CssSelector, String> {
        let is_name = |name: &str| !name.is_empty() && !name.contains(['"', '\'', ']', ')', ' ', '@']);
        let (selector, attribute) = match text.rsplit_once(" @") {
            Some((selector, name)) if is_name(name) => (selector.trim(), Some(name.to_ascii_lowercase())),
            _ => (text, None),
        };
        let selector = unquoted(selector);
        let parsed = SelectorList::parse(&Parser, &mut cssparser::Parser::new(selector), ParseRelative::No);
        let selectors = parsed.map_err(|error| {
            let (shown, why) = (excerpt(selector.as_bytes()), complaint(&error.kind));
            format!("`{shown}` is not a CSS selector ({why}); use, for example, css input[name=csrf] @value")
        })?;
        Ok(CssSelector { selectors, attribute })
    }

    /// Passes the results to `more` in document order, until `more` returns `false`.
    ///
    /// # Errors
    /// The search takes too long.
    pub fn find(&self, html: &Html, steps: &StepBudget, more: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), OutOfSteps> {
        let mut caches = SelectorCaches::default();
        let elements = html.tree.nodes().filter_map(ElementRef::wrap).filter(|element| element.parent().is_some());
        for element in elements {
            let matches = self.matches(element, steps, &mut caches);
            // A search that ran out of steps has told nothing.
            steps.result()?;
            let goes_on = match &self.attribute {
                _ if !matches => true,
                Some(name) => element.attr(name).is_none_or(|value| more(value.as_bytes())),
                None => {
                    let text = text_of(element, steps)?;
                    more(text.trim().as_bytes())
                }
            };
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    fn matches(&self, element: ElementRef<'_>, steps: &StepBudget, caches: &mut SelectorCaches) -> bool {
        steps.spend(STEPS_PER_NODE);
        let element = CountedElement { element, steps };
        let mut context = MatchingContext::new(
            MatchingMode::Normal,
            None,
            caches,
            QuirksMode::NoQuirks,
            NeedsSelectorFlags::No,
            MatchingForInvalidation::No,
        );
        self.selectors.slice().iter().any(|one| matches_selector(one, 0, None, &element, &mut context))
    }
}

/// Returns the text within an element.
fn text_of(element: ElementRef<'_>, steps: &StepBudget) -> Result<String, OutOfSteps> {
    let mut whole = String::new();
    for node in element.descendants() {
        if let Node::Text(text) = node.value() {
            steps.spend(text.len() as u64);
            whole.push_str(text);
        }
        if !steps.spend(STEPS_PER_NODE) {
            break;
        }
    }
    steps.result().map(|()| whole)
}

/// Says what is wrong with a selector.
fn complaint(error: &cssparser::ParseErrorKind<SelectorParseErrorKind>) -> &'static str {
    use SelectorParseErrorKind as Kind;
    use cssparser::BasicParseErrorKind as Basic;
    use cssparser::ParseErrorKind::{Basic as Token, Custom};
    match error {
        Token(Basic::EndOfInput) | Custom(Kind::DanglingCombinator) => "it ends where another part must follow",
        Token(_) => "a character is not allowed where it stands",
        Custom(kind) => match kind {
            Kind::EmptySelector => "a part of it is empty",
            Kind::NonCompoundSelector => "spaces, >, + and ~ are not allowed within this pseudo-class",
            Kind::UnsupportedPseudoClassOrElement | Kind::NoIdentForPseudo => {
                "of pseudo-classes and pseudo-elements, only :has(), :is(), :where(), :not(), :nth-…() and the like are \
                    supported"
            }
            Kind::PseudoElementExpectedColon | Kind::PseudoElementExpectedIdent => {
                "pseudo-elements (::name) are not supported"
            }
            Kind::ExpectedNamespace => "namespaces (name|) are not supported",
            Kind::NoQualifiedNameInAttributeSelector
            | Kind::InvalidQualNameInAttr
            | Kind::ExpectedBarInAttr
            | Kind::ExplicitNamespaceUnexpectedToken => "the name of an attribute is missing between [ and ]",
            Kind::UnexpectedTokenInAttributeSelector | Kind::BadValueInAttr => {
                "an attribute is written [name], [name=value] or [name='value with spaces']"
            }
            Kind::ClassNeedsIdent => "the name of a class must follow the dot",
            Kind::UnexpectedIdent => "a word is not allowed where it stands",
            _ => "its parts do not go together",
        },
    }
}
