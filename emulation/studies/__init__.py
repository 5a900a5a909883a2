"""Many runs: a person's own studies (`roamcast sweep`), several seeds, batches, and the papers' evaluations run again.

    engine.py       runs side by side, each a task of Spark; simulators.py: what runs there; results.py, folder.py: what is kept
    study.py        a study: its runs, when there are seeds enough, its table; analysed.py: one run with every metric
    seeds.py, batch.py  `roamcast run --seeds` and `--batch`
    overlay/        the papers' own simulator
    measure.py      scenarios in `sim`, their numbers alone
    dynamic_topology/, epidemic/, mobile/   the evaluations: figures, quantities, what is claimed
    reproduce.py    the whole way of an evaluation: sweep.py (which runs), tables.py, verdicts.py, draw.py, page.py

It lies in emulation/ because it runs simulators; of the analysis it uses what counts, and the Spark session.
"""
