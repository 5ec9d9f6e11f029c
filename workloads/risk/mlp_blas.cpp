#include "workloads/risk/mlp_blas.h"

#include <cblas-openblas.h>

namespace breakeven::risk {

ProductsInOneThread::ProductsInOneThread() : threads_before_(openblas_get_num_threads()) {
  openblas_set_num_threads(1);
}
ProductsInOneThread::~ProductsInOneThread() { openblas_set_num_threads(threads_before_); }

void multiply(Transposed transposed, const ProductSize& size, const Matrix& a, const Matrix& b,
              float* c, std::int64_t c_pitch) {
  const auto whole = [](std::int64_t number) { return static_cast<blasint>(number); };
  cblas_sgemm(CblasRowMajor, transposed == Transposed::first ? CblasTrans : CblasNoTrans,
              transposed == Transposed::second ? CblasTrans : CblasNoTrans, whole(size.m),
              whole(size.n), whole(size.k), 1.0f, a.data, whole(a.pitch), b.data, whole(b.pitch),
              0.0f, c, whole(c_pitch));
}

} // namespace breakeven::risk
