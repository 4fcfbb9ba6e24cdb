# cmake -D plait_build=DIR -D work=DIR [-D build_type=T] [-D sanitize=S] -P check.cmake
# Installs plait into work/prefix, then configures, builds and runs the consumer against it.
function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${work})
set(flags "")
if(sanitize)
  set(flags "-fsanitize=${sanitize}")
endif()
step(${CMAKE_COMMAND} --install ${plait_build} --prefix ${work}/prefix)
step(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR} -B ${work}/build
     -D CMAKE_PREFIX_PATH=${work}/prefix -D CMAKE_BUILD_TYPE=${build_type} -D CMAKE_CXX_FLAGS=${flags})
step(${CMAKE_COMMAND} --build ${work}/build)
step(${work}/build/consumer)
step(${work}/prefix/bin/plait --version)
