"""Elastic pools: how many instances a pool should have, and which.

`fleet` is what the log says of them, `demand` what waiting work asks for, `plan` the decision, `shell` the hands, and
`local` the one provider there is so far.
"""
