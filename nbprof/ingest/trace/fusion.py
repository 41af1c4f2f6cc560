"""Which nodes of a function TensorFlow fused into one that ran, which is called like the last."""

from collections import deque
from collections.abc import Collection, Mapping, Sequence

MOST = 64
"""So many nodes are looked at to find what was fused into one."""


def find_fused(
    ops: Mapping[str, str],
    inputs: Mapping[str, Sequence[str]],
    node: str,
    main_type: str,
    ran: Collection[str],
) -> tuple[str, tuple[str, ...] | None]:
    """Find the nearest node of the main type before a node, and the types of those in between.

    `ops` has the types of the function's nodes, `inputs` what makes their inputs. The way leads
    through nodes that did not run by themselves. Where it leads nowhere, the node itself is given.
    """
    region = {node: None}  # in the order of their distance
    main = None
    waiting = deque(region)
    while waiting and len(region) < MOST:
        here = waiting.popleft()
        if ops.get(here) == main_type:
            main = main or here
            continue
        makers = (one for one in inputs.get(here, ()) if one in ops and one not in ran)
        new = [one for one in makers if one not in region]
        region.update(dict.fromkeys(new))
        waiting.extend(new)
    if main is None:
        return node, None
    behind = {main}
    while more := {
        one
        for one in region.keys() - behind
        if ops.get(one) != main_type and behind.intersection(inputs.get(one, ()))
    }:
        behind |= more
    return main, tuple(ops[one] for one in region if one in behind and one != main)
