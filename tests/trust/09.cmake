add_library(no_handlers MODULE no_handlers.cc)
set_target_properties(no_handlers PROPERTIES PREFIX "" UNITY_BUILD OFF DISABLE_PRECOMPILE_HEADERS ON)
