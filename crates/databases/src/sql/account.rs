//! The URL of a database: its address and account.

use brunt_cause::{Complaint, complaint};
use brunt_contract::{Origin, RequestedUrl, UsageError};
use url::Url;

use brunt_values::percent::{self, decoded};

/// The login and the database of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseAccount {
    /// User name.
    pub user: Vec<u8>,
    /// Password; empty for none.
    pub password: Vec<u8>,
    /// Database; empty for the server's default.
    pub database: Vec<u8>,
}

/// The URL syntax of a database.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseUrls {
    /// Accepted schemes; the first is the preferred one.
    pub schemes: [&'static str; 2],
    /// Default port.
    pub port: u16,
    /// Set if passwords cannot contain a zero byte either.
    pub password_nul_terminated: bool,
}

impl DatabaseUrls {
    /// Parses URLs to origins and accounts. Each URL gets its own origin, bound to the index of its account.
    ///
    /// # Errors
    /// Returns what is wrong with the first invalid URL, or that there is no URL.
    pub fn parse_all(&self, urls: &[RequestedUrl]) -> Result<(Vec<Origin>, Vec<DatabaseAccount>), UsageError> {
        if urls.is_empty() {
            let DatabaseUrls { schemes: [scheme, _], port, .. } = self;
            let trouble = complaint!(
                "none given; add one, such as {scheme}://user:password@127.0.0.1:{port}/test",
                "没有给出；请加上，例如 {scheme}://user:password@127.0.0.1:{port}/test"
            );
            return Err(UsageError::new("URL", trouble));
        }
        let (mut origins, mut accounts) = (Vec::new(), Vec::new());
        for url in urls {
            let (origin, account) = self.parse(&url.url)?;
            origins.push(Origin { bound: accounts.len() as u32, ..origin });
            accounts.push(account);
        }
        Ok((origins, accounts))
    }

    fn parse(&self, text: &str) -> Result<(Origin, DatabaseAccount), UsageError> {
        let DatabaseUrls { schemes: [scheme, other], port, password_nul_terminated: password_ends } = self;
        let wrong = |trouble: Complaint| {
            let (zh, right) = (trouble.zh(), format!("{scheme}://user:password@host:{port}/database"));
            UsageError::new(
                "URL",
                complaint!(
                    "\"{text}\" cannot be used ({trouble}); use {right}",
                    "无法使用“{text}”（{zh}）；请写 {right}"
                ),
            )
        };
        let url = Url::parse(text).map_err(|trouble| wrong(trouble.to_string().into()))?;
        if !self.schemes.contains(&url.scheme()) {
            return Err(wrong(complaint!(
                "its scheme is neither {scheme} nor {other}",
                "协议既不是 {scheme} 也不是 {other}"
            )));
        }
        let host = percent::host(&url).ok_or_else(|| wrong(complaint!("it has no host", "缺少主机")))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong(complaint!(
                "options are given as flags, for example --ssl",
                "选项应写成命令行参数，例如 --ssl"
            )));
        }
        if url.username().is_empty() {
            return Err(wrong(complaint!("it has no user", "缺少用户名")));
        }
        let database = url.path().trim_start_matches('/');
        if database.contains('/') {
            return Err(wrong(complaint!("a database is a single word", "数据库名是一个词")));
        }
        let account = DatabaseAccount {
            user: decoded(url.username()),
            password: decoded(url.password().unwrap_or_default()),
            database: decoded(database),
        };
        let cut = |part: &[u8]| part.contains(&0);
        if cut(&account.user) || cut(&account.database) || (*password_ends && cut(&account.password)) {
            return Err(wrong(complaint!("names cannot contain a zero byte", "名称不能含有零字节")));
        }
        Ok((Origin::tcp(host, url.port().unwrap_or(*port), false), account))
    }
}
