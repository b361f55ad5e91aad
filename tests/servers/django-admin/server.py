"""The admin site of Django, unmodified: logins with CSRF tokens and sessions, forms that write to a database (SQLite).

Twenty accounts, user1 to user20, whose passwords are secret1 to secret20. It prints its port and, when its input ends, counts
from its database.
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
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
)
django.setup()

from django.contrib import admin  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import path  # noqa: E402

urlpatterns = [path("admin/", admin.site.urls)]


class Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 256


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def main():
    from django.contrib.auth.models import Group, User
    from django.contrib.sessions.models import Session

    call_command("migrate", verbosity=0)
    for n in range(1, 21):
        User.objects.create_superuser(f"user{n}", password=f"secret{n}")
    server = Server(("127.0.0.1", 0), Quiet)
    server.set_app(get_wsgi_application())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    names = sorted(Group.objects.values_list("name", flat=True))
    used = User.objects.exclude(last_login=None).count()
    print(json.dumps({"groups": len(names), "names": len(set(names)), "sessions": Session.objects.count(), "users": used}))


main()
