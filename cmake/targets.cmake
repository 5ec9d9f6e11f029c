# our_warnings: what every target of ours compiles with. Libraries come in as SYSTEM.
add_library(our_warnings INTERFACE)
target_compile_options(our_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror;-ffp-contract=off>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105329: false -Wrestrict for string concatenation at -O3.
  target_compile_options(our_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Where it is asked for little optimisation it says that "omp simd" was not followed. It does not
  # know GCC's ivdep, which makes other vectors than simd does.
  target_compile_options(our_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-pass-failed;-Wno-unknown-pragmas>)
endif()
if(BREAKEVEN_NATIVE)
  target_compile_options(our_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=native>)
endif()
if(BREAKEVEN_SANITIZE)
  target_compile_options(our_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${BREAKEVEN_SANITIZE};-fno-omit-frame-pointer>)
  target_link_options(our_warnings INTERFACE -fsanitize=${BREAKEVEN_SANITIZE})
  if(BREAKEVEN_SANITIZE MATCHES undefined)
    target_compile_options(our_warnings INTERFACE
      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=undefined>)
  endif()
endif()

# add_stage(<name> USES <targets>...): sim/<name>/*.cpp as the static library <name>.
function(add_stage name)
  cmake_parse_arguments(arg "" "" "USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sim/${name}/*.cpp)
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC fmt::fmt ${arg_USES} PRIVATE our_warnings)
endfunction()

# add_stage_tests(<name> USES <targets>... [LABELS ...] [SERIAL]): tests/<name>/*_test.cpp as one
# doctest binary, <name>_tests, one CTest entry per binary.
function(add_stage_tests name)
  cmake_parse_arguments(arg "SERIAL" "" "USES;LABELS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*_test.cpp)
  add_executable(${name}_tests ${PROJECT_SOURCE_DIR}/tests/test_main.cpp ${sources})
  target_include_directories(${name}_tests PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name}_tests PRIVATE
    BREAKEVEN_SOURCE_DIR="${PROJECT_SOURCE_DIR}" BREAKEVEN_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${name}_tests PRIVATE ${arg_USES} doctest::doctest our_warnings)
  add_test(NAME ${name} COMMAND ${name}_tests)
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  if(arg_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# Thrust's OpenMP reduce binds a reference to the end of its input, which is null when empty. Linked
# after our_warnings, because the last -fsanitize flag wins.
add_library(null_references_allowed INTERFACE)
if(BREAKEVEN_SANITIZE MATCHES undefined)
  target_compile_options(null_references_allowed INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null>)
endif()

# add_path(<path> <Thrust device>): every workloads/*/*.cu as the static library on_<path>. Each path
# gets its own namespace and its own wrapped Thrust: without the wrapper the objects of two host
# paths share Thrust's symbol names and the linker silently keeps one of them
# (tests/parity/threads_test.cpp fails then).
function(add_path path device)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
       ${PROJECT_SOURCE_DIR}/workloads/*/*.cu)
  set(files "")
  foreach(source IN LISTS sources)
    set(file ${PROJECT_SOURCE_DIR}/${source})
    if(NOT device STREQUAL "CUDA")
      set(file ${CMAKE_CURRENT_BINARY_DIR}/on_${path}/${source}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "#include \"${source}\"\n")
      set_property(SOURCE ${file} APPEND PROPERTY OBJECT_DEPENDS ${PROJECT_SOURCE_DIR}/${source})
    endif()
    list(APPEND files ${file})
  endforeach()
  thrust_create_target(thrust_${path} HOST CPP DEVICE ${device} IGNORE_CUB_VERSION_CHECK
                       IGNORE_DEPRECATED_CPP_DIALECT)
  add_library(on_${path} STATIC ${files})
  target_include_directories(on_${path} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_definitions(on_${path} PRIVATE
    ON_PATH=on_${path} THRUST_CUB_WRAPPED_NAMESPACE=on_${path}_thrust)
  target_link_libraries(on_${path} PRIVATE thrust_${path} host_kernels our_warnings scenario)
  target_link_libraries(on_${path} PRIVATE null_references_allowed)
  # Thrust, copies and events on the stream of the host thread that asks: workloads/launch.h, Stream.
  target_compile_options(on_${path} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:--default-stream=per-thread>)
endfunction()
