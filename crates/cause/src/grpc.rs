//! Causes for gRPC: messages, streams and statuses.

crate::sentences! { "grpc":
    no_length_prefix = "the bytes between messages are not a length prefix", "消息之间的字节不是有效的长度前缀";
    no_status_header = "the response headers have no final :status", "响应头中没有最终的 :status";
    no_grpc =
        "the response is not gRPC: its content-type is not application/grpc",
        "响应不是 gRPC：其 content-type 不是 application/grpc";
    headers_within = "a second set of headers came between the messages", "消息之间出现了第二组头部";
    no_headers = "the response starts without headers", "响应的开头缺少头部";
    stream_refused = "the server refused the stream", "服务器拒绝了该流";
    after_one(why) = "{why}, after 1 message", "{why}（在 1 条消息之后）";
    after(why, n) = "{why}, after {n} messages", "{why}（在 {n} 条消息之后）";
    http_status(status) = "HTTP status {status} and no grpc-status", "HTTP 状态码为 {status}，且没有 grpc-status";
    no_grpc_status = "the response ended without grpc-status", "响应结束时没有 grpc-status";
    cut_message = "the status is OK, but the last message is cut short", "状态为 OK，但最后一条消息不完整";
    not_one(n) = "the status is OK, but with {n} messages instead of one", "状态为 OK，但消息有 {n} 条，应为一条";
    unrequested_compression = "a message is compressed, which was not requested", "消息经过压缩，但并未请求压缩";
    no_encoding = "a message is compressed, but grpc-encoding is missing", "消息经过压缩，但缺少 grpc-encoding";
    other_encoding = "a message is compressed with an encoding that was not offered", "消息使用了请求中未列出的压缩编码";
    broken_compression = "a compressed message that is broken or larger than 16 MiB", "压缩消息已损坏，或超过 16 MiB";
    long_decompressed = "a response larger than 64 MiB when decompressed", "响应解压后超过 64 MiB";
    messages(expected, found) = "expected messages: {expected}, found {found}", "预期消息数：{expected}，实际为 {found}";
    misfit(field, kind, value) =
        "{field} is {kind}, and the value to be sent is \"{value}\", so nothing was sent; capture another value",
        "{field} 的类型为 {kind}，而要发送的值为 \"{value}\"，因此没有发送；请捕获其他值";
    no_message = "the response has no message", "响应没有消息";
    long_message(size, most) =
        "a message of {size} is larger than {most}, the limit for checks",
        "一条 {size} 的消息超过检查上限 {most}", own;
    message_unchecked(size, why) = "a message of {size} was not checked: {why}", "一条 {size} 的消息未检查：{why}", own;
    not_of_kind(size, kind) = "a message of {size} is not a {kind}", "一条 {size} 的消息不是 {kind}";
    no_json(size) = "a message of {size} cannot be converted to JSON", "一条 {size} 的消息无法转换为 JSON";
    not_open =
        "the stream is not open: it has already ended, or the step that opens it was skipped",
        "流未打开：它此前已结束，或打开它的步骤被跳过";
    step_busy =
        "another step of the same user is in progress on the stream; run them one after another",
        "该用户的另一个步骤正在使用此流；请让这些步骤先后执行";
    no_room_for_streams =
        "the server accepts no more streams on this user's connection", "服务器不允许在该用户的连接上再打开新的流";
    awaited_in_vain =
        "an earlier step did not get its message and gave up the stream", "前面的步骤没有等到消息，已放弃该流";
    unsent_in_time =
        "an earlier step could not send its message in time and gave up the stream", "前面的步骤未能及时发出消息，已放弃该流";
    ended_before_sent =
        "the stream ended with OK before this message could be sent", "这条消息尚未发出，流已以 OK 结束";
    ended_ok = "the stream ended with OK before the message that this step waits for", "此步骤等待的消息尚未到达，流已以 OK 结束";
    cancelled = "the call was cancelled, usually by the caller", "调用已取消，通常是调用方取消的";
    unknown = "an unspecified error, or an exception in the handler", "未知错误，或服务端处理程序抛出异常";
    invalid_argument = "the request itself is invalid, whatever the server's state", "请求本身无效，与服务器状态无关";
    deadline_exceeded = "the deadline passed before the call finished", "调用完成前已超过截止时间";
    not_found = "the requested entity does not exist", "请求的对象不存在";
    already_exists = "the entity to be created already exists", "要创建的对象已存在";
    permission_denied = "the caller is not allowed to do this", "调用方无权执行此操作";
    resource_exhausted = "a quota, rate limit or memory is exhausted", "配额、限流额度或内存已耗尽";
    failed_precondition = "the server's state does not allow the call", "服务器当前的状态不允许该调用";
    aborted =
        "the call was aborted by a conflict, such as between two transactions", "调用因冲突而中止，例如两个事务之间的冲突";
    beyond_range = "the call went past the end of a valid range", "调用超出了有效范围";
    unimplemented = "the server does not know the method", "服务器不支持该方法";
    internal = "an invariant is broken: a bug or a broken peer", "违反内部约束：程序有缺陷，或对端异常";
    unavailable = "the service is currently unavailable; a retry may succeed", "服务当前不可用；重试可能成功";
    data_loss = "data is unrecoverably lost", "数据已丢失且无法恢复";
    unauthenticated =
        "the caller is not authenticated: credentials are missing or wrong", "调用方未通过认证：缺少凭据或凭据有误";
    no_such_status = "not a status defined by gRPC", "不是 gRPC 定义的状态";
}
