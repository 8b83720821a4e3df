add_executable(trust_records ${CMAKE_CURRENT_LIST_DIR}/14_records.cc)
target_include_directories(trust_records PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(trust_records PRIVATE tenon_data)
