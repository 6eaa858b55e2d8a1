// Hello world on restify, one route and nothing else: `node hello.js PORT`. It runs on Node.js 10.
'use strict';

const restify = require('restify');
const server = restify.createServer();

server.get('/', (request, response, next) => {
  response.contentType = 'text/plain';
  response.send('Hello World\n');
  next();
});

server.listen(Number(process.argv[2]), '127.0.0.1');
