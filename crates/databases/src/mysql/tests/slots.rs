//! SQL with slots: splitting, parameters, and the equivalence of both ways of sending.

use brunt_contract::SlotContext;

use super::super::dialect::statements;
use super::super::statement::{MysqlCompiler, PreparedStatement};
use crate::sql::{LiteralPart, SqlPiece, StatementMode};

fn sql(text: &str) -> SqlPiece {
    SqlPiece::Sql(text.to_owned())
}
fn value(text: &str) -> SqlPiece {
    SqlPiece::Value(text.to_owned())
}

#[test]
fn statements_are_cut_where_they_end_and_nowhere_else() {
    for (text, pieces) in [
        ("SELECT 1", vec![vec![sql("SELECT 1")]]),
        (" a ; b;; ", vec![vec![sql("a")], vec![sql("b")]]),
        ("SELECT ';', \";\", `;` -- ;\n, 1 # ;", vec![vec![sql("SELECT ';', \";\", `;`  \n, 1")]]),
        ("a /* ; */ b /*! c */", vec![vec![sql("a   b /*! c */")]]),
        ("CREATE PROCEDURE p() BEGIN DO 1; DO 2; END", vec![vec![sql("CREATE PROCEDURE p() BEGIN DO 1; DO 2; END")]]),
        ("SELECT 'it''s', 'a\\'b;', \"x\"\"y\"", vec![vec![sql("SELECT 'it''s', 'a\\'b;', \"x\"\"y\"")]]),
        ("SELECT '{\"a\": {\"b\": 1}}'", vec![vec![sql("SELECT '{\"a\": {\"b\": 1}}'")]]),
        ("a {counter} b", vec![vec![sql("a "), value("counter"), sql(" b")]]),
        (
            "t{user}, {user}_x, `a{user}`",
            vec![vec![
                sql("t"),
                SqlPiece::Name("user".into()),
                sql(", "),
                SqlPiece::Name("user".into()),
                sql("_x, `a"),
                SqlPiece::Name("user".into()),
                sql("`"),
            ]],
        ),
        (
            "'a''{counter}\\n{{x}'",
            vec![vec![SqlPiece::Literal(vec![
                LiteralPart::Text("a'".into()),
                LiteralPart::Slot("counter".into()),
                LiteralPart::Text("\n{x}".into()),
            ])]],
        ),
        (
            "'{\"id\": {counter}}'",
            vec![vec![SqlPiece::Literal(vec![
                LiteralPart::Text("{\"id\": ".into()),
                LiteralPart::Slot("counter".into()),
                LiteralPart::Text("}".into()),
            ])]],
        ),
        ("{md5 {counter}}", vec![vec![value("md5 {counter}")]]),
    ] {
        assert_eq!(statements(text), Ok(pieces), "{text}");
    }
}

/// Returns the bytes sent for a statement, as text: the SQL that is prepared, and the packet of an execution.
fn sent(text: &str, way: StatementMode, context: &SlotContext) -> (Vec<String>, Vec<u8>) {
    let mut compiler = MysqlCompiler::default();
    let pieces = statements(text).unwrap().remove(0);
    let statement = compiler.statement(&pieces, way, "--sql").unwrap();
    let mut out = Vec::new();
    let mut ready = vec![PreparedStatement { id: 1, types_sent: false }; compiler.prepares.len()];
    assert_eq!(statement.append(context, &mut ready, &mut out), 1);
    let prepares = compiler.prepares.iter().map(|p| String::from_utf8_lossy(&p[5..]).into_owned()).collect();
    (prepares, out)
}

#[test]
fn text_is_quoted_where_it_must_be() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("names.csv");
    std::fs::write(&file, "name\nO'Neil \\ \"x\"\n").unwrap();
    let csv = format!("{{csv {}.name}}", file.display());
    let fill = SlotContext { number: 5, user: 2, ..SlotContext::default() };
    for (text, query) in [
        ("SELECT {counter}, '{counter}-{user}' FROM t{user}".to_owned(), "SELECT 5, '5-2' FROM t2".to_owned()),
        (format!("SELECT {csv}"), "SELECT 'O\\'Neil \\\\ \\\"x\\\"'".into()),
        (format!("SELECT 'a\\\\{csv}'"), "SELECT 'a\\\\O\\'Neil \\\\ \\\"x\\\"'".into()),
        ("SELECT {counter width 3}".into(), "SELECT '005'".into()),
    ] {
        let (prepares, packet) = sent(&text, StatementMode::Text, &fill);
        assert!(prepares.is_empty());
        assert_eq!(String::from_utf8_lossy(&packet[5..]), query);
        assert_eq!(usize::from(packet[0]), packet.len() - 4);
    }
    let (prepares, packet) = sent(&format!("SELECT 'a\\\\{csv}', {{counter}}"), StatementMode::Auto, &fill);
    assert_eq!(prepares, ["SELECT ?, ?"]);
    assert!(packet.ends_with(b"\x0ea\\O'Neil \\ \"x\"\x05\0\0\0\0\0\0\0"), "{packet:?}");
}

#[test]
fn statements_without_slots_are_prepared_only_where_asked_for() {
    let fill = SlotContext::default();
    assert_eq!(sent("SELECT 1", StatementMode::Auto, &fill).0, Vec::<String>::new());
    let (prepares, packet) = sent("SELECT 1", StatementMode::Prepared, &fill);
    assert_eq!(prepares, ["SELECT 1"]);
    assert_eq!(packet, [10, 0, 0, 0, 0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0]);
    // A slot in a name cannot be prepared, so the statement is sent as text by default.
    assert_eq!(sent("SELECT {counter} FROM t{user}", StatementMode::Auto, &fill).0, Vec::<String>::new());
}

#[test]
fn a_slot_that_is_part_of_a_name_is_no_parameter() {
    for text in ["d{user}", "{user}_x", "t.{user}", "{user}.t", "@{user}", "`a{user}`", "{user}{counter}"] {
        let pieces = statements(text).unwrap().remove(0);
        assert!(pieces.iter().any(|piece| matches!(piece, SqlPiece::Name(_))), "{text}: {pieces:?}");
    }
    for text in ["({user})", "={user},", "{user}", "-{user}", "'x',{user}"] {
        let pieces = statements(text).unwrap().remove(0);
        assert!(!pieces.iter().any(|piece| matches!(piece, SqlPiece::Name(_))), "{text}: {pieces:?}");
    }
}

#[test]
fn what_is_too_long_to_be_prepared_is_said() {
    let pieces = statements(&format!("SELECT '{}', {{counter}}", "x".repeat(0xff_ffff))).unwrap().remove(0);
    let complaint = MysqlCompiler::default().statement(&pieces, StatementMode::Auto, "--sql").unwrap_err();
    assert_eq!(
        complaint.to_string(),
        "--sql: the statement is longer than 16 MiB, the limit for prepared ones; add --text"
    );
}

#[test]
fn long_values_carry_their_length() {
    for count in [250, 251, 65_535, 65_536] {
        let (_, packet) = sent(&format!("SELECT {{random {count}}}"), StatementMode::Auto, &SlotContext::default());
        let behind = &packet[14 + 2 + 2..];
        let (length, at) = match behind[0] {
            0xfc => (usize::from(u16::from_le_bytes([behind[1], behind[2]])), 3),
            0xfd => (usize::from(behind[1]) | usize::from(behind[2]) << 8 | usize::from(behind[3]) << 16, 4),
            small => (usize::from(small), 1),
        };
        assert_eq!((length, behind.len() - at), (count, count));
    }
}

#[test]
fn commands_of_sixteen_megabytes_are_cut() {
    for (extra, packets) in [(0, 1_usize), (1, 2), (2, 2)] {
        let count = 0xff_ffff - "\u{3}SELECT ''".len() - 1 + extra;
        let mut compiler = MysqlCompiler::default();
        let pieces = statements(&format!("SELECT '{}'", "x".repeat(count))).unwrap().remove(0);
        let statement = compiler.statement(&pieces, StatementMode::Text, "--sql").unwrap();
        let mut out = Vec::new();
        let number = statement.append(&SlotContext::default(), &mut [], &mut out);
        assert_eq!((usize::from(number), out.len()), (packets, count + 10 + 4 * packets));
        if packets == 2 {
            assert_eq!(out[..4], [0xff, 0xff, 0xff, 0]);
            assert_eq!(out[4 + 0xff_ffff..][..4], [(extra - 1) as u8, 0, 0, 1]);
        }
    }
}

#[test]
fn two_random_slots_of_one_exchange_differ() {
    let fill = SlotContext { random: 42, ..SlotContext::default() };
    let (_, packet) = sent("SELECT {random 0..1000000000000}, {random 0..1000000000000}", StatementMode::Auto, &fill);
    let values = &packet[packet.len() - 16..];
    assert_ne!(values[..8], values[8..]);
}
