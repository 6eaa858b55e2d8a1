// The hello server on several processes: `node hello-cluster.js PORT WORKERS`. It runs on Node.js 0.8 and on today's.
var cluster = require('cluster');
var http = require('http');

if (cluster.isMaster) {
  var workers = Number(process.argv[3]);
  var listening = 0;
  // Connections that come before all listen would go to some of them only, and stay there.
  cluster.on('listening', function () {
    listening += 1;
    if (listening === workers) {
      Object.keys(cluster.workers).forEach(function (id) {
        cluster.workers[id].send('all listen');
      });
    }
  });
  // A server that has lost a worker is no longer the one that is measured.
  cluster.on('exit', function (worker, code) {
    console.error('worker ' + worker.id + ' ended with code ' + code);
    process.exit(1);
  });
  for (var count = 0; count < workers; count += 1) {
    cluster.fork();
  }
} else {
  var status = 503;
  process.on('message', function () {
    status = 200;
  });
  http.createServer(function (request, response) {
    response.writeHead(status, { 'Content-Type': 'text/plain' });
    response.end('Hello World\n');
  }).listen(Number(process.argv[2]), '127.0.0.1');
}
