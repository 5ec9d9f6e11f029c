// A Python script of this folder that runs beside the benchmark and answers each line that it is
// asked with a line.
#pragma once

#include <string>

namespace breakeven::peers {

class PythonWorker {
public:
  /// Starts `python` with the script; throws Failure, with what it said, where it or its packages
  /// are missing.
  PythonWorker(const std::string& python, const std::string& script);
  ~PythonWorker();
  PythonWorker(const PythonWorker&) = delete;
  PythonWorker& operator=(const PythonWorker&) = delete;

  const std::string& greeting() const { return greeting_; } ///< its first line
  /// Throws Failure on an error.
  std::string ask(const std::string& request);

private:
  std::string next_line();
  void stop();

  int requests_ = -1, answers_ = -1; ///< two pipes' ends
  int process_ = -1;                 ///< whose the other ends are
  std::string greeting_, unread_;
};

} // namespace breakeven::peers
