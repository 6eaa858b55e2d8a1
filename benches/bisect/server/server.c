/* A small HTTP/1.1 server: `server PORT` answers every request on 127.0.0.1 with "Hello World". */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "types.h"
#include "work.h"
/* here: includes */

#define CONNECTIONS 1024
#define REQUEST 4096

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n"
#define BODY "Hello World\n"

static const char open_answer[] = HEAD "\r\n" BODY;
static const char last_answer[] = HEAD "Connection: close\r\n\r\n" BODY;

/* What has come of a request, by the number of its socket. */
struct connection {
    size_t length;
    char bytes[REQUEST];
};
static struct connection connections[CONNECTIONS];

static void give_up(const char *what)
{
    perror(what);
    exit(1);
}

/* Answers one request; says whether the connection stays open. */
static int answer(int socket, const char *request)
{
    int is_last = strcasestr(request, "\r\nconnection: close") != NULL;
    const char *text = is_last ? last_answer : open_answer;
    ssize_t length = (ssize_t)strlen(text);
    work();
    /* here: each answer */
    return send(socket, text, (size_t)length, MSG_NOSIGNAL) == length && !is_last;
}

/* Reads what has come, and answers the requests that are whole; says whether the connection stays open. */
static int serve(int socket)
{
    struct connection *own = &connections[socket];
    ssize_t got = read(socket, own->bytes + own->length, REQUEST - 1 - own->length);
    char *end;
    if (got <= 0)
        return 0;
    own->length += (size_t)got;
    own->bytes[own->length] = '\0';
    while ((end = strstr(own->bytes, "\r\n\r\n")) != NULL) {
        end += 4;
        if (!answer(socket, own->bytes))
            return 0;
        own->length -= (size_t)(end - own->bytes);
        memmove(own->bytes, end, own->length + 1);
    }
    return own->length < REQUEST - 1;
}

static int listen_on(const char *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port)) };
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0)
        give_up("bind");
    if (listen(listener, CONNECTIONS) != 0)
        give_up("listen");
    return listener;
}

static void watch(int all, int socket)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = socket };
    if (epoll_ctl(all, EPOLL_CTL_ADD, socket, &event) != 0)
        give_up("epoll_ctl");
}

static void take(int all, int listener)
{
    int yes = 1, socket = accept(listener, NULL, NULL);
    if (socket < 0)
        return;
    if (socket >= CONNECTIONS) {
        close(socket);
        return;
    }
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    connections[socket].length = 0;
    watch(all, socket);
}

int main(int count, char **words)
{
    struct epoll_event events[64];
    int all = epoll_create1(0), listener;
    if (count != 2) {
        fprintf(stderr, "usage: server PORT (it knows %zu types)\n", types());
        return 2;
    }
    /* here: the start */
    listener = listen_on(words[1]);
    watch(all, listener);
    for (;;) {
        int ready = epoll_wait(all, events, 64, -1);
        for (int place = 0; place < ready; place++) {
            int socket = events[place].data.fd;
            if (socket == listener)
                take(all, listener);
            else if (!serve(socket))
                close(socket);
        }
    }
}
