//! Causes for raw protocols with declared framing.

crate::sentences! { "raw":
    unsolicited = "unsolicited bytes", "收到没有对应请求的数据";
    length_not_a_number = "the length of the response is not a number", "响应的长度不是数字";
    length_too_small =
        "the length of the response is less than what comes before it", "响应的长度值小于长度字段之前的字节数";
    length_out_of_range = "the length of the response is out of range", "响应的长度超出范围";
}
