#include "sim/scenario/sha256.h"

#include "sim/errors.h"
#include "sim/scenario/scenario.h"

#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <memory>
#include <vector>

namespace breakeven {

namespace {

class Sha256 {
public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    if (!context_) throw Failure("no memory for a SHA-256");
    require(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
  }

  void add(const char* bytes, std::size_t count) {
    require(EVP_DigestUpdate(context_.get(), bytes, count));
  }

  std::string hexadecimal() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned length = 0;
    require(EVP_DigestFinal_ex(context_.get(), digest.data(), &length));
    std::string text;
    for (unsigned i = 0; i < length; ++i) {
      text += "0123456789abcdef"[digest[i] >> 4];
      text += "0123456789abcdef"[digest[i] & 15];
    }
    return text;
  }

private:
  static void require(int succeeded) {
    if (succeeded != 1) throw Failure("OpenSSL cannot compute a SHA-256");
  }
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

} // namespace

std::string sha256_of(const std::string& bytes) {
  Sha256 hash;
  hash.add(bytes.data(), bytes.size());
  return hash.hexadecimal();
}

std::string sha256_of_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  Sha256 hash;
  std::vector<char> piece(1 << 20);
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    hash.add(piece.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (!in.eof()) throw Failure("cannot read " + file.string());
  return hash.hexadecimal();
}

} // namespace breakeven
