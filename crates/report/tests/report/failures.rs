//! The failures of a run: what the latency counts of them, and the example that is shown.

use brunt_record::{FailureExample, RunEvent};
use brunt_report::Lang;

use crate::run_builder::{FillSecond, closed, ms, second};

/// Of 50 requests that timed out, this many were answered later; the first example is one of these.
fn shown(late: u64) -> String {
    let mut seconds = second(0).answered(900, ms(2)).failing(50, "timeout", "first_byte", None);
    seconds.late = late;
    let mut run = closed(10, 1);
    let example = |cause, detail: &str| {
        RunEvent::Example(FailureExample {
            kind: "timeout".into(),
            phase: "first_byte".into(),
            detail: detail.into(),
            cause,
            ..FailureExample::default()
        })
    };
    let late: brunt_cause::Cause = brunt_cause::response::late().into();
    run.events.push(example(Some(late.clone()), &late.en()));
    run.events.push(example(None, "no byte of a response came"));
    run.second(seconds).written("text", Lang::En)
}

#[test]
fn the_example_is_one_of_the_majority() {
    for (late, said, unsaid) in [
        (5, "no byte of a response came", "the response came after the timeout"),
        (45, "the response came after the timeout", "no byte of a response came"),
    ] {
        let text = shown(late);
        assert!(text.contains(said) && !text.contains(unsaid), "{late} of 50 came late:\n{text}");
    }
}

/// Returns the lines about what was received, in the complete summary of a run with a failed response.
fn received(response: &str) -> Vec<String> {
    let seconds = second(0).answered(900, ms(2)).failing(5, "wrong_status", "transfer", None);
    let run = closed(10, 1).example("wrong_status", "transfer", None, ("GET / HTTP/1.1\r\n\r\n", response));
    let text = run.second(seconds).written("text", Lang::En);
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("received:") || line.starts_with("body:"));
    lines.map(str::to_owned).collect()
}

#[test]
fn the_first_lines_of_a_failed_response_are_shown() {
    let head = "HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n";
    assert_eq!(
        received(&format!("{head}\r\n{{\"error\":\n  \"the database is away\"}}\nthree\nfour")),
        [
            "received: HTTP/1.1 500 Internal Server Error",
            "body: {\"error\":",
            "body: \"the database is away\"}",
            "body: three"
        ]
    );
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    assert_eq!(received(&chunked), ["received: HTTP/1.1 500 Internal Server Error", "body: hello"]);
    assert_eq!(received("-ERR unknown command\r\n"), ["received: -ERR unknown command\\r\\n"]);
    assert_eq!(received(""), [""; 0]);
}
