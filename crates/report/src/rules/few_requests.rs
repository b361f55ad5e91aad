//! The rule for objectives met with too few requests: ten requests cannot show that a limit of one in a thousand is
//! met, and the next request may miss it.

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::text::{Text, text};

const FEW: Text = text("too few requests to support {objective}", "请求太少，不足以判断 {objective}");
const FURTHER: Text = text(", {objective}", "，{objective}");
const ADVICE: Text = text(": met so far; run longer or send more", "：目前已达到；请延长压测时间或增加请求数");

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let mut few = run.objectives.iter().filter(|judged| judged.met && judged.too_few_requests);
    let fact = |judged: &crate::JudgedObjective| [("objective", judged.objective.clone())];
    let first = Finding::new("few_requests", Grade::Warn, FEW, fact(few.next()?));
    Some(few.fold(first, |found, judged| found.and(FURTHER, fact(judged))).and(ADVICE, []))
}
