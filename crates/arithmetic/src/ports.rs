//! Local ports: how many connections one source address can open to one destination, and how often.

/// Number of local ports of an unchanged Linux: `net.ipv4.ip_local_port_range` is 32768 to 60999.
pub const DEFAULT_PORTS: u64 = 28_232;

/// Seconds for which Linux keeps a closed connection, and with it its port, in TIME_WAIT (`TCP_TIMEWAIT_LEN`).
pub const TIME_WAIT_S: f64 = 60.0;

/// Returns the rate per second at which short connections from one source address to one destination can be opened
/// forever: every port rests for a minute after its connection was closed (docs/measurement.md 3.8).
pub fn short_connections_per_s(ports: u64) -> f64 {
    ports as f64 / TIME_WAIT_S
}

/// Returns the seconds after which short connections at this rate have used up all ports, or `None` if they never do.
pub fn seconds_to_exhaustion(ports: u64, rate_per_s: f64) -> Option<f64> {
    (rate_per_s > short_connections_per_s(ports)).then(|| ports as f64 / rate_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_reference() {
        assert_eq!(format!("{:.1}", short_connections_per_s(DEFAULT_PORTS)), "470.5");
        assert_eq!(format!("{:.0}", short_connections_per_s(65_000 - 1024 + 1)), "1066");
        assert_eq!(seconds_to_exhaustion(DEFAULT_PORTS, 2000.0).map(|s| format!("{s:.1}")), Some("14.1".into()));
        assert_eq!(seconds_to_exhaustion(DEFAULT_PORTS, 470.0), None);
    }
}
