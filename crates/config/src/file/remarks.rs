//! Remarks on a flow before anything is sent: values that are unused or used before they are captured, unreachable
//! steps, flows that are never called, and streams that are closed on their messages.

use std::collections::BTreeMap;

use brunt_cause::{Complaint, complaint};
use brunt_plan::WeightedUrl;
use brunt_plan::flow::{Flow, Step};
use brunt_plan::yaml::FilePosition;

use super::positions::{Section, StepPositions, format_remarks};
use super::single_pass::{FlowPass, captured_in};

/// Returns the remarks on a flow, one sentence each.
pub(super) fn of_flow(flow: &Flow, urls: &[WeightedUrl], places: &StepPositions) -> Vec<Complaint> {
    let sections = [
        ("setup", &flow.setup),
        ("start", &flow.start),
        ("flow", &flow.steps),
        ("end", &flow.end),
        ("teardown", &flow.teardown),
    ];
    let sections = sections.map(|(name, steps)| (Section::Own("", name), &steps[..]));
    let reader = FlowPass::read((flow, urls, places), &sections, Vec::new());
    let mut all: Vec<(FilePosition, Complaint)> =
        reader.unused().into_iter().map(|unused| unused_one(&unused)).collect();
    all.extend(uncalled(flow, &reader.called, places));
    all.extend(unfinished(urls, places));
    all.extend(reader.into_remarks(|name| {
        complaint!(
            "`{{{name}}}` is not a slot and no step captures it; it is sent literally",
            "`{{{name}}}` 不是占位符，也没有步骤提取它；会原样发送"
        )
    }));
    format_remarks(all)
}

/// Returns the remarks on scenarios; `common` contains the steps run once and the named flows.
pub(super) fn of_scenarios(
    common: &Flow,
    scenarios: &[(&str, &Flow)],
    urls: &[WeightedUrl],
    places: &StepPositions,
) -> Vec<Complaint> {
    // Scenarios do not share values, so each has its own names in addition to the common ones.
    let own = |flow: &Flow| {
        let around = Flow { setup: common.setup.clone(), teardown: common.teardown.clone(), ..flow.clone() };
        let reached: Vec<WeightedUrl> =
            around.urls().iter().filter_map(|url| urls.get(*url as usize)).cloned().collect();
        Flow { variables: Vec::new(), ..around }.with_variables(&reached)
    };
    let flows: Vec<Flow> = scenarios.iter().map(|(_, flow)| own(flow)).collect();
    let of_all = own(&Flow { flows: common.flows.clone(), ..Flow::default() });
    let once: [(Section<'_>, &[Step]); 2] = [("setup", &of_all.setup), ("teardown", &of_all.teardown)]
        .map(|(name, steps)| (Section::Own("", name), &steps[..]));
    let around = FlowPass::read((&of_all, urls, places), &once, Vec::new());
    let of_setup = captured_in(&of_all, &of_all.setup, urls);
    let read = scenarios.iter().zip(&flows).map(|((name, _), flow)| {
        let sections = [("start", &flow.start), ("flow", &flow.steps), ("end", &flow.end)];
        let sections = sections.map(|(section, steps)| (Section::Own(name, section), &steps[..]));
        FlowPass::read((flow, urls, places), &sections, of_setup.clone())
    });
    let readers: Vec<FlowPass<'_>> = read.collect();
    let called: Vec<(&str, bool)> =
        readers.iter().chain([&around]).flat_map(|reader| reader.called.iter().copied()).collect();
    let used_by_any = |name: &str| readers.iter().any(|reader| reader.used.iter().any(|used| *used == name));
    let unused = around.unused().into_iter().filter(|(name, ..)| !used_by_any(name));
    let mut all: Vec<(FilePosition, Complaint)> = unused.map(|unused| unused_one(&unused)).collect();
    all.extend(uncalled(common, &called, places));
    all.extend(unfinished(urls, places));
    all.extend(around.into_remarks(|name| {
        complaint!(
            "`{{{name}}}` is not a slot and `setup` does not capture it; it is sent literally",
            "`{{{name}}}` 不是占位符，`setup` 也没有提取它；会原样发送"
        )
    }));
    for ((name, _), reader) in scenarios.iter().zip(readers) {
        let of_it = |(at, sentence): (FilePosition, Complaint)| (at, sentence.map(|text| format!("{name}: {text}")));
        let unused = reader.unused().into_iter().filter(|(known, ..)| !of_setup.contains(known));
        all.extend(unused.map(|unused| of_it(unused_one(&unused))));
        let unknown = |word: &str| match flows.iter().any(|flow| flow.variables.iter().any(|known| known == word)) {
            true => complaint!(
                "`{{{word}}}` is captured only in another scenario; it is empty here",
                "`{{{word}}}` 只在另一个场景中提取；在这里为空"
            ),
            false => complaint!(
                "`{{{word}}}` is not a slot and no step captures it; it is sent literally",
                "`{{{word}}}` 不是占位符，也没有步骤提取它；会原样发送"
            ),
        };
        all.extend(reader.into_remarks(unknown).map(of_it));
    }
    format_remarks(all)
}

fn unused_one((name, at, captured): &(&str, FilePosition, bool)) -> (FilePosition, Complaint) {
    let (how, zh) = if *captured { ("captured", "被提取") } else { ("given", "已给出") };
    (*at, complaint!("`{name}` is {how}, but no step uses it", "`{name}` {zh}，但没有步骤使用"))
}

fn uncalled(flow: &Flow, called: &[(&str, bool)], places: &StepPositions) -> Vec<(FilePosition, Complaint)> {
    let uncalled = flow.flows.iter().filter(|other| !called.iter().any(|(name, _)| *name == other.name));
    uncalled
        .map(|other| {
            (
                places.of_called(&other.name),
                complaint!("the flow `{}` is never called", "流程 `{}` 从未被调用", other.name),
            )
        })
        .collect()
}

/// Remarks on streams whose last step sends a message that nothing waits for. The stream is closed with the iteration, and
/// the server may drop what it has not read: no response shows that it has.
fn unfinished(urls: &[WeightedUrl], places: &StepPositions) -> Vec<(FilePosition, Complaint)> {
    let mut last = BTreeMap::new();
    for (number, url) in urls.iter().enumerate() {
        for name in url.options.get("stream").into_iter().flatten() {
            last.insert((&url.url, name), (number as u32, url.options.contains_key("one-way")));
        }
    }
    let one_way = last.into_iter().filter(|(_, (_, one_way))| *one_way);
    let sentence = |name: &str| {
        complaint!(
            "nothing follows the one-way messages of the stream `{name}`, so that the server may drop what it has not \
            read when the iteration ends; end the stream with a step that has `finish: true`",
            "流 `{name}` 的单向消息之后没有任何步骤，迭代结束时服务器可能丢弃尚未读取的消息；请用带 `finish: true` 的步骤结束该流"
        )
    };
    one_way.map(|((_, name), (number, _))| (places.of_url(number), sentence(name))).collect()
}

#[cfg(test)]
mod tests {
    use brunt_cause::Complaint;

    use crate::file_tests::with_file;

    fn remarks(flow: &str) -> Vec<String> {
        let read = with_file(&format!("flow:\n{flow}"), &[]).unwrap_or_else(|complaint| panic!("{complaint}"));
        assert!(read.flow_remarks.iter().all(Complaint::is_translated), "{:?}", read.flow_remarks);
        read.flow_remarks.into_iter().map(String::from).collect()
    }

    #[test]
    fn what_is_captured_for_nobody_or_used_too_early_is_told() {
        let login = " - url: h/login\n   capture: {token: status}\n";
        let page = " - url: h/page\n   header: 'X: {token | url}'\n";
        assert_eq!(remarks(&format!("{login}{page}")), [""; 0]);
        assert_eq!(remarks(login), ["line 3: `token` is captured, but no step uses it"]);
        let early = "`token` is used before any step of the iteration has captured it, and is empty there";
        assert_eq!(remarks(&format!("{page}{login}")), [format!("line 2: {early}")]);
        let body = " - url: h/login?{token}\n   capture: {token: status}\n";
        assert_eq!(remarks(body), [format!("line 2: {early}")], "its own response comes later");
    }

    #[test]
    fn words_between_braces_that_mean_nothing_are_told() {
        let said = |name: &str| {
            vec![format!("line 2: `{{{name}}}` is not a slot and no step captures it; it is sent literally")]
        };
        assert_eq!(remarks(" - h/?{tok}\n"), said("tok"));
        assert_eq!(remarks(" - url: h\n   header: 'X: {a | url}{a}'\n"), said("a"));
        let known = " - url: h/{user}?{id={uuid}}{id}\n   data: '{\"a\":1}{{b}}{counter}{}'\n";
        assert_eq!(remarks(known), [""; 0]);
    }

    #[test]
    fn loops_and_conditions_may_use_what_comes_later() {
        let next = "steps: [{url: 'h/?{next}', capture: {next: header X}}]";
        assert_eq!(remarks(&format!(" - repeat: 3\n   {next}\n")), [""; 0]);
        assert_eq!(remarks(&format!(" - while: not next\n   {next}\n")), [""; 0]);
    }

    #[test]
    fn what_is_never_done_is_told() {
        for (flow, said) in [
            (
                " - h\n - for-each: x\n   in: []\n   steps: ['h/{x}']\n",
                "line 3: the steps of `for-each: x` never run: its list is empty",
            ),
            (" - h\nflows: {x: [h]}\n", "line 3: the flow `x` is never called"),
            (
                " - url: h\n   capture: {n: status}\n - while: n > 0\n   steps: [{if: n > 1, steps: [{url: h, capture: {n: status}}]}]\n",
                "line 4: the steps of `while: n > 0` may send nothing, and then the loop never ends; put a request or a pause outside its conditions",
            ),
            (
                " - url: h\n   capture: {ids: 'json $.ids[*]'}\n - for-each: x\n   in: ids\n   steps: ['h/{x}']\n",
                "line 4: `for-each: x` runs once, as `ids` holds one value; capture it with `| all`",
            ),
        ] {
            assert_eq!(remarks(flow), [said], "{flow}");
        }
    }

    #[test]
    fn what_flows_are_given_is_known_in_them_and_is_to_be_of_use() {
        let given = |path: &str| format!(" - call: x\n   with: {{a: 1}}\nflows: {{x: ['h/{path}']}}\n");
        assert_eq!(remarks(&given("{a}")), [""; 0]);
        assert_eq!(remarks(&given("b")), ["line 2: `a` is given, but no step uses it"]);
        let unknown = " - call: x\n   with: {a: '{b}'}\nflows: {x: ['h/{a}']}\n";
        assert_eq!(remarks(unknown), ["line 2: `{b}` is not a slot and no step captures it; it is sent literally"]);
    }

    #[test]
    fn steps_that_no_user_comes_to_are_told() {
        let state = " - url: h\n   capture: {state: status}\n";
        let page = " - url: h/?{state}\n   capture: {next: header X}\n";
        let never = |line: usize, of: &str| {
            format!("line {line}: no user ever reaches this step, as the loop of line {of} before it never ends")
        };
        for (flow, said) in [
            // The value is captured later in the same iteration.
            (
                format!(" - if: state\n   steps: [h]\n{state}"),
                vec!["line 2: the steps of `if: state` never run: no step captures `state` before it".to_owned()],
            ),
            (
                format!(" - if: not state\n   steps: [h]\n   else: [h]\n{state}"),
                vec!["line 2: the `else` of `if: not state` never runs: no step captures `state` before it".to_owned()],
            ),
            (format!(" - if: not state\n   steps: [h]\n{state}"), vec![]),
            (format!("{state} - if: state\n   steps: [h]\n   else: [h]\n"), vec![]),
            (
                format!(" - while: state > 3\n   steps: [h]\n{state}"),
                vec![
                    "line 2: the steps of `while: state > 3` never run: no step captures `state` before them"
                        .to_owned(),
                ],
            ),
            (
                format!(" - group: g\n   steps:\n    - while: not state\n      steps: [h]\n - h\n - h\n{state}"),
                vec![
                    "line 4: `while: not state` never ends: none of its steps captures `state`".to_owned(),
                    never(6, "4"),
                ],
            ),
            (
                format!("{state} - while: state == 200\n   steps: [h]\n - h\n"),
                vec![
                    "line 4: `while: state == 200` never ends once it holds: none of its steps captures `state`"
                        .to_owned(),
                ],
            ),
            (
                format!("{state} - while: next\n   steps:\n   {page} - h\n")
                    .replace("\n    - url: h/?{state}\n", "\n    - url: h/?{state}\n   "),
                vec![],
            ),
            (
                format!(" - call: x\n - h\n{state}flows:\n  x:\n   - while: not state\n     steps: [h]\n"),
                vec![
                    never(3, "8"),
                    "line 8: `while: not state` never ends: none of its steps captures `state`".to_owned(),
                ],
            ),
        ] {
            assert_eq!(remarks(&flow), said, "{flow}");
        }
    }

    #[test]
    fn streams_that_end_on_a_message_nobody_confirms_are_told() {
        let step = |options: &str| format!(" - {{url: 'grpc://h/a.S/B', stream: up{options}}}\n");
        let sends = step(", one-way: true, data: '{}'");
        let told = remarks(&sends);
        assert!(
            matches!(&told[..], [one] if one.starts_with("line 2: nothing follows the one-way messages of the stream `up`,")),
            "{told:?}"
        );
        for confirms in [step(", finish: true"), step(", await: any")] {
            assert_eq!(remarks(&format!("{sends}{confirms}")), [""; 0]);
        }
        let other = sends.replace("up", "down");
        assert_eq!(remarks(&format!("{sends}{other}{}", step(", finish: true"))).len(), 1, "that of `down`");
    }

    #[test]
    fn what_only_a_flow_that_nobody_calls_captures_is_told_once() {
        let text = " - h\nflows:\n  x: [{url: h, capture: {a: status}}, 'h/{a}']\n";
        assert_eq!(remarks(text), ["line 4: the flow `x` is never called"]);
    }
}
