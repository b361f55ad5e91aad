//! What rustls complains about, as a sentence that a person can act on: it names the host and, where there is one, the
//! option that helps.

use measure::Calendar;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

use super::trusted::is_of_an_authority;

const NO_VERSION: &str = "none of the TLS versions offered: 1.2 and 1.3, unless --tlsv1.3 or --tls-max says otherwise";

/// A handshake or a record of `host` failed. `heard` holds the first bytes that arrived where nothing made sense so far.
pub(super) fn failure(host: &str, error: &Error, heard: Option<&[u8]>) -> String {
    match (error, heard) {
        (Error::InvalidMessage(_) | Error::InappropriateMessage { .. }, Some(first)) => no_tls(host, first),
        (Error::InvalidCertificate(e), _) => certificate(host, e),
        (Error::AlertReceived(alert), _) => refused(host, *alert),
        (Error::NoCertificatesPresented, _) => format!("{host} presented no certificate"),
        (Error::DecryptError, _) => format!("a TLS record from {host} is corrupt: it cannot be decrypted"),
        (Error::PeerSentOversizedRecord, _) => format!("{host} sent a TLS record longer than allowed"),
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
    let (answered, instead) = match first {
        _ if first.starts_with(b"HTTP/") => (": it responded in plain HTTP", " (http://, ws://)"),
        // A server's SETTINGS (RFC 9113 3.4).
        [0, 0, _, 4, ..] => (": it responded in plain HTTP/2", " (http:// with --http2, grpc://)"),
        _ => ("", ""),
    };
    format!("{host} does not use TLS on this port{answered}; write the scheme without TLS{instead}")
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
            format!(
                "the certificate of {host} is for no name: it has no subjectAltName, and its CN is ignored; create \
                    it with -addext 'subjectAltName=DNS:NAME,IP:ADDRESS', or skip the check with --insecure"
            )
        }
        C::NotValidForNameContext { presented, .. } => {
            format!("the certificate of {host} is for another name: {}", names(presented))
        }
        C::Revoked => format!("the certificate of {host} was revoked"),
        C::BadSignature => format!("the certificate of {host} is not signed by its issuer; {remedy}"),
        C::BadEncoding => format!("the certificate of {host} is malformed"),
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => {
            format!("the certificate of {host} is not a server certificate")
        }
        other if is_of_an_authority(other) => {
            format!(
                "the certificate of {host} is self-signed; trust it with --cacert FILE, or skip the check with --insecure"
            )
        }
        other if other.to_string().contains("UnsupportedCertVersion") => {
            format!(
                "the certificate of {host} is X.509 version 1, which has no host names; create it with -addext \
                 'subjectAltName=DNS:NAME,IP:ADDRESS', or skip the check with --insecure"
            )
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
        A::CertificateRequired => format!("{host} requires a client certificate; give it with --cert and --key"),
        A::BadCertificate
        | A::UnsupportedCertificate
        | A::CertificateRevoked
        | A::CertificateExpired
        | A::CertificateUnknown
        | A::UnknownCA
        | A::AccessDenied => format!("{host} did not accept our certificate ({alert:?}); see --cert and --key"),
        A::UnrecognisedName => format!("{host} has no certificate for this name (alert UnrecognisedName)"),
        A::NoApplicationProtocol => format!("{host} supports none of the protocols offered by ALPN"),
        A::ProtocolVersion => format!("{host} supports {NO_VERSION}"),
        A::HandshakeFailure | A::InsufficientSecurity => {
            format!(
                "{host} refused the handshake ({alert:?}): no common cipher suite, or it requires a client \
                    certificate"
            )
        }
        A::InternalError => format!("{host} aborted TLS because of an internal error"),
        other => format!("{host} aborted TLS with the alert {other:?}"),
    }
}

fn incompatible(host: &str, why: &PeerIncompatible) -> String {
    match why {
        PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
        | PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::Tls12NotOffered
        | PeerIncompatible::Tls12NotOfferedOrEnabled => format!("{host} supports {NO_VERSION}"),
        other => format!("{host} and brunt have no TLS parameters in common: {other:?}"),
    }
}

/// The day of a moment in UTC, `2031-05-20`.
fn day(moment: &UnixTime) -> String {
    Calendar::of(moment.as_secs()).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_plain_and_not_by_the_hundred() {
        let many: Vec<String> = (0..6).map(|i| format!("DnsName(\"h{i}.test\")")).collect();
        assert_eq!(names(&many), "h0.test, h1.test, h2.test, h3.test and 2 more");
        assert_eq!(names(&["10.0.0.1".to_owned()]), "10.0.0.1");
    }
}
