//! `brunt explain [RULE]`: pages about the limits of a run.

use brunt_contract::UsageError;
use brunt_diagnose::rules;
use brunt_report::Lang;

/// Returns the page of a rule, or the list of all rules; `all` returns all pages as Markdown for the guide.
///
/// # Errors
/// There is no such rule.
pub fn explain(words: &[String]) -> Result<String, UsageError> {
    let (lang, words) = language(words)?;
    match words {
        [] => Ok(list(lang)),
        [word] if word == "all" => Ok(markdown()),
        [word] => {
            let rule = rules().find(|rule| rule.rule.eq_ignore_ascii_case(word)).ok_or_else(|| {
                let all: Vec<&str> = rules().map(|rule| rule.rule).collect();
                UsageError::new(word, format!("is not a rule; use one of {}", all.join(", ")))
            })?;
            Ok(format!("{}  {}\n\n{}", rule.rule, lang.of(rule.title), rule.paragraphs(lang).join("\n\n")))
        }
        [_, second, ..] => Err(UsageError::new(second, "is an extra argument; use `brunt explain RULE`")),
    }
}

/// Returns the language of `--lang` and the remaining words.
fn language(words: &[String]) -> Result<(Lang, &[String]), UsageError> {
    match words {
        [flag, lang, rest @ ..] if flag == "--lang" => {
            lang.parse().map(|lang| (lang, rest)).map_err(|trouble| UsageError::new("--lang", trouble))
        }
        [rest @ .., flag, lang] if flag == "--lang" => {
            lang.parse().map(|lang| (lang, rest)).map_err(|trouble| UsageError::new("--lang", trouble))
        }
        rest => Ok((Lang::from_env(), rest)),
    }
}

fn list(lang: Lang) -> String {
    rules().map(|rule| format!("{:<4} {}\n", rule.rule, lang.of(rule.title))).collect()
}

fn markdown() -> String {
    let mut text = String::from(
        "# What can limit a run\n\nThe rules, in the order of a request's path, as printed by `brunt explain RULE`. \
            Thresholds are in [measurement.md](measurement.md#4-what-limited-the-run).\n",
    );
    for rule in rules() {
        text.push_str(&format!("\n## {}: {}\n\n", rule.rule, rule.title.en));
        rule.paragraphs(Lang::En).iter().for_each(|paragraph| text.push_str(&format!("- {paragraph}\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_by_their_rule() {
        let said = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            explain(&words).map_err(|complaint| complaint.to_string())
        };
        assert!(said(&["--lang", "en", "n2"]).is_ok_and(|rule| rule.starts_with("N2  A full accept queue")));
        assert!(said(&["N2", "--lang", "zh"]).is_ok_and(|rule| rule.contains("accept 队列已满")));
        assert!(said(&["all"]).is_ok_and(|rule| rule.contains("## S4: A pool")));
        let wrong = said(&["Z9"]).expect_err("no rule");
        assert!(wrong.starts_with("Z9: is not a rule; use one of ") && wrong.contains(" C1, "), "{wrong}");
        assert!(said(&["N2", "N3"]).is_err() && said(&["--lang", "xx"]).is_err());
    }
}
