//! A flow as a list of operations: the compiled form of a plan's step tree.

use std::collections::BTreeMap;

use brunt_plan::flow::{Flow, LoopList, OnFailure, Pause, RepeatCount, Step, TextPiece, each, pieces};

use brunt_contract::{RequestId, UserValues};
use brunt_measure::Nanos;

use crate::{Condition, WeightedChoice};

/// One operation. Jump targets are indices into the list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FlowOp {
    /// Sends this request and waits for its result.
    Send(RequestId, OnFailure),
    /// Sends several requests at once and continues when all have ended.
    Batch(usize),
    /// Pauses.
    Pause(Pause),
    /// Waits until this long after the iteration began.
    Pace(Nanos),
    /// Begins a group, which starts with the next request.
    Begin(u16),
    /// Ends a group at the time of the last response.
    End(u16),
    /// Begins a loop: the counter, and the number of rounds.
    Repeat(u32, u32),
    /// Begins a loop whose number of rounds is a value of the user; jumps if there are none.
    RepeatValue(u32, u16, LoopBody, u32),
    /// Decrements the counter and jumps back unless the loop is done.
    EndRepeat(u32, u32, LoopBody),
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
    NextElement(usize, u32, LoopBody, u32),
    /// Jumps back for the next element of a list.
    NextRound(u32, LoopBody),
    /// Assigns a text to a value.
    Set(u16, FlowText),
    /// Calls a flow; the return position is stored in the counter.
    Call(u32, u32),
    /// Returns to the caller.
    Return(u32),
    /// Closes connections to the servers of the `close` step with this index.
    Close(usize),
}

/// The part of a loop that is left to a user after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopBody {
    /// Each round pauses: the user goes through all of them.
    Waits,
    /// No round pauses.
    OnlySends,
}

/// A text with placeholders for the user's values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FlowText(Vec<FlowTextPart>);

#[derive(Clone, Debug, PartialEq)]
enum FlowTextPart {
    Text(Box<[u8]>),
    Value(u16),
}

/// Maximum length of a value assembled by a flow, in bytes.
const LONGEST: usize = 64 << 10;

impl FlowText {
    fn of(text: &str, names: &[String]) -> FlowText {
        let part = |piece| match piece {
            TextPiece::Text(text) => FlowTextPart::Text(text.as_bytes().into()),
            TextPiece::Value(name) => FlowTextPart::Value(index_of(names, name)),
        };
        FlowText(pieces(text, names).into_iter().map(part).collect())
    }

    /// Writes the text; an unknown value is written as the empty text.
    pub fn write(&self, values: &UserValues, into: &mut Vec<u8>) {
        into.clear();
        for part in &self.0 {
            into.extend_from_slice(match part {
                FlowTextPart::Text(text) => text,
                FlowTextPart::Value(value) => values.get(*value).unwrap_or_default(),
            });
        }
        into.truncate(LONGEST);
    }
}

/// Requests that are sent together.
#[derive(Debug, PartialEq)]
pub(crate) struct RequestBatch {
    /// Requests with their failure policies.
    pub sends: Box<[(RequestId, OnFailure)]>,
    /// Maximum number of requests in flight at once, at least one.
    pub max_in_flight: u32,
}

/// The list that a `for each` step iterates over.
#[derive(Debug, PartialEq)]
pub(crate) struct ForEachList {
    /// Index of the value that holds the current element.
    pub variable: u16,
    pub source: ElementSource,
}

/// The origin of the elements.
#[derive(Debug, PartialEq)]
pub(crate) enum ElementSource {
    Value(u16),
    Fixed(Vec<FlowText>),
}

fn index_of(names: &[String], name: &str) -> u16 {
    names.iter().position(|known| known == name).unwrap_or_default() as u16
}

/// A compiled flow.
#[derive(Debug, Default)]
pub struct FlowProgram {
    pub(crate) ops: Vec<FlowOp>,
    /// Alternatives of [`FlowOp::Choose`] and the positions at which they begin.
    pub(crate) choices: Vec<(WeightedChoice, Vec<u32>)>,
    /// Conditions of [`FlowOp::Unless`].
    pub(crate) conditions: Vec<Condition>,
    /// Batches of [`FlowOp::Batch`].
    pub(crate) batches: Vec<RequestBatch>,
    /// Positions of the start and end sections, if there are any.
    pub(crate) start: Option<u32>,
    pub(crate) end: Option<u32>,
    /// Servers of each [`FlowOp::Close`]; an empty list means all.
    pub(crate) closes: Vec<Vec<String>>,
    /// Lists of [`FlowOp::NextElement`].
    pub(crate) lists: Vec<ForEachList>,
    /// Number of counters per user.
    pub(crate) counters: usize,
    /// Number of spans: the whole iteration and its groups.
    pub(crate) spans: usize,
}

impl FlowProgram {
    /// Returns the servers of each `close` step as URLs; an empty list means all.
    pub fn closes(&self) -> &[Vec<String>] {
        &self.closes
    }

    /// Compiles a flow.
    ///
    /// # Errors
    /// A condition cannot be parsed.
    pub fn of(flow: &Flow) -> Result<FlowProgram, String> {
        let groups = flow.groups();
        let mut program = FlowProgram { spans: 1 + groups.len(), ..FlowProgram::default() };
        for condition in flow.conditions() {
            program.conditions.push(Condition::parse(condition, &flow.variables)?);
        }
        let mut compiler = FlowCompiler { program, flow, groups, next_condition: 0, call_sites: BTreeMap::new() };
        compiler.steps(&flow.steps);
        compiler.sections();
        Ok(compiler.program)
    }
}

/// A compiler that emits the operations of a flow in order.
struct FlowCompiler<'a> {
    program: FlowProgram,
    flow: &'a Flow,
    groups: Vec<&'a str>,
    /// Index of the next condition, in the order of [`Flow::conditions`].
    next_condition: usize,
    /// Positions of the calls, by the name of the called flow.
    call_sites: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> FlowCompiler<'a> {
    fn push(&mut self, op: FlowOp) -> usize {
        self.program.ops.push(op);
        self.program.ops.len() - 1
    }

    /// Allocates a counter.
    fn counter(&mut self) -> u32 {
        self.program.counters += 1;
        self.program.counters as u32 - 1
    }

    /// Emits a test of the next condition; the jump target is set later.
    fn unless(&mut self) -> usize {
        self.next_condition += 1;
        self.push(FlowOp::Unless(self.next_condition - 1, 0))
    }

    /// Sets the target of the jump at `place` to the current position.
    fn set_target(&mut self, place: usize) {
        let here = self.position();
        match &mut self.program.ops[place] {
            FlowOp::Unless(_, to)
            | FlowOp::Goto(to)
            | FlowOp::Once(to)
            | FlowOp::NextElement(.., to)
            | FlowOp::RepeatValue(.., to)
            | FlowOp::Call(_, to) => *to = here,
            _ => {}
        }
    }

    /// Returns what is left of a loop over these steps after a failure.
    fn body(&self, steps: &[Step]) -> LoopBody {
        let mut waits = false;
        each(steps, &mut |step| {
            waits |= match step {
                Step::Pause(Pause::Uniform { to, .. }) => *to > Nanos::ZERO,
                Step::Pause(_) => true,
                Step::Call { flow, .. } => {
                    let called = self.flow.named_flow(flow);
                    called.is_some_and(|called| self.body(&called.steps) == LoopBody::Waits)
                }
                _ => false,
            }
        });
        if waits { LoopBody::Waits } else { LoopBody::OnlySends }
    }

    fn position(&self) -> u32 {
        self.program.ops.len() as u32
    }

    fn steps(&mut self, steps: &'a [Step]) {
        steps.iter().for_each(|step| self.step(step));
    }

    /// Emits the sections that follow the steps of the iteration: called flows, and the start and end sections.
    fn sections(&mut self) {
        let flow = self.flow;
        let mut ends = vec![self.push(FlowOp::Goto(0))];
        // No flow calls itself, so one return position at a time is enough.
        let mut places = Vec::new();
        for called in &flow.flows {
            let back = self.counter();
            places.push((called.name.as_str(), back, self.position()));
            self.steps(&called.steps);
            self.push(FlowOp::Return(back));
        }
        for (section, at_end) in [(&flow.start, false), (&flow.end, true)] {
            if section.is_empty() {
                continue;
            }
            let from = Some(self.position());
            *(if at_end { &mut self.program.end } else { &mut self.program.start }) = from;
            self.steps(section);
            ends.push(self.push(FlowOp::Goto(0)));
        }
        for (name, back, from) in places {
            for place in self.call_sites.remove(name).unwrap_or_default() {
                self.program.ops[place] = FlowOp::Call(back, from);
            }
        }
        ends.into_iter().for_each(|end| self.set_target(end));
    }

    fn step(&mut self, step: &'a Step) {
        match step {
            Step::Request { url, on_failure } => _ = self.push(FlowOp::Send(RequestId(*url), *on_failure)),
            Step::Batch { at_most, .. } => {
                let sends = step.requests().map(|(url, on_failure)| (RequestId(url), on_failure)).collect();
                self.program.batches.push(RequestBatch { sends, max_in_flight: (*at_most).max(1) });
                self.push(FlowOp::Batch(self.program.batches.len() - 1));
            }
            Step::Pause(pause) => _ = self.push(FlowOp::Pause(*pause)),
            Step::Pace(pace) => _ = self.push(FlowOp::Pace(*pace)),
            Step::Close { servers } => {
                self.program.closes.push(servers.clone());
                self.push(FlowOp::Close(self.program.closes.len() - 1));
            }
            Step::Group { name, steps } => {
                let span = self.groups.iter().position(|group| group == name).map_or(0, |at| at as u16 + 1);
                self.push(FlowOp::Begin(span));
                self.steps(steps);
                self.push(FlowOp::End(span));
            }
            Step::Repeat { times, steps } => self.repeat(times, steps),
            Step::If { steps, otherwise, .. } => {
                let skip = self.unless();
                self.steps(steps);
                let end = self.push(FlowOp::Goto(0));
                self.set_target(skip);
                self.steps(otherwise);
                self.set_target(end);
            }
            Step::While { steps, .. } => {
                let from = self.position();
                let skip = self.unless();
                self.steps(steps);
                self.push(FlowOp::Goto(from));
                self.set_target(skip);
            }
            Step::Once { steps } => {
                let at = self.push(FlowOp::Once(0));
                self.steps(steps);
                self.set_target(at);
            }
            Step::Choose { ways } => {
                let which = self.program.choices.len();
                let weights: Vec<f64> = ways.iter().map(|way| way.weight).collect();
                self.program.choices.push((WeightedChoice::new(&weights, 0), Vec::new()));
                self.push(FlowOp::Choose(which));
                let mut ends = Vec::new();
                for way in ways {
                    let from = self.position();
                    self.program.choices[which].1.push(from);
                    self.steps(&way.steps);
                    ends.push(self.push(FlowOp::Goto(0)));
                }
                ends.into_iter().for_each(|end| self.set_target(end));
            }
            Step::ForEach { name, list, steps } => self.for_each(name, list, steps),
            Step::Call { flow, with } => {
                let names = &self.flow.variables;
                let sets =
                    with.iter().map(|(name, text)| FlowOp::Set(index_of(names, name), FlowText::of(text, names)));
                self.program.ops.extend(sets);
                let place = self.push(FlowOp::Call(0, 0));
                self.call_sites.entry(flow).or_default().push(place);
            }
        }
    }

    fn repeat(&mut self, times: &RepeatCount, steps: &'a [Step]) {
        let counter = self.counter();
        // Steps repeated zero times are emitted too, so that conditions keep their indices, and are jumped over.
        let past = match times {
            RepeatCount::Times(0) => Some(self.push(FlowOp::Goto(0))),
            RepeatCount::Times(_) => None,
            RepeatCount::Value(name) => {
                let value = index_of(&self.flow.variables, name);
                Some(self.push(FlowOp::RepeatValue(counter, value, self.body(steps), 0)))
            }
        };
        if let RepeatCount::Times(times) = times {
            self.push(FlowOp::Repeat(counter, *times));
        }
        let from = self.position();
        self.steps(steps);
        self.push(FlowOp::EndRepeat(counter, from, self.body(steps)));
        past.into_iter().for_each(|past| self.set_target(past));
    }

    fn for_each(&mut self, name: &str, list: &LoopList, steps: &'a [Step]) {
        let names = &self.flow.variables;
        let of = match list {
            LoopList::Captured(name) => ElementSource::Value(index_of(names, name)),
            LoopList::Fixed(texts) => {
                ElementSource::Fixed(texts.iter().map(|text| FlowText::of(text, names)).collect())
            }
        };
        let variable = index_of(names, name);
        self.program.lists.push(ForEachList { variable, source: of });
        let (counter, which, body) = (self.counter(), self.program.lists.len() - 1, self.body(steps));
        self.push(FlowOp::Repeat(counter, 0));
        let from = self.push(FlowOp::NextElement(which, counter, body, 0));
        self.steps(steps);
        self.push(FlowOp::NextRound(from as u32, body));
        self.set_target(from);
    }
}
