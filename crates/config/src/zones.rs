//! Zones of IPv6 addresses in URLs (RFC 6874): `http://[fe80::1%25eth0]/`, or with a bare `%`.
//!
//! A zone says through which interface this machine reaches a link-local address, so it belongs to the connection and not
//! to the request: the URL loses it, and connections to the address go to the address with its zone.

/// Removes the zone from the address of a URL; returns the rule of `--connect-to` for it.
pub fn take(url: &mut String) -> Option<String> {
    let start = url.find("://[")? + "://[".len();
    let end = start + url[start..].find(']')?;
    let (address, zone) = url[start..end].split_once('%')?;
    address.parse::<std::net::Ipv6Addr>().ok()?;
    let zone = zone.strip_prefix("25").filter(|zone| !zone.is_empty()).unwrap_or(zone);
    let rule = (!zone.is_empty()).then(|| format!("[{address}]::[{address}%{zone}]:"))?;
    let address = address.to_owned();
    url.replace_range(start..end, &address);
    Some(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_of_an_address_becomes_a_rule_for_its_connections() {
        for (url, without, rule) in [
            ("http://[fe80::1%25eth0]:8080/a%25b", "http://[fe80::1]:8080/a%25b", Some("[fe80::1]::[fe80::1%eth0]:")),
            ("redis://u:p@h", "redis://u:p@h", None),
            ("http://[fe80::1%3]/", "http://[fe80::1]/", Some("[fe80::1]::[fe80::1%3]:")),
            ("http://[fe80::1%25]/", "http://[fe80::1]/", Some("[fe80::1]::[fe80::1%25]:")),
            ("http://[fe80::1%]/", "http://[fe80::1%]/", None),
            ("http://[::1]/?[a%25b]", "http://[::1]/?[a%25b]", None),
            ("http://h/[a%25b]", "http://h/[a%25b]", None),
        ] {
            let mut left = url.to_owned();
            assert_eq!((take(&mut left).as_deref(), &*left), (rule, without), "{url}");
        }
    }
}
