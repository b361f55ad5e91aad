//! A sentence with its facts, rendered in any language.

use crate::text::{Lang, Text};

/// A sequence of clauses, each with its facts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    clauses: Vec<Clause>,
}

#[derive(Clone, Debug, PartialEq)]
struct Clause {
    text: Text,
    facts: Vec<(&'static str, String)>,
}

impl Said {
    /// Creates a sentence of one clause.
    pub fn new(text: Text, facts: impl Into<Vec<(&'static str, String)>>) -> Said {
        Said::default().and(text, facts)
    }

    /// Appends a clause.
    pub fn and(mut self, text: Text, facts: impl Into<Vec<(&'static str, String)>>) -> Said {
        self.clauses.push(Clause { text, facts: facts.into() });
        self
    }

    /// Renders the sentence in a language, without a final full stop.
    pub fn of(&self, lang: Lang) -> String {
        let clause = |Clause { text, facts }: &Clause| {
            let facts: Vec<(&str, &str)> = facts.iter().map(|(name, fact)| (*name, fact.as_str())).collect();
            lang.fill(*text, &facts)
        };
        self.clauses.iter().map(clause).collect()
    }
}

/// Converts a sentence without facts.
impl From<Text> for Said {
    fn from(text: Text) -> Said {
        Said::new(text, [])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::text;

    #[test]
    fn clauses_follow_each_other() {
        let said =
            Said::new(text("{n} failed", "{n} 个失败"), [("n", "3".into())]).and(text(", and more", "，等等"), []);
        assert_eq!(said.of(Lang::En), "3 failed, and more");
        assert_eq!(said.of(Lang::Zh), "3 个失败，等等");
    }
}
