//! Named blanks for the secrets of a plan that is saved: `{env BRUNT_SECRET_1}`. A plan with blanks is the same plan
//! once the environment variables hold the secrets; without them, it cannot be run.

use crate::yaml::{FilePosition, YamlNode, YamlValue};

/// Beginning of a blank, before its number.
const BEGIN: &str = "{env BRUNT_SECRET_";

/// The secrets that were replaced by blanks; equal ones have the same blank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blanks {
    secrets: Vec<String>,
}

impl Blanks {
    /// Returns the blank for a secret.
    pub fn name(&mut self, secret: &str) -> String {
        let known = self.secrets.iter().position(|known| known == secret);
        let at = known.unwrap_or_else(|| {
            self.secrets.push(secret.to_owned());
            self.secrets.len() - 1
        });
        format!("{BEGIN}{}}}", at + 1)
    }

    /// Returns the names of the environment variables that must hold the secrets.
    pub fn variables(&self) -> Vec<String> {
        (1..=self.secrets.len()).map(|nth| format!("BRUNT_SECRET_{nth}")).collect()
    }
}

/// The blanks of a plan that is read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FilledBlanks {
    /// The secrets that were filled in.
    pub secrets: Vec<String>,
    /// The variables that are not set, each with the position of its first blank.
    pub missing: Vec<(FilePosition, String)>,
}

impl FilledBlanks {
    /// Fills in the blanks of a tree with the values of environment variables.
    pub fn of(root: &mut YamlNode, variable: &dyn Fn(&str) -> Option<String>) -> FilledBlanks {
        let mut filled = FilledBlanks::default();
        filled.node(root, variable);
        filled
    }

    fn node(&mut self, node: &mut YamlNode, variable: &dyn Fn(&str) -> Option<String>) {
        let at = node.at;
        match &mut node.value {
            YamlValue::Null => {}
            YamlValue::Text(text) => self.text(at, text, variable),
            YamlValue::List(items) => items.iter_mut().for_each(|item| self.node(item, variable)),
            YamlValue::Map(entries) => entries.iter_mut().for_each(|(key, at, node)| {
                self.text(*at, key, variable);
                self.node(node, variable);
            }),
        }
    }

    fn text(&mut self, at: FilePosition, text: &mut String, variable: &dyn Fn(&str) -> Option<String>) {
        let (mut filled, mut rest) = (String::new(), text.as_str());
        while let Some((before, behind)) = rest.split_once(BEGIN) {
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            filled += before;
            rest = &behind[digits..];
            let Some(after) = rest.strip_prefix('}').filter(|_| digits > 0) else {
                filled.extend([BEGIN, &behind[..digits]]);
                continue;
            };
            rest = after;
            let name = format!("BRUNT_SECRET_{}", &behind[..digits]);
            match variable(&name) {
                Some(secret) => {
                    filled += &secret;
                    self.secrets.push(secret);
                }
                None if self.missing.iter().any(|(_, known)| *known == name) => {}
                None => self.missing.push((at, name)),
            }
        }
        filled += rest;
        *text = filled;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_filled_with_the_secrets_they_stand_for() {
        let mut blanks = Blanks::default();
        let written = ["p{w", "a: b", "p{w"].map(|secret| blanks.name(secret));
        assert_eq!(blanks.variables(), ["BRUNT_SECRET_1", "BRUNT_SECRET_2"]);
        let text = format!("a: 'x{}y'\nb: ['{}', 1]\n'{}': {{env BRUNT_SECRET_}}", written[0], written[1], written[2]);
        let text = text.replace("{env BRUNT_SECRET_}", "'{env BRUNT_SECRET_}'");
        let mut root = crate::yaml::parse(&text).expect("YAML");
        let filled = FilledBlanks::of(&mut root, &|name| {
            Some(blanks.secrets[name.rsplit_once('_')?.1.parse::<usize>().ok()? - 1].clone())
        });
        assert_eq!((filled.secrets, filled.missing), (["p{w", "a: b", "p{w"].map(str::to_owned).to_vec(), Vec::new()));
        let wanted = crate::yaml::parse("a: 'xp{wy'\nb: ['a: b', 1]\n'p{w': '{env BRUNT_SECRET_}'").expect("YAML");
        assert_eq!(texts(&root), texts(&wanted));
        let mut root = crate::yaml::parse(&text).expect("YAML");
        let missing = FilledBlanks::of(&mut root, &|_| None).missing;
        let missing: Vec<_> = missing.iter().map(|(at, name)| (at.line, &**name)).collect();
        assert_eq!(missing, [(1, "BRUNT_SECRET_1"), (2, "BRUNT_SECRET_2")]);
    }

    fn texts(node: &YamlNode) -> Vec<&str> {
        match &node.value {
            YamlValue::Null => Vec::new(),
            YamlValue::Text(text) => vec![text],
            YamlValue::List(items) => items.iter().flat_map(texts).collect(),
            YamlValue::Map(entries) => {
                entries.iter().flat_map(|(key, _, node)| [vec![key.as_str()], texts(node)].concat()).collect()
            }
        }
    }
}
