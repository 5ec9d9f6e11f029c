#include "workloads/risk/gbdt_model.h"

#include "sim/errors.h"
#include "workloads/partial_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

namespace breakeven::risk {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t root_parent = 2147483647; ///< XGBoost's word for "none"

// ---- writing ----

Json tree_json(const Tree& tree, std::size_t id, std::size_t features) {
  Json default_left = Json::array(), left = Json::array(), right = Json::array(),
       parents = Json::array(), conditions = Json::array(), indices = Json::array(),
       gains = Json::array(), hessians = Json::array(), weights = Json::array(),
       types = Json::array();
  std::vector<std::int64_t> parent(tree.size(), root_parent);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const TreeNode& node = tree[i];
    const bool is_leaf = node.feature < 0;
    if (!is_leaf)
      for (int side = 0; side < 2; ++side)
        parent[static_cast<std::size_t>(node.left + side)] = static_cast<std::int64_t>(i);
    default_left.push_back(node.missing_goes_left ? 1 : 0);
    left.push_back(is_leaf ? -1 : node.left);
    right.push_back(is_leaf ? -1 : node.left + 1);
    conditions.push_back(is_leaf ? node.value : node.cut);
    indices.push_back(is_leaf ? 0 : node.feature);
    gains.push_back(node.gain);
    hessians.push_back(node.hessian);
    weights.push_back(node.value);
    types.push_back(0);
  }
  for (const std::int64_t of_node : parent)
    parents.push_back(of_node);
  const Json none = Json::array();
  return {{"base_weights", weights},
          {"categories", none},
          {"categories_nodes", none},
          {"categories_segments", none},
          {"categories_sizes", none},
          {"default_left", default_left},
          {"id", id},
          {"left_children", left},
          {"loss_changes", gains},
          {"parents", parents},
          {"right_children", right},
          {"split_conditions", conditions},
          {"split_indices", indices},
          {"split_type", types},
          {"sum_hessian", hessians},
          {"tree_param",
           {{"num_deleted", "0"},
            {"num_feature", std::to_string(features)},
            {"num_nodes", std::to_string(tree.size())},
            {"size_leaf_vector", "0"}}}};
}

// ---- reading ----

/// A value of the file with the way to it, for messages.
class Field {
public:
  Field(const Json& json, const std::string& file, std::string name)
      : json_(&json),
        file_(&file),
        name_(std::move(name)) {}

  [[noreturn]] void bad(const std::string& found, const std::string& expected) const {
    throw BadInput(*file_, 0, name_ + ": " + found, expected);
  }
  bool has(const std::string& key) const { return json_->is_object() && json_->contains(key); }
  Field at(const std::string& key) const {
    if (!json_->is_object()) bad(json_->type_name(), "an object with " + key);
    const auto found = json_->find(key);
    if (found == json_->end()) bad("no " + key, "a model in XGBoost's JSON format");
    return {*found, *file_, name_.empty() ? key : name_ + "." + key};
  }
  Field at(std::size_t index) const {
    return {(*json_)[index], *file_, fmt::format("{}[{}]", name_, index)};
  }
  std::size_t count() const {
    if (!json_->is_array()) bad(json_->type_name(), "an array");
    return json_->size();
  }
  std::string text() const {
    if (!json_->is_string()) bad(json_->type_name(), "a string");
    return json_->get<std::string>();
  }
  std::int64_t whole() const {
    if (json_->is_boolean()) return json_->get<bool>() ? 1 : 0; // default_left of newer versions
    if (!json_->is_number_integer()) bad(json_->dump().substr(0, 40), "a whole number");
    return json_->get<std::int64_t>();
  }
  double number() const {
    if (!json_->is_number()) bad(json_->dump().substr(0, 40), "a number");
    const double value = json_->get<double>();
    if (!std::isfinite(value)) bad("a number that is not finite", "a finite one");
    return value;
  }
  float single() const {
    const double value = number();
    if (std::fabs(value) > static_cast<double>(std::numeric_limits<float>::max()))
      bad(fmt::format("{}", value), "a number that a float holds");
    return static_cast<float>(value);
  }
  /// Numbers that XGBoost writes as text; newer versions put them into brackets.
  double number_in_text() const {
    std::string from = text();
    std::erase_if(from, [](char c) { return c == '[' || c == ']'; });
    char* end = nullptr;
    const double value = std::strtod(from.c_str(), &end);
    if (from.empty() || *end != '\0' || !std::isfinite(value)) bad("'" + from + "'", "a number");
    return value;
  }

private:
  const Json* json_;
  const std::string* file_;
  std::string name_;
};

/// The arrays of a tree, of one length.
struct TreeArrays {
  Field default_left, left, right, conditions, indices, gains, hessians, types;
  std::size_t nodes;

  explicit TreeArrays(const Field& tree)
      : default_left(tree.at("default_left")),
        left(tree.at("left_children")),
        right(tree.at("right_children")),
        conditions(tree.at("split_conditions")),
        indices(tree.at("split_indices")),
        gains(tree.at("loss_changes")),
        hessians(tree.at("sum_hessian")),
        types(tree.at("split_type")),
        nodes(left.count()) {
    if (nodes == 0) left.bad("no nodes", "at least a root");
    for (const Field* array :
         {&default_left, &right, &conditions, &indices, &gains, &hessians, &types})
      if (array->count() != nodes)
        array->bad(fmt::format("{} nodes", array->count()),
                   fmt::format("{}, as left_children has", nodes));
  }
};

/// Children as pairs side by side, in the order in which a walk by levels meets them, whatever
/// their numbers in the file.
Tree tree_of(const Field& field, std::size_t features) {
  const TreeArrays arrays(field);
  Tree tree(1);
  std::vector<std::size_t> number_in_file{0};
  std::vector<bool> is_met(arrays.nodes, false);
  is_met[0] = true;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const std::size_t from = number_in_file[i];
    TreeNode node;
    node.bin = -1;
    node.gain = arrays.gains.at(from).number();
    node.hessian = arrays.hessians.at(from).number();
    const std::int64_t children[]{arrays.left.at(from).whole(), arrays.right.at(from).whole()};
    if (children[0] == -1 && children[1] == -1) {
      node.value = arrays.conditions.at(from).single();
      tree[i] = node;
      continue;
    }
    if (arrays.types.at(from).whole() != 0)
      arrays.types.at(from).bad("a split by categories", "splits by number alone");
    const std::int64_t feature = arrays.indices.at(from).whole();
    if (feature < 0 || feature >= static_cast<std::int64_t>(features))
      arrays.indices.at(from).bad(fmt::format("feature {}", feature),
                                  fmt::format("0 to {}", features - 1));
    node.feature = static_cast<std::int32_t>(feature);
    node.cut = arrays.conditions.at(from).single();
    node.missing_goes_left = arrays.default_left.at(from).whole() != 0;
    node.left = static_cast<std::int32_t>(tree.size());
    for (const std::int64_t child : children) {
      if (child <= 0 || child >= static_cast<std::int64_t>(arrays.nodes)
          || is_met[static_cast<std::size_t>(child)])
        arrays.left.bad(fmt::format("{} as a child of node {}", child, from),
                        "nodes that make a tree");
      is_met[static_cast<std::size_t>(child)] = true;
      number_in_file.push_back(static_cast<std::size_t>(child));
    }
    tree[i] = node;
    tree.resize(tree.size() + 2);
  }
  return tree;
}

/// A probability in a float's digits loses the bits of a margin, so that is kept beside it.
constexpr const char* base_margin_attribute = "base_margin";

float base_margin_of(const Field& learner) {
  const Field attributes = learner.at("attributes");
  if (attributes.has(base_margin_attribute))
    return static_cast<float>(attributes.at(base_margin_attribute).number_in_text());
  const Field field = learner.at("learner_model_param").at("base_score");
  const double base = field.number_in_text();
  if (!(base > 0 && base < 1)) field.bad(fmt::format("{}", base), "a probability");
  return static_cast<float>(std::log(base / (1 - base)));
}

std::vector<std::string> feature_names_of(const Field& learner) {
  const Field count_field = learner.at("learner_model_param").at("num_feature");
  const double count = count_field.number_in_text();
  constexpr double most = 1e6;
  if (!(count >= 1 && count <= most && count == std::floor(count)))
    count_field.bad(fmt::format("{}", count), "1 to a million features");
  const Field field = learner.at("feature_names");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < field.count(); ++i)
    names.push_back(field.at(i).text());
  const auto features = static_cast<std::size_t>(count);
  for (std::size_t i = 0; names.size() < features && field.count() == 0; ++i)
    names.push_back(fmt::format("f{}", i)); // XGBoost's names for features without one
  if (names.size() != features)
    field.bad(fmt::format("{} names", names.size()),
              fmt::format("{}, as num_feature says", features));
  return names;
}

void check_kind(const Field& learner) {
  const Field objective = learner.at("objective").at("name");
  if (objective.text() != "binary:logistic")
    objective.bad("'" + objective.text() + "'", "binary:logistic");
  const Field booster = learner.at("gradient_booster").at("name");
  if (booster.text() != "gbtree") booster.bad("'" + booster.text() + "'", "gbtree");
}

Json parsed(const std::string& file) {
  if (std::filesystem::is_directory(file)) throw BadInput(file, 0, "a directory", "a model's file");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw BadInput(file, 0, std::strerror(errno), "a readable file");
  try {
    return Json::parse(in);
  } catch (const Json::parse_error& error) {
    throw BadInput(file, 0, fmt::format("no JSON at byte {}", error.byte),
                   "a model in XGBoost's JSON format");
  }
}

} // namespace

void write_model(const std::filesystem::path& path, const Gbdt& model) {
  const std::size_t features = model.feature_names.size();
  Json trees = Json::array(), info = Json::array();
  for (std::size_t i = 0; i < model.trees.size(); ++i) {
    trees.push_back(tree_json(model.trees[i], i, features));
    info.push_back(0);
  }
  // XGBoost takes no more digits than a float has.
  const auto base = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(model.base_margin))));
  const Json json = {
      {"learner",
       {{"attributes", {{base_margin_attribute, fmt::format("{}", model.base_margin)}}},
        {"feature_names", model.feature_names},
        {"feature_types", std::vector<std::string>(features, "float")},
        {"gradient_booster",
         {{"model",
           {{"gbtree_model_param",
             {{"num_parallel_tree", "1"},
              {"num_trees", std::to_string(model.trees.size())},
              {"size_leaf_vector", "0"}}},
            {"tree_info", info},
            {"trees", trees}}},
          {"name", "gbtree"}}},
        {"learner_model_param",
         {{"base_score", fmt::format("{}", base)},
          {"boost_from_average", "0"},
          {"num_class", "0"},
          {"num_feature", std::to_string(features)},
          {"num_target", "1"}}},
        {"objective",
         {{"name", "binary:logistic"}, {"reg_loss_param", {{"scale_pos_weight", "1"}}}}}}},
      {"version", {1, 7, 4}}};
  write_whole_file(path, json.dump());
}

Gbdt read_model(const std::filesystem::path& path) {
  const std::string file = path.string();
  const Json json = parsed(file);
  const Field learner = Field(json, file, "").at("learner");
  check_kind(learner);
  Gbdt model;
  model.feature_names = feature_names_of(learner);
  model.base_margin = base_margin_of(learner);
  const Field trees = learner.at("gradient_booster").at("model").at("trees");
  for (std::size_t i = 0; i < trees.count(); ++i)
    model.trees.push_back(tree_of(trees.at(i), model.feature_names.size()));
  return model;
}

} // namespace breakeven::risk
