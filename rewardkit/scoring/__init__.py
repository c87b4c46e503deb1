"""Definition x rollouts -> Scores; the walk of a completion goes one way.

    rollouts.table                    a column each, as lists             rollouts/values.py
      -> engines.run(reward, columns) shards of rows, groups together,    engines.py
                                      in this process or in workers
      -> bind(reward, columns)        the Plan: who judges which rows     rewards/plan.py
      -> evaluate(plan, columns)      fields, then components in turn,    evaluate.py
           gates                      only on rows whose gate is open
           Calls -> answered          users' functions, safely, here      calls.py
           Calls -> TimeLimit.run     or where they can be killed         deadlines.py
      -> Outcomes                     score, status, reason by row        outcomes.py
      -> plan.combine, .transform     weights, then within the group      rewards/plan.py
      -> Scores                       the table, and its run record       scores.py

`reward(...)`, `check` and the probes take the same steps for their own rows.
"""
