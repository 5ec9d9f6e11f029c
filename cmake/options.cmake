# What a builder may switch. Presets set these; `cmake -LH` lists them with their help text.
include(CTest)
include(CheckLanguage)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

option(BREAKEVEN_NATIVE "Compile for this machine's instruction set (the honest CPU baseline)" ON)
option(BREAKEVEN_PEERS "Build the peer benchmarks" OFF)
set(BREAKEVEN_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, e.g. address,undefined")
set(BREAKEVEN_THRUST "auto" CACHE STRING
    "Where Thrust comes from: auto (the CUDA Toolkit's, else the system's), toolkit or system")

# CUDA is on by itself only where an nvcc and a GPU are both visible, so that a newcomer without a
# GPU never waits for nvcc.
find_program(BREAKEVEN_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda/bin)
set(cuda_default OFF)
if(BREAKEVEN_NVCC AND EXISTS /dev/nvidia0)
  set(cuda_default ON)
endif()
option(BREAKEVEN_CUDA "Build the CUDA path" ${cuda_default})

if(BREAKEVEN_CUDA)
  if(NOT CMAKE_CUDA_COMPILER AND BREAKEVEN_NVCC)
    set(CMAKE_CUDA_COMPILER ${BREAKEVEN_NVCC})
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # T4, A100, A10G, L4, H100/H200. CUDA 13 has no sm_70; older toolkits add it for V100.
    set(CMAKE_CUDA_ARCHITECTURES 75 80 86 89 90)
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE nvcc_version)
    if(nvcc_version MATCHES "release ([0-9]+)\\." AND CMAKE_MATCH_1 LESS 13)
      list(PREPEND CMAKE_CUDA_ARCHITECTURES 70)
    endif()
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    # CMake 3.25 does not know yet that nvcc has C++20.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  find_package(CUDAToolkit REQUIRED)
endif()
