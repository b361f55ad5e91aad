//! Markdown for a merge request or a wiki: the figures as one table, objectives and verdict around it.

use std::io::{self, Write};

use record::Second;

use super::{Format, Style};
use crate::judgement;
use crate::ranked::{Figure, QUANTILES};
use crate::sentences as say;
use crate::show;
use crate::summary::Summary;
use crate::text::Lang;

/// See the module.
pub(super) struct Markdown;

impl Format for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn write(
        &self,
        summary: &Summary,
        _: &mut dyn Iterator<Item = Second>,
        style: Style,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let lang = style.lang;
        let target = summary.started.as_ref().and_then(|s| s.plan.urls.first()).map_or("", |u| &u.url);
        writeln!(out, "## brunt {}\n", escaped(target))?;
        let verdict = lang.of(judgement::verdict(summary.trust.verdict()));
        writeln!(
            out,
            "**{}{}{verdict}** · {}\n",
            lang.of(say::TRUST),
            lang.of(say::COLON),
            judgement::exit(summary, lang)
        )?;
        for reason in summary.trust.reasons.iter().filter(|r| r.grade() > crate::trust::Grade::Ok) {
            writeln!(out, "- {}", escaped(&judgement::sentence(reason, summary, lang)))?;
        }
        for notice in &summary.notices {
            writeln!(out, "- {}", escaped(&judgement::notice(notice, lang)))?;
        }
        figures(summary, lang, out)?;
        failures(summary, lang, out)?;
        objectives(summary, lang, out)
    }
}

fn figures(summary: &Summary, lang: Lang, out: &mut dyn Write) -> io::Result<()> {
    let (ranked, totals) = (summary.headline(), &summary.totals);
    let heading = if summary.open {
        lang.of(say::RESPONSE_HEADLINE).to_owned()
    } else {
        let n = show::count(u64::from(totals.users));
        lang.fill(say::SERVICE_HEADLINE, &[("users", &lang.fill(say::USERS_N, &[("n", &n)]))])
    };
    writeln!(out, "\n| {heading} | | {} |\n|:--|--:|:--|", lang.of(say::INTERVAL))?;
    for named in QUANTILES {
        let q = ranked.quantile(named.q);
        let ends = [q.low.map_or("0".into(), show::duration), q.high.map_or("∞".into(), show::duration)];
        let interval = if q.figure == Figure::Withheld { String::new() } else { ends.join(" – ") };
        writeln!(out, "| {} | {} | {interval} |", named.name, q.figure.show())?;
    }
    writeln!(out, "| {} | {} | |", lang.of(say::MAX), ranked.max().show())?;
    writeln!(out, "| {} | {} | |", lang.of(say::MEAN), ranked.mean().show())?;
    let rate = measure::format_rate(summary.throughput_per_s());
    writeln!(out, "| {} | {rate} | |", lang.of(say::THROUGHPUT))?;
    let counts = [totals.due, totals.finished, totals.failed, totals.censored].map(show::count);
    let [due, finished, failed, censored] = &counts;
    let facts: [(&str, &str); 4] = [("due", due), ("finished", finished), ("failed", failed), ("censored", censored)];
    let text = if totals.add_up() { say::ACCOUNT } else { say::ACCOUNT_BROKEN };
    writeln!(out, "\n{}{}{}", lang.of(say::REQUESTS), lang.of(say::COLON), lang.fill(text, &facts))
}

fn failures(summary: &Summary, lang: Lang, out: &mut dyn Write) -> io::Result<()> {
    if summary.totals.failures.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n| {} | {} |\n|:--|--:|", lang.of(say::FAILURES), lang.of(say::TIMES))?;
    for f in &summary.totals.failures {
        writeln!(out, "| {} | {} |", escaped(&super::text::accounts::sort_of(f)), show::count(f.count))?;
    }
    Ok(())
}

fn objectives(summary: &Summary, lang: Lang, out: &mut dyn Write) -> io::Result<()> {
    if summary.objectives.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n| {} | | |\n|:--|:--|:--|", lang.of(say::OBJECTIVES))?;
    for o in &summary.objectives {
        let word = lang.of(if o.met { say::MET } else { say::MISSED });
        writeln!(out, "| `{}` | {word} | {} |", o.objective, escaped(&judgement::measured(o, lang)))?;
    }
    Ok(())
}

/// Text that means nothing to Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '*' | '_' | '`' | '<' | '[' | ']' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}
