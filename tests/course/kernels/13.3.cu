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
//! wrong: it waits for all
//! hint: It is right, but every iteration waits for all copies, also for those of later
    cp_async_wait<0>();
    __syncthreads();
    load(i + STAGES - 1);
//! wrong: the request before the barrier
//! hint: A thread requests a tile while another warp may still multiply what is in that
    cp_async_wait<STAGES - 2>();
    load(i + STAGES - 1);
    __syncthreads();
//! wrong: the barrier before the wait
//! hint: A warp reads a part of tile i that a thread of the other one has copied.
    __syncthreads();
    cp_async_wait<STAGES - 2>();
    load(i + STAGES - 1);
//! wrong: one group too many
//! hint: The warps multiply a tile that may still be on its way
    cp_async_wait<STAGES - 1>();
    __syncthreads();
    load(i + STAGES - 1);
//! wrong: no empty groups at the end
//! hint: The warps multiply a tile that may still be on its way
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    if (i + STAGES - 1 < count) load(i + STAGES - 1);
//! wrong: no barrier
//! hint: `cp_async_wait` waits for the copies of this thread only.
    cp_async_wait<STAGES - 2>();
    load(i + STAGES - 1);
//! wrong: no wait
//! hint: No thread waits for a copy: the warps multiply what may not have arrived.
    __syncthreads();
    load(i + STAGES - 1);
//! wrong: a tile too far
//! hint: The warps multiply a tile that may still be on its way
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    load(i + STAGES);
