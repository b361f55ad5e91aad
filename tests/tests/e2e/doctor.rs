//! Tests of `brunt doctor`: the abilities of a machine, and the limits that a run would hit.

use brunt_tests::{TargetProcess, brunt};

#[test]
fn a_machine_is_examined_with_and_without_a_run() {
    let ended = brunt(["doctor"]).with_code(0).containing("file descriptors per process");
    ended.containing("now other processes use").containing("can be trusted here");
    let target = TargetProcess::healthy();
    let url = target.url("");
    brunt(["doctor", "-c", "10", "-d", "1s", &url]).with_code(0).containing("the target runs on this machine");
    assert_eq!(target.requests(), 0, "no load is sent");
    brunt(["doctor", "--lang", "zh", "-c", "10", "-d", "1s", &url]).with_code(0).containing("目标就在本机");
}

#[test]
fn more_connections_than_ports_go_to_loopback_from_several_addresses() {
    let target = TargetProcess::healthy();
    let url = target.url("");
    let told = brunt(["doctor", "-c", "15000", "-d", "1s", &url]).with_code(0);
    assert!(!told.out.contains("local port, and there are"), "{}", told.out);
    brunt(["doctor", "-c", "10", "http://nowhere.invalid/"]).with_code(64).containing("nowhere.invalid");
}

/// Predicts a load that uses up its ports: 2,000 connections a second, each used once. No request is sent, so no server
/// is needed.
#[test]
fn a_run_that_uses_up_its_ports_is_foretold() {
    let reused = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_tw_reuse").is_ok_and(|text| text.trim() == "1");
    if reused {
        return brunt_tests::skip("this machine reuses ports in TIME_WAIT (net.ipv4.tcp_tw_reuse=1)");
    }
    let line = ["-r", "5000/s", "-d", "10m", "--no-keepalive", "http://192.0.2.1:8080/"];
    let told = brunt(["doctor"].iter().chain(&line)).with_code(20);
    assert!(told.out.contains("ports run out after"), "{}", told.out);
    assert!(told.out.contains("tcp_tw_reuse"), "{}", told.out);
    brunt(["doctor", "--rate", "5000/s", "--bogus", "http://192.0.2.1/"]).with_code(64);
}
