//! What makes links last: the tokens, the port and the sessions of a console, kept in its library.
//!
//! The file is readable only by its owner, like the plans beside it. Sessions are kept only without a password, since a
//! password may have been changed by the next start.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::access::{Role, random};
use crate::runs::private_file;

/// Name of the file in the library.
const FILE: &str = "links.json";

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptLinks {
    /// The tokens.
    pub steer: String,
    pub look: String,
    /// The port, if none was asked for.
    pub port: Option<u16>,
    /// Role of each session, by its cookie.
    pub sessions: BTreeMap<String, Role>,
    #[serde(skip)]
    file: Option<PathBuf>,
}

impl KeptLinks {
    /// Creates links that nothing keeps.
    ///
    /// # Errors
    /// Returns an error if the system provides no random bits.
    pub fn new() -> Result<KeptLinks, String> {
        Ok(KeptLinks { steer: random()?, look: random()?, ..KeptLinks::default() })
    }

    /// Reads the links of a library; makes new ones if it has none, or if they are to be renewed.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, or the system provides no random bits.
    pub fn open(library: &Path, renew: bool) -> Result<KeptLinks, String> {
        let file = library.join(FILE);
        let known = std::fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<KeptLinks>(&bytes).ok());
        // A token that somebody shortened by hand would let anyone in.
        let is_whole = |kept: &KeptLinks| [&kept.steer, &kept.look].iter().all(|token| token.len() >= 32);
        if let Some(kept) = known.filter(|kept| !renew && is_whole(kept) && kept.steer != kept.look) {
            return Ok(KeptLinks { file: Some(file), ..kept });
        }
        let made = KeptLinks { file: Some(file), ..KeptLinks::new()? };
        made.save().map_err(|error| format!("{}: {error}", library.join(FILE).display()))?;
        Ok(made)
    }

    /// Writes the file as a whole; does nothing for links that nothing keeps.
    ///
    /// # Errors
    /// Returns the error of the file.
    pub fn save(&self) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let part = file.with_extension("part");
        let _ = std::fs::remove_file(&part);
        private_file(&part)?.write_all(&serde_json::to_vec(self)?)?;
        std::fs::rename(&part, file)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn links_last_until_they_are_renewed_and_only_their_owner_can_read_them() {
        let library = tempfile::tempdir().unwrap();
        let mut first = KeptLinks::open(library.path(), false).unwrap();
        (first.port, first.sessions) = (Some(4711), [("cookie".to_owned(), Role::View)].into());
        first.save().unwrap();
        assert_eq!(KeptLinks::open(library.path(), false).unwrap(), first);
        let file = library.path().join(FILE);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let renewed = KeptLinks::open(library.path(), true).unwrap();
        assert_ne!((&renewed.steer, &renewed.look), (&first.steer, &first.look));
        assert!(renewed.sessions.is_empty() && renewed.port.is_none());
        for broken in ["", "{", r#"{"steer": "", "look": ""}"#, r#"{"steer": "short", "look": "short"}"#] {
            std::fs::write(&file, broken).unwrap();
            assert_eq!(KeptLinks::open(library.path(), false).unwrap().steer.len(), 32, "{broken}");
        }
    }
}
