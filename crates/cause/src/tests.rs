//! Checks over all sentences.

use std::collections::HashSet;

use super::*;

#[test]
fn every_sentence_has_its_places_in_both_languages() {
    let mut keys = HashSet::new();
    for sentence in all() {
        assert!(keys.insert(sentence.key), "{} stands there twice", sentence.key);
        let numbers: Vec<CauseArgument> =
            (0..sentence.places.len()).map(|n| CauseArgument::Words(format!("<{n}>"))).collect();
        let cause = Cause::of(sentence, numbers);
        let (en, zh) = (cause.en(), cause.zh().expect("Chinese"));
        for n in 0..sentence.places.len() {
            for text in [&en, &zh] {
                assert_eq!(text.matches(&format!("<{n}>")).count(), 1, "{}: {text}", sentence.key);
            }
        }
        assert!(!en.is_empty() && !zh.is_empty(), "{}", sentence.key);
    }
}

#[test]
fn records_hold_causes_as_they_are() {
    for sentence in all().chain([&sentence::SAID]) {
        let inner = CauseArgument::Cause(tls::expired("h"));
        let cause = Cause::of(sentence, sentence.places.iter().map(|_| inner.clone()).collect());
        let written = serde_json::to_string(&cause).expect("JSON");
        assert_eq!(serde_json::from_str::<Cause>(&written).expect("a cause"), cause, "{written}");
    }
    let written =
        serde_json::to_string(&connecting::no_connection("h:1", connecting::refused("ECONNREFUSED"))).expect("JSON");
    assert_eq!(
        written,
        r#"{"is":"reaching.no_connection","of":["h:1",{"is":"reaching.refused","of":["ECONNREFUSED"]}]}"#
    );
}

#[test]
fn a_sentence_of_a_later_brunt_is_told_in_english() {
    for text in [r#"{"is":"tls.evaporated","of":["h"]}"#, r#"{"is":"tls.expired"}"#] {
        assert_eq!(serde_json::from_str::<Cause>(text).expect("a cause").zh(), None);
    }
}

#[test]
fn what_stands_in_places_is_masked_and_cut() {
    let mut cause = connecting::no_connection("hunter-22:1", connecting::name_not_found("hunter-22", "why"));
    cause.words_mut().into_iter().for_each(|words| *words = words.replace("hunter-22", "***"));
    assert_eq!(cause.en(), "no connection to ***:1: the name *** was not found (why)");
    assert_eq!(verbatim("一二三").truncated(4).en(), "一");
}

/// No sentence may be hidden by another one that also matches its text.
#[test]
fn sentences_of_older_records_are_found_again() {
    for sentence in all().filter(|sentence| sentence.before) {
        let cause = Cause::of(sentence, sentence.places.iter().map(|_| CauseArgument::Words("x".into())).collect());
        assert_eq!(Cause::from_legacy_text(&cause.en()), Some(cause), "{}", sentence.key);
    }
    for (en, zh) in [
        (
            "127.0.0.1:1 does not respond: Connection refused (ECONNREFUSED)",
            "无法连接 127.0.0.1:1：连接被拒绝（ECONNREFUSED）",
        ),
        ("the name a.invalid was not found (Name or service not known).", "找不到主机名 a.invalid（域名不存在）"),
        (
            "the proxy http://p:1 (10.0.0.1:1) did not respond within 5.00 s",
            "代理 http://p:1（10.0.0.1:1） 在 5.00 s 内没有响应",
        ),
        ("the response is broken: the response is not HTTP/1.x", "响应不符合协议：响应不是 HTTP/1.x"),
        (
            "expected body to contain \"a, found b\", found \"c\" (1 B)",
            "预期正文包含 \"a，实际为 b\", found \"c\" (1 B)",
        ),
    ] {
        assert_eq!(Cause::from_legacy_text(en).and_then(|cause| cause.zh()).as_deref(), Some(zh), "{en}");
    }
    for text in ["ERR unknown command 'X'", "", "x was refused"] {
        assert_eq!(Cause::from_legacy_text(text), None, "{text}");
    }
}

/// Returns the source files that create causes, without their tests.
fn sources() -> Vec<(std::path::PathBuf, String)> {
    sources_of(&[
        "contract",
        "engine",
        "net",
        "values",
        "http-family",
        "databases",
        "raw",
        "protocols",
        "bench",
        "fleet",
    ])
}

/// Returns the source files of these crates, without their tests.
fn sources_of(names: &[&str]) -> Vec<(std::path::PathBuf, String)> {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<_> = names.iter().map(|name| crates.join(name).join("src")).collect();
    let mut all = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            let is_test = entry.file_name().to_string_lossy().contains("test");
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if !is_test && path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source");
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
                all.push((path, code));
            }
        }
    }
    all
}

#[test]
fn every_sentence_is_said_somewhere() {
    let (sources, engines) = (sources(), sources_of(&["link", "messenger", "fleet"]));
    for sentence in all() {
        let (area, name) = sentence.key.split_once('.').expect("an area and a name");
        // Keys are part of records, so two areas keep the original names of their modules.
        let area = match area {
            "reaching" => "connecting",
            "beside" => "side_messages",
            area => area,
        };
        let whole = |text: &str, name: &str| {
            text.match_indices(name)
                .any(|(at, _)| !text[at + name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
        };
        if area == "delivery" {
            // It is said in English, which must be the text of the sentence.
            let text = format!("\"{}", sentence.en);
            assert!(engines.iter().any(|(_, source)| source.contains(&text)), "nobody says `{}` any more", sentence.en);
            continue;
        }
        let (path, imported) = (format!("{area}::{name}"), format!("brunt_cause::{area}::"));
        let says = |(_, text): &(_, String)| whole(text, &path) || (text.contains(&imported) && whole(text, name));
        let of_system = area == "connecting" && include_str!("connecting.rs").contains(&format!("=> {name}("));
        assert!(of_system || sources.iter().any(says), "nobody says `{}` any more", sentence.key);
    }
}

/// Each reason why nothing was delivered has a sentence, by which it is translated.
#[test]
fn what_engines_say_in_english_is_translated() {
    let literal = "Undelivered(\"";
    let sources = sources_of(&["link", "messenger", "fleet"]);
    // The one within a process serves tests.
    for (path, source) in sources.iter().filter(|(path, _)| !path.ends_with("local.rs")) {
        for (at, _) in source.match_indices(literal) {
            let said = source[at + literal.len()..].split('"').next().unwrap_or_default();
            assert!(Cause::from_legacy_text(said).is_some(), "{}: {said}", path.display());
        }
    }
}

/// Free text is reserved for text from a peer, or from the simulation in its place.
#[test]
fn nothing_is_said_freely() {
    for (path, text) in sources().iter().filter(|(path, _)| !path.to_string_lossy().contains("/sim/")) {
        for (at, _) in text.match_indices("brunt_cause::verbatim(") {
            let words = &text[at + "brunt_cause::verbatim(".len()..];
            let free = words.starts_with("format!") || (words.starts_with('"') && !words.starts_with("\"\""));
            assert!(!free, "{}: {:.60}", path.display(), words);
        }
    }
}
