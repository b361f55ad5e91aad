//! Causes for Redis: replies, and explanations of errors.

crate::sentences! { "redis":
    full = "the server refuses connections: maxclients has been reached", "服务器拒绝连接：已达到 maxclients";
    empty_line = "an empty line where a reply should start", "应该是应答的位置出现了空行";
    wrong_value = "a reply whose value does not match its type", "应答的值与其类型不符";
    streamed = "a streamed reply, which is not supported", "收到流式应答，brunt 不支持";
    no_type = "a reply that does not start with a RESP2 or RESP3 type", "应答开头不是 RESP2 或 RESP3 的类型标记";
    uses_tls = "the server uses TLS on this port; use rediss://", "服务器在该端口使用 TLS；请改用 rediss://";
    too_many = "a reply that announces more than 2^40 bytes or elements", "应答声明的字节数或元素数超过 2^40";
    no_count = "a reply whose length is not a number", "应答的长度不是数字";
    unsolicited = "an unsolicited reply", "收到没有对应请求的应答";
    unended = "a string that does not end where its length says", "字符串的实际长度与声明的不符";
    endless = "a line of more than 64 KiB where a reply should be", "应该是应答的位置出现了超过 64 KiB 的一行";
    refused = "the server refused the connection with an error", "服务器拒绝了连接并返回错误";
    line_end = "a line that does not end in CR LF", "行没有以 CR LF 结尾";
    push_within = "a push message inside a reply", "应答中间夹有推送消息";
    wrong_password =
        "the server rejected the name or password (WRONGPASS); correct them in the URL",
        "服务器拒绝了用户名或密码（WRONGPASS）；请在 URL 中更正";
    no_password =
        "the server requires a password (NOAUTH); use redis://:password@host, or redis://name:password@host",
        "服务器要求密码（NOAUTH）；请写成 redis://:password@host 或 redis://name:password@host";
    no_hello = "the server refused HELLO 3; leave out --resp 3", "服务器拒绝了 HELLO 3；请去掉 --resp 3";
    no_auth = "the server refused AUTH", "服务器拒绝了 AUTH";
    select_not_permitted = "the server does not permit SELECT (NOPERM)", "服务器不允许 SELECT（NOPERM）";
    no_select = "the server refused to SELECT the database of the URL", "服务器拒绝用 SELECT 切换到 URL 指定的数据库";
    too_large =
        "the reply is too large to check: more than 16 MiB, or too much together with all the others held",
        "应答过大，无法检查：超过 16 MiB，或同时缓存的内容过多", own;
    incomplete = "the reply is incomplete", "应答不完整";
    too_deep = "the reply is nested more than 64 deep, the limit for checks", "应答嵌套超过检查上限 64 层", own;
    wrong_type = "the key holds a value of the wrong type for the command", "该键的值类型不适用于此命令";
    moved =
        "MOVED: this cluster node does not serve the key's slot; the one named in the reply does. Target that node, or \
            put the keys in one slot with a hash tag ({{tag}} in a command)",
        "MOVED：该键的槽不在此集群节点上，而在应答给出的节点上。请直接压测该节点，或用哈希标签（命令中的 {{tag}}）把键放入同一个槽";
    ask =
        "ASK: the key's slot is migrating to the node named in the reply, which has to serve this one command",
        "ASK：该键的槽正在迁移到应答给出的节点，此命令须由该节点处理";
    auth_required =
        "the server requires a password; put it in the URL: redis://:password@host, or redis://name:password@host",
        "服务器要求密码；请写入 URL：redis://:password@host 或 redis://name:password@host";
    wrong_account = "the name or the password in the URL is wrong", "URL 中的用户名或密码有误";
    no_permission =
        "the user's ACL does not permit the command, the key or the channel", "该用户的 ACL 不允许此命令、键或频道";
    out_of_memory =
        "the server is at maxmemory and cannot evict anything for this command",
        "服务器内存已达 maxmemory，且没有可为此命令淘汰的键";
    busy = "a script on the server has exceeded its time limit", "服务器上的脚本超过了时间限制";
    loading = "the server is still loading its dataset from disk", "服务器仍在从磁盘加载数据集";
    read_only = "this server is a read-only replica", "该服务器是只读副本";
    cluster_down =
        "the cluster does not serve the slot: part of it is down, or slots are unassigned",
        "集群中该槽不可用：部分节点已下线，或有槽未分配";
    cross_slot =
        "the command's keys are in different cluster slots; give them the same hash tag ({{tag}} in a command)",
        "该命令的键位于不同的集群槽；请为它们加上相同的哈希标签（命令中的 {{tag}}）";
    try_again = "the command's keys are migrating to another cluster node", "该命令的键正在迁移到另一个集群节点";
    no_script =
        "the server does not know the script; load it with --before 'SCRIPT LOAD …'",
        "服务器没有该脚本；请用 --before 'SCRIPT LOAD …' 加载";
    exec_aborted =
        "the transaction was discarded because one of its commands was rejected", "事务中有命令被拒绝，整个事务已放弃";
    misconfigured =
        "the server rejects writes because it cannot persist them to disk", "服务器拒绝写入，因为无法将其持久化到磁盘";
    no_replicas = "not enough replicas for a write", "副本不足，无法写入";
    master_down = "this replica lost its master and must not serve stale data", "该副本已与主节点断开，且不允许提供过期数据";
    no_protocol = "the server does not support this RESP version", "服务器不支持该 RESP 版本";
    denied = "the server is in protected mode and only accepts local connections", "服务器处于保护模式，只接受本地连接";
    no_words = "a command with no words or too many", "命令为空或参数过多";
    no_word_length = "a command word without its length", "命令的参数缺少长度";
    wrong_word_end = "a command word that does not end where its length says", "命令参数的实际长度与声明的不符";
    long_command = "a command larger than 1 MiB", "命令超过 1 MiB";
}
