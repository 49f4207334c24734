import numpy as np, tempfile, sys
from pathlib import Path
from tools.cuda_driver import Device, compile_cubins, target_of
H=".version 9.0\n.target sm_90a\n.address_size 64\n"
def kern(name, loads, body, outs):
    L=[f".visible .entry {name}({', '.join(f'.param .u64 p{i}' for i in range(len(loads)+1))}) {{",".reg .b32 %t<9>; .reg .b64 %x<9>;","mov.u32 %t0,%ctaid.x; mov.u32 %t1,%ntid.x; mov.u32 %t2,%tid.x; mad.lo.s32 %t0,%t0,%t1,%t2;"]
    for i,w in enumerate(loads):
        L+= [f".reg .b{w} %a{i}; ld.param.u64 %x0,[p{i}]; mul.wide.u32 %x1,%t0,{w//8}; add.s64 %x0,%x0,%x1; ld.global.b{w} %a{i},[%x0];"]
    L.append(body)
    L.append(f"ld.param.u64 %x0,[p{len(loads)}]; mul.wide.u32 %x1,%t0,8; add.s64 %x0,%x0,%x1;")
    for i,(r,w) in enumerate(outs):
        L.append({64:f"mov.b64 %x2,{r};",32:f"cvt.u64.u32 %x2,{r};",16:f"cvt.u64.u16 %x2,{r};"}[w]+f" st.global.u64 [%x0+{65536*8*i}],%x2;")
    return "\n".join(L+["ret;","}"])+"\n"
d=Device()
ks={}
ks['subadd']=([32,32],".reg .b32 %d<2>; sub.cc.u32 %d0,%a0,%a1; addc.u32 %d1,0,0;",[("%d0",32),("%d1",32)])
ks['addsub']=([32,32],".reg .b32 %d<2>; add.cc.u32 %d0,%a0,%a1; subc.u32 %d1,0,0;",[("%d0",32),("%d1",32)])
ks['subsub64']=([64,64],".reg .b64 %d<2>; sub.cc.u64 %d0,%a0,%a1; addc.u64 %d1,0,0;",[("%d0",64),("%d1",64)])
for f in ("f16","bf16"):
    for r in ("",".relu"):
        ks[f"oob_{f}{r[1:]}"]=([16,16,16],f".reg .b16 %d0; fma.rn.oob{r}.{f} %d0,%a0,%a1,%a2;",[("%d0",16)])
with tempfile.TemporaryDirectory() as t:
    for c in compile_cubins({"p.ptx":H+"".join(kern(k,*v) for k,v in ks.items())},Path(t),target_of(d.capability)): d.load(c)
rng=np.random.default_rng(1)
all16=np.arange(65536,dtype=np.uint16)
out={}
for k,v in ks.items():
    if k.startswith("oob"):
        one=np.uint16(0x3c00 if "_f16" in k else 0x3f80)
        for slot in range(3):
            ins=[np.full(65536,one,np.uint16) for _ in range(3)]; ins[slot]=all16
            out[f"{k}_{slot}"]=d.run(k,ins,(1,65536),np.uint64,blocks=256,threads=256)
        nanv=np.where(np.arange(65536)%3==0,0xffff,np.where(np.arange(65536)%3==1,0x7fff,0xfe01)).astype(np.uint16)
        out[f"{k}_mix"]=d.run(k,[all16,nanv,np.roll(all16,77)],(1,65536),np.uint64,blocks=256,threads=256)
        out[f"{k}_mixc"]=d.run(k,[all16,np.roll(all16,1234),nanv],(1,65536),np.uint64,blocks=256,threads=256)
    else:
        w=v[0][0]; a=rng.integers(0,1<<w,65536,dtype=f"u{w//8}"); b=rng.integers(0,1<<w,65536,dtype=f"u{w//8}")
        r=d.run(k,[a,b],(2,65536),np.uint64,blocks=256,threads=256)
        carry=(a.astype(object)+b.astype(object))>=(1<<w); borrow=a<b
        print(k,"second unique when borrow",np.unique(r[1][borrow]),"no borrow",np.unique(r[1][~borrow]),"carry",np.unique(r[1][carry.astype(bool)]),"nocarry",np.unique(r[1][~carry.astype(bool)]))
np.savez_compressed(sys.argv[1],**out)
