# The transport of row 11's control: mpi.so, whose processes always seem alive.
if(TARGET mpi)
  add_library(trust_deaf MODULE ${CMAKE_CURRENT_LIST_DIR}/deaf_transport.cc)
  set_target_properties(trust_deaf PROPERTIES OUTPUT_NAME deaf PREFIX "" UNITY_BUILD OFF DISABLE_PRECOMPILE_HEADERS ON
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/transport)
  target_link_libraries(trust_deaf PRIVATE tenon_sdk_headers ${CMAKE_DL_LIBS})
endif()
