// Each user opens a WebSocket and sends the next message when the last one came back. The older interface of k6.
import ws from 'k6/ws';
import { Trend } from 'k6/metrics';

const roundTrip = new Trend('round_trip', true);

export const options = { vus: 100, duration: `${__ENV.SECONDS}s` };

export default function () {
  ws.connect(`ws://127.0.0.1:${__ENV.PORT}/echo`, null, (socket) => {
    let sent = 0;
    const send = () => { sent = Date.now(); socket.send('hello'); };
    socket.on('open', send);
    socket.on('message', () => { roundTrip.add(Date.now() - sent); send(); });
    socket.setTimeout(() => socket.close(), __ENV.SECONDS * 1000);
  });
}

export function handleSummary(data) {
  return { stdout: `messages: ${data.metrics.ws_msgs_received.values.count}\n` };
}
