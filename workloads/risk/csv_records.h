// The cells of a text one after the other, as RFC 4180 has them, without copying them where nothing
// is doubled. Leaves out what they mean.
#pragma once

#include "workloads/risk/text_blocks.h"

#include <array>

namespace breakeven::risk {

class CsvRecords {
public:
  /// `separator` ' ' means any number of blanks and tabs.
  CsvRecords(const std::string& file, const TextPart& part, char separator);

  /// Goes to the next record that is not blank; false at the end.
  bool next();
  /// No cell is left in this record.
  bool is_over() const { return is_over_; }
  /// The next cell; valid until the next call. Blanks around it are cut off unless it is quoted.
  std::string_view cell();
  /// The next cell if it is a plain number of few digits: most are, and this is quicker. Else
  /// nothing is done.
  bool plain_number(float& number);
  long line() const { return cell_line_; } ///< of the last cell given, or where the record starts
  const char* position() const { return at_; }

private:
  enum class Kind : unsigned char { text, blank, separator, line_end, quote };
  Kind kind(char c) const { return kinds_[static_cast<unsigned char>(c)]; }
  bool at_line_end() const { return *at_ == '\n' || (*at_ == '\r' && at_[1] == '\n'); }
  void skip_blanks();
  void end_cell();
  std::string_view plain_cell();
  std::string_view quoted_cell();
  const char* closing_quote(const char* from) const;

  const std::string& file_;
  const char* at_;
  const char* end_;
  long line_, cell_line_;
  bool separated_by_blanks_;
  bool is_over_ = true;
  std::array<Kind, 256> kinds_{};
  std::string unquoted_;
};

} // namespace breakeven::risk
