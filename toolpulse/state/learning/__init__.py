"""What a watched tool's responses add to its baseline: the baseline that grows, its maps, and what is kept out of it.

Pure; called by ``toolpulse.state`` alone, but for the bounds, which stores and the runtime keep to as well.
"""
