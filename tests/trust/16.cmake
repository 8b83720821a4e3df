add_executable(op_arguments ${CMAKE_CURRENT_LIST_DIR}/16_op_arguments.cc)
target_include_directories(op_arguments PRIVATE ${CMAKE_SOURCE_DIR}/core)
target_link_libraries(op_arguments PRIVATE tenon_op tenon_autodiff tenon_compile tenon_conformance_corpus)

file(GLOB public CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/public_*.cc)
add_executable(public_arguments ${CMAKE_CURRENT_LIST_DIR}/16_public_arguments.cc ${public})
target_include_directories(public_arguments PRIVATE ${CMAKE_SOURCE_DIR}/core)
target_link_libraries(public_arguments PRIVATE tenon_model)
add_dependencies(public_arguments cpu)

add_executable(damaged_graphs ${CMAKE_CURRENT_LIST_DIR}/16_graphs.cc ${CMAKE_CURRENT_LIST_DIR}/damaged_graph.cc)
target_link_libraries(damaged_graphs PRIVATE tenon_conformance tenon_conformance_corpus)
add_executable(run_time_values ${CMAKE_CURRENT_LIST_DIR}/16_run_time_values.cc)
target_link_libraries(run_time_values PRIVATE tenon_conformance)

# The example on a runtime that checks no graph: under its own name, in a folder of its own.
file(GLOB_RECURSE unchecked CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sdk/runtime/*.cc)
list(FILTER unchecked EXCLUDE REGEX "/graph_check\\.cc$")
add_library(unchecked MODULE ${CMAKE_SOURCE_DIR}/sdk/example/table.cc ${CMAKE_CURRENT_LIST_DIR}/16_unchecked.cc ${unchecked})
set_target_properties(unchecked PROPERTIES PREFIX "" OUTPUT_NAME example LIBRARY_OUTPUT_DIRECTORY
                      ${CMAKE_BINARY_DIR}/lib/trust/unchecked)
target_include_directories(unchecked PRIVATE ${CMAKE_SOURCE_DIR}/sdk/example ${CMAKE_SOURCE_DIR}/sdk)
target_link_libraries(unchecked PRIVATE tenon_sdk_op Threads::Threads)
