//! `css input[name=csrf] @value`: the text or an attribute of HTML elements found by a CSS selector.

use brunt_cause::Cause;
use scraper::{Html, Selector};

use super::source::{excerpt, unquoted};

/// A selector, and the part of the matching elements to take.
#[derive(Debug)]
pub(super) struct CssSelector {
    selector: Selector,
    /// Attribute to take; `None` for the text.
    attribute: Option<String>,
    /// Set if matching involves sibling elements.
    uses_siblings: bool,
}

/// Maximum cost of visiting siblings, equivalent to a few tenths of a second.
const MOST_ASIDE: usize = 40_000_000;

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
        let wrong = |why: String| {
            let shown = excerpt(selector.as_bytes());
            format!("`{shown}` is not a CSS selector ({why}); use, for example, css input[name=csrf] @value")
        };
        let aside = selector.contains('~');
        if aside && selector.contains(":has") {
            return Err(wrong(":has and ~ together are too expensive".into()));
        }
        let parsed = Selector::parse(selector).map_err(|error| wrong(error.to_string()))?;
        Ok(CssSelector { selector: parsed, attribute, uses_siblings: aside })
    }

    /// Passes the results to `more` in document order, until `more` returns `false`.
    ///
    /// # Errors
    /// The search would take too long.
    pub fn find(&self, html: &Html, more: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Cause> {
        if self.uses_siblings {
            let beside = |count: usize| count * count;
            let cost: usize = html.tree.nodes().map(|node| beside(node.children().count())).sum();
            if cost > MOST_ASIDE {
                return Err(brunt_cause::captures::too_many_siblings().into());
            }
        }
        for element in html.select(&self.selector) {
            let goes_on = match &self.attribute {
                Some(name) => element.attr(name).is_none_or(|value| more(value.as_bytes())),
                None => more(element.text().collect::<String>().trim().as_bytes()),
            };
            if !goes_on {
                break;
            }
        }
        Ok(())
    }
}
