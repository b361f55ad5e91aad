// Each user opens a WebSocket and sends the next message when the last one came back. The interface that k6's documentation
// recommends.
import { WebSocket } from 'k6/websockets';
import { Trend } from 'k6/metrics';

const roundTrip = new Trend('round_trip', true);

export const options = { vus: 100, duration: `${__ENV.SECONDS}s` };

export default function () {
  const socket = new WebSocket(`ws://127.0.0.1:${__ENV.PORT}/echo`);
  let sent = 0;
  const send = () => { sent = Date.now(); socket.send('hello'); };
  socket.addEventListener('open', send);
  socket.addEventListener('message', () => { roundTrip.add(Date.now() - sent); send(); });
  setTimeout(() => socket.close(), __ENV.SECONDS * 1000);
}

export function handleSummary(data) {
  return { stdout: `messages: ${data.metrics.ws_msgs_received.values.count}\n` };
}
