//! The answer as text: each formula with its numbers filled in, then the answer and the weakest number.

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, LocalizedSentence, numbers};

use super::{CapacityQuestion, Demand};
use crate::figures;
use crate::ports::TIME_WAIT_S;

const PEAK: Text = text("peak", "峰值");
const MACHINES: Text = text("machines", "机器");
const IN_FLIGHT: Text = text("in flight", "在途");
const MEMORY: Text = text("memory", "内存");
const PORTS: Text = text("ports", "端口");
const WEAKEST: Text = text("weakest", "最薄弱的数字");

/// What stands between the name of a line and its formula.
const COLON: Text = text(": ", "：");

const OF_VIEWS: Text = text(
    "{views} views × {requests} {requests|request|requests} each × {share} ÷ {seconds} s = {peak}",
    "{views} 次访问 × 每次 {requests} 个请求 × {share} ÷ {seconds} s = {peak}",
);
const GIVEN: Text = text("{peak}, as given", "{peak}，按给定值");
const GROWN: Text = text("; × {growth} (growth) = {planned}", "；× {growth}（增长）= {planned}");
const COUNTED: Text = text(
    "{planned} ÷ ({rate} × {utilisation}) = {exact}, rounded up to {working}",
    "{planned} ÷ ({rate} × {utilisation}) = {exact}，向上取整为 {working}",
);
const SPARE: Text = text(", + {spare} spare = {machines}", "，+ {spare} 台备用 = {machines}");
const BY_LITTLE: Text = text(
    "{planned} × {latency} = {in_flight} {in_flight|request|requests} at a time (Little's law)",
    "{planned} × {latency} = {in_flight} 个请求同时在途（利特尔定律）",
);
const EACH: Text = text(", {each} on each machine", "，每台机器 {each} 个");
const HOLDS: Text = text(
    "{connections} {connections|connection|connections} × {each} = {memory}",
    "{connections} 个连接 × {each} = {memory}",
);
const SHORT: Text = text(
    "a connection for each request: {ports} ports ÷ {wait} s = {rate} from one source address to one destination; \
        {planned} {pairs|needs|need} {pairs} such {pairs|pair|pairs}",
    "每个请求一个连接：{ports} 个端口 ÷ {wait} s = {rate}（一个源地址到一个目的地址）；{planned} 需要 {pairs} 对这样的地址",
);
const HELD: Text = text(
    "; {connections} open {connections|connection needs|connections need} {pairs} {pairs|pair|pairs}",
    "；{connections} 个打开的连接需要 {pairs} 对",
);
const ANSWER: Text = text("{machines} {machines|machine|machines} for {planned}", "{planned} 需要 {machines} 台机器");
const RATE_ONLY: Text = text("{planned} at the peak", "峰值 {planned}");
const DOUBTED: Text = text(", if {path} were right", "（前提是 {path} 可信）");

/// A line of the explanation: what it computes, and the formula with its numbers.
struct FormulaLine {
    about: Text,
    formula: LocalizedSentence,
}

impl FormulaLine {
    fn text(&self, lang: Lang) -> String {
        format!("{}{}{}", lang.of(self.about), lang.of(COLON), self.formula.render(lang))
    }
}

impl CapacityQuestion {
    /// Returns the answer as lines of text in a language.
    pub fn text(&self, lang: Lang) -> String {
        let mut page = format!("{}\n", self.headline().render(lang));
        let weakest = FormulaLine { about: WEAKEST, formula: self.weakest().why };
        for line in self.formulas().iter().chain([&weakest]) {
            page.push_str(&format!("  {}\n", line.text(lang)));
        }
        page
    }

    /// Returns the formulas with their numbers, in a language, in the order of the text.
    pub(super) fn formula_texts(&self, lang: Lang) -> Vec<String> {
        self.formulas().iter().map(|line| line.text(lang)).collect()
    }

    fn headline(&self) -> LocalizedSentence {
        let answer = self.answer();
        let planned = ("planned", figures::rate(answer.planned_per_s));
        let said = match answer.machines {
            Some(machines) => LocalizedSentence::new(ANSWER, [("machines", numbers::count(machines)), planned]),
            None => LocalizedSentence::new(RATE_ONLY, [planned]),
        };
        match self.doubted_record() {
            Some(path) => said.with_clause(DOUBTED, [("path", path.to_owned())]),
            None => said,
        }
    }

    fn formulas(&self) -> Vec<FormulaLine> {
        let mut lines = vec![FormulaLine { about: PEAK, formula: self.peak_formula() }];
        let parts = [
            (MACHINES, self.machines_formula()),
            (IN_FLIGHT, self.in_flight_formula()),
            (MEMORY, self.memory_formula()),
            (PORTS, Some(self.ports_formula())),
        ];
        lines.extend(parts.into_iter().filter_map(|(about, formula)| Some(FormulaLine { about, formula: formula? })));
        lines
    }

    fn peak_formula(&self) -> LocalizedSentence {
        let answer = self.answer();
        let peak = ("peak", figures::rate(answer.peak_per_s));
        let said = match &self.demand {
            Demand::Peak(_) => LocalizedSentence::new(GIVEN, [peak]),
            Demand::Views { per_day, share, peak_s, requests } => {
                let facts = [
                    ("views", figures::number(*per_day)),
                    ("requests", figures::number(requests.value)),
                    ("share", figures::percent(share.value)),
                    ("seconds", figures::number(peak_s.value)),
                    peak,
                ];
                LocalizedSentence::new(OF_VIEWS, facts)
            }
        };
        if self.growth.value == 1.0 {
            return said;
        }
        let facts = [("growth", figures::number(self.growth.value)), ("planned", figures::rate(answer.planned_per_s))];
        said.with_clause(GROWN, facts)
    }

    fn machines_formula(&self) -> Option<LocalizedSentence> {
        let answer = self.answer();
        let facts = [
            ("planned", figures::rate(answer.planned_per_s)),
            ("rate", figures::rate(self.per_machine.as_ref()?.per_s)),
            ("utilisation", figures::number(self.utilisation.value)),
            ("exact", figures::number(answer.exact_machines?)),
            ("working", numbers::count(answer.working_machines?)),
        ];
        let said = LocalizedSentence::new(COUNTED, facts);
        if self.spare == 0 {
            return Some(said);
        }
        let facts = [("spare", numbers::count(self.spare)), ("machines", numbers::count(answer.machines?))];
        Some(said.with_clause(SPARE, facts))
    }

    fn in_flight_formula(&self) -> Option<LocalizedSentence> {
        let answer = self.answer();
        let in_flight = answer.in_flight?;
        let facts = [
            ("planned", figures::rate(answer.planned_per_s)),
            ("latency", figures::time(self.latency_s?)),
            ("in_flight", figures::number(in_flight)),
        ];
        let said = LocalizedSentence::new(BY_LITTLE, facts);
        Some(match answer.working_machines {
            Some(working) => said.with_clause(EACH, [("each", figures::number(in_flight / working as f64))]),
            None => said,
        })
    }

    fn memory_formula(&self) -> Option<LocalizedSentence> {
        let answer = self.answer();
        let facts = [
            ("connections", numbers::count(answer.connections?)),
            ("each", numbers::bytes(self.connection_bytes? as u64)),
            ("memory", numbers::bytes(answer.memory_bytes? as u64)),
        ];
        Some(LocalizedSentence::new(HOLDS, facts))
    }

    fn ports_formula(&self) -> LocalizedSentence {
        let answer = self.answer();
        let facts = [
            ("ports", numbers::count(self.ports)),
            ("wait", figures::number(TIME_WAIT_S)),
            ("rate", figures::rate(answer.short_connections_per_s)),
            ("planned", figures::rate(answer.planned_per_s)),
            ("pairs", numbers::count(answer.pairs_for_short)),
        ];
        let said = LocalizedSentence::new(SHORT, facts);
        match answer.connections.zip(answer.pairs_for_held) {
            Some((connections, pairs)) => {
                let facts = [("connections", numbers::count(connections)), ("pairs", numbers::count(pairs))];
                said.with_clause(HELD, facts)
            }
            None => said,
        }
    }
}
