// Three requests: the token of the first in a header of the others, its cookie kept by k6.
import http from 'k6/http';

export const options = { vus: 1000, duration: `${__ENV.SECONDS}s` };

const base = `http://127.0.0.1:${__ENV.PORT}`;

export default function () {
  const token = http.get(`${base}/login`).json('token');
  const headers = { headers: { Authorization: `Bearer ${token}` } };
  http.get(`${base}/items`, headers);
  http.get(`${base}/basket`, headers);
}

export function handleSummary(data) {
  return { stdout: `requests: ${data.metrics.http_reqs.values.count}\n` };
}
