PART void mbarrier_init(mbarrier* bar, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(address(bar)), "r"(arrivals) : "memory"); }
PART void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
PART void mbarrier_arrive(mbarrier* bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(address(bar)) : "memory"); }
PART void mbarrier_arrive_expect_tx(mbarrier* bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
        :: "r"(address(bar)), "r"(bytes) : "memory"); }
PART void mbarrier_wait(mbarrier* bar, int parity) {  // until the phase with this parity has ended
    unsigned ended = 0;
    while (!ended)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(ended) : "r"(address(bar)), "r"(parity) : "memory"); }
PART void tma_load(void* to, const TensorMap& map, int column, int row, mbarrier* bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];"
        :: "r"(address(to)), "l"(&map), "r"(column), "r"(row), "r"(address(bar)) : "memory"); }
