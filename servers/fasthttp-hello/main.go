// Hello world on fasthttp: `fasthttp-hello PORT`. For a try by hand: `go get github.com/valyala/fasthttp`.
package main

import (
	"log"
	"os"

	"github.com/valyala/fasthttp"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: fasthttp-hello PORT")
	}
	hello := func(context *fasthttp.RequestCtx) {
		context.SetContentType("text/plain")
		context.SetBodyString("Hello World\n")
	}
	log.Fatal(fasthttp.ListenAndServe("127.0.0.1:"+os.Args[1], hello))
}
