"""Prints as many different free TCP ports of the loopback interface as asked for, one per line.

None is one of those that the kernel gives to connections, if it leaves any: a connection of some other test could
take it before the server that is to have it starts.
"""

import random
import socket
import sys

LOOPBACK = [(socket.AF_INET, "127.0.0.1")] + [(socket.AF_INET6, "::1")] * socket.has_dualstack_ipv6()


def free_ports(count):
    with open("/proc/sys/net/ipv4/ip_local_port_range") as limits:
        first, last = map(int, limits.read().split())
    usable = range(10_000, 60_000)
    ports = [port for port in usable if not first <= port <= last] or list(usable)
    random.shuffle(ports)
    free = filter(is_free, ports)
    return [next(free) for _ in range(count)]


def is_free(port):
    try:
        for family, host in LOOPBACK:
            socket.create_server((host, port), family=family).close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    print(*free_ports(int(sys.argv[1])), sep="\n")
