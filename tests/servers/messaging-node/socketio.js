// A socket.io server, whose counts verify those of the tests.
//
// It prints its port, serves until its input ends, and then prints its counts as JSON. It sends a
// ping every 100 ms, echoes the payload of "ask", and rejects clients with {"token":"wrong"}. The
// first connection precedes the run, so its pongs are not counted.
"use strict";

const http = require("http");
const { Server } = require("socket.io");

const counts = { connections: 0, introduced: 0, refused: 0, asked: 0, pongs: 0 };
const server = http.createServer();
const io = new Server(server, { transports: ["websocket"], pingInterval: 100, pingTimeout: 60000, serveClient: false });

io.engine.on("connection", (socket) => {
  counts.connections += 1;
  const counted = counts.connections > 1;
  socket.on("packet", (packet) => (counts.pongs += counted && packet.type === "pong" ? 1 : 0));
});
io.use((socket, next) => {
  const wrong = socket.handshake.auth.token === "wrong";
  counts.refused += wrong ? 1 : 0;
  next(wrong ? new Error("go away") : undefined);
});
io.on("connection", (socket) => {
  counts.introduced += 1;
  socket.on("ask", (text, answer) => {
    counts.asked += 1;
    answer(text);
  });
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () =>
  // Messages sent before the run ended may not have arrived yet.
  setTimeout(() => process.stdout.write(JSON.stringify(counts), () => process.exit()), 200),
);
process.stdin.resume();
