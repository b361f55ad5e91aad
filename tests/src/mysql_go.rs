//! A MySQL server that is neither ours nor MariaDB's, in Go: its accounts use `caching_sha2_password`, and its rows end as
//! those of old servers do.

use crate::foreign::{Foreign, Made};

/// A server that runs; ended with the value.
pub struct Server(Foreign);

impl Server {
    /// Starts one; none where Go is missing.
    pub fn start() -> Option<Server> {
        static BUILT: Made = Made::new();
        Foreign::go(&BUILT, "mysql-go", &[]).map(Server)
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("mysql://brunt:pass%3Aword@localhost:{}/test", self.0.port)
    }

    /// Ends it; logins, passwords told in full, queries and executions.
    ///
    /// # Panics
    /// Where it says nothing.
    pub fn counts(self) -> [u64; 4] {
        let text = self.0.counts();
        let mut counts = text.split_whitespace().map(|number| number.parse().expect("a number"));
        [(); 4].map(|()| counts.next().expect("four counts"))
    }
}
