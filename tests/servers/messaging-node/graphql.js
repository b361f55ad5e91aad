// A server of GraphQL over WebSocket (graphql-ws), whose counts verify those of the tests.
//
// It prints its port, serves until its input ends, and then prints its counts as JSON. It accepts
// clients with {"token":"open"}, and then sends a numbered ping every 100 ms; a pong is right if it
// has the number of a ping without a pong. The first connection precedes the run, so its pongs are
// not counted.
"use strict";

const { GraphQLObjectType, GraphQLSchema, GraphQLString } = require("graphql");
const { useServer } = require("graphql-ws/use/ws");
const { WebSocketServer } = require("ws");

const counts = { connections: 0, queries: 0, pongs: 0, right: 0 };
const hello = {
  type: GraphQLString,
  args: { name: { type: GraphQLString } },
  resolve: (_, { name }) => {
    counts.queries += 1;
    return `hello ${name}`;
  },
};
const schema = new GraphQLSchema({ query: new GraphQLObjectType({ name: "Query", fields: { hello } }) });
const server = new WebSocketServer({ host: "127.0.0.1", port: 0 }, () => console.log(server.address().port));

const options = {
  schema,
  onConnect: ({ connectionParams, extra: { socket } }) => {
    if (connectionParams?.token !== "open") return false;
    counts.connections += 1;
    const counted = counts.connections > 1;
    const open = new Set();
    let number = 0;
    const ping = () => {
      open.add(number);
      socket.send(JSON.stringify({ type: "ping", payload: { number: number++ } }));
    };
    const timer = setInterval(ping, 100);
    socket.on("close", () => clearInterval(timer));
    // The library does not report pongs.
    socket.on("message", (text) => {
      const { type, payload } = JSON.parse(text);
      if (!counted || type !== "pong") return;
      counts.pongs += 1;
      counts.right += open.delete(payload?.number) ? 1 : 0;
    });
    return true;
  },
};
useServer(options, server);

process.stdin.on("end", () =>
  // Messages sent before the run ended may not have arrived yet.
  setTimeout(() => process.stdout.write(JSON.stringify(counts), () => process.exit()), 200),
);
process.stdin.resume();
