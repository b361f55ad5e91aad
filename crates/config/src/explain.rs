//! `brunt explain [RULE]`: pages about the limits of a run.

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_diagnose::rules;
use brunt_report::Lang;

/// Returns the page of a rule, or the list of all rules; `all` returns all pages as Markdown for the guide.
///
/// # Errors
/// There is no such rule.
pub fn explain(words: &[String], lang: Lang) -> Result<String, UsageError> {
    match words {
        [] => Ok(list(lang)),
        [word] if word == "all" => Ok(markdown()),
        [word] => {
            let rule = rules().find(|rule| rule.rule.eq_ignore_ascii_case(word)).ok_or_else(|| {
                let all: Vec<&str> = rules().map(|rule| rule.rule).collect();
                UsageError::whole(complaint!(
                    "no such rule: {word}; use one of {}",
                    "没有规则 {word}；可用：{}",
                    all.join(", ")
                ))
            })?;
            Ok(format!("{}  {}\n\n{}", rule.rule, lang.of(rule.title), rule.paragraphs(lang).join("\n\n")))
        }
        [_, second, ..] => Err(UsageError::new(
            second,
            complaint!("is an extra argument; use `brunt explain RULE`", "是多余的参数；请用 `brunt explain RULE`"),
        )),
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
        let told = |words: &[&str], lang| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            explain(&words, lang).map_err(|complaint| complaint.to_string())
        };
        let said = |words: &[&str]| told(words, Lang::En);
        assert!(said(&["n2"]).is_ok_and(|rule| rule.starts_with("N2  A full accept queue")));
        assert!(told(&["N2"], Lang::Zh).is_ok_and(|rule| rule.contains("accept 队列已满")));
        assert!(said(&["all"]).is_ok_and(|rule| rule.contains("## S4: A pool")));
        let wrong = said(&["Z9"]).expect_err("no rule");
        assert!(wrong.starts_with("no such rule: Z9; use one of ") && wrong.contains(" C1, "), "{wrong}");
        assert!(said(&["N2", "N3"]).is_err());
    }
}
