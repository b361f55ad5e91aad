//! Servers that refuse all connections: requests that fail for this reason have the server's own code.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use brunt_measure::Nanos;
use brunt_plan::Arrivals;
use brunt_protocols::mysql::MysqlProtocol;
use brunt_protocols::postgres::PostgresProtocol;
use brunt_sim::{PeerActions, SimPeer};

use super::harness::{MS, SECOND, SimPlan, SimResult};

/// A server that sends these bytes on each connection, and closes it.
struct RefusingServer {
    says: &'static [u8],
    came: VecDeque<(Nanos, u32)>,
}

impl SimPeer for RefusingServer {
    fn opened(&mut self, now: Nanos, conn: u32) {
        self.came.push_back((now + MS, conn));
    }
    fn received(&mut self, _now: Nanos, _conn: u32, _bytes: &[u8], _say: &mut PeerActions) {}
    fn closed(&mut self, _now: Nanos, conn: u32) {
        self.came.retain(|(_, waiting)| *waiting != conn);
    }
    fn next_timer(&self) -> Option<Nanos> {
        self.came.front().map(|(due, _)| *due)
    }
    fn timer(&mut self, now: Nanos, say: &mut PeerActions) {
        while let Some((_, conn)) = self.came.pop_front_if(|(due, _)| *due <= now) {
            say.send(conn, self.says);
            say.close(conn);
        }
    }
}

fn refused(scene: &SimPlan, says: &'static [u8]) -> SimResult {
    let peer = |_| Box::new(RefusingServer { says, came: VecDeque::new() });
    match scene.plan.urls[0].url.starts_with("mysql") {
        true => scene.play_protocol(&MysqlProtocol, Arc::default(), peer),
        false => scene.play_protocol(&PostgresProtocol, Arc::default(), peer),
    }
}

#[test]
fn a_refused_login_fails_requests_with_the_servers_code() {
    // The harness names codes by number; a SQLSTATE is five digits in base 36.
    for (url, says, code) in [
        ("mysql://u@test/d", &b"\x17\0\0\0\xff\x10\x04Too many connections"[..], "1040"),
        ("mysql://u@test/d", b"\x11\0\0\0\xff\x15\x04#28000Denied..", "1045"),
        ("postgres://u:p@test/d", b"E\0\0\0\x21SFATAL\0C28P01\0Mno password.\0\0", "3764881"),
        ("postgres://u:p@test/d", b"E\0\0\0\x22SFATAL\0C53300\0Mtoo many ....\0\0", "8541936"),
    ] {
        for scene in [SimPlan::closed(2, SECOND), SimPlan::open(20.0, Arrivals::Constant, SECOND)] {
            let played = refused(&scene.urls(&[(url, 1.0)]), says);
            let failures = || played.seconds.iter().flat_map(|s| &s.failures);
            // In open load, the rest may wait for a connection that never opens.
            let refusals: u64 = failures().filter(|f| f.kind == "wrong_status").map(|f| f.count).sum();
            let mut status: BTreeMap<&str, u64> = BTreeMap::new();
            let counted = played.seconds.iter().flat_map(|s| &s.status);
            counted.for_each(|(code, count)| *status.entry(code).or_default() += count);
            assert!(refusals > 0, "{code}");
            assert_eq!(status, BTreeMap::from([(code, refusals)]));
            assert!(failures().all(|f| f.kind != "broken_protocol"), "{code}: {:?}", played.seconds);
        }
    }
}
