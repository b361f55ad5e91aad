//! Statements and their messages.

use super::*;

/// Returns the messages of the first request, as type and body in readable form.
fn sent(options: &[&str], context: &SlotContext) -> Vec<String> {
    let dialogue = dialogue(options);
    readable(&submit(&dialogue, &mut entered(&dialogue), context))
}

fn readable(mut bytes: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    while let Some((kind, rest)) = bytes.split_first() {
        let size = u32::from_be_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
        all.push(format!("{} {}", char::from(*kind), rest[4..size].escape_ascii()));
        bytes = &rest[size..];
    }
    all
}

#[test]
fn texts_without_slots_are_simple_queries() {
    for (sql, query) in [
        ("", "SELECT 1"),
        ("sql=SELECT 1; ; SELECT 'a;b' ;", "SELECT 1; SELECT \\'a;b\\'"),
        ("sql=SELECT '{\"a\":1}'::json -- x;\n, 2", "SELECT \\'{\\\"a\\\":1}\\'::json  \\n, 2"),
        (
            "sql=SELECT /* ; /* ; */ ; */ $a$;{counter}$a$, E'\\';', \"x;\"",
            "SELECT   $a$;{counter}$a$, E\\'\\\\\\';\\', \\\"x;\\\"",
        ),
        ("sql=SELECT '{{counter}', it.s$1", "SELECT \\'{counter}\\', it.s$1"),
    ] {
        let options: Vec<&str> = [sql].into_iter().filter(|s| !s.is_empty()).collect();
        assert_eq!(sent(&options, &SlotContext::default()), [format!("Q {query}\\x00")], "{sql}");
    }
}

#[test]
fn slots_are_parameters_and_statements_are_prepared_in_passing() {
    let fill = SlotContext { number: 41, user: 3, ..SlotContext::default() };
    let dialogue = dialogue(&["sql=INSERT INTO t VALUES ({counter}, 'x{user}''y'); SELECT {user}", "transaction"]);
    let mut session = entered(&dialogue);
    let execute = "E \\x00\\x00\\x00\\x00\\x00";
    let binds = [
        "B \\x00s0\\x00\\x00\\x00\\x00\\x00\\x00\\x00",
        "B \\x00s1\\x00\\x00\\x00\\x00\\x02\\x00\\x00\\x00\\x0241\\x00\\x00\\x00\\x04x3\\'y\\x00\\x00",
        "B \\x00s2\\x00\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x013\\x00\\x00",
        "B \\x00s3\\x00\\x00\\x00\\x00\\x00\\x00\\x00",
    ];
    let parses = [
        "P s0\\x00BEGIN\\x00\\x00\\x00",
        "P s1\\x00INSERT INTO t VALUES ($1, $2)\\x00\\x00\\x00",
        "P s2\\x00SELECT $1\\x00\\x00\\x00",
        "P s3\\x00COMMIT\\x00\\x00\\x00",
    ];
    let first = readable(&submit(&dialogue, &mut session, &fill));
    let expected: Vec<&str> = (0..4).flat_map(|n| [parses[n], binds[n], execute]).chain(["S "]).collect();
    assert_eq!(first, expected);
    // The third statement could not be prepared: it and the following ones are prepared again, the others are not.
    let answer = [(b'1', ""), (b'2', ""), (b'C', "BEGIN\0"), (b'1', ""), (b'2', ""), (b'C', "INSERT 0 1\0")];
    let failed = [(b'E', "SERROR\0C42P01\0Mno such table\0\0"), (b'Z', "E"), (b'C', "ROLLBACK\0"), (b'Z', "I")];
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    session.receive(&messages(&[&answer[..], &failed].concat()), &mut out, &mut done).expect("good");
    assert_eq!(told(&done, &dialogue), ["7 wrong_status 42P01 no such table 0 \"ERROR 42P01: no such table\""]);
    let second = readable(&submit(&dialogue, &mut session, &fill));
    let expected: Vec<&str> = (0..4)
        .flat_map(|n| [parses[n], binds[n], execute].into_iter().skip(usize::from(n < 2)))
        .chain(["S "])
        .collect();
    assert_eq!(second, expected);
    session.receive(&messages(&[(b'1', ""), (b'1', ""), (b'Z', "I")]), &mut out, &mut done).expect("good");
    let third = readable(&submit(&dialogue, &mut session, &fill));
    assert_eq!(third.iter().filter(|message| message.starts_with('P')).count(), 0, "{third:?}");
}

#[test]
fn slots_stand_in_the_text_where_they_must_or_are_asked_to() {
    let fill = SlotContext { number: 41, user: 3, ..SlotContext::default() };
    for (options, query) in [
        (
            &["sql=SELECT * FROM t_{user} WHERE a={counter} AND b='{user}'"][..],
            "SELECT * FROM t_3 WHERE a=41 AND b=\\'3\\'",
        ),
        (&["sql=SELECT \"c{user}\" FROM t", "text"], "SELECT \\\"c3\\\" FROM t"),
        (&["sql=SELECT {counter}, '{counter}''s'; SELECT 2", "text"], "SELECT 41, \\'41\\'\\'s\\'; SELECT 2"),
        // A name of two parts, and digits that are not an SQL number.
        (&["sql=SELECT * FROM s.{user}, {user}.t"], "SELECT * FROM s.3, 3.t"),
        (&["sql=SELECT {counter hex}, {counter width 3}", "text"], "SELECT \\'29\\', \\'041\\'"),
    ] {
        assert_eq!(sent(options, &fill), [format!("Q {query}\\x00")], "{options:?}");
    }
    let all = sent(&["sql=SELECT 1", "prepared"], &fill);
    assert_eq!(all[0], "P s0\\x00SELECT 1\\x00\\x00\\x00");
}

#[test]
fn values_are_quoted_where_they_stand_in_the_text() {
    let directory = tempfile::tempdir().expect("a folder");
    let file = directory.path().join("names.csv");
    std::fs::write(&file, "name\nO'Ne\0il '' \\\n").expect("written");
    let csv = format!("{{csv {}.name}}", file.display());
    let sql = format!("sql=SELECT 'it''s', {csv}, '{csv}-{{user}}'");
    let query = r"Q SELECT \'it\'\'s\', \'O\'\'Neil \'\'\'\' \\\', \'O\'\'Neil \'\'\'\' \\-0\'\x00";
    assert_eq!(sent(&[&sql, "text"], &SlotContext::default()), [query]);
}

#[test]
fn what_is_said_once_is_text_and_in_order() {
    let dialogue =
        dialogue(&["before=CREATE TABLE t (a int)", "before=INSERT INTO t VALUES ({counter})", "after=DROP TABLE t"]);
    let shown = |requests: &[std::sync::Arc<brunt_contract::Request>]| {
        requests.iter().map(|r| dialogue.encoded(r)).collect::<Vec<_>>()
    };
    assert_eq!(
        shown(&dialogue.prepared().before),
        [&b"CREATE TABLE t (a int)"[..], b"INSERT INTO t VALUES ({counter})"]
    );
    assert_eq!(shown(&dialogue.prepared().after), [b"DROP TABLE t"]);
    let mut session = entered(&dialogue);
    let mut out = OutputBuffer::default();
    session.submit(ExchangeId(0), &dialogue.prepared().before[1], &SlotContext::default(), &mut out).expect("room");
    assert_eq!(readable(out.bytes()), ["Q INSERT INTO t VALUES (0)\\x00"]);
}

#[test]
fn mistakes_are_answered_by_one_sentence() {
    let right = "use postgres://user:password@host:5432/database";
    for (url, options, said) in [
        ("postgres://h/d", &[][..], format!("URL: \"postgres://h/d\" cannot be used (it has no user); {right}")),
        (
            "postgres://u:a%00b@h",
            &[],
            format!(
                "URL: \"postgres://u:a%00b@h\" cannot be used (names cannot contain a \
            zero byte); {right}"
            ),
        ),
        (
            "postgres://u@h/d/e",
            &[],
            format!(
                "URL: \"postgres://u@h/d/e\" cannot be used (a database is a single \
            word); {right}"
            ),
        ),
        (
            "postgres://u@h/d?sslmode=require",
            &[],
            format!(
                "URL: \"postgres://u@h/d?sslmode=require\" cannot be used (options are given as flags, for \
                example --ssl); {right}"
            ),
        ),
        ("postgres://u@h", &["sql=;"], "--sql: \";\": has no statement; add one, such as SELECT 1".into()),
        ("postgres://u@h", &["before=SELECT '"], "--before: \"SELECT '\": a ' has no matching end; write both".into()),
        ("postgres://u@h", &["sql=SELECT $$a"], "--sql: \"SELECT $$a\": $$ has no matching end; write both".into()),
        (
            "postgres://u@h",
            &["sql=SELECT $1"],
            "--sql: \"SELECT $1\": $1 is never filled in; write a slot instead, such as {counter}".into(),
        ),
        (
            "postgres://u@h",
            &["sql=SELECT t{user}", "prepared"],
            "--sql: \"SELECT t{user}\": a slot inside a name cannot be a parameter of a prepared statement; leave \
                out --prepared"
                .into(),
        ),
        (
            "postgres://u@h",
            &["text", "prepared"],
            "--text: cannot be combined with --prepared, its opposite; leave one of them out".into(),
        ),
        (
            "postgres://u@h",
            &["expect-rows=2..1"],
            "--expect-rows: \"2..1\" is not a number of rows; use 1, 1..5 or 1..".into(),
        ),
    ] {
        assert_eq!(prepared(url, options).map_err(crate::bilingual).unwrap_err(), said);
    }
}
