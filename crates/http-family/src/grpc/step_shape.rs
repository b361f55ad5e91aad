//! What a step on a held stream does, and what contradicts it.

use brunt_cause::{Complaint, complaint};

use super::options::GrpcOptions;

/// Options that concern the end of a stream.
const OF_END: [&str; 3] = ["expect-status", "expect-trailer", "expect-messages"];

/// What a step on a held stream does, as its options say.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepShape {
    /// Set if it is the first step on the stream, which opens it.
    pub first: bool,
    /// Set if it sends messages.
    pub says: bool,
    /// Set if it waits for a certain message.
    pub awaits: bool,
    /// Set if it checks what it receives, or captures values of it.
    pub examines: bool,
    /// Set if it does not wait for a message.
    pub one_way: bool,
    /// Set if it reads to the end of the stream.
    pub finish: bool,
    /// Set if messages are to be sent one by one.
    pub lockstep: bool,
    /// Set if the method takes several messages.
    pub takes: bool,
    /// Set if the method returns several messages.
    pub gives: bool,
}

const LOCKSTEP: [&str; 2] = [
    "is for calls whose messages are all known in advance; leave it out, as each step waits for its own message",
    "用于消息事先全部已知的调用；请去掉，因为每个步骤各自等待消息",
];
const ONE_WAY: [&str; 2] = [
    "awaits no message, so there is nothing to check; leave out one-way",
    "不等待消息，因此没有可检查的内容；请去掉 one-way",
];
const FINISH: [&str; 2] = [
    "cannot be combined with `finish`, which reads everything to the end of the stream; write two steps",
    "不能与 `finish` 同用，后者会读到流的末尾；请写成两个步骤",
];
const NOTHING: [&str; 2] = [
    "neither sends nor awaits anything here; write `data`, `await`, `finish: true`, or several of them",
    "在这里既不发送也不等待；请写 `data`、`await`、`finish: true`，或其中几个",
];
const SENT: [&str; 2] = [
    "is for a stream that takes only one message, and the step that opens it has sent that; leave it out",
    "不适用：该流只接受一条消息，打开它的步骤已经发送；请去掉",
];
const ONE_RESPONSE: [&str; 2] = [
    "responds once everything has been sent: write `one-way: true` where something is sent, and `finish: true` in the \
        last step",
    "在全部发送之后才响应：请在发送处写 `one-way: true`，在最后一步写 `finish: true`",
];

impl StepShape {
    /// Returns the first option that contradicts another one or the method, and why.
    pub fn contradiction(&self) -> Option<(&'static str, Complaint)> {
        let hears = self.awaits || self.examines;
        let does = self.says || self.finish || self.awaits || self.one_way && self.first;
        let rules = [
            (self.lockstep, "lockstep", LOCKSTEP),
            (self.one_way && (hears || self.finish), "one-way", ONE_WAY),
            (self.finish && self.awaits, "await", FINISH),
            (!does, "stream", NOTHING),
            (self.says && !self.first && !self.takes, "data", SENT),
            (!self.gives && !self.one_way && !self.finish, "stream", ONE_RESPONSE),
        ];
        let broken = rules.into_iter().find(|(is_broken, ..)| *is_broken);
        broken.map(|(_, option, [en, zh])| (option, Complaint::new(en, zh)))
    }

    /// Returns the first option about the end of a stream that this step does not read, and why. `own` says whether the
    /// step has an option.
    pub fn premature(&self, wishes: &GrpcOptions, own: &dyn Fn(&str) -> bool) -> Option<(&'static str, Complaint)> {
        if self.finish {
            return None;
        }
        if let Some(option) = OF_END.into_iter().find(|option| own(option)) {
            let trouble = complaint!(
                "applies to the end of a stream; move it to the step with `finish: true`",
                "作用于流的末尾；请移到有 `finish: true` 的步骤"
            );
            return Some((option, trouble));
        }
        let of_end = |kind: &str| ["trailer", "status"].contains(&kind);
        let (_, capture) = wishes.captures.iter().find(|(_, capture)| of_end(capture.kind()))?;
        let trouble = complaint!(
            "{} is known only at the end of a stream; move it to the step with `finish: true`",
            "{} 在流的末尾才可知；请移到有 `finish: true` 的步骤",
            capture.kind()
        );
        Some(("capture", trouble))
    }
}
