//! `css input[name=csrf] @value`: elements of HTML by a selector of CSS; their text, or one of their attributes.

use cause::Cause;
use scraper::{Html, Selector};

use super::source::{short, unquoted};

/// Which elements, and what of them.
#[derive(Debug)]
pub(super) struct Css {
    selector: Selector,
    /// None: the text in it.
    attribute: Option<String>,
    /// It looks along the elements beside each.
    aside: bool,
}

/// What looking along the elements beside each may come to: some tenths of a second.
const MOST_ASIDE: usize = 40_000_000;

impl Css {
    /// Reads `SELECTOR` or `SELECTOR @ATTRIBUTE`; the selector may stand between quotes.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Css, String> {
        let is_name = |name: &str| !name.is_empty() && !name.contains(['"', '\'', ']', ')', ' ', '@']);
        let (selector, attribute) = match text.rsplit_once(" @") {
            Some((selector, name)) if is_name(name) => (selector.trim(), Some(name.to_ascii_lowercase())),
            _ => (text, None),
        };
        let selector = unquoted(selector);
        let wrong = |why: String| {
            let shown = short(selector.as_bytes());
            format!("`{shown}` is not a CSS selector ({why}); write for instance css input[name=csrf] @value")
        };
        let aside = selector.contains('~');
        if aside && selector.contains(":has") {
            return Err(wrong(":has and ~ together are too expensive".into()));
        }
        let parsed = Selector::parse(selector).map_err(|error| wrong(error.to_string()))?;
        Ok(Css { selector: parsed, attribute, aside })
    }

    /// Shows what is found, in order of the document, until `more` wants no more.
    ///
    /// # Errors
    /// It would take too long.
    pub fn find(&self, html: &Html, more: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Cause> {
        if self.aside {
            let beside = |count: usize| count * count;
            let cost: usize = html.tree.nodes().map(|node| beside(node.children().count())).sum();
            if cost > MOST_ASIDE {
                return Err(cause::captures::too_many_siblings().into());
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
