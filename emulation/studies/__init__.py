"""The papers' evaluations run again: a sweep, the points of its figures, verdicts on what a paper states, and a page.

    overlay/        the papers' own simulator
    measure.py      scenarios in `sim`, their numbers alone
    dynamic_topology/, epidemic/, mobile/   the evaluations: figures, quantities, what is claimed
    reproduce.py    the whole way: sweep.py (which runs), workers.py (done side by side), results.py, tables.py, page.py

It lies in emulation/ because it runs simulators, and of the analysis it uses what counts (tally, weights, errors), nothing of Spark.
"""
