"""Planted bugs: CUDA graphs, users' captures and the host path of a device's programs."""

from __future__ import annotations

from .mutation import Mutation, ids

_GRAPHS, _STRAIGHT = "streams/graphs.py", "emit_cuda/straight.py"
_PROGRAM, _DRIVER = "emit_cuda/program.py", "emit_cuda/driver_graph.py"
_EDGES = ids("streams/graphs", "edges_are_the_order_of_the_timeline")
_KEPT = ids("streams/graphs", "a_user_s_graph_keeps_what_it_uses")

GRAPHS = (
    Mutation(
        "graph-without-waits",
        _GRAPHS,
        "last[lane] = known | recorded.get(number, frozenset())",
        "last[lane] = known",
        "a node does not follow what its lane has waited for",
        _EDGES,
    ),
    Mutation(
        "graph-event-of-another-time",
        _GRAPHS,
        "recorded[number] = known",
        "recorded[number] = frozenset(known and (min(known) - 1,) * (min(known) > 0))",
        "an event stands for the node before the one that it was recorded after",
        _EDGES,
    ),
    Mutation(
        "graph-beside-a-library-call",
        _GRAPHS,
        "fits = len(runs) >= LEAST and all(c.number in kernels for c in runs)",
        "fits = len(runs) >= LEAST",
        "a library call on some lane becomes a node",
        ids("streams/graphs", "on_several_lanes_all_or_nothing_is_a_graph"),
    ),
    Mutation(
        "graph-of-the-call-before",
        _GRAPHS,
        "                instance.update()\n",
        "",
        "a graph is launched with the parameters of an earlier call",
        ids("streams/graphs", "each_call_has_its_own_parameters"),
    ),
    Mutation(
        "graph-for-every-key",
        _GRAPHS,
        "comes_again = key in self._seen and len(self._known) < INSTANCES",
        "comes_again = key in self._seen",
        "as many instances are kept as there are addresses",
        ids("streams/graphs", "each_call_has_its_own_parameters"),
    ),
    Mutation(
        "graph-and-one-by-one",
        _STRAIGHT,
        'f"if not renew{number}(key, stream):"',
        'f"if renew{number}(key, stream) or True:"',
        "what a graph has launched is started again",
        ids("streams/graphs", "a_program_is_replayed_from_its_second_call_on"),
    ),
    Mutation(
        "graph-with-the-first-node-s-parameters",
        _DRIVER,
        "for node, parameters in self._nodes:",
        "for node, parameters in self._nodes[:1]:",
        "only one node gets new parameters",
        ids("driver_graph", "an_update_gives_all_nodes_what_frames_hold"),
    ),
    Mutation(
        "graph-of-loose-nodes",
        _DRIVER,
        "ctypes.c_size_t(len(node.after))",
        "ctypes.c_size_t(min(1, len(node.after)))",
        "a node waits for one of those that it needs",
        ids("driver_graph", "nodes_edges_and_parameters"),
    ),
    Mutation(
        "captured-and-let-go",
        _STRAIGHT,
        'kept = ["program", *call.bases[len(call.arguments) :]]',
        'kept = ["program"]',
        "memory that a user's graph uses goes back to the pool",
        _KEPT,
    ),
    Mutation(
        "captured-with-the-stream-s-counters",
        _STRAIGHT,
        "    elif kind == HELD:",
        "    elif kind == HELD and False:",
        "counters that a graph may never clear are those of later calls",
        _KEPT,
    ),
    Mutation(
        "captured-at-first",
        _PROGRAM,
        "        if not self.has_run:\n            raise not_loaded",
        "        if False:\n            raise not_loaded",
        "kernels are loaded while a user captures the stream",
        ids("streams/graphs", "a_first_call_is_not_captured"),
    ),
    Mutation(
        "captured-for-ever",
        _DRIVER,
        "    while _dropped:",
        "    while False:",
        "what a user's graph kept is never let go",
        ids("driver_graph", "values_are_kept_until_the_user_s_graph_ends"),
    ),
    Mutation(
        "per-thread-stream-shared",
        _PROGRAM,
        "get_ident() if stream == PER_THREAD else 0",
        "0",
        "threads on the per-thread default stream share counters",
        ids("streams/graphs", "counters_of_threads_on_the_per_thread_stream_are_apart"),
    ),
    Mutation(
        "stream-asked-again",
        _STRAIGHT,
        'lines.append(f"start{number}(stream, parameters{number}, 0)")',
        'lines.append(f"start{number}(current(), parameters{number}, 0)")',
        "a launch asks CuPy for the stream once more",
        ids("stub_device", "the_stream_is_asked_for_once", "a_further_launch_is_few_instructions"),
    ),
)
