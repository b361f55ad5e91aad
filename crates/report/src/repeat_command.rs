//! The command line of a run without the options that set its size: the experiments of the diagnosis repeat the same
//! load with a different number of users or at a different rate.

/// Options with a value that a repetition omits: those for the size of the run and for the destinations of its figures.
const DROPPED: [(&str, &str); 9] = [
    ("c", "users"),
    ("r", "rate"),
    ("d", "duration"),
    ("n", "requests"),
    ("o", "output"),
    ("", "stage"),
    ("", "record"),
    ("", "format"),
    ("", "seed"),
];
/// Switches that a repetition omits.
const SWITCHES: [&str; 2] = ["-q", "--quiet"];

/// Returns the arguments that follow `brunt -c N` to apply the same load again, quoted for a shell. Secrets are
/// masked as they are in the record.
pub(crate) fn repeat_command(command: &[String]) -> String {
    let mut words = command.iter().skip(1).peekable();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match option_rule(word) {
            OptionRule::Keep => kept.push(quoted(word)),
            OptionRule::DropSwitch => {}
            OptionRule::DropWithValue => drop(words.next()),
        }
    }
    kept.join(" ")
}

enum OptionRule {
    Keep,
    DropSwitch,
    DropWithValue,
}

fn option_rule(word: &str) -> OptionRule {
    if SWITCHES.contains(&word) || word == "run" {
        return OptionRule::DropSwitch;
    }
    for (short, long) in DROPPED {
        let rest = match word.strip_prefix("--") {
            Some(name) => name.strip_prefix(long).filter(|rest| rest.is_empty() || rest.starts_with('=')),
            None if short.is_empty() => None,
            None => word.strip_prefix('-').and_then(|name| name.strip_prefix(short)),
        };
        match rest {
            Some("") => return OptionRule::DropWithValue,
            Some(_) => return OptionRule::DropSwitch,
            None => {}
        }
    }
    OptionRule::Keep
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_@%+=:,./-[]".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_the_size_of_the_load_stays() {
        let again = |line: &[&str]| repeat_command(&line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let line = ["brunt", "-c", "60", "--duration=4s", "-n9", "--no-keepalive", "-o", "x.json", "http://h/?a=1&b"];
        assert_eq!(again(&line), "--no-keepalive 'http://h/?a=1&b'");
        let line = ["brunt", "run", "-r", "5/s", "--json", r#"{"it":"'"}"#, "-H", "A: ***", "h:1", "h:2/x"];
        assert_eq!(again(&line), r#"--json '{"it":"'\''"}' -H 'A: ***' h:1 h:2/x"#);
        assert_eq!(again(&["brunt", "--rate-limit-not-ours", "--record", "r", "--connect-rate", "3/s", "h"]), {
            "--rate-limit-not-ours --connect-rate 3/s h"
        });
        assert_eq!(again(&[]), "");
    }
}
