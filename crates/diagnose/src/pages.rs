//! What is to be read about a rule: `brunt explain` and `docs/limits.md` are made of it.

use words::text::{Text, text};
use words::{Lang, Said};

use crate::rules;

/// The page of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Page {
    /// The rule: `N2`.
    pub rule: &'static str,
    /// What it is about.
    pub title: Text,
    /// How it looks to whoever runs a load.
    pub sign: Text,
    /// What to change.
    pub remedy: Text,
    /// Advice that is often given and wrong, or a trap.
    pub beware: Option<Text>,
}

const SIGN: Text = text("looks like: {sign}", "现象：{sign}");
const REMEDY: Text = text("change: {remedy}", "改进：{remedy}");
const BEWARE: Text = text("beware: {beware}", "注意：{beware}");

/// All of them, in the order of a request's way.
pub fn pages() -> impl Iterator<Item = &'static Page> {
    rules::ALL.iter().map(|rule| &rule.page)
}

impl Page {
    /// Its paragraphs, without the title.
    pub fn paragraphs(&self, lang: Lang) -> Vec<String> {
        let fact = |text: Text| lang.of(text).to_owned();
        let mut all = vec![
            Said::new(SIGN, [("sign", fact(self.sign))]).of(lang),
            Said::new(REMEDY, [("remedy", fact(self.remedy))]).of(lang),
        ];
        all.extend(self.beware.map(|beware| Said::new(BEWARE, [("beware", fact(beware))]).of(lang)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_page_of_its_own() {
        let mut seen = Vec::new();
        for page in pages() {
            assert!(!seen.contains(&page.rule), "{} twice", page.rule);
            seen.push(page.rule);
            for lang in [Lang::En, Lang::Zh] {
                let all = page.paragraphs(lang).join(" ") + lang.of(page.title);
                assert!(!all.contains(['{', '}']), "{all}");
            }
        }
        assert!(seen.len() > 20);
    }
}
