"""Hello world on aiohttp: `app.py PORT`."""

import sys

from aiohttp import web


async def hello(request):
    return web.Response(text="Hello World\n")


app = web.Application()
app.router.add_get("/", hello)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)
