//! Resolves `.proto` files in a directory, including those that use editions.
//!
//! The library that parses them supports proto2 and proto3. Except for features, a file that uses editions has the
//! syntax of proto3; it is parsed as such, and its features are added to the descriptor (see [`super::editions`]). What
//! does not affect messages is not parsed at all ([`super::wire_source`]), so that imports that only define options may
//! be missing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use prost_reflect::prost::Message as _;
use protox::file::{File, FileResolver, IncludeFileResolver};

use super::{editions, wire_source};
use brunt_values::file;

/// A resolver for the files below a directory.
#[derive(Debug)]
pub struct ProtoFiles {
    directory: PathBuf,
    plain: IncludeFileResolver,
}

impl ProtoFiles {
    /// Creates a resolver for this directory.
    pub fn new(directory: PathBuf) -> ProtoFiles {
        ProtoFiles { plain: IncludeFileResolver::new(directory.clone()), directory }
    }
}

impl FileResolver for ProtoFiles {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        self.plain.resolve_path(path)
    }

    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let path = self.directory.join(name);
        let Some(path) = path.to_str().filter(|_| file::is_file(&path)) else {
            return Err(protox::Error::file_not_found(name));
        };
        let text = file::text("--proto", path).map_err(|wrong| protox::Error::new(wrong.problem.to_string()))?;
        let text = wire_source::reduce(&text, edition(&text).is_some());
        match edition(&text) {
            Some((before, edition, after)) => of_edition(name, before, edition, after),
            None => File::from_source(name, &text),
        }
    }
}

/// The last resolver: imports that are not found are empty. Most define options, which are not needed; if a type of
/// theirs is used, the error about it names them.
#[derive(Clone, Debug, Default)]
pub struct MissingImports {
    names: Arc<Mutex<Vec<String>>>,
}

impl MissingImports {
    /// Returns the names of the imports that were not found.
    pub fn names(&self) -> Vec<String> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl FileResolver for MissingImports {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        File::from_source(name, "")
    }
}

/// Finds the edition declaration of a file; returns the text before it, the edition, and the text after it.
fn edition(text: &str) -> Option<(&str, &str, &str)> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches('\u{feff}').trim_start();
        rest = match rest {
            _ if rest.starts_with("//") => rest.split_once('\n')?.1,
            _ if rest.starts_with("/*") => rest[2..].split_once("*/")?.1,
            _ => break,
        };
    }
    let before = &text[..text.len() - rest.len()];
    let value = rest.strip_prefix("edition")?.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (edition, after) = value[1..].split_once(quote)?;
    Some((before, edition, after))
}

fn of_edition(name: &str, before: &str, edition: &str, after: &str) -> Result<File, protox::Error> {
    let number: u64 = match edition {
        "2023" => 1000,
        "2024" => 1001,
        _ => return Err(parse_error(name, &format!("edition \"{edition}\" is not supported, only 2023 and 2024"))),
    };
    let parsed = File::from_source(name, &format!("{before}syntax = \"proto3\"{after}"))?;
    let mut bytes = parsed.file_descriptor_proto().encode_to_vec();
    editions::set_edition(number, &mut bytes);
    let lowered = editions::lower_to_proto2(&bytes).map_err(|why| parse_error(name, &format!("it holds {why}")))?;
    File::decode_file_descriptor_proto(&lowered.unwrap_or(bytes)[..]).map_err(|why| parse_error(name, &why.to_string()))
}

fn parse_error(name: &str, why: &str) -> protox::Error {
    protox::Error::new(format!("{name}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edition_is_found_behind_comments_and_nowhere_else() {
        for (text, found) in [
            ("edition = \"2023\";\n", Some("2023")),
            ("// edition = \"1\";\n/* syntax\n= */ edition='2024' ;", Some("2024")),
            ("\u{feff}  edition\n=\n\"2023\";", Some("2023")),
            ("syntax = \"proto3\"; // edition = \"2023\";", None),
            ("package edition;", None),
            ("// nothing", None),
            ("edition = 2023;", None),
            ("", None),
        ] {
            assert_eq!(edition(text).map(|(_, edition, _)| edition), found, "{text}");
        }
    }
}
