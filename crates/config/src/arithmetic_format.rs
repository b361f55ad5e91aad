//! The format of commands that compute and send nothing: text or JSON.

use brunt_cause::{Complaint, complaint};

use super::setting::{TypedSetting, one};

/// Format of the output of `brunt capacity` and `brunt lint`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArithmeticFormat {
    /// Text for people.
    #[default]
    Text,
    /// A document for programs.
    Json,
}

/// `--format` of these commands.
pub const FORMAT: TypedSetting<ArithmeticFormat> =
    one("format", "FORMAT", format, "text or json [default: text]", "text 或 json [默认：text]");

fn format(text: &str) -> Result<ArithmeticFormat, Complaint> {
    match text {
        "text" => Ok(ArithmeticFormat::Text),
        "json" => Ok(ArithmeticFormat::Json),
        other => Err(complaint!(
            "`{other}` is not a format of this command; use text or json",
            "该命令没有 `{other}` 格式；请用 text 或 json"
        )),
    }
}
