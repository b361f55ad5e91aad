"""An HTTP/1.1 server that keeps sessions by cookie and asks for bodies, for the tests of cookies and of `Expect`.

`/` begins a session if the request has no session cookie, and otherwise counts the request. `/login` begins a session and
redirects to `/home`. `/end` deletes the cookie. `/refuse` answers 413 without asking for the body, `/echo` asks for it and echoes it.
When its input ends, it prints its counts: `sessions requests strangers continued`.
"""

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lock = threading.Lock()
sessions = {}
strangers = 0
continued = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *_):
        pass

    def session(self):
        pairs = [pair.strip().partition("=") for pair in self.headers.get("Cookie", "").split(";")]
        return next((value for name, _, value in pairs if name == "sid"), None)

    def answer(self, status, *lines, body=b""):
        self.send_response(status)
        for name, value in lines:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def begin(self):
        with lock:
            sid = f"s{len(sessions)}"
            sessions[sid] = 0
        return "Set-Cookie", f"sid={sid}; Path=/; HttpOnly"

    def do_GET(self):
        global strangers
        path, sid = self.path.partition("?")[0], self.session()
        if path == "/login":
            return self.answer(302, self.begin(), ("Location", "/home"))
        if path == "/end":
            return self.answer(200, ("Set-Cookie", "sid=; Path=/; Max-Age=0"))
        with lock:
            known = sid in sessions
            if known:
                sessions[sid] += 1
            elif sid is not None or path == "/home":
                strangers += 1
        if known:
            return self.answer(200, body=sid.encode())
        self.answer(200, self.begin()) if path == "/" else self.answer(401)

    def handle_expect_100(self):
        global continued
        if self.path == "/refuse":
            self.close_connection = True
            self.answer(413, ("Connection", "close"))
            return False
        with lock:
            continued += 1
        super().handle_expect_100()
        self.wfile.flush()
        return True

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(200, body=body)


class Server(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
with lock:
    print(len(sessions), sum(sessions.values()), strangers, continued)
