//! YAML (and therefore JSON) as a tree whose nodes have a line and a column.
//!
//! Scalars stay text, because the reader of a key interprets its value. Anchors, tags and multiple documents are
//! rejected: a plan does not need them, and a small file must not expand to a huge one.

mod remedy;

use brunt_cause::{Complaint, complaint};
use saphyr_parser::{Event, Parser, ScalarStyle};

pub use remedy::missing_space_hint;

/// A position in a file; line and column are counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilePosition {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode {
    /// The position.
    pub at: FilePosition,
    /// The value.
    pub value: YamlValue,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlValue {
    /// An empty value: `null`, `~` or no text.
    Null,
    /// A string, a number or a word.
    Text(String),
    /// A list.
    List(Vec<YamlNode>),
    /// A map: keys, their positions, and values.
    Map(Vec<(String, FilePosition, YamlNode)>),
}

/// An error in a file: its position and a message.
pub type YamlError = (FilePosition, Complaint);

/// Maximum number of values, and maximum number of bytes, of a file; the parsed tree takes several times as much
/// memory.
const MOST: usize = 200_000;
const LONGEST: usize = 16 << 20;
/// Maximum nesting depth.
const DEEPEST: usize = 16;

/// Parses a file.
///
/// # Errors
/// The text is not valid YAML or uses an unsupported feature; the error reports the first such part.
pub fn parse(text: &str) -> Result<YamlNode, YamlError> {
    let mut open: Vec<OpenNode> = Vec::new();
    let mut root = None;
    let (mut documents, mut values) = (0, 0);
    if text.len() > LONGEST {
        let trouble = complaint!(
            "is larger than 16 MiB, the limit for a plan; put long lists of URLs in a file for `urls-file`",
            "超过 16 MiB 的计划上限；长的 URL 列表请放进 `urls-file` 的文件"
        );
        return Err((FilePosition { line: 1, column: 1 }, trouble));
    }
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let at = FilePosition { line: error.marker().line(), column: error.marker().col() + 1 };
            remedy::remedy(text, at, error.info())
        })?;
        let at = FilePosition { line: span.start.line(), column: span.start.col() + 1 };
        values += 1;
        if values > MOST {
            let trouble = complaint!(
                "is where the plan exceeds the maximum number of values; put long lists of URLs in a file for `urls-file`",
                "处超过了计划中值的数量上限；长的 URL 列表请放进 `urls-file` 的文件"
            );
            return Err((at, trouble));
        }
        let done = match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return Err((
                        at,
                        complaint!(
                            "starts a second document (---); write one plan per file",
                            "开始了第二个文档（---）；每个文件请只写一个计划"
                        ),
                    ));
                }
                None
            }
            Event::Alias(_) => {
                return Err((
                    at,
                    complaint!(
                        "refers to an anchor (*), which is not supported; write the value out",
                        "引用了锚点（*），不受支持；请写出其值"
                    ),
                ));
            }
            Event::Scalar(_, _, anchor, _) | Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _)
                if anchor != 0 =>
            {
                return Err((
                    at,
                    complaint!(
                        "sets an anchor (&), which is not supported; write the value out",
                        "设置了锚点（&），不受支持；请写出其值"
                    ),
                ));
            }
            Event::Scalar(_, _, _, Some(_)) | Event::SequenceStart(_, Some(_)) | Event::MappingStart(_, Some(_)) => {
                return Err((
                    at,
                    complaint!(
                        "has a tag (!), which is not supported; leave it out",
                        "带有标签（!），不受支持；请去掉"
                    ),
                ));
            }
            Event::Scalar(text, style, _, _) => Some(YamlNode { at, value: scalar(&text, style) }),
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() == DEEPEST {
                    return Err((
                        at,
                        complaint!(
                            "is nested more than {DEEPEST} deep; use fewer levels",
                            "嵌套超过 {DEEPEST} 层；请减少层数"
                        ),
                    ));
                }
                let map = matches!(event, Event::MappingStart(..));
                open.push(OpenNode { at, map, items: Vec::new(), entries: Vec::new(), key: None });
                None
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(OpenNode::close),
            _ => None,
        };
        let Some(node) = done else { continue };
        match open.last_mut() {
            None => root = Some(node),
            Some(parent) => parent.take(node)?,
        }
    }
    root.ok_or_else(|| {
        (
            FilePosition { line: 1, column: 1 },
            complaint!(
                "is empty; write a plan, for example `urls: [http://localhost:8080/]`",
                "为空；请写计划，例如 `urls: [http://localhost:8080/]`"
            ),
        )
    })
}

fn scalar(text: &str, style: ScalarStyle) -> YamlValue {
    let plain = style == ScalarStyle::Plain;
    if plain && matches!(text, "" | "~" | "null" | "Null" | "NULL") {
        YamlValue::Null
    } else {
        YamlValue::Text(text.to_owned())
    }
}

/// A list or map whose end has not been parsed yet.
struct OpenNode {
    at: FilePosition,
    map: bool,
    items: Vec<YamlNode>,
    entries: Vec<(String, FilePosition, YamlNode)>,
    key: Option<(String, FilePosition)>,
}

impl OpenNode {
    fn take(&mut self, node: YamlNode) -> Result<(), YamlError> {
        if !self.map {
            self.items.push(node);
            return Ok(());
        }
        match self.key.take() {
            Some((name, at)) => self.entries.push((name, at, node)),
            None => {
                let YamlValue::Text(name) = node.value else {
                    return Err((
                        node.at,
                        complaint!("is not a key; write a word before the colon", "不是键；请在冒号之前写一个词"),
                    ));
                };
                if let Some((_, first, _)) = self.entries.iter().find(|(known, ..)| *known == name) {
                    return Err((
                        node.at,
                        complaint!(
                            "`{name}` is given more than once (first on line {}); give it once",
                            "`{name}` 重复出现（首次在第 {} 行）；只写一次",
                            first.line
                        ),
                    ));
                }
                self.key = Some((name, node.at));
            }
        }
        Ok(())
    }

    fn close(self) -> YamlNode {
        let value = if self.map { YamlValue::Map(self.entries) } else { YamlValue::List(self.items) };
        YamlNode { at: self.at, value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_knows_its_place() {
        let root = parse("a: 1\nb:\n  - x\n  - {c: 'null', d: ~}\n").unwrap();
        let YamlValue::Map(entries) = root.value else { panic!("a map") };
        let (name, at, _) = &entries[1];
        assert_eq!((&name[..], *at), ("b", FilePosition { line: 2, column: 1 }));
        let YamlValue::List(items) = &entries[1].2.value else { panic!("a list") };
        assert_eq!((items[0].at, &items[0].value), (FilePosition { line: 3, column: 5 }, &YamlValue::Text("x".into())));
        let YamlValue::Map(inner) = &items[1].value else { panic!("a map") };
        assert_eq!(inner[0].2.value, YamlValue::Text("null".into()));
        assert_eq!((inner[1].1, &inner[1].2.value), (FilePosition { line: 4, column: 17 }, &YamlValue::Null));
    }

    #[test]
    fn json_is_yaml() {
        let root = parse("{\"a\": [1, 2.5e3], \"b\": {\"c\": \"x\\u0041\\n\"}}").unwrap();
        let YamlValue::Map(entries) = root.value else { panic!("a map") };
        let YamlValue::Map(inner) = &entries[1].2.value else { panic!("a map") };
        assert_eq!(inner[0].2.value, YamlValue::Text("xA\n".into()));
    }

    #[test]
    fn mistakes_have_a_place() {
        let table = [
            ("a: 1\na: 2", 2, 1, "`a` is given more than once (first on line 1); give it once"),
            ("a: &x 1\nb: *x", 1, 4, "sets an anchor"),
            ("a: !!int 1", 1, 4, "has a tag (!)"),
            ("a: 1\n---\nb: 2", 2, 1, "starts a second document"),
            ("", 1, 1, "is empty"),
            ("a: [1, 2", 1, 4, "opens a [ that is never closed; add ]"),
            ("a: [1\nb: 2", 1, 4, "opens a [ that is never closed; add ]"),
            ("a: \"x y\nb: 2", 1, 4, "opens a \" that is never closed; add \""),
            ("a: b: c", 1, 4, "the value of `a` has a colon and a space, so it needs quotes; write a: '…'"),
            ("a:\n- b: Bearer: c", 2, 6, "the value of `b` has a colon and a space, so it needs quotes; write b: '…'"),
            ("a:\n\t- b\n", 2, 1, "is indented with a tab, which YAML does not allow; use spaces"),
            ("users 5\nb: 2", 1, 1, "`users` lacks a colon; write `users: 5`"),
            ("a: 1\nb: @x", 2, 4, "begins with @, so it needs quotes; write '@…'"),
            ("a: %x", 1, 4, "begins with %, so it needs quotes; write '%…'"),
            ("a: 1\nb: *x", 2, 4, "begins with *, so it needs quotes; write '*…'"),
            ("a:\n  - b: 1\n   c: 2", 3, 4, "is not YAML"),
            ("a: 1\nusers:3\nb: 2", 2, 1, "`users:3` lacks a space after its colon; write `users: 3`"),
            ("a: 1\n\nusers:3\n", 3, 1, "`users:3` lacks a space after its colon; write `users: 3`"),
            ("a:\n  b: 1\n  rate:5/s\n\n  c: 2", 3, 3, "`rate:5/s` lacks a space after its colon; write `rate: 5/s`"),
            ("a: 1\nhttp://h/", 0, 0, "is not YAML"),
            ("? [x]\n: y", 1, 3, "is not a key"),
            (
                "a: {b: 1, c: css input[name=x] @value, d: 2}\n",
                1,
                14,
                "`css input[name=x] @value` has a bracket and stands within { }, so it needs quotes; write 'css input[name=x] @value'",
            ),
            (
                "a:\n  {b: json $['x'][0].id}\nc: 1",
                2,
                7,
                "`json $['x'][0].id` has a bracket and stands within { }, so it needs quotes; write 'json $[''x''][0].id'",
            ),
        ];
        for (text, line, column, said) in table {
            let (at, trouble) = parse(text).expect_err(text);
            assert!(trouble.starts_with(said), "{text}: {trouble}");
            assert!(line == 0 || at == FilePosition { line, column }, "{text}: {at:?}");
        }
        for (text, said) in [
            ("[a, ".to_owned() + &"a, ".repeat(MOST) + "a]", "the maximum number of values"),
            ("a".repeat(LONGEST + 1), "16 MiB"),
        ] {
            assert!(parse(&text).unwrap_err().1.contains(said), "{said}");
        }
        let deep = "[".repeat(40) + &"]".repeat(40);
        assert!(parse(&deep).unwrap_err().1.contains("nested"));
    }
}
