#!/usr/bin/env bash
# Packs the program and the libraries it loads into build/gpu_kit.tar.gz, for check.sh on a machine
# that has a GPU but not the packages that a build needs.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tests/gpu/pack.sh [MARCH [ARCHITECTURES]]

  MARCH          instruction set of the other machine's CPU, for -march=; x86-64-v3 where not given
  ARCHITECTURES  of its GPU, as CMake's; 90 (H100, H200) where not given

The other machine brings its own C and C++ library, not older than here, the GPU's driver, cuDNN and
cuBLAS.
CMAKE_BUILD_PARALLEL_LEVEL limits the jobs of the build.
TEXT
}

case ${1:-} in
-*)
  usage
  [[ $1 == --help || $1 == -h ]] && exit 0
  exit 2
  ;;
esac
march=${1:-x86-64-v3}
architectures=${2:-90}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/gpu_kit_build
kit=build/gpu_kit

# Not "native": this machine's CPU may know instructions that the other's does not. An old-style
# RPATH also holds for what the libraries load themselves.
# shellcheck disable=SC2016 # $ORIGIN is the loader's
cmake --preset cuda -B "$build" -DBUILD_TESTING=OFF -DBREAKEVEN_NATIVE=OFF \
  -DCMAKE_CXX_FLAGS="-march=$march" -DCMAKE_CUDA_ARCHITECTURES="$architectures" \
  -DCMAKE_BUILD_RPATH='$ORIGIN/lib' -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags
cmake --build "$build" --target breakeven

rm -rf "$kit"
mkdir -p "$kit/lib"
cp "$build/breakeven" "$kit"
# What must fit the other machine's system, and cuDNN and cuBLAS, which have half a gigabyte each.
not_packed='ld-linux.*|libc|libm|libmvec|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s'
not_packed+='|libcuda|libcudnn.*|libcublas.*'
ldd "$kit/breakeven" | awk '/not found/ { print "pack.sh: " $0 >"/dev/stderr"; exit 1 }
                            $2 == "=>" { print $3 }' \
  | grep -v -E "/($not_packed)\.so" | xargs cp -L -t "$kit/lib"
strip "$kit/breakeven"
tar -czf "$kit.tar.gz" -C build gpu_kit
du -h "$kit.tar.gz"
