"""Third-party readers of brunt's metrics: Prometheus' own parser, and a collector built from OpenTelemetry's own messages.

`scrape URL`: prints the samples of a text exposition as JSON. `collect`: prints its port, accepts exports until its input
ends, then prints the last one as JSON, with the number of exports; with `refuse` it answers 503.
"""
import json
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def scrape(url):
    from prometheus_client.parser import text_string_to_metric_families

    text = urllib.request.urlopen(url, timeout=20).read().decode()
    families = list(text_string_to_metric_families(text))
    samples = [[s.name, s.labels, s.value] for family in families for s in family.samples]
    print(json.dumps({"types": {family.name: family.type for family in families}, "samples": samples}))


def labels(point):
    return {pair.key: pair.value.string_value for pair in point.attributes}


def told(request):
    """Returns all points of an export: name, attributes, value or count, sum, scale and buckets."""
    points, attributes = [], {}
    for resource in request.resource_metrics:
        attributes.update(labels(resource.resource))
        for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
            kind = metric.WhichOneof("data")
            for point in getattr(metric, kind).data_points:
                if kind == "exponential_histogram":
                    buckets = point.positive
                    value = [point.count, point.sum, point.scale, point.zero_count, buckets.offset, list(buckets.bucket_counts)]
                else:
                    value = getattr(point, point.WhichOneof("value"))
                points.append([metric.name, labels(point), value])
    return {"resource": attributes, "points": points}


def spans(body):
    """Returns the spans of an export with their attributes."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    def value(pair):
        return getattr(pair.value, pair.value.WhichOneof("value"))

    request = ExportTraceServiceRequest.FromString(body)
    scopes = (scope for resource in request.resource_spans for scope in resource.scope_spans)
    return [
        {
            "trace": span.trace_id.hex(),
            "span": span.span_id.hex(),
            "parent": span.parent_span_id.hex(),
            "name": span.name,
            "kind": span.kind,
            "flags": span.flags,
            "start": span.start_time_unix_nano,
            "end": span.end_time_unix_nano,
            "status": span.status.code,
            "events": [[event.name, event.time_unix_nano] for event in span.events],
            "attributes": {pair.key: value(pair) for pair in span.attributes},
        }
        for scope in scopes
        for span in scope.spans
    ]


def collect(refuse):
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
        ExportMetricsServiceResponse,
    )

    seen = {"exports": 0, "spans": [], "heard": []}

    class Collector(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            """Acts as the service under load, and records the trace context of each request."""
            seen["heard"].append(self.headers.get("traceparent"))
            self.send_response(503 if self.path == "/fail" else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            good = self.path == "/v1/metrics" and self.headers["Content-Type"] == "application/x-protobuf"
            if self.path == "/v1/traces" and not refuse:
                good = True
                seen["spans"].extend(spans(body))
            elif good and not refuse:
                seen.update(told(ExportMetricsServiceRequest.FromString(body)))
                seen.update(exports=seen["exports"] + 1, key=self.headers.get("api-key"))
            answer = ExportMetricsServiceResponse().SerializeToString()
            self.send_response(503 if refuse else 200 if good else 400)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    print(json.dumps(seen))


if sys.argv[1] == "scrape":
    scrape(sys.argv[2])
else:
    collect(sys.argv[2:] == ["refuse"])
