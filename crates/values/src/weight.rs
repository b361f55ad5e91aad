//! Weights of commands or statements: `3x GET key`.
//!
//! The weight precedes the command, so that a single value contains both, on the command line and in a plan file. This
//! is unambiguous, because no command of a supported protocol begins with a number and an `x`.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;

/// Splits `3x GET key` into its weight and the command; the default weight is 1. `place` is the option named in errors.
///
/// # Errors
/// The weight is not a positive number, or no command follows it.
pub fn split_weight<'a>(text: &'a str, place: &str) -> Result<(f64, &'a str), UsageError> {
    let text = text.trim();
    let wrong = |trouble: Complaint| {
        let zh = trouble.zh();
        Err(UsageError::new(place, complaint!("\"{text}\" {trouble}", "“{text}”{zh}")))
    };
    if text.is_empty() {
        return wrong(complaint!("is empty; write what to send", "为空；请写要发送的内容"));
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let Some(rest) = text[digits..].strip_prefix('x').filter(|_| digits > 0) else { return Ok((1.0, text)) };
    if !rest.starts_with(char::is_whitespace) && !rest.is_empty() {
        return Ok((1.0, text));
    }
    match text[..digits].parse::<f64>() {
        Ok(weight) if weight > 0.0 && weight.is_finite() => match rest.trim_start() {
            "" => wrong(complaint!(
                "has a weight and nothing after it; use, for example, 3x GET key",
                "只有权重，后面没有内容；请写，例如 3x GET key"
            )),
            rest => Ok((weight, rest)),
        },
        _ => wrong(complaint!(
            "starts with a weight that is not a number above zero; use, for example, 3x GET key",
            "开头的权重不是大于零的数；请写，例如 3x GET key"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::split_weight;

    #[test]
    fn a_weight_stands_in_front() {
        for (text, weight, rest) in [
            ("GET k", 1.0, "GET k"),
            ("3x GET k", 3.0, "GET k"),
            ("0.5x  SET k 1x", 0.5, "SET k 1x"),
            (" 10x\tPING ", 10.0, "PING"),
            ("3xyz", 1.0, "3xyz"),
            ("x GET", 1.0, "x GET"),
        ] {
            assert_eq!(split_weight(text, "--command"), Ok((weight, rest)), "{text}");
        }
        for (text, said) in [
            ("", "--command: \"\" is empty; write what to send"),
            ("3x", "--command: \"3x\" has a weight and nothing after it; use, for example, 3x GET key"),
            (
                "0x GET",
                "--command: \"0x GET\" starts with a weight that is not a number above zero; use, for example, 3x \
                    GET key",
            ),
            (
                "1.2.3x GET",
                "--command: \"1.2.3x GET\" starts with a weight that is not a number above zero; use, for example, \
                    3x GET key",
            ),
        ] {
            let wrong = split_weight(text, "--command").unwrap_err();
            assert_eq!(wrong.to_string(), said);
            assert!(wrong.is_translated(), "{text}");
        }
    }
}
