"""A server with a length-prefixed binary protocol, for the tests of declared framing.

A frame consists of a sequence number (4 bytes), a kind (1), a status (1), the length of the body (2, big endian) and the body.
Kind 1 is echoed with status 0, kind 2 is answered with the number of frames of kind 1 so far, any other kind with status 9.
If the first argument is "shuffled", the frames of a connection are answered in pairs, in reverse order.
"""

import asyncio
import struct
import sys

HEAD = struct.Struct(">IBBH")
echoed = 0


def answer(number, kind, body):
    global echoed
    if kind == 1:
        echoed += 1
        return HEAD.pack(number, kind, 0, len(body)) + body
    if kind == 2:
        body = str(echoed).encode()
        return HEAD.pack(number, kind, 0, len(body)) + body
    return HEAD.pack(number, kind, 9, 0)


async def serve(reader, writer):
    held = []
    try:
        while True:
            number, kind, _, length = HEAD.unpack(await reader.readexactly(HEAD.size))
            held.append(answer(number, kind, await reader.readexactly(length)))
            # A frame without a successor is answered at once.
            if len(held) == 2 or not sys.argv[1:] == ["shuffled"] or not reader._buffer:
                writer.write(b"".join(reversed(held)))
                held.clear()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
