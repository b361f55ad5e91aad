//! Errors of rustls as actionable sentences that name the host and, if there is one, the option that helps.

use brunt_cause::complaint;
use brunt_cause::{Cause, CauseArgument, tls};
use brunt_contract::UsageError;
use brunt_measure::Calendar;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

use super::file_verifier::is_of_an_authority;

/// The `-addext` argument for the host names of a certificate to be recreated.
const EXTENSION: &str = "'subjectAltName=DNS:NAME,IP:ADDRESS'";

/// Describes a failed handshake or record of `host`. `heard` contains the first bytes received if nothing valid has
/// arrived yet.
pub(super) fn failure(host: &str, error: &Error, heard: Option<&[u8]>) -> Cause {
    match (error, heard) {
        (Error::InvalidMessage(_) | Error::InappropriateMessage { .. }, Some(first)) => no_tls(host, first),
        (Error::InvalidCertificate(e), _) => certificate(host, e),
        (Error::AlertReceived(alert), _) => refused(host, *alert),
        (Error::NoCertificatesPresented, _) => tls::no_certificate(host),
        (Error::DecryptError, _) => tls::corrupt(host),
        (Error::PeerSentOversizedRecord, _) => tls::long_record(host),
        (Error::PeerIncompatible(why), _) => incompatible(host, why),
        (other, _) => tls::failed(host, other.to_string()),
    }
}

/// Returns the usage error for a certificate or key of the user that cannot be used.
pub(super) fn own_certificate(error: &Error) -> UsageError {
    match error {
        Error::InconsistentKeys(_) => UsageError::new(
            "--key",
            complaint!("the key does not belong to the certificate of --cert", "私钥与 --cert 的证书不匹配"),
        ),
        other => UsageError::new(
            "--cert",
            complaint!("certificate and key cannot be used: {other}", "无法使用证书和私钥：{other}"),
        ),
    }
}

fn no_tls(host: &str, first: &[u8]) -> Cause {
    match first {
        _ if first.starts_with(b"HTTP/") => tls::plain_http(host),
        // A server's SETTINGS (RFC 9113 3.4).
        [0, 0, _, 4, ..] => tls::plain_http2(host),
        _ => tls::no_tls(host),
    }
}

fn certificate(host: &str, error: &CertificateError) -> Cause {
    use CertificateError as C;
    match error {
        C::Expired => tls::expired(host),
        C::ExpiredContext { not_after, .. } => tls::expired_on(host, day(not_after)),
        C::NotValidYet => tls::not_yet(host),
        C::NotValidYetContext { not_before, .. } => tls::not_before(host, day(not_before)),
        C::UnknownIssuer => tls::unknown_issuer(host),
        C::NotValidForName => tls::other_name(host),
        C::NotValidForNameContext { presented, .. } if presented.is_empty() => tls::no_name(host, EXTENSION),
        C::NotValidForNameContext { presented, .. } => tls::other_names(host, names(presented)),
        C::Revoked => tls::revoked(host),
        C::BadSignature => tls::wrong_signature(host),
        C::BadEncoding => tls::malformed(host),
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => tls::no_server(host),
        other if is_of_an_authority(other) => tls::self_signed(host),
        other if other.to_string().contains("UnsupportedCertVersion") => tls::version_1(host, EXTENSION),
        other => tls::not_accepted(host, other.to_string()),
    }
}

/// Returns the names as rustls gives them, without their type: `DnsName("a")` becomes `a`.
fn names(presented: &[String]) -> CauseArgument {
    let plain = |n: &String| match n.split_once("(\"").and_then(|(_, rest)| rest.split_once("\")")) {
        Some((name, _)) => name.to_owned(),
        None => n.clone(),
    };
    let shown: Vec<String> = presented.iter().take(4).map(plain).collect();
    match presented.len() - shown.len() {
        0 => shown.join(", ").into(),
        more => tls::names_and_more(shown.join(", "), more).into(),
    }
}

fn refused(host: &str, alert: AlertDescription) -> Cause {
    use AlertDescription as A;
    match alert {
        A::CertificateRequired => tls::client_certificate(host),
        A::BadCertificate
        | A::UnsupportedCertificate
        | A::CertificateRevoked
        | A::CertificateExpired
        | A::CertificateUnknown
        | A::UnknownCA
        | A::AccessDenied => tls::own_certificate(host, format!("{alert:?}")),
        A::UnrecognisedName => tls::unrecognised_name(host),
        A::NoApplicationProtocol => tls::no_protocol(host),
        A::ProtocolVersion => tls::no_version(host),
        A::HandshakeFailure | A::InsufficientSecurity => tls::refused(host, format!("{alert:?}")),
        A::InternalError => tls::internal(host),
        other => tls::alert(host, format!("{other:?}")),
    }
}

fn incompatible(host: &str, why: &PeerIncompatible) -> Cause {
    match why {
        PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
        | PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::Tls12NotOffered
        | PeerIncompatible::Tls12NotOfferedOrEnabled => tls::no_version(host),
        other => tls::nothing_common(host, format!("{other:?}")),
    }
}

/// Formats the date of a time in UTC: `2031-05-20`.
fn day(moment: &UnixTime) -> String {
    Calendar::of(moment.as_secs()).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_plain_and_not_by_the_hundred() {
        let many: Vec<String> = (0..6).map(|i| format!("DnsName(\"h{i}.test\")")).collect();
        let said = |presented: &[String]| tls::other_names("h", names(presented)).to_string();
        assert!(said(&many).ends_with(": h0.test, h1.test, h2.test, h3.test and 2 more"), "{}", said(&many));
        assert!(said(&["10.0.0.1".to_owned()]).ends_with(": 10.0.0.1"));
    }
}
