//! Text forms of addresses and errors.

use brunt_cause::Cause;
use brunt_contract::PeerAddress;

use crate::failure_class::errno_name;

/// Returns the text of an address.
pub(super) fn place_name(to: &PeerAddress) -> String {
    match to {
        PeerAddress::Tcp(addr) | PeerAddress::Udp(addr) => addr.to_string(),
        PeerAddress::Unix(path) => path.display().to_string(),
    }
}

/// Returns the text of a system error.
pub(super) fn describe(errno: i32) -> Cause {
    let words = std::io::Error::from_raw_os_error(errno).to_string();
    brunt_cause::connecting::of_system(words.split(" (os error").next().unwrap_or_default(), &errno_name(errno))
}
