// PeerServer, through which browsers find each other. Its counts verify those of the tests.
//
// It prints its port, serves until its input ends, and then prints its counts as JSON: connections,
// disconnections, messages and distinct users.
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
  // Messages sent before the run ended may not have arrived yet.
  setTimeout(() => process.stdout.write(JSON.stringify({ ...counts, users: users.size }), () => process.exit()), 200),
);
process.stdin.resume();
