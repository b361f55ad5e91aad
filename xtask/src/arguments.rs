//! The arguments after a command's name.
//!
//! They are parsed by hand, because a command has only a few options, and a parser library would
//! take longer to compile than the rest of this crate.

/// Options and words not yet consumed.
pub struct Arguments {
    rest: Vec<String>,
}

impl Arguments {
    /// Collects all words after the command's name.
    pub fn new(words: impl Iterator<Item = String>) -> Self {
        Self { rest: words.collect() }
    }

    /// Removes a switch; returns `true` if it was given.
    pub fn switch(&mut self, name: &str) -> bool {
        let before = self.rest.len();
        self.rest.retain(|word| word != name);
        self.rest.len() < before
    }

    /// Removes every `NAME VALUE` (or `NAME=VALUE`) and returns the values.
    pub fn values(&mut self, name: &str) -> Result<Vec<String>, String> {
        let mut found = Vec::new();
        while let Some(at) = self.rest.iter().position(|w| w == name || w.starts_with(&format!("{name}="))) {
            let word = self.rest.remove(at);
            if let Some((_, value)) = word.split_once('=') {
                found.push(value.to_owned());
            } else if at < self.rest.len() {
                found.push(self.rest.remove(at));
            } else {
                return Err(format!("{name} needs a value"));
            }
        }
        Ok(found)
    }

    /// Removes every `NAME NUMBER` and returns the last number, or `default` if there is none.
    pub fn number(&mut self, name: &str, default: u32) -> Result<u32, String> {
        match self.values(name)?.pop() {
            None => Ok(default),
            Some(text) => {
                text.parse().map_err(|_| format!("{name} {text}: expected a whole number, as in {name} {default}"))
            }
        }
    }

    /// Returns the remaining words; an option among them is an error.
    pub fn words(self) -> Result<Vec<String>, String> {
        match self.rest.iter().find(|word| word.starts_with('-')) {
            Some(option) => Err(format!("{option} is not an option of this command")),
            None => Ok(self.rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Arguments {
        Arguments::new(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn takes_options_wherever_they_stand() {
        let mut given = of("a --only x --fast b --only=y --rounds 3");
        assert!(given.switch("--fast"));
        assert!(!given.switch("--fast"));
        assert_eq!(given.values("--only"), Ok(vec!["x".into(), "y".into()]));
        assert_eq!(given.number("--rounds", 5), Ok(3));
        assert_eq!(given.number("--seconds", 4), Ok(4));
        assert_eq!(given.words(), Ok(vec!["a".into(), "b".into()]));
    }

    #[test]
    fn complains_about_what_it_does_not_know() {
        assert_eq!(of("--only").values("--only"), Err("--only needs a value".into()));
        assert!(
            of("--rounds many")
                .number("--rounds", 5)
                .unwrap_err()
                .starts_with("--rounds many: expected a whole number")
        );
        assert_eq!(of("a --wat").words(), Err("--wat is not an option of this command".into()));
    }
}
