//! Arrivals that are waited for together are delivered together; missing arrivals are not waited for long.

use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use brunt_contract::{ConnectParameters, Network, NetworkEvent, PeerAddress};
use brunt_measure::Nanos;
use brunt_net::{Epoll, Uring};

const CONNECTIONS: usize = 3;

/// Opens connections on which `speakers` servers send one after the other; returns the number of arrivals of each wait,
/// until all have sent.
fn arrivals_by_wait(mut network: impl Network, together: u32, speakers: usize) -> Vec<usize> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let mut servers = Vec::new();
    for _ in 0..CONNECTIONS {
        network
            .connect(&ConnectParameters {
                to: PeerAddress::Unix(Arc::new(path.clone())),
                source: None,
                single_use: false,
            })
            .unwrap();
        servers.push(listener.accept().unwrap().0);
    }
    let mut connected = 0;
    while connected < CONNECTIONS {
        let until = network.now() + Nanos::from_millis(100);
        network.wait(until);
        while network.next().is_some() {
            connected += 1;
        }
    }
    network.wait_for_at_least(together);
    let speaking = std::thread::spawn(move || {
        for server in servers.iter_mut().take(speakers) {
            server.write_all(b"x").unwrap();
            // Shorter than the wait for several arrivals, but long enough for a wait for any arrival to end.
            std::thread::sleep(Duration::from_micros(500));
        }
        servers
    });
    let mut waits = Vec::new();
    while waits.iter().sum::<usize>() < speakers {
        // Only an arrival, or the bound on waiting for several, ends this wait within the test.
        let until = network.now() + Nanos::from_millis(600_000);
        network.wait(until);
        let mut arrivals = 0;
        while let Some(arrival) = network.next() {
            assert!(matches!(arrival, NetworkEvent::Received(_, b"x")), "{arrival:?}");
            arrivals += 1;
        }
        waits.push(arrivals);
    }
    drop(speaking.join().unwrap());
    waits
}

#[test]
fn who_waits_for_nobody_misses_nobody() {
    assert_eq!(arrivals_by_wait(Epoll::new().unwrap(), 1, 3).iter().sum::<usize>(), 3);
    if Uring::is_available() {
        assert_eq!(arrivals_by_wait(Uring::new().unwrap(), 1, 3).iter().sum::<usize>(), 3);
    }
}

#[test]
fn io_uring_waits_for_company_and_not_for_ever() {
    if !Uring::is_available() {
        eprintln!("SKIPPED: io_uring is not available here");
        return;
    }
    // A busy machine may spread three messages over more than the bound, but not every time.
    let together = (0..50).any(|_| arrivals_by_wait(Uring::new().unwrap(), 3, 3) == [3]);
    assert!(together, "three never came together");
    // One server sends, two do not.
    assert_eq!(arrivals_by_wait(Uring::new().unwrap(), 3, 1).iter().sum::<usize>(), 1);
}
