"""Instructions by kind from a listing: made-up lines of each machine, of which every kind is counted by hand."""

from __future__ import annotations

from runners.toolchains.listing import compiler_waves, mix, own

AMD = """\t.text
k:                                      ; @k
; %bb.0:
\ts_load_b64 s[0:1], s[0:1], 0x0     ; a comment
\tv_dual_fmac_f32 v1, v2, v3 :: v_dual_mov_b32 v4, v5
\tv_fma_mixlo_f16 v1, v2, v3, v4
\ts_fmac_f32 s1, s2, s3
\tv_mad_u64_u32 v[0:1], null, v2, v3, v[0:1]
\tv_dot2_f32_f16 v1, v2, v3, v4
\tv_mov_b32_dpp v1, v2 quad_perm:[0,1,2,3]
.LBB0_1:
\tds_bpermute_b32 v1, v2, v3
\tds_load_2addr_b32 v[0:1], v2 offset1:1
\tglobal_load_b128 v[0:3], v4, s[0:1]
\tbuffer_store_dword v1, off, s[0:3], 0
\tglobal_inv sc1
\ts_barrier
\ts_endpgm
\t.section\t.rodata,"a",@progbits
.Lfunc_end0:
\t.set k.num_vgpr, 7
; Occupancy: 12
"""
PTX = """.visible .entry k(
\t.param .u64 k_param_0
)
.maxntid 64, 1, 1
{
\t.reg .pred \t%p<3>;
\tld.param.u64 \t%rd1, [k_param_0];
\tfma.rn.ftz.f32 \t%f1, %f2, %f3, %f4;
\tmad.lo.s32 \t%r1, %r2, %r3, %r4;
$L__BB0_1:
\t@%p1 ld.global.nc.v4.f32 \t{%f1, %f2, %f3, %f4}, [%rd1];
\tst.f32 \t[%rd2], %f1;   // generic
\tld.volatile.shared.f32 \t%f1, [%r1];
\tcp.async.cg.shared.global [%r1], [%rd1], 16;
\tcp.async.wait_group 0;
\tshfl.sync.bfly.b32 \t%r1|%p1, %r2, 16, 31, -1;
\tbar.sync \t0;
\tst.local.f32 \t[%rd3], %f1;
\tret;
}
.visible .entry kk(
)
{
\tret;
}
"""


def test_amd_machine_code() -> None:
    lines = own(AMD, "k")
    assert lines[0] == "\ts_load_b64 s[0:1], s[0:1], 0x0" and lines[-1] == "\ts_endpgm"
    assert mix(lines, "gfx1151") == {
        "total": 14, "fma": 3, "dot": 1, "shuffle": 2, "lds": 1, "global": 2, "barrier": 1, "vopd": 1,
    }  # fmt: skip
    assert compiler_waves(AMD, "k") == 12 and compiler_waves(AMD, "other") == 0


def test_ptx() -> None:
    lines = own(PTX, "k")
    assert mix(lines, "sm_90") == {"total": 12, "fma": 1, "shuffle": 1, "lds": 2, "global": 3, "barrier": 1}
    assert own(PTX, "kk") == ("\tret;",) and own(PTX, "param") == ()
