// Each user opens a WebSocket and sends the next message when the last one came back.
import ws from 'k6/ws';

export const options = { vus: 100, duration: `${__ENV.SECONDS}s`, gracefulStop: '1s' };

export default function () {
  ws.connect(`ws://127.0.0.1:${__ENV.PORT}/echo`, null, (socket) => {
    socket.on('open', () => socket.send('hello'));
    socket.on('message', () => socket.send('hello'));
    socket.setTimeout(() => socket.close(), __ENV.SECONDS * 1000);
  });
}

export function handleSummary(data) {
  return { stdout: `messages: ${data.metrics.ws_msgs_received.values.count}\n` };
}
