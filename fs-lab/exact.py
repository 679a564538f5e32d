#!/usr/bin/env python3
"""Calendar of a user-mode kernel and block device of one latency, for exact.sh.

  exact.py FOLDER LATENCY_NS SECTORS

listens at FOLDER/calendar (struct um_timetravel_msg of include/uapi/linux/um_timetravel.h) and
FOLDER/disk (vhost-user-blk with notifications in band), and writes each request to
FOLDER/requests: time in ns, type, sector, bytes. One thread, so that nothing happens at the same time.
"""
import heapq, mmap, os, select, socket, struct, sys

ACK, START, REQUEST, WAIT, GET, UPDATE, RUN, _, TIME_OF_DAY = range(9)  # of um_timetravel.h
EPOCH_NS = 1_700_000_000_000_000_000
READ, WRITE, FLUSH, GET_ID = 0, 1, 4, 8  # of virtio_blk.h
# Protocol features of vhost-user: replies, requests of the device, configuration, in-band notifications.
FEATURES = 1 << 30 | 1 << 32 | 1 << 9  # vhost-user protocol, virtio 1, FLUSH
PROTOCOL = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14
VERSION, REPLY, NEED_REPLY = 1, 4, 8


def receive(sock, size):
    data = sock.recv(size, socket.MSG_WAITALL)
    if len(data) < size:
        raise EOFError
    return data


class Memory:
    """The guest's memory by physical address."""

    def __init__(self):
        self.regions = []

    def set(self, payload, fds):
        self.regions = []
        for i, fd in enumerate(fds):
            first, size, _, offset = struct.unpack_from("=QQQQ", payload, 8 + 32 * i)
            base = offset & -mmap.PAGESIZE
            view = mmap.mmap(fd, size + offset - base, offset=base)
            self.regions.append((first, size, view, offset - base))

    def at(self, address, size):
        for first, length, view, shift in self.regions:
            if first <= address and address + size <= first + length:
                return view, address - first + shift
        raise ValueError(f"no memory at {address:#x}")

    def read(self, address, size):
        view, at = self.at(address, size)
        return view[at:at + size]

    def write(self, address, data):
        view, at = self.at(address, len(data))
        view[at:at + len(data)] = data

    def number(self, form, address):
        return struct.unpack(form, self.read(address, struct.calcsize(form)))


class Lab:
    def __init__(self, folder, latency, sectors):
        self.latency, self.sectors, self.disk = latency, sectors, bytearray(512 * sectors)
        self.log = open(f"{folder}/requests", "w")
        self.doors = [self.door(f"{folder}/calendar"), self.door(f"{folder}/disk")]
        self.kernel = self.guest = self.back = None
        self.now = self.served = self.runs = 0
        self.wanted, self.waiting = None, False
        self.memory, self.rings, self.ends = Memory(), {}, []

    def door(self, path):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(1)
        return listener

    # The calendar.

    def calendar_message(self):
        op, number, time = struct.unpack("=IIQ", receive(self.kernel, 16))
        if op == ACK:
            return True
        answer = {GET: self.now, TIME_OF_DAY: EPOCH_NS}.get(op, 0)
        if op == REQUEST:
            self.wanted = time
        elif op == WAIT:
            self.waiting = True
        elif op == UPDATE:
            self.now = max(self.now, time)
        self.kernel.sendall(struct.pack("=IIQ", ACK, number, answer))
        return False

    def next_event(self):
        """The kernel waits, and nothing is left to hear: time goes on."""
        if self.ends and (self.wanted is None or self.ends[0][0] <= self.wanted):
            self.now, _, ring, head, written = heapq.heappop(self.ends)
            return self.complete(ring, head, written)
        self.now, self.wanted, self.waiting = max(self.now, self.wanted), None, False
        self.runs += 1
        self.kernel.sendall(struct.pack("=IIQ", RUN, self.runs, self.now))
        while not self.calendar_message():
            pass

    # The device.

    def device_message(self):
        head, ancillary, _, _ = self.guest.recvmsg(12, socket.CMSG_SPACE(64))
        if len(head) < 12:
            raise EOFError
        fds = [fd for _, _, data in ancillary for fd in struct.unpack(f"={len(data) // 4}i", data)]
        request, flags, size = struct.unpack("=III", head)
        payload = receive(self.guest, size) if size else b""
        answer = struct.pack("=Q", 0) if flags & NEED_REPLY else None
        if request == 1:  # GET_FEATURES
            answer = struct.pack("=Q", FEATURES)
        elif request == 5:  # SET_MEM_TABLE
            self.memory.set(payload, fds)
        elif request == 8:  # SET_VRING_NUM
            ring, entries = struct.unpack("=II", payload)
            self.rings[ring] = {"entries": entries, "seen": 0, "done": 0}
        elif request == 9:  # SET_VRING_ADDR
            ring, _, *places, _ = struct.unpack("=IIQQQQ", payload)
            self.rings[ring].update(zip(("descriptors", "used", "available"), places))
        elif request == 11:  # GET_VRING_BASE
            answer = payload
        elif request == 15:  # GET_PROTOCOL_FEATURES
            answer = struct.pack("=Q", PROTOCOL)
        elif request == 21:  # SET_SLAVE_REQ_FD
            self.back = socket.socket(fileno=fds[0])
        elif request == 24:  # GET_CONFIG: the capacity, and nothing else
            at, size, _ = struct.unpack_from("=III", payload)
            config = struct.pack("=Q", self.sectors).ljust(256, b"\0")
            answer = payload[:12] + config[at:at + size]
        elif request == 35:  # VRING_KICK
            self.take(struct.unpack_from("=I", payload)[0])
        if answer is not None:
            self.guest.sendall(struct.pack("=III", request, VERSION | REPLY, len(answer)) + answer)

    def take(self, number):
        """Starts all requests of a ring."""
        ring, memory = self.rings[number], self.memory
        (end,) = memory.number("=H", ring["available"] + 2)
        while ring["seen"] != end:
            at = ring["available"] + 4 + 2 * (ring["seen"] % ring["entries"])
            (head,) = memory.number("=H", at)
            ring["seen"] = (ring["seen"] + 1) & 0xFFFF
            parts, next_one, more = [], head, True
            while more:
                place = ring["descriptors"] + 16 * next_one
                address, size, flags, next_one = memory.number("=QIHH", place)
                parts.append((address, size))
                more = flags & 1
            self.serve(number, head, parts)

    def serve(self, ring, head, parts):
        memory = self.memory
        kind, _, sector = memory.number("=IIQ", parts[0][0])
        at, written = 512 * sector, 1
        for address, size in parts[1:-1]:
            if kind == WRITE:
                self.disk[at:at + size] = memory.read(address, size)
            elif kind in (READ, GET_ID):
                data = self.disk[at:at + size] if kind == READ else b"destage"
                memory.write(address, bytes(data).ljust(size, b"\0"))
                written += size
            at += size
        known = kind in (READ, WRITE, FLUSH, GET_ID)
        memory.write(parts[-1][0], b"\0" if known else b"\2")
        self.served += 1
        self.log.write(f"{self.now} {kind} {sector} {at - 512 * sector}\n")
        heapq.heappush(self.ends, (self.now + self.latency, self.served, ring, head, written))

    def complete(self, number, head, written):
        ring, memory = self.rings[number], self.memory
        at = ring["used"] + 4 + 8 * (ring["done"] % ring["entries"])
        memory.write(at, struct.pack("=II", head, written))
        ring["done"] = (ring["done"] + 1) & 0xFFFF
        memory.write(ring["used"] + 2, struct.pack("=H", ring["done"]))
        interrupt = struct.pack("=III", 4, VERSION | NEED_REPLY, 8) + struct.pack("=II", number, 0)
        self.back.sendall(interrupt)
        while True:  # The kernel may ask for time before it answers.
            ready, _, _ = select.select([self.back, self.kernel], [], [])
            if self.kernel in ready:
                self.calendar_message()
            if self.back in ready:
                return receive(self.back, 20)

    def run(self):
        while True:
            idle = self.waiting and (self.ends or self.wanted is not None)
            heard = [self.kernel or self.doors[0], self.guest or self.doors[1]]
            ready, _, _ = select.select(heard, [], [], 0 if idle else None)
            if self.doors[0] in ready:
                self.kernel = self.doors[0].accept()[0]
            if self.doors[1] in ready:
                self.guest = self.doors[1].accept()[0]
            if self.kernel in ready:
                self.calendar_message()
            if self.guest in ready:
                self.device_message()
            if not ready:
                self.next_event()


def main():
    if len(sys.argv) != 4 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    lab = Lab(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    print("ready", flush=True)
    try:
        lab.run()
    except EOFError:
        lab.log.close()
        print(f"simulated time {lab.now} ns, {lab.served} requests of the device")


main()
