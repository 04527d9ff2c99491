/* LD_PRELOAD: every TCP socket has a receive buffer of RCVBUF bytes (SO_RCVBUF) before it connects. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

int connect(int socket, const struct sockaddr *to, socklen_t length) {
  int (*next)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
  const char *wanted = getenv("RCVBUF");
  if (wanted && to->sa_family == AF_INET) {
    int bytes = atoi(wanted);
    setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }
  return next(socket, to, length);
}
