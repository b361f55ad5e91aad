//! A flow as a list of operations: the compiled form of a plan's step tree.

use std::collections::BTreeMap;

use plan::flow::{Flow, List, OnFailure, Pause, Piece, Step, pieces};

use wire::{RequestId, Values};

use crate::{Condition, Mix};

/// One operation. Jump targets are indices into the list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    /// Sends this request and waits for its result.
    Send(RequestId, OnFailure),
    /// Sends several requests at once and goes on when all are over.
    Batch(usize),
    /// Pauses.
    Pause(Pause),
    /// Waits until this long after the iteration began.
    Pace(measure::Nanos),
    /// Begins a group with the next request.
    Begin(u16),
    /// Ends a group with the last response.
    End(u16),
    /// Begins a loop: the counter, and the number of rounds.
    Repeat(u32, u32),
    /// Decrements the counter and jumps back unless the loop is done.
    Again(u32, u32),
    /// Jumps to one of several targets.
    Choose(usize),
    /// Jumps to the target.
    Goto(u32),
    /// Jumps if the condition does not hold.
    Unless(usize, u32),
    /// Jumps in every iteration of a user except the first.
    Once(u32),
    /// Takes the next element of a list (index of the list, counter of the elements taken); jumps at the end of the
    /// list.
    Element(usize, u32, u32),
    /// Assigns a text to a value.
    Set(u16, Made),
    /// Calls a flow; the return position is stored in the counter.
    Call(u32, u32),
    /// Returns to the caller.
    Return(u32),
    /// Closes connections to the servers of the `close` step with this index.
    Close(usize),
}

/// A text with placeholders for the user's values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Made(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(Box<[u8]>),
    Value(u16),
}

/// Maximum length of a value assembled by a flow, in bytes.
const LONGEST: usize = 64 << 10;

impl Made {
    fn of(text: &str, names: &[String]) -> Made {
        let part = |piece| match piece {
            Piece::Text(text) => Part::Text(text.as_bytes().into()),
            Piece::Value(name) => Part::Value(index_of(names, name)),
        };
        Made(pieces(text, names).into_iter().map(part).collect())
    }

    /// Writes the text; a value that is not known is written as empty.
    pub fn write(&self, values: &Values, into: &mut Vec<u8>) {
        into.clear();
        for part in &self.0 {
            into.extend_from_slice(match part {
                Part::Text(text) => text,
                Part::Value(value) => values.get(*value).unwrap_or_default(),
            });
        }
        into.truncate(LONGEST);
    }
}

/// Requests that are sent together.
#[derive(Debug, PartialEq)]
pub(crate) struct Batch {
    /// Requests with their failure policies.
    pub sends: Box<[(RequestId, OnFailure)]>,
    /// Maximum number of requests in flight at once, at least one.
    pub at_most: u32,
}

/// The list that a `for each` step iterates over.
#[derive(Debug, PartialEq)]
pub(crate) struct Elements {
    /// Index of the value that holds the current element.
    pub variable: u16,
    pub of: Of,
}

/// The origin of the elements.
#[derive(Debug, PartialEq)]
pub(crate) enum Of {
    Value(u16),
    Fixed(Vec<Made>),
}

fn index_of(names: &[String], name: &str) -> u16 {
    names.iter().position(|known| known == name).unwrap_or_default() as u16
}

/// A compiled flow.
#[derive(Debug, Default)]
pub struct Program {
    pub(crate) ops: Vec<Op>,
    /// Alternatives of [`Op::Choose`] and the positions at which they begin.
    pub(crate) choices: Vec<(Mix, Vec<u32>)>,
    /// Conditions of [`Op::Unless`].
    pub(crate) conditions: Vec<Condition>,
    /// Batches of [`Op::Batch`].
    pub(crate) batches: Vec<Batch>,
    /// Positions of the start and end sections, for users that run steps before their first iteration or after their
    /// last.
    pub(crate) start: Option<u32>,
    pub(crate) end: Option<u32>,
    /// Servers of each [`Op::Close`]; an empty list means all.
    pub(crate) closes: Vec<Vec<String>>,
    /// Lists of [`Op::Element`].
    pub(crate) lists: Vec<Elements>,
    /// Number of counters per user.
    pub(crate) loops: usize,
    /// Number of spans: the whole iteration and its groups.
    pub(crate) spans: usize,
}

impl Program {
    /// Returns the servers of each `close` step as URLs; an empty list means all.
    pub fn closes(&self) -> &[Vec<String>] {
        &self.closes
    }

    /// Compiles a flow.
    ///
    /// # Errors
    /// A condition that cannot be parsed.
    pub fn of(flow: &Flow) -> Result<Program, String> {
        let groups = flow.groups();
        let mut program = Program { spans: 1 + groups.len(), ..Program::default() };
        for condition in flow.conditions() {
            program.conditions.push(Condition::parse(condition, &flow.variables)?);
        }
        let mut compiler = Compiler { program, flow, groups, next: 0, called: BTreeMap::new() };
        compiler.steps(&flow.steps);
        compiler.sections();
        Ok(compiler.program)
    }
}

/// A compiler that emits the operations of a flow in order.
struct Compiler<'a> {
    program: Program,
    flow: &'a Flow,
    groups: Vec<&'a str>,
    /// Index of the next condition, in the order of [`Flow::conditions`].
    next: usize,
    /// Positions of calls by the name of the called flow.
    called: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Compiler<'a> {
    fn push(&mut self, op: Op) -> usize {
        self.program.ops.push(op);
        self.program.ops.len() - 1
    }

    /// Allocates a counter.
    fn counter(&mut self) -> u32 {
        self.program.loops += 1;
        self.program.loops as u32 - 1
    }

    /// Emits a test of the next condition; the jump target is set later.
    fn unless(&mut self) -> usize {
        self.next += 1;
        self.push(Op::Unless(self.next - 1, 0))
    }

    /// Sets the target of the jump at `place` to the current position.
    fn land(&mut self, place: usize) {
        let here = self.here();
        match &mut self.program.ops[place] {
            Op::Unless(_, to) | Op::Goto(to) | Op::Once(to) | Op::Element(.., to) | Op::Call(_, to) => *to = here,
            _ => {}
        }
    }

    fn here(&self) -> u32 {
        self.program.ops.len() as u32
    }

    fn steps(&mut self, steps: &'a [Step]) {
        steps.iter().for_each(|step| self.step(step));
    }

    /// Emits the sections outside of the sequential steps: called flows, and the start and end sections. An iteration
    /// ends at the end of the list.
    fn sections(&mut self) {
        let flow = self.flow;
        let mut ends = vec![self.push(Op::Goto(0))];
        // No flow calls itself, so one return position at a time is enough.
        let mut places = Vec::new();
        for called in &flow.flows {
            let back = self.counter();
            places.push((called.name.as_str(), back, self.here()));
            self.steps(&called.steps);
            self.push(Op::Return(back));
        }
        for (section, at_end) in [(&flow.start, false), (&flow.end, true)] {
            if section.is_empty() {
                continue;
            }
            let from = Some(self.here());
            *(if at_end { &mut self.program.end } else { &mut self.program.start }) = from;
            self.steps(section);
            ends.push(self.push(Op::Goto(0)));
        }
        for (name, back, from) in places {
            for place in self.called.remove(name).unwrap_or_default() {
                self.program.ops[place] = Op::Call(back, from);
            }
        }
        ends.into_iter().for_each(|end| self.land(end));
    }

    fn step(&mut self, step: &'a Step) {
        match step {
            Step::Request { url, on_failure } => _ = self.push(Op::Send(RequestId(*url), *on_failure)),
            Step::Batch { at_most, .. } => {
                let sends = step.sends().map(|(url, on_failure)| (RequestId(url), on_failure)).collect();
                self.program.batches.push(Batch { sends, at_most: (*at_most).max(1) });
                self.push(Op::Batch(self.program.batches.len() - 1));
            }
            Step::Pause(pause) => _ = self.push(Op::Pause(*pause)),
            Step::Pace(pace) => _ = self.push(Op::Pace(*pace)),
            Step::Close { servers } => {
                self.program.closes.push(servers.clone());
                self.push(Op::Close(self.program.closes.len() - 1));
            }
            Step::Group { name, steps } => {
                let span = self.groups.iter().position(|group| group == name).map_or(0, |at| at as u16 + 1);
                self.push(Op::Begin(span));
                self.steps(steps);
                self.push(Op::End(span));
            }
            Step::Repeat { times, steps } => self.repeat(*times, steps),
            Step::If { steps, otherwise, .. } => {
                let skip = self.unless();
                self.steps(steps);
                let end = self.push(Op::Goto(0));
                self.land(skip);
                self.steps(otherwise);
                self.land(end);
            }
            Step::While { steps, .. } => {
                let from = self.here();
                let skip = self.unless();
                self.steps(steps);
                self.push(Op::Goto(from));
                self.land(skip);
            }
            Step::Once { steps } => {
                let at = self.push(Op::Once(0));
                self.steps(steps);
                self.land(at);
            }
            Step::Choose { ways } => {
                let which = self.program.choices.len();
                let weights: Vec<f64> = ways.iter().map(|way| way.weight).collect();
                self.program.choices.push((Mix::new(&weights, 0), Vec::new()));
                self.push(Op::Choose(which));
                let mut ends = Vec::new();
                for way in ways {
                    let from = self.here();
                    self.program.choices[which].1.push(from);
                    self.steps(&way.steps);
                    ends.push(self.push(Op::Goto(0)));
                }
                ends.into_iter().for_each(|end| self.land(end));
            }
            Step::ForEach { name, list, steps } => self.for_each(name, list, steps),
            Step::Call { flow, with } => {
                let names = &self.flow.variables;
                let sets = with.iter().map(|(name, text)| Op::Set(index_of(names, name), Made::of(text, names)));
                self.program.ops.extend(sets);
                let place = self.push(Op::Call(0, 0));
                self.called.entry(flow).or_default().push(place);
            }
        }
    }

    fn repeat(&mut self, times: u32, steps: &'a [Step]) {
        // Steps that are repeated zero times are emitted anyway, so that conditions keep their indices, and jumped
        // over.
        let past = (times == 0).then(|| self.push(Op::Goto(0)));
        let counter = self.counter();
        self.push(Op::Repeat(counter, times));
        let from = self.here();
        self.steps(steps);
        self.push(Op::Again(counter, from));
        past.into_iter().for_each(|past| self.land(past));
    }

    fn for_each(&mut self, name: &str, list: &List, steps: &'a [Step]) {
        let names = &self.flow.variables;
        let of = match list {
            List::Captured(name) => Of::Value(index_of(names, name)),
            List::Fixed(texts) => Of::Fixed(texts.iter().map(|text| Made::of(text, names)).collect()),
        };
        let variable = index_of(names, name);
        self.program.lists.push(Elements { variable, of });
        let (counter, which) = (self.counter(), self.program.lists.len() - 1);
        self.push(Op::Repeat(counter, 0));
        let from = self.push(Op::Element(which, counter, 0));
        self.steps(steps);
        self.push(Op::Goto(from as u32));
        self.land(from);
    }
}
