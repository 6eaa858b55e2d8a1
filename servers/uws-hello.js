// Hello world on the npm package `uws`, whose later versions hold no code at all: `node uws-hello.js PORT`.
'use strict';

const { http } = require('uws');

http.createServer((request, response) => {
  response.end('Hello World\n');
}).listen(Number(process.argv[2]));
