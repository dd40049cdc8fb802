"""The commands about what an agent was given: prompts, tool schemas, models and environments.

They call ``toolpulse.provenance`` and need no store.
"""
