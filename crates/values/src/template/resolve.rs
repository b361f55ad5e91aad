//! Name resolution: names become parts; lengths and checksums inside the part they cover become patches of it.
//!
//! A part is completed before it is measured. A value computed from an enclosing part is left zero and written once
//! that part is complete: lengths first, then checksums, each in order of the text. A checksum thus counts itself as
//! zeros, which is what protocols specify (RFC 1071, RFC 3579 3.2). Anything that cannot be computed this way is
//! rejected here, so that filling never fails.

use super::piece::{Function, MOST_PATCHES, Made, Part, Patch, Piece, Program, fixed};
use super::{emit, sizes};

/// Maximum number of pieces of a template with every name replaced by its part.
const MOST_PIECES: u64 = 100_000;

/// Resolves all names.
///
/// # Errors
/// A name that refers to nothing, or a value that cannot be computed.
pub fn program(program: Program) -> Result<Program, String> {
    let names = program.parts.iter().map(|part| part.name.clone()).collect();
    let mut resolver = Resolver { names, parts: program.parts, around: Vec::new(), owners: Vec::new() };
    let pieces = resolver.all(program.pieces)?;
    let mut parts = resolver.parts;
    for part in &mut parts {
        part.patches.sort_by_key(|patch| !matches!(patch.function, Function::Length { .. }));
    }
    let owners = resolver.owners;
    let looks = Looks { parts: &parts, owners: &owners };
    looks.check(&pieces)?;
    sizes::check(&pieces, &parts)?;
    Ok(Program { pieces, parts })
}

/// A container of a piece; containers are listed from the outside in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Part(usize),
    /// A function: its content is appended only temporarily.
    Function,
}

struct Resolver {
    names: Vec<String>,
    parts: Vec<Part>,
    around: Vec<Around>,
    /// Index of the part that each place belongs to.
    owners: Vec<usize>,
}

impl Resolver {
    fn all(&mut self, pieces: Vec<Piece>) -> Result<Vec<Piece>, String> {
        let mut resolved: Vec<Piece> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match (self.one(piece)?, resolved.last_mut()) {
                (Piece::Bytes(more), Some(Piece::Bytes(bytes))) => *bytes = [&bytes[..], &more[..]].concat().into(),
                (piece, _) => resolved.push(piece),
            }
        }
        Ok(resolved)
    }

    fn one(&mut self, piece: Piece) -> Result<Piece, String> {
        match piece {
            Piece::Part(number) => {
                self.around.push(Around::Part(number));
                let pieces = std::mem::take(&mut self.parts[number].pieces);
                self.parts[number].pieces = self.all(pieces)?;
                self.around.pop();
                Ok(Piece::Part(number))
            }
            Piece::Name { name, at } => {
                let number = self.number(&name, at)?;
                if self.around.contains(&Around::Part(number)) {
                    return Err(format!(
                        "{{{name}}} at character {at} would contain itself; only its length or checksum can"
                    ));
                }
                Ok(Piece::Part(number))
            }
            Piece::Made(made) => self.made(*made),
            other => Ok(other),
        }
    }

    fn number(&self, name: &str, at: usize) -> Result<usize, String> {
        let found = self.names.iter().position(|other| other == name);
        found.ok_or_else(|| {
            format!(
                "{{{name}}} at character {at} names neither a slot nor a part; write {{{name}=…}} around a part to \
                    name it, and {{{{ and }}}} for literal braces"
            )
        })
    }

    fn made(&mut self, made: Made) -> Result<Piece, String> {
        if let [Piece::Name { name, at }] = &made.content[..] {
            let (number, at) = (self.number(name, *at)?, *at);
            if let Some(depth) = self.around.iter().position(|around| *around == Around::Part(number)) {
                self.around.push(Around::Function);
                let function = self.function(made.function)?;
                self.around.pop();
                return self.patch(function, number, depth, at);
            }
        }
        self.around.push(Around::Function);
        let content = self.all(made.content)?;
        let function = self.function(made.function)?;
        self.around.pop();
        Ok(folded(Made { function, content }))
    }

    fn function(&mut self, function: Function) -> Result<Function, String> {
        Ok(match function {
            Function::Xor { other } => Function::Xor { other: self.all(other)? },
            Function::Digest { digest, key: Some(key) } => Function::Digest { digest, key: Some(self.all(key)?) },
            function => function,
        })
    }

    fn patch(&mut self, function: Function, number: usize, depth: usize, at: usize) -> Result<Piece, String> {
        let name = &self.names[number];
        if self.around[depth..].contains(&Around::Function) {
            return Err(format!(
                "the slot computed from {{{name}}} at character {at} is inside another slot computed from that \
                    part; move it out"
            ));
        }
        let size = function.fixed_size().ok_or_else(|| {
            format!(
                "the slot computed from {{{name}}} at character {at} is inside {name} and needs a fixed size; write \
                    for instance {{length u16 {{{name}}}}} or {{length width 4 {{{name}}}}}"
            )
        })?;
        let place = self.owners.len();
        if place == MOST_PATCHES {
            return Err(format!(
                "more than {MOST_PATCHES} lengths and checksums are inside their own parts; use fewer"
            ));
        }
        self.owners.push(number);
        self.parts[number].patches.push(Patch { place, size, function });
        Ok(Piece::Place { place, size })
    }
}

/// Evaluates a function of constant bytes at compile time.
fn folded(made: Made) -> Piece {
    if fixed(made.function.beside()).is_none() || fixed(&made.content).is_none() {
        return Piece::Made(Box::new(made));
    }
    let mut bytes = Vec::new();
    let program = Program { pieces: vec![Piece::Made(Box::new(made))], parts: Vec::new() };
    emit::program(&program, &wire::Fill::default(), &mut bytes);
    Piece::Bytes(bytes.into())
}

/// A check of a template whose names are resolved.
struct Looks<'a> {
    parts: &'a [Part],
    owners: &'a [usize],
}

impl Looks<'_> {
    /// Checks the template.
    ///
    /// # Errors
    /// Parts that contain each other, and repeated parts whose bytes depend on their position.
    fn check(&self, pieces: &[Piece]) -> Result<(), String> {
        let mut sizes = vec![None; self.parts.len()];
        let whole = self.size(pieces, &mut sizes, 0)?;
        if whole > MOST_PIECES {
            return Err(format!("its parts come to more than {MOST_PIECES} pieces; repeat fewer"));
        }
        let mut seen = vec![false; self.parts.len()];
        self.again(pieces, &mut seen)
    }

    /// Returns the number of pieces with every part expanded.
    fn size(&self, pieces: &[Piece], sizes: &mut [Option<u64>], depth: usize) -> Result<u64, String> {
        let mut sum = 0u64;
        for piece in pieces {
            let size = match piece {
                Piece::Part(number) => match sizes[*number] {
                    Some(size) => size,
                    None if depth > self.parts.len() => {
                        let name = &self.parts[*number].name;
                        return Err(format!("the part {name} depends on itself; write it without that"));
                    }
                    None => {
                        let part = &self.parts[*number];
                        let mut size = self.size(&part.pieces, sizes, depth + 1)?;
                        for patch in &part.patches {
                            size = size.saturating_add(self.size(patch.function.beside(), sizes, depth + 1)?);
                        }
                        sizes[*number] = Some(size);
                        size
                    }
                },
                Piece::Made(made) => {
                    let beside = self.size(made.function.beside(), sizes, depth)?;
                    self.size(&made.content, sizes, depth)?.saturating_add(beside)
                }
                _ => 0,
            };
            sum = sum.saturating_add(size).saturating_add(1);
        }
        Ok(sum)
    }

    /// Rejects repeated parts that contain places of an enclosing part.
    fn again(&self, pieces: &[Piece], seen: &mut [bool]) -> Result<(), String> {
        for piece in pieces {
            match piece {
                Piece::Part(number) if self.depends(*number) && seen[*number] => {
                    let name = &self.parts[*number].name;
                    return Err(format!(
                        "{{{name}}} contains a length or checksum of the part around it and cannot be repeated; \
                            name a part without it"
                    ));
                }
                Piece::Part(number) => {
                    if std::mem::replace(&mut seen[*number], true) {
                        continue;
                    }
                    let part = &self.parts[*number];
                    self.again(&part.pieces, seen)?;
                    part.patches.iter().try_for_each(|patch| self.again(patch.function.beside(), seen))?;
                }
                Piece::Made(made) => {
                    self.again(made.function.beside(), seen)?;
                    self.again(&made.content, seen)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns `true` if a part contains places of a part outside of it.
    fn depends(&self, number: usize) -> bool {
        let (mut parts, mut places) = (vec![number], Vec::new());
        self.within(&self.parts[number].pieces, &mut parts, &mut places);
        places.iter().any(|place| !parts.contains(&self.owners[*place]))
    }

    fn within(&self, pieces: &[Piece], parts: &mut Vec<usize>, places: &mut Vec<usize>) {
        for piece in pieces {
            match piece {
                Piece::Place { place, .. } => places.push(*place),
                Piece::Part(number) if !parts.contains(number) => {
                    parts.push(*number);
                    let part = &self.parts[*number];
                    self.within(&part.pieces, parts, places);
                    part.patches.iter().for_each(|patch| self.within(patch.function.beside(), parts, places));
                }
                Piece::Made(made) => {
                    self.within(&made.content, parts, places);
                    self.within(made.function.beside(), parts, places);
                }
                _ => {}
            }
        }
    }
}
