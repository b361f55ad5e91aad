//! A flow as a list of operations: what the tree of a plan is compiled to.

use std::collections::BTreeMap;

use plan::flow::{Flow, List, OnFailure, Pause, Piece, Step, pieces};

use wire::{RequestId, Values};

use crate::{Condition, Mix};

/// One operation. Places are indices into the list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    /// Sends this request and waits for what comes of it.
    Send(RequestId, OnFailure),
    /// Sends several requests at once, and goes on when all are over.
    Batch(usize),
    /// Does nothing for a while.
    Pause(Pause),
    /// Waits until so long after the iteration began.
    Pace(measure::Nanos),
    /// A group begins with the next request.
    Begin(u16),
    /// It ended with the last answer.
    End(u16),
    /// A loop begins: its counter, and how often.
    Repeat(u32, u32),
    /// The same counter: from here again, as long as it is not done.
    Again(u32, u32),
    /// Goes on at one of several places.
    Choose(usize),
    /// Goes on there.
    Goto(u32),
    /// Goes on there where this condition does not hold.
    Unless(usize, u32),
    /// Goes on there, in every iteration of a user but its first.
    Once(u32),
    /// Takes the next element of a list (its index, and the counter of how many were taken); there, where it has no more.
    Element(usize, u32, u32),
    /// A value becomes this text.
    Set(u16, Made),
    /// Goes on in a flow that is called, which keeps the way back in this counter.
    Call(u32, u32),
    /// Goes on where it was called.
    Return(u32),
    /// The user goes away from some servers: which `close` of the flow it is.
    Close(usize),
}

/// A text with the user's values in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Made(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(Box<[u8]>),
    Value(u16),
}

/// No value grows beyond this, however it is put together.
const LONGEST: usize = 64 << 10;

impl Made {
    fn of(text: &str, names: &[String]) -> Made {
        let part = |piece| match piece {
            Piece::Text(text) => Part::Text(text.as_bytes().into()),
            Piece::Value(name) => Part::Value(index_of(names, name)),
        };
        Made(pieces(text, names).into_iter().map(part).collect())
    }

    /// Writes it; a value that is not known is nothing.
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
    /// Each with what follows where it fails.
    pub sends: Box<[(RequestId, OnFailure)]>,
    /// So many are under way at once, and one at least.
    pub at_most: u32,
}

/// What is gone over.
#[derive(Debug, PartialEq)]
pub(crate) struct Elements {
    /// What the element becomes.
    pub variable: u16,
    pub of: Of,
}

/// Where the elements are.
#[derive(Debug, PartialEq)]
pub(crate) enum Of {
    Value(u16),
    Fixed(Vec<Made>),
}

fn index_of(names: &[String], name: &str) -> u16 {
    names.iter().position(|known| known == name).unwrap_or_default() as u16
}

/// A flow that users can go through.
#[derive(Debug, Default)]
pub struct Program {
    pub(crate) ops: Vec<Op>,
    /// What [`Op::Choose`] chooses from, and where each way begins.
    pub(crate) choices: Vec<(Mix, Vec<u32>)>,
    /// What [`Op::Unless`] looks at.
    pub(crate) conditions: Vec<Condition>,
    /// What [`Op::Batch`] sends.
    pub(crate) batches: Vec<Batch>,
    /// Where users begin who have something to do before their first iteration, and where those who have after their last.
    pub(crate) start: Option<u32>,
    pub(crate) end: Option<u32>,
    /// The servers that each [`Op::Close`] is about; none: all.
    pub(crate) closes: Vec<Vec<String>>,
    /// What [`Op::Element`] goes over.
    pub(crate) lists: Vec<Elements>,
    /// Counters of a user.
    pub(crate) loops: usize,
    /// The iteration as a whole, and its groups.
    pub(crate) spans: usize,
}

impl Program {
    /// The servers that each `close` of the flow is about, as URLs of theirs; none: all.
    pub fn closes(&self) -> &[Vec<String>] {
        &self.closes
    }

    /// The program of a flow.
    ///
    /// # Errors
    /// A condition that cannot be read.
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

/// Writes the operations of a flow, one behind the other.
struct Compiler<'a> {
    program: Program,
    flow: &'a Flow,
    groups: Vec<&'a str>,
    /// Which condition comes next, as [`Flow::conditions`] lists them.
    next: usize,
    /// Where flows are called, by their names.
    called: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Compiler<'a> {
    fn push(&mut self, op: Op) -> usize {
        self.program.ops.push(op);
        self.program.ops.len() - 1
    }

    /// A counter of its own.
    fn counter(&mut self) -> u32 {
        self.program.loops += 1;
        self.program.loops as u32 - 1
    }

    /// Looks at the next condition; where to go on otherwise is not known yet.
    fn unless(&mut self) -> usize {
        self.next += 1;
        self.push(Op::Unless(self.next - 1, 0))
    }

    /// What stands at a place goes on here.
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

    /// What is not gone through in order: flows that are called, and what users do before and after their iterations. An iteration ends
    /// where the list does.
    fn sections(&mut self) {
        let flow = self.flow;
        let mut ends = vec![self.push(Op::Goto(0))];
        // None of them calls itself, so each has one way back at a time.
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
        // What is never done is written all the same, so that conditions keep their places, and passed by.
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
