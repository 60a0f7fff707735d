# Comments of configurations that the check must refuse.

# - No taint evicts it, nobody has to act.
