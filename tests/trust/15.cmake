add_executable(trust_images ${CMAKE_CURRENT_LIST_DIR}/15_images.cc)
target_include_directories(trust_images PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(trust_images PRIVATE tenon_data)
