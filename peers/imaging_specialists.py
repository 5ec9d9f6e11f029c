"""cc3d and edt beside our stages: a worker that breakeven-peers starts and asks, so that both sides
take turns in time. Requests are lines on stdin, answers lines on stdout; times are means over
`repeats` calls with the volume ready in memory, and the last result is kept for `save`.

  load PATH X Y Z                  a mask, one byte a voxel, x fastest
  components REPEATS THREADS       26-connected; cc3d has one thread whatever is asked
  inside REPEATS THREADS           squared distance to the background
  outside REPEATS THREADS          squared distance to the foreground
  save PATH                        labels as uint32, distances as float32
"""
import sys
import time

try:
    import cc3d
    import edt
    import numpy
    from importlib.metadata import version
except ImportError as error:
    print("error:", error, flush=True)
    sys.exit(1)


class Worker:
    def load(self, path, x, y, z):
        self.mask = numpy.fromfile(path, numpy.uint8).reshape((int(x), int(y), int(z)), order="F")
        self.inverted = numpy.asfortranarray(1 - self.mask)
        self.result = None
        return "loaded"

    def components(self, repeats, threads):
        # The fastest of its ways here: told that the mask is binary, and asked for 32 bits.
        return self.time(repeats, lambda: cc3d.connected_components(
            self.mask, connectivity=26, binary_image=True, out_dtype=numpy.uint32))

    def inside(self, repeats, threads):
        return self.time(repeats, lambda: self.distance(self.mask, threads))

    def outside(self, repeats, threads):
        return self.time(repeats, lambda: self.distance(self.inverted, threads))

    def distance(self, mask, threads):
        return edt.edtsq(mask, anisotropy=(1, 1, 1), black_border=False, parallel=int(threads))

    def save(self, path):
        self.result.ravel(order="K").tofile(path)
        return "saved " + str(self.result.dtype)

    def time(self, repeats, operation):
        self.result = None
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(int(repeats)):
            self.result = None  # its memory is then used again
            self.result = operation()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return f"{wall / int(repeats)} {cpu / int(repeats)}"


worker = Worker()
print("cc3d", version("connected-components-3d"), "edt", version("edt"), flush=True)
for line in sys.stdin:
    name, *arguments = line.split()
    try:
        print(getattr(worker, name)(*arguments), flush=True)
    except Exception as error:  # the other side says what it was doing
        print("error:", repr(error).replace("\n", " "), flush=True)
