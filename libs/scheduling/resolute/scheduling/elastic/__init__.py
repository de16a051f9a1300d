"""Elastic pools: how many instances a pool should have, and which.

`fleet` is what the log says of them, `demand` what waiting work asks for, `plan` the decision, `outlook` what those who
wait are shown of it. Starting and ending instances is the scheduler's work.
"""
