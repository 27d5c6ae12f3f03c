"""Planted bugs in dependences, lanes, events, and the memory that lanes share."""

from __future__ import annotations

from .mutation import Mutation, ids

_NEEDS, _LINE = "fusion/dependences.py", "streams/timeline.py"
_ANY_TIMING = ids("timelines", "random_plans_under_any_timing")
_BRANCHES = ids("streams_of_plans", "branches_run_side_by_side")

STREAMS = (
    Mutation(
        "overwritten-while-read",
        _NEEDS,
        "found.update((r, ANTI) for r in readers.pop(buffer, ()))",
        "readers.pop(buffer, ())",
        "a step need not wait for those that read what it overwrites",
        _ANY_TIMING,
    ),
    Mutation(
        "written-twice-at-once",
        _NEEDS,
        "found.setdefault(writer[buffer], OVER)",
        "pass",
        "two steps that write the same memory need no order",
        _ANY_TIMING,
    ),
    Mutation(
        "forgotten-reader",
        _NEEDS,
        "readers.setdefault(buffer, []).append(number)",
        "readers[buffer] = [number]",
        "of several steps that read a buffer only the last is waited for before it is overwritten",
        _ANY_TIMING,
    ),
    Mutation(
        "early-commit",
        _NEEDS,
        "for earlier in range(first_commit):",
        "for earlier in range(first_commit - 1):",
        "an argument may be overwritten before the last step that may fail",
        ids("timelines", "needs_of_readers_and_writers"),
    ),
    Mutation(
        "no-beginning",
        _LINE,
        "found.setdefault(lane, not waited)",
        "found.setdefault(lane, False)",
        "another lane does not wait for what the user's stream did before the call",
        _ANY_TIMING,
    ),
    Mutation(
        "no-join",
        _LINE,
        "for lane, step in last.items() if lane]",
        "for lane, step in last.items() if lane > 1]",
        "the call may end before the second lane does",
        _ANY_TIMING,
    ),
    Mutation(
        "events-know-too-much",
        _LINE,
        "self.done[lane] |= self.after[step]",
        "self.done[lane] |= (2 << step) - 1",
        "an event of one lane is taken for one of all lanes",
        _ANY_TIMING,
    ),
    Mutation(
        "events-for-nothing",
        _LINE,
        "if not self.done[lane] >> step & 1:",
        "if self.lane[step] != lane or not self.done[lane] >> step & 1:",
        "a lane waits for what it knows to be done",
        ids("timelines", "what_follows_from_an_event_needs_no_other"),
    ),
    Mutation(
        "memory-by-number",
        "streams/liveness.py",
        "done &= before[step]",
        "done &= (1 << step) - 1",
        "memory is reused as if steps ran in the order of their numbers",
        _ANY_TIMING,
    ),
    Mutation(
        "waits-not-counted",
        _LINE,
        "done[lane] |= recorded.get(number, 0)",
        "pass",
        "memory is not reused across lanes that wait for each other",
        ids("timelines", "what_follows_from_an_event_needs_no_other"),
    ),
    Mutation(
        "records-of-the-end",
        _LINE,
        "recorded[number] = done[lane]",
        "recorded[number] = -1",
        "an event stands for all that was issued before, whatever the lane",
        _ANY_TIMING,
    ),
    Mutation(
        "workspace-of-nobody",
        "streams/memory_plan.py",
        "life([number], before, size)",
        "life([], before, size)",
        "partial results lie in memory that others use meanwhile",
        ids("streams_of_plans", "one_lane_has_the_memory_of_intervals"),
    ),
    Mutation(
        "no-fork",
        "streams/schedule.py",
        "if not blockers or self.branch[step] < fork:",
        "if self.branch[step] >= 0:",
        "nothing ever gets a lane of its own",
        _BRANCHES,
    ),
    Mutation(
        "least-urgent-first",
        "streams/schedule.py",
        "heapq.heappush(ready, (-self.urgency[user], user))",
        "heapq.heappush(ready, (self.urgency[user], user))",
        "of the steps that are ready the one nearest to the end comes first",
        ids("streams_of_plans", "the_longest_way_comes_first"),
    ),
    Mutation(
        "endless-device",
        "streams/simulate.py",
        "return 1.0 / max(1.0, shares)",
        "return 1.0",
        "kernels that each fill the device are believed to gain from running at once",
        ids("timelines", "a_full_device_is_shared"),
    ),
)
