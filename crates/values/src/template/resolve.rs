//! Name resolution: names become parts; lengths and checksums inside the part that they cover become patches.
//!
//! A value computed from an enclosing part is zero until that part is complete, and is then overwritten: lengths first,
//! then checksums, each in text order. A checksum thus covers its own bytes as zeros, as protocols specify (RFC 1071,
//! RFC 3579 3.2). Anything that cannot be computed in this way is rejected here, so that filling never fails.

use super::piece::{
    FunctionCall, MOST_PATCHES, Patch, TemplateFunction, TemplatePart, TemplatePiece, TemplateProgram, fixed,
};
use super::{emit, sizes};
use brunt_cause::{Complaint, complaint};

/// Maximum number of pieces of a template with all parts expanded.
const MOST_PIECES: u64 = 100_000;

/// Resolves all names.
///
/// # Errors
/// A name is undefined, or a value cannot be computed.
pub fn program(program: TemplateProgram) -> Result<TemplateProgram, Complaint> {
    let names = program.parts.iter().map(|part| part.name.clone()).collect();
    let mut resolver = NameResolver { names, parts: program.parts, enclosing: Vec::new(), owners: Vec::new() };
    let pieces = resolver.resolve_all(program.pieces)?;
    let mut parts = resolver.parts;
    for part in &mut parts {
        part.patches.sort_by_key(|patch| !matches!(patch.function, TemplateFunction::Length { .. }));
    }
    let owners = resolver.owners;
    let looks = RepeatCheck { parts: &parts, owners: &owners };
    looks.check(&pieces)?;
    sizes::check(&pieces, &parts)?;
    Ok(TemplateProgram { pieces, parts })
}

/// A container of a piece; containers are listed from the outermost to the innermost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Enclosure {
    Part(usize),
    /// A function: its content is appended only temporarily.
    Function,
}

struct NameResolver {
    names: Vec<String>,
    parts: Vec<TemplatePart>,
    enclosing: Vec<Enclosure>,
    /// Index of the part to which each place belongs.
    owners: Vec<usize>,
}

impl NameResolver {
    fn resolve_all(&mut self, pieces: Vec<TemplatePiece>) -> Result<Vec<TemplatePiece>, Complaint> {
        let mut resolved: Vec<TemplatePiece> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match (self.resolve_piece(piece)?, resolved.last_mut()) {
                (TemplatePiece::Bytes(more), Some(TemplatePiece::Bytes(bytes))) => {
                    *bytes = [&bytes[..], &more[..]].concat().into()
                }
                (piece, _) => resolved.push(piece),
            }
        }
        Ok(resolved)
    }

    fn resolve_piece(&mut self, piece: TemplatePiece) -> Result<TemplatePiece, Complaint> {
        match piece {
            TemplatePiece::Part(number) => {
                self.enclosing.push(Enclosure::Part(number));
                let pieces = std::mem::take(&mut self.parts[number].pieces);
                self.parts[number].pieces = self.resolve_all(pieces)?;
                self.enclosing.pop();
                Ok(TemplatePiece::Part(number))
            }
            TemplatePiece::Name { name, at } => {
                let number = self.part_index(&name, at)?;
                if self.enclosing.contains(&Enclosure::Part(number)) {
                    return Err(complaint!(
                        "{{{name}}} at character {at} would contain itself; only its length or checksum can",
                        "第 {at} 个字符处的 {{{name}}} 会包含自身；只能用它的长度或校验和"
                    ));
                }
                Ok(TemplatePiece::Part(number))
            }
            TemplatePiece::Call(made) => self.resolve_call(*made),
            other => Ok(other),
        }
    }

    fn part_index(&self, name: &str, at: usize) -> Result<usize, Complaint> {
        let found = self.names.iter().position(|other| other == name);
        found.ok_or_else(|| {
            complaint!("{{{name}}} at character {at} names neither a slot nor a part; write {{{name}=…}} around a part to \
                    name it, and {{{{ and }}}} for literal braces", "第 {at} 个字符处的 {{{name}}} 既不是占位符也不是已命名的部分；命名一个部分请写 {{{name}=…}}，花括号本身写作 {{{{ 和 }}}}"
            )
        })
    }

    fn resolve_call(&mut self, made: FunctionCall) -> Result<TemplatePiece, Complaint> {
        if let [TemplatePiece::Name { name, at }] = &made.content[..] {
            let (number, at) = (self.part_index(name, *at)?, *at);
            if let Some(depth) = self.enclosing.iter().position(|around| *around == Enclosure::Part(number)) {
                self.enclosing.push(Enclosure::Function);
                let function = self.function(made.function)?;
                self.enclosing.pop();
                return self.patch(function, number, depth, at);
            }
        }
        self.enclosing.push(Enclosure::Function);
        let content = self.resolve_all(made.content)?;
        let function = self.function(made.function)?;
        self.enclosing.pop();
        Ok(fold_constant(FunctionCall { function, content }))
    }

    fn function(&mut self, function: TemplateFunction) -> Result<TemplateFunction, Complaint> {
        Ok(match function {
            TemplateFunction::Xor { other } => TemplateFunction::Xor { other: self.resolve_all(other)? },
            TemplateFunction::Digest { digest, key: Some(key) } => {
                TemplateFunction::Digest { digest, key: Some(self.resolve_all(key)?) }
            }
            function => function,
        })
    }

    fn patch(
        &mut self,
        function: TemplateFunction,
        number: usize,
        depth: usize,
        at: usize,
    ) -> Result<TemplatePiece, Complaint> {
        let name = &self.names[number];
        if self.enclosing[depth..].contains(&Enclosure::Function) {
            return Err(complaint!(
                "the slot computed from {{{name}}} at character {at} is inside another slot computed from that \
                    part; move it out",
                "第 {at} 个字符处由 {{{name}}} 计算的占位符位于另一个由同一部分计算的占位符之内；请移到外面"
            ));
        }
        let size = function.fixed_size().ok_or_else(|| {
            complaint!("the slot computed from {{{name}}} at character {at} is inside {name} and needs a fixed size; write \
                    for instance {{length u16 {{{name}}}}} or {{length width 4 {{{name}}}}}", "第 {at} 个字符处由 {{{name}}} 计算的占位符位于 {name} 之内，需要固定长度；请写，例如 {{length u16 {{{name}}}}} 或 {{length width 4 {{{name}}}}}"
            )
        })?;
        let place = self.owners.len();
        if place == MOST_PATCHES {
            return Err(complaint!(
                "more than {MOST_PATCHES} lengths and checksums are inside their own parts; use fewer",
                "位于自身部分之内的长度和校验和超过 {MOST_PATCHES} 个；请减少"
            ));
        }
        self.owners.push(number);
        self.parts[number].patches.push(Patch { place, size, function });
        Ok(TemplatePiece::Place { place, size })
    }
}

/// Replaces a function of constant bytes with its result.
fn fold_constant(made: FunctionCall) -> TemplatePiece {
    if fixed(made.function.extra_argument()).is_none() || fixed(&made.content).is_none() {
        return TemplatePiece::Call(Box::new(made));
    }
    let mut bytes = Vec::new();
    let program = TemplateProgram { pieces: vec![TemplatePiece::Call(Box::new(made))], parts: Vec::new() };
    emit::fill(&program, &brunt_contract::SlotContext::default(), &mut bytes);
    TemplatePiece::Bytes(bytes.into())
}

/// A check for cycles and invalid repetitions of parts, after names have been resolved.
struct RepeatCheck<'a> {
    parts: &'a [TemplatePart],
    owners: &'a [usize],
}

impl RepeatCheck<'_> {
    /// Checks the template.
    ///
    /// # Errors
    /// Parts contain each other, expand to too many pieces, or are repeated although their bytes depend on their
    /// position.
    fn check(&self, pieces: &[TemplatePiece]) -> Result<(), Complaint> {
        let mut sizes = vec![None; self.parts.len()];
        let whole = self.expanded_size(pieces, &mut sizes, 0)?;
        if whole > MOST_PIECES {
            return Err(complaint!(
                "its parts come to more than {MOST_PIECES} pieces; repeat fewer",
                "各部分展开后超过 {MOST_PIECES} 段；请减少重复"
            ));
        }
        let mut seen = vec![false; self.parts.len()];
        self.check_repeats(pieces, &mut seen)
    }

    /// Returns the number of pieces with every part expanded.
    fn expanded_size(
        &self,
        pieces: &[TemplatePiece],
        sizes: &mut [Option<u64>],
        depth: usize,
    ) -> Result<u64, Complaint> {
        let mut sum = 0u64;
        for piece in pieces {
            let size = match piece {
                TemplatePiece::Part(number) => match sizes[*number] {
                    Some(size) => size,
                    None if depth > self.parts.len() => {
                        let name = &self.parts[*number].name;
                        return Err(complaint!(
                            "the part {name} depends on itself; write it without that",
                            "部分 {name} 依赖自身；请去掉这种依赖"
                        ));
                    }
                    None => {
                        let part = &self.parts[*number];
                        let mut size = self.expanded_size(&part.pieces, sizes, depth + 1)?;
                        for patch in &part.patches {
                            size = size.saturating_add(self.expanded_size(
                                patch.function.extra_argument(),
                                sizes,
                                depth + 1,
                            )?);
                        }
                        sizes[*number] = Some(size);
                        size
                    }
                },
                TemplatePiece::Call(made) => {
                    let beside = self.expanded_size(made.function.extra_argument(), sizes, depth)?;
                    self.expanded_size(&made.content, sizes, depth)?.saturating_add(beside)
                }
                _ => 0,
            };
            sum = sum.saturating_add(size).saturating_add(1);
        }
        Ok(sum)
    }

    /// Rejects repeated parts that contain places of an enclosing part.
    fn check_repeats(&self, pieces: &[TemplatePiece], seen: &mut [bool]) -> Result<(), Complaint> {
        for piece in pieces {
            match piece {
                TemplatePiece::Part(number) if self.depends(*number) && seen[*number] => {
                    let name = &self.parts[*number].name;
                    return Err(complaint!(
                        "{{{name}}} contains a length or checksum of the part around it and cannot be repeated; \
                            name a part without it",
                        "{{{name}}} 含有其外层部分的长度或校验和，不能重复使用；请命名一个不含它的部分"
                    ));
                }
                TemplatePiece::Part(number) => {
                    if std::mem::replace(&mut seen[*number], true) {
                        continue;
                    }
                    let part = &self.parts[*number];
                    self.check_repeats(&part.pieces, seen)?;
                    part.patches
                        .iter()
                        .try_for_each(|patch| self.check_repeats(patch.function.extra_argument(), seen))?;
                }
                TemplatePiece::Call(made) => {
                    self.check_repeats(made.function.extra_argument(), seen)?;
                    self.check_repeats(&made.content, seen)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns `true` if a part contains places of an enclosing part.
    fn depends(&self, number: usize) -> bool {
        let (mut parts, mut places) = (vec![number], Vec::new());
        self.within(&self.parts[number].pieces, &mut parts, &mut places);
        places.iter().any(|place| !parts.contains(&self.owners[*place]))
    }

    fn within(&self, pieces: &[TemplatePiece], parts: &mut Vec<usize>, places: &mut Vec<usize>) {
        for piece in pieces {
            match piece {
                TemplatePiece::Place { place, .. } => places.push(*place),
                TemplatePiece::Part(number) if !parts.contains(number) => {
                    parts.push(*number);
                    let part = &self.parts[*number];
                    self.within(&part.pieces, parts, places);
                    part.patches.iter().for_each(|patch| self.within(patch.function.extra_argument(), parts, places));
                }
                TemplatePiece::Call(made) => {
                    self.within(&made.content, parts, places);
                    self.within(made.function.extra_argument(), parts, places);
                }
                _ => {}
            }
        }
    }
}
