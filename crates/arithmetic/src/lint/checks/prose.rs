//! Arithmetic in prose: machines rounded down, and machines bought for their ports.

use brunt_i18n::numbers;
use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::paste::PastedLine;
use super::super::quantities;
use super::{Examined, LintEvidence};
use crate::figures;

/// Words that tell that a quotient is a number of machines, in lower case.
const MACHINES: [&str; 9] = ["机器", "台", "服务器", "machine", "server", "instance", "node", "pod", "replica"];
/// Words that tell that it is asked how many there must be.
const NEEDED: [&str; 5] = ["需要", "多少", "need", "require", "how many"];
/// Words for local ports.
const PORTS: [&str; 3] = ["端口", " port", "port range"];
/// Signs before a result, the longer ones first.
const RESULTS: [&str; 6] = ["≈", "≒", "~=", "=", "~", "约"];
/// Divisors that are numbers of local ports: from the default range to all there can be.
const PORT_RANGE: std::ops::RangeInclusive<f64> = 20_000.0..=65_536.0;
/// Lines before a division that say what it is about.
const CONTEXT: usize = 3;
/// Share of a machine's capacity that is planned with, unless said otherwise.
const UTILISATION: f64 = 0.7;

const ROUNDED_DOWN: Text = text(
    "{load} ÷ {one} = {exact}, so {up} machines and not {down}, which hold only {held}; at a utilisation of 0.7 it takes \
        {planned}",
    "{load} ÷ {one} = {exact}，因此需要 {up} 台而不是 {down} 台（后者只能承受 {held}）；按 0.7 的利用率需要 {planned} 台",
);
const FOR_PORTS: Text = text(
    "{connections} connections ÷ {ports} ports = {exact} are pairs of addresses, not machines: the limit holds for each \
        pair of a source address and a destination (address and port), so {up} source addresses on one machine, or {up} \
        listening ports, do the same",
    "{connections} 个连接 ÷ {ports} 个端口 = {exact}，这是地址对的数量，不是机器数：限制针对每一对源地址与目的地址（地址加端口），\
        因此一台机器上的 {up} 个源地址，或服务端监听 {up} 个端口，效果相同",
);

/// A division in prose.
struct Division {
    dividend: f64,
    divisor: f64,
    result: f64,
}

/// Looks for numbers of machines that were rounded down.
pub fn examine_machines(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    let lines = &evidence.paste.lines;
    for (at, line) in lines.iter().enumerate() {
        let Some(Division { dividend, divisor, result }) = division(&line.text) else { continue };
        let near = &lines[at.saturating_sub(CONTEXT)..=at];
        if !(mentions(near, &MACHINES) && mentions(near, &NEEDED)) {
            continue;
        }
        let exact = dividend / divisor;
        let is_quotient = result.fract() == 0.0 && (exact - result).abs() < 1.0 && !PORT_RANGE.contains(&divisor);
        if !is_quotient {
            continue;
        }
        let is_down = result < exact * (1.0 - 1e-9) && result >= 1.0;
        examined.add(is_down.then(|| {
            let facts = [
                ("load", figures::number(dividend)),
                ("one", figures::number(divisor)),
                ("exact", figures::number(exact)),
                ("up", numbers::count(exact.ceil() as u64)),
                ("down", numbers::count(result as u64)),
                ("held", figures::number(result * divisor)),
                ("planned", numbers::count((exact / UTILISATION).ceil() as u64)),
            ];
            let rate = |value: f64| figures::number(value).replace(',', "");
            let command = format!("brunt capacity --peak {}/s --per-machine {}/s", rate(dividend), rate(divisor));
            LintFinding::of_line(line.number, LintGrade::Wrong, ROUNDED_DOWN, facts).settled_by(command)
        }));
    }
}

/// Looks for machines that were counted by their ports.
pub fn examine_addresses(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    let lines = &evidence.paste.lines;
    for (at, line) in lines.iter().enumerate() {
        let is_about = |words: &[&str]| mentions(&lines[at.saturating_sub(CONTEXT)..=at], words);
        let Some(Division { dividend, divisor, .. }) = division(&line.text) else { continue };
        if PORT_RANGE.contains(&divisor) && dividend > divisor && is_about(&PORTS) && is_about(&MACHINES) {
            let exact = dividend / divisor;
            let facts = [
                ("connections", figures::number(dividend)),
                ("ports", figures::number(divisor)),
                ("exact", figures::number(exact)),
                ("up", numbers::count(exact.ceil() as u64)),
            ];
            let command = format!("brunt doctor -c {} --hold 10m URL", (dividend as u64).min(10_000_000));
            let found = LintFinding::of_line(line.number, LintGrade::Wrong, FOR_PORTS, facts);
            examined.add(Some(found.settled_by(command)));
        }
    }
}

fn mentions(lines: &[PastedLine], words: &[&str]) -> bool {
    lines.iter().any(|line| {
        let text = line.text.to_lowercase();
        words.iter().any(|word| text.contains(word))
    })
}

/// Reads `1389 / 69 ≈ 20` and `100W / (65535-1024) ≈ 15.5` anywhere in a line.
fn division(text: &str) -> Option<Division> {
    text.match_indices(['/', '÷']).find_map(|(at, sign)| {
        let dividend = last_number(&text[..at])?;
        let (divisor, rest) = first_term(&text[at + sign.len()..])?;
        let rest = rest.trim_start();
        let rest = RESULTS.iter().find_map(|sign| rest.strip_prefix(sign))?;
        let (result, after) = quantities::leading_number(rest)?;
        // A percentage or a longer formula is no number of machines.
        let ends = !after.trim_start().starts_with(['%', '*', '/', '×', '÷']);
        (divisor > 0.0 && ends).then_some(Division { dividend, divisor, result: result.value })
    })
}

/// Reads the number that a text ends with; `W` and `万` stand for ten thousand.
fn last_number(text: &str) -> Option<f64> {
    let text = text.trim_end();
    let (text, factor) = [("W", 1e4), ("w", 1e4), ("万", 1e4), ("k", 1e3), ("K", 1e3), ("M", 1e6)]
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .unwrap_or((text, 1.0));
    let start = text.char_indices().rev().take_while(|(_, c)| c.is_ascii_digit() || matches!(c, '.' | ',')).last()?.0;
    // A name that ends in digits, and a formula, are no number.
    let before = text[..start].chars().next_back();
    let is_own = before.is_none_or(|c| !c.is_ascii_alphanumeric() && !matches!(c, '*' | '/' | ')' | '-' | '_' | '+'));
    quantities::number(&text[start..]).filter(|_| is_own).map(|number| number.value * factor)
}

/// Reads a number, or the difference of two in parentheses.
fn first_term(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let Some(inner) = text.strip_prefix(['(', '（']) else {
        return quantities::leading_number(text).map(|(number, rest)| (number.value, rest));
    };
    let (first, rest) = quantities::leading_number(inner)?;
    let (second, rest) = quantities::leading_number(rest.trim_start().strip_prefix('-')?)?;
    let rest = rest.trim_start().strip_prefix([')', '）'])?;
    Some((first.value - second.value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_machines_may_be_rounded_down() {
        let found = |text: &str| {
            let paste = super::super::super::paste::PastedText::read(text.as_bytes());
            let mut examined = Examined::default();
            examine_machines(&LintEvidence { paste: &paste, runs: &[], ladders: &[] }, &mut examined);
            examined.findings.len()
        };
        assert_eq!(found("How many machines? 1389 / 69 = 20"), 1);
        assert_eq!(found("How many machines? 1389 / 69 = 21"), 0);
        assert_eq!(found("300 requests / 7 = 42 for each server"), 0);
        assert_eq!(found("We need 1389 / 69 = 20 pages"), 0);
    }

    #[test]
    fn divisions_are_read() {
        let of = |text: &str| division(text).map(|found| (found.dividend, found.divisor, found.result));
        assert_eq!(of("1389 / 69 ≈ 20"), Some((1389.0, 69.0, 20.0)));
        assert_eq!(of("ports, 100W / (65535-1024) ≈ 15.5, so 16"), Some((1e6, 64_511.0, 15.5)));
        assert_eq!(of("= 1,389/69 = 20.13"), Some((1389.0, 69.0, 20.13)));
        for text in [
            "( 30000000*0.8 ) / (86400 * 0.2) ≈ 1389",
            "2018/12/08",
            "http://a/5=3",
            "5 / 0 = 1",
            "10/20 = 50%",
            "a1/2=3",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
