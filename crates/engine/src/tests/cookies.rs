//! Cookies over whole runs: cookies set by a server are sent back, deleted cookies are not.

use std::sync::{Arc, Mutex};

use brunt_measure::Nanos;
use brunt_protocols::http1::Http1;
use brunt_sim::{PeerActions, SimPeer};

use super::harness::{SECOND, SimPlan, SimResult};

/// A server that sets a cookie with its first answer and changes it with its third; it records the cookies received.
struct CookieServer {
    heard: Arc<Mutex<Vec<String>>>,
    third: &'static str,
}

impl SimPeer for CookieServer {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        let request = String::from_utf8_lossy(bytes);
        let cookies = request.lines().find_map(|line| line.strip_prefix("Cookie: ")).unwrap_or_default();
        let mut heard = self.heard.lock().unwrap();
        let set = match heard.len() {
            0 => "Set-Cookie: visit=1; Path=/\r\nSet-Cookie: theme=dark\r\n".to_owned(),
            2 => format!("Set-Cookie: {}\r\n", self.third),
            _ => String::new(),
        };
        heard.push(cookies.to_owned());
        say.send(conn, format!("HTTP/1.1 200 OK\r\n{set}Content-Length: 0\r\n\r\n").as_bytes());
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

/// Returns the cookies of six requests of one user.
fn cookies(third: &'static str, connections: &str) -> (SimResult, Vec<String>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let scene =
        SimPlan::closed(1, SECOND).with(|p| (p.requests, p.duration) = (Some(6), None)).option("cookie-jar", "");
    let scene = if connections.is_empty() { scene } else { scene.option(connections, "") };
    let told = Arc::clone(&heard);
    let played =
        scene.play_protocol(&Http1, Arc::default(), |_| Box::new(CookieServer { heard: Arc::clone(&told), third }));
    let heard = heard.lock().unwrap().clone();
    (played, heard)
}

#[test]
fn a_cookie_that_the_server_deletes_is_not_sent_again() {
    for connections in ["", "no-keepalive"] {
        for (third, after) in [
            ("visit=; Max-Age=0; Path=/", "theme=dark"),
            ("visit=1; Max-Age=-1; Path=/", "theme=dark"),
            ("visit=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "theme=dark"),
            // `Max-Age` takes precedence over `Expires`, and a different path means a different cookie.
            ("visit=2; Path=/; Max-Age=900; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "visit=2; theme=dark"),
            ("visit=; Max-Age=0; Path=/elsewhere", "visit=1; theme=dark"),
        ] {
            let (played, heard) = cookies(third, connections);
            assert_eq!((played.sum.due, played.sum.finished), (6, 6));
            let both = "visit=1; theme=dark";
            assert_eq!(heard, ["", both, both, after, after, after], "{third} {connections}");
        }
    }
}
