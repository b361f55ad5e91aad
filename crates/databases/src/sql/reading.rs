//! Statements that only read.

/// First words of statements that change no data (transactions included).
const READING: [&str; 14] = [
    "select", "show", "values", "table", "explain", "describe", "desc", "begin", "start", "commit", "rollback", "set",
    "use", "end",
];

/// Returns `true` if every statement of a script only reads. A semicolon within a text ends a statement here, which makes
/// the answer `false` at worst.
pub fn only_reads(script: &[u8]) -> bool {
    script.split(|byte| *byte == b';').all(|statement| {
        let statement = statement.trim_ascii_start();
        let end = statement.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(statement.len());
        let word = statement[..end].to_ascii_lowercase();
        statement.is_empty() || READING.iter().any(|reading| reading.as_bytes() == word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_write_are_recognized_by_their_first_word() {
        for (script, reads) in [
            ("SELECT 1", true),
            (" select a from b; SHOW TABLES;", true),
            ("BEGIN; SELECT 1; COMMIT", true),
            ("", true),
            ("INSERT INTO a VALUES (1)", false),
            ("BEGIN; UPDATE a SET b = 1; COMMIT", false),
            ("/* hint */ SELECT 1", false),
            ("SELECT 'a;b'", false),
            ("selection", false),
        ] {
            assert_eq!(only_reads(script.as_bytes()), reads, "{script}");
        }
    }
}
