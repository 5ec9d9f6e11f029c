// Products of float matrices by OpenBLAS, for the CPU path and the GPU path's host build. Leaves
// out which rows and layers they are.
#pragma once

#include <cstdint>

namespace breakeven::risk {

/// While one lives, OpenBLAS computes each product in the thread that asks for it, so that threads
/// may ask side by side. The number of its threads belongs to the whole process.
class ProductsInOneThread {
public:
  ProductsInOneThread();
  ~ProductsInOneThread();
  ProductsInOneThread(const ProductsInOneThread&) = delete;
  ProductsInOneThread& operator=(const ProductsInOneThread&) = delete;

private:
  int threads_before_;
};

enum class Transposed { neither, first, second };

/// c = a b, row by row: m x k times k x n. `transposed` says which of the two lies as its
/// transpose. Rows begin `pitch` numbers apart. Products are floats in another order than any loop
/// has, but the same one for the same sizes.
struct ProductSize {
  std::int64_t m, n, k;
};
struct Matrix {
  const float* data;
  std::int64_t pitch;
};
void multiply(Transposed transposed, const ProductSize& size, const Matrix& a, const Matrix& b,
              float* c, std::int64_t c_pitch);

} // namespace breakeven::risk
