# SPDX-License-Identifier: Apache-2.0
#
# How the directories below tern/ describe themselves. A directory names its sources and tests; a backend
# names its code generator and its plugin; nothing here or above names a backend.

# tern_sources(<runtime|compiler> files...): adds sources to one of the two libraries.
function(tern_sources library)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(tern_${library} PRIVATE ${ARGN})
endfunction()

# tern_llvm_sources(files...): adds sources to the compiler that see LLVM's headers; no other source does.
function(tern_llvm_sources)
  tern_sources(compiler ${ARGN})
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set_property(SOURCE ${ARGN} TARGET_DIRECTORY tern_compiler APPEND PROPERTY COMPILE_OPTIONS
               -isystem ${LLVM_INCLUDE_DIRS})
endfunction()

# tern_tests(<runtime|compiler> files...): adds unit tests to the library's test program.
function(tern_tests library)
  if(TERN_TESTS)
    list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    set_property(GLOBAL APPEND PROPERTY TERN_${library}_TESTS ${ARGN})
  endif()
endfunction()

# tern_test_needs(<runtime|compiler> <definition> <value> targets...): gives those of the library's tests that name it a definition,
# and has the targets built before the tests run.
function(tern_test_needs library definition value)
  if(TERN_TESTS)
    set_property(GLOBAL APPEND PROPERTY TERN_${library}_TEST_DEFINITIONS "${definition}=\"${value}\"")
    set_property(GLOBAL APPEND PROPERTY TERN_${library}_TEST_NEEDS ${ARGN})
  endif()
endfunction()

# tern_test_program(<runtime|compiler>): makes the program of all the tests that were added.
function(tern_test_program library)
  get_property(files GLOBAL PROPERTY TERN_${library}_TESTS)
  if(NOT files)
    return()
  endif()
  add_executable(tern_${library}_test ${files})
  target_compile_options(tern_${library}_test PRIVATE $<$<CONFIG:Release>:-O1>)
  target_link_libraries(tern_${library}_test PRIVATE tern_${library} GTest::gtest_main)
  target_precompile_headers(tern_${library}_test PRIVATE <gtest/gtest.h> <algorithm> <map> <optional> <set> <string> <vector>)
  # Paths of this build are for those files alone that name them: ccache knows the others from any build.
  get_property(definitions GLOBAL PROPERTY TERN_${library}_TEST_DEFINITIONS)
  foreach(file IN LISTS files)
    file(STRINGS ${file} uses REGEX "TERN_TEST_" LIMIT_COUNT 1)
    if(uses)
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_DEFINITIONS ${definitions})
    endif()
  endforeach()
  get_property(needs GLOBAL PROPERTY TERN_${library}_TEST_NEEDS)
  if(needs)
    add_dependencies(tern_${library}_test ${needs})
  endif()
  if(TERN_SANITIZE)
    target_compile_options(tern_${library}_test PRIVATE -O0)
  endif()
  gtest_discover_tests(tern_${library}_test DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit)
endfunction()

# tern_embed(<header> <variable> <file>): adds to the compiler the text of a file, which the header declares as
# extern const std::string_view tern::<variable>.
function(tern_embed header variable file)
  set(path ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} text)
  string(REGEX MATCH "[^:]+$" name ${variable})
  string(REGEX REPLACE "::[^:]+$" "" namespace ${variable})
  set(source ${CMAKE_BINARY_DIR}/generated/${name}.cc)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
// Generated from @file@.
#include "@header@"

namespace tern::@namespace@ {
const std::string_view @name@ = R"TERN(@text@)TERN";
}
]])
  target_sources(tern_compiler PRIVATE ${source})
endfunction()

# tern_header_hash(layers...): has a hash of the layers' headers made before the compiler is built, as tern/codegen/header_hash.h.
function(tern_header_hash)
  set(headers tern/compile.h tern/detect_target.h)
  foreach(layer IN LISTS ARGN)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tern/${layer}/*.h)
    list(APPEND headers ${found})
  endforeach()
  list(FILTER headers EXCLUDE REGEX "/test_")
  set(output ${CMAKE_BINARY_DIR}/generated/tern/codegen/header_hash.h)
  list(JOIN headers " " names)
  list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/)
  add_custom_command(OUTPUT ${output} VERBATIM
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} "-DHEADERS=${names}" -DOUTPUT=${output}
            -P ${PROJECT_SOURCE_DIR}/cmake/HashHeaders.cmake
    DEPENDS ${headers} ${PROJECT_SOURCE_DIR}/cmake/HashHeaders.cmake)
  target_sources(tern_compiler PRIVATE ${output})
  # For the one source that compares it; what it is for others is to be found in the installed headers.
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/tern/codegen/plugin.cc TARGET_DIRECTORY tern_compiler APPEND PROPERTY
               INCLUDE_DIRECTORIES ${CMAKE_BINARY_DIR}/generated)
  set(TERN_HEADER_HASH ${output} CACHE INTERNAL "")
endfunction()

# tern_backend_codegen(<name> files...): the code generator of backend <name>, always built into the compiler. It defines
# void tern::backend::<name>::RegisterCodegen().
function(tern_backend_codegen name)
  if(TERN_COMPILER)
    tern_sources(compiler ${ARGN})
    set_property(GLOBAL APPEND PROPERTY TERN_CODEGENS ${name})
  endif()
endfunction()

# tern_backend_plugin(<name> files...): the plugin of backend <name>, built if TERN_BACKENDS asks for it.
function(tern_backend_plugin name)
  set_property(GLOBAL APPEND PROPERTY TERN_KNOWN_BACKENDS ${name})
  if(TERN_BACKENDS STREQUAL "all" OR name IN_LIST TERN_BACKENDS)
    tern_plugin(${name} ${ARGN})
  endif()
endfunction()

# tern_plugin(<name> files...): the plugin libtern_runtime_<name>.so, or, in a static runtime, a part of it. Either way it is the target
# tern_runtime_<name>.
function(tern_plugin name)
  if(TERN_STATIC_RUNTIME)
    tern_sources(runtime ${ARGN})
    list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    set_property(SOURCE ${ARGN} TARGET_DIRECTORY tern_runtime APPEND PROPERTY COMPILE_DEFINITIONS
                 TERN_PLUGIN_ENTRY_NAME=tern_plugin_${name})
    set_property(GLOBAL APPEND PROPERTY TERN_LINKED_PLUGINS ${name})
    add_library(tern_runtime_${name} ALIAS tern_runtime)
    return()
  endif()
  tern_add_runtime_plugin(${name} ${ARGN})
  install(TARGETS tern_runtime_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Runtime)
  set_property(GLOBAL APPEND PROPERTY TERN_PLUGINS tern_runtime_${name})
endfunction()

# Says which of TERN_BACKENDS no directory describes.
function(tern_check_backends)
  get_property(known GLOBAL PROPERTY TERN_KNOWN_BACKENDS)
  foreach(name IN LISTS TERN_BACKENDS)
    if(NOT name STREQUAL "all" AND NOT name IN_LIST known)
      list(JOIN known ", " known)
      message(FATAL_ERROR "TERN_BACKENDS: there is no backend '${name}' with a plugin; there are: ${known}")
    endif()
  endforeach()
endfunction()

# Writes the file that lists the plugins inside of the runtime.
function(tern_generate_linked_plugins)
  get_property(names GLOBAL PROPERTY TERN_LINKED_PLUGINS)
  set(declarations "")
  set(entries "")
  foreach(name IN LISTS names)
    string(APPEND declarations "extern \"C\" int tern_plugin_${name}(const TernHostApi*, TernRegistrar*);\n")
    string(APPEND entries "{\"${name}\", tern_plugin_${name}}, ")
  endforeach()
  set(file ${CMAKE_BINARY_DIR}/generated/linked_plugins.cc)
  file(CONFIGURE OUTPUT ${file} CONTENT
"// Generated from the directories of tern/backend.
#include \"tern/runtime/plugin/linked_plugins.h\"

${declarations}
namespace tern::runtime {
std::map<std::string, TernPluginEntry> LinkedPlugins() { return {${entries}}; }
}  // namespace tern::runtime
")
  target_sources(tern_runtime PRIVATE ${file})
endfunction()

# tern_cts_target(<target>): the conformance suite runs on this target in the tests.
function(tern_cts_target target)
  set_property(GLOBAL APPEND PROPERTY TERN_CTS_TARGETS ${target})
endfunction()

# tern_cts_test(<name> command...): the suite is run in the tests by this command too, as cts.<name>. It exits with 77 where that is
# not possible here, having said why.
function(tern_cts_test name)
  set_property(GLOBAL APPEND PROPERTY TERN_CTS_TESTS ${name})
  set_property(GLOBAL PROPERTY TERN_CTS_COMMAND_${name} ${ARGN})
endfunction()

# Writes the one file that calls every RegisterCodegen.
function(tern_generate_backend_list)
  get_property(names GLOBAL PROPERTY TERN_CODEGENS)
  set(declarations "")
  set(calls "")
  foreach(name IN LISTS names)
    string(APPEND declarations "namespace tern::backend::${name} {\nvoid RegisterCodegen();\n}\n")
    string(APPEND calls "  backend::${name}::RegisterCodegen();\n")
  endforeach()
  set(file ${CMAKE_BINARY_DIR}/generated/register_backends.cc)
  file(CONFIGURE OUTPUT ${file} CONTENT
"// Generated from the directories of tern/backend.
${declarations}
namespace tern {
void RegisterBackends();
void RegisterBackends() {
${calls}}
}  // namespace tern
")
  target_sources(tern_compiler PRIVATE ${file})
endfunction()
