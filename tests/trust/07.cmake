add_executable(trust_jpegs 07_jpegs.cc)
target_include_directories(trust_jpegs PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(trust_jpegs PRIVATE jpeg)
