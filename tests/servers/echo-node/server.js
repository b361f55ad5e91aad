// An HTTPS server by Node, with HTTP/2 or HTTP/1.1 as negotiated by ALPN; arguments: certificate,
// key. It prints its port, answers until its standard input ends, and then prints each request as
// received, in order: version, request line, header fields in their original case, body, and the
// server name in TLS.
const fs = require('fs');
const http2 = require('http2');

const seen = [];

function answer(request, response) {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const socket = request.httpVersionMajor === 2 ? request.stream.session.socket : request.socket;
    const fields = [];
    for (let at = 0; at < request.rawHeaders.length; at += 2) {
      fields.push([request.rawHeaders[at], request.rawHeaders[at + 1]]);
    }
    seen.push({
      version: request.httpVersion,
      method: request.method,
      target: request.url,
      fields,
      body: Buffer.concat(chunks).toString('latin1'),
      name: socket.servername || '',
    });
    response.end('hello');
  });
}

const [, , cert, key] = process.argv;
const options = { cert: fs.readFileSync(cert), key: fs.readFileSync(key), allowHTTP1: true };
const server = http2.createSecureServer(options, answer);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => {
  console.log(JSON.stringify(seen));
  process.exit(0);
});
process.stdin.resume();
