//! Splitting of shell text into commands as in Bash: quotes, `$'…'`, line continuations, comments, variables.
//!
//! Nothing is executed. Text after `|` or `>` affects only curl's output, so it is ignored and reported. What `<`, `<<` and
//! `<<<` give as standard input is kept with the command. Syntax that a shell would execute (`$(…)`) is rejected.

use brunt_cause::{Complaint, complaint};
use std::collections::HashMap;

/// Maximum size of a word after expansion in bytes, the same as for a text file. Variables that contain variables can
/// double in size with every line.
const WORD_BOUND: usize = 64 << 20;
/// Maximum total size of the expanded variables in a text, in bytes.
const VALUES_BOUND: usize = 4 * WORD_BOUND;

/// A command, with the arguments that the program would receive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// Line number of the beginning of the command, counted from 1.
    pub line: usize,
    /// The words of the command.
    pub words: Vec<String>,
    /// Name given in a comment, `# name: checkout`, above the command or at the end of its line.
    pub name: Option<String>,
    /// Ignored shell operations on the output of the command: `| jq .`, `> file`.
    pub left_out: Vec<String>,
    /// The standard input that the command is given.
    pub input: Option<ShellInput>,
}

/// The standard input of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellInput {
    /// `< FILE`.
    File(String),
    /// `<<< TEXT`, or a here-document.
    Text(String),
}

/// A here-document that begins on the next line.
struct HereDocument {
    line: usize,
    /// The line that ends it.
    end: String,
    /// Set for `<<-`: tabs at the beginning of lines are removed.
    without_tabs: bool,
    /// Set if variables are expanded.
    expands: bool,
}

/// The line of an error, and its message.
pub type ShellError = (usize, Complaint);

/// Splits a text in Bash notation into commands.
///
/// # Errors
/// The syntax is invalid or not supported.
pub fn commands(text: &str) -> Result<Vec<ShellCommand>, ShellError> {
    let characters: Vec<char> = text.chars().collect();
    let mut reader =
        ShellReader { text: &characters, at: 0, line: 1, variables: HashMap::new(), values: 0, document: None };
    let mut found = Vec::new();
    while let Some(mut command) = reader.command()? {
        if command.words.first().is_some_and(|word| word == "export") {
            command.words.remove(0);
        }
        // The shell prompt was copied along with the command.
        if command.words.first().is_some_and(|word| word == "$") {
            command.words.remove(0);
        }
        if command.words.iter().all(|word| assignment(word).is_some()) {
            let pairs = command.words.iter().filter_map(|word| assignment(word));
            reader.variables.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
            continue;
        }
        found.push(command);
    }
    Ok(found)
}

fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let first = name.chars().next()?;
    let valid = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !first.is_ascii_digit();
    valid.then_some((name, value))
}

struct ShellReader<'a> {
    text: &'a [char],
    at: usize,
    line: usize,
    variables: HashMap<String, String>,
    /// Total size of the variables expanded so far.
    values: usize,
    /// The here-document that begins on the next line.
    document: Option<HereDocument>,
}

impl ShellReader<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn skip(&mut self) {
        self.next();
    }

    /// Consumes the next characters and returns `true` if they match.
    fn takes(&mut self, wanted: &str) -> bool {
        let is = wanted.chars().enumerate().all(|(i, c)| self.peek(i) == Some(c));
        if is {
            wanted.chars().for_each(|_| self.skip());
        }
        is
    }

    /// Returns the next non-empty command; `None` at the end of the text.
    fn command(&mut self) -> Result<Option<ShellCommand>, ShellError> {
        let mut command = ShellCommand { line: self.line, ..ShellCommand::default() };
        while let Some(c) = self.peek(0) {
            match c {
                '#' => command.name = self.comment().or(command.name),
                '\n' | ';' | '&' => {
                    self.next();
                    match self.document.take() {
                        Some(document) if c == '\n' => {
                            command.input = Some(ShellInput::Text(self.here_document(&document)?));
                        }
                        Some(HereDocument { line, end, .. }) => {
                            let trouble = complaint!(
                                "another command follows <<{end} on its line; write it on a line of its own",
                                "<<{end} 同一行后面还有另一条命令；请另起一行"
                            );
                            return Err((line, trouble));
                        }
                        None => {}
                    }
                    if !command.words.is_empty() {
                        break;
                    }
                }
                ' ' | '\t' | '\r' => self.skip(),
                '\\' if self.takes("\\\n") || self.takes("\\\r\n") => {}
                '|' => command.left_out.push(self.rest_of_line()),
                '<' | '>' => self.redirection(&mut command, String::new())?,
                _ => {
                    if command.words.is_empty() {
                        command.line = self.line;
                    }
                    let word = self.word()?;
                    let is_number = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
                    if is_number && self.peek(0) == Some('>') {
                        self.redirection(&mut command, word)?;
                    } else {
                        command.words.push(word);
                    }
                }
            }
        }
        if let Some(HereDocument { line, end, .. }) = self.document.take() {
            return Err((
                line,
                complaint!(
                    "the text of <<{end} is missing; write it on the lines below",
                    "缺少 <<{end} 的文本；请写在下面各行"
                ),
            ));
        }
        Ok((!command.words.is_empty()).then_some(command))
    }

    /// Consumes a comment up to the end of its line; returns the name in it.
    fn comment(&mut self) -> Option<String> {
        let from = self.at;
        while self.peek(0).is_some_and(|c| c != '\n') && self.next().is_some() {}
        let text: String = self.text[from..self.at].iter().collect();
        let name = text.trim_start_matches('#').trim_start().strip_prefix("name:")?.trim();
        (!name.is_empty()).then(|| name.to_owned())
    }

    fn redirection(&mut self, command: &mut ShellCommand, number: String) -> Result<(), ShellError> {
        if self.peek(0) == Some('<') {
            return self.input(command);
        }
        let mut sign = number;
        while let Some(c) = self.peek(0).filter(|c| matches!(c, '>' | '&' | '|')) {
            sign.push(c);
            self.next();
        }
        while self.peek(0).is_some_and(|c| c == ' ' || c == '\t') {
            self.next();
        }
        let word = self.word()?;
        command.left_out.push(format!("{sign} {word}"));
        Ok(())
    }

    /// Reads `< FILE`, `<<< TEXT`, or the beginning of a here-document.
    fn input(&mut self, command: &mut ShellCommand) -> Result<(), ShellError> {
        let line = self.line;
        let (text, document) = (self.takes("<<<"), self.takes("<<"));
        let without_tabs = document && self.takes("-");
        if !text && !document {
            self.skip();
        }
        if matches!(self.peek(0), Some('(' | '&' | '>')) {
            let trouble = complaint!(
                "a shell would run another command for curl here (<); write its output to a file and use -d @FILE",
                "shell 会在此为 curl 运行另一条命令（<）；请把它的输出写入文件，并用 -d @FILE"
            );
            return Err((line, trouble));
        }
        while self.peek(0).is_some_and(|c| c == ' ' || c == '\t') {
            self.next();
        }
        let expands = !matches!(self.peek(0), Some('\'' | '"' | '\\'));
        let word = self.word()?;
        match (text, document) {
            (true, _) => command.input = Some(ShellInput::Text(word + "\n")),
            (_, true) => self.document = Some(HereDocument { line, end: word, without_tabs, expands }),
            (_, false) => command.input = Some(ShellInput::File(word)),
        }
        Ok(())
    }

    /// Reads the lines of a here-document.
    fn here_document(&mut self, document: &HereDocument) -> Result<String, ShellError> {
        let (first, mut text) = (self.line, String::new());
        loop {
            if self.peek(0).is_none() {
                let trouble = complaint!(
                    "the text of <<{0} has no end; write {0} on a line of its own",
                    "<<{0} 的文本没有结尾；请另起一行写 {0}",
                    document.end
                );
                return Err((document.line, trouble));
            }
            let from = self.at;
            while self.peek(0).is_some_and(|c| c != '\n') {
                self.next();
            }
            let line: String = self.text[from..self.at].iter().collect();
            self.next();
            let line = line.strip_suffix('\r').unwrap_or(&line);
            let line = if document.without_tabs { line.trim_start_matches('\t') } else { line };
            if line == document.end {
                break;
            }
            text.push_str(line);
            text.push('\n');
        }
        if document.expands { self.expanded(first, &text) } else { Ok(text) }
    }

    /// Expands the variables of a text, in which quotes are literal.
    fn expanded(&mut self, line: usize, text: &str) -> Result<String, ShellError> {
        let text: Vec<char> = text.chars().collect();
        let variables = std::mem::take(&mut self.variables);
        let mut inner = ShellReader { text: &text, at: 0, line, variables, values: self.values, document: None };
        let mut out = String::new();
        let mut read = || -> Result<(), ShellError> {
            while let Some(c) = inner.peek(0) {
                match (c, inner.peek(1)) {
                    ('$' | '`', _) => inner.expansion(&mut out)?,
                    ('\\', Some(next @ ('$' | '`' | '\\'))) => {
                        out.push(next);
                        inner.at += 2;
                    }
                    ('\\', Some('\n')) => inner.at += 2,
                    (c, _) => {
                        out.push(c);
                        inner.next();
                    }
                }
            }
            Ok(())
        };
        let outcome = read();
        (self.variables, self.values) = (inner.variables, inner.values);
        outcome.map(|()| out)
    }

    /// Consumes the text up to the end of the command line; quoted text may contain line ends.
    fn rest_of_line(&mut self) -> String {
        let mut rest = String::new();
        let mut quote = None;
        while let Some(c) = self.peek(0) {
            if quote.is_none() && (c == '\n' || c == ';') {
                break;
            }
            if c == '\\' && self.peek(1) == Some('\n') {
                self.next();
            } else if c == '\'' || c == '"' {
                quote = match quote {
                    None => Some(c),
                    Some(open) if open == c => None,
                    open => open,
                };
            }
            rest.push(c);
            self.next();
        }
        rest.trim().to_owned()
    }

    fn word(&mut self) -> Result<String, ShellError> {
        let mut word = String::new();
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' | '|' | '<' | '>' => break,
                // Users often paste unquoted URLs with a query, although a shell would treat the text after `&` as
                // another command.
                '&' if matches!(self.peek(1), None | Some('&' | ' ' | '\t' | '\r' | '\n')) => break,
                '\'' => self.single(&mut word)?,
                '"' => self.double(&mut word)?,
                '$' if self.peek(1) == Some('\'') => self.dollar_single(&mut word)?,
                '$' | '`' => self.expansion(&mut word)?,
                '\\' => {
                    self.next();
                    match self.next() {
                        None => word.push('\\'),
                        Some('\n') => {}
                        Some('\r') if self.peek(0) == Some('\n') => self.skip(),
                        Some(c) => word.push(c),
                    }
                }
                c => {
                    word.push(c);
                    self.next();
                }
            }
        }
        Ok(word)
    }

    fn single(&mut self, word: &mut String) -> Result<(), ShellError> {
        let line = self.line;
        self.next();
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some(c) => word.push(c),
                None => {
                    return Err((line, complaint!("a single quote is not closed; close it", "单引号没有闭合；请补上")));
                }
            }
        }
    }

    fn double(&mut self, word: &mut String) -> Result<(), ShellError> {
        let line = self.line;
        self.next();
        loop {
            match self.peek(0) {
                None => {
                    return Err((line, complaint!("a double quote is not closed; close it", "双引号没有闭合；请补上")));
                }
                Some('"') => {
                    self.next();
                    return Ok(());
                }
                Some('$' | '`') => self.expansion(word)?,
                Some('\\') => {
                    self.next();
                    match self.peek(0) {
                        Some('\n') => self.skip(),
                        Some(c @ ('$' | '`' | '"' | '\\')) => {
                            word.push(c);
                            self.next();
                        }
                        _ => word.push('\\'),
                    }
                }
                Some(c) => {
                    word.push(c);
                    self.next();
                }
            }
        }
    }

    /// Expands `$NAME` and `${NAME}`; a `$` before anything else is kept.
    fn expansion(&mut self, word: &mut String) -> Result<(), ShellError> {
        let line = self.line;
        if self.peek(0) == Some('`') || self.peek(1) == Some('(') {
            let trouble = complaint!(
                "a shell would run another command here (`…` or $(…)), which brunt does not; write its output instead",
                "shell 会在此运行另一条命令（`…` 或 $(…)），brunt 不会；请写出它的输出"
            );
            return Err((line, trouble));
        }
        self.next();
        let braces = self.peek(0) == Some('{');
        let mut name = String::new();
        if braces {
            self.next();
        }
        while let Some(c) = self.peek(0).filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
            name.push(c);
            self.next();
        }
        if braces && self.next() != Some('}') {
            return Err((
                line,
                complaint!(
                    "${{{name}… is more than a plain variable; write the value itself",
                    "${{{name}… 不只是普通变量；请写出其值"
                ),
            ));
        }
        if name.is_empty() {
            word.push('$');
            return Ok(());
        }
        let own = std::env::var(&name).ok();
        let Some(value) = self.variables.get(&name).or(own.as_ref()) else {
            return Err((
                line,
                complaint!(
                    "the variable ${name} is not set; set it, or write its value",
                    "变量 ${name} 没有设置；请设置它，或写出其值"
                ),
            ));
        };
        if word.len() + value.len() > WORD_BOUND {
            return Err((
                line,
                complaint!(
                    "the variable ${name} expands to a word of more than 64 MiB; put long values in a file and use -d @FILE",
                    "变量 ${name} 展开后的词超过 64 MiB；长的值请放进文件，并用 -d @FILE"
                ),
            ));
        }
        self.values += value.len();
        if self.values > VALUES_BOUND {
            return Err((
                line,
                complaint!(
                    "the variable ${name} and those before it add up to more than 256 MiB; put long values in files and use -d @FILE",
                    "变量 ${name} 与之前的变量合计超过 256 MiB；长的值请放进文件，并用 -d @FILE"
                ),
            ));
        }
        word.push_str(value);
        Ok(())
    }

    /// Parses Bash's `$'…'` with C escapes.
    fn dollar_single(&mut self, word: &mut String) -> Result<(), ShellError> {
        let line = self.line;
        self.takes("$'");
        let mut bytes = Vec::new();
        loop {
            let c =
                self.next().ok_or_else(|| (line, complaint!("a $' is not closed; close it", "$' 没有闭合；请补上")))?;
            match c {
                '\'' => break,
                '\\' => self.escape(&mut bytes),
                c => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        let text = String::from_utf8(bytes).map_err(|_| {
            (
                line,
                complaint!(
                    "$'…' contains bytes that are not text (UTF-8); put them in a file and use --data-binary @FILE",
                    "$'…' 含有非文本（UTF-8）的字节；请放进文件，并用 --data-binary @FILE"
                ),
            )
        })?;
        word.push_str(&text);
        Ok(())
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) {
        let Some(c) = self.next() else { return bytes.push(b'\\') };
        let simple = [
            ('n', b'\n'),
            ('t', b'\t'),
            ('r', b'\r'),
            ('a', 7),
            ('b', 8),
            ('e', 27),
            ('E', 27),
            ('f', 12),
            ('v', 11),
            ('\\', b'\\'),
            ('\'', b'\''),
            ('"', b'"'),
            ('?', b'?'),
        ];
        if let Some((_, byte)) = simple.iter().find(|(name, _)| *name == c) {
            return bytes.push(*byte);
        }
        match c {
            'x' => bytes.push(self.number(16, 2) as u8),
            'u' | 'U' => {
                let code = self.number(16, if c == 'u' { 4 } else { 8 });
                let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            '0'..='7' => {
                self.at -= 1;
                bytes.push(self.number(8, 3) as u8);
            }
            c => {
                bytes.push(b'\\');
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }

    fn number(&mut self, radix: u32, most: usize) -> u32 {
        let mut value = 0u32;
        for _ in 0..most {
            let Some(digit) = self.peek(0).and_then(|c| c.to_digit(radix)) else { break };
            value = value.wrapping_mul(radix).wrapping_add(digit);
            self.next();
        }
        value
    }
}
