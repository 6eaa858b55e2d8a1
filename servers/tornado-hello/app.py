"""Hello world on tornado: `app.py PORT`. It uses nothing that 3.2 does not have, and one process."""

import sys

from tornado.ioloop import IOLoop
from tornado.web import Application, RequestHandler


class Hello(RequestHandler):
    def get(self):
        self.set_header("Content-Type", "text/plain")
        self.write("Hello World\n")


Application([("/", Hello)]).listen(int(sys.argv[1]), address="127.0.0.1")
IOLoop.instance().start()
