"""gRPC calls to a server, one at a time on each connection: as much of HTTP/2 and protocol buffers as that takes. Standard library alone.

The names of heads are not read, as they may be coded: a call succeeded where a message came back before its stream's end.
"""
import socket
import struct

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    """Of a message: an integer, or bytes."""
    return varint(number << 3) + varint(value) if isinstance(value, int) else varint(number << 3 | 2) + varint(len(value)) + value


def fields(data):
    """[(number, value)] of a message: integers, and bytes."""
    out, at = [], 0

    def number():
        nonlocal at
        n = shift = 0
        while True:
            byte = data[at]
            n, shift, at = n | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                return n

    while at < len(data):
        key = number()
        size = {1: 8, 5: 4}.get(key & 7)
        if key & 7 == 0:
            out.append((key >> 3, number()))
            continue
        size = number() if size is None else size
        out.append((key >> 3, data[at:at + size]))
        at += size
    return out


def predict_request(model, name, strings):
    """TF Serving's PredictRequest with a tensor of strings."""
    shape = field(2, field(1, len(strings)))
    tensor = field(1, 7) + field(2, shape) + b"".join(field(8, s) for s in strings)
    return field(1, field(1, model.encode())) + field(2, field(1, name.encode()) + field(2, tensor))


def predict_answer(message):
    """Its outputs: {name: a list of numbers or of bytes}."""
    out = {}
    for number, value in fields(message):
        if number == 1:
            entry = dict(fields(value))
            values = []
            for n, part in fields(entry[2]):
                if n == 5:
                    values += [f[0] for f in struct.iter_unpack("<f", part)]
                elif n == 8:
                    values.append(part)
            out[entry[1].decode()] = values
    return out


class NotAccepted(Exception):
    """The server ends, and said that it did not take the call."""


class GrpcConnection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.bytes, self.next, self.last = b"", 1, None  # the last stream that the server takes, once it said so
        self.heads = b""  # of the last call's answer
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + self.frame(SETTINGS, 0, 0, b""))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    @property
    def ends(self):
        return self.last is not None

    @staticmethod
    def frame(kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload

    def fill(self, size):
        """Whether so many bytes are there."""
        while len(self.bytes) < size:
            try:
                part = self.socket.recv(1 << 16)
            except ConnectionError:
                return False
            if not part:
                return False
            self.bytes += part
        return True

    def send(self, data):
        try:
            self.socket.sendall(data)
        except ConnectionError:
            pass  # what came before is still to be read

    def receive(self):
        """(kind, flags, stream, payload); None at the end. Answers what the protocol wants answered."""
        if not self.fill(9):
            return None
        size = int.from_bytes(self.bytes[:3], "big")
        if not self.fill(9 + size):
            return None
        kind, flags, stream = struct.unpack(">BBI", self.bytes[3:9])
        payload, self.bytes = self.bytes[9:9 + size], self.bytes[9 + size:]
        if kind in (SETTINGS, PING) and not flags & ACK:
            self.send(self.frame(kind, ACK, 0, payload if kind == PING else b""))
        elif kind == DATA and payload:
            self.send(self.frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", len(payload))))
        elif kind == GOAWAY:
            self.last = struct.unpack(">I", payload[:4])[0]
        return kind, flags, stream, payload

    def begin(self, path, message):
        """Its stream."""
        stream, self.next = self.next, self.next + 2
        pairs = ((":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"), ("te", "trailers"),
                 ("content-type", "application/grpc"))
        block = b"".join(b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode() for name, value in pairs)
        self.send(self.frame(HEADERS, END_HEADERS, stream, block) +
                  self.frame(DATA, END_STREAM, stream, b"\0" + struct.pack(">I", len(message)) + message))
        return stream

    def call(self, path, message):
        """The answer's message; None where the call failed. NotAccepted: it may be made again elsewhere."""
        stream = self.begin(path, message)
        answer = self.heads = b""
        while (got := self.receive()) is not None:
            kind, flags, of, payload = got
            if kind == GOAWAY and self.last < stream:
                raise NotAccepted
            if of != stream or kind not in (DATA, HEADERS, RST_STREAM):
                continue
            if kind == HEADERS:
                self.heads += payload
            if kind == DATA:
                answer += payload
            if kind == RST_STREAM:
                return None
            if flags & END_STREAM:
                whole = len(answer) >= 5 and len(answer) == 5 + struct.unpack(">I", answer[1:5])[0]
                return answer[5:] if whole else None
        raise ConnectionError("the connection ended in a call")
