//! The rate is kept and intended times are right, with one worker and with several.

use measure::Nanos;
use plan::Arrivals;

use super::harness::{MINUTE, MS, SECOND, Scene, US, after};

#[test]
fn a_constant_rate_is_kept_to_the_request_in_every_second() {
    let played = Scene::open(1000.0, Arrivals::Constant, MINUTE).play(|| after(MS));
    played.check();
    let window: Vec<_> = played.seconds.iter().filter(|s| s.part == record::Part::Window).collect();
    assert_eq!(window.len(), 60);
    for second in window {
        assert_eq!((second.due, second.sent), (1000, 1000), "second {}", second.from_ns);
        assert_eq!((second.to_ns - second.from_ns) as u64, SECOND.0);
    }
    assert_eq!((played.sum.due, played.sum.finished), (60_000, 60_000));
    // Each arrives at its time, half a millisecond's worth of network later.
    let start = Scene::open(1.0, Arrivals::Constant, SECOND).sim.starts_at + MS;
    let grown = 10;
    for (i, (at, _)) in played.asks.iter().enumerate().skip(grown) {
        assert_eq!(*at, start + Nanos(MS.0 * i as u64 + 50 * US.0), "request {i}");
    }
}
