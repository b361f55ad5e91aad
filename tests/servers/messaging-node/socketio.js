// A server of socket.io that counts: its counts judge those of the tests.
//
// It prints its port, serves until its input ends, and prints what it counted as JSON. It sends a ping every 100 ms, answers
// "ask" with what was asked, and lets nobody in who says {"token":"wrong"}. The first connection is the one before the run:
// its pongs are not counted.
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
  // What was sent before the run ended may still be on its way.
  setTimeout(() => process.stdout.write(JSON.stringify(counts), () => process.exit()), 200),
);
process.stdin.resume();
