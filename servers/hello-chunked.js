// A hello server whose answer is a Buffer without a Content-Length, so that Node sends it in chunks: `node
// hello-chunked.js PORT`. It runs on Node.js 0.8 and on today's.
var http = require('http');

var body = Buffer.from && Buffer.from !== Uint8Array.from ? Buffer.from('Hello World') : new Buffer('Hello World');

http.createServer(function (request, response) {
  response.writeHead(200);
  response.end(body);
}).listen(Number(process.argv[2]), '127.0.0.1');
