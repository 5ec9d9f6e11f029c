// The matrix products of the GPU side: cuBLAS's under nvcc, with inputs of 16 bits on tensor cores
// and sums in float, or plain floats without TF32; on the host OpenBLAS's, of the same rounded
// inputs. The part of the network that asks which compiler reads it.
#pragma once

#include "workloads/imaging/device.h"
#include "workloads/risk/mlp_blas.h"
#include "workloads/risk/mlp_format.h"

#if defined(__CUDACC__)
#include <cublas_v2.h>
#endif

#include <limits>
#include <vector>

namespace breakeven::ON_PATH::risk_mlp {

using namespace ::breakeven::risk;

#if defined(__CUDACC__)

inline void check(cublasStatus_t code, const char* doing) {
  if (code == CUBLAS_STATUS_SUCCESS) return;
  throw Failure(std::string(doing) + ": cuBLAS error " + std::to_string(static_cast<int>(code))
                + ": " + cublasGetStatusString(code));
}

template <class T>
class Products {
public:
  Products() {
    check(cublasCreate(&handle_), "start cuBLAS");
    try {
      check(cublasSetStream(handle_, Stream{}.handle), "choose cuBLAS's stream");
      // Neither TF32 for floats nor sums in 16 bits.
      check(cublasSetMathMode(handle_, static_cast<cublasMath_t>(
                                           CUBLAS_DEFAULT_MATH
                                           | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
            "choose cuBLAS's precision");
    } catch (...) {
      cublasDestroy(handle_);
      throw;
    }
  }
  ~Products() { cublasDestroy(handle_); }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  /// As multiply() of mlp_blas.h, without gaps between rows; queued. cuBLAS counts by columns, so
  /// it is asked for the transpose of c, which is that of b times that of a.
  void multiply(Transposed transposed, const ProductSize& size, const T* a, const T* b, float* c) {
    const float one = 1, zero = 0;
    const bool a_lies = transposed == Transposed::first, b_lies = transposed == Transposed::second;
    const auto m = static_cast<int>(size.m), n = static_cast<int>(size.n),
               k = static_cast<int>(size.k);
    check(cublasGemmEx(handle_, b_lies ? CUBLAS_OP_T : CUBLAS_OP_N,
                       a_lies ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, b, format, b_lies ? k : n,
                       a, format, a_lies ? m : k, &zero, c, CUDA_R_32F, n, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT),
          "multiply matrices");
  }

private:
  static constexpr cudaDataType_t format = std::is_same_v<T, float>  ? CUDA_R_32F
                                           : std::is_same_v<T, Bf16> ? CUDA_R_16BF
                                                                     : CUDA_R_16F;
  cublasHandle_t handle_ = nullptr;
};

#else

template <class T>
class Products {
public:
  void multiply(Transposed transposed, const ProductSize& size, const T* a, const T* b, float* c) {
    const bool a_lies = transposed == Transposed::first, b_lies = transposed == Transposed::second;
    copy(a, size.m * size.k, a_);
    copy(b, size.k * size.n, b_);
    risk::multiply(transposed, size, {a_.data(), a_lies ? size.m : size.k},
                   {b_.data(), b_lies ? size.k : size.n}, c, size.n);
  }

private:
  static void copy(const T* from, std::int64_t count, std::vector<float>& to) {
    to.resize(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = value_of(from[i]);
  }

  const ProductsInOneThread guard_; // results of the same bits for any number of threads
  std::vector<float> a_, b_;
};

#endif

} // namespace breakeven::ON_PATH::risk_mlp
