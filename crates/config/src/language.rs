//! The language of a command line, known before its options are read: help and complaints are in it, too.

use brunt_contract::UsageError;
use brunt_report::Lang;

use super::parsers;

/// Returns the language that `--lang` names, or else that of the locale; a wrong name is reported later.
pub fn of_line(line: &[String]) -> Lang {
    let after = line.windows(2).filter(|pair| pair[0] == "--lang").map(|pair| pair[1].as_str());
    let joined = line.iter().filter_map(|word| word.strip_prefix("--lang="));
    after.chain(joined).find_map(|name| parsers::language(name).ok()).unwrap_or_else(Lang::from_env)
}

/// Returns the language of a line, and the line without `--lang`.
///
/// # Errors
/// There is no such language.
pub fn without_language(line: &[String]) -> Result<(Lang, Vec<String>), UsageError> {
    let mut lang = None;
    let mut rest = Vec::new();
    let mut words = line.iter();
    while let Some(word) = words.next() {
        let name = match word.strip_prefix("--lang") {
            Some("") => words.next().map(String::as_str),
            Some(joined) => joined.strip_prefix('='),
            None => None,
        };
        match name {
            Some(name) => lang = Some(parsers::language(name).map_err(|trouble| UsageError::new("--lang", trouble))?),
            None => rest.push(word.clone()),
        }
    }
    Ok((lang.unwrap_or_else(Lang::from_env), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_language_may_stand_anywhere() {
        for line in ["--lang zh N2", "N2 --lang zh", "N2 --lang=zh"] {
            assert_eq!(without_language(&words(line)).unwrap(), (Lang::Zh, words("N2")), "{line}");
            assert_eq!(of_line(&words(line)), Lang::Zh, "{line}");
        }
        assert!(without_language(&words("--lang xx")).is_err());
    }
}
