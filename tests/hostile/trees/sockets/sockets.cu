// Calls the machine's loopback and a socket of the agent's folder.
#include "attack.h"

static long attack(float* y, int n) {
    struct { unsigned short family, port; unsigned char host[4]; char rest[8]; } inet = {2, (@PORT@ >> 8) | (@PORT@ & 255) << 8, {127, 0, 0, 1}, {}};
    struct { unsigned short family; char path[108]; } named = {1, "/tmp/@MARK@"}, hidden = {1, "\0@MARK@"};
    long got = call(CONNECT, call(SOCKET, 2, 1), long(&inet), sizeof inet) == 0;
    got += call(CONNECT, call(SOCKET, 1, 1), long(&named), sizeof named) == 0;
    return got + (call(CONNECT, call(SOCKET, 1, 1), long(&hidden), 3 + sizeof "@MARK@" - 1) == 0);
}

HOSTILE(sockets)
