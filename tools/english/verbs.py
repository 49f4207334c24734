# SPDX-License-Identifier: MIT
"""Verbs with which the docstring of a function may begin, in the imperative."""

VERBS = frozenset(
    """
    abort accept access accumulate add adjust advance align allocate allow analyse annotate answer append apply
    approximate arrange arrive ask assemble assert assign associate attach await begin bind blank block book bound
    branch break bring broadcast build bundle cache calculate call cancel carry cast change check choose clamp
    classify clean clear clip clone close collapse collect colour combine compare compile complete compose compress
    compute concatenate configure confirm connect construct consume continue convert copy correct count create crop
    cross-check cut decide declare decode decompose decompress decrement deduce deduplicate define delay delete
    deliver demangle dequantise derive describe deserialise detach detect determine diagnose disable disassemble
    discard dispatch display distinguish distribute divide document download drain draw drive drop dump duplicate edit
    elide eliminate embed emit emulate enable encode end enforce ensure enter enumerate escape establish estimate
    evaluate examine exchange exclude execute exercise exit expand expect explain export expose extend extract factor
    fail feed fetch fill filter find finish fit fix flag flatten flip flush fold follow forbid force forget fork
    format forward free freeze fuse gather generate get go group guard guess halve handle hash hide highlight hold
    identify ignore implement import include increment indent index infer inform inherit initialise inline insert
    inspect install instantiate intercept interleave intern interpolate interpret intersect invalidate invert invoke
    isolate issue iterate join keep label launch lay leave let lex lift limit link lint list load locate lock log look
    lower make map mark mask match measure merge minimise mirror modify move multiply mutate name narrow negate
    normalise note notify number observe obtain omit open order outline overlap overwrite pack pad paint pair parse
    partition pass patch pause perform permute pick pickle place plan plot point poll pop populate post prefer prepare
    prepend preserve prevent print probe process produce profile promote propagate propose protect prove provide prune
    publish pull push put qualify quantise query queue quote raise rank reach read rearrange rebuild receive
    reconstruct record redirect reduce refill refuse register reinterpret reject release reload remember remove rename
    render reorder repack repair repeat replace replay report represent require reserve reset reshape resolve restore
    restrict resume retain retire retry return reuse reverse rewrite roll rotate round route run sample save scale
    scan scatter schedule search select send separate serialise serve set settle shade shape share shift shorten show
    shrink shuffle sign silence simplify simulate skip slice sort spell split square stack start state step stop store
    stream strip submit subtract suggest sum summarise suppress suspend swap sweep switch swizzle synchronise tabulate
    take test throw tile time toggle tokenise total touch trace track transfer transform translate transpose traverse
    treat trim truncate try turn type unblock undo unfold unite unlock unpack unquote unregister unroll unwrap update
    upload use validate verify view visit wait wake walk warn watch weigh widen wipe withdraw wrap write yield zero
    """.split()
)
