"""A server that a test starts, and connections to it whose bytes a test sees. Standard library alone."""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import zlib


def png(width, height, rgb):
    """An image of one colour, with a brighter upper half."""
    rows = b"".join(b"\0" + bytes(min(255, c + (60 if y < height // 2 else 0)) for c in rgb) * width for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Connection:
    """Sends bytes and reads responses. `secure`: an ssl.SSLContext."""

    def __init__(self, port, secure=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if secure:
            self.socket = secure.wrap_socket(self.socket, server_hostname="localhost")
        self.bytes = b""
        self.ends = False  # the last response said that it is the last

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def more(self):
        try:
            part = self.socket.recv(1 << 16)
        except (ConnectionResetError, BrokenPipeError):
            return False
        self.bytes += part
        return bool(part)

    def receive(self):
        """(status, body); None when the connection ended before a response began."""
        while b"\r\n\r\n" not in self.bytes:
            if not self.more():
                if self.bytes:
                    raise AssertionError("half a response: %r" % self.bytes)
                return None
        head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        length = int(re.search(rb"Content-Length: (\d+)", head).group(1))
        self.ends = b"\r\nConnection: close" in head
        while len(self.bytes) < length:
            if not self.more():
                raise AssertionError("half a body")
        body, self.bytes = self.bytes[:length], self.bytes[length:]
        return int(head.split(b" ", 2)[1]), body

    def send(self, data):
        self.socket.sendall(data)

    def ask(self, method, path, body=b"", fields=""):
        self.send(request(method, path, body, fields))
        return self.receive()


def request(method, path, body=b"", fields=""):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    length = "Content-Length: %d\r\n" % len(body) if method == "POST" else ""
    return ("%s %s HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n" % (method, path, fields, length)).encode() + body


class Server:
    """`tenon serve` on a port of its own."""

    def __init__(self, tenon, *flags):
        self.process = subprocess.Popen([tenon, "serve", "--port", "0", "--device", "cpu", *flags], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.log = []
        for line in self.process.stdout:
            self.log.append(line.rstrip("\n"))
            found = re.fullmatch(r"listening at (https?)://[^:]+:(\d+)\n", line)
            if found:
                self.port = int(found.group(2))
                return
        raise AssertionError("the server did not start: %s" % self.log)

    def ask(self, method, path, body=b"", fields=""):
        with Connection(self.port) as connection:
            return connection.ask(method, path, body, fields)

    def rss(self):
        """Its memory, in MB."""
        with open("/proc/%d/status" % self.process.pid) as file:
            return int(re.search(r"VmRSS:\s*(\d+) kB", file.read()).group(1)) / 1024

    def files(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def signal(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self):
        """Its exit code."""
        self.log += self.process.stdout.read().splitlines()
        return self.process.wait(timeout=60)

    def end(self):
        if self.process.poll() is None:
            self.signal()
        return self.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.stdout.close()
        self.process.wait()
