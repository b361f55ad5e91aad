//! Tests of the display: plain rows in a pipe, colours on a terminal, two languages, and no output with `--quiet`.

use std::process::Command;

use brunt_tests::{ScriptedPeer, TargetProcess, brunt, prepare};

#[test]
fn quiet_shows_nothing_and_still_writes_its_document() {
    let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let file = brunt_tests::target::text(directory.path(), "run.json");
    let ended =
        brunt(["-n", "20", "-c", "2", "--quiet", "--format", "json", "-o", &file, &target.address]).with_code(0);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", ""));
    assert_eq!(brunt_tests::TestReport::in_file(std::path::Path::new(&file)).count("requests.succeeded"), 20);
    let silent = brunt(["-n", "20", "-c", "2", "--quiet", &target.address]).with_code(0);
    assert_eq!((silent.out.as_str(), silent.err.as_str()), ("", ""));
}

#[test]
fn a_pipe_gets_rows_without_escape_codes() {
    let target = TargetProcess::healthy();
    let ended = brunt(["-c", "2", "-d", "1200ms", &target.address]).with_code(0);
    assert!(!ended.out.contains('\x1b') && !ended.out.contains('\r') && ended.err.is_empty(), "{ended:?}");
    let rows = ended.out.lines().filter(|line| line.contains("200:")).count();
    assert!(rows >= 2, "a row for each second:\n{}", ended.out);
}

#[test]
fn a_document_on_standard_output_is_alone_there() {
    let target = TargetProcess::healthy();
    let ended = brunt(["-n", "20", "-c", "2", "--format", "json", &target.address]).with_code(0);
    serde_json::from_str::<serde_json::Value>(&ended.out).expect("nothing but the document");
    assert!(ended.err.contains("Service time"), "the summary is on the other side: {}", ended.err);
}

/// Returns the width on a terminal, where Chinese characters take two cells.
fn cells(text: &str) -> usize {
    text.chars().map(|c| if ('\u{2e80}'..='\u{ffef}').contains(&c) { 2 } else { 1 }).sum()
}

#[test]
fn the_chinese_table_keeps_its_columns() {
    let target = TargetProcess::healthy();
    let ended =
        prepare(["-v", "-c", "2", "-d", "1200ms", &target.address]).env("LC_ALL", "zh_CN.UTF-8").run().with_code(0);
    let lines: Vec<&str> = ended.out.lines().collect();
    let head = lines.iter().position(|line| line.contains("成功/秒")).unwrap_or_else(|| panic!("{}", ended.out));
    let end = |line: &str, word: &str| line.find(word).map(|at| cells(&line[..at + word.len()]));
    let table = lines[head + 1..].iter().take_while(|line| !line.is_empty() && !line.starts_with("brunt"));
    let rows: Vec<&str> = table.filter(|line| line.contains("200:")).copied().collect();
    assert!(!rows.is_empty(), "{}", ended.out);
    // Columns are right-aligned, so each heading ends where its numbers end: the last but one is MB/s in.
    let heading = end(lines[head], "MB/秒").unwrap();
    for row in rows {
        let before_status = row.split("200:").next().unwrap().trim_end().trim_end_matches("收尾").trim_end();
        assert_eq!(cells(before_status), heading, "{}\n{row}", lines[head]);
    }
    for word in ["服务时间", "吞吐量", "延迟分布", "可信度"] {
        assert!(ended.out.contains(word), "{word} in {}", ended.out);
    }
    for word in ["Throughput", "Service time", "users for", "First response"] {
        assert!(!ended.out.contains(word), "{word} in {}", ended.out);
    }
}

#[test]
fn our_own_messages_are_chinese_too() {
    let url = format!("http://127.0.0.1:{}/", brunt_tests::target::free_port());
    brunt(["--lang", "zh", "-n", "10", &url]).with_code(30).containing("无法连接");
    let peer = ScriptedPeer::answering("HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n");
    brunt(["--lang", "zh", "-n", "10", &peer.url()]).containing("重定向");
}

#[test]
fn only_redirects_are_told_in_words() {
    let peer = ScriptedPeer::answering("HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n");
    brunt(["-n", "10", &peer.url()]).containing("Every response was a redirect (301)");
}

#[test]
fn a_terminal_gets_a_progress_line_and_colours_unless_they_are_not_wanted() {
    if Command::new("script").arg("--version").output().is_err() {
        return brunt_tests::skip("script(1), which makes a terminal, is not installed");
    }
    let target = TargetProcess::healthy();
    let directory = tempfile::tempdir().unwrap();
    let on_terminal = |more: &str| {
        let line = format!("{} -c 2 -d 1200ms {more} {}", brunt_tests::program::path().display(), target.address);
        let output = Command::new("script")
            .args(["-q", "-e", "-c", &line, "/dev/null"])
            .env("XDG_STATE_HOME", directory.path())
            .env("LC_ALL", "C")
            .env_remove("NO_COLOR")
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let coloured = on_terminal("");
    assert!(coloured.contains("\x1b[K") && coloured.contains('m') && coloured.contains("\x1b["), "{coloured}");
    // After each update of the progress line the cursor is at its beginning, so an echoed ^C cannot break it.
    let bars = coloured.split("\r[").skip(1);
    assert!(bars.clone().count() > 0 && bars.clone().all(|bar| bar.contains("\x1b[K\r")), "{coloured:?}");
    let plain = on_terminal("--no-color");
    let codes: Vec<&str> = plain.split('\x1b').skip(1).filter(|code| !code.starts_with("[K")).collect();
    assert!(codes.is_empty(), "{codes:?}");
    assert!(plain.contains("Service time at 2 users"), "{plain}");
}

/// Returns what a run shows on a terminal of 80 cells and 24 lines.
fn on_a_screen(line: &str) -> Option<String> {
    let line = format!("stty rows 24 cols 80; {} --no-color {line}", brunt_tests::program::path().display());
    let directory = tempfile::tempdir().expect("a folder");
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", &line, "/dev/null"]).env("XDG_STATE_HOME", directory.path()).env("LC_ALL", "C");
    let output = script.output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).replace('\r', ""))
}

/// Checks healthy, failing and untrusted runs: the summary has every answer, and leaves a line for the prompt.
#[test]
fn the_summary_fits_a_screen_of_24_lines() {
    let target = TargetProcess::healthy();
    for (path, more, words) in [
        ("", "", &["Result"][..]),
        ("status/503", "--force", &["failed", "wrong_status", "received: HTTP/1.1 503", "NOT TRUSTED"]),
        ("hang", "-t 300ms", &["NOT TRUSTED", "timeout", "what to do:"]),
    ] {
        for lang in ["en", "zh"] {
            let line = format!("-c 2 -d 1200ms --lang {lang} {more} {}", target.url(path));
            let ended = brunt(line.split_whitespace());
            let summary: Vec<&str> = ended.out.lines().skip_while(|line| !line.starts_with("brunt 0")).collect();
            let Some(screen) = on_a_screen(&line) else {
                return brunt_tests::skip("script(1), which makes a terminal, is not installed");
            };
            let page = &screen[screen.rfind("\nbrunt 0").expect("a summary") + 1..];
            assert!((8..=23).contains(&page.lines().count()), "{screen}");
            assert!(page.lines().all(|line| cells(line) <= 80), "the terminal would wrap a line:\n{screen}");
            let text = summary.join("\n");
            let answers = ["p50", "p95", "p99", "Exit code", "Throughput", "Requests"];
            for word in answers.iter().chain(words).filter(|_| lang == "en") {
                assert!(text.contains(word), "{word}:\n{text}");
            }
            let verdicts = ["TRUSTED", "WITH CAUTION", "TOO SHORT TO JUDGE"];
            assert!(lang == "zh" || verdicts.iter().any(|verdict| text.contains(verdict)), "{text}");
            let whole = brunt(line.split_whitespace().chain(["-v"]));
            assert!(whole.out.lines().count() > ended.out.lines().count(), "{}", whole.out);
        }
    }
}

#[test]
fn a_late_first_answer_is_announced() {
    let target = TargetProcess::healthy();
    let ended = brunt(["-n", "1", "-t", "1300ms", &target.url("hang")]);
    let address = target.address.trim_start_matches("http://").trim_end_matches('/');
    assert_eq!(ended.err, format!("waiting for the first response from {address} (timeout 1.3 s) …\n"));
    let quiet = brunt(["--quiet", "-n", "1", "-t", "1300ms", &target.url("hang")]);
    assert_eq!(quiet.err, "");
}

#[test]
fn the_demo_shows_a_figure_and_what_to_try_next() {
    let ended = brunt(["demo", "-d", "1s"]).with_code(0);
    assert!(ended.out.contains("Response time") && ended.out.contains("Try next"), "{ended:?}");
    let next = ended.out.split("Try next").nth(1).unwrap();
    assert_eq!(next.lines().filter(|line| line.trim_start().starts_with("brunt ")).count(), 3, "{next}");
}
