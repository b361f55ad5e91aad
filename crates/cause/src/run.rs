//! Causes for failures of requests sent once before or after a run.

crate::sentences! { "run":
    failed(what, why) = "`{what}` failed: {why}", "`{what}` 失败：{why}";
    failed_with(what, why, status) = "`{what}` failed: {why} ({status})", "`{what}` 失败：{why}（{status}）";
    killed(signal) = "killed by {signal}", "被 {signal} 终止", before;
    exited(code) = "exit code {code}", "退出码 {code}", before;
    endless = "a loop in it sends nothing and never ends", "其中有一个循环不发送任何请求，也不会结束";
}
