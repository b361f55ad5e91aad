//! A parser for conditions: tokens first, then recursive descent, bounded in length and depth.

use super::operand::{ConditionNumber, Operand};
use super::{Comparison, ConditionNode};

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

pub(super) fn condition(text: &str, names: &[&str]) -> Result<ConditionNode, String> {
    if text.trim().is_empty() {
        return Err(format!("a condition is missing; use, for example, {EXAMPLE}"));
    }
    if text.len() > LONGEST {
        return Err(format!("the condition has {} bytes; at most {LONGEST} are read", text.len()));
    }
    let tokens = tokens(text)?;
    let mut parser = ConditionParser { text, tokens: &tokens, next: 0, depth: 0, names };
    let node = parser.any()?;
    match parser.peek().kind {
        TokenKind::End => Ok(node),
        TokenKind::Close => Err(parser.error("has no ( before it")),
        TokenKind::Compare(_) => {
            Err(parser.error("compares a third value; compare two at a time and join them with `and`"))
        }
        _ => Err(parser.error("is one too many; put `and`, `or` or a comparison before it")),
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
    fn error(&self, why: &str) -> String {
        wrong(self.text, self.peek().at, why)
    }

    fn any(&mut self) -> Result<ConditionNode, String> {
        let mut nodes = vec![self.all()?];
        while self.consume(TokenKind::Or) {
            nodes.push(self.all()?);
        }
        Ok(combine(nodes, ConditionNode::Any))
    }

    fn all(&mut self) -> Result<ConditionNode, String> {
        let mut nodes = vec![self.not()?];
        while self.consume(TokenKind::And) {
            nodes.push(self.not()?);
        }
        Ok(combine(nodes, ConditionNode::All))
    }

    fn not(&mut self) -> Result<ConditionNode, String> {
        if self.consume(TokenKind::Not) {
            return self.nested(|parser| Ok(ConditionNode::Not(Box::new(parser.not()?))));
        }
        if self.consume(TokenKind::Open) {
            return self.nested(|parser| {
                let node = parser.any()?;
                if parser.consume(TokenKind::Close) {
                    Ok(node)
                } else {
                    Err(parser.error("follows a ( that is not closed; write ) before it"))
                }
            });
        }
        self.comparison()
    }

    fn nested(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<ConditionNode, String>,
    ) -> Result<ConditionNode, String> {
        if self.depth == DEEPEST {
            return Err(self.error(&format!("is nested more than {DEEPEST} deep; use fewer parentheses")));
        }
        self.depth += 1;
        let node = inside(self);
        self.depth -= 1;
        node
    }

    fn comparison(&mut self) -> Result<ConditionNode, String> {
        let begin = self.peek().at;
        let left = self.operand()?;
        let Some(comparison) = self.comparison_operator()? else {
            let why = "is the same for every user; compare it with a value";
            return left.value_index().map(ConditionNode::Value).ok_or_else(|| wrong(self.text, begin, why));
        };
        let right = self.operand()?;
        if left.value_index().is_none() && right.value_index().is_none() {
            return Err(wrong(
                self.text,
                begin,
                "compares no captured value, so its result is always the same; name \
                a value",
            ));
        }
        Ok(ConditionNode::Compare(left, comparison, right))
    }

    /// Parses the comparison operator between two operands, if there is one.
    fn comparison_operator(&mut self) -> Result<Option<Comparison>, String> {
        let comparison = match self.peek().kind {
            TokenKind::Compare(comparison) => comparison,
            TokenKind::Word("contains") => Comparison::Contains,
            TokenKind::Word(word @ ("starts" | "ends")) => {
                self.next += 1;
                if self.peek().kind != TokenKind::Word("with") {
                    return Err(self.error(&format!("follows `{word}`; write `{word} with`")));
                }
                if word == "starts" { Comparison::StartsWith } else { Comparison::EndsWith }
            }
            _ => return Ok(None),
        };
        self.next += 1;
        Ok(Some(comparison))
    }

    fn operand(&mut self) -> Result<Operand, String> {
        let operand = match self.peek().kind {
            TokenKind::Text(text) | TokenKind::Word(text @ ("true" | "false" | "null")) => Operand::Text(text.into()),
            TokenKind::Number(text) => match ConditionNumber::of(text.as_bytes()) {
                Some(number) => Operand::Number(number, text.into()),
                None => {
                    return Err(self.error("is not a number; write numbers as 12, -0.5 or 1e6, and texts in quotes"));
                }
            },
            TokenKind::Word(name) => Operand::Value(self.value(name)?),
            TokenKind::Not => return Err(self.error("cannot be inside a comparison; put `not` before all of it")),
            TokenKind::Open => {
                return Err(self.error("cannot be inside a comparison; put parentheses around all of it"));
            }
            _ => return Err(self.error(&format!("is where a value should be; use, for example, {EXAMPLE}"))),
        };
        self.next += 1;
        Ok(operand)
    }

    fn value(&self, name: &str) -> Result<u16, String> {
        let index = self.names.iter().position(|known| *known == name);
        index.and_then(|index| u16::try_from(index).ok()).ok_or_else(|| self.error(&self.unknown(name)))
    }

    fn unknown(&self, name: &str) -> String {
        let same = |known: &&&str| known.eq_ignore_ascii_case(name);
        if let Some(meant) = self.names.iter().find(same) {
            return format!("is not a captured value; write `{meant}` if you meant that");
        }
        if self.names.is_empty() {
            return format!(
                "is not a captured value, as nothing is captured; write texts in quotes: '{}'",
                excerpt(name)
            );
        }
        let known = excerpt(&self.names.join(", "));
        format!("is not a captured value; use one of {known}, and texts in quotes")
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

fn tokens(text: &str) -> Result<Vec<Token<'_>>, String> {
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
fn first_token(rest: &str) -> Result<(TokenKind<'_>, usize), String> {
    if let Some((sign, what)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        return Ok((*what, sign.len()));
    }
    let first = rest.chars().next().unwrap_or_default();
    let run = |of: fn(char) -> bool| rest.find(|c| !of(c)).unwrap_or(rest.len());
    match first {
        '\'' | '"' => {
            let inside = &rest[1..];
            let end = inside.find(first).ok_or(format!("is not closed; write {first} after the text"))?;
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
        '=' => Err("is not a comparison; write == for equal".into()),
        '&' | '|' => {
            Err(format!("is not an operator of conditions; write {}", if first == '&' { "and" } else { "or" }))
        }
        '{' | '}' | '$' => Err("does not belong here; write names without braces".into()),
        '+' | '*' | '/' | '%' => Err("is arithmetic, which conditions do not have; compare values as they are".into()),
        _ => Err("is not a value, number or comparison; write texts in quotes".into()),
    }
}

/// Creates an error message that quotes the condition from the position of the error on.
fn wrong(text: &str, at: usize, why: &str) -> String {
    match text[at..].trim() {
        "" => format!("the condition `{}` ends too early: its end {why}", excerpt(text.trim())),
        rest => format!("`{}` in the condition {why}", excerpt(rest)),
    }
}

/// Returns the beginning of a text as one line, with control characters escaped.
fn excerpt(text: &str) -> String {
    let cut = text.char_indices().nth(SHOWN).map_or(text.len(), |(at, _)| at);
    let line = brunt_measure::sanitize::line(&text[..cut]);
    if cut < text.len() { format!("{line}…") } else { line.into_owned() }
}
