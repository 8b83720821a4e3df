# What `make install` and the Debian packages contain. Included last: it names targets of every folder.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(packages ${CMAKE_INSTALL_LIBDIR}/cmake)

# find_package(NAME) from IN/NAMEConfig.cmake.in; further arguments go to install() and configure_package_config_file().
function(install_package name in component)
  configure_package_config_file(${in}/${name}Config.cmake.in ${CMAKE_BINARY_DIR}/${name}Config.cmake
    INSTALL_DESTINATION ${packages}/${name} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/${name}ConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(EXPORT ${name}Targets NAMESPACE Tenon:: DESTINATION ${packages}/${name} COMPONENT ${component})
  install(FILES ${CMAKE_BINARY_DIR}/${name}Config.cmake ${CMAKE_BINARY_DIR}/${name}ConfigVersion.cmake ${ARGN}
    DESTINATION ${packages}/${name} COMPONENT ${component})
endfunction()

# The library and its headers: find_package(Tenon), Tenon::tenon.
target_compile_features(tenon PUBLIC cxx_std_20)
install(TARGETS tenon EXPORT TenonTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY core/include/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES share/cmake/installed_backends.cc.in DESTINATION ${packages}/Tenon RENAME installed_backends.cc)
install_package(Tenon share/cmake ${CMAKE_INSTALL_DEFAULT_COMPONENT_NAME})

# install_pkg_config(IN COMPONENT): IN/NAME.pc.in, for any place that the prefix is moved to.
function(install_pkg_config in component)
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" up "${up}")
  get_filename_component(name ${in} NAME_WLE)
  configure_file(${in} ${CMAKE_BINARY_DIR}/${name} @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endfunction()
install_pkg_config(core/tenon.pc.in ${CMAKE_INSTALL_DEFAULT_COMPONENT_NAME})

# The runner with its page and completion. The backends install themselves: plugins/CMakeLists.txt.
install(PROGRAMS ${CMAKE_BINARY_DIR}/bin/tenon DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES share/man/tenon.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES share/completion/tenon.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tenon)

# share/doc/tenon, as the package is called: the documents, and the sources of models and examples as a project of its own.
set(guides backend-author conformance abi-reference abi-stability validation plugin-interfaces)  # the SDK's
list(TRANSFORM guides PREPEND share/doc/)
list(TRANSFORM guides APPEND .md)
file(GLOB documents RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS share/doc/*.md)
list(REMOVE_ITEM documents ${guides})
include(share/cmake/install_documents.cmake)
install_documents(tenon ${CMAKE_INSTALL_DEFAULT_COMPONENT_NAME} README.md ${documents})
install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tenon)
install(DIRECTORY share/doc/adr share/launch share/rules tests/integration/user_project USE_SOURCE_PERMISSIONS DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tenon)
install(DIRECTORY apps/models apps/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tenon/apps)
install(FILES apps/CMakeLists.txt apps/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tenon/apps)

include(share/cmake/install_sdk.cmake)
include(share/cmake/debian.cmake)
