// Hello world on Express, as its guide begins: `node hello.js PORT`. The same file runs on Express 3, 4 and 5, and is
// plain enough for the oldest Node.js that any of them takes.
'use strict';

var express = require('express');
var app = express();

app.get('/', function (request, response) {
  response.type('text/plain').send('Hello World\n');
});

app.listen(Number(process.argv[2]), '127.0.0.1');
