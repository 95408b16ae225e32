# SPDX-License-Identifier: Apache-2.0
#
# What stand-ins for drivers are made of: kernels compiled for this machine's CPU, and run there.
set(standin_sources execution.cc fibers.cc image.cc runner.cc runner_memory.cc runner_objects.cc shared_shadow.cc)
set(standin_compile_sources test_standin/compile.cc artifact/sha256.cc)
list(TRANSFORM standin_sources PREPEND ${PROJECT_SOURCE_DIR}/tern/runtime/test_standin/)
list(TRANSFORM standin_compile_sources PREPEND ${PROJECT_SOURCE_DIR}/tern/runtime/)

# tern_standin_library(<target> <name> <directory> files...): lib<name>.so in that directory, for LD_LIBRARY_PATH.
function(tern_standin_library target name directory)
  add_library(${target} SHARED ${ARGN})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${directory})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -fvisibility=hidden)
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE -Wl,--no-undefined)
  set_property(GLOBAL APPEND PROPERTY TERN_STANDINS ${target})
  if(NOT TERN_TESTS)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  if(TERN_SANITIZE)
    # Stacks that are switched, and a lock that is to stay unseen. Inline functions of the C++ library are this library's own, and not
    # the copies of them that are looked at, which a test has.
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
    target_link_options(${target} PRIVATE -fno-sanitize=all -Wl,-Bsymbolic)
  endif()
endfunction()
