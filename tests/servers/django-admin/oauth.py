"""Django OAuth Toolkit, unmodified: an authorisation server that issues tokens for client credentials, and a resource that requires
one. Tokens expire after one second.

Twenty clients, client1 to client20, whose secrets are secret1 to secret20. It prints its port and, when its input ends,
counts from its database and how often the resource was granted and refused.
"""

import json
import socketserver
import sys
import tempfile
import threading
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import django
from django.conf import settings

folder = tempfile.TemporaryDirectory()
settings.configure(
    SECRET_KEY="of a test",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": Path(folder.name) / "db.sqlite3",
            "OPTIONS": {"timeout": 60, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"},
        }
    },
    # A fast hash, because hashing is not under test.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider"],
    OAUTH2_PROVIDER={"ACCESS_TOKEN_EXPIRE_SECONDS": 1, "SCOPES": {"read": "Reading"}},
)
django.setup()

from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from oauth2_provider.views.generic import ProtectedResourceView  # noqa: E402

counts = {"given": 0, "refused": 0}
lock = threading.Lock()


class Orders(ProtectedResourceView):
    def dispatch(self, request, *args, **kwargs):
        response = super().dispatch(request, *args, **kwargs)
        # Without a valid token, OAuth Toolkit answers 403; RFC 6750 (3.1) requires 401.
        if response.status_code == 403:
            response = JsonResponse({"error": "invalid_token"}, status=401)
            response["WWW-Authenticate"] = 'Bearer error="invalid_token"'
        with lock:
            counts["refused" if response.status_code == 401 else "given"] += 1
        return response

    def get(self, request, *args, **kwargs):
        return JsonResponse({"client": request.resource_owner and str(request.resource_owner), "orders": [1, 2, 3]})


urlpatterns = [path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")), path("orders", Orders.as_view())]


class Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 256


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def main():
    from oauth2_provider.models import AccessToken, Application

    call_command("migrate", verbosity=0)
    for n in range(1, 21):
        Application.objects.create(
            client_id=f"client{n}",
            client_secret=f"secret{n}",
            client_type=Application.CLIENT_CONFIDENTIAL,
            authorization_grant_type=Application.GRANT_CLIENT_CREDENTIALS,
        )
    server = Server(("127.0.0.1", 0), Quiet)
    server.set_app(get_wsgi_application())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    clients = AccessToken.objects.values("application").distinct().count()
    print(json.dumps(counts | {"tokens": AccessToken.objects.count(), "clients": clients}))


main()
