# The SDK: all that a backend is built and tested with, and nothing of the core. sdk/CMakeLists.txt installs
# tenon-conform itself.
set(sdk_data ${CMAKE_INSTALL_DATADIR}/tenon)

# find_package(TenonSDK): Tenon::sdk (headers), Tenon::sdk_runtime (planner and executor), Tenon::sdk_reference,
# Tenon::sdk_validation.
set_target_properties(tenon_sdk_headers PROPERTIES EXPORT_NAME sdk)
set_target_properties(tenon_sdk_op PROPERTIES EXPORT_NAME sdk_op)
set_target_properties(tenon_sdk_runtime PROPERTIES EXPORT_NAME sdk_runtime)
set_target_properties(tenon_sdk_reference PROPERTIES EXPORT_NAME sdk_reference)
set_target_properties(tenon_sdk_validation PROPERTIES EXPORT_NAME sdk_validation)
install(TARGETS tenon_sdk_headers tenon_sdk_op tenon_sdk_runtime tenon_sdk_reference tenon_sdk_validation EXPORT TenonSDKTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sdk)
install(DIRECTORY sdk/include/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_BINARY_DIR}/sdk/include/tenon/op/names.h ${CMAKE_BINARY_DIR}/sdk/include/tenon/op/spec.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenon/op COMPONENT sdk)
install(FILES sdk/conformance/reference/reference.h sdk/conformance/reference/error_bound.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenon-sdk/conformance/reference COMPONENT sdk)
install_package(TenonSDK sdk/cmake sdk sdk/cmake/TenonAddBackend.cmake sdk/cmake/backend.map)

install_pkg_config(sdk/tenon-sdk.pc.in sdk)

# What an author reads and copies, and the program that writes the first project.
install(DIRECTORY sdk/example sdk/example-compiler DESTINATION ${sdk_data} COMPONENT sdk)
install(DIRECTORY sdk/conformance/reference DESTINATION ${sdk_data} COMPONENT sdk)
install(DIRECTORY sdk/template DESTINATION ${sdk_data} COMPONENT sdk USE_SOURCE_PERMISSIONS)
file(RELATIVE_PATH template /${CMAKE_INSTALL_BINDIR} /${sdk_data}/template/new-backend)
file(CREATE_LINK ${template} ${CMAKE_BINARY_DIR}/tenon-new-backend SYMBOLIC)
install(FILES ${CMAKE_BINARY_DIR}/tenon-new-backend DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT sdk)
install(FILES share/completion/tenon.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME tenon-conform COMPONENT sdk)
install_documents(tenon-sdk sdk sdk/README.md ${guides})
install(FILES LICENSE ${CMAKE_BINARY_DIR}/sdk/op-specification.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tenon-sdk COMPONENT sdk)
