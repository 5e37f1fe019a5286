//! right: the four elements of a row by a list
        const int at[4] = {2 * row, 2 * row + 1, 2 * row + 4, 2 * row + 5};
        float top = m[row];
        for (int i = 0; i < 4; i++) top = fmaxf(top, s[at[i]]);
        top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 2));
        float factor = power((m[row] - top) * scale);
        m[row] = top;
        l[row] *= factor;
        for (int i = 0; i < 4; i++) {
            o[at[i]] *= factor;
            s[at[i]] = power((s[at[i]] - top) * scale);
            l[row] += s[at[i]];
        }
//! right: the block's maximum first
        float block = fmaxf(fmaxf(s[2 * row], s[2 * row + 1]), fmaxf(s[2 * row + 4], s[2 * row + 5]));
        for (int mask = 1; mask <= 2; mask <<= 1) block = max(block, __shfl_xor_sync(~0u, block, mask));
        float old = m[row];
        m[row] = max(old, block);
        float alpha = power(scale * (old - m[row])), sum = 0;
        for (int j = 0; j < 2; j++) {
            for (int c = 0; c < 2; c++) {
                int i = 4 * j + 2 * row + c;
                s[i] = power(scale * (s[i] - m[row]));
                sum += s[i];
                o[i] *= alpha;
            }
        }
        l[row] = l[row] * alpha + sum;
//! right: scaled numbers, fmaf
        float top = m[row];
        for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) top = fmaxf(top, s[i]);
        top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 2));
        top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 1));
        const float scaled = top * scale, factor = power(fmaf(m[row], scale, -scaled));
        l[row] *= factor;
        m[row] = top;
        for (int i = 0; i < 8; i++) {
            if (i / 2 % 2 != row) continue;
            s[i] = power(fmaf(s[i], scale, -scaled));
            l[row] = l[row] + s[i];
            o[i] = factor * o[i];
        }
//! right: both rows at once
template <typename F> __device__ void each(int row, F f) {
    for (int i = 0; i < 4; i++) f(i + 2 * (row + i / 2));
}
__device__ void rescale(float (&s)[8], float (&o)[8], float (&m)[2], float (&l)[2], float scale) {
    for (int row = 0; row < 2; row++) {
        float top = m[row];
        each(row, [&](int i) { top = fmaxf(top, s[i]); });
        for (int k = 2; k > 0; k--) top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, k));
        float factor = power((m[row] - top) * scale);
        m[row] = top, l[row] *= factor;
        each(row, [&](int i) { o[i] *= factor; l[row] += s[i] = power((s[i] - top) * scale); });
    }
}
//! right: a helper for the quad, shuffles by groups of four
__device__ float quad_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1, 4));
    return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2, 4));
}
__device__ void rescale(float (&s)[8], float (&o)[8], float (&m)[2], float (&l)[2], float scale) {
    float before[2] = {m[0], m[1]};
    for (int i = 0; i < 8; i++) m[i / 2 % 2] = fmaxf(m[i / 2 % 2], s[i]);
    for (int row = 0; row < 2; row++) {
        m[row] = quad_max(m[row]);
        l[row] *= power((before[row] - m[row]) * scale);
    }
    for (int i = 0; i < 8; i++) {
        int row = i / 2 % 2;
        o[i] *= power((before[row] - m[row]) * scale);
        s[i] = power((s[i] - m[row]) * scale);
        l[row] += s[i];
    }
}
//! wrong: l is not rescaled
//! hint: m and O are right, but l was not rescaled.
        float top = m[row];
        for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) top = fmaxf(top, s[i]);
        for (int k = 1; k < 4; k *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, k));
        float factor = power((m[row] - top) * scale);
        m[row] = top;
        for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) {
            o[i] *= factor; s[i] = power((s[i] - top) * scale); l[row] += s[i];
        }
//! wrong: no shuffles
//! hint: m is the maximum of this lane's scores only.
        float top = m[row];
        for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) top = fmaxf(top, s[i]);
        float factor = power((m[row] - top) * scale);
        m[row] = top; l[row] *= factor;
        for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) {
            o[i] *= factor; s[i] = power((s[i] - top) * scale); l[row] += s[i];
        }
//! wrong: shuffles of the whole warp
//! hint: m is the maximum of eight rows: you exchanged it among all 32 lanes.
        float top = m[row];
        for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) top = fmaxf(top, s[i]);
        for (int k = 16; k > 0; k /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, k));
        float factor = power((m[row] - top) * scale);
        m[row] = top; l[row] *= factor;
        for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) {
            o[i] *= factor; s[i] = power((s[i] - top) * scale); l[row] += s[i];
        }
//! wrong: the other elements
//! hint: m is not the maximum of the row.
        float top = m[row];
        for (int i = 4 * row; i < 4 * row + 4; i++) top = fmaxf(top, s[i]);
        for (int k = 1; k < 4; k *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, k));
        float factor = power((m[row] - top) * scale);
        m[row] = top; l[row] *= factor;
        for (int i = 4 * row; i < 4 * row + 4; i++) {
            o[i] *= factor; s[i] = power((s[i] - top) * scale); l[row] += s[i];
        }
//! wrong: a factor without scale
//! hint: m is right, but the factor was made without `scale`.
        float top = m[row];
        for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) top = fmaxf(top, s[i]);
        for (int k = 1; k < 4; k *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, k));
        float factor = power(m[row] - top);
        m[row] = top; l[row] *= factor;
        for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) {
            o[i] *= factor; s[i] = power((s[i] - top) * scale); l[row] += s[i];
        }
//! wrong: m of the block alone
//! hint: m is not the maximum of the row.
        float top = -1e30f;
        for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) top = fmaxf(top, s[i]);
        for (int k = 1; k < 4; k *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, k));
        float factor = power((m[row] - top) * scale);
        m[row] = top; l[row] *= factor;
        for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) {
            o[i] *= factor; s[i] = power((s[i] - top) * scale); l[row] += s[i];
        }
//! wrong: whoever is active
//! hint: names the lanes that happen to be together
        const int at[4] = {2 * row, 2 * row + 1, 2 * row + 4, 2 * row + 5};
        float top = m[row];
        for (int i = 0; i < 4; i++) top = fmaxf(top, s[at[i]]);
        top = fmaxf(top, __shfl_xor_sync(__activemask(), top, 1));
        top = fmaxf(top, __shfl_xor_sync(__activemask(), top, 2));
        float factor = power((m[row] - top) * scale);
        m[row] = top;
        l[row] *= factor;
        for (int i = 0; i < 4; i++) {
            o[at[i]] *= factor;
            s[at[i]] = power((s[at[i]] - top) * scale);
            l[row] += s[at[i]];
        }
