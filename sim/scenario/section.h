// One table of a scenario file, read with errors that name file, line, what was found and what was
// expected. A Section is given the list of keys it may hold; any other key is an error, and so is
// asking for a key that is not on the list (our own mistake, an assert). The lists also feed the
// check that scenarios/README.md documents every key.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace breakeven {

struct Key {
  std::string name;
  std::string type;    ///< as the README shows it: "integer >= 1", "duration", "text"
  std::string meaning; ///< one line
};

/// A length of time, an amount of data or a price, read from text with its unit.
double
parse_duration_s(const std::string& text);   ///< "90 s", "2 h", "3 d"; throws std::invalid_argument
double parse_bytes(const std::string& text); ///< "40 GiB", "12 GB", "512 MiB"
struct Money {
  double amount_per_h = 0;
  std::string currency; ///< "USD" or "CNY"
};
Money parse_price_per_h(const std::string& text); ///< "0.8 USD/h"

class Section {
public:
  struct Data; // hides toml++ from every other file
  Section(std::shared_ptr<const Data> data, std::string path, const std::vector<Key>& keys);

  bool has(const std::string& key) const;

  // Each reader throws BadInput when the value is missing without a fallback, of the wrong type,
  // not finite, or out of range.
  std::string text(const std::string& key,
                   std::optional<std::string> fallback = {}) const; ///< one line
  std::string one_of(const std::string& key, const std::vector<std::string>& choices,
                     std::optional<std::string> fallback = {}) const;
  std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high,
                       std::optional<std::int64_t> fallback = {}) const;
  double number(const std::string& key, double low, double high,
                std::optional<double> fallback = {}) const;
  bool boolean(const std::string& key, std::optional<bool> fallback = {}) const;
  std::vector<double> numbers(const std::string& key, std::size_t count, double low, double high,
                              std::optional<std::vector<double>> fallback = {}) const;
  /// One to `most` numbers, each in [low, high].
  std::vector<double> number_list(const std::string& key, std::size_t most, double low, double high,
                                  std::optional<std::vector<double>> fallback = {}) const;
  /// One to `most` texts of one line each, none twice; none where absent.
  std::vector<std::string> texts(const std::string& key, std::size_t most) const;
  /// [[x, y, z], ...]: one to `most` points, each coordinate in [low, high]; none where absent.
  std::vector<std::array<double, 3>> points(const std::string& key, std::size_t most, double low,
                                            double high) const;
  double duration_s(const std::string& key, std::optional<double> fallback = {}) const; ///< > 0
  double bytes(const std::string& key, std::optional<double> fallback = {}) const;      ///< >= 0
  Money price_per_h(const std::string& key) const;                                      ///< > 0
  /// A path, made absolute against the scenario's folder. The file must exist and be readable.
  std::filesystem::path file(const std::string& key) const;
  /// Likewise a folder that can be listed.
  std::filesystem::path folder(const std::string& key) const;
  /// "1-30, 47" as sorted distinct numbers, each in [low, high]; at most `most` of them.
  std::vector<std::int64_t> ranges(const std::string& key, std::int64_t low, std::int64_t high,
                                   std::size_t most) const;

  /// A nested table, and an array of tables; empty where absent.
  std::optional<Section> table(const std::string& key, const std::vector<Key>& keys) const;
  std::vector<Section> tables(const std::string& key, const std::vector<Key>& keys) const;

  /// "scenarios/x.toml" and the line of a key (of the table itself when it is absent; 0 for an
  /// absent key of the top level, and for what --set gave).
  const std::string& file_name() const;
  long line_of(const std::string& key) const;
  /// BadInput for this key, for checks that only the caller can make.
  [[noreturn]] void fail(const std::string& key, const std::string& found,
                         const std::string& expected) const;

private:
  std::vector<double> numbers_of_length(const std::string& key, std::size_t least, std::size_t most,
                                        double low, double high,
                                        std::optional<std::vector<double>> fallback) const;
  std::string path_of(const std::string& key) const;
  std::filesystem::path existing_path(const std::string& key, const std::string& what) const;
  void check_listed(const std::string& key) const;
  void check_no_unknown_key() const;
  [[noreturn]] void fail_missing(const std::string& key) const;
  [[noreturn]] void fail_value(const std::string& key, const std::string& expected) const;
  [[noreturn]] void fail_type(const std::string& key, const std::string& expected) const;

  std::shared_ptr<const Data> data_;
  std::string path_; // "workload", "target[2]" for the second; "" for the top level
  std::vector<Key> keys_;
};

} // namespace breakeven
