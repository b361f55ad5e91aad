//! What rustls complains about, as a sentence that a person can act on: it names the host and, where there is one, the
//! option that helps.

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

/// A handshake or a record of `host` failed. `heard` holds the first bytes that arrived where nothing made sense so far.
pub(super) fn failure(host: &str, error: &Error, heard: Option<&[u8]>) -> String {
    match (error, heard) {
        (Error::InvalidMessage(_) | Error::InappropriateMessage { .. }, Some(first)) => no_tls(host, first),
        (Error::InvalidCertificate(e), _) => certificate(host, e),
        (Error::AlertReceived(alert), _) => refused(host, *alert),
        (Error::NoCertificatesPresented, _) => format!("{host} showed no certificate"),
        (Error::DecryptError, _) => format!("a TLS record of {host} is damaged: it does not decrypt"),
        (Error::PeerSentOversizedRecord, _) => format!("{host} sent a TLS record that is longer than allowed"),
        (Error::PeerIncompatible(why), _) => incompatible(host, why),
        (other, _) => format!("TLS with {host} failed: {other}"),
    }
}

/// Our own certificate and key cannot be used.
pub(super) fn own_certificate(error: &Error) -> String {
    match error {
        Error::InconsistentKeys(_) => "--key: the key does not belong to the certificate of --cert".into(),
        other => format!("--cert: certificate and key cannot be used: {other}"),
    }
}

fn no_tls(host: &str, first: &[u8]) -> String {
    match first.starts_with(b"HTTP/") {
        true => format!("{host} does not speak TLS on this port: it answered in plain HTTP; write http:// for it"),
        false => format!("{host} does not speak TLS on this port"),
    }
}

fn certificate(host: &str, error: &CertificateError) -> String {
    use CertificateError as C;
    let remedy = "trust its authority with --cacert FILE, or skip the check with --insecure";
    match error {
        C::Expired => format!("the certificate of {host} has expired"),
        C::ExpiredContext { not_after, .. } => format!("the certificate of {host} expired on {}", day(not_after)),
        C::NotValidYet => format!("the certificate of {host} is not valid yet"),
        C::NotValidYetContext { not_before, .. } => {
            format!("the certificate of {host} is valid only from {}; is the clock right?", day(not_before))
        }
        C::UnknownIssuer => format!("the certificate of {host} comes from an unknown issuer; {remedy}"),
        C::NotValidForName => format!("the certificate of {host} is for another name"),
        C::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            format!("the certificate of {host} is for no name at all (it has no subjectAltName)")
        }
        C::NotValidForNameContext { presented, .. } => {
            format!("the certificate of {host} is for another name: {}", names(presented))
        }
        C::Revoked => format!("the certificate of {host} was revoked"),
        C::BadSignature => format!("the certificate of {host} is not signed by its issuer"),
        C::BadEncoding => format!("the certificate of {host} is malformed"),
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => {
            format!("the certificate of {host} is not meant for servers")
        }
        // The only way webpki says that an authority's own certificate was shown as a server's: self-signed.
        other if other.to_string().contains("CaUsedAsEndEntity") => {
            format!("the certificate of {host} is self-signed; {remedy}")
        }
        other => format!("the certificate of {host} was not accepted: {other}"),
    }
}

/// The names as rustls gives them, without the type around them: `DnsName("a")` is `a`.
fn names(presented: &[String]) -> String {
    let plain = |n: &String| match n.split_once("(\"").and_then(|(_, rest)| rest.split_once("\")")) {
        Some((name, _)) => name.to_owned(),
        None => n.clone(),
    };
    let shown: Vec<String> = presented.iter().take(4).map(plain).collect();
    match presented.len() > shown.len() {
        true => format!("{} and {} more", shown.join(", "), presented.len() - shown.len()),
        false => shown.join(", "),
    }
}

fn refused(host: &str, alert: AlertDescription) -> String {
    use AlertDescription as A;
    match alert {
        A::CertificateRequired => format!("{host} demands a client certificate; give it with --cert and --key"),
        A::BadCertificate
        | A::UnsupportedCertificate
        | A::CertificateRevoked
        | A::CertificateExpired
        | A::CertificateUnknown
        | A::UnknownCA
        | A::AccessDenied => format!("{host} did not accept our certificate ({alert:?}); see --cert and --key"),
        A::UnrecognisedName => format!("{host} has no certificate for this name (alert UnrecognisedName)"),
        A::NoApplicationProtocol => format!("{host} speaks none of the protocols offered by ALPN"),
        A::ProtocolVersion => format!("{host} speaks neither TLS 1.2 nor TLS 1.3"),
        A::HandshakeFailure | A::InsufficientSecurity => {
            format!(
                "{host} refused the handshake ({alert:?}): no common cipher suite, or it wants a client certificate"
            )
        }
        A::InternalError => format!("{host} gave up TLS because of an internal error of its own"),
        other => format!("{host} broke off TLS with the alert {other:?}"),
    }
}

fn incompatible(host: &str, why: &PeerIncompatible) -> String {
    match why {
        PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
        | PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::Tls12NotOffered
        | PeerIncompatible::Tls12NotOfferedOrEnabled => format!("{host} speaks neither TLS 1.2 nor TLS 1.3"),
        other => format!("{host} and brunt have no common way to speak TLS: {other:?}"),
    }
}

/// The day of a moment in UTC, `2031-05-20` (civil-from-days of Howard Hinnant's date algorithms).
fn day(moment: &UnixTime) -> String {
    let days = (moment.as_secs() / 86_400) as i64 + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (secs, shown) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_735_689_599, "2024-12-31"),
            (4_102_444_800, "2100-01-01"),
        ] {
            assert_eq!(day(&UnixTime::since_unix_epoch(Duration::from_secs(secs))), shown);
        }
    }

    #[test]
    fn names_are_shown_plain_and_not_by_the_hundred() {
        let many: Vec<String> = (0..6).map(|i| format!("DnsName(\"h{i}.test\")")).collect();
        assert_eq!(names(&many), "h0.test, h1.test, h2.test, h3.test and 2 more");
        assert_eq!(names(&["10.0.0.1".to_owned()]), "10.0.0.1");
    }
}
