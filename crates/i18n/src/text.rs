//! The languages of reports, and the rendering of sentences.

use std::str::FromStr;

/// A language of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese (simplified).
    Zh,
}

impl Lang {
    /// Returns the language of the locale, from the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set.
    pub fn from_env() -> Lang {
        Lang::from_locale(|name| std::env::var(name).ok())
    }

    fn from_locale(variable: impl Fn(&str) -> Option<String>) -> Lang {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().filter_map(variable).find(|v| !v.is_empty());
        if locale.is_some_and(|l| l.to_ascii_lowercase().starts_with("zh")) { Lang::Zh } else { Lang::En }
    }

    /// Returns a message in this language.
    pub fn of(self, text: Text) -> &'static str {
        match self {
            Lang::En => text.en,
            Lang::Zh => text.zh,
        }
    }

    /// Renders a message in this language. Each `{name}` is replaced with its fact, and each `{name|one|many}` with the
    /// word for the count. Facts may come from third parties, so they are sanitized and kept on one line.
    pub fn fill(self, text: Text, facts: &[(&str, &str)]) -> String {
        let mut rest = self.of(text);
        let mut out = String::with_capacity(rest.len() + 32);
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            let (name, words) =
                name.split_once('|').map_or((name, None), |(name, words)| (name, words.split_once('|')));
            let fact = facts.iter().find(|(known, _)| *known == name).map_or("", |(_, fact)| fact);
            match words {
                Some((one, _)) if fact == "1" => out.push_str(one),
                Some((_, many)) => out.push_str(many),
                None => out.push_str(&brunt_measure::sanitize::line(fact)),
            }
            rest = without_duplicate_mark(&out, after);
        }
        out + rest
    }
}

/// Removes the punctuation after a question mark, to avoid `?.` and `?;`.
fn without_duplicate_mark<'a>(before: &str, rest: &'a str) -> &'a str {
    if before.ends_with(['?', '？']) { rest.trim_start_matches(['.', ';', '。', '；']) } else { rest }
}

/// The separator between consecutive sentences.
const SEMICOLON: Text = text("; ", "；");

/// Joins sentences.
pub fn join_sentences(sentences: &[String], lang: Lang) -> String {
    let between = lang.of(SEMICOLON);
    sentences.iter().fold(String::new(), |mut all, sentence| {
        if !all.is_empty() {
            let between = without_duplicate_mark(&all, between);
            all.push_str(between);
        }
        all + sentence
    })
}

impl FromStr for Lang {
    type Err = String;
    fn from_str(text: &str) -> Result<Lang, String> {
        match text {
            "en" => Ok(Lang::En),
            "zh" => Ok(Lang::Zh),
            other => Err(format!("`{other}` is not a language brunt supports; write en or zh")),
        }
    }
}

/// A message in all languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// English.
    pub en: &'static str,
    /// Chinese (simplified).
    pub zh: &'static str,
}

/// Creates a message from its English and Chinese texts; a shorthand for tables of sentences.
pub const fn text(en: &'static str, zh: &'static str) -> Text {
    Text { en, zh }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_decides() {
        for (set, wanted) in [
            (&[][..], Lang::En),
            (&[("LANG", "zh_CN.UTF-8")], Lang::Zh),
            (&[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "C")], Lang::En),
            (&[("LANG", "C"), ("LC_ALL", ""), ("LC_MESSAGES", "zh_TW")], Lang::Zh),
            (&[("LANG", "de_DE")], Lang::En),
        ] {
            let find = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
            assert_eq!(Lang::from_locale(find), wanted, "{set:?}");
        }
        assert_eq!("zh".parse(), Ok(Lang::Zh));
        assert_eq!("fr".parse::<Lang>(), Err("`fr` is not a language brunt supports; write en or zh".into()));
    }

    #[test]
    fn sentences_are_filled() {
        let message = text("{a} of {b}{c}", "{b}中的{a}");
        assert_eq!(Lang::En.fill(message, &[("a", "1"), ("b", "2")]), "1 of 2");
        assert_eq!(Lang::Zh.fill(message, &[("a", "1"), ("b", "2")]), "2中的1");
        assert_eq!(Lang::En.fill(message, &[("a", "\x1b[2J\n"), ("b", "\u{202e}")]), "\\x1b[2J\\n of \\u{202e}");
        let message = text("{a}; {b}.", "{a}；{b}。");
        assert_eq!(Lang::En.fill(message, &[("a", "is it one?"), ("b", "is it?")]), "is it one? is it?");
        assert_eq!(Lang::Zh.fill(message, &[("a", "它是吗？"), ("b", "是")]), "它是吗？是。");
        let sentences = ["no.", "is it one?", "yes"].map(str::to_owned);
        assert_eq!(join_sentences(&sentences, Lang::En), "no.; is it one? yes");
        assert_eq!(join_sentences(&["它是吗？", "是"].map(str::to_owned), Lang::Zh), "它是吗？是");
        let message = text("{n} {n|second|seconds}", "{n} 秒");
        for (n, wanted) in [("1", "1 second"), ("2", "2 seconds"), ("0", "0 seconds"), ("1,001", "1,001 seconds")] {
            assert_eq!(Lang::En.fill(message, &[("n", n)]), wanted);
        }
    }
}
