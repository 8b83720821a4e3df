// Preloaded into a server by the control of row 25: it forgets to close every tenth socket, and to give back every fourth block of memory.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void __libc_free(void* block);

int close(int fd) {
  static atomic_uint sockets;
  int type;
  socklen_t size = sizeof type;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && atomic_fetch_add(&sockets, 1) % 10 == 9) return shutdown(fd, SHUT_RDWR);
  return (int)syscall(SYS_close, fd);
}

void free(void* block) {
  static atomic_uint blocks;
  if (block && atomic_fetch_add(&blocks, 1) % 4 == 3) return;
  __libc_free(block);
}
