"""What is claimed about speed and recall, as commands that anyone can run.

Each module is a command (``python -m benchmarks.startup``) that prints a table of measured figure
and bar and exits 1 below a bar. ``python -m benchmarks`` runs them all.
"""
