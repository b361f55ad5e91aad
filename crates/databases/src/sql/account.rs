//! The URL of a database: where it leads, and who logs in there.

use url::Url;
use wire::{AskedUrl, Complaint, Origin};

use values::percent::{self, decoded};

/// Who logs in, to which database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The user.
    pub user: Vec<u8>,
    /// The password; empty for none.
    pub password: Vec<u8>,
    /// The database; empty for the server's choice.
    pub database: Vec<u8>,
}

/// What the URLs of a database look like.
#[derive(Clone, Copy, Debug)]
pub struct Door {
    /// Its schemes; the first is the one to write.
    pub schemes: [&'static str; 2],
    /// The port where none is given.
    pub port: u16,
    /// A zero byte ends a password too, as it ends a name.
    pub password_ends: bool,
}

impl Door {
    /// Where URLs lead and who logs in there; each has an origin of its own, bound to the number of its account.
    ///
    /// # Errors
    /// What is wrong with the first that cannot be used, or that there is none.
    pub fn places(&self, urls: &[AskedUrl]) -> Result<(Vec<Origin>, Vec<Account>), Complaint> {
        if urls.is_empty() {
            let Door { schemes: [scheme, _], port, .. } = self;
            let trouble =
                format!("none was given; write one, for instance {scheme}://user:password@127.0.0.1:{port}/test");
            return Err(Complaint::new("URL", trouble));
        }
        let (mut origins, mut accounts) = (Vec::new(), Vec::new());
        for url in urls {
            let (origin, account) = self.place(&url.url)?;
            origins.push(Origin { bound: accounts.len() as u32, ..origin });
            accounts.push(account);
        }
        Ok((origins, accounts))
    }

    fn place(&self, text: &str) -> Result<(Origin, Account), Complaint> {
        let Door { schemes: [scheme, other], port, password_ends } = self;
        let wrong = |trouble: &str| {
            let right = format!("write {scheme}://user:password@host:{port}/database");
            Complaint::new("URL", format!("\"{text}\" cannot be used ({trouble}); {right}"))
        };
        let url = Url::parse(text).map_err(|trouble| wrong(&trouble.to_string()))?;
        if !self.schemes.contains(&url.scheme()) {
            return Err(wrong(&format!("its scheme is neither {scheme} nor {other}")));
        }
        let host = percent::host(&url).ok_or_else(|| wrong("it has no host"))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("options are given as flags, for instance --ssl"));
        }
        if url.username().is_empty() {
            return Err(wrong("it has no user"));
        }
        let database = url.path().trim_start_matches('/');
        if database.contains('/') {
            return Err(wrong("a database is a single word"));
        }
        let account = Account {
            user: decoded(url.username()),
            password: decoded(url.password().unwrap_or_default()),
            database: decoded(database),
        };
        let cut = |part: &[u8]| part.contains(&0);
        if cut(&account.user) || cut(&account.database) || (*password_ends && cut(&account.password)) {
            return Err(wrong("names cannot contain a zero byte"));
        }
        Ok((Origin::tcp(host, url.port().unwrap_or(*port), false), account))
    }
}
