//! A sentence with its facts, to be read in whichever language.

use crate::text::{Lang, Text};

/// Clauses that follow each other, each with the facts in it.
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
    /// One clause.
    pub fn new(text: Text, facts: impl Into<Vec<(&'static str, String)>>) -> Said {
        Said::default().and(text, facts)
    }

    /// The same, and it goes on.
    pub fn and(mut self, text: Text, facts: impl Into<Vec<(&'static str, String)>>) -> Said {
        self.clauses.push(Clause { text, facts: facts.into() });
        self
    }

    /// In this language, without a full stop of its own.
    pub fn of(&self, lang: Lang) -> String {
        let clause = |Clause { text, facts }: &Clause| {
            let facts: Vec<(&str, &str)> = facts.iter().map(|(name, fact)| (*name, fact.as_str())).collect();
            lang.fill(*text, &facts)
        };
        self.clauses.iter().map(clause).collect()
    }
}

/// A sentence without facts.
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
