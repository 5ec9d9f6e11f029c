# Every library breakeven links, found in one place. All are Debian 12 packages
# (cmake/packages.txt); Thrust comes from the CUDA Toolkit where there is one.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(PNG REQUIRED)
find_package(fmt REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(assimp REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)
find_package(ZLIB REQUIRED)
find_package(dnnl CONFIG REQUIRED) # oneDNN 2 (2.6, Debian 12) or 3 (3.2)
if(NOT DNNL_CPU_THREADING_RUNTIME STREQUAL "OMP")
  message(FATAL_ERROR "oneDNN in ${dnnl_DIR} has the threads of '${DNNL_CPU_THREADING_RUNTIME}', "
                      "expected 'OMP': breakeven sets their number through OpenMP")
endif()

# OpenBLAS by the name of its own header: cblas.h may be another BLAS's.
find_path(OPENBLAS_INCLUDE_DIR cblas-openblas.h REQUIRED)
find_library(OPENBLAS_LIBRARY openblas REQUIRED)

# OpenJPEG by hand: its own CMake file names tools that Debian keeps in another package.
find_library(OPENJPEG_LIBRARY openjp2 REQUIRED)
find_package(charls REQUIRED) # JPEG-LS
if(BUILD_TESTING)
  find_package(doctest REQUIRED)
  # An independent encoder for tests of the DICOM reader. By hand: as OpenJPEG.
  find_path(GDCM_INCLUDE_DIR gdcmReader.h PATH_SUFFIXES gdcm-3.0 gdcm-3.2 REQUIRED)
  add_library(gdcm INTERFACE IMPORTED)
  target_include_directories(gdcm SYSTEM INTERFACE ${GDCM_INCLUDE_DIR})
  foreach(part MSFF DSED Common)
    find_library(GDCM_${part}_LIBRARY gdcm${part} REQUIRED)
    target_link_libraries(gdcm INTERFACE ${GDCM_${part}_LIBRARY})
  endforeach()
endif()

# Embree 3 (Debian 12) and 4 differ in header names and in the intersect arguments; the code asks
# EMBREE_VERSION, which both define through rtcore.h.
find_package(embree 4 QUIET)
if(NOT embree_FOUND)
  find_package(embree 3 REQUIRED)
endif()
if(NOT TARGET embree)
  add_library(embree INTERFACE IMPORTED)
  target_include_directories(embree SYSTEM INTERFACE ${EMBREE_INCLUDE_DIRS})
  target_link_libraries(embree INTERFACE ${EMBREE_LIBRARY})
endif()

# cuDNN, for the U-Net of the CUDA path; without it that path has no network.
if(BREAKEVEN_CUDA)
  find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}
               PATH_SUFFIXES lib lib64)
  message(STATUS "cuDNN: ${CUDNN_LIBRARY}")
endif()

# Thrust ------------------------------------------------------------------------------------------
if(NOT BREAKEVEN_THRUST STREQUAL "system" AND BREAKEVEN_NVCC)
  get_filename_component(toolkit_bin ${BREAKEVEN_NVCC} REALPATH)
  get_filename_component(toolkit ${toolkit_bin}/../.. ABSOLUTE)
  find_package(Thrust QUIET CONFIG NO_DEFAULT_PATH
               PATHS ${toolkit}/lib64/cmake/thrust ${toolkit}/targets/x86_64-linux/lib/cmake/thrust)
endif()
if(NOT Thrust_FOUND)
  if(BREAKEVEN_THRUST STREQUAL "toolkit")
    message(FATAL_ERROR "BREAKEVEN_THRUST=toolkit, but no CUDA Toolkit with Thrust was found")
  endif()
  # Debian's libthrust-dev; by its own path, so that a toolkit on PATH does not come first.
  find_package(Thrust CONFIG REQUIRED NAMES Thrust thrust NO_DEFAULT_PATH
               PATHS /usr/share/cmake/thrust /usr/local/share/cmake/thrust)
endif()
message(STATUS "Thrust ${THRUST_VERSION} from ${Thrust_DIR}")
