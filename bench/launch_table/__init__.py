"""What each of the named programs (`fusecuda.tools.programs`) costs: operations, launches, bytes.

``python -m bench.launch_table`` counts all of them, writes the results and the README's table, and
the tests run each on both back ends. Whoever brings launches down runs the command and takes the
row's ``above`` away.
"""
