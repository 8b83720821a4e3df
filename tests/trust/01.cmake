# Preloaded by the controls of rows 1 and 12.
add_library(trust_unprotected MODULE ${CMAKE_CURRENT_LIST_DIR}/unprotected.c)
set_target_properties(trust_unprotected PROPERTIES DISABLE_PRECOMPILE_HEADERS ON PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/trust)
target_compile_options(trust_unprotected PRIVATE -U_FORTIFY_SOURCE -fvisibility=default)
