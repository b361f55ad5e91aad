// A WebSocket server (ws), whose counts verify those of the tests.
//
// It prints its port, serves until its input ends, and then prints its counts as JSON. Paths: /echo
// answers each message, /fragments answers in three frames with a ping between them, /sink answers
// nothing, /push sends three messages first.
"use strict";

const { WebSocketServer } = require("ws");

const counts = { connections: 0, messages: 0, bytes: 0, pings: 0, pongs: 0, compressed: 0, normal: 0 };
const options = { host: "127.0.0.1", port: 0, perMessageDeflate: { threshold: 0 } };

const server = new WebSocketServer(options, () => console.log(server.address().port));

server.on("connection", (socket, request) => {
  counts.connections += 1;
  if (socket.extensions.includes("permessage-deflate")) counts.compressed += 1;
  const answer = {
    "/sink": () => {},
    "/fragments": (text, binary) => {
      const third = Math.ceil(text.length / 3);
      socket.send(text.subarray(0, third), { binary, fin: false });
      socket.ping("between");
      socket.send(text.subarray(third, 2 * third), { binary, fin: false });
      socket.send(text.subarray(2 * third), { binary, fin: true });
    },
  }[request.url] || ((text, binary) => socket.send(text, { binary }));
  if (request.url === "/push") for (let i = 0; i < 3; i++) socket.send('{"news":true}');
  socket.on("message", (text, binary) => {
    counts.messages += 1;
    counts.bytes += text.length;
    answer(text, binary);
  });
  socket.on("ping", () => (counts.pings += 1));
  socket.on("pong", () => (counts.pongs += 1));
  socket.on("close", (code) => (counts.normal += code === 1000 ? 1 : 0));
  socket.on("error", () => {});
});

process.stdin.on("end", () =>
  // Messages sent before the run ended may not have arrived yet.
  setTimeout(() => process.stdout.write(JSON.stringify(counts), () => process.exit()), 200),
);
process.stdin.resume();
