if(TARGET tenon_compile AND TARGET tenon_conformance_corpus)
  add_executable(op_arguments ${CMAKE_CURRENT_LIST_DIR}/16_op_arguments.cc)
  target_include_directories(op_arguments PRIVATE ${CMAKE_SOURCE_DIR}/core)
  target_link_libraries(op_arguments PRIVATE tenon_op tenon_autodiff tenon_compile tenon_conformance_corpus)
endif()
if(TARGET tenon_conformance_corpus AND TARGET example)
  add_executable(damaged_graphs ${CMAKE_CURRENT_LIST_DIR}/16_graphs.cc)
  target_link_libraries(damaged_graphs PRIVATE tenon_conformance tenon_conformance_corpus)

  # The example on a runtime that checks no graph: under its own name, in a folder of its own.
  file(GLOB unchecked CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sdk/runtime/*.cc)
  list(FILTER unchecked EXCLUDE REGEX "/graph_check\\.cc$")
  add_library(unchecked MODULE ${CMAKE_SOURCE_DIR}/sdk/example/table.cc ${CMAKE_CURRENT_LIST_DIR}/16_unchecked.cc ${unchecked})
  set_target_properties(unchecked PROPERTIES PREFIX "" OUTPUT_NAME example LIBRARY_OUTPUT_DIRECTORY
                        ${CMAKE_BINARY_DIR}/lib/trust/unchecked)
  target_include_directories(unchecked PRIVATE ${CMAKE_SOURCE_DIR}/sdk/example ${CMAKE_SOURCE_DIR}/sdk)
  target_link_libraries(unchecked PRIVATE tenon_sdk_headers Threads::Threads)
endif()
