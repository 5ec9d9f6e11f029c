#include "workloads/risk/csv_records.h"

#include "sim/errors.h"

#include <algorithm>
#include <cstring>

namespace breakeven::risk {

CsvRecords::CsvRecords(const std::string& file, const TextPart& part, char separator)
    : file_(file),
      at_(part.text.data()),
      end_(part.text.data() + part.text.size()),
      line_(part.line),
      cell_line_(part.line),
      separated_by_blanks_(separator == ' ') {
  const auto set = [this](char c, Kind kind) { kinds_[static_cast<unsigned char>(c)] = kind; };
  for (const char blank : {' ', '\t'})
    set(blank, separated_by_blanks_ ? Kind::separator : Kind::blank);
  set(separator, Kind::separator);
  set('\n', Kind::line_end);
  set('"', Kind::quote);
}

void CsvRecords::skip_blanks() {
  while (kind(*at_) == Kind::blank || (separated_by_blanks_ && kind(*at_) == Kind::separator))
    ++at_;
}

bool CsvRecords::next() {
  while (at_ < end_) {
    const char* const start = at_;
    skip_blanks();
    if (!at_line_end()) {
      if (!separated_by_blanks_) at_ = start;
      cell_line_ = line_;
      is_over_ = false;
      return true;
    }
    at_ += *at_ == '\r' ? 2 : 1;
    ++line_;
  }
  return false;
}

/// Over the separator or the line end where a cell stopped.
void CsvRecords::end_cell() {
  if (separated_by_blanks_) skip_blanks();
  if (at_line_end()) {
    at_ += *at_ == '\r' ? 2 : 1;
    ++line_;
    is_over_ = true;
  } else if (!separated_by_blanks_) {
    ++at_;
  }
}

std::string_view CsvRecords::cell() {
  cell_line_ = line_;
  skip_blanks();
  return kind(*at_) == Kind::quote ? quoted_cell() : plain_cell();
}

std::string_view CsvRecords::plain_cell() {
  const char* const begin = at_;
  while (kind(*at_) <= Kind::blank)
    ++at_;
  if (kind(*at_) == Kind::quote)
    throw BadInput(file_, line_, "a quote inside a cell",
                   "a cell in quotes, with that one doubled");
  const char* end = at_;
  if (*at_ == '\n' && end > begin && end[-1] == '\r') {
    --at_;
    --end;
  }
  while (end > begin && kind(end[-1]) == Kind::blank)
    --end;
  end_cell();
  return {begin, static_cast<std::size_t>(end - begin)};
}

const char* CsvRecords::closing_quote(const char* from) const {
  const void* quote = std::memchr(from, '"', static_cast<std::size_t>(end_ - from));
  if (!quote) throw BadInput(file_, cell_line_, "a quote that is not closed", "'\"'");
  return static_cast<const char*>(quote);
}

std::string_view CsvRecords::quoted_cell() {
  const char* begin = at_ + 1;
  const char* quote = closing_quote(begin);
  std::string_view text(begin, static_cast<std::size_t>(quote - begin));
  if (quote[1] == '"') {
    unquoted_.clear();
    for (; quote[1] == '"'; quote = closing_quote(begin)) {
      unquoted_.append(begin, quote + 1);
      begin = quote + 2;
    }
    text = unquoted_.append(begin, quote);
  }
  line_ += std::count(at_, quote, '\n');
  at_ = quote + 1;
  while (kind(*at_) == Kind::blank)
    ++at_;
  if (kind(*at_) != Kind::separator && !at_line_end())
    throw BadInput(file_, line_, "text after a closing quote",
                   "a separator or the end of the line");
  end_cell();
  return text;
}

bool CsvRecords::plain_number(float& number) {
  float value = 0;
  const char* const end = read_plain_number(at_, value);
  if (!end) return false;
  const bool is_whole_cell =
      kind(*end) == Kind::separator || *end == '\n' || (*end == '\r' && end[1] == '\n');
  if (!is_whole_cell) return false;
  number = value;
  cell_line_ = line_;
  at_ = end;
  end_cell();
  return true;
}

} // namespace breakeven::risk
