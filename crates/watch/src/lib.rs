//! Counters that a service reports about itself, queried once a second in its own protocol (`--watch`), or
//! counted from its log (`--watch-log`).
//!
//! The kernel counts what a process uses; only the service knows which command used it, or which
//! clients it refused. Each service is queried on its own thread, with a deadline for its answer,
//! so that a service that hangs delays neither the kernel's counters nor the end of the run. The
//! client that queries it is like any other and appears in the service's own counts: one connection
//! to Redis or a database for the whole run, a connection and a request a second to a page.
//!
//! Counters are named as the service spells them: `redis.NAME`, `redis.cmdstat_get.calls`, `mysql.NAME`,
//! `postgres.{database,activity,tables,setting}.NAME`, `nginx.accepts`, `prometheus.NAME{labels}`. Those of a log are named
//! by the limit that its lines mention (`log`).

mod client;
mod database;
mod log;
mod mysql;
mod nginx;
mod page;
mod pipe;
mod postgres;
mod prometheus;
mod redis;
mod service_address;

#[cfg(any(test, feature = "oracle"))]
pub use log::oracle;

use brunt_cause::{Complaint, complaint};
use std::io;
use std::sync::Arc;

use brunt_contract::SecureChannelFactory;
use brunt_counters::{CounterSink, Counters, is_name};
use brunt_measure::Clock;
use brunt_record::CounterValue;

use client::WatchClient;
use log::WatchedLog;

/// Maximum number of counters kept from one sample.
const MOST: usize = 5_000;

/// A service that reports its counters.
#[derive(Debug)]
pub struct WatchedService {
    name: String,
    tls: bool,
    source: WatchSource,
    sink: CounterSink,
}

#[derive(Debug)]
enum WatchSource {
    Redis(WatchClient),
    Mysql(WatchClient),
    Postgres(WatchClient),
    Nginx(WatchClient),
    Prometheus(WatchClient),
    Log(Box<WatchedLog>),
}

impl WatchSource {
    /// Returns the client that queries it; `None` for a log.
    fn client(&mut self) -> Option<&mut WatchClient> {
        match self {
            WatchSource::Redis(client)
            | WatchSource::Mysql(client)
            | WatchSource::Postgres(client)
            | WatchSource::Nginx(client)
            | WatchSource::Prometheus(client) => Some(client),
            WatchSource::Log(_) => None,
        }
    }
}

const RIGHT: &str = "write redis=HOST:PORT, mysql=mysql://USER:PASSWORD@HOST:PORT, \
                     postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE, nginx=http://HOST:PORT/stub_status or \
                     prometheus=http://HOST:PORT/metrics";

const RIGHT_ZH: &str = "请写 redis=HOST:PORT、mysql=mysql://USER:PASSWORD@HOST:PORT、\
                        postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE、nginx=http://HOST:PORT/stub_status 或 \
                        prometheus=http://HOST:PORT/metrics";

impl WatchedService {
    /// Parses `redis=127.0.0.1:6379`, `nginx=http://127.0.0.1/stub_status`,
    /// `prometheus=http://127.0.0.1:9090/metrics`.
    ///
    /// # Errors
    ///
    /// Returns a message that says what is wrong with the text, and an accepted form.
    pub fn parse(text: &str) -> Result<WatchedService, Complaint> {
        let (kind, place) = text.split_once('=').ok_or_else(|| {
            complaint!(
                "`{text}` does not start with a kind of service; {RIGHT}",
                "`{text}` 没有以服务的种类开头；{RIGHT_ZH}"
            )
        })?;
        let mut asked = match kind {
            "redis" => WatchSource::Redis(redis::client(place)?),
            "mysql" => WatchSource::Mysql(mysql::client(place)?),
            "postgres" => WatchSource::Postgres(postgres::client(place)?),
            "nginx" => WatchSource::Nginx(page::client(place)?),
            "prometheus" => WatchSource::Prometheus(page::client(place)?),
            _ => {
                return Err(complaint!(
                    "`{kind}` is not a kind of service that can be watched; {RIGHT}",
                    "`{kind}` 不是可监控的服务种类；{RIGHT_ZH}"
                ));
            }
        };
        let client = asked.client().expect("a log has an option of its own");
        let (name, tls) = (format!("{kind}={}", client.name), client.place.is_over_tls());
        Ok(WatchedService { name, tls, source: asked, sink: CounterSink::default() })
    }

    /// Returns whether it is queried over TLS.
    pub fn is_over_tls(&self) -> bool {
        self.tls
    }

    /// Sets the TLS implementation, if it is queried over TLS.
    pub fn set_security(&mut self, security: Arc<dyn SecureChannelFactory>) {
        if let Some(client) = self.source.client() {
            client.place.set_security(security);
        }
    }

    /// Creates the watch of a service's log, whose lines are counted by their content.
    pub fn log(path: &str) -> WatchedService {
        WatchedService {
            name: format!("log={path}"),
            tls: false,
            source: WatchSource::Log(Box::new(WatchedLog::new(path))),
            sink: CounterSink::default(),
        }
    }

    /// Returns the name used in records: its kind and address, without a password.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Beginning of the reason given if an answer did not arrive in time.
    pub const LATE: &str = "it did not respond within";

    /// Returns the current counters.
    ///
    /// # Errors
    ///
    /// Returns the reason for the failure, without a full stop.
    pub fn ask(&mut self) -> Result<Counters, String> {
        let told = match &mut self.source {
            WatchSource::Redis(client) => client.text(0).map(|text| redis::parse(&text, &mut self.sink)),
            WatchSource::Mysql(client) => mysql::ask(client).map(|told| mysql::put(&told, &mut self.sink)),
            WatchSource::Postgres(client) => postgres::ask(client).map(|told| postgres::put(&told, &mut self.sink)),
            WatchSource::Nginx(client) => client.text(0).map(|text| nginx::parse(&text, &mut self.sink)),
            WatchSource::Prometheus(client) => client.text(0).map(|text| prometheus::parse(&text, &mut self.sink)),
            WatchSource::Log(log) => log.follow().map(|passed_over| {
                log.put(&mut self.sink);
                if passed_over > 0 {
                    self.sink.unobservable(&self.name, "more lines per second than are read");
                }
                true
            }),
        };
        let moment = Clock.now();
        let mut counters = self.sink.take(moment);
        match told {
            Ok(true) if !counters.values.is_empty() => {
                if counters.values.len() > MOST {
                    let all = counters.values.len();
                    counters.values = std::mem::take(&mut counters.values).into_iter().take(MOST).collect();
                    counters.unobservable.push(format!("{}: only {MOST} of {all} counters are kept", self.name));
                }
                Ok(counters)
            }
            Ok(_) => Err(self.misunderstood().to_owned()),
            Err(error) => Err(failure_reason(&error)),
        }
    }

    /// Returns the current counters, or a sample that contains the reason for the failure.
    pub fn read(&mut self) -> Counters {
        self.ask().unwrap_or_else(|why| Counters {
            moment: Clock.now(),
            unobservable: vec![format!("{}: {why}", self.name)],
            ..Counters::default()
        })
    }

    fn misunderstood(&self) -> &'static str {
        match self.source {
            WatchSource::Redis(_) => "its reply to INFO is not from Redis",
            WatchSource::Mysql(_) => "it does not support SHOW GLOBAL STATUS",
            WatchSource::Postgres(_) => "it returns neither pg_stat_database nor any of the other counters",
            WatchSource::Nginx(_) => "this is not a stub_status page",
            WatchSource::Log(_) => "it cannot be read",
            WatchSource::Prometheus(_) => "this is not a page in the Prometheus text format",
        }
    }
}

/// Returns the reason why no answer came.
fn failure_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "it did not respond within 500 ms".to_owned(),
        io::ErrorKind::UnexpectedEof => "it closed the connection without a response".to_owned(),
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => error.to_string(),
    }
}

/// Decodes percent escapes; invalid escapes stay as they are.
fn unescape(text: &str) -> Vec<u8> {
    let (mut plain, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&first, behind)) = rest.split_first() {
        let escape = (first == b'%').then(|| behind.get(..2)).flatten();
        let byte = escape.and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        plain.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    plain
}

/// Encodes text for a URL: everything except letters and digits as %XX.
fn escape(plain: &[u8]) -> String {
    let one = |byte: &u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(*byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    plain.iter().map(one).collect()
}

/// Parses a number as services write it; `inf` and `nan` are not numbers here.
fn number(text: &str) -> Option<CounterValue> {
    let real = || text.parse().ok().filter(|real: &f64| real.is_finite()).map(CounterValue::Real);
    let begins = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    text.parse().ok().map(CounterValue::Whole).or_else(|| begins.then(real).flatten())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// Serves each connection one of these answers, once its request has arrived.
    fn served(answers: &'static [&'static [u8]]) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for answer in answers {
                let Ok((mut peer, _)) = listener.accept() else { return };
                let _ = peer.read(&mut [0; 4096]);
                let _ = peer.write_all(answer);
            }
        });
        address
    }

    #[test]
    fn options_as_people_write_them() {
        let name = |text: &str| WatchedService::parse(text).map(|watched| watched.name().to_owned());
        assert_eq!(name("redis=127.0.0.1:6379").unwrap(), "redis=127.0.0.1:6379");
        assert_eq!(name("redis=localhost").unwrap(), "redis=localhost:6379");
        assert_eq!(name("redis=redis://me:p%40ss@h:7/0").unwrap(), "redis=h:7");
        assert_eq!(name("nginx=http://127.0.0.1:8080/status").unwrap(), "nginx=127.0.0.1:8080");
        assert_eq!(name("prometheus=http://[::1]:9100/metrics").unwrap(), "prometheus=[::1]:9100");
        assert_eq!(name("nginx=https://h/status").unwrap(), "nginx=h:443");
        let tls = |text: &str| WatchedService::parse(text).unwrap().is_over_tls();
        for secured in [
            "nginx=https://h/s",
            "redis=rediss://h",
            "mysql=u@h?ssl",
            "mysql=mysql://u:p@h/d?ssl-mode=VERIFY_IDENTITY",
            "postgres=postgres://u@h/d?sslmode=verify-full",
        ] {
            assert!(tls(secured), "{secured}");
        }
        for clear in ["nginx=http://h/s", "redis=h", "mysql=u@h", "postgres=u@h?sslmode=disable"] {
            assert!(!tls(clear), "{clear}");
        }
        for (text, said) in [
            ("6379", "does not start with a kind of service"),
            ("mongo=h:1", "`mongo` is not a kind"),
            ("redis=", "has no host"),
            ("redis=h:x", "is not a port"),
            ("nginx=h/status", "use http://"),
            ("mysql=u@h?compress", "`?compress` is not supported"),
            ("postgres=u@h?sslmode=prefer", "`?sslmode=prefer` is not supported"),
            ("prometheus=http:///metrics", "has no host"),
        ] {
            let complaint = name(text).unwrap_err();
            assert!(complaint.contains(said), "{text}: {complaint}");
        }
    }

    #[test]
    fn a_page_is_read_and_what_goes_wrong_is_said() {
        let address = served(&[
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nup 1\nhttp_requests_total{code=\"200\"} 7\n",
            b"HTTP/1.1 404 Not Found\r\n\r\nnothing",
            b"HTTP/1.1 200 OK\r\n\r\n<html>",
            b"HTTP/1.1 200 OK\r\ncontent-length: 18\r\n\r\nc_total 123",
            b"",
        ]);
        let mut watched = WatchedService::parse(&format!("prometheus=http://{address}/metrics")).unwrap();
        let counters = watched.ask().unwrap();
        assert_eq!(counters.get("prometheus.up"), Some(1));
        assert_eq!(counters.get("prometheus.http_requests_total{code=\"200\"}"), Some(7));
        assert_eq!(watched.ask().unwrap_err(), "it responded with status 404");
        assert_eq!(watched.ask().unwrap_err(), "this is not a page in the Prometheus text format");
        assert_eq!(watched.ask().unwrap_err(), "its response was cut short");
        assert_eq!(watched.ask().unwrap_err(), "it closed the connection without a response");
        let lost = watched.read();
        assert!(lost.values.is_empty() && lost.unobservable[0].starts_with(watched.name()), "{lost:?}");
    }

    #[test]
    fn pages_come_in_chunks_and_may_be_long() {
        let long = format!("# {}\nlast 2\n", "x".repeat(3 << 20));
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let long = format!("{head}{:x}\r\n{long}\r\n0\r\n\r\n", long.len()).leak();
        let cut = format!("{head}9\r\nlast 1\n");
        let address = served(vec![long.as_bytes(), cut.leak().as_bytes()].leak());
        let mut watched =
            WatchedService::parse(&format!("prometheus=http://{address}/federate?match[]={{a=\"b\"}}")).unwrap();
        assert_eq!(watched.ask().unwrap().get("prometheus.last"), Some(2));
        assert_eq!(watched.ask().unwrap_err(), "its response was cut short");
    }

    #[test]
    fn a_place_that_is_none_is_named_without_its_password() {
        for text in ["mysql=me:hidden@[::x]:1", "postgres=me:hidden@a b/db", "redis=:hidden@a b"] {
            let trouble = WatchedService::parse(text).unwrap_err();
            assert!(
                trouble.ends_with("is neither a host name nor an address") && !trouble.contains("hidden"),
                "{trouble}"
            );
        }
        assert_eq!(WatchedService::parse("redis=[fe80::1%eth0]").unwrap().name(), "redis=[fe80::1%eth0]:6379");
    }

    #[test]
    fn who_never_answers_is_waited_for_within_bounds() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut watched = WatchedService::parse(&format!("redis={}", listener.local_addr().unwrap())).unwrap();
        assert_eq!(watched.ask().unwrap_err(), "it did not respond within 500 ms");
    }

    #[test]
    fn redis_is_asked_over_one_connection_and_anew_once_it_broke() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let mut heard = Vec::new();
            for answers in [2, 1] {
                let (mut peer, _) = listener.accept().unwrap();
                for login in (0..=answers).map(|n| n == 0) {
                    let mut bytes = [0; 4096];
                    let length = peer.read(&mut bytes).unwrap();
                    heard.push(String::from_utf8_lossy(&bytes[..length]).into_owned());
                    let answer = if login { "+OK\r\n" } else { "$12\r\nmaxclients:5\r\n" };
                    peer.write_all(answer.as_bytes()).unwrap();
                }
            }
            heard
        });
        let mut watched = WatchedService::parse(&format!("redis=redis://:s%20t@{address}")).unwrap();
        for _ in 0..2 {
            assert_eq!(watched.ask().unwrap().get("redis.maxclients"), Some(5));
        }
        // The connection was closed; the next is a new one.
        assert!(watched.ask().is_err());
        assert_eq!(watched.ask().unwrap().get("redis.maxclients"), Some(5));
        let heard = server.join().unwrap();
        let [auth, info] = ["*2\r\n$4\r\nAUTH\r\n$3\r\ns t\r\n", "*2\r\n$4\r\nINFO\r\n$3\r\nall\r\n"];
        assert_eq!(heard, [auth, info, info, auth, info]);
    }
}
