//! Tests of simulated datagrams: each arrives whole and alone, and no later than the network
//! allows, or not at all.

use std::net::{Ipv4Addr, SocketAddr};

use brunt_contract::{ConnectParameters, Network, NetworkEvent, OutputBuffer, PeerAddress};
use brunt_measure::Nanos;

use super::super::SimSettings;
use super::echo;

/// Sends `count` numbered datagrams of four bytes, in pairs. Returns the numbers that came back, in
/// order.
fn came_back(seed: u64, loss: f64, count: u32) -> Vec<u32> {
    let mut sim = echo(seed, SimSettings { loss, split: 1.0, merge: 1.0, ..SimSettings::default() });
    let to = PeerAddress::Udp(SocketAddr::from((Ipv4Addr::LOCALHOST, 53)));
    let conn = sim.connect(&ConnectParameters { to, source: None, single_use: false }).unwrap();
    let (mut out, mut numbers) = (OutputBuffer::default(), Vec::new());
    let mut sent = 0;
    let mut end = sim.now() + Nanos::from_secs(1);
    while sim.now() < end {
        sim.wait(end);
        while let Some(arrival) = sim.next() {
            match arrival {
                NetworkEvent::Connected(at) => assert_eq!(at, conn),
                NetworkEvent::Received(at, bytes) => {
                    assert_eq!((at, bytes.len()), (conn, 4), "one datagram, whole");
                    numbers.push(u32::from_be_bytes(bytes.try_into().unwrap()));
                }
                other => panic!("{other:?}"),
            }
        }
        if sent < count {
            for _ in 0..2 {
                out.put(&sent.to_be_bytes());
                out.end_datagram();
                sent += 1;
            }
            sim.send(conn, &mut out);
            // No reply would wake us, so check again soon.
            end = sim.now() + Nanos::from_millis(1);
        }
    }
    numbers
}

#[test]
fn without_loss_every_datagram_comes_back_alone_and_in_order() {
    assert_eq!(came_back(1, 0.0, 200), (0..200).collect::<Vec<_>>());
}

/// With a loss of 0.2 each way, 0.64 of the datagrams return: 640 of 1000, within 6 standard
/// deviations of 15 each.
#[test]
fn lost_datagrams_never_arrive_and_the_same_seed_loses_the_same() {
    let numbers = came_back(7, 0.2, 1000);
    assert!((550..730).contains(&numbers.len()), "{}", numbers.len());
    assert!(numbers.is_sorted() && numbers.iter().all(|number| *number < 1000));
    assert_eq!(numbers, came_back(7, 0.2, 1000));
    assert_ne!(numbers, came_back(8, 0.2, 1000));
}
