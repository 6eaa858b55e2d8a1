"""Hello world on Flask: `app.py PORT`. waitress serves it, the same one below every version."""

import sys

from flask import Flask
from waitress import serve

app = Flask(__name__)


@app.route("/")
def hello():
    return "Hello World\n", 200, {"Content-Type": "text/plain"}


serve(app, host="127.0.0.1", port=int(sys.argv[1]), threads=4)
