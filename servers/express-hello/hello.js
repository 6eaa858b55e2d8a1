// Hello world on Express, as its guide begins: `node hello.js PORT`. The same file runs on Express 3, 4 and 5.
'use strict';

const express = require('express');
const app = express();

app.get('/', (request, response) => {
  response.type('text/plain').send('Hello World\n');
});

app.listen(Number(process.argv[2]), '127.0.0.1');
