# Preloaded by the control of row 25.
add_library(trust_forgetful MODULE ${CMAKE_CURRENT_LIST_DIR}/forgetful.c)
set_target_properties(trust_forgetful PROPERTIES DISABLE_PRECOMPILE_HEADERS ON PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/trust)
target_compile_options(trust_forgetful PRIVATE -U_FORTIFY_SOURCE -fvisibility=default)
