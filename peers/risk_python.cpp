#include "peers/risk_python.h"

#include "sim/errors.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace breakeven::peers {

PythonWorker::PythonWorker(const std::string& python, const std::string& script) {
  const std::string path = BREAKEVEN_PEERS_DIR "/" + script;
  std::array<int, 2> to{}, from{};
  // Closed on exec: a second worker must not hold the ends of the first one's.
  if (pipe2(to.data(), O_CLOEXEC) != 0) throw Failure("cannot make a pipe");
  if (pipe2(from.data(), O_CLOEXEC) != 0) {
    close(to[0]);
    close(to[1]);
    throw Failure("cannot make a pipe");
  }
  std::signal(SIGPIPE, SIG_IGN); // a worker that died shows as the end of its answers
  process_ = fork();
  if (process_ == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    execlp(python.c_str(), python.c_str(), path.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  requests_ = to[1];
  answers_ = from[0];
  try {
    if (process_ < 0) throw Failure("cannot start a process");
    greeting_ = next_line();
  } catch (...) {
    stop();
    throw;
  }
}

PythonWorker::~PythonWorker() { stop(); }

void PythonWorker::stop() {
  close(requests_);
  close(answers_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
}

std::string PythonWorker::ask(const std::string& request) {
  const std::string line = request + '\n';
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t bytes = write(requests_, line.data() + sent, line.size() - sent);
    if (bytes <= 0) break; // reading says what happened
    sent += static_cast<std::size_t>(bytes);
  }
  return next_line();
}

std::string PythonWorker::next_line() {
  std::array<char, 256> bytes{};
  while (unread_.find('\n') == std::string::npos) {
    const ssize_t count = read(answers_, bytes.data(), bytes.size());
    if (count <= 0) throw Failure("python could not be started, or has stopped");
    unread_.append(bytes.data(), static_cast<std::size_t>(count));
  }
  const std::size_t end = unread_.find('\n');
  const std::string answer = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  if (answer.starts_with("error: ")) throw Failure(answer.substr(7));
  return answer;
}

} // namespace breakeven::peers
