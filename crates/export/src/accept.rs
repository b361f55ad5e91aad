//! The request of a client: the path and the preferred exposition format.

/// The resource and format of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrapeRequest {
    /// The figures as text.
    Text,
    /// The figures as protobuf.
    Protobuf,
    /// The page that links to the figures.
    Root,
    /// Any other path.
    Nothing,
    /// A method that is not supported.
    Method,
}

/// Maximum number of header fields in a request.
const FIELDS: usize = 64;

/// Parses the head of a request; `Ok(None)` if it is incomplete.
///
/// # Errors
///
/// Returns an error if the head is not HTTP.
pub fn parse_request(head: &[u8]) -> Result<Option<ScrapeRequest>, httparse::Error> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    if request.parse(head)?.is_partial() {
        return Ok(None);
    }
    if !matches!(request.method, Some("GET")) {
        return Ok(Some(ScrapeRequest::Method));
    }
    let path = request.path.unwrap_or_default();
    let accept = request.headers.iter().filter(|field| field.name.eq_ignore_ascii_case("accept"));
    let values: Vec<&str> = accept.filter_map(|field| std::str::from_utf8(field.value).ok()).collect();
    Ok(Some(match path.split('?').next().unwrap_or_default() {
        "/metrics" if wants_protobuf(&values) => ScrapeRequest::Protobuf,
        "/metrics" => ScrapeRequest::Text,
        "/" => ScrapeRequest::Root,
        _ => ScrapeRequest::Nothing,
    }))
}

/// Returns `true` if protobuf is listed with a greater weight than any text.
fn wants_protobuf(values: &[&str]) -> bool {
    let (mut protobuf, mut text) = (0.0, 0.0);
    for range in values.iter().flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let (mut weight, mut is_ours) = (1.0, true);
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match (name.trim(), value.trim().trim_matches('"')) {
                ("q", q) => weight = q.parse().unwrap_or(0.0),
                ("proto", proto) => is_ours &= proto == "io.prometheus.client.MetricFamily",
                ("encoding", encoding) => is_ours &= encoding == "delimited",
                _ => {}
            }
        }
        match &*kind {
            "application/vnd.google.protobuf" if is_ours => protobuf = f64::max(protobuf, weight),
            "text/plain" | "text/*" | "application/openmetrics-text" => text = f64::max(text, weight),
            _ => {}
        }
    }
    protobuf > text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, accept: &str) -> Option<ScrapeRequest> {
        parse_request(format!("GET {path} HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n\r\n").as_bytes()).unwrap()
    }

    #[test]
    fn the_format_is_the_one_a_client_would_rather_have() {
        let prometheus = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
            application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let turned = "application/openmetrics-text;version=1.0.0;q=0.6,\
            application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.5,*/*;q=0.2";
        let compact = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text";
        let expected = [
            (prometheus, ScrapeRequest::Protobuf),
            (turned, ScrapeRequest::Text),
            (compact, ScrapeRequest::Text),
            ("*/*", ScrapeRequest::Text),
            ("text/html, application/vnd.google.protobuf;q=0", ScrapeRequest::Text),
            (";;q=,=,", ScrapeRequest::Text),
        ];
        for (accept, asked) in expected {
            assert_eq!(of("/metrics", accept), Some(asked), "{accept}");
        }
    }

    #[test]
    fn paths_and_methods_are_told_apart_and_heads_in_pieces_waited_for() {
        assert_eq!(of("/metrics?name[]=a", "*/*"), Some(ScrapeRequest::Text));
        assert_eq!((of("/", "*/*"), of("/metricss", "*/*")), (Some(ScrapeRequest::Root), Some(ScrapeRequest::Nothing)));
        assert_eq!(parse_request(b"POST /metrics HTTP/1.1\r\n\r\n").unwrap(), Some(ScrapeRequest::Method));
        assert_eq!(parse_request(b"GET /metrics HTTP/1.1\r\nHost: a\r\n").unwrap(), None);
        assert!(parse_request(b"\x16\x03\x01\x02\x00\x01").is_err());
    }
}
