"""``bench``: every named program unfused, fused and by peers, at three sizes, and runs compared.

Each contender is a process of its own (`worker`); `rounds` has them compare their results and asks
one after the other for a sample, round after round. `rows` are what comes of it, `report`,
`pictures` and `compare` show them.
"""
