// Weights of the U-Net: drawn from a seed, and read from files that are right, wrong and mangled.
#include "sim/errors.h"
#include "workloads/imaging/unet.h"
#include "workloads/philox.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>

using namespace breakeven;
using namespace breakeven::imaging;

namespace {

UNetSpec small_spec() {
  UNetSpec spec;
  spec.features = 2;
  spec.most_features = 4;
  spec.stages = 2;
  spec.classes = 2;
  spec.patch = {4, 4, 4};
  return spec;
}

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

std::vector<Tensor> tensors_of(const UNetSpec& spec, const UNetWeights& weights) {
  std::vector<Tensor> tensors;
  const auto layers = unet_layers(spec);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const UNetLayer& layer = layers[i];
    const LayerWeights& of_layer = weights.layers[i];
    const std::int64_t k = layer.kernel;
    if (layer.kind == LayerKind::convolution) {
      tensors.push_back(
          {layer.name + ".conv.weight", {layer.out, layer.in, k, k, k}, of_layer.weight});
      tensors.push_back({layer.name + ".norm.weight", {layer.out}, of_layer.scale});
      tensors.push_back({layer.name + ".norm.bias", {layer.out}, of_layer.shift});
      continue;
    }
    const bool is_head = layer.kind == LayerKind::head;
    const std::int64_t first = is_head ? layer.out : layer.in,
                       second = is_head ? layer.in : layer.out;
    tensors.push_back({layer.name + ".weight", {first, second, k, k, k}, of_layer.weight});
    tensors.push_back({layer.name + ".bias", {layer.out}, of_layer.shift});
  }
  return tensors;
}

enum class Number { single, half };

std::string bytes_of(const std::vector<float>& values, Number number) {
  std::string bytes;
  for (const float value : values) {
    const auto single = std::bit_cast<std::uint32_t>(value);
    const std::uint16_t half = half_bits(value);
    if (number == Number::single)
      bytes.append(reinterpret_cast<const char*>(&single), 4);
    else
      bytes.append(reinterpret_cast<const char*>(&half), 2);
  }
  return bytes;
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string listed(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t side : shape)
    text += std::to_string(side) + ",";
  return text;
}

std::string npy(const Tensor& tensor, Number number) {
  const std::string type = number == Number::single ? "<f4" : "<f2";
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': ("
                       + listed(tensor.shape) + "), }";
  header.resize((header.size() + 10 + 64) / 64 * 64 - 11, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + little_endian(header.size(), 2) + header
         + bytes_of(tensor.values, number);
}

std::string deflated(const std::string& bytes) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<unsigned>(bytes.size());
  stream.next_out = reinterpret_cast<unsigned char*>(packed.data());
  stream.avail_out = static_cast<unsigned>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

enum class Packing { stored, deflated };

std::string npz(const std::vector<Tensor>& tensors, Number number, Packing packing) {
  std::string file, directory;
  for (const Tensor& tensor : tensors) {
    const std::string bytes = npy(tensor, number), name = tensor.name + ".npy";
    const std::string packed = packing == Packing::stored ? bytes : deflated(bytes);
    const auto crc = crc32(0, reinterpret_cast<const unsigned char*>(bytes.data()),
                           static_cast<unsigned>(bytes.size()));
    const std::string common = little_endian(20, 2) + little_endian(0, 2)
                               + little_endian(packing == Packing::stored ? 0 : 8, 2)
                               + little_endian(0, 4) + little_endian(crc, 4)
                               + little_endian(packed.size(), 4) + little_endian(bytes.size(), 4)
                               + little_endian(name.size(), 2);
    directory += "PK\x01\x02" + little_endian(20, 2) + common + little_endian(0, 2)
                 + little_endian(0, 2) + little_endian(0, 2) + little_endian(0, 2)
                 + little_endian(0, 4) + little_endian(file.size(), 4) + name;
    // NumPy puts a zip64 field of 20 bytes in the local header.
    file += "PK\x03\x04" + common + little_endian(20, 2) + name + std::string(20, '\0') + packed;
  }
  return file + directory + "PK\x05\x06" + little_endian(0, 4) + little_endian(tensors.size(), 2)
         + little_endian(tensors.size(), 2) + little_endian(directory.size(), 4)
         + little_endian(file.size(), 4) + little_endian(0, 2);
}

std::string safetensors(const std::vector<Tensor>& tensors, Number number) {
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}", data;
  for (const Tensor& tensor : tensors) {
    const std::string bytes = bytes_of(tensor.values, number);
    std::string shape = listed(tensor.shape);
    shape.pop_back();
    header += ",\"" + tensor.name + "\":{\"dtype\":\"" + (number == Number::single ? "F32" : "F16")
              + "\",\"shape\":[" + shape + "],\"data_offsets\":[" + std::to_string(data.size())
              + "," + std::to_string(data.size() + bytes.size()) + "]}";
    data += bytes;
  }
  header += "}";
  return little_endian(header.size(), 8) + header + data;
}

std::vector<std::string> all_formats(const std::vector<Tensor>& tensors) {
  return {npz(tensors, Number::single, Packing::stored),
          npz(tensors, Number::half, Packing::deflated), safetensors(tensors, Number::single),
          safetensors(tensors, Number::half)};
}

/// The message of the BadInput, or "" where the weights were read.
std::string refusal(const std::string& bytes, const UNetSpec& spec = small_spec()) {
  try {
    parse_weights(bytes, "w.npz", spec);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("half precision rounds to the nearest, ties to even, and back exactly") {
  CHECK(half_bits(1.0f) == 0x3C00);
  CHECK(half_bits(-2.0f) == 0xC000);
  CHECK(half_bits(65504.0f) == 0x7BFF);
  CHECK(half_bits(65519.9f) == 0x7BFF);
  CHECK(half_bits(65520.0f) == 0x7C00);
  CHECK(half_bits(0x1p-24f) == 1);
  CHECK(half_bits(0x1p-25f) == 0);
  CHECK(half_bits(0x1.8p-24f) == 2);
  CHECK(half_bits(1.0f + 0x1p-11f) == 0x3C00);
  CHECK(half_bits(1.0f + 0x1.8p-10f) == 0x3C02);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if ((half & 0x7C00) == 0x7C00 && (half & 0x3FF) != 0) {
      CHECK(std::isnan(half_value(half)));
      continue;
    }
    if (half_bits(half_value(half)) != half) FAIL_CHECK(bits);
  }
}

TEST_CASE("seeded weights have He's variance and are the same every time") {
  UNetSpec spec;
  spec.stages = 2;
  const UNetWeights weights = seeded_weights(spec, 1), again = seeded_weights(spec, 1),
                    other = seeded_weights(spec, 2);
  CHECK(weights.layers[1].weight == again.layers[1].weight);
  CHECK(weights.layers[1].weight != other.layers[1].weight);
  CHECK(weights.layers[1].weight[0] != weights.layers[2].weight[0]);
  double mean = 0, square = 0;
  const auto& drawn = weights.layers[1].weight; // 32 x 32 x 27
  REQUIRE(drawn.size() == 27648);
  for (const float value : drawn) {
    mean += static_cast<double>(value) / 27648;
    square += static_cast<double>(value * value) / 27648;
  }
  // Standard error of the mean: sd / 166; of the variance: variance x sqrt(2 / 27648) = 0.9 %.
  const double variance = 2 / (1.0001 * 27 * 32);
  CHECK(std::fabs(mean) < 4 * std::sqrt(variance) / 166);
  CHECK(square == doctest::Approx(variance).epsilon(0.035));
}

TEST_CASE("what was written is read: npz stored and deflated, safetensors, f32 and f16") {
  const UNetSpec spec = small_spec();
  UNetWeights weights = seeded_weights(spec, 7);
  for (LayerWeights& layer : weights.layers) // what both types hold exactly
    for (std::vector<float>* values : {&layer.weight, &layer.scale, &layer.shift})
      for (float& value : *values)
        value = half_value(half_bits(value));
  for (const std::string& file : all_formats(tensors_of(spec, weights))) {
    const UNetWeights read = parse_weights(file, "weights", spec);
    REQUIRE(read.layers.size() == weights.layers.size());
    for (std::size_t i = 0; i < read.layers.size(); ++i) {
      CHECK(read.layers[i].weight == weights.layers[i].weight);
      CHECK(read.layers[i].scale == weights.layers[i].scale);
      CHECK(read.layers[i].shift == weights.layers[i].shift);
    }
  }
}

TEST_CASE("missing tensors, wrong shapes, NaN and infinity are refused by name") {
  const UNetSpec spec = small_spec();
  const auto tensors = tensors_of(spec, seeded_weights(spec, 7));
  for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    auto mangled = tensors;
    mangled[3].values[5] = bad;
    for (const std::string& file : all_formats(mangled)) {
      CHECK(contains(refusal(file), "at element 5 of encoder.stages.0.0.convs.1.conv.weight"));
      CHECK(contains(refusal(file), "expected finite numbers"));
    }
  }
  auto missing = tensors;
  missing.erase(missing.begin() + 1);
  for (const std::string& file : all_formats(missing))
    CHECK(contains(refusal(file), "encoder.stages.0.0.convs.0.norm.weight"));
  auto reshaped = tensors;
  std::swap(reshaped[0].shape[0], reshaped[0].shape[1]);
  for (const std::string& file : all_formats(reshaped)) {
    CHECK(contains(refusal(file), "of shape [1, 2, 3, 3, 3]"));
    CHECK(contains(refusal(file), "expected [2, 1, 3, 3, 3]"));
  }
}

TEST_CASE("files that lie about sizes or types are refused") {
  const UNetSpec spec = small_spec();
  const auto tensors = tensors_of(spec, seeded_weights(spec, 7));
  const std::string safe = safetensors(tensors, Number::single);
  const std::string archive = npz(tensors, Number::single, Packing::deflated);
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  CHECK(refusal("") != "");
  CHECK(refusal(std::string(100, 'x')) != "");
  CHECK(refusal(replaced(safe, "F32", "F64")) != "");
  CHECK(refusal(replaced(safe, "[0,", "[9,")) != "");
  CHECK(refusal(replaced(safe, "\"shape\":[2,1", "\"shape\":[2,9")) != "");
  CHECK(refusal(safe.substr(0, safe.size() - 1)) != "");
  CHECK(refusal(little_endian(std::uint64_t{1} << 31, 8) + safe.substr(8)) != "");
  CHECK(refusal(archive.substr(0, archive.size() - 30)) != "");
  // A bomb: an entry that says 3 GB is refused before anything is allocated.
  std::string bomb = archive;
  const std::size_t entry = bomb.find("PK\x01\x02");
  REQUIRE(entry != std::string::npos);
  bomb.replace(entry + 24, 4, little_endian(3'000'000'000u, 4));
  CHECK(contains(refusal(bomb), "3000000000 bytes"));
  const std::string stored = npz(tensors, Number::single, Packing::stored);
  CHECK(contains(refusal(replaced(stored, "False", "True ")), "CRC"));
}

TEST_CASE("a file that is not there is refused with its name") {
  CHECK_THROWS_AS(read_weights("/nowhere/weights.npz", small_spec()), BadInput);
}

TEST_CASE("thousands of mangled files are read or refused, never worse") {
  const UNetSpec spec = small_spec();
  const auto tensors = tensors_of(spec, seeded_weights(spec, 7));
  int refused = 0, read = 0;
  for (const std::string& whole : all_formats(tensors))
    for (std::uint32_t mutant = 0; mutant < 1500; ++mutant) {
      std::string bytes = whole;
      const auto random = philox4x32({mutant, 0, 0, 0}, whole.size());
      std::uint32_t state = random.x;
      const auto below = [&](std::size_t n) {
        state = state * 1664525u + 1013904223u;
        return static_cast<std::size_t>((std::uint64_t{state} * n) >> 32);
      };
      // Most of a file is numbers, so half of the changes go to its first or last part.
      const std::size_t edge = std::min<std::size_t>(whole.size(), 1500);
      for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
        const std::size_t where = below(4);
        std::size_t at = where == 0   ? below(edge)
                         : where == 1 ? whole.size() - 1 - below(edge)
                                      : below(whole.size());
        at = std::min(at, bytes.size() - 1);
        switch (below(5)) {
        case 0:
          bytes[at] = static_cast<char>(below(256));
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 2:
          bytes[at] = static_cast<char>(0xFF);
          break;
        case 3:
          bytes.insert(at, 1, static_cast<char>(below(256)));
          break;
        case 4:
          if (below(8) == 0) bytes.resize(std::max<std::size_t>(1, at));
          break;
        }
      }
      (refusal(bytes, spec).empty() ? read : refused)++;
    }
  CHECK(read + refused == 6000);
  CHECK(refused > 2000);
}
