"""Named programs of array code, and what each costs: operations, launches, bytes.

A program is a row (`program.Program`) in the file of its field; ``python -m bench.launch_table``
counts all of them, writes the results and the README's table, and the tests run each on both back
ends. Whoever brings launches down runs the command and takes the row's ``above`` away.
"""
