# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` gives: libraries and tools (installed where they are defined), headers, and the package that
# find_package(Tern) reads. The component Runtime stands alone; Compiler needs it.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Tern)

# The headers of these layers, and nothing that is for tests alone.
function(tern_install_headers component)
  foreach(layer IN LISTS ARGN)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/tern/${layer} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tern COMPONENT ${component}
      FILES_MATCHING PATTERN "*.h" PATTERN "test_*" EXCLUDE)
  endforeach()
endfunction()

function(tern_install_component component)
  install(EXPORT Tern${component}Targets NAMESPACE Tern:: DESTINATION ${package} COMPONENT ${component})
endfunction()

tern_install_headers(Runtime ffi runtime)
# But for the tests that every plugin passes, and what they include: for backends out of the tree.
install(FILES ${PROJECT_SOURCE_DIR}/tern/runtime/test_data/device_plugin_test.h ${PROJECT_SOURCE_DIR}/tern/runtime/test_data/test_environment.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tern/runtime/test_data COMPONENT Runtime)
tern_install_component(Runtime)
if(TERN_COMPILER)
  tern_install_headers(Compiler ir arith target tir schedule codegen graph)
  install(FILES ${PROJECT_SOURCE_DIR}/tern/compile.h ${PROJECT_SOURCE_DIR}/tern/detect_target.h
    ${PROJECT_SOURCE_DIR}/tern/c_api_compile.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tern COMPONENT Compiler)
  install(FILES ${TERN_HEADER_HASH} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tern/codegen COMPONENT Compiler)
  tern_install_component(Compiler)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/TernConfig.cmake.in ${CMAKE_BINARY_DIR}/TernConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TernConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TernConfig.cmake ${CMAKE_BINARY_DIR}/TernConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/TernPlugins.cmake ${PROJECT_SOURCE_DIR}/cmake/plugin_exports.map
  DESTINATION ${package} COMPONENT Runtime)
