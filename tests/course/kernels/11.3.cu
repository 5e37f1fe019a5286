//! right: three lines
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    load(i + STAGES - 1);
//! right: a number
    cp_async_wait<1>();
    __syncthreads();
    load(i + STAGES - 1);
//! right: a named number
    constexpr int ahead = STAGES - 1;
    cp_async_wait<ahead - 1>();
    __syncthreads();
    const int next = i + ahead;
    load(next);
//! right: a second barrier
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    load(i + STAGES - 1);
    __syncthreads();
//! right: the last iterations apart
    if (i + STAGES - 1 < count) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        load(i + STAGES - 1);
    } else {
        cp_async_wait<0>();
        __syncthreads();
    }
//! wrong, idle: it waits for all
    cp_async_wait<0>();
    __syncthreads();
    load(i + STAGES - 1);
//! wrong, early: the request before the barrier
    cp_async_wait<STAGES - 2>();
    load(i + STAGES - 1);
    __syncthreads();
//! wrong, meet: the barrier before the wait
    __syncthreads();
    cp_async_wait<STAGES - 2>();
    load(i + STAGES - 1);
//! wrong, flight: one group too many
    cp_async_wait<STAGES - 1>();
    __syncthreads();
    load(i + STAGES - 1);
//! wrong, flight: no empty groups at the end
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    if (i + STAGES - 1 < count) load(i + STAGES - 1);
//! wrong, meet: no barrier
    cp_async_wait<STAGES - 2>();
    load(i + STAGES - 1);
//! wrong, wait: no wait
    __syncthreads();
    load(i + STAGES - 1);
//! wrong, flight: a tile too far
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    load(i + STAGES);
