//! A flow as a list of operations: what the tree of a plan is compiled to.

use plan::flow::{Flow, OnFailure, Pause, Step};

use crate::Mix;

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
    /// Goes on there, in every iteration of a user but its first.
    Once(u32),
}

/// A flow that users can go through.
#[derive(Debug, Default)]
pub struct Program {
    pub(crate) ops: Vec<Op>,
    /// What [`Op::Choose`] chooses from, and where each way begins.
    pub(crate) choices: Vec<(Mix, Vec<u32>)>,
    /// Counters of a user.
    pub(crate) loops: usize,
    /// The iteration as a whole, and its groups.
    pub(crate) spans: usize,
}

impl Program {
    /// The program of a flow.
    pub fn of(flow: &Flow) -> Program {
        let groups = flow.groups();
        let mut program = Program { spans: 1 + groups.len(), ..Program::default() };
        program.steps(&flow.steps, &groups);
        program
    }

    fn here(&self) -> u32 {
        self.ops.len() as u32
    }

    fn steps(&mut self, steps: &[Step], groups: &[&str]) {
        for step in steps {
            self.step(step, groups);
        }
    }

    fn step(&mut self, step: &Step, groups: &[&str]) {
        match step {
            Step::Request { url, on_failure } => self.ops.push(Op::Send(*url, *on_failure)),
            Step::Pause(pause) => self.ops.push(Op::Pause(*pause)),
            Step::Pace(pace) => self.ops.push(Op::Pace(*pace)),
            Step::Group { name, steps } => {
                let span = groups.iter().position(|group| group == name).map_or(0, |at| at as u16 + 1);
                self.ops.push(Op::Begin(span));
                self.steps(steps, groups);
                self.ops.push(Op::End(span));
            }
            Step::Repeat { times, .. } if *times == 0 => {}
            Step::Repeat { times, steps } => {
                let counter = self.loops as u32;
                self.loops += 1;
                self.ops.push(Op::Repeat(counter, *times));
                let from = self.here();
                self.steps(steps, groups);
                self.ops.push(Op::Again(counter, from));
            }
            Step::Once { steps } => {
                let at = self.ops.len();
                self.ops.push(Op::Once(0));
                self.steps(steps, groups);
                self.ops[at] = Op::Once(self.here());
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
                    self.steps(&way.steps, groups);
                    ends.push(self.ops.len());
                    self.ops.push(Op::Goto(0));
                }
                let past = self.here();
                ends.into_iter().for_each(|end| self.ops[end] = Op::Goto(past));
            }
        }
    }
}
