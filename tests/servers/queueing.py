"""A small HTTP server with a single limit: `queueing.py PORT KIND …`; with `backlog`, PORT may be a path.

pool PLACES MS   serves PLACES requests at a time, each for MS
backlog N MS     a single blocking acceptor with a queue of N; a connection for each request, served for MS
halts PLACES MS AT FOR  like pool, but does nothing from second AT on for FOR seconds
burn MS          one thread that computes for MS per request
varied MS        answers after an exponentially distributed time with this mean, all requests concurrently
slower MS AT     answers after MS, and after twice that time from second AT on
warming MS FOR   answers after three times MS, and after MS from second FOR on
leak             opens a file for each request and keeps it open
threads N        answers at once, with N additional idle threads
nagle            writes head and body separately, so that the kernel holds the body back
whole            like nagle, but with a single write
stalls MS EVERY  answers after 5 ms, and stalls for MS every EVERY seconds
timeouts S PART  answers after 5 ms, but one in PART requests after S seconds
reads BYTES      reads bodies at BYTES per second on each connection
takes MS         reads bodies at once, and answers after MS
named MS         answers at once; also runs a name server at 127.0.0.1:53 that answers after MS and knows every name
asks PART        looks a name up for each request, at a name server at 127.0.0.1:53 that drops one in PART queries
resets           reads each request and resets its connection; like `backlog`, prints a line once it listens
forks MS         a process for each connection, which computes for MS per request
"""

import asyncio
import contextlib
import os
import random
import socket
import struct
import sys
import threading
import time

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CLOSING = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


def backlog(port, number, milliseconds):
    if isinstance(port, str):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(port)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(port)
        os.chmod(port, 0o777)
    else:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
    listener.listen(number)
    print("listening", flush=True)
    while True:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(4096)
            time.sleep(milliseconds / 1000)
            connection.sendall(CLOSING)


def thread_each(port, parts):
    """Serves each connection on a thread, and writes each response in these parts, with Nagle's algorithm."""
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)

    def serve_one(connection):
        with contextlib.suppress(OSError):
            while connection.recv(4096):
                for part in parts:
                    connection.sendall(part)
        connection.close()

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve_one, args=(connection,), daemon=True).start()


def forks(port, milliseconds):
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            while connection.recv(4096):
                end = time.process_time() + milliseconds / 1000
                while time.process_time() < end:
                    pass
                connection.sendall(ANSWER)
            os._exit(0)
        connection.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def takes_bodies(port, pause_for, pause_at_end):
    """Serves each connection on a thread that reads bodies in pieces, and pauses after each piece and before the answer."""
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)
    # By default, the window may grow until it holds whole bodies, and the client would sometimes not have to wait.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 131072)

    def serve_one(connection):
        with contextlib.suppress(OSError), connection.makefile("rb") as stream:
            while stream.readline():
                length = 0
                while (line := stream.readline()) not in (b"\r\n", b""):
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                while length > 0 and (piece := stream.read1(min(length, 16384))):
                    length -= len(piece)
                    time.sleep(pause_for(len(piece)))
                time.sleep(pause_at_end)
                connection.sendall(ANSWER)
        connection.close()

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve_one, args=(connection,), daemon=True).start()


def name_server(delay_of):
    """Answers A queries with 127.0.0.1, and others with no record, after a delay; drops those whose delay is None."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))

    def answer(question, asker, delay):
        time.sleep(delay)
        end = question.index(b"\0", 12) + 5
        is_v4 = question[end - 4 : end - 2] == b"\0\1"
        head = question[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_v4 else b"\0\0") + b"\0\0\0\0"
        record = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4\x7f\0\0\1" if is_v4 else b""
        server.sendto(head + question[12:end] + record, asker)

    while True:
        question, asker = server.recvfrom(512)
        delay = delay_of()
        if delay is not None:
            threading.Thread(target=answer, args=(question, asker, delay), daemon=True).start()


def asks(port, part):
    """Serves each connection on a thread, which looks a name up for each request."""
    asked = 0

    def delay():
        nonlocal asked
        asked += 1
        return None if asked % part == 0 else 0

    threading.Thread(target=name_server, args=(delay,), daemon=True).start()
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)

    def serve_one(connection):
        with contextlib.suppress(OSError):
            while connection.recv(4096):
                socket.getaddrinfo("database.test", 80, socket.AF_INET, socket.SOCK_STREAM)
                connection.sendall(ANSWER)
        connection.close()

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve_one, args=(connection,), daemon=True).start()


async def serve(port, work):
    async def conversation(reader, writer):
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                await work()
                writer.write(ANSWER)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(conversation, "127.0.0.1", port, backlog=1024)
    async with server:
        await server.serve_forever()


def pool(places, milliseconds):
    free = asyncio.Semaphore(places)

    async def work():
        async with free:
            await asyncio.sleep(milliseconds / 1000)

    return work


def halts(places, milliseconds, at, lasts):
    free = asyncio.Semaphore(places)
    begun = time.monotonic()

    async def work():
        async with free:
            await asyncio.sleep(milliseconds / 1000)
            since = time.monotonic() - begun - at
            if 0 <= since < lasts:
                await asyncio.sleep(lasts - since)

    return work


def burn(milliseconds):
    async def work():
        end = time.perf_counter() + milliseconds / 1000
        while time.perf_counter() < end:
            pass

    return work


def varied(milliseconds):
    async def work():
        await asyncio.sleep(random.expovariate(1000 / milliseconds))

    return work


def slower(milliseconds, at):
    begun = time.monotonic()

    async def work():
        late = time.monotonic() - begun >= at
        await asyncio.sleep(milliseconds * (2 if late else 1) / 1000)

    return work


def warming(milliseconds, until):
    begun = time.monotonic()

    async def work():
        cold = time.monotonic() - begun < until
        await asyncio.sleep(milliseconds * (3 if cold else 1) / 1000)

    return work


def leak():
    kept = []

    async def work():
        kept.append(open(os.devnull))

    return work


def stalls(milliseconds, every):
    next_stall = time.monotonic() + every

    async def work():
        nonlocal next_stall
        await asyncio.sleep(0.005)
        if time.monotonic() >= next_stall:
            next_stall += every
            time.sleep(milliseconds / 1000)

    return work


def timeouts(seconds, part):
    count = 0

    async def work():
        nonlocal count
        count += 1
        await asyncio.sleep(seconds if count % part == 0 else 0.005)

    return work


def threads(number):
    for _ in range(number):
        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()

    async def work():
        pass

    return work


def resets(port):
    listener = None
    while listener is None:
        # The server of the run before may still be ending.
        with contextlib.suppress(OSError):
            listener = socket.create_server(("127.0.0.1", port), backlog=1024)
        time.sleep(0.05)
    print("listening", flush=True)
    while True:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(4096)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def main():
    port = int(sys.argv[1]) if sys.argv[1].isdigit() else sys.argv[1]
    kind, numbers = sys.argv[2], [int(word) for word in sys.argv[3:]]
    if kind == "backlog":
        backlog(port, *numbers)
    if kind == "resets":
        resets(port)
    if kind in ("nagle", "whole"):
        head, body = ANSWER[:-2], ANSWER[-2:]
        thread_each(port, [head, body] if kind == "nagle" else [ANSWER])
    if kind == "reads":
        takes_bodies(port, lambda size: size / numbers[0], 0)
    if kind == "takes":
        takes_bodies(port, lambda _: 0, numbers[0] / 1000)
    if kind == "forks":
        forks(port, *numbers)
    if kind == "asks":
        asks(port, *numbers)
    if kind == "named":
        late = numbers.pop() / 1000
        threading.Thread(target=name_server, args=(lambda: late,), daemon=True).start()
        kind, numbers = "threads", [0]
    work = {"pool": pool, "halts": halts, "burn": burn, "varied": varied, "slower": slower, "warming": warming, "leak": leak, "threads": threads, "stalls": stalls, "timeouts": timeouts}[kind]
    asyncio.run(serve(port, work(*numbers)))


main()
