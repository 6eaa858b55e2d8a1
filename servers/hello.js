// The hello server of the page of 2012: `node hello.js PORT`. It runs on Node.js 0.8 and on today's.
var http = require('http');

http.createServer(function (request, response) {
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  response.end('Hello World\n');
}).listen(Number(process.argv[2]), '127.0.0.1');
