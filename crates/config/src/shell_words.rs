//! A command line in one text, split as a shell splits it.

use brunt_cause::Complaint;

use super::curl::shell;

/// The word in front of a command line, which may be left out.
pub(super) const PROGRAM: &str = "brunt";

/// Splits a command line, and leaves out the name of the program in front.
///
/// # Errors
/// The notation is invalid, or not supported.
pub fn shell_words(text: &str) -> Result<Vec<String>, Complaint> {
    let commands = shell::commands(text).map_err(|(_, why)| why)?;
    let mut words: Vec<String> = commands.into_iter().flat_map(|command| command.words).collect();
    if words.first().is_some_and(|word| word == PROGRAM) {
        words.remove(0);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell_without_the_program() {
        for line in ["brunt find 'p99<50ms' \"a b\" c", "find p99\\<50ms 'a b' \\\n c"] {
            assert_eq!(shell_words(line).unwrap(), ["find", "p99<50ms", "a b", "c"], "{line}");
        }
        assert!(shell_words(" ").unwrap().is_empty());
        assert!(shell_words("find 'p99").unwrap_err().to_string().len() > 5);
    }
}
