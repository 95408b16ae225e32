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

# tern_test_needs(<runtime|compiler> <definition> <value> targets...): gives the library's tests a definition, and has the targets
# built before the tests run.
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
  get_property(definitions GLOBAL PROPERTY TERN_${library}_TEST_DEFINITIONS)
  target_compile_definitions(tern_${library}_test PRIVATE ${definitions})
  get_property(needs GLOBAL PROPERTY TERN_${library}_TEST_NEEDS)
  if(needs)
    add_dependencies(tern_${library}_test ${needs})
  endif()
  if(TERN_SANITIZE)
    target_sources(tern_${library}_test PRIVATE ${PROJECT_SOURCE_DIR}/test/sanitizer_defaults.cc)
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

# tern_backend_codegen(<name> files...): the code generator of backend <name>, always built into the compiler. It defines
# void tern::backend::<name>::RegisterCodegen().
function(tern_backend_codegen name)
  if(TERN_COMPILER)
    tern_sources(compiler ${ARGN})
    set_property(GLOBAL APPEND PROPERTY TERN_CODEGENS ${name})
  endif()
endfunction()

# tern_backend_plugin(<name> files...): the plugin libtern_runtime_<name>.so, built if TERN_BACKENDS asks for it. It sees Tern's
# headers but links against nothing of Tern, and exports tern_plugin alone.
function(tern_backend_plugin name)
  if(NOT TERN_BACKENDS STREQUAL "all" AND NOT name IN_LIST TERN_BACKENDS)
    return()
  endif()
  add_library(tern_runtime_${name} MODULE ${ARGN})
  target_include_directories(tern_runtime_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(tern_runtime_${name} PRIVATE -fvisibility=hidden)
  target_link_libraries(tern_runtime_${name} PRIVATE ${CMAKE_DL_LIBS})
  target_link_options(tern_runtime_${name} PRIVATE
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/tern/plugin_exports.map)
  set_target_properties(tern_runtime_${name} PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/tern/plugin_exports.map)
  if(NOT TERN_SANITIZE)
    target_link_options(tern_runtime_${name} PRIVATE -Wl,--no-undefined)
  endif()
  install(TARGETS tern_runtime_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set_property(GLOBAL APPEND PROPERTY TERN_PLUGINS tern_runtime_${name})
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
