# build_info.h: version, compiler, flags and commit, for the environment record of every result.
execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} describe --always --dirty --abbrev=12
                OUTPUT_VARIABLE breakeven_commit OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE git_failed)
if(git_failed)
  set(breakeven_commit "unknown")
endif()
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
set(breakeven_flags "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}} -ffp-contract=off")
if(BREAKEVEN_NATIVE)
  string(APPEND breakeven_flags " -march=native")
endif()
if(BREAKEVEN_SANITIZE)
  string(APPEND breakeven_flags " -fsanitize=${BREAKEVEN_SANITIZE}")
endif()
string(STRIP "${breakeven_flags}" breakeven_flags)
configure_file(${PROJECT_SOURCE_DIR}/sim/measure/build_info.h.in
               ${PROJECT_BINARY_DIR}/generated/build_info.h @ONLY)
