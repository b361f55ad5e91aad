//! A parser for conditions: tokens first, then recursive descent, bounded in length and depth.

use super::operand::{ConditionNumber, Operand};
use super::{Comparison, ConditionNode};
use brunt_cause::{Complaint, complaint};

/// Maximum length of a condition, in bytes.
const LONGEST: usize = 4096;
/// Maximum nesting depth of parentheses and `not`.
const DEEPEST: usize = 50;
/// Maximum number of characters of a condition, or of the list of names, shown in an error message.
const SHOWN: usize = 100;
/// Example of a correct condition for error messages.
const EXAMPLE: &str = "state == 'open' and items > 0";

/// A token and its byte position in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Token<'a> {
    at: usize,
    kind: TokenKind<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TokenKind<'a> {
    Word(&'a str),
    Text(&'a str),
    Number(&'a str),
    Compare(Comparison),
    And,
    Or,
    Not,
    Open,
    Close,
    End,
}

/// Operator signs; a sign precedes all of its prefixes.
const SIGNS: [(&str, TokenKind<'static>); 11] = [
    ("==", TokenKind::Compare(Comparison::Equal)),
    ("!=", TokenKind::Compare(Comparison::Unequal)),
    ("<=", TokenKind::Compare(Comparison::AtMost)),
    (">=", TokenKind::Compare(Comparison::AtLeast)),
    ("<", TokenKind::Compare(Comparison::Less)),
    (">", TokenKind::Compare(Comparison::More)),
    ("&&", TokenKind::And),
    ("||", TokenKind::Or),
    ("!", TokenKind::Not),
    ("(", TokenKind::Open),
    (")", TokenKind::Close),
];

pub(super) fn condition(text: &str, names: &[&str]) -> Result<ConditionNode, Complaint> {
    if text.trim().is_empty() {
        return Err(complaint!(
            "a condition is missing; use, for example, {EXAMPLE}",
            "缺少条件；请写，例如 {EXAMPLE}"
        ));
    }
    if text.len() > LONGEST {
        return Err(complaint!(
            "the condition has {} bytes; at most {LONGEST} are read",
            "条件有 {} 字节；最多读取 {LONGEST} 字节",
            text.len()
        ));
    }
    let tokens = tokens(text)?;
    let mut parser = ConditionParser { text, tokens: &tokens, next: 0, depth: 0, names };
    let node = parser.any()?;
    match parser.peek().kind {
        TokenKind::End => Ok(node),
        TokenKind::Close => Err(parser.error(&complaint!("has no ( before it", "之前没有 ("))),
        TokenKind::Compare(_) => Err(parser.error(&complaint!(
            "compares a third value; compare two at a time and join them with `and`",
            "比较了第三个值；请一次比较两个，并用 `and` 连接"
        ))),
        _ => Err(parser.error(&complaint!(
            "is one too many; put `and`, `or` or a comparison before it",
            "是多余的；请在前面写 `and`、`or` 或比较运算符"
        ))),
    }
}

struct ConditionParser<'a> {
    text: &'a str,
    /// Tokens of the condition; the last one is [`TokenKind::End`].
    tokens: &'a [Token<'a>],
    next: usize,
    depth: usize,
    names: &'a [&'a str],
}

impl<'a> ConditionParser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.next]
    }

    /// Consumes the next token if it is the given one.
    fn consume(&mut self, what: TokenKind<'_>) -> bool {
        let takes = self.peek().kind == what;
        self.next += usize::from(takes);
        takes
    }

    /// Creates an error message about the next token.
    fn error(&self, why: &Complaint) -> Complaint {
        wrong(self.text, self.peek().at, why)
    }

    fn any(&mut self) -> Result<ConditionNode, Complaint> {
        let mut nodes = vec![self.all()?];
        while self.consume(TokenKind::Or) {
            nodes.push(self.all()?);
        }
        Ok(combine(nodes, ConditionNode::Any))
    }

    fn all(&mut self) -> Result<ConditionNode, Complaint> {
        let mut nodes = vec![self.not()?];
        while self.consume(TokenKind::And) {
            nodes.push(self.not()?);
        }
        Ok(combine(nodes, ConditionNode::All))
    }

    fn not(&mut self) -> Result<ConditionNode, Complaint> {
        if self.consume(TokenKind::Not) {
            return self.nested(|parser| Ok(ConditionNode::Not(Box::new(parser.not()?))));
        }
        if self.consume(TokenKind::Open) {
            return self.nested(|parser| {
                let node = parser.any()?;
                if parser.consume(TokenKind::Close) {
                    Ok(node)
                } else {
                    Err(parser.error(&complaint!(
                        "follows a ( that is not closed; write ) before it",
                        "之前的 ( 没有闭合；请在它之前写 )"
                    )))
                }
            });
        }
        self.comparison()
    }

    fn nested(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<ConditionNode, Complaint>,
    ) -> Result<ConditionNode, Complaint> {
        if self.depth == DEEPEST {
            return Err(self.error(&complaint!(
                "is nested more than {DEEPEST} deep; use fewer parentheses",
                "嵌套超过 {DEEPEST} 层；请减少括号"
            )));
        }
        self.depth += 1;
        let node = inside(self);
        self.depth -= 1;
        node
    }

    fn comparison(&mut self) -> Result<ConditionNode, Complaint> {
        let begin = self.peek().at;
        let left = self.operand()?;
        let Some(comparison) = self.comparison_operator()? else {
            let why =
                complaint!("is the same for every user; compare it with a value", "对每个用户都相同；请与一个值比较");
            return left.value_index().map(ConditionNode::Value).ok_or_else(|| wrong(self.text, begin, &why));
        };
        let right = self.operand()?;
        if left.value_index().is_none() && right.value_index().is_none() {
            return Err(wrong(
                self.text,
                begin,
                &complaint!(
                    "compares no captured value, so its result is always the same; name \
                a value",
                    "没有与提取的值比较，结果总是相同；请写一个值的名称"
                ),
            ));
        }
        Ok(ConditionNode::Compare(left, comparison, right))
    }

    /// Parses the comparison operator between two operands, if there is one.
    fn comparison_operator(&mut self) -> Result<Option<Comparison>, Complaint> {
        let comparison = match self.peek().kind {
            TokenKind::Compare(comparison) => comparison,
            TokenKind::Word("contains") => Comparison::Contains,
            TokenKind::Word(word @ ("starts" | "ends")) => {
                self.next += 1;
                if self.peek().kind != TokenKind::Word("with") {
                    return Err(self.error(&complaint!(
                        "follows `{word}`; write `{word} with`",
                        "位于 `{word}` 之后；请写 `{word} with`"
                    )));
                }
                if word == "starts" { Comparison::StartsWith } else { Comparison::EndsWith }
            }
            _ => return Ok(None),
        };
        self.next += 1;
        Ok(Some(comparison))
    }

    fn operand(&mut self) -> Result<Operand, Complaint> {
        let operand = match self.peek().kind {
            TokenKind::Text(text) | TokenKind::Word(text @ ("true" | "false" | "null")) => Operand::Text(text.into()),
            TokenKind::Number(text) => match ConditionNumber::of(text.as_bytes()) {
                Some(number) => Operand::Number(number, text.into()),
                None => {
                    return Err(self.error(&complaint!(
                        "is not a number; write numbers as 12, -0.5 or 1e6, and texts in quotes",
                        "不是数字；数字请写成 12、-0.5 或 1e6，文本请加引号"
                    )));
                }
            },
            TokenKind::Word(name) => Operand::Value(self.value(name)?),
            TokenKind::Not => {
                return Err(self.error(&complaint!(
                    "cannot be inside a comparison; put `not` before all of it",
                    "不能在比较之内；请把 `not` 放在整个比较之前"
                )));
            }
            TokenKind::Open => {
                return Err(self.error(&complaint!(
                    "cannot be inside a comparison; put parentheses around all of it",
                    "不能在比较之内；请把整个比较放进括号"
                )));
            }
            _ => {
                return Err(self.error(&complaint!(
                    "is where a value should be; use, for example, {EXAMPLE}",
                    "的位置应为一个值；请写，例如 {EXAMPLE}"
                )));
            }
        };
        self.next += 1;
        Ok(operand)
    }

    fn value(&self, name: &str) -> Result<u16, Complaint> {
        let index = self.names.iter().position(|known| *known == name);
        index.and_then(|index| u16::try_from(index).ok()).ok_or_else(|| self.error(&self.unknown(name)))
    }

    fn unknown(&self, name: &str) -> Complaint {
        let same = |known: &&&str| known.eq_ignore_ascii_case(name);
        if let Some(meant) = self.names.iter().find(same) {
            return complaint!(
                "is not a captured value; write `{meant}` if you meant that",
                "不是提取的值；是否要写 `{meant}`？"
            );
        }
        if self.names.is_empty() {
            return complaint!(
                "is not a captured value, as nothing is captured; write texts in quotes: '{}'",
                "不是提取的值，因为没有提取任何值；文本请加引号：'{}'",
                excerpt(name)
            );
        }
        let known = excerpt(&self.names.join(", "));
        complaint!(
            "is not a captured value; use one of {known}, and texts in quotes",
            "不是提取的值；可用的有 {known}，文本请加引号"
        )
    }
}

/// Wraps several nodes; a single node is returned unchanged.
fn combine(mut nodes: Vec<ConditionNode>, several: fn(Vec<ConditionNode>) -> ConditionNode) -> ConditionNode {
    match nodes.pop() {
        Some(only) if nodes.is_empty() => only,
        last => {
            nodes.extend(last);
            several(nodes)
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, Complaint> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        let rest = text[at..].trim_start();
        at = text.len() - rest.len();
        if rest.is_empty() {
            tokens.push(Token { at, kind: TokenKind::End });
            return Ok(tokens);
        }
        let (what, long) = first_token(rest).map_err(|why| wrong(text, at, &why))?;
        tokens.push(Token { at, kind: what });
        at += long;
    }
}

/// Returns the first token of a text and its length in bytes.
fn first_token(rest: &str) -> Result<(TokenKind<'_>, usize), Complaint> {
    if let Some((sign, what)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        return Ok((*what, sign.len()));
    }
    let first = rest.chars().next().unwrap_or_default();
    let run = |of: fn(char) -> bool| rest.find(|c| !of(c)).unwrap_or(rest.len());
    match first {
        '\'' | '"' => {
            let inside = &rest[1..];
            let end = inside.find(first).ok_or_else(|| {
                complaint!("is not closed; write {first} after the text", "没有闭合；请在文本之后写 {first}")
            })?;
            Ok((TokenKind::Text(&inside[..end]), end + 2))
        }
        '0'..='9' | '-' => {
            let long = run(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | '_'));
            Ok((TokenKind::Number(&rest[..long]), long))
        }
        'a'..='z' | 'A'..='Z' | '_' => {
            let word = &rest[..run(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))];
            let what = match word {
                "and" => TokenKind::And,
                "or" => TokenKind::Or,
                "not" => TokenKind::Not,
                _ => TokenKind::Word(word),
            };
            Ok((what, word.len()))
        }
        '=' => Err(complaint!("is not a comparison; write == for equal", "不是比较运算符；相等请写 ==")),
        '&' | '|' => Err(complaint!(
            "is not an operator of conditions; write {}",
            "不是条件的运算符；请写 {}",
            if first == '&' { "and" } else { "or" }
        )),
        '{' | '}' | '$' => {
            Err(complaint!("does not belong here; write names without braces", "不应出现在这里；名称请不带花括号"))
        }
        '+' | '*' | '/' | '%' => Err(complaint!(
            "is arithmetic, which conditions do not have; compare values as they are",
            "是算术运算，条件中没有；请直接比较值"
        )),
        _ => Err(complaint!(
            "is not a value, number or comparison; write texts in quotes",
            "不是值、数字或比较运算符；文本请加引号"
        )),
    }
}

/// Creates an error message that quotes the condition from the position of the error on.
fn wrong(text: &str, at: usize, why: &Complaint) -> Complaint {
    let zh = why.zh();
    match text[at..].trim() {
        "" => complaint!(
            "the condition `{}` ends too early: its end {why}",
            "条件 `{}` 结束得太早：末尾{zh}",
            excerpt(text.trim())
        ),
        rest => complaint!("`{}` in the condition {why}", "条件中的 `{}` {zh}", excerpt(rest)),
    }
}

/// Returns the beginning of a text as one line, with control characters escaped.
fn excerpt(text: &str) -> String {
    let cut = text.char_indices().nth(SHOWN).map_or(text.len(), |(at, _)| at);
    let line = brunt_measure::sanitize::line(&text[..cut]);
    if cut < text.len() { format!("{line}…") } else { line.into_owned() }
}
