//! Command lines and their encoding.

use super::*;

fn sent(line: &str, context: &SlotContext) -> String {
    let dialogue = dialogue("redis://h", &[&format!("command={line}")]);
    let (mut session, _) = begun(&dialogue);
    let mut out = OutputBuffer::default();
    session.submit(ExchangeId(0), &dialogue.requests()[0].request, context, &mut out).expect("room");
    String::from_utf8_lossy(out.bytes()).into_owned()
}

#[test]
fn words_become_bulk_strings() {
    let fill = SlotContext { number: 41, user: 3, ..SlotContext::default() };
    for (line, bytes) in [
        ("PING", "*1\r\n$4\r\nPING\r\n"),
        ("  GET\tkey ", "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n"),
        ("SET k ''", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n"),
        (r#"SET k "a b\r\n\"""#, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$6\r\na b\r\n\"\r\n"),
        (r#"SET k '{"a":1}\n'"#, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9\r\n{\"a\":1}\\n\r\n"),
        ("GET a'b c'd", "*2\r\n$3\r\nGET\r\n$5\r\nab cd\r\n"),
        ("GET {{tag}}:{user}", "*2\r\n$3\r\nGET\r\n$7\r\n{tag}:3\r\n"),
        ("SET key:{counter} x", "*3\r\n$3\r\nSET\r\n$6\r\nkey:41\r\n$1\r\nx\r\n"),
        ("SET {counter} {user} EX 10", "*5\r\n$3\r\nSET\r\n$2\r\n41\r\n$1\r\n3\r\n$2\r\nEX\r\n$2\r\n10\r\n"),
        ("GET \"{counter}\\x41\"'{counter}'", "*2\r\n$3\r\nGET\r\n$12\r\n41A{counter}\r\n"),
        ("MULTI; INCR a; EXEC;", "*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*1\r\n$4\r\nEXEC\r\n"),
        ("GET a;b", "*2\r\n$3\r\nGET\r\n$3\r\na;b\r\n"),
        ("GET \";\" ; PING", "*2\r\n$3\r\nGET\r\n$1\r\n;\r\n*1\r\n$4\r\nPING\r\n"),
        ("GET ключ", "*2\r\n$3\r\nGET\r\n$8\r\nключ\r\n"),
    ] {
        assert_eq!(sent(line, &fill), bytes, "{line}");
    }
}

#[test]
fn lengths_are_right_however_many_digits_they_have() {
    for (number, user) in [(0, 1), (9, 9), (1_000_000, 1), (u64::MAX, u64::MAX)] {
        let fill = SlotContext { number, user, ..SlotContext::default() };
        for count in [1, 4, 5, 10, 50] {
            let line = format!("SET {} v {{user}}", "{counter}".repeat(count));
            let (key, user) = (number.to_string().repeat(count), user.to_string());
            let lengths = (key.len(), user.len());
            let expected =
                format!("*4\r\n$3\r\nSET\r\n${}\r\n{key}\r\n$1\r\nv\r\n${}\r\n{user}\r\n", lengths.0, lengths.1);
            assert_eq!(sent(&line, &fill), expected);
        }
    }
}

#[test]
fn random_slots_of_one_command_differ() {
    let fill = SlotContext { random: 0x1234_5678_9abc_def0, ..SlotContext::default() };
    let text = sent("MSET {random 16} {random 16} \"{random 16}\"'.'{random 16} x", &fill);
    let words: Vec<&str> = text.split("\r\n").filter(|word| word.len() >= 16).collect();
    let parts = [words[0], words[1], &words[2][..16], &words[2][17..]];
    assert_eq!((words.len(), words[2].len()), (3, 33));
    assert!(parts.iter().enumerate().all(|(n, part)| !parts[..n].contains(part)), "{parts:?}");
}

#[test]
fn weights_stand_in_front() {
    let dialogue = dialogue("redis://h", &["command=3x GET k", "command=SET k 1x"]);
    assert_eq!(dialogue.requests().iter().map(|r| r.weight).collect::<Vec<_>>(), [3.0, 1.0]);
    assert_eq!(dialogue.encoded(&dialogue.requests()[1].request), b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n1x\r\n");
}

#[test]
fn what_is_sent_once_keeps_its_order() {
    let dialogue = dialogue("redis://h", &["before=FLUSHALL", "before=SET k 1", "after=DEL k"]);
    let sent = |requests: &[std::sync::Arc<brunt_contract::Request>]| {
        requests.iter().map(|r| dialogue.encoded(r)).collect::<Vec<_>>()
    };
    assert_eq!(
        sent(&dialogue.prepared().before),
        [&b"*1\r\n$8\r\nFLUSHALL\r\n"[..], b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\n1\r\n"]
    );
    assert_eq!(sent(&dialogue.prepared().after), [b"*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n"]);
}

#[test]
fn mistakes_are_answered_by_one_sentence() {
    for (option, said) in [
        ("command=", "--command: \"\" is empty; write what to send"),
        ("command=''", "--command: \"''\": a command has no name; use, for example, GET key"),
        ("command=;", "--command: \";\" has a `;` with no command before it; write commands between them, or quote it"),
        ("before=  ", "--before: \"  \" has no command; use, for example, GET key"),
        ("command=GET 'a", "--command: \"GET 'a\" has a ' that is not closed; write another ' after it"),
        ("before=GET \"a", "--before: \"GET \"a\" has a \" that is not closed; write another \" after it"),
        (
            "command=subscribe x",
            "--command: \"subscribe x\": SUBSCRIBE gets an endless stream of messages and cannot be measured as an exchange; use another command",
        ),
        (
            "command=CLIENT reply OFF",
            "--command: \"CLIENT reply OFF\": CLIENT REPLY makes the server silent, and every exchange would time out; \
             leave it out",
        ),
        ("pipeline=0", "--pipeline: \"0\" is not a number from 1 to 10000; use, for example, 16"),
        ("resp=4", "--resp: \"4\" is not a protocol version; use 2 or 3"),
    ] {
        assert_eq!(prepared("redis://h", &[option]).map_err(crate::bilingual).unwrap_err(), said);
    }
    let slot = prepared("redis://h", &["after=SET k {nonsense}"]).map_err(crate::bilingual).unwrap_err();
    assert!(slot.starts_with("--after: {nonsense}"), "{slot}");
}
