//! A third-party MySQL server in Go: its accounts use `caching_sha2_password`, and its result sets end like those of
//! old servers.

use crate::external::{BuildOnce, ExternalServer};

/// A running server; killed on drop.
pub struct MysqlGoServer(ExternalServer);

impl MysqlGoServer {
    /// Starts the server. Returns `None` if Go is missing.
    pub fn start() -> Option<MysqlGoServer> {
        static BUILT: BuildOnce = BuildOnce::new();
        ExternalServer::go(&BUILT, "mysql-go", &[]).map(MysqlGoServer)
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("mysql://brunt:pass%3Aword@localhost:{}/test", self.0.port)
    }

    /// Ends the server. Returns the numbers of logins, of passwords sent in full, of queries and of executions.
    ///
    /// # Panics
    /// Panics if it prints nothing.
    pub fn counts(self) -> [u64; 4] {
        let text = self.0.counts();
        let mut counts = text.split_whitespace().map(|number| number.parse().expect("a number"));
        [(); 4].map(|()| counts.next().expect("four counts"))
    }
}
