"""Trac, unmodified: a wiki and tickets over SQLite, with a token in each form.

Twenty accounts, user1 to user20, whose passwords are secret1 to secret20 and who log in as with tracd, by basic authentication and
then a cookie. It prints its port and, when its input ends, counts from its database.
"""

import json
import sys
import tempfile
import threading
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

from trac.config import Configuration  # noqa: E402
from trac.env import Environment  # noqa: E402
from trac.web.auth import BasicAuthentication  # noqa: E402
from trac.web.main import dispatch_request  # noqa: E402
from trac.web.standalone import (  # noqa: E402
    AuthenticationMiddleware,
    TracEnvironMiddleware,
    TracHTTP11RequestHandler,
    TracHTTPServer,
)

OPTIONS = [
    ("trac", "database", "sqlite:db/trac.db"),
    ("project", "name", "Shop"),
    ("logging", "log_type", "none"),
]


class Quiet(TracHTTP11RequestHandler):
    def log_message(self, *_):
        pass


class Passwords(BasicAuthentication):
    """Accounts without a file of hashes, because hashing is not under test."""

    def __init__(self):
        self.realm = "Shop"

    def test(self, user, password):
        return user in NAMES and password == user.replace("user", "secret")

    def check_reload(self):
        pass


NAMES = {f"user{n}" for n in range(1, 21)}


def main():
    with tempfile.TemporaryDirectory() as folder:
        project = str(Path(folder) / "project")
        environment = Environment(project, create=True, options=OPTIONS, default_data=True)
        from trac.perm import PermissionSystem

        permissions = PermissionSystem(environment)
        permissions.grant_permission("authenticated", "TICKET_APPEND")
        application = TracEnvironMiddleware(dispatch_request, None, [project], True)
        application = AuthenticationMiddleware(application, {"*": Passwords()}, "project")
        server = TracHTTPServer(("127.0.0.1", 0), application, None, [project], True)
        server.RequestHandlerClass = Quiet
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_port, flush=True)
        sys.stdin.read()
        with environment.db_query as db:
            def count(what, rows):
                return db(f"SELECT COUNT(DISTINCT {what}) FROM {rows}")[0][0]

            told = {
                "tickets": count("id", "ticket"),
                "summaries": count("summary", "ticket"),
                "reporters": count("reporter", "ticket"),
                "comments": count("ticket", "ticket_change WHERE field = 'comment' AND newvalue != ''"),
                "logins": count("name", "auth_cookie"),
            }
        print(json.dumps(told))


main()
