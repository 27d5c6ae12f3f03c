"""Named programs of array code: what is counted, measured and compared.

A program is a row (`program.Program`) in the file of its field: a function of an array module and
of arguments, how these are drawn, and the least that it has to cost. Whoever brings its launches
down counts them again and takes the row's ``above`` away.
"""
