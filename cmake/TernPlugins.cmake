# SPDX-License-Identifier: Apache-2.0
#
# How a backend's libraries are built: the same for the backends of the tree and for those outside, which get these functions from
# find_package(Tern).

set(TERN_PLUGIN_EXPORTS ${CMAKE_CURRENT_LIST_DIR}/plugin_exports.map)

# What both kinds have: nothing leaves the library but the entries that the loader looks for.
function(tern_plugin_library target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE -fvisibility=hidden)
  target_link_options(${target} PRIVATE -Wl,--version-script=${TERN_PLUGIN_EXPORTS})
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${TERN_PLUGIN_EXPORTS})
endfunction()

# tern_add_runtime_plugin(<name> files...): the plugin libtern_runtime_<name>.so. It sees Tern's headers but links against nothing of
# Tern.
function(tern_add_runtime_plugin name)
  set(target tern_runtime_${name})
  add_library(${target} MODULE ${ARGN})
  tern_plugin_library(${target})
  target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:Tern::Runtime,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
  if(NOT TERN_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

# tern_add_codegen_plugin(<name> files...): the code generator libtern_codegen_<name>.so, which uses the compiler's C++ interface.
function(tern_add_codegen_plugin name)
  set(target tern_codegen_${name})
  add_library(${target} MODULE ${ARGN})
  tern_plugin_library(${target})
  # As the compiler itself is built.
  target_compile_options(${target} PRIVATE -fno-strict-aliasing)
  target_link_libraries(${target} PRIVATE Tern::Compiler)
endfunction()

# tern_backend_manifest(<name>): writes <name>.json beside the libraries of backend <name>; it names those of the two that are
# targets here. Tern finds the backend once the file is in share/tern/backends of a data directory.
function(tern_backend_manifest name)
  set(members "  \"version\": 1,\n  \"name\": \"${name}\"")
  foreach(part runtime codegen)
    if(TARGET tern_${part}_${name})
      string(APPEND members ",\n  \"${part}\": \"$<TARGET_FILE:tern_${part}_${name}>\"")
    endif()
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.json CONTENT "{\n${members}\n}\n")
endfunction()
