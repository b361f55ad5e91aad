//! Detection of a curl command that was typed or pasted after `brunt` without quotes.

use brunt_cause::complaint;
use brunt_contract::UsageError;

/// Returns the error for such a command line; `None` for any other.
pub fn unquoted_curl(line: &[String]) -> Option<UsageError> {
    let of_option = |at: usize| at > 0 && line[at - 1].starts_with('-');
    let at = (0..line.len())
        .find(|&at| !of_option(at) && (is_whole_command(&line[at]) || (is_curl(&line[at]) && at + 1 < line.len())))?;
    let trouble = match is_whole_command(&line[at]) {
        true => complaint!(
            "is a whole curl command; put --curl in front of it",
            "是一条完整的 curl 命令；请在前面加 --curl"
        ),
        false => {
            complaint!(
                "must be one argument; use brunt --curl 'curl …', or save the command in a file and use brunt \
                --curl-file FILE",
                "必须是一个参数；请用 brunt --curl 'curl …'，或把命令存入文件并用 brunt --curl-file FILE"
            )
        }
    };
    Some(UsageError::new("curl", trouble))
}

/// Returns `true` if the word is a whole command.
fn is_whole_command(word: &str) -> bool {
    word.trim_start().split_once(char::is_whitespace).is_some_and(|(first, _)| is_curl(first))
}

/// Returns `true` for the name or the path of the program, but not for a URL with the same ending.
fn is_curl(word: &str) -> bool {
    matches!(word, "curl" | "curl.exe") || (word.starts_with('/') && word.ends_with("/curl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str]) -> Option<String> {
        unquoted_curl(&words.iter().map(ToString::to_string).collect::<Vec<_>>()).map(|complaint| complaint.to_string())
    }

    #[test]
    fn a_curl_command_is_known_wherever_it_stands() {
        let many = "curl: must be one argument; use brunt --curl 'curl …', or save the command in a file and \
            use brunt --curl-file FILE";
        for line in [
            &["curl", "-X", "POST", "http://h/"][..],
            &["-c", "5", "-d", "10s", "curl", "http://h/"],
            &["/usr/bin/curl", "h"],
            &["curl.exe", "h"],
        ] {
            assert_eq!(said(line).as_deref(), Some(many), "{line:?}");
        }
        assert_eq!(
            said(&["-c", "5", "curl -H 'A: b' http://h/"]).as_deref(),
            Some("curl: is a whole curl command; put --curl in front of it")
        );
    }

    #[test]
    fn what_is_no_curl_command_is_left_alone() {
        for line in [
            &["--curl", "curl http://h/"][..],
            &["--curl", "curl http://h/", "-c", "5"],
            &["-H", "curl", "http://h/"],
            &["curl"],
            &["http://h/curl", "http://h/b"],
            &["h/curl", "h"],
            &["--name", "curl", "h"],
        ] {
            assert_eq!(said(line), None, "{line:?}");
        }
    }
}
