// HTTP/2 by Node, in clear text or, with two arguments (certificate, key), over TLS, where it also
// accepts HTTP/1.1. It prints its port, answers until its standard input ends, and then prints the
// number of requests it answered and how many of them used HTTP/2.
const fs = require('fs');
const http2 = require('http2');

let answered = 0;
let two = 0;

function answer(request, response) {
  let bytes = 0;
  request.on('data', (chunk) => (bytes += chunk.length));
  request.on('end', () => {
    answered += 1;
    if (request.httpVersionMajor === 2) two += 1;
    response.setHeader('x-received', String(bytes));
    if (request.url === '/status') response.statusCode = 503;
    response.end('hello');
  });
}

const [, , cert, key] = process.argv;
const server = cert
  ? http2.createSecureServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key), allowHTTP1: true }, answer)
  : http2.createServer({ settings: { maxConcurrentStreams: 5 } }, answer);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => {
  console.log(`${answered} ${two}`);
  process.exit(0);
});
process.stdin.resume();
