// All loops of one instruction set as a table. Only for isa_*.cpp: QUENCH_SIMD_TABLE names the table,
// QUENCH_SIMD_NAME the instruction set.
#pragma once

#include "kernels/simd/loops_affine.h"
#include "kernels/simd/loops_count.h"
#include "kernels/simd/loops_cut.h"
#include "kernels/simd/loops_learned.h"
#include "kernels/simd/loops_range.h"
#include "kernels/simd/loops_scale.h"
#include "kernels/simd/loops_search.h"

namespace quench {

extern const SimdLoops QUENCH_SIMD_TABLE;
const SimdLoops QUENCH_SIMD_TABLE = {
    .name = QUENCH_SIMD_NAME,
    .fake_quantize = fake_quantize,
    .codes = codes,
    .dequantize = dequantize,
    .masked = masked,
    .masked_gradient = masked_gradient,
    .lsq_backward = lsq_backward,
    .dsq_backward = dsq_backward,
    .pact_forward = pact_forward,
    .pact_backward = pact_backward,
    .adaround_forward = adaround_forward,
    .adaround_backward = adaround_backward,
    .qdrop_forward = qdrop_forward,
    .qdrop_backward = qdrop_backward,
    .widen_bfloat16 = widen_bfloat16,
    .narrow_to_bfloat16 = narrow_to_bfloat16,
    .scale = scale,
    .scale_backward = scale_backward,
    .statistics = {.min_max_runs = min_max_runs,
                   .min_max_rows = min_max_rows,
                   .moment_runs = moment_runs,
                   .moment_rows = moment_rows,
                   .count = count,
                   .count_inside = count_inside,
                   .error = error,
                   .step_error = step_error,
                   .edge_sum = edge_sum,
                   .largest_magnitude = largest_magnitude,
                   .add_cut = add_cut},
};

}  // namespace quench
