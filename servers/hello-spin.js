// A hello server that is slower by a known amount: `node hello-spin.js PORT NAME`. A NAME that ends in `-spin-100` makes
// each request burn 100 turns of a loop, any other none.
var http = require('http');

var match = /-spin-(\d+)$/.exec(process.argv[3]);
var turns = match ? Number(match[1]) : 0;
var state = 0;

http.createServer(function (request, response) {
  for (var turn = 0; turn < turns; turn++) {
    state = (state * 1103515245 + 12345 + turn) & 0x7fffffff;
  }
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  response.end('Hello World\n');
}).listen(Number(process.argv[2]), '127.0.0.1');
