//! `css input[name=csrf] @value`: the text or an attribute of HTML elements found by a CSS selector.

use brunt_cause::{Complaint, complaint};
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
    pub fn parse(text: &str) -> Result<CssSelector, Complaint> {
        let is_name = |name: &str| !name.is_empty() && !name.contains(['"', '\'', ']', ')', ' ', '@']);
        let (selector, attribute) = match text.rsplit_once(" @") {
            Some((selector, name)) if is_name(name) => (selector.trim(), Some(name.to_ascii_lowercase())),
            _ => (text, None),
        };
        let selector = unquoted(selector);
        let parsed = SelectorList::parse(&Parser, &mut cssparser::Parser::new(selector), ParseRelative::No);
        let selectors = parsed.map_err(|error| {
            let (shown, why) = (excerpt(selector.as_bytes()), fault(&error.kind));
            let zh = why.zh();
            complaint!(
                "`{shown}` is not a CSS selector ({why}); use, for example, css input[name=csrf] @value",
                "`{shown}` 不是 CSS 选择器（{zh}）；请写，例如 css input[name=csrf] @value"
            )
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
fn fault(error: &cssparser::ParseErrorKind<SelectorParseErrorKind>) -> Complaint {
    use SelectorParseErrorKind as Kind;
    use cssparser::BasicParseErrorKind as Basic;
    use cssparser::ParseErrorKind::{Basic as Token, Custom};
    match error {
        Token(Basic::EndOfInput) | Custom(Kind::DanglingCombinator) => {
            complaint!("it ends where another part must follow", "末尾还缺一部分")
        }
        Token(_) => complaint!("a character is not allowed where it stands", "有字符出现在不允许的位置"),
        Custom(kind) => match kind {
            Kind::EmptySelector => complaint!("a part of it is empty", "其中一部分为空"),
            Kind::NonCompoundSelector => complaint!(
                "spaces, >, + and ~ are not allowed within this pseudo-class",
                "该伪类内不允许使用空格、>、+ 和 ~"
            ),
            Kind::UnsupportedPseudoClassOrElement | Kind::NoIdentForPseudo => {
                complaint!(
                    "of pseudo-classes and pseudo-elements, only :has(), :is(), :where(), :not(), :nth-…() and the like are \
                    supported",
                    "伪类和伪元素只支持 :has()、:is()、:where()、:not()、:nth-…() 等"
                )
            }
            Kind::PseudoElementExpectedColon | Kind::PseudoElementExpectedIdent => {
                complaint!("pseudo-elements (::name) are not supported", "不支持伪元素（::name）")
            }
            Kind::ExpectedNamespace => complaint!("namespaces (name|) are not supported", "不支持命名空间（name|）"),
            Kind::NoQualifiedNameInAttributeSelector
            | Kind::InvalidQualNameInAttr
            | Kind::ExpectedBarInAttr
            | Kind::ExplicitNamespaceUnexpectedToken => {
                complaint!("the name of an attribute is missing between [ and ]", "[ 和 ] 之间缺少属性名")
            }
            Kind::UnexpectedTokenInAttributeSelector | Kind::BadValueInAttr => {
                complaint!(
                    "an attribute is written [name], [name=value] or [name='value with spaces']",
                    "属性应写作 [name]、[name=value] 或 [name='value with spaces']"
                )
            }
            Kind::ClassNeedsIdent => complaint!("the name of a class must follow the dot", "点号后缺少类名"),
            Kind::UnexpectedIdent => complaint!("a word is not allowed where it stands", "有单词出现在不允许的位置"),
            _ => complaint!("its parts do not go together", "各部分无法组合"),
        },
    }
}
