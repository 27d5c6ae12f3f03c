"""The HLO-like DAG: nodes, op table, type rules, rewrite rules, text form and NumPy interpreter."""
