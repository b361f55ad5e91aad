"""A server based on gRPC's C core (through Python) for the end-to-end tests: brunt.Target, health checks and reflection.

It listens on a port chosen by the kernel and prints it. When its standard input ends, it prints its counts as JSON
and exits. There is no generated code: messages are built from the descriptors below.
"""

import concurrent.futures
import json
import sys
import threading

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

STRING, UINT32, UINT64 = 9, 13, 4


def describe():
    file = descriptor_pb2.FileDescriptorProto(name="brunt/target.proto", package="brunt", syntax="proto3")
    for name, fields in (
        ("Payload", (("text", STRING), ("count", UINT32))),
        ("Summary", (("messages", UINT32), ("bytes", UINT64))),
    ):
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields, 1):
            message.field.add(name=field, json_name=field, number=number, type=kind, label=1)
    service = file.service.add(name="Target")
    for name, output, asks, answers in (
        ("Unary", "Payload", False, False),
        ("ClientStream", "Summary", True, False),
        ("ServerStream", "Payload", False, True),
        ("Bidi", "Payload", True, True),
    ):
        service.method.add(
            name=name, input_type=".brunt.Payload", output_type=".brunt." + output, client_streaming=asks,
            server_streaming=answers)
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName("brunt." + n)) for n in ("Payload", "Summary")]


Payload, Summary = describe()
lock = threading.Lock()
counts = dict.fromkeys(("unary", "client_stream", "server_stream", "bidi", "heard", "said"), 0)


def count(name, by=1):
    with lock:
        counts[name] += by


def obey(message, context):
    """Obeys the text of a message: "status 5 words" fails with this status."""
    count("heard")
    words = message.text.split(" ", 2)
    if words[0] == "status" and len(words) == 3:
        code = next(code for code in grpc.StatusCode if code.value[0] == int(words[1]))
        context.abort(code, words[2])


def unary(message, context):
    count("unary")
    obey(message, context)
    count("said")
    return message


def client_stream(messages, context):
    count("client_stream")
    answer = Summary()
    for message in messages:
        obey(message, context)
        answer.messages += 1
        answer.bytes += message.ByteSize()
    count("said")
    return answer


def server_stream(message, context):
    count("server_stream")
    obey(message, context)
    for _ in range(max(1, message.count)):
        count("said")
        yield message


def bidi(messages, context):
    count("bidi")
    for message in messages:
        obey(message, context)
        count("said")
        yield message


def main():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=8))
    read, write = Payload.FromString, lambda message: message.SerializeToString()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("brunt.Target", {
        "Unary": grpc.unary_unary_rpc_method_handler(unary, read, write),
        "ClientStream": grpc.stream_unary_rpc_method_handler(client_stream, read, write),
        "ServerStream": grpc.unary_stream_rpc_method_handler(server_stream, read, write),
        "Bidi": grpc.stream_stream_rpc_method_handler(bidi, read, write),
    }),))
    checks = health.HealthServicer()
    checks.set("", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    names = ("brunt.Target", health.SERVICE_NAME, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server)
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    sys.stdin.read()
    server.stop(None).wait()
    print(json.dumps(counts), flush=True)


main()
