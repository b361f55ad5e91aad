//! Tables of commands with their results or error messages.

use super::*;
use brunt_cause::Complaint;

fn given(text: &str) -> RunDraft {
    read(&[text], "--curl").unwrap_or_else(|complaint| panic!("{text}: {complaint}"))
}

/// Returns the words of the only command.
fn words(text: &str) -> Vec<String> {
    let commands = shell::commands(text).unwrap_or_else(|wrong| panic!("{text}: {wrong:?}"));
    assert_eq!(commands.len(), 1, "{text}: {commands:?}");
    commands[0].words.clone()
}

#[test]
fn words_are_those_of_a_shell() {
    let table: [(&str, &[&str]); 17] = [
        ("curl a  b", &["curl", "a", "b"]),
        ("curl 'a b' \"c d\"e'f'", &["curl", "a b", "c def"]),
        ("curl \\\n  -H 'A: b' \\\r\n  x", &["curl", "-H", "A: b", "x"]),
        ("curl 'it'\\''s'", &["curl", "it's"]),
        (r#"curl "a\"b\\c\d""#, &["curl", r#"a"b\c\d"#]),
        ("curl $'a\\n\\t\\'\\x41\\u0021\\u00e9\\101'", &["curl", "a\n\t'A!éA"]),
        ("curl $'\\xc3\\xa9'", &["curl", "é"]),
        ("curl a # b", &["curl", "a"]),
        ("curl a#b", &["curl", "a#b"]),
        ("$ curl a", &["curl", "a"]),
        ("curl ''", &["curl", ""]),
        ("curl 'a\nb'", &["curl", "a\nb"]),
        ("X=1\nY=\"$X 2\"\ncurl $Y \"${X}a\" '$X' a\\$X", &["curl", "1 2", "1a", "$X", "a$X"]),
        ("curl http://h/?a=1&b=2", &["curl", "http://h/?a=1&b=2"]),
        ("curl a 2> b", &["curl", "a"]),
        ("curl \"100% $\"", &["curl", "100% $"]),
        ("curl a\\ b", &["curl", "a b"]),
    ];
    for (text, expected) in table {
        assert_eq!(words(text), expected, "{text}");
    }
}

#[test]
fn variables_that_hold_variables_do_not_grow_without_bound() {
    let doubling = format!("A=aaaaaaaaaa\n{}curl h -d \"$A\"", "A=$A$A\n".repeat(26));
    let said = read(&[&doubling], "--curl").expect_err("too much").to_string();
    let expected = "--curl line 24: the variable $A expands to a word of more than 64 MiB; put long values in a file \
        and use -d @FILE";
    assert_eq!(said, expected);
    let many = format!("A=aaaaaaaaaa\n{}curl h{}", "A=$A$A\n".repeat(20), " -d $A".repeat(40));
    let said = read(&[&many], "--curl").expect_err("too much").to_string();
    assert!(said.contains("add up to more than 256 MiB"), "{said}");
}

#[test]
fn several_commands_and_what_a_shell_would_do_with_their_output() {
    let text = "# first\ncurl a | jq '.x;y' > f\n\ncurl b > out.json; curl c && curl d &\n";
    let found: Vec<_> =
        shell::commands(text).unwrap().into_iter().map(|c| (c.line, c.words[1].clone(), c.left_out)).collect();
    let left_out = |what: &str| vec![what.to_owned()];
    let expected = [
        (2, "a".to_owned(), left_out("| jq '.x;y' > f")),
        (4, "b".to_owned(), left_out("> out.json")),
        (4, "c".to_owned(), vec![]),
        (4, "d".to_owned(), vec![]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn windows_has_carets() {
    let modern = "curl ^\"http://h/a?b=1^&c=2^\" ^\r\n  -H ^\"accept: */*^\" ^\r\n  --data-raw ^\"^{^\\^\"a^\\^\":^\\^\"b c^\\^\"^}^\" &\r\ncurl ^\"http://h/x^%^20y^\"";
    assert!(windows::is_caret_notation(modern) && !windows::is_caret_notation("curl 'a^b'"));
    let commands = windows::commands(modern).unwrap();
    assert_eq!(commands[0].words, ["curl", "http://h/a?b=1&c=2", "-H", "accept: */*", "--data-raw", "{\"a\":\"b c\"}"]);
    assert_eq!((commands[1].line, &commands[1].words[1][..]), (4, "http://h/x%20y"));
    let older = "curl \"http://h/\" ^\n  -H \"a: b\" ^\n  --data-binary \"{\\\"a\\\":1}\" --compressed";
    assert_eq!(windows::commands(older).unwrap()[0].words[3..], ["a: b", "--data-binary", "{\"a\":1}", "--compressed"]);
    let lines = "curl ^\"http://h/^\" --data-raw ^\"a^\n\nb^\"";
    assert_eq!(windows::commands(lines).unwrap()[0].words[3], "a\nb");
    assert!(windows::commands("curl ^\"a").is_err());
}

#[test]
fn commands_come_to_urls_with_options() {
    let options = |text: &str| {
        let given = given(text);
        assert_eq!(given.urls.len(), 1, "{text}");
        (given.urls[0].url.clone(), given.urls[0].own.options())
    };
    let (url, made) = options("curl -XPATCH -u me:pw -d a=1 -d b=2 -H 'X: 1' 'h:81/a?b#c'");
    assert_eq!(url, "http://h:81/a?b");
    let agent = format!("User-Agent: {}", headers::AGENT);
    let expected = [
        ("data-raw", vec!["a=1&b=2".to_owned()]),
        ("header", vec![agent.clone(), "Accept: */*".into(), "X: 1".into()]),
        ("method", vec!["PATCH".into()]),
        ("user", vec!["me:pw".into()]),
    ];
    assert_eq!(made, expected.map(|(name, values)| (name.to_owned(), values)).into());
    let (url, made) = options("curl -sSLG https://u%40:p@h -d 'x=1' --data-urlencode 'y=a b&'");
    assert_eq!((&url[..], &made["user"][0][..]), ("https://h/?x=1&y=a+b%26", "u@:p"));
    assert!(!made.contains_key("method") && !made.contains_key("data-raw"));
    let (_, made) = options("curl 'http://h/a|b' -I -H Accept: -A ''");
    assert_eq!(made["method"], ["HEAD"]);
    assert_eq!(made["header"], ["User-Agent:", "Accept:"]);
    let (_, made) = options("curl 'http://h/a\"{x}' -g");
    assert_eq!(made["request-target"], ["/a\"{x}"]);
}

#[test]
fn settings_become_flags() {
    let given = given(
        "curl -kL -m 2.5 --connect-timeout 1 --max-redirs 3 --resolve h:80:127.0.0.1 --connect-to h:80::81 -x p:3128 \
         --interface 127.0.0.2 http://h/",
    );
    let said: Vec<_> = given.values.iter().map(|said| (said.name, &said.text[..])).collect();
    let expected = [
        ("connect-to", "h:80::81"),
        ("connect-to", "h:80:127.0.0.1:"),
        ("insecure", ""),
        ("timeout", "2.5s"),
        ("connect-timeout", "1s"),
        ("redirects", "3"),
        ("proxy", "p:3128"),
        ("source", "127.0.0.2"),
    ];
    assert_eq!(said, expected);
}

#[test]
fn tls_to_a_proxy_without_tls_changes_nothing() {
    for line in
        ["curl --proxy-insecure http://h/", "curl --proxy-cacert ca.pem --proxy-tlsv1 -x http://p:3128 http://h/"]
    {
        let given = given(line);
        assert!(given.notes.is_empty() && given.remarks.is_empty(), "{line}: {:?} {:?}", given.notes, given.remarks);
    }
    let wrong = read(&["curl -x https://p:1 --proxy-insecure http://h/"], "--curl").expect_err("a proxy with TLS");
    assert!(wrong.to_string().contains("https:// to the proxy itself is not supported"), "{wrong}");
}

#[test]
fn what_is_not_honoured_is_named() {
    let given = given("curl -so /dev/null --retry 3 -c jar --tlsv1.1 -H foo http://h | jq .");
    let notes: Vec<Complaint> = given.notes.into_iter().map(|note| note.text).chain(given.remarks).collect();
    assert!(notes.iter().all(Complaint::is_translated), "{notes:?}");
    for said in [
        "-s -o: only affects curl's own output",
        "--retry: failed requests are not retried",
        "-c: cookies that responses set are not kept",
        "--tlsv1.1: TLS 1.2 and 1.3 are offered",
        "-H 'foo': is not a header",
        "`| jq .` works on curl's output",
    ] {
        assert!(notes.iter().any(|note| note.starts_with(said)), "{said}: {notes:?}");
    }
}

/// The body, URL or header that a command has from its shell or from its own options.
#[test]
fn standard_input_is_what_the_shell_gives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in").display().to_string();
    std::fs::write(&path, "a b\nc\n").unwrap();
    let (binary, data) = ("curl h --data-binary @-", "curl h -d @-");
    for (text, wanted) in [
        (format!("{binary} < {path}"), "a b\nc\n"),
        (format!("{data} < {path} | jq ."), "a bc"),
        (format!("{data} <<< 'x \"y\"'"), "x \"y\""),
        (format!("V=7\n{binary} <<END\n{{\"a\": \"$V\"}}\n\\$V\nEND\n"), "{\"a\": \"7\"}\n$V\n"),
        (format!("V=7\n{binary} <<'END' | jq .\n$V\nEND"), "$V\n"),
        (format!("{data} <<-END\n\tx\n\ty\n\tEND"), "xy"),
        ("curl h --json @- <<END\n{}\nEND".into(), "{}\n"),
        ("curl h --data-urlencode n@- <<< x".into(), "n=x%0A"),
    ] {
        let given = given(&text);
        assert_eq!(given.urls[0].own.options()["data-raw"], [wanted], "{text}");
    }
    let two = given("curl h -d @- <<A\n1\nA\ncurl i -d @- <<B\n2\nB\n");
    let bodies: Vec<_> = two.urls.iter().map(|url| url.own.options()["data-raw"][0].clone()).collect();
    assert_eq!(bodies, ["1", "2"]);
}

#[test]
fn conditions_and_offsets_become_headers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tag").display().to_string();
    std::fs::write(&path, "\"abc\"\n").unwrap();
    for (text, wanted) in [
        ("curl h -z 'Sun, 06 Nov 1994 08:49:37 GMT'".to_owned(), "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"),
        ("curl h -z '-20040912'".to_owned(), "If-Unmodified-Since: Sun, 12 Sep 2004 00:00:00 GMT"),
        (format!("curl h --etag-compare {path}"), "If-None-Match: \"abc\""),
        ("curl h --etag-compare /no/such".to_owned(), "If-None-Match: \"\""),
        ("curl h -C 100".to_owned(), "Range: bytes=100-"),
    ] {
        let lines = given(&text).urls[0].own.options()["header"].clone();
        assert!(lines.iter().any(|line| line == wanted), "{text}: {lines:?}");
    }
    let notes = given("curl h -z yesterday").notes;
    assert!(notes[0].text.starts_with("-z yesterday: is neither a date nor a file"), "{notes:?}");
}

#[test]
fn globs() {
    let urls = |text: &str| given(text).urls.into_iter().map(|url| url.url).collect::<Vec<_>>();
    assert_eq!(urls("curl 'http://h/{a,b}/[1-2]'"), ["http://h/a/1", "http://h/a/2", "http://h/b/1", "http://h/b/2"]);
    assert_eq!(
        urls("curl 'http://[::1]:80/[08-12:2]' x"),
        ["http://[::1]:80/08", "http://[::1]:80/10", "http://[::1]:80/12", "http://x/"]
    );
    assert_eq!(urls("curl 'h/[a-e:2]'"), ["http://h/a", "http://h/c", "http://h/e"]);
    // Browsers escape what is not a glob.
    assert_eq!(urls(r"curl 'h/r?g=\{x\}&a\[\]=\[1-2\]'"), ["http://h/r?g={x}&a[]=[1-2]"]);
    assert_eq!(urls(r"curl 'h/{a\,b,\}}/\d'"), [r"http://h/a,b/\d", r"http://h/}/\d"]);
    assert_eq!(urls(r"curl 'h/\{uuid\}/{uuid}'"), ["http://h/{{uuid}}/{uuid}"], "a literal one, and a slot");
}

#[test]
fn mistakes_get_a_sentence() {
    #[rustfmt::skip]
    let table = [
        ("curl", "--curl: has no URL; write one after the options"),
        ("", "--curl: has no command; use one such as 'curl http://localhost:8080/'"),
        ("wget http://h", "--curl: `wget` is not curl; write commands that start with curl"),
        ("curl 'http://h", "--curl line 1: a single quote is not closed; close it"),
        ("curl http://h -H $(x)", "--curl line 1: a shell would run another command here (`…` or $(…)), which brunt \
            does not; write its output instead"),
        ("curl http://h -H \"$NO_SUCH_VARIABLE\"", "--curl line 1: the variable $NO_SUCH_VARIABLE is not set; set it, or write its value"),
        ("curl http://h --frob", "--curl: --frob is not an option of curl"),
        ("curl http://h -H", "--curl: -H needs a value, but the command ends there; add it"),
        ("curl http://h --digest -u a:b", "--curl: --digest needs a challenge from the server first, which brunt \
            does not support; use -u with basic authentication, or a header"),
        ("curl ftp://h", "--curl: the URL `ftp://h` is neither http nor https; only these are supported in curl \
            commands"),
        ("curl 'http://h/a b'", "--curl: the URL `http://h/a b` contains a space or another character that ends it; \
            write %20"),
        ("curl http://h -d @/no/such", "--curl: --data: /no/such cannot be read (No such file or directory (os error 2)); write the path of a readable file"),
        ("curl http://h -d @- < <(x)", "--curl line 1: a shell would run another command for curl here (<); write its output to a file and use -d @FILE"),
        ("curl http://h -d @- <<END\nx", "--curl line 1: the text of <<END has no end; write END on a line of its own"),
        ("curl http://h -C - -o f", "--curl: -C - continues curl's own output file; write the offset, such as -C 1000"),
        ("curl http://h -u me", "--curl: -u me has no password, and curl would ask for it; use -u 'me:PASSWORD', or -u 'me:'"),
        ("curl http://h -d x -F a=b", "--curl: has more than one of -d, -F, -T and -I, but a request has only one \
            method and one body; keep one of them"),
        ("curl -x https://p http://h", "--curl: --proxy https:// to the proxy itself is not supported; use \
            http:// if it listens without TLS"),
        ("curl -m soon http://h", "--curl: --max-time soon is not a number of seconds; use one such as 5 or 2.5"),
        ("curl 'http://h/{a'", "--curl: the URL `http://h/{a` has a { that does not open a list; add -g to send it literally"),
        ("curl http://h\ncurl -k https://h", "--curl line 2: differs from the first command (--curl line 1) in --insecure, which applies to the whole run; make it the same in all commands, or use two runs"),
    ];
    for (text, said) in table {
        assert_eq!(read(&[text], "--curl").expect_err(text).to_string(), said);
    }
}
