#include "sim/report/gnuplot.h"

#include "sim/errors.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

extern char** environ;

namespace breakeven {

namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::error_code error;
    std::string pattern = (fs::temp_directory_path(error) / "breakeven-chart-XXXXXX").string();
    if (error || mkdtemp(pattern.data()) == nullptr)
      throw Failure("no temporary folder for charts, " + pattern + ": "
                    + (error ? error.message() : std::strerror(errno)));
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

private:
  fs::path path_;
};

void write_file(const fs::path& file, const std::string& bytes) {
  std::ofstream stream(file, std::ios::binary);
  stream << bytes;
  stream.close();
  if (!stream) throw Failure("cannot write " + file.string() + ": " + std::strerror(errno));
}

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Exit status of gnuplot, with what it says on both channels in `messages`.
int run_gnuplot(const fs::path& script, const fs::path& messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  // -d: the user's own start-up file must not change the drawing.
  std::string program = "gnuplot", defaults = "-d", file = script.string();
  char* arguments[] = {program.data(), defaults.data(), file.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw Failure("the memo's charts need gnuplot (Debian and Ubuntu: gnuplot-nox): "
                  + std::string(std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
    text.replace(at, from.size(), to), at += to.size();
}

bool erase_between(std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t first = text.find(begin);
  const std::size_t last = text.find(end, first == std::string::npos ? 0 : first);
  if (first == std::string::npos || last == std::string::npos) return false;
  text.erase(first, last + end.size() - first);
  return true;
}

/// The version of gnuplot goes, and so do identifiers and tooltips that are the same in every
/// drawing.
std::string without_traces(std::string svg, const std::string& name) {
  erase_between(svg, "<desc>Produced by GNUPLOT", "</desc>\n");
  while (erase_between(svg, "<title>" + name + "_plot_", "</title>")) {
  }
  replace_all(svg, "gnuplot_canvas", name + "_canvas");
  replace_all(svg, "gpPt", name + "_point_");
  replace_all(svg, "gpDot", name + "_dot");
  replace_all(svg, "'textbox'", "'" + name + "_textbox'");
  replace_all(svg, "'greybox'", "'" + name + "_greybox'");
  return svg;
}

} // namespace

std::string svg_from_gnuplot(const std::string& name, const std::string& size,
                             const std::string& script) {
  const TemporaryFolder folder;
  const fs::path script_file = folder.path() / "chart.gp", svg_file = folder.path() / "chart.svg";
  const fs::path messages = folder.path() / "messages";
  write_file(script_file, "set terminal svg size " + size
                              + " font 'sans-serif,12' noenhanced name '" + name
                              + "' background rgb 'white'\nset encoding utf8\nset output '"
                              + svg_file.string() + "'\n" + script);
  const int status = run_gnuplot(script_file, messages);
  const std::string svg = bytes_of(svg_file);
  if (status != 0 || svg.find("</svg>") == std::string::npos)
    throw Failure("gnuplot could not draw a chart: " + bytes_of(messages));
  return without_traces(svg, name);
}

std::string gnuplot_text(const std::string& text) {
  std::string safe;
  for (const char c : text)
    safe += c == '"' || c == '\\' || c == '`' || static_cast<unsigned char>(c) < ' ' ? '?' : c;
  return safe;
}

} // namespace breakeven
