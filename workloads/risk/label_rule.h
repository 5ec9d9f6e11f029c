// Labels as text: one value is stated to be positive, and one other is the negative, whatever it
// is. Shared by the table readers.
#pragma once

#include "sim/errors.h"
#include "workloads/risk/text_blocks.h"

#include <cstdint>
#include <optional>

namespace breakeven::risk {

/// The labels of one part of a file, from its first row on. Values are equal as text or as numbers:
/// "1" and "1.0e+00" are one.
class LabelRule {
public:
  /// `negative` is empty where the first other value decides.
  LabelRule(std::string positive, std::string negative)
      : positive_(std::move(positive)),
        negative_(std::move(negative)),
        positive_number_(number_of(positive_)),
        negative_number_(number_of(negative_)) {}

  std::uint8_t operator()(std::string_view text, const std::string& file, long line) {
    if (text == positive_ || (!negative_.empty() && text == negative_))
      return count(text == positive_);
    if (is_missing(text)) throw BadInput(file, line, "no label", expected());
    const std::optional<float> number = number_of(text);
    if (number && (number == positive_number_ || number == negative_number_))
      return count(number == positive_number_);
    if (!negative_.empty()) throw BadInput(file, line, "label " + shown(text), expected());
    negative_ = text;
    negative_number_ = number;
    decided_on_line_ = line;
    return count(false);
  }

  /// Adds what another, later part found. Throws where its negative is a third value.
  void add(const LabelRule& later, const std::string& file) {
    if (negative_.empty()) {
      negative_ = later.negative_;
      negative_number_ = later.negative_number_;
    } else if (later.decided_on_line_ > 0 && later.negative_ != negative_
               && !(later.negative_number_ && later.negative_number_ == negative_number_)) {
      throw BadInput(file, later.decided_on_line_, "label " + shown(later.negative_), expected());
    }
    positives_ += later.positives_;
    negatives_ += later.negatives_;
  }

  /// Both kinds are needed to train.
  void check_both(const std::string& file) const {
    if (positives_ > 0 && negatives_ > 0) return;
    const std::string& only = positives_ > 0 ? positive_ : negative_;
    throw BadInput(
        file, 0, "only label " + shown(only) + " in " + grouped(positives_ + negatives_) + " rows",
        positives_ > 0 ? "a second label" : "rows with label " + shown(positive_));
  }

  const std::string& negative() const { return negative_; }

private:
  static std::optional<float> number_of(std::string_view text) {
    float number = 0;
    if (read_number(text, number) != NumberText::finite) return {};
    return number;
  }
  std::uint8_t count(bool is_positive) {
    ++(is_positive ? positives_ : negatives_);
    return is_positive ? 1 : 0;
  }
  std::string expected() const {
    return negative_.empty() ? "a label, such as " + shown(positive_)
                             : shown(positive_) + " or " + shown(negative_);
  }

  std::string positive_, negative_;
  std::optional<float> positive_number_, negative_number_;
  long decided_on_line_ = 0; ///< where a value became the negative; 0: it was given
  std::int64_t positives_ = 0, negatives_ = 0;
};

} // namespace breakeven::risk
