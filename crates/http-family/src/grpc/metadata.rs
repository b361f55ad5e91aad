//! Parses and checks the metadata of a call (`-H 'name: value'`): gRPC over HTTP/2, "Custom-Metadata".

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::NO_PAD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;

use crate::placeholders::Placeholders;
use brunt_values::template::SlotGuard;

/// Base64 with or without padding, both of which must be accepted.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// Base64 without padding, as recommended for sending.
const PLAIN: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, NO_PAD);

/// Fields that are set on every call.
const OWN: [&str; 4] = ["te", "content-type", "grpc-timeout", "grpc-status"];
/// Connection-specific fields of HTTP/1.1, which HTTP/2 does not allow (RFC 9113 8.2.2).
const OF_CONNECTIONS: [&str; 5] = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// Parses a piece of metadata. Returns its lowercase name, and its value as sent.
///
/// # Errors
/// Fails if name or value is invalid.
pub fn read(text: &str, marks: &mut Placeholders) -> Result<(String, String), UsageError> {
    let text = &*marks.replace_slots(text, "--header", SlotGuard::Line)?;
    let wrong = |trouble: Complaint| {
        let zh = trouble.zh();
        UsageError::new("--header", complaint!("\"{text}\" {trouble}", "“{text}”{zh}"))
    };
    let (name, value) = text.split_once(':').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
        wrong(complaint!("has no name before a colon; write NAME: VALUE", "冒号之前缺少名称；请写 NAME: VALUE"))
    })?;
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) {
        return Err(wrong(complaint!(
            "has a name with characters other than letters, digits and - _ .",
            "的名称含有字母、数字和 - _ . 以外的字符"
        )));
    }
    if OWN.contains(&name.as_str()) || OF_CONNECTIONS.contains(&name.as_str()) {
        let instead = if name == "grpc-timeout" {
            complaint!("; use --deadline 500ms", "；请用 --deadline 500ms")
        } else {
            complaint!("; leave it out", "；请去掉")
        };
        let zh = instead.zh();
        return Err(wrong(complaint!(
            "sets {name}, which belongs to every call{instead}",
            "设置了 {name}，而它由每次调用自行设置{zh}"
        )));
    }
    if marks.occur_in(name.as_bytes()) {
        return Err(wrong(complaint!(
            "has a slot in its name; write NAME: VALUE with slots in the value only",
            "的名称中有占位符；请写 NAME: VALUE，占位符只能放在值中"
        )));
    }
    if marks.occur_in(value.as_bytes()) {
        return Ok((name, marks.fill_environment(value)?));
    }
    if name.ends_with("-bin") {
        let bytes = LENIENT.decode(value).map_err(|_| {
            wrong(complaint!(
                "ends in -bin, and its value is not Base64; use, for example, trace-bin: AAEC",
                "名称以 -bin 结尾，但值不是 Base64；请写，例如 trace-bin: AAEC"
            ))
        })?;
        return Ok((name, PLAIN.encode(bytes)));
    }
    if value.bytes().any(|b| !(0x20..0x7f).contains(&b)) {
        return Err(wrong(complaint!(
            "has a value that is not printable ASCII; give it a name ending in -bin, in Base64",
            "的值不是可打印的 ASCII；请让名称以 -bin 结尾，值写成 Base64"
        )));
    }
    Ok((name, value.to_owned()))
}
