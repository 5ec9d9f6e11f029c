"""The newest XGBoost beside our boosted trees: a worker that breakeven-peers starts and asks, so
that both sides take turns in time. Requests are lines on stdin, answers lines on stdout. Times are
seconds of the wall's and of the processor's clock; PARAMETERS are XGBoost's own, as name=value.

  load PATH ROWS TEST_ROWS FEATURES   float32: rows to train on, their labels, rows to test on
  train WAY ROUNDS PARAMETERS         from floats in memory to the model, which is kept
  probabilities PATH                  saves those of the rows to test on, as float32
  open PATH                           takes a model from a file
  score THREADS                       margins of the rows to test on, which are kept
  margins PATH                        saves them
  peak_mib WAY ROUNDS PARAMETERS      what training adds at its peak to the memory of this process;
                                      of one that has not trained before
"""
import sys
import time

try:
    import numpy
    import xgboost
except ImportError as error:
    print("error:", error, flush=True)
    sys.exit(1)


def status_kib(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field + ":"))


class Worker:
    def load(self, path, rows, test_rows, features):
        rows, test_rows, features = int(rows), int(test_rows), int(features)
        with open(path, "rb") as file:
            self.values = numpy.fromfile(file, numpy.float32, rows * features)
            self.labels = numpy.fromfile(file, numpy.float32, rows)
            self.test = numpy.fromfile(file, numpy.float32, test_rows * features)
        self.values = self.values.reshape(rows, features)
        self.test = self.test.reshape(test_rows, features)
        return "loaded"

    def trained(self, way, rounds, parameters):
        parameters = dict(parameter.split("=") for parameter in parameters)
        threads = int(parameters["nthread"])
        if way == "quantile":
            matrix = xgboost.QuantileDMatrix(self.values, self.labels, nthread=threads,
                                             max_bin=int(parameters["max_bin"]))
        else:
            matrix = xgboost.DMatrix(self.values, self.labels, nthread=threads)
        return xgboost.train(parameters, matrix, int(rounds))

    def train(self, way, rounds, *parameters):
        self.booster = None
        return self.time(lambda: setattr(self, "booster", self.trained(way, rounds, parameters)))

    def probabilities(self, path):
        self.booster.inplace_predict(self.test).tofile(path)
        return "saved"

    def open(self, path):
        self.booster = xgboost.Booster(model_file=path)
        return "opened"

    def score(self, threads):
        self.booster.set_param({"nthread": int(threads)})
        return self.time(lambda: setattr(self, "scores", self.booster.inplace_predict(
            self.test, predict_type="margin")))

    def margins(self, path):
        self.scores.tofile(path)
        return "saved"

    def peak_mib(self, way, rounds, *parameters):
        with open("/proc/self/clear_refs", "w") as peak:
            peak.write("5")
        before = status_kib("VmRSS")
        self.trained(way, rounds, parameters)
        return (status_kib("VmHWM") - before) / 1024

    @staticmethod
    def time(operation):
        wall, cpu = time.perf_counter(), time.process_time()
        operation()
        return f"{time.perf_counter() - wall} {time.process_time() - cpu}"


worker = Worker()
print("XGBoost", xgboost.__version__, flush=True)
for line in sys.stdin:
    name, *arguments = line.split()
    try:
        print(getattr(worker, name)(*arguments), flush=True)
    except Exception as error:  # the other side says what it was doing
        print("error:", repr(error).replace("\n", " "), flush=True)
