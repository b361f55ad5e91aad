//! Values from files (`-H @FILE`, `--user @FILE`), so that they do not appear on the command line, which every user of
//! the machine can read. `@-` is standard input.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;

use super::values::{SettingValue, SettingValues};

/// The options that accept a file, with their flags.
const SEALED: [(&str, &str); 2] = [("header", "-H"), ("user", "--user")];

/// Maximum size of a file in bytes; it contains header lines or a password, not a body.
const BOUND: u64 = 1 << 20;

/// Replaces files with their contents: for headers, one per line, as in curl; for a user, the first line.
///
/// # Errors
/// A file cannot be read or is empty.
pub fn read_secret_files(options: SettingValues) -> Result<SettingValues, UsageError> {
    let mut open = SettingValues::default();
    for said in options {
        let flag = SEALED.iter().find(|(name, _)| *name == said.name).map(|(_, flag)| *flag);
        // A user name with a password may begin with `@`.
        let is_path = |path: &&str| said.name != "user" || !path.contains(':') || std::path::Path::new(path).exists();
        match (flag, said.text.strip_prefix('@').filter(is_path)) {
            (Some(flag), Some(path)) => open.extend(lines_of(&said, flag, path)?),
            // Found here, where each line knows its place; the error does not quote it.
            (Some("-H"), None) if !said.text.contains(':') && !said.text.trim_end().ends_with(';') => {
                return Err(said.wrong("--header", brunt_protocols::http1::no_colon()));
            }
            _ => open.extend([said]),
        }
    }
    Ok(open)
}

/// Returns the lines of the file named by a value, each as a separate value.
///
/// # Errors
/// See [`lines`].
pub(super) fn lines_of(value: &SettingValue, flag: &str, path: &str) -> Result<Vec<SettingValue>, UsageError> {
    let lines = lines(flag, path).map_err(|wrong| value.wrong(flag, wrong.problem))?;
    Ok(lines.into_iter().map(|text| SettingValue { text, ..value.clone() }).collect())
}

/// Returns the lines of the file named by a flag. Errors do not quote them.
///
/// # Errors
/// The file cannot be read, or a line is not valid for the flag.
pub(super) fn lines(flag: &str, path: &str) -> Result<Vec<String>, UsageError> {
    let wrong = |trouble: Complaint| UsageError::new(flag, trouble);
    let bytes = brunt_protocols::file::read_bounded(flag, path, BOUND).map_err(&wrong)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| wrong(complaint!("{path} is not text (UTF-8)", "{path} 不是文本（UTF-8）")))?;
    let mut lines = Vec::new();
    for (at, line) in brunt_protocols::file::without_byte_order_mark(&text)
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.trim_end()))
    {
        match fault(flag, line) {
            _ if line.is_empty() => {}
            None => lines.push(line.to_owned()),
            // The contents must not be shown, because they are in a file to keep them secret.
            Some(fault) => {
                let zh = fault.zh();
                return Err(wrong(complaint!("@{path} line {at} {fault}", "@{path} 第 {at} 行{zh}")));
            }
        }
    }
    match (lines.len(), flag) {
        (0, "--user" | "--proxy-user") => {
            Err(wrong(complaint!("{path} is empty; put NAME:PASSWORD in it", "{path} 为空；请写入 NAME:PASSWORD")))
        }
        (0, _) => Err(wrong(complaint!(
            "{path} is empty; put NAME: VALUE in it, one per line",
            "{path} 为空；请写 NAME: VALUE，每行一个"
        ))),
        (2.., "--user" | "--proxy-user") => Err(wrong(complaint!(
            "{path} has several lines; put NAME:PASSWORD on a \
            single line",
            "{path} 有多行；请把 NAME:PASSWORD 写在一行"
        ))),
        (2.., "--bearer") => Err(wrong(complaint!(
            "{path} has several lines; put the token on a single line",
            "{path} 有多行；请把令牌写在一行"
        ))),
        _ => Ok(lines),
    }
}

/// Returns the reason why a line is invalid, without quoting it.
fn fault(flag: &str, line: &str) -> Option<Complaint> {
    if matches!(flag, "--user" | "--proxy-user") {
        return (!line.contains(':'))
            .then(|| complaint!("has no colon; write NAME:PASSWORD", "没有冒号；请写 NAME:PASSWORD"));
    }
    let breaks = |c: char| c.is_ascii_control() && c != '\t';
    match flag {
        "--bearer" => {
            return line
                .contains(breaks)
                .then(|| complaint!("contains a control character; write only the token", "含有控制字符；请只写令牌"));
        }
        "--cookie" => {
            return (!line.contains('='))
                .then(|| complaint!("has no `=`; write NAME=VALUE", "没有 `=`；请写 NAME=VALUE"));
        }
        _ => {}
    }
    // As in curl, a semicolon ends a header without a value.
    let Some(name) = line.split_once(':').map(|(name, _)| name).or_else(|| line.strip_suffix(';')) else {
        return Some(complaint!("has no colon; write NAME: VALUE", "没有冒号；请写 NAME: VALUE"));
    };
    if name.is_empty() || name.contains(|c: char| !c.is_ascii_graphic()) {
        return Some(complaint!(
            "has no valid name before the colon; write NAME: VALUE",
            "冒号之前没有有效的名称；请写 NAME: VALUE"
        ));
    }
    line.contains(breaks)
        .then(|| complaint!("contains a control character; write NAME: VALUE", "含有控制字符；请写 NAME: VALUE"))
}

#[cfg(test)]
mod tests {
    use brunt_plan::yaml::FilePosition;

    use super::super::origin::ValueOrigin;
    use super::*;

    fn options(name: &'static str, texts: &[&str]) -> SettingValues {
        let mut values = SettingValues::default();
        texts.iter().for_each(|text| values.push(name, *text, ValueOrigin::CommandLine));
        values
    }

    fn read(name: &'static str, texts: &[&str]) -> Vec<String> {
        read_secret_files(options(name, texts)).unwrap().options().remove(name).unwrap()
    }

    #[test]
    fn values_are_read_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            format!("@{}", path.display())
        };
        let headers = path("headers", "X-Api-Key: k1\r\n\nAccept: */*\n");
        assert_eq!(read("header", &["A: b", &headers]), ["A: b", "X-Api-Key: k1", "Accept: */*"]);
        let marked = path("marked", "\u{feff}X-Api-Key: k1\r\n");
        assert_eq!(read("header", &[&marked]), ["X-Api-Key: k1"]);
        let user = path("user", "ann:p w\n");
        assert_eq!(read("user", &[&user]), ["ann:p w"]);
        // Neither a user name that begins with `@` nor the `@` of another option names a file.
        assert_eq!(read("user", &["@ann:pw"]), ["@ann:pw"]);
        assert_eq!(read("data", &["@x"]), ["@x"]);
    }

    #[test]
    fn the_line_that_is_no_header_is_named() {
        let mut values = SettingValues::default();
        for (line, text) in [(2, "A: b"), (3, "s3cr3t"), (4, "C;")] {
            let at = FilePosition { line, column: 5 };
            values.push("header", text, ValueOrigin::File { path: "p.yaml".into(), at, key: "header".into() });
        }
        let said = read_secret_files(values).unwrap_err().to_string();
        assert!(said.starts_with("p.yaml line 3 column 5 (header): a line has no colon") && !said.contains("s3cr3t"));
    }

    #[test]
    fn files_that_hold_none_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let said = |name: &'static str, text: &str| {
            std::fs::write(&path, text).unwrap();
            read_secret_files(options(name, &[&format!("@{}", path.display())])).unwrap_err().to_string()
        };
        assert!(said("header", "\n").ends_with("is empty; put NAME: VALUE in it, one per line"));
        assert!(said("user", "").ends_with("is empty; put NAME:PASSWORD in it"));
        assert!(said("user", "a:b\nc:d").ends_with("has several lines; put NAME:PASSWORD on a single line"));
        for (name, text, fault) in [
            ("header", "A: b\n\nBearer s3cr3t", "line 3 has no colon; write NAME: VALUE"),
            ("header", "X Token: s3cr3t", "line 1 has no valid name before the colon; write NAME: VALUE"),
            ("header", "X-Plain: s3cr3t\u{1}x", "line 1 contains a control character; write NAME: VALUE"),
            ("user", "s3cr3t\n", "line 1 has no colon; write NAME:PASSWORD"),
        ] {
            let said = said(name, text);
            assert!(said.ends_with(&format!("f {fault}")) && !said.contains("s3cr3t"), "{said}");
        }
        let missing = read_secret_files(options("header", &["@/nowhere/x"])).unwrap_err().to_string();
        assert!(missing.starts_with("-H: /nowhere/x cannot be read (No such file"), "{missing}");
    }
}
