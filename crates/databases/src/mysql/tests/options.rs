//! Options, and the errors for mistakes in them.

use super::prepared;

const URL: &str = "mysql://u:p%40ss@127.0.0.1:3307/d";

#[test]
fn a_mistake_is_one_sentence_that_says_what_would_be_right() {
    for (url, options, said) in [
        (
            "mysql://127.0.0.1/d",
            &[][..],
            "URL: \"mysql://127.0.0.1/d\" cannot be used (it has no user); use \
                mysql://user:password@host:3306/database",
        ),
        (
            "mysql://u@h/a/b",
            &[],
            "URL: \"mysql://u@h/a/b\" cannot be used (a database is a single word); use \
                mysql://user:password@host:3306/database",
        ),
        (
            "mysql://u@h/d?ssl=1",
            &[],
            "URL: \"mysql://u@h/d?ssl=1\" cannot be used (options are given as flags, for example --ssl); use \
                mysql://user:password@host:3306/database",
        ),
        (
            URL,
            &[("sql", "SELECT ?")],
            "--sql: \"SELECT ?\": ? is never filled in; write a slot instead, such as {counter} or {random 1..1000}",
        ),
        (URL, &[("sql", "SELECT 'a")], "--sql: \"SELECT 'a\": a ' has no matching end; write both"),
        (URL, &[("sql", "SELECT `a")], "--sql: \"SELECT `a\": a ` has no matching end; write both"),
        (URL, &[("sql", " ; -- nothing")], "--sql: \"; -- nothing\": has no statement; add one, such as SELECT 1"),
        (
            URL,
            &[("sql", "SELECT {counter")],
            "--sql: \"SELECT {counter\": the slot \"{counter\" is not closed; write } after it, or {{ for a brace before a letter",
        ),
        (
            URL,
            &[("sql", "SELECT * FROM t{user}"), ("prepared", "")],
            "--sql: \"SELECT * FROM t{user}\": a slot inside a name cannot be a parameter of a prepared statement; \
                leave out --prepared",
        ),
        (
            URL,
            &[("text", ""), ("prepared", "")],
            "--text: cannot be combined with --prepared, its opposite; leave one of them out",
        ),
        (URL, &[("expect-rows", "many")], "--expect-rows: \"many\" is not a number of rows; use 1, 1..5 or 1.."),
        (URL, &[("expect-rows", "5..1")], "--expect-rows: \"5..1\" is not a number of rows; use 1, 1..5 or 1.."),
    ] {
        let complaint = prepared(url, options).map(|_| ()).unwrap_err();
        assert_eq!(complaint.to_string(), said);
    }
    assert!(prepared(URL, &[("sql", "SELECT {nonsense 1}")]).is_err());
}

#[test]
fn the_url_names_the_place_and_who_logs_in() {
    let dialogue = prepared(URL, &[]).unwrap();
    let origin = &dialogue.origins()[0];
    assert_eq!((origin.host.as_str(), origin.port, origin.tls), ("127.0.0.1", 3307, false));
    assert_eq!(prepared("mysql://u@[::1]/", &[]).unwrap().origins()[0].host, "::1");
    assert_eq!(prepared("mariadb://u@db.example", &[]).unwrap().origins()[0].port, 3306);
}

#[test]
fn statements_weigh_what_stands_before_them_and_say_what_they_are() {
    let options = [
        ("sql", "3x SELECT 1"),
        ("sql", "UPDATE t SET n = n + 1 WHERE id = {random 1..9}; SELECT 2"),
        ("before", "CREATE TABLE t (id INT)"),
    ];
    let dialogue = prepared(URL, &options).unwrap();
    let said: Vec<(f64, String)> = (dialogue.requests().iter())
        .map(|r| (r.weight, String::from_utf8(dialogue.encoded(&r.request)).unwrap()))
        .collect();
    let second = "UPDATE t SET n = n + 1 WHERE id = {random 1..9}; SELECT 2";
    assert_eq!(said, [(3.0, "SELECT 1".to_owned()), (1.0, second.to_owned())]);
    assert_eq!(dialogue.encoded(&dialogue.prepared().before[0]), b"CREATE TABLE t (id INT)");
    let around = prepared(URL, &[("transaction", ""), ("sql", "DO 1; DO 2")]).unwrap();
    assert_eq!(around.encoded(&around.requests()[0].request), b"START TRANSACTION; DO 1; DO 2; COMMIT");
    assert_eq!(prepared(URL, &[]).unwrap().encoded(&prepared(URL, &[]).unwrap().requests()[0].request), b"SELECT 1");
}
