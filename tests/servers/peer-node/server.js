// PeerServer, which browsers find each other by, and which counts: its counts judge those of the tests.
//
// It prints its port, serves until its input ends, and prints what it counted as JSON: connections, messages, and how many other users
// somebody was told of.
"use strict";

const { PeerServer } = require("peer");

const counts = { connections: 0, messages: 0, users: 0, gone: 0 };
const users = new Set();
const server = PeerServer({ port: 0, host: "127.0.0.1", path: "/" }, (listening) => console.log(listening.address().port));
server.on("connection", (client) => {
  counts.connections += 1;
  users.add(client.getId());
});
server.on("disconnect", () => (counts.gone += 1));
server.on("message", () => (counts.messages += 1));
process.stdin.on("end", () =>
  // What was sent before the run ended may still be on its way.
  setTimeout(() => process.stdout.write(JSON.stringify({ ...counts, users: users.size }), () => process.exit()), 200),
);
process.stdin.resume();
