//! Reduces `.proto` texts to what affects messages on the wire.
//!
//! Most options are annotations for other programs (gateways, validators, code generators). The files that define custom
//! ones are often not at hand, standard ones are newer than the library, and some of what protoc accepts in them it does
//! not parse. They are replaced with spaces, so that places in errors stay as they are. So are the names that editions
//! reserve without quotes, options of extension ranges, `import option`, the visibility of types, and extensions of the
//! options themselves.

use std::ops::Range;

/// The options that affect messages.
const KEPT: [&str; 6] = ["packed", "json_name", "features", "allow_alias", "message_set_wire_format", "map_entry"];

/// Returns the text without what does not affect messages; its lines and columns are the same. `edition` is set for a
/// file of an edition, which is parsed as proto3, where default values are not allowed.
pub fn reduce(text: &str, edition: bool) -> String {
    let mut reducer = Reducer { tokens: tokens(text), at: 0, left_out: Vec::new(), text, edition };
    while reducer.at < reducer.tokens.len() {
        reducer.statement();
    }
    let mut bytes = text.as_bytes().to_vec();
    for range in reducer.left_out {
        bytes[range].iter_mut().filter(|b| !matches!(b, b'\n' | b'\r')).for_each(|b| *b = b' ');
    }
    // Ranges begin and end at tokens, so that no character is cut.
    String::from_utf8_lossy(&bytes).into_owned()
}

struct Reducer<'a> {
    text: &'a str,
    /// Places of words, strings and symbols.
    tokens: Vec<Range<usize>>,
    at: usize,
    left_out: Vec<Range<usize>>,
    edition: bool,
}

impl<'a> Reducer<'a> {
    fn token(&self, number: usize) -> &'a str {
        self.tokens.get(number).map_or("", |range| &self.text[range.clone()])
    }

    /// Passes one statement, or the beginning of one up to its braces.
    fn statement(&mut self) {
        let (start, second) = (self.at, self.token(self.at + 1));
        match self.token(start) {
            "import" if second == "option" => self.leave_out_statement(),
            "option" if self.is_kept(start + 1) => self.skip_to_end(),
            "option" => self.leave_out_statement(),
            "reserved" if second.starts_with(is_word) && !second.starts_with(|c: char| c.is_ascii_digit()) => {
                self.leave_out_statement();
            }
            "extensions" => self.pass(true),
            "extend" if self.extends_options(start + 1) => {
                self.at = self.find(start, "{");
                self.skip_group();
                self.leave_out(start);
            }
            "export" | "local" if matches!(second, "message" | "enum") && self.token(start + 3) == "{" => {
                self.at += 1;
                self.leave_out(start);
            }
            _ => self.pass(false),
        }
    }

    /// Passes tokens up to the end of a statement or a brace, without options in brackets that are not kept, or without
    /// any.
    fn pass(&mut self, all_options: bool) {
        while self.at < self.tokens.len() {
            match self.token(self.at) {
                "[" if all_options => {
                    let start = self.at;
                    self.skip_group();
                    self.leave_out(start);
                }
                "[" => self.options(),
                ";" | "{" | "}" => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    /// Leaves those that are not kept out of a list of options.
    fn options(&mut self) {
        let open = self.at;
        self.at += 1;
        let mut kept = Vec::new();
        loop {
            let start = self.at;
            let is_kept = self.is_kept(start);
            self.skip_to(&[",", "]"]);
            if is_kept {
                kept.push(start..self.at);
            }
            if self.token(self.at) != "," {
                break;
            }
            self.at += 1;
        }
        let close = self.at;
        self.at += 1;
        if kept.is_empty() {
            self.leave_out(open);
            return;
        }
        // What is between the kept options, except one comma.
        let mut from = open + 1;
        for (number, option) in kept.iter().enumerate() {
            let between = if number == 0 { from } else { from + 1 };
            self.leave_out_tokens(between..option.start);
            from = option.end;
        }
        self.leave_out_tokens(from..close);
    }

    /// Returns `true` if the option named here affects messages. A part in parentheses is a custom option.
    fn is_kept(&self, from: usize) -> bool {
        let name = self.token(from);
        let mut parts = (from..self.tokens.len()).map(|number| self.token(number));
        let custom = parts.by_ref().take_while(|t| !matches!(*t, "=" | ";" | "{" | "]")).any(|t| t == "(");
        !custom && (KEPT.contains(&name) || name == "default" && !self.edition)
    }

    /// Returns `true` for the name of options, of which extensions are custom options.
    fn extends_options(&self, from: usize) -> bool {
        let end = self.find(from, "{").min(self.tokens.len());
        let name: String = (from..end).map(|number| self.token(number)).collect();
        let of = name.trim_start_matches('.').strip_prefix("google.protobuf.");
        of.is_some_and(|of| of.ends_with("Options") || of == "FeatureSet")
    }

    fn find(&self, from: usize, wanted: &str) -> usize {
        (from..self.tokens.len()).find(|number| self.token(*number) == wanted).unwrap_or(self.tokens.len())
    }

    /// Skips to the first of these tokens outside groups, or to the end.
    fn skip_to(&mut self, wanted: &[&str]) {
        while self.at < self.tokens.len() && !wanted.contains(&self.token(self.at)) {
            self.skip_group();
        }
    }

    /// Skips one token, or a group in braces, brackets or parentheses.
    fn skip_group(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.token(self.at) {
                "{" | "[" | "(" => depth += 1,
                "}" | "]" | ")" => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth <= 0 {
                return;
            }
        }
    }

    fn skip_to_end(&mut self) {
        self.skip_to(&[";"]);
        self.at += 1;
    }

    fn leave_out_statement(&mut self) {
        let start = self.at;
        self.skip_to_end();
        self.leave_out(start);
    }

    /// Leaves out the tokens from this one up to the current one.
    fn leave_out(&mut self, from: usize) {
        self.leave_out_tokens(from..self.at.min(self.tokens.len()));
    }

    fn leave_out_tokens(&mut self, range: Range<usize>) {
        self.left_out.extend(self.tokens.get(range).into_iter().flatten().cloned());
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the places of words, strings and symbols; comments and white space are between them.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match first {
            '/' if rest.starts_with("//") => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            '/' if rest.starts_with("/*") => {
                at += rest[2..].find("*/").map_or(rest.len(), |end| end + 4);
                continue;
            }
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '"' | '\'' => string_length(rest, first),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        all.push(at..at + length);
        at += length;
    }
    all
}

/// Returns the length of a string with its quotes; it ends at the line's end at the latest.
fn string_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_does_not_affect_messages_is_left_out() {
        let table = [
            ("option java_package = \"a\";option allow_alias = true;", "option allow_alias = true;"),
            ("option (x) = -inf;\nmessage", "\nmessage"),
            ("option (a.b).c = { d: [1, 2] e { f: \";\" } };rpc", "rpc"),
            ("option features.(pb.go).api_level = API_OPAQUE;x", "x"),
            ("option features.field_presence = IMPLICIT;", "option features.field_presence = IMPLICIT;"),
            ("int32 a = 1 [(v).gt = 0];", "int32 a = 1 ;"),
            ("int32 a = 1 [(v) = {a: [1]}, packed = true];", "int32 a = 1 [ packed = true];"),
            (
                "int32 a = 1 [packed = true, (v) = \"]\", json_name = \"b\"];",
                "int32 a = 1 [packed = true, json_name = \"b\"];",
            ),
            (
                "int32 a = 1 [feature_support = { a: B }, default = 2, deprecated = true];",
                "int32 a = 1 [ default = 2 ];",
            ),
            ("int32 a = 1 [packed = true, (v) = 1 /* ] */];", "int32 a = 1 [packed = true /* ] */];"),
            ("extensions 1000 [verification = UNVERIFIED];", "extensions 1000 ;"),
            ("extensions 4 to max [declaration = { number: 5, full_name: \".a\" }];", "extensions 4 to max ;"),
            ("reserved bar, baz;x", "x"),
            ("reserved \"bar\", 5; reserved 2 to 4;", "reserved \"bar\", 5; reserved 2 to 4;"),
            ("import option \"a.proto\";import \"b\";", "import \"b\";"),
            ("export message A { local enum B { C = 0; } }", "message A { enum B { C = 0; } }"),
            (
                "extend google.protobuf.MethodOptions { string s = 50001; } extend A { int32 b = 1; }",
                "extend A { int32 b = 1; }",
            ),
            ("message local { export export = 1; }", "message local { export export = 1; }"),
            (
                "// option (x) = 1;\n/* [ */ string s = 1 [default = \"[(\"];",
                "// option (x) = 1;\n/* [ */ string s = 1 [default = \"[(\"];",
            ),
        ];
        let words =
            |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ,", ",").replace(" ;", ";");
        for (text, wanted) in table {
            let reduced = reduce(text, false);
            assert_eq!(words(&reduced), words(wanted), "{text}");
            assert_eq!(reduced.len(), text.len(), "{text}");
        }
    }

    #[test]
    fn default_values_are_left_out_of_editions() {
        let reduced = reduce("edition = \"2023\"; message M { int32 a = 1 [default = 1]; }", true);
        assert!(!reduced.contains("default") && reduced.contains("int32 a = 1"), "{reduced}");
    }

    proptest! {
        #[test]
        fn no_text_panics_and_lines_stay(text in "([\\[\\](){};,=\"'\\\\a \\n/*é]|option |extend |reserved |extensions |import ){0,40}") {
            let reduced = reduce(&text, true);
            prop_assert_eq!(reduced.lines().count(), text.lines().count());
        }
    }
}
