//! Tests of the names of requests in metrics, protocol by protocol.

use brunt_contract::{Protocol, ProtocolConfig, RequestedUrl};

use brunt_databases::{mysql::MysqlProtocol, postgres::PostgresProtocol, redis::RedisProtocol};
use brunt_http_family::{grpc::GrpcProtocol, http::Http, websocket::WebSocketProtocol};
use brunt_raw::RawProtocol;

fn asked(urls: &[&str], options: &[(&str, &[&str])]) -> ProtocolConfig {
    let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    ProtocolConfig {
        urls: urls.iter().map(|url| RequestedUrl { url: (*url).to_owned(), weight: 1.0 }).collect(),
        options: options.iter().map(|(name, given)| ((*name).to_owned(), values(given))).collect(),
        ..ProtocolConfig::default()
    }
}

/// Returns the name of each request.
fn names(protocol: &impl Protocol, config: &ProtocolConfig) -> Vec<String> {
    let made = protocol.prepare(config).expect("a good plan");
    let names = made.names();
    (0..made.requests().len()).map(|request| names.list()[usize::from(names.index_of(request))].clone()).collect()
}

#[test]
fn requests_are_called_by_what_they_ask() {
    let http =
        asked(&["http://u:p@h", "http://h:1/items/{counter}?q={counter}#x", "https://h/a/b"], &[("method", &["PUT"])]);
    assert_eq!(names(&Http, &http), ["PUT /", "PUT /items/{counter}", "PUT /a/b"]);
    let commands: &[&str] = &["set key {counter}", "3x GET key"];
    assert_eq!(names(&RedisProtocol, &asked(&["redis://h"], &[("command", commands)])), ["SET", "GET"]);
    let statements: &[&str] = &["SELECT  1", "2x INSERT INTO t VALUES ({counter})"];
    let sql = ["SELECT 1", "INSERT INTO t VALUES ({counter})"];
    assert_eq!(names(&MysqlProtocol, &asked(&["mysql://root@h/d"], &[("sql", statements)])), sql);
    assert_eq!(names(&PostgresProtocol, &asked(&["postgres://root@h/d"], &[("sql", statements)])), sql);
    let call = "grpc://h/grpc.health.v1.Health/Check";
    assert_eq!(names(&GrpcProtocol, &asked(&[call], &[("data", &["{}"])])), ["grpc.health.v1.Health/Check"]);
    let messages: &[&str] = &["one", "two"];
    assert_eq!(names(&WebSocketProtocol, &asked(&["ws://h/chat?x=1"], &[("data", messages)])), ["/chat", "/chat"]);
    let raw = asked(&["tcp://h:1", "tcp://h:2"], &[("send", &["x"]), ("until", &["\\n"])]);
    assert_eq!(names(&RawProtocol, &raw), ["tcp://h:1", "tcp://h:2"]);
}

#[test]
fn a_name_that_was_given_is_that_of_every_request_of_its_url() {
    let named = |config: ProtocolConfig| ProtocolConfig { names: vec![Some("mine".into())], ..config };
    assert_eq!(names(&Http, &named(asked(&["http://h/a", "http://h/b"], &[]))), ["mine", "GET /b"]);
    let commands: &[&str] = &["SET a 1", "GET a"];
    assert_eq!(names(&RedisProtocol, &named(asked(&["redis://h"], &[("command", commands)]))), ["mine", "mine"]);
    assert_eq!(names(&MysqlProtocol, &named(asked(&["mysql://root@h"], &[]))), ["mine"]);
    assert_eq!(names(&WebSocketProtocol, &named(asked(&["ws://h/"], &[("data", &["x"])]))), ["mine"]);
    assert_eq!(names(&GrpcProtocol, &named(asked(&["grpc://h/grpc.health.v1.Health/Check"], &[]))), ["mine"]);
}
