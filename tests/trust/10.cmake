# Row 10.
add_executable(trust_not_a_number ${CMAKE_CURRENT_LIST_DIR}/not_a_number.cc)
target_include_directories(trust_not_a_number PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR})
target_link_libraries(trust_not_a_number PRIVATE tenon_train)
