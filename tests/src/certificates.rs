//! Certificates made with the openssl command: those of an authority, and those that it signs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A directory of certificates: an authority (`ca`), a server (`server`, for localhost and 127.0.0.1) and a client.
pub struct Certificates {
    directory: TempDir,
}

impl Certificates {
    /// Creates the certificates. Returns `None` if openssl is not installed.
    ///
    /// # Panics
    /// Panics if openssl fails.
    pub fn make() -> Option<Certificates> {
        Command::new("openssl").arg("version").stdout(Stdio::null()).status().ok()?;
        let made = Certificates { directory: tempfile::tempdir().expect("a directory") };
        let ca = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=test-authority \
                  -keyout ca.key -out ca.pem";
        openssl(made.directory.path(), ca);
        std::fs::write(made.path("server.ext"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n").expect("written");
        std::fs::write(made.path("client.ext"), "extendedKeyUsage=clientAuth\n").expect("written");
        for name in ["server", "client"] {
            let request = format!(
                "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr"
            );
            openssl(made.directory.path(), &request);
            let sign = format!(
                "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile {name}.ext -out {name}.pem"
            );
            openssl(made.directory.path(), &sign);
        }
        Some(made)
    }

    /// Returns the path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the path of a file as text.
    ///
    /// # Panics
    /// Panics if it is not UTF-8.
    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("a path in UTF-8").to_string()
    }
}

fn openssl(directory: &Path, line: &str) {
    let output =
        Command::new("openssl").args(line.split_whitespace()).current_dir(directory).output().expect("it runs");
    assert!(output.status.success(), "openssl {line}: {}", String::from_utf8_lossy(&output.stderr));
}
