# What `make install` and the Debian package contain. Included last: it names targets of every folder.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(packages ${CMAKE_INSTALL_LIBDIR}/cmake)

# The library and its headers: find_package(Tenon), Tenon::tenon.
target_compile_features(tenon PUBLIC cxx_std_20)
install(TARGETS tenon EXPORT TenonTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY core/include/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT TenonTargets NAMESPACE Tenon:: DESTINATION ${packages}/Tenon)
configure_package_config_file(share/cmake/TenonConfig.cmake.in ${CMAKE_BINARY_DIR}/TenonConfig.cmake
  INSTALL_DESTINATION ${packages}/Tenon PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TenonConfig.cmake ${CMAKE_BINARY_DIR}/TenonConfigVersion.cmake
  DESTINATION ${packages}/Tenon)

install(FILES share/cmake/installed_backends.cc.in DESTINATION ${packages}/Tenon RENAME installed_backends.cc)

# The SDK: find_package(TenonSDK), Tenon::sdk (headers), Tenon::sdk_runtime (planner and executor).
set_target_properties(tenon_sdk_headers PROPERTIES EXPORT_NAME sdk)
install(TARGETS tenon_sdk_headers EXPORT TenonSDKTargets)
if(TARGET tenon_sdk_runtime)
  set_target_properties(tenon_sdk_runtime PROPERTIES EXPORT_NAME sdk_runtime)
  install(TARGETS tenon_sdk_runtime EXPORT TenonSDKTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY sdk/include/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT TenonSDKTargets NAMESPACE Tenon:: DESTINATION ${packages}/TenonSDK)
configure_package_config_file(sdk/cmake/TenonSDKConfig.cmake.in ${CMAKE_BINARY_DIR}/TenonSDKConfig.cmake
  INSTALL_DESTINATION ${packages}/TenonSDK)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TenonSDKConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TenonSDKConfig.cmake ${CMAKE_BINARY_DIR}/TenonSDKConfigVersion.cmake
  DESTINATION ${packages}/TenonSDK)

# The runner with its page and completion. The backends install themselves: plugins/CMakeLists.txt.
if(EXISTS ${CMAKE_SOURCE_DIR}/apps/tenon/CMakeLists.txt)
  install(PROGRAMS ${CMAKE_BINARY_DIR}/bin/tenon DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES share/man/tenon.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES share/completion/tenon.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tenon)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_PACKAGE_NAME tenon)
set(CPACK_PACKAGE_VENDOR "The Tenon developers")
set(CPACK_PACKAGE_CONTACT "The Tenon developers <tenon@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Training framework in C++ whose devices are plugins")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What a program that links libtenon.a needs beside it.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
  "libjpeg-dev, libpng-dev, zlib1g-dev, libprotobuf-dev, libsnappy-dev")
include(CPack)
