//! Request options, followed by the options that concern the version.

use brunt_cause::complaint;
use brunt_contract::{OptionSpec, ProtocolConfig, UsageError, one, switch};

use crate::http1::options::OPTIONS as OF_REQUESTS;

/// Options that choose a version, or require a certain one.
const OF_VERSIONS: [OptionSpec; 3] = [
    one(
        "http",
        "VERSION",
        "HTTP version: 1.1 (default), 1.0, 2, or auto: negotiated by ALPN on https, 1.1 on http",
        "HTTP 版本：1.1（默认）、1.0、2，或 auto（https 由服务器经 ALPN 选择，http 为 1.1）",
    ),
    switch("http2", "Use HTTP/2 (with prior knowledge on http://): same as --http 2", "等同于 --http 2"),
    one(
        "streams",
        "N",
        "Let N users share a connection, each on its own stream (HTTP/2; default 1)",
        "N 个用户共享一个连接，各用一个流（HTTP/2；默认 1）",
    ),
];

/// All options, in the order the help shows them.
pub const OPTIONS: &[OptionSpec] = &{
    let mut all = [OF_VERSIONS[0]; OF_VERSIONS.len() + OF_REQUESTS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < OF_REQUESTS.len() { OF_REQUESTS[at] } else { OF_VERSIONS[at - OF_REQUESTS.len()] };
        at += 1;
    }
    all
};

/// HTTP version to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
    /// The version that the server chooses by ALPN.
    Auto,
}

/// Returns the requested version.
///
/// # Errors
/// Returns an error for an unknown version, or for contradictory options.
pub fn version(config: &ProtocolConfig) -> Result<HttpVersion, UsageError> {
    let wanted = match config.value("http") {
        None if config.switch("http2") => return Ok(HttpVersion::Http2),
        None | Some("1.1" | "1" | "1.0") => HttpVersion::Http1,
        Some("2") => HttpVersion::Http2,
        Some("auto") => HttpVersion::Auto,
        Some(other) => {
            let trouble = complaint!(
                "\"{other}\" is not a supported version; use 1.1, 1.0, 2 or auto",
                "不支持版本“{other}”；请用 1.1、1.0、2 或 auto"
            );
            return Err(UsageError::new("--http", trouble));
        }
    };
    if config.switch("http2") && wanted != HttpVersion::Http2 {
        return Err(UsageError::new(
            "--http2",
            complaint!("contradicts --http; leave out one of them", "与 --http 矛盾；请去掉其中一个"),
        ));
    }
    Ok(wanted)
}

/// Returns the maximum number of concurrent exchanges per connection.
///
/// # Errors
/// Returns an error for an invalid number, or one that the version does not support.
pub fn streams(config: &ProtocolConfig, version: HttpVersion) -> Result<u32, UsageError> {
    let Some(text) = config.value("streams") else { return Ok(1) };
    let streams = text.parse().ok().filter(|n| (1..=100_000).contains(n)).ok_or_else(|| {
        UsageError::new(
            "--streams",
            complaint!(
                "\"{text}\" is not a number from 1 to 100000; use, for example, 10",
                "“{text}”不是 1 到 100000 的数；请写，例如 10"
            ),
        )
    })?;
    if streams > 1 && version == HttpVersion::Http1 {
        let trouble = complaint!(
            "HTTP/1.1 handles one request at a time; add --http2, or leave it out",
            "HTTP/1.1 一次只处理一个请求；请加上 --http2，或去掉"
        );
        return Err(UsageError::new("--streams", trouble));
    }
    Ok(streams)
}
