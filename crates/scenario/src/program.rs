//! A flow as a list of operations: what the tree of a plan is compiled to.

use plan::flow::{Flow, OnFailure, Pause, Step};

use crate::{Condition, Mix};

/// One operation. Places are indices into the list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    /// Sends this request and waits for what comes of it.
    Send(u32, OnFailure),
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
}

/// A flow that users can go through.
#[derive(Debug, Default)]
pub struct Program {
    pub(crate) ops: Vec<Op>,
    /// What [`Op::Choose`] chooses from, and where each way begins.
    pub(crate) choices: Vec<(Mix, Vec<u32>)>,
    /// What [`Op::Unless`] looks at.
    pub(crate) conditions: Vec<Condition>,
    /// Counters of a user.
    pub(crate) loops: usize,
    /// The iteration as a whole, and its groups.
    pub(crate) spans: usize,
}

impl Program {
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
        program.steps(&flow.steps, &groups, &mut 0);
        Ok(program)
    }

    /// Looks at the next condition; where to go on otherwise is not known yet.
    fn unless(&mut self, next: &mut usize) -> usize {
        self.ops.push(Op::Unless(*next, 0));
        *next += 1;
        self.ops.len() - 1
    }

    /// What stands at a place goes on here.
    fn land(&mut self, place: usize) {
        let here = self.here();
        match &mut self.ops[place] {
            Op::Unless(_, to) | Op::Goto(to) | Op::Once(to) => *to = here,
            _ => {}
        }
    }

    fn here(&self) -> u32 {
        self.ops.len() as u32
    }

    /// `next`: which condition comes next, as [`Flow::conditions`] lists them.
    fn steps(&mut self, steps: &[Step], groups: &[&str], next: &mut usize) {
        for step in steps {
            self.step(step, groups, next);
        }
    }

    fn step(&mut self, step: &Step, groups: &[&str], next: &mut usize) {
        match step {
            Step::Request { url, on_failure } => self.ops.push(Op::Send(*url, *on_failure)),
            Step::Pause(pause) => self.ops.push(Op::Pause(*pause)),
            Step::Pace(pace) => self.ops.push(Op::Pace(*pace)),
            Step::Group { name, steps } => {
                let span = groups.iter().position(|group| group == name).map_or(0, |at| at as u16 + 1);
                self.ops.push(Op::Begin(span));
                self.steps(steps, groups, next);
                self.ops.push(Op::End(span));
            }
            Step::Repeat { times, .. } if *times == 0 => {}
            Step::Repeat { times, steps } => {
                let counter = self.loops as u32;
                self.loops += 1;
                self.ops.push(Op::Repeat(counter, *times));
                let from = self.here();
                self.steps(steps, groups, next);
                self.ops.push(Op::Again(counter, from));
            }
            Step::If { steps, otherwise, .. } => {
                let skip = self.unless(next);
                self.steps(steps, groups, next);
                let end = self.ops.len();
                self.ops.push(Op::Goto(0));
                self.land(skip);
                self.steps(otherwise, groups, next);
                self.land(end);
            }
            Step::While { steps, .. } => {
                let from = self.here();
                let skip = self.unless(next);
                self.steps(steps, groups, next);
                self.ops.push(Op::Goto(from));
                self.land(skip);
            }
            Step::Once { steps } => {
                let at = self.ops.len();
                self.ops.push(Op::Once(0));
                self.steps(steps, groups, next);
                self.land(at);
            }
            Step::Choose { ways } => {
                let which = self.choices.len();
                let weights: Vec<f64> = ways.iter().map(|way| way.weight).collect();
                self.choices.push((Mix::new(&weights, 0), Vec::new()));
                self.ops.push(Op::Choose(which));
                let mut ends = Vec::new();
                for way in ways {
                    let from = self.here();
                    self.choices[which].1.push(from);
                    self.steps(&way.steps, groups, next);
                    ends.push(self.ops.len());
                    self.ops.push(Op::Goto(0));
                }
                ends.into_iter().for_each(|end| self.land(end));
            }
        }
    }
}
