//! The texts of `--help`, except the help of single flags.

use brunt_report::text::{Text, text};

/// The list of commands above the flags.
pub const COMMANDS: Text =
    text(include_str!("help/commands.txt").trim_ascii_end(), include_str!("help/zh/commands.txt").trim_ascii_end());

/// The text of `-h`: the most common options, on one screen.
pub const SCREEN: Text =
    text(include_str!("help/screen.txt").trim_ascii_end(), include_str!("help/zh/screen.txt").trim_ascii_end());

/// The text of `brunt help flow`.
pub const FLOW: Text =
    text(include_str!("help/flow.txt").trim_ascii_end(), include_str!("help/zh/flow.txt").trim_ascii_end());

/// The text of `brunt help exit`.
pub const EXIT: Text =
    text(include_str!("help/exit.txt").trim_ascii_end(), include_str!("help/zh/exit.txt").trim_ascii_end());

/// The text of `brunt help data`.
pub const DATA: Text =
    text(include_str!("help/data.txt").trim_ascii_end(), include_str!("help/zh/data.txt").trim_ascii_end());

/// The examples below `--help` and `brunt help all`.
pub const EXAMPLES: Text =
    text(include_str!("help/examples.txt").trim_ascii_end(), include_str!("help/zh/examples.txt").trim_ascii_end());

/// The text below `brunt calibrate --help`.
pub const CALIBRATE: Text = text(
    "Starts `brunt target` in a second process and loads it at full speed, then with a single user. It saves the CPU \
        time of a request, which gives the most that a core can send, and the lowest latency that can be measured on \
        this machine. Runs of HTTP/1.1 without TLS then show their headroom. Run it on a quiet machine, and again \
        after a change of version, kernel or number of cores.",
    "在另一个进程中启动 `brunt target`，先全速压测，再用单个用户压测。保存每个请求的 CPU 时间（由此得出一个核最多能发送多少请求）\
        和本机能测得的最低延迟。此后，不带 TLS 的 HTTP/1.1 压测会显示余量。请在空闲的机器上运行，并在更换版本、内核或核数后重新运行。",
);

/// The text below `brunt ui --help`.
pub const UI: Text = text(
    "Prints a link with a token and opens it: anyone who has it can start and control runs. The second link is view \
        only. Each run is a process of its own, and the library keeps every run of this machine that the console has \
        seen.\n\nExample: brunt ui --listen :8089 --password-file pw.txt --cert chain.pem --key key.pem --name \
        load.example",
    "显示并打开一个带令牌的链接：持有该链接的人可以启动和控制压测；第二个链接只能查看。每次压测都是单独的进程，控制台见过的本机压测都保存在库中。\n\n\
        示例：brunt ui --listen :8089 --password-file pw.txt --cert chain.pem --key key.pem --name load.example",
);

/// The text below `brunt agent --help`.
pub const AGENT: Text = text(
    "Opens one outgoing connection (UDP, QUIC with certificates of both sides) and listens on nothing. It takes one share \
        of a run at a time, keeps figures on disk until the coordinator has them, and stops its load by itself if it hears \
        nothing of the coordinator for a while. Secrets of a plan are in memory only.\n\nExample: brunt agent --join \
        coordinator.test:7447 --token @agent.token --label eu --allow 10.0.0.0/8 --max-rate 5000/s",
    "只建立一个向外的连接（UDP，QUIC，双方都用证书），不监听任何端口。一次只承担一个压测的份额；协调端收到数据之前，数据保存在磁盘上；一段时间没有协调端的消息时自行停止发压。计划中的机密只在内存中。\n\n\
        示例：brunt agent --join coordinator.test:7447 --token @agent.token --label eu --allow 10.0.0.0/8 --max-rate 5000/s",
);

/// The text below `brunt fleet --help`.
pub const FLEET: Text = text(
    "The machine on which runs are started coordinates: it listens on one UDP port while it runs something. `init` makes \
        its certificates and prints one command for each agent, with a token that speaks for that agent only.\n\nExample: \
        brunt fleet init --host coordinator.test eu-1 eu-2\n         brunt run plan.yaml --agents 2",
    "启动压测的机器就是协调端：运行期间监听一个 UDP 端口。`init` 生成证书，并为每个施压机打印一条命令，其中的令牌只能代表该施压机。\n\n\
        示例：brunt fleet init --host coordinator.test eu-1 eu-2\n      brunt run plan.yaml --agents 2",
);

/// The text below `brunt demo --help`.
pub const DEMO: Text = text(
    "Starts `brunt target` in a second process and loads it for ten seconds with 1000 requests a second, each of which \
        takes it 10 ms: results that can be trusted, even on a busy laptop. Exits with 0 when it worked, whatever the \
        verdict.",
    "在另一个进程中启动 `brunt target`，以每秒 1000 个请求压测十秒，每个请求耗时 10 ms：即使在繁忙的笔记本上，结果也可信。只要运行成功，无论结论如何，退出码都是 0。",
);

/// The text below `brunt find --help`.
pub const FIND: Text = text(
    "Doubles the load from below in short trials until an objective is missed, then halves the interval with trials of \
        -d (10 s), and tries the lower bound once more. -r says with which rate it begins; -c searches users instead. \
        It takes about 20 trials; --run-timeout bounds it. Ctrl-C ends it with what is known. Exits with 0 when both \
        bounds are known, 10 if even the first load misses, 20 if brunt was the limit, 21 if time ran out.\n\n\
        Example: brunt find 'p99<50ms' 'failed<0.1%' http://localhost:8080/",
    "先用短试验从低负载开始逐次翻倍，直到某个目标未满足；再用时长为 -d（10 s）的试验不断折半区间，最后复测下界。-r 指定起始速率；-c 改为搜索用户数。\
        大约需要 20 次试验；--run-timeout 限制总时长。按 Ctrl-C 结束并给出已知结果。上下界均已确定时退出码为 0，起始负载就不满足为 10，\
        brunt 自身成为瓶颈为 20，时间用尽为 21。\n\n示例：brunt find 'p99<50ms' 'failed<0.1%' http://localhost:8080/",
);

/// The text below `brunt compare --help`.
pub const COMPARE: Text = text(
    "Runs A B B A …, six of each, and compares the runs of one side with those of the other: throughput, p50, p95, p99 \
        and failures, by name if there are several, with intervals. Options in front apply to both sides; a side in quotes \
        may have its own. Exits with 0 when B is no worse, 11 when it is, 20 when nothing can be told. Of records it shows \
        what `brunt report` shows.\n\n\
        Example: brunt compare -c 8 -d 10s http://localhost:8080/ http://localhost:8081/\n\
        Example: brunt compare 'http://localhost:8080/' '--no-keepalive http://localhost:8080/'",
    "以 A B B A … 的顺序各运行六次，比较双方各次运行的吞吐量、p50、p95、p99 和失败率（有多个名称时逐个比较），并给出置信区间。\
        写在前面的选项对双方都有效；用引号括起的一方可以另有选项。B 不差于 A 时退出码为 0，更差为 11，无法判断为 20。给出记录文件时，结果与 \
        `brunt report` 相同。\n\n\
        示例：brunt compare -c 8 -d 10s http://localhost:8080/ http://localhost:8081/\n\
        示例：brunt compare 'http://localhost:8080/' '--no-keepalive http://localhost:8080/'",
);

/// The text below `brunt sweep --help`.
pub const SWEEP: Text = text(
    "Runs every combination of the values of one or two options: throughput, p50, p95, p99 and failures of each. Along users \
        it says how throughput scales (universal scalability law), from how many users on they queue for certain, and how \
        efficient each is; along rates, which is the first that is not sustained. Exits with 0, or 20 if a cell cannot be \
        trusted.\n\n\
        Example: brunt sweep -c 1,2,4,8,16,32 --option no-keepalive=off,on http://localhost:8080/\n\
        Example: brunt sweep -r 100..2000/8 -d 5s http://localhost:8080/",
    "对一到两个选项的取值做全部组合，逐一压测：给出各自的吞吐量、p50、p95、p99 和失败率。沿用户数方向，说明吞吐量如何随用户数变化（通用可扩展性定律）、\
        从多少用户起必然排队、各点的效率；沿速率方向，指出第一个无法维持的速率。退出码为 0；若有不可信的格则为 20。\n\n\
        示例：brunt sweep -c 1,2,4,8,16,32 --option no-keepalive=off,on http://localhost:8080/\n\
        示例：brunt sweep -r 100..2000/8 -d 5s http://localhost:8080/",
);

/// The text below `brunt ladder --help`.
pub const LADDER: Text = text(
    "Runs each rung with 1, 2, 4 … users until throughput stops rising, or an objective is missed. Says what each adds to \
        the response of a user alone and to the CPU of a request, which share of the capacity it keeps, and why: free, CPU, one \
        at a time, a pool (--pool N). A rung may be a command line in quotes. Exits with 0, or 20 if a rung cannot be \
        told.\n\n\
        Example: brunt ladder --watch-port 8080 empty=http://localhost:8080/empty redis=http://localhost:8080/redis",
    "每一级依次用 1、2、4……个用户压测，直到吞吐量不再上升或某个目标未满足。给出每一级使单个用户的响应和每请求 CPU 增加多少、容量保留多少，以及原因：\
        没有代价、CPU、一次只处理一个、池（--pool N）。一级也可以是用引号括起的命令行。退出码为 0；若有一级无法判断则为 20。\n\n\
        示例：brunt ladder --watch-port 8080 empty=http://localhost:8080/empty redis=http://localhost:8080/redis",
);

/// The text below `brunt trend --help`.
pub const TREND: Text = text(
    "The latest record says which test it is; records of another plan, load or target are left out. A change is found by the \
        whole history (change points of E-divisive, from eight runs on), not by the last run against the one before it.\n\n\
        Example: brunt trend records/",
    "以最新的记录确定是哪个测试；计划、负载或目标不同的记录不计入。变化由整个历史判断（E-divisive 变点检测，至少八次运行），而不是只拿最近一次与前一次相比。\n\n\
        示例：brunt trend records/",
);

/// The text below `brunt plan --help`.
pub const PLAN: Text = text(
    "Example: brunt plan -c 50 -d 30s http://localhost:8080/ > plan.yaml",
    "示例：brunt plan -c 50 -d 30s http://localhost:8080/ > plan.yaml",
);

/// The text below `brunt doctor --help`.
pub const DOCTOR: Text = text(
    "Example: brunt doctor -r 2000/s -d 1m --no-keepalive http://10.0.0.7:8080/",
    "示例：brunt doctor -r 2000/s -d 1m --no-keepalive http://10.0.0.7:8080/",
);

/// The text below `brunt report --help`.
pub const REPORT: Text = text(
    "Example: brunt report -v shows all of the last run; brunt report A.bruntrec B.bruntrec compares two",
    "示例：brunt report -v 显示最近一次压测的全部数据；brunt report A.bruntrec B.bruntrec 比较两次压测",
);

/// The text below `brunt capacity --help`.
pub const CAPACITY: Text = text(
    "Shows each formula with its numbers filled in, rounds up, and names the weakest number. A record counts as capacity \
        only if its figures are trusted and its objectives met: otherwise the answer says why not, and brunt exits with 20.\n\n\
        Example: brunt capacity --views 30M --per-machine 69/s --growth 1.5 --spare 1",
    "显示每个公式及其代入的数字，向上取整，并指出最薄弱的数字。只有数据可信且目标（SLO）通过的压测记录才能当作容量：否则会说明原因，退出码为 20。\n\n\
        示例：brunt capacity --views 3000万 --per-machine 69/s --growth 1.5 --spare 1",
);

/// The text below `brunt lint --help`.
pub const LINT: Text = text(
    "Reads outputs, the commands beside them, tables of throughput, and divisions in prose; everything else is ignored. \
        x contradicts another figure, ! cannot bear what it is read for, - is worth knowing. Exits with 10 if it found \
        any x or !, with 0 otherwise, and with 64 if there is nothing that it can check.\n\n\
        Example: ab -n 1000 -c 10 http://localhost:8080/ | brunt lint -",
    "读取输出、旁边的命令、吞吐量表格和文字中的除法；其余内容都会忽略。x 表示与其他数字矛盾，! 表示该数字不足以支持通常的解读，- 表示值得了解。\
        有 x 或 ! 时退出码为 10，否则为 0；没有可检查的内容时为 64。\n\n\
        示例：ab -n 1000 -c 10 http://localhost:8080/ | brunt lint -",
);

/// The help of `-h` and `-V`.
pub const HELP_FLAG: Text =
    text("Show help (--help: all of it; brunt help TOPIC)", "显示帮助（--help：全部；brunt help TOPIC）");
pub const VERSION_FLAG: Text = text("Print version", "显示版本");

/// The words around the options of a page.
pub const OPTIONS: Text = text("Options", "选项");
pub const ARGUMENTS: Text = text("Arguments", "参数");
pub const REQUEST: Text = text("Request ({protocol})", "请求（{protocol}）");
