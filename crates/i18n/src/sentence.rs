//! A sentence with its facts, rendered in any language.

use crate::text::{Lang, Text, text};

/// What stands between the members of a list until it is rendered (the unit separator of ASCII).
const BETWEEN: char = '\u{1f}';
const SEPARATOR: Text = text(", ", "、");

/// Joins the members of a list as a fact, which each language separates in its own way.
pub fn listed<T: AsRef<str>>(members: impl IntoIterator<Item = T>) -> String {
    let members: Vec<T> = members.into_iter().collect();
    let members: Vec<&str> = members.iter().map(AsRef::as_ref).collect();
    members.join(&BETWEEN.to_string())
}

/// A sequence of clauses, each with its facts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalizedSentence {
    clauses: Vec<Clause>,
}

#[derive(Clone, Debug, PartialEq)]
struct Clause {
    text: Text,
    facts: Vec<(&'static str, String)>,
}

impl LocalizedSentence {
    /// Creates a sentence of one clause.
    pub fn new(text: Text, facts: impl Into<Vec<(&'static str, String)>>) -> LocalizedSentence {
        LocalizedSentence::default().with_clause(text, facts)
    }

    /// Appends a clause.
    pub fn with_clause(mut self, text: Text, facts: impl Into<Vec<(&'static str, String)>>) -> LocalizedSentence {
        self.clauses.push(Clause { text, facts: facts.into() });
        self
    }

    /// Appends the clauses of another sentence.
    pub fn followed_by(mut self, other: LocalizedSentence) -> LocalizedSentence {
        self.clauses.extend(other.clauses);
        self
    }

    /// Renders the sentence in a language, without the final full stop.
    pub fn render(&self, lang: Lang) -> String {
        let clause = |Clause { text, facts }: &Clause| {
            let listed = |fact: &String| fact.replace(BETWEEN, lang.of(SEPARATOR));
            let told: Vec<(&str, String)> = facts.iter().map(|(name, fact)| (*name, listed(fact))).collect();
            let facts: Vec<(&str, &str)> = told.iter().map(|(name, fact)| (*name, fact.as_str())).collect();
            lang.fill(*text, &facts)
        };
        self.clauses.iter().map(clause).collect()
    }
}

/// Converts a sentence without facts.
impl From<Text> for LocalizedSentence {
    fn from(text: Text) -> LocalizedSentence {
        LocalizedSentence::new(text, [])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_separated_as_its_language_does() {
        let said = LocalizedSentence::new(text("lost: {all}", "丢失：{all}"), [("all", listed(["a", "b", "…"]))]);
        assert_eq!([Lang::En, Lang::Zh].map(|lang| said.render(lang)), ["lost: a, b, …", "丢失：a、b、…"]);
    }

    #[test]
    fn clauses_follow_each_other() {
        let said = LocalizedSentence::new(text("{n} failed", "{n} 个失败"), [("n", "3".into())])
            .with_clause(text(", and more", "，等等"), []);
        assert_eq!(said.render(Lang::En), "3 failed, and more");
        assert_eq!(said.render(Lang::Zh), "3 个失败，等等");
        let both = said.followed_by(LocalizedSentence::new(text(": {why}", "：{why}"), [("why", "x".into())]));
        assert_eq!(both.render(Lang::Zh), "3 个失败，等等：x");
    }
}
