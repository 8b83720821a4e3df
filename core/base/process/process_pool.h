// The process's one thread pool, shared by input pipelines and backends: tenon/threads.h and the pool's type.
#pragma once

#include "base/process/thread_pool.h"
#include "tenon/threads.h"
