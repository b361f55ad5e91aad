//! Addresses of a name that could not be connected to while others could.

use std::net::SocketAddr;

use brunt_diagnose::FailedAddresses;
use brunt_record::ConnectionLoss;

use crate::sums::RunSums;

/// The failed connects to one address.
pub(crate) struct FailedAddress<'a> {
    /// Name that was looked up.
    pub host: &'a str,
    /// Number of addresses of the name.
    pub of: &'a str,
    /// Address and port.
    pub address: &'a str,
    /// Kind, error number and count of the failures.
    pub failed: &'a ConnectionLoss,
}

/// Returns the failed connects by address.
pub(crate) fn by_address(sums: &RunSums) -> impl Iterator<Item = FailedAddress<'_>> {
    sums.failed_addresses.iter().filter_map(|failed| {
        let cause = failed.cause.as_ref()?;
        let (address, of, host) = (cause.argument(0)?, cause.argument(1)?, cause.argument(2)?);
        Some(FailedAddress { host, of, address, failed })
    })
}

/// Returns the name with the most failed connects to some of its addresses; `None` if all of its addresses failed, so
/// that no single one is to blame.
pub(crate) fn worst_name(sums: &RunSums) -> Option<FailedAddresses> {
    let mut names: Vec<FailedAddresses> = Vec::new();
    for one in by_address(sums) {
        let at = names.iter().position(|name| name.host == one.host).unwrap_or_else(|| {
            names.push(FailedAddresses { host: one.host.into(), are_refused: true, ..FailedAddresses::default() });
            names.len() - 1
        });
        let name = &mut names[at];
        // After a change of the addresses there are several numbers.
        name.of = name.of.max(one.of.parse().unwrap_or(0));
        name.count = name.count.saturating_add(one.failed.count);
        name.are_refused &= one.failed.kind == "refused";
        let address = one.address.parse().map_or_else(|_| one.address.to_owned(), |at: SocketAddr| at.ip().to_string());
        if !name.addresses.contains(&address) {
            name.addresses.push(address);
        }
    }
    names.into_iter().filter(|name| (name.addresses.len() as u64) < name.of).max_by_key(|name| name.count)
}
